// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A product and the loop behind it as one step, where the device has a product with an epilogue:
//   D = op(A) op(B) + bias      D = relu(op(A) op(B))      D = relu(op(A) op(B) + bias)      bias: a row, for all rows of D
// The loop does just that, and nobody else reads the product: then the product itself is nowhere. Elsewhere, and where D lies
// on what the product reads, product and loop run one after the other. product_with_loop<P, I> is of step I and the one behind.
#pragma once
#include <cstdint>
#include "../../core/element_type.hpp"
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
#include "../../plan/frame.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/block.hpp"
#include "counted.hpp"
#include "frame.hpp"
#include "kernels.hpp"
#include "launch.hpp"

namespace tapeless::cuda {

// What a loop makes of a product. Slots: among those of the loop
struct loop_behind {
  bool is_epilogue = false, relu = false;
  int product = -1, bias = -1, result = -1; // bias -1: there is none
};

// What the code of step t makes of the block at `made`, whose elements are of type `type`. Where the slots go is not asked.
template <class Plan> constexpr loop_behind read_code(const Plan& p, const detail::step& t,
                                                      const detail::location& made, dtype type) {
  using detail::op;
  enum class value : std::uint8_t { other, product, bias, sum, relu };
  loop_behind r;
  if (t.stores != 1 || t.constants + t.extents + t.customs > 0 || t.codes > 4) return r;
  value of[5]{}; // by register
  for (int k = 0; k < t.codes; ++k) {
    const detail::instruction q(p.code[t.code0 + k]);
    if (q.t != type) return r;
    const value a = of[q.a], b = of[q.b]; // of an input: of no meaning
    value& y = of[q.dst];
    const bool with_bias =
        (a == value::product && b == value::bias) || (a == value::bias && b == value::product);
    if (q.o == op::input) {
      const bool is_product = p.slot_[t.slot0 + q.a].at == made;
      int& slot = is_product ? r.product : r.bias;
      if (slot >= 0) return r;
      slot = q.a;
      y = is_product ? value::product : value::bias;
    } else if (q.o == op::add && with_bias) y = value::sum;
    else if (q.o == op::relu && (a == value::sum || (a == value::product && r.bias < 0))) y = value::relu;
    else return r;
  }
  const detail::store y(p.store_[t.store0]);
  r.result = y.slot;
  r.relu = of[y.reg] == value::relu;
  r.is_epilogue = y.t == type && (r.relu || of[y.reg] == value::sum);
  return r;
}
// Does slot q walk all of c in the order of the loop of t?
constexpr bool walks_all(const detail::step& t, const detail::slot& q, const detail::slot& c) {
  extent_t n = 1;
  for (int a = t.axes - 1; a >= 0; --a) {
    if (t.loop[a] != 1 && q.stride[a] != n) return false;
    n = detail::times(n, t.loop[a]);
  }
  return n == detail::numel(c.s);
}
// Is slot q a row of c, at each row the same? dense: a slot that walks all of c
constexpr bool is_row(const detail::step& t, const detail::slot& q, const detail::slot& dense,
                      const detail::slot& c) {
  int a = t.axes - 1;
  extent_t n = 1;
  for (; a >= 0 && q.stride[a] == dense.stride[a]; --a) n = detail::times(n, t.loop[a]);
  for (; a >= 0; --a)
    if (q.stride[a] != 0) return false;
  return n == c.s.d[c.s.rank - 1];
}
// Does a step from `first` on read the value at l, before it is written anew?
template <class Plan> constexpr bool is_read_from(const Plan& p, int first, const detail::location& l) {
  for (int i = first; i < p.steps; ++i) {
    const detail::step& s = p.step_[i];
    const int end = i + 1 < p.steps ? p.step_[i + 1].slot0 : p.slots;
    bool is_written = false;
    for (int k = 0; s.slot0 + k < end; ++k) {
      if (!(p.slot_[s.slot0 + k].at == l)) continue;
      if (k < s.loads || (k >= s.mask && k < s.mask + s.masks)) return true;
      is_written = true;
    }
    if (is_written) return false;
  }
  return false;
}

// The loop behind step i, if it is an epilogue of that step.
template <const auto& P> constexpr loop_behind epilogue_of(int i) {
  if (i < 0 || i + 1 >= P.steps) return {};
  const detail::step &s = P.step_[i], &t = P.step_[i + 1];
  if (s.fused || s.o != detail::op::matmul || !t.fused || s.at_load != t.at_load) return {};
  const detail::slot& c = P.slot_[s.slot0 + s.loads];
  if (c.at.where != detail::place::arena || (c.t != dtype::f32 && c.t != dtype::f64)) return {};
  loop_behind r = read_code(P, t, c.at, c.t);
  if (!r.is_epilogue || r.product < 0) return {};
  const detail::slot& product = P.slot_[t.slot0 + r.product];
  r.is_epilogue = walks_all(t, product, c) && walks_all(t, P.slot_[t.slot0 + r.result], c) &&
                  !is_read_from(P, i + 2, c.at);
  if (r.bias >= 0) r.is_epilogue = r.is_epilogue && is_row(t, P.slot_[t.slot0 + r.bias], product, c);
  for (int a = 0; a < t.axes; ++a) // rows that are not there stay 0
    r.is_epilogue = r.is_epilogue && counted_names<P>(t.loop[a]) == 0;
  return r.is_epilogue ? r : loop_behind{};
}

// Have two ranges of bytes an element in common?
inline bool overlap(const void* p, index_t n, const void* q, index_t m) {
  const auto a = reinterpret_cast<std::uintptr_t>(p), b = reinterpret_cast<std::uintptr_t>(q);
  return n > 0 && m > 0 && a < b + static_cast<std::uintptr_t>(m) && b < a + static_cast<std::uintptr_t>(n);
}

template <const auto& P, int I> struct product_with_loop {
  static constexpr loop_behind loop = epilogue_of<P>(I);

  // False, and nothing is done, where the device has no such product. X: of the operands
  template <class X, class Device> static bool run(const Device& device, const frame<P>& f) {
    using T = sum_of_products<X>;
    if constexpr (requires(matmul_extents e, const X* x, T* y) { device.matmul(e, x, x, y, y, true); }) {
      const detail::step_operands s{P.step_[I], f.slot + P.step_[I].slot0};
      const detail::frame_slot* const t = f.slot + P.step_[I + 1].slot0;
      const matmul_extents e = detail::matmul_of(s.step, s.operand(0), s.operand(1), s.result());
      const X *const a = s.template in<X>(0), *const b = s.template in<X>(1);
      static constexpr T unknown{}; // at bind, where arguments have no place yet
      const T* bias = nullptr;
      if constexpr (loop.bias >= 0)
        bias = device.lists() ? &unknown : static_cast<const T*>(t[loop.bias].data());
      T* const d = static_cast<T*>(t[loop.result].data());
      const auto bytes = [](index_t n, std::size_t each) { return n * static_cast<index_t>(each); };
      const index_t of_d = bytes(e.batch * e.m * e.n, sizeof(T));
      const bool apart = !overlap(a, bytes(elements_of(s.operand(0)), sizeof(X)), d, of_d) &&
                         !overlap(b, bytes(elements_of(s.operand(1)), sizeof(X)), d, of_d) &&
                         (bias == nullptr || !overlap(bias, bytes(e.n, sizeof(T)), d, of_d));
      return (device.lists() || apart) && device.matmul(e, a, b, d, bias, loop.relu);
    } else return false;
  }
};

} // namespace tapeless::cuda
