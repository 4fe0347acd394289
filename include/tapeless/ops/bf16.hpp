// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cast<bf16>(a) = narrow(a), rounded; cast<float>(a) = widen(a), exact. bf16 stores the operands of products.
// vjp of both: a_bar += y_bar; tangents and cotangents are float.
#pragma once
#include "elementwise.hpp"

namespace tapeless::detail {

constexpr int narrow(graph& g, int a) { return unary(g, op::narrow, a, dtype::bf16); }
constexpr int widen(graph& g, int a) {
  return g[a].t == dtype::bf16 ? unary(g, op::widen, a, dtype::f32) : a;
}

// The cotangent of a matmul or convolution, in the type of its operands.
constexpr int cotangent_of_product(vjp_context& c) {
  return c.g[c.v.in[0]].t == dtype::bf16 ? narrow(c.g, c.bar.node) : c.bar.node;
}
// The element type of its result.
template <class T> using product_type = std::conditional_t<rounded<T>, float, T>;

// clang-format off
inline constexpr op_rule bf16_rules[] = {
  {op::narrow, "narrow", kind::elementwise, no_flops, aligned({zero_0}, {nonzero_0 | underflows}, not_linear), [](vjp_context& c) { c.give(0, c.bar); }},
  {op::widen,  "widen",  kind::elementwise, no_flops, aligned({zero_0}, {nonzero_0}, {operand_0}), [](vjp_context& c) { c.give(0, c.bar); }},
};
// clang-format on

} // namespace tapeless::detail
