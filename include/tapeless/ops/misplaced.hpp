// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Overloads that are only for their message: an axis or a count as a function argument, or left out; tags in another order.
// Every other overload that fits is a better match: an argument that is `misplaced` is converted. They are no macros: of a macro
// clang prints so much that the line of the user is far below.
#pragma once
#include <type_traits>
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

// clang-format off
// Reductions: behind the tensor stands something that no other overload takes.
template <auto... Axes, detail::handle A> constexpr auto sum(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: sum<axes...>(a): axes are template arguments, as in sum<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto mean(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: mean<axes...>(a): axes are template arguments, as in mean<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto logsumexp(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: logsumexp<axes...>(a): axes are template arguments, as in logsumexp<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto prod(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: prod<axes...>(a): axes are template arguments, as in prod<1>(a); behind a stands tl::keepdims or nothing, and no mask");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto any(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: any<axes...>(a): axes are template arguments, as in any<1>(a); behind a stands tl::keepdims or nothing, and no mask");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto all(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: all<axes...>(a): axes are template arguments, as in all<1>(a); behind a stands tl::keepdims or nothing, and no mask");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto argmax(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: argmax<axes...>(a): axes are template arguments, as in argmax<1>(a); behind a stands tl::keepdims or nothing, and no mask");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto argmin(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: argmin<axes...>(a): axes are template arguments, as in argmin<1>(a); behind a stands tl::keepdims or nothing, and no mask");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto variance(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: variance<axes...>(a), std_dev: axes are template arguments, as in variance<1>(a); behind a stand tl::over(mask), then tl::unbiased, then tl::keepdims, or some of them");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto norm(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: norm<axes...>(a, p): axes are template arguments, as in norm<1>(a); behind a stand the number p, then tl::keepdims, or one of them, and no mask");
  return a;
}
// max(a, b) and min(a, b) are elementwise.
template <auto Axis, auto... Axes, detail::handle A> constexpr auto max(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: max<axes...>(a): axes are template arguments, as in max<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them; max(a, b) is elementwise");
  return a;
}
template <detail::handle A> constexpr auto max(const A& a, detail::misplaced, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: max<axes...>(a): axes are template arguments, as in max<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them; max(a, b) is elementwise");
  return a;
}
template <auto Axis, auto... Axes, detail::handle A> constexpr auto min(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: min<axes...>(a): axes are template arguments, as in min<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them; min(a, b) is elementwise");
  return a;
}
template <detail::handle A> constexpr auto min(const A& a, detail::misplaced, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: min<axes...>(a): axes are template arguments, as in min<1>(a); behind a stand tl::over(mask), then tl::keepdims, or none of them; min(a, b) is elementwise");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto softmax(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: softmax<axis>(a): the axis is a template argument, as in softmax<1>(a), and the last one if none is given; a mask is behind a, as tl::over(mask)");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto log_softmax(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: log_softmax<axis>(a): the axis is a template argument, as in log_softmax<1>(a), and the last one if none is given; a mask is behind a, as tl::over(mask)");
  return a;
}

// One axis, which is a function argument, or left out; or the axis stands where it belongs, and something behind the tensor.
template <detail::handle A, class... X> constexpr auto cumsum(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: cumsum<axis>(a): the axis is a template argument, as in cumsum<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto cumsum(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: cumsum<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto cumprod(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: cumprod<axis>(a): the axis is a template argument, as in cumprod<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto cumprod(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: cumprod<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto cummax(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: cummax<axis>(a): the axis is a template argument, as in cummax<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto cummax(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: cummax<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto cummin(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: cummin<axis>(a): the axis is a template argument, as in cummin<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto cummin(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: cummin<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto cumargmax(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: cumargmax<axis>(a): the axis is a template argument, as in cumargmax<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto cumargmax(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: cumargmax<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto logcumsumexp(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: logcumsumexp<axis>(a): the axis is a template argument, as in logcumsumexp<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto logcumsumexp(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: logcumsumexp<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto flip(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: flip<axis>(a): the axis is a template argument, as in flip<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto flip(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: flip<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto expand_dims(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: expand_dims<axis>(a): the axis is a template argument, as in expand_dims<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto expand_dims(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: expand_dims<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <detail::handle A, class... X> constexpr auto squeeze(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: squeeze<axis>(a): the axis is a template argument, as in squeeze<1>(a)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto squeeze(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: squeeze<axis>(a): behind a stands nothing, no number and no mask");
  return a;
}
template <class A, class B, class... X>
  requires(detail::tensor_or_var<A> || detail::tensor_or_var<B>)
constexpr auto linear_scan(const A&, const B&, const X&...) {
  static_assert(detail::never<A>, "tapeless: linear_scan<axis>(a, b): the axis is a template argument, as in linear_scan<1>(a, b)");
}
template <detail::handle A, class... X> constexpr auto concat(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: concat<axis>(a, b, ...): the axis is a template argument, as in concat<1>(a, b)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto concat(const A& a, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: concat<axis>(a, b, ...): the operands are tensors, at least two");
  return a;
}
template <detail::handle A, class... X> constexpr auto stack(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: stack<axis>(a, b, ...): the axis is a template argument, as in stack<0>(a, b)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto stack(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: stack<axis>(a, b, ...): the operands are tensors");
  return a;
}
template <detail::handle A, class... X> constexpr auto take_along_axis(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: take_along_axis<axis>(a, index): the axis is a template argument, as in take_along_axis<1>(a, index)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto take_along_axis(const A& a, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: take_along_axis<axis>(a, index): these are the arguments, each a tensor");
  return a;
}
template <detail::handle A, class... X> constexpr auto scatter_add_along_axis(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: scatter_add_along_axis<axis>(a, index, d): the axis is a template argument, as in scatter_add_along_axis<1>(a, index, d)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto scatter_add_along_axis(const A& a, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: scatter_add_along_axis<axis>(a, index, d): these are the arguments, each a tensor");
  return a;
}
template <detail::handle A, class... X> constexpr auto scatter_max_along_axis(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: scatter_max_along_axis<axis>(a, index, d): the axis is a template argument, as in scatter_max_along_axis<1>(a, index, d)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto scatter_max_along_axis(const A& a, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: scatter_max_along_axis<axis>(a, index, d): these are the arguments, each a tensor");
  return a;
}
template <detail::handle A, class... X> constexpr auto scatter_min_along_axis(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: scatter_min_along_axis<axis>(a, index, d): the axis is a template argument, as in scatter_min_along_axis<1>(a, index, d)");
  return a;
}
template <auto Axis, detail::handle A> constexpr auto scatter_min_along_axis(const A& a, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: scatter_min_along_axis<axis>(a, index, d): these are the arguments, each a tensor");
  return a;
}

// An axis and a count, or k.
template <detail::handle A, class... X> constexpr auto split(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: split<axis, n>(a): the axis and n are template arguments, as in split<1, 2>(a)");
  return a;
}
template <auto Axis, detail::handle A, class... X> constexpr auto split(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: split<axis, n>(a): the axis and n are template arguments, as in split<1, 2>(a)");
  return a;
}
template <detail::handle A, class... X> constexpr auto tile(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: tile<axis, n>(a): the axis and n are template arguments, as in tile<1, 2>(a)");
  return a;
}
template <auto Axis, detail::handle A, class... X> constexpr auto tile(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: tile<axis, n>(a): the axis and n are template arguments, as in tile<1, 2>(a)");
  return a;
}
template <detail::handle A, class... X> constexpr auto repeat(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: repeat<axis, n>(a): the axis and n are template arguments, as in repeat<1, 2>(a)");
  return a;
}
template <auto Axis, detail::handle A, class... X> constexpr auto repeat(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: repeat<axis, n>(a): the axis and n are template arguments, as in repeat<1, 2>(a)");
  return a;
}
template <detail::handle A, class... X> constexpr auto roll(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: roll<axis, shift>(a): the axis and shift are template arguments, as in roll<1, 2>(a)");
  return a;
}
template <auto Axis, detail::handle A, class... X> constexpr auto roll(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: roll<axis, shift>(a): the axis and shift are template arguments, as in roll<1, 2>(a)");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto tril(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: tril<k>(a): k is a template argument, as in tril<1>(a), and 0 if none is given");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto triu(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: triu<k>(a): k is a template argument, as in triu<1>(a), and 0 if none is given");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto diagonal(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: diagonal<k>(a): k is a template argument, as in diagonal<1>(a), and 0 if none is given");
  return a;
}
template <auto... Axes, detail::handle A> constexpr auto trace(const A& a, detail::misplaced, detail::misplaced = {}, detail::misplaced = {}, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: trace<k>(a): k is a template argument, as in trace<1>(a), and 0 if none is given");
  return a;
}
template <detail::handle A, class... X> constexpr auto pad(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: pad<axis, before, after>(a): the axis, before and after are template arguments, as in pad<1, 0, 2>(a)");
  return a;
}
template <auto Axis, detail::handle A, class... X> constexpr auto pad(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: pad<axis, before, after>(a): the axis, before and after are template arguments, as in pad<1, 0, 2>(a)");
  return a;
}
template <auto Axis, auto Before, detail::handle A, class... X> constexpr auto pad(const A& a, const X&...) {
  static_assert(detail::never<A>, "tapeless: pad<axis, before, after>(a): the axis, before and after are template arguments, as in pad<1, 0, 2>(a)");
  return a;
}
template <auto Axis, auto Before, auto After, detail::handle A> constexpr auto pad(const A& a, detail::misplaced, detail::misplaced = {}) {
  static_assert(detail::never<A>, "tapeless: pad<axis, before, after>(a): behind a stands tl::fill_value(v), tl::reflect, tl::edge or tl::wrap_around, or nothing");
  return a;
}
template <class T, detail::handle A, class... X> constexpr auto one_hot(const A& label, const X&...) {
  static_assert(detail::never<A>, "tapeless: one_hot<T, n>(label): n is a template argument, as in one_hot<float, 10>(label)");
  return label;
}
template <detail::handle A, class... X> constexpr auto one_hot(const A& label, const X&...) {
  static_assert(detail::never<A>, "tapeless: one_hot<T, n>(label): T and n are template arguments, as in one_hot<float, 10>(label)");
  return label;
}
template <class N, class A> constexpr auto polygamma(const N&, const A& a) {
  static_assert(detail::never<A>, "tapeless: polygamma<n>(a): n is a template argument, a whole number, as in polygamma<1>(a)");
  return a;
}
template <auto N, class A>
  requires detail::is_not_an_integer<decltype(N)>
 constexpr auto polygamma(const A& a) {
  static_assert(detail::never<A>, "tapeless: polygamma<n>(a): n is a template argument, a whole number, as in polygamma<1>(a)");
  return a;
}

template <detail::handle A> constexpr auto clamp(const A& a, detail::misplaced) {
  static_assert(detail::never<A>, "tapeless: clamp(a, lo, hi): both bounds are given; with one alone it is max(a, lo) or min(a, hi)");
  return a;
}

template <class S, class... A> constexpr auto einsum(const S&, const A&...) {
  static_assert(detail::never<S>, "tapeless: einsum<subscripts>(a, ...): the subscripts are a template argument, as in einsum<\"ij,jk->ik\">(a, b)");
}
template <detail::subscripts S, class... A>
  requires(!(detail::handle<A> && ...) || sizeof...(A) == 0)
constexpr auto einsum(const A&...) {
  static_assert(detail::never<A...> || sizeof...(A) > 1000,
                "tapeless: einsum<subscripts>(a, ...): the operands are tensors, at least one; multiply by a number behind it");
}
// clang-format on

} // namespace tapeless
