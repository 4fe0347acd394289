// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// z[i] = x[i] op y[i]      x, y: int32, which broadcast      z: int32, no derivative
//
// The operators of C++, each defined for all operands: expr/integer.hpp says how. x / y is an operator of elementwise.hpp.
#pragma once
#include "elementwise.hpp"

namespace tapeless {

namespace detail {

template <class T>
concept integer = std::is_same_v<T, std::int32_t>;
template <op O, class A, class B> constexpr auto apply_integer(const A& a, const B& b) {
  static_assert(any_var<A, B> || integer<value_type_t<A, B>>,
                "tapeless: integer op(a, b): the element type is int32; a % b of real numbers is fmod or "
                "remainder, a & b of masks a && b");
  if constexpr (any_var<A, B>)
    require(graph_of(a, b), dtype_among(a, b) == dtype::i32,
            "tapeless: integer op(a, b): the element type is int32; a % b of real numbers is fmod or "
            "remainder, a & b of masks a && b");
  return apply_binary<O>(a, b);
}
template <class A> constexpr auto complement_of(const A& a) {
  static_assert(
      any_var<A> || integer<value_type_t<A>>,
      "tapeless: ~a: the element type is int32; of a mask it is !a; cast<std::int32_t>(a) real numbers first");
  if constexpr (any_var<A>) {
    if (!require(
            graph_of(a), a.type() == dtype::i32,
            "tapeless: ~a: the element type is int32; of a mask it is !a; cast<std::int32_t>(a) real numbers first"))
      return a;
    return apply_binary<op::bit_xor>(a, -1);
  } else if constexpr (integer<value_type_t<A>>) return apply_binary<op::bit_xor>(a, -1);
  else return a;
}

} // namespace detail

// ---- what the user writes -------------------------------------------------------------------------------------
// Shapes: the operands broadcast; a number is one, too.
// Errors: compile errors. The shapes broadcast, and both are int32.
// Cost: one flop an element of the result.
// In a namespace of their own, so that the | and << of numbers do not ask whether these are handles.
// clang-format off
namespace integer_operators {

// a % b has the sign of a, and a % 0 is a
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator%(const A& a, const B& b) { return detail::apply_integer<detail::op::modulo>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator&(const A& a, const B& b) { return detail::apply_integer<detail::op::bit_and>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator|(const A& a, const B& b) { return detail::apply_integer<detail::op::bit_or>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator^(const A& a, const B& b) { return detail::apply_integer<detail::op::bit_xor>(a, b); }
// ~a = a ^ -1
template <detail::handle A> constexpr auto operator~(const A& a) { return detail::complement_of(a); }
// a << b drops what leaves 32 bits; a >> b keeps the sign. Of a b outside [0, 31]: 0, and 0 or -1
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator<<(const A& a, const B& b) { return detail::apply_integer<detail::op::shift_left>(a, b); }
template <class A, class B> requires detail::handle_among<A, B>
constexpr auto operator>>(const A& a, const B& b) { return detail::apply_integer<detail::op::shift_right>(a, b); }

template <detail::mutable_handle A, detail::operand B> constexpr A& operator%=(A& a, const B& b) { return detail::assign(a, a % b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator&=(A& a, const B& b) { return detail::assign(a, a & b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator|=(A& a, const B& b) { return detail::assign(a, a | b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator^=(A& a, const B& b) { return detail::assign(a, a ^ b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator<<=(A& a, const B& b) { return detail::assign(a, a << b); }
template <detail::mutable_handle A, detail::operand B> constexpr A& operator>>=(A& a, const B& b) { return detail::assign(a, a >> b); }

} // namespace integer_operators

// ---- rules ----------------------------------------------------------------------------------------------------
namespace detail {

inline constexpr op_rule integer_rules[] = {
  {op::quotient,    "quotient",    kind::elementwise, per_output<1>, aligned({zero_0, zero_1, maybe}, nowhere, not_linear)},
  {op::modulo,      "modulo",      kind::elementwise, per_output<1>, aligned({zero_0, maybe}, {nonzero_0 | zero_1}, not_linear)},
  {op::bit_and,     "bit_and",     kind::elementwise, per_output<1>, aligned({zero_0, zero_1, maybe}, nowhere, not_linear)},
  {op::bit_or,      "bit_or",      kind::elementwise, per_output<1>, aligned({zero_0 | zero_1}, {nonzero_0, nonzero_1}, not_linear)},
  {op::bit_xor,     "bit_xor",     kind::elementwise, per_output<1>, aligned({zero_0 | zero_1, maybe}, {zero_0 | nonzero_1, nonzero_0 | zero_1}, not_linear)},
  {op::shift_left,  "shift_left",  kind::elementwise, per_output<1>, aligned({zero_0, maybe}, {nonzero_0 | zero_1}, not_linear)},
  {op::shift_right, "shift_right", kind::elementwise, per_output<1>, aligned({zero_0, maybe}, {nonzero_0 | zero_1}, not_linear)},
};
// clang-format on

} // namespace detail
} // namespace tapeless
