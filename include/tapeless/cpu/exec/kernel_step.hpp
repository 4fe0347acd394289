// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A kernel step of a plan: the element type, kernel and scratch that its shapes need, and its packed weights.
#pragma once
#include "../../core/dtype.hpp"
#include "../../ops/conv.hpp"
#include "../../plan/ir/arena.hpp"
#include "../fused/lanes.hpp"
#include "../matmul/small.hpp"
#include "dispatch.hpp"
#include "frame.hpp"
#include "recycled_slots.hpp"

namespace tapeless::cpu {

template <class Arch> struct kernel_steps {
  // Bytes of an element of a step's scratch.
  static constexpr index_t scratch_unit(const step& s) { return s.wide ? 8 : s.bf16 ? 2 : 4; }
  template <const auto& P> static constexpr bool followed_by_epilogue(int i) {
    return i + 1 < P.steps && P.step_[i + 1].epilogue;
  }
  template <const auto& P> static constexpr bool is_conv_of_sweep(int i) {
    return is_conv(P.step_[i].o) && (P.step_[i].sweep || (i + 1 < P.steps && P.step_[i + 1].sweep));
  }

  // Ops that move or compare elements have the type of their operand. Kernels that compute have float or double only.
  template <const auto& P, int I> static constexpr auto zero_of() {
    constexpr step s = P.step_[I];
    constexpr dtype t = P.slot_[s.slot0].t;
    if constexpr (s.o == op::custom_tensor || s.o == op::sparse_solve || s.o == op::spgemm ||
                  s.o == op::entries_of || s.o == op::dense_of || detail::is_float(t))
      return std::conditional_t<s.wide, double, float>(0);
    else if constexpr (t == dtype::bf16) return bf16{};
    else if constexpr (t == dtype::i32) return std::int32_t{};
    else if constexpr (t == dtype::u8) return std::uint8_t{};
    else if constexpr (t == dtype::i64) return std::int64_t{};
    else return detail::mask_byte{};
  }
  template <const auto& P, int I> using element_of = decltype(zero_of<P, I>());

  template <const auto& P> static constexpr scratch_need need_of(int i) {
    const step& s = P.step_[i];
    shape q[3]{};
    for (int k = 0; k < s.loads + 1 && k < 3; ++k) q[k] = P.slot_[s.slot0 + k].s;
    constexpr bool conv = has_step<P>(is_conv);
    scratch_need n;
    if (s.bf16) {
      if constexpr (P.bf16) {
        if (s.o == op::matmul) n = scratch_of_bf16<Arch>(s, q);
        if constexpr (conv)
          if (is_conv(s.o)) n = scratch_of_bf16_conv<Arch>(s, q);
      }
    } else n = s.wide ? scratch_of<double, conv>(s, q) : scratch_of<float, conv>(s, q);
    const bool small = n.each == 0; // other products have scratch
    if (s.o == op::matmul && !s.packs_ahead && (small || !followed_by_epilogue<P>(i)))
      n.packed = 0; // read once
    return n;
  }
  // The kernel of a convolution; the extents of a small product (m == 0: it is not small).
  template <const auto& P, int I> static constexpr auto kernel_of_step() {
    constexpr step s = P.step_[I];
    using T = element_of<P, I>;
    if constexpr (is_conv(s.o) && is_bf16<T>)
      return bf16_kernel_of<Arch>(s, {P.slot_[s.slot0].s, P.slot_[s.slot0 + 1].s, P.slot_[s.slot0 + 2].s});
    else if constexpr (is_conv(s.o))
      return kernel_of<T>(s, {P.slot_[s.slot0].s, P.slot_[s.slot0 + 1].s, P.slot_[s.slot0 + 2].s});
    else if constexpr (s.o != op::matmul || is_bf16<T>) return small_product{};
    else
      return small_product_of(
          most_of_matmul(s, {P.slot_[s.slot0].s, P.slot_[s.slot0 + 1].s, P.slot_[s.slot0 + 2].s}), sizeof(T));
  }

  // The place of step i's weights among those that a load packs, in bytes: recycled slots and earlier weights come first.
  template <const auto& P> static constexpr index_t packed_before(int i) {
    index_t bytes = bytes_of_recycled_slots<P>();
    for (int k = 0; k < i; ++k)
      if (P.step_[k].packs_ahead) bytes += detail::aligned(need_of<P>(k).packed * scratch_unit(P.step_[k]));
    return bytes;
  }
  // The place of step i's weights among those that a run packs for a batch sweep, in bytes.
  template <const auto& P> static constexpr index_t packed_in_sweep_before(int i) {
    index_t bytes = 0;
    while (P.step_[i].sweep)
      if (--i; is_conv_of_sweep<P>(i) && !P.step_[i].packs_ahead)
        bytes += detail::aligned(need_of<P>(i).packed * scratch_unit(P.step_[i]));
    return bytes;
  }
  // The packed weights of a step; nullptr: they are not packed.
  template <const auto& P, int I> static element_of<P, I>* packed_of(const frame<P>& f) {
    using T = element_of<P, I>;
    if constexpr (P.step_[I].o == op::matmul) {
      if (need_of<P>(I).packed == 0) return nullptr;
      if constexpr (is_bf16<T>) {
        if (!P.step_[I].packs_ahead && !matmul_bf16_packs<Arch>(f.step[I].matmul)) return nullptr;
      } else if (!P.step_[I].packs_ahead && !matmul_packs<T>(f.step[I].matmul)) return nullptr;
    }
    constexpr index_t at = P.step_[I].packs_ahead ? packed_before<P>(I) : packed_in_sweep_before<P>(I);
    return reinterpret_cast<T*>((P.step_[I].packs_ahead ? f.packed : f.shared) + at);
  }
  template <const auto& P, int I, class Team>
  [[gnu::always_inline]] static inline void pack_step(const Team& team, const frame<P>& f) {
    constexpr step s = P.step_[I];
    if constexpr (detail::is_heavy(s.o))
      kernel_for<s.o>::template pack<kernel_of_step<P, I>(), element_of<P, I>>(team, s, f.step[I],
                                                                               packed_of<P, I>(f));
  }
};

} // namespace tapeless::cpu
