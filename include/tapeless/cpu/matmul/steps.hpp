// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Steps of matrix products: the choice of the kernel, and the calls.
#pragma once
#include <type_traits>
#include "../../core/bf16.hpp"
#include "../../expr/op.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/operand.hpp"
#include "bf16.hpp"
#include "matmul.hpp"
#include "small.hpp"

namespace tapeless::cpu {

constexpr bool is_small(const small_product& s) { return s.m > 0; }

template <> struct kernel_for<detail::op::matmul> {
  // Packs the weights: once for all rows. packed: nullptr where they are read in place
  template <auto K, class T, class Team>
  static void pack(const Team& team, const detail::step&, const frame_step& f, T* packed) {
    const T* const b = static_cast<const T*>(f.slot[1].data());
    if constexpr (std::is_same_v<T, bf16>) {
      if (packed) matmul_bf16_pack(team, f.matmul, b, packed);
    } else if constexpr (!is_small(K)) {
      if (packed) matmul_pack<T>(team, f.matmul, b, packed);
    } else if constexpr (small_packed(K) > 0) {
      if (packed) small_pack<K>(b, packed);
    }
  }
  template <auto K, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const scratch_of_kernel<T>& s = c.scratch;
    if constexpr (std::is_same_v<T, bf16>)
      matmul_bf16(team, c.frame.matmul, c.in(0), c.in(1), c.template out<float>(), s.each, s.packed);
    else if constexpr (is_small(K))
      matmul_small<K, T>(team, c.frame.matmul, c.in(0), c.in(1), c.out(), s.packed);
    else
      matmul<T>(team, c.frame.matmul, c.in(0), c.in(1), c.out(), s.each, s.shared, s.packed, c.indexed.lists);
  }
};

} // namespace tapeless::cpu
