// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Overloads that are only for their message: an axis or a count as a function argument, or left out; tags in another order.
// Every other overload that fits is a better match: an argument that is `misplaced` is converted.
#pragma once
#include "../core/rules.hpp"
#include "../core/tensor.hpp"
#include "../expr/handle.hpp"
#include "subscripts.hpp"

namespace tapeless {
namespace detail {

struct misplaced {
  constexpr misplaced() = default;
  template <class X> constexpr misplaced(const X&) {}
};
template <class X> // handle, of a type without const or a reference
concept tensor_or_var = is_tensor_v<X> || std::is_same_v<X, var>;
template <class X>
concept is_not_an_integer = std::is_floating_point_v<X>;

} // namespace detail

// Behind the tensor stands something that no other overload takes.
#define TAPELESS_MISPLACED(op, sentence)                                             \
  template <auto... Axes, detail::handle A> constexpr auto op(                       \
      const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, \
      detail::misplaced = {}) {                                                      \
    static_assert(detail::never<A>, sentence);                                       \
    return a;                                                                        \
  }
// The first template argument is left out, or all of them.
#define TAPELESS_NO_AXIS(op, sentence)                                                 \
  template <detail::handle A, class... X> constexpr auto op(const A& a, const X&...) { \
    static_assert(detail::never<A>, sentence);                                         \
    return a;                                                                          \
  }
// The second template argument is left out.
#define TAPELESS_NO_COUNT(op, sentence)                                                           \
  template <auto Axis, detail::handle A, class... X> constexpr auto op(const A& a, const X&...) { \
    static_assert(detail::never<A>, sentence);                                                    \
    return a;                                                                                     \
  }

#define TAPELESS_MASKED(op)                                                                       \
  TAPELESS_MISPLACED(op, "tapeless: " #op "<axes...>(a): axes are template arguments, as in " #op \
                         "<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them")
TAPELESS_MASKED(sum)
TAPELESS_MASKED(mean)
TAPELESS_MASKED(logsumexp)
#undef TAPELESS_MASKED

#define TAPELESS_REDUCTION(op)                                                                    \
  TAPELESS_MISPLACED(op, "tapeless: " #op "<axes...>(a): axes are template arguments, as in " #op \
                         "<1>(a); behind a stands tl::keepdims or nothing, and no mask")
TAPELESS_REDUCTION(prod)
TAPELESS_REDUCTION(any)
TAPELESS_REDUCTION(all)
TAPELESS_REDUCTION(argmax)
TAPELESS_REDUCTION(argmin)
#undef TAPELESS_REDUCTION

TAPELESS_MISPLACED(
    variance,
    "tapeless: variance<axes...>(a), std_dev: axes are template arguments, as in variance<1>(a); "
    "behind a stand tl::over(mask), then tl::unbiased, then tl::keepdims, or some of them")
TAPELESS_MISPLACED(
    norm,
    "tapeless: norm<axes...>(a, p): axes are template arguments, as in norm<1>(a); behind a stand "
    "the number p, then tl::keepdims, or one of them, and no mask")

// max(a, b) and min(a, b) are elementwise.
#define TAPELESS_EXTREME(op, sentence)                                                          \
  template <auto Axis, auto... Axes, detail::handle A> constexpr auto op(                       \
      const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}) {          \
    static_assert(detail::never<A>, sentence);                                                  \
    return a;                                                                                   \
  }                                                                                             \
  template <detail::handle A>                                                                   \
  constexpr auto op(const A& a, detail::misplaced, detail::misplaced, detail::misplaced = {}) { \
    static_assert(detail::never<A>, sentence);                                                  \
    return a;                                                                                   \
  }
TAPELESS_EXTREME(max,
                 "tapeless: max<axes...>(a): axes are template arguments, as in max<1>(a); behind a stand "
                 "tl::over(mask), then tl::keepdims, or none of them; max(a, b) is elementwise")
TAPELESS_EXTREME(min,
                 "tapeless: min<axes...>(a): axes are template arguments, as in min<1>(a); behind a stand "
                 "tl::over(mask), then tl::keepdims, or none of them; min(a, b) is elementwise")
#undef TAPELESS_EXTREME

#define TAPELESS_SOFTMAX(op)                                                                       \
  TAPELESS_MISPLACED(op, "tapeless: " #op "<axis>(a): the axis is a template argument, as in " #op \
                         "<1>(a), and the last one if none is given; a mask is behind a, as tl::over(mask)")
TAPELESS_SOFTMAX(softmax)
TAPELESS_SOFTMAX(log_softmax)
#undef TAPELESS_SOFTMAX

// Behind the tensor stands something, and the axis is where it belongs.
#define TAPELESS_TOO_MANY(op, sentence)                                      \
  template <auto Axis, detail::handle A>                                     \
  constexpr auto op(const A& a, detail::misplaced, detail::misplaced = {}) { \
    static_assert(detail::never<A>, sentence);                               \
    return a;                                                                \
  }
// Other operands than those that an op with an axis has, at least two
#define TAPELESS_OTHER_OPERANDS(op, sentence)                                                             \
  template <auto Axis, detail::handle A>                                                                  \
  constexpr auto op(const A& a, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) { \
    static_assert(detail::never<A>, sentence);                                                            \
    return a;                                                                                             \
  }
