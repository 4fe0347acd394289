// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Steps of convolutions: the extents of their kernels, and the calls.
#pragma once
#include <type_traits>
#include "../../core/bf16.hpp"
#include "../../expr/op.hpp"
#include "../../ops/conv.hpp"
#include "../../ops/window.hpp"
#include "../../plan/ir/kernel_extents.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/operand.hpp"
#include "bf16.hpp"
#include "conv.hpp"

namespace tapeless::cpu {

constexpr conv_pass pass_of(detail::op o) {
  return o == detail::op::conv_fprop   ? conv_pass::fprop
         : o == detail::op::conv_dgrad ? conv_pass::dgrad
                                       : conv_pass::wgrad;
}
constexpr bool is_small(const conv_kernel&) { return false; }
constexpr bool is_small(const conv_bf16_kernel&) { return false; }

template <detail::op O> struct conv_steps {
  // Packs the weights: once for all rows.
  template <auto K, class T, class Team>
  static void pack(const Team& team, const detail::step& s, const frame_step& f, T* packed) {
    const conv_extents e = conv_of(s, {f.slot[0].s, f.slot[1].s, f.slot[2].s});
    const T* const w = static_cast<const T*>(f.slot[1].data());
    if constexpr (std::is_same_v<T, bf16>) conv2d_bf16_pack<pass_of(O), K>(team, e, w, packed);
    else conv2d_pack<pass_of(O), K, simd<T>>(team, e, w, packed);
  }
  template <auto K, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    const conv_extents e = conv_of(c.step, {c.operand(0), c.operand(1), c.result()});
    if constexpr (std::is_same_v<T, bf16>)
      conv2d_bf16_run<pass_of(O), K>(team, e, c.in(0), c.in(1), c.template out<float>(), c.scratch);
    else conv2d_run<pass_of(O), K, simd<T>>(team, e, c.in(0), c.in(1), c.out(), c.scratch, c.indexed.lists);
  }
};
template <> struct kernel_for<detail::op::conv_fprop> : conv_steps<detail::op::conv_fprop> {};
template <> struct kernel_for<detail::op::conv_dgrad> : conv_steps<detail::op::conv_dgrad> {};
template <> struct kernel_for<detail::op::conv_wgrad> : conv_steps<detail::op::conv_wgrad> {};

} // namespace tapeless::cpu
