// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// has_no_value, the base of every handle: members, conversions and << that a handle lacks. They exist only to give a
// message where a user writes them.
#pragma once
#include <concepts>
#include <type_traits>
#include "extent.hpp"

namespace tapeless {
namespace integer_operators {
struct of_handles {}; // a base of handles, whose operators are looked up here
} // namespace integer_operators
namespace detail {

template <class X>
concept has_a_value_while_tracing = !std::is_class_v<X>; // every handle is a class
template <class X>
concept is_a_number = std::is_arithmetic_v<X>;
template <class Handle> struct has_no_value;
template <class X>
concept handle_as_index = std::derived_from<X, has_no_value<X>>;

// Members that tensors have in other libraries; naming one gives the message.
struct no_member { // converts to whatever the code after it needs
  template <class X> operator X() const;
  template <class... X> no_member operator()(const X&...) const;
  template <class X> extent_t operator[](const X&) const;
};
#define TAPELESS_NO_MEMBER(name, instead) \
  __attribute__((                         \
      unavailable("tapeless: x." #name ": a tensor has no such member: " instead))) static no_member name
#define TAPELESS_OP(name)                  \
  template <auto... I> TAPELESS_NO_MEMBER( \
      name, "ops are functions, as tl::sum<axes...>(x), tl::exp(x), tl::matmul(x, w)")(...);
struct no_members : integer_operators::of_handles {
  TAPELESS_OP(sum)
  TAPELESS_OP(mean)
  TAPELESS_OP(max)
  TAPELESS_OP(min)
  TAPELESS_OP(argmax)
  TAPELESS_OP(exp)
  TAPELESS_OP(log)
  TAPELESS_OP(sqrt)
  TAPELESS_OP(abs)
  TAPELESS_OP(sign)
  TAPELESS_OP(sin)
  TAPELESS_OP(cos)
  TAPELESS_OP(floor)
  TAPELESS_OP(round)
  TAPELESS_OP(log1p)
  TAPELESS_OP(softplus)
  TAPELESS_OP(cumsum)
  TAPELESS_OP(flip)
  TAPELESS_OP(pow)
  TAPELESS_OP(square)
  TAPELESS_OP(tanh)
  TAPELESS_OP(erf)
  TAPELESS_OP(sigmoid)
  TAPELESS_OP(relu)
  TAPELESS_OP(softmax)
  TAPELESS_OP(logsumexp)
  TAPELESS_OP(dot)
  TAPELESS_OP(matmul)
  TAPELESS_OP(reshape)
  TAPELESS_OP(view)
  TAPELESS_OP(flatten)
  TAPELESS_OP(squeeze)
  TAPELESS_OP(unsqueeze)
  TAPELESS_OP(transpose)
  TAPELESS_OP(permute)
  TAPELESS_OP(cast)
  TAPELESS_OP(astype)
  TAPELESS_OP(to)
  TAPELESS_OP(clone)
  TAPELESS_OP(detach)
  TAPELESS_NO_MEMBER(
      shape,
      "the extents are x.extent(axis), and their number x.rank(); in a trace of a var h they are h.dims()");
  TAPELESS_NO_MEMBER(ndim, "the number of axes is x.rank()");
  TAPELESS_NO_MEMBER(dtype, "the element type is decltype(x)::value_type");
  TAPELESS_NO_MEMBER(T, "ops are functions: tl::transpose(x)");
  TAPELESS_NO_MEMBER(item, "a result of rank 0 is read as x[0]")(...);
};
#undef TAPELESS_OP
#undef TAPELESS_NO_MEMBER

// The conversions of a handle. operator double is consteval so that its body is instantiated where it is called, before
// anything that the call leads to. To ask whether the conversion exists (std::is_convertible) is not an error.
template <class Handle> struct has_no_value : no_members {
  template <class X = Handle> constexpr explicit operator bool() const {
    static_assert(has_a_value_while_tracing<X>,
                  "tapeless: if (x): a traced condition has no value while tracing; use where(c, a, b)");
    return false;
  }
  template <class X = Handle> consteval operator double() const {
    static_assert(
        is_a_number<X>,
        "tapeless: std::f(x), double d = x: a tensor is not a number; use tl::exp, tl::sqrt, ... or "
        "tl::custom<op>(x); a result is read as y[0], a parameter is auto or tl::scalar<T>");
    return 0;
  }
};

} // namespace detail

// for its message; what is left of << is no handle and no number, of which it is a shift
template <class Stream, class Handle>
  requires(std::is_class_v<Stream> && !detail::handle_as_index<std::remove_const_t<Stream>>)
Stream& operator<<(Stream& out, const detail::has_no_value<Handle>&) {
  static_assert(
      detail::is_a_number<Handle>,
      "tapeless: out << x: a tensor is not printed as a whole: a result of rank 0 is y[0], the elements of any "
      "are for (float e : y)");
  return out;
}

} // namespace tapeless