#define TAPELESS_ONE_AXIS(op)                                                                              \
  TAPELESS_NO_AXIS(op, "tapeless: " #op "<axis>(a): the axis is a template argument, as in " #op "<1>(a)") \
  TAPELESS_TOO_MANY(op, "tapeless: " #op "<axis>(a): behind a stands nothing, no number and no mask")
TAPELESS_ONE_AXIS(cumsum)
TAPELESS_ONE_AXIS(cumprod)
TAPELESS_ONE_AXIS(cummax)
TAPELESS_ONE_AXIS(cummin)
TAPELESS_ONE_AXIS(cumargmax)
TAPELESS_ONE_AXIS(logcumsumexp)
TAPELESS_ONE_AXIS(flip)
TAPELESS_ONE_AXIS(expand_dims)
TAPELESS_ONE_AXIS(squeeze)
#undef TAPELESS_ONE_AXIS

template <class A, class B, class... X>
  requires(detail::tensor_or_var<A> || detail::tensor_or_var<B>)
constexpr auto linear_scan(const A&, const B&, const X&...) {
  static_assert(
      detail::never<A>,
      "tapeless: linear_scan<axis>(a, b): the axis is a template argument, as in linear_scan<1>(a, b)");
}
TAPELESS_NO_AXIS(concat,
                 "tapeless: concat<axis>(a, b, ...): the axis is a template argument, as in concat<1>(a, b)")
TAPELESS_OTHER_OPERANDS(concat, "tapeless: concat<axis>(a, b, ...): the operands are tensors, at least two")
TAPELESS_NO_AXIS(stack,
                 "tapeless: stack<axis>(a, b, ...): the axis is a template argument, as in stack<0>(a, b)")
TAPELESS_TOO_MANY(stack, "tapeless: stack<axis>(a, b, ...): the operands are tensors")

#define TAPELESS_ALONG_AXIS(op, arguments)                                                                 \
  TAPELESS_NO_AXIS(op, "tapeless: " #op "<axis>" arguments ": the axis is a template argument, as in " #op \
                       "<1>" arguments)                                                                    \
  TAPELESS_OTHER_OPERANDS(op, "tapeless: " #op "<axis>" arguments ": these are the arguments, each a tensor")
TAPELESS_ALONG_AXIS(take_along_axis, "(a, index)")
TAPELESS_ALONG_AXIS(scatter_add_along_axis, "(a, index, d)")
TAPELESS_ALONG_AXIS(scatter_max_along_axis, "(a, index, d)")
TAPELESS_ALONG_AXIS(scatter_min_along_axis, "(a, index, d)")
#undef TAPELESS_ALONG_AXIS

#define TAPELESS_AXIS_AND_COUNT(op, n)                                       \
  TAPELESS_NO_AXIS(op, "tapeless: " #op "<axis, " n ">(a): the axis and " n  \
                       " are template arguments, as in " #op "<1, 2>(a)")    \
  TAPELESS_NO_COUNT(op, "tapeless: " #op "<axis, " n ">(a): the axis and " n \
                        " are template arguments, as in " #op "<1, 2>(a)")
TAPELESS_AXIS_AND_COUNT(split, "n")
TAPELESS_AXIS_AND_COUNT(tile, "n")
TAPELESS_AXIS_AND_COUNT(repeat, "n")
TAPELESS_AXIS_AND_COUNT(roll, "shift")
#undef TAPELESS_AXIS_AND_COUNT

#define TAPELESS_DIAGONAL(op) \
  TAPELESS_MISPLACED(         \
      op, "tapeless: " #op "<k>(a): k is a template argument, as in " #op "<1>(a), and 0 if none is given")
TAPELESS_DIAGONAL(tril)
TAPELESS_DIAGONAL(triu)
TAPELESS_DIAGONAL(diagonal)
TAPELESS_DIAGONAL(trace)
#undef TAPELESS_DIAGONAL

template <class T, detail::handle A, class... X> constexpr auto one_hot(const A& label, const X&...) {
  static_assert(detail::never<A>,
                "tapeless: one_hot<T, n>(label): n is a template argument, as in one_hot<float, 10>(label)");
  return label;
}
TAPELESS_NO_AXIS(
    one_hot,
    "tapeless: one_hot<T, n>(label): T and n are template arguments, as in one_hot<float, 10>(label)")
template <class N, class A> constexpr auto polygamma(const N&, const A& a) {
  static_assert(detail::never<A>,
                "tapeless: polygamma<n>(a): n is a template argument, a whole number, as in polygamma<1>(a)");
  return a;
}
template <auto N, class A>
  requires detail::is_not_an_integer<decltype(N)>
constexpr auto polygamma(const A& a) {
  static_assert(detail::never<A>,
                "tapeless: polygamma<n>(a): n is a template argument, a whole number, as in polygamma<1>(a)");
  return a;
}

template <class S, class... A> constexpr auto einsum(const S&, const A&...) {
  static_assert(detail::never<S>,
                "tapeless: einsum<subscripts>(a, ...): the subscripts are a template argument, as in "
                "einsum<\"ij,jk->ik\">(a, b)");
}
template <detail::subscripts S, class... A>
  requires(!(detail::handle<A> && ...) || sizeof...(A) == 0)
constexpr auto einsum(const A&...) {
  static_assert(
      detail::never<A...> || sizeof...(A) > 1000,
      "tapeless: einsum<subscripts>(a, ...): the operands are tensors, at least one; multiply by a number behind it");
}

#undef TAPELESS_MISPLACED
#undef TAPELESS_NO_AXIS
#undef TAPELESS_NO_COUNT
#undef TAPELESS_TOO_MANY
#undef TAPELESS_OTHER_OPERANDS

} // namespace tapeless
