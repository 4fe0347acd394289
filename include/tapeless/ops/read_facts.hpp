// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Questions that the facts of an op answer (facts.hpp): where a node is zero, and in which operands it is linear.
#pragma once
#include "all.hpp"  // IWYU pragma: export
#include "zero.hpp" // IWYU pragma: export

namespace tapeless::detail {

// Does a case of the list hold where the operands in `zero` are 0 and those in `nonzero` are not?
// ignored: cases with one of these bits do not count
constexpr bool holds(const fact_list& cases, unsigned zero, unsigned nonzero, unsigned ignored) {
  const unsigned missing = ~(zero | nonzero << 3) & 63u;
  for (const unsigned c : cases)
    if ((c & ignored) == 0 && (c & missing) == 0) return true;
  return false;
}
constexpr unsigned bits_of(const bool (&in)[3]) {
  return (in[0] ? 1u : 0u) | (in[1] ? 2u : 0u) | (in[2] ? 4u : 0u);
}

// Is v zero where the operands in `zero` are? A product with a zero counts as zero, even if the other factor is
// infinite. is_constant_zero(k): is operand k a constant 0?
template <class F> constexpr bool zero_outside(const node& v, const bool (&zero)[3], F is_constant_zero) {
  const fact_list& cases = rule(v.o).facts.zero;
  if (cases.empty()) return false;
  unsigned is = bits_of(zero);
  for (int k = 0; k < 3; ++k)
    if (!zero[k] && (v.in[k] < 0 || is_constant_zero(k))) is |= 1u << k;
  return holds(cases, is, 0, maybe);
}
// Is v a product or quotient, which is 0 where its operand k is? The other operand may be infinite or NaN there.
constexpr bool has_factor(const node& v, int k) {
  if (rule(v.o).k != kind::elementwise || v.in[1] < 0 || v.t == dtype::boolean) return false;
  bool r = false;
  for (const unsigned c : rule(v.o).facts.zero) r = r || c == 1u << k;
  return r;
}
constexpr bool has_factor(const node& v) { return has_factor(v, 0) || has_factor(v, 1); }
// f(0) = 0, f of one operand and elementwise.
constexpr bool keeps_zero(const node& v) {
  const op_rule& r = rule(v.o);
  return r.k == kind::elementwise && v.in[1] < 0 && holds(r.facts.zero, operand_0, 0, maybe);
}
// Is v other than 0 where the operands in `zero` are 0 and those in `nonzero` are not?
// t: the type of operand 0; underflow: is v asked for but for underflow?
constexpr bool is_nonzero(const node& v, dtype t, unsigned zero, unsigned nonzero, bool underflow) {
  if (v.o == op::cast && is_float(t) && !is_float(v.t)) return false;           // 0.5 becomes 0
  if (v.o == op::cast && v.t == dtype::u8 && t != dtype::boolean) return false; // and so does -1
  // an integer does not underflow: 65536^2 is 0 by wrapping around
  return holds(rule(v.o).facts.nonzero, zero, nonzero, underflow && is_float(v.t) ? 0 : underflows);
}
// Is v = f(x) 0 where x is 0, and elsewhere only by underflow? The type of x is not known: any.
constexpr bool has_zeros_of_operand(const node& v) {
  return keeps_zero(v) && is_nonzero(v, dtype::f32, 0, operand_0, true);
}

// Bits of the operands in which v is linear together, the others held fixed: those with a bit in `in`, and maybe more.
// 0: it is not linear in them. Operands that v does not have do not count.
constexpr unsigned linear_with(const node& v, unsigned in) {
  unsigned there = 0;
  for (int k = 0; k < 3; ++k)
    if (v.in[k] >= 0) there |= 1u << k;
  for (const unsigned set : rule(v.o).facts.linear)
    if (in != 0 && (in & ~(set & there)) == 0) return set & there;
  return 0;
}
// Is v linear in exactly these operands together? Then v of a sum is the sum of v of its terms, and a list may have a
// row twice.
constexpr bool is_linear(const node& v, const bool (&in)[3]) {
  const unsigned set = linear_with(v, bits_of(in));
  return set != 0 && set == bits_of(in);
}

} // namespace tapeless::detail
