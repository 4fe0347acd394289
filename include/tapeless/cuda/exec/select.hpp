// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The launches of a selection: the rows that a mask has, the most extreme of all values, or of each segment's.
#pragma once
#include <type_traits>
#include "../../expr/op.hpp"
#include "../../ops/select_node.hpp"
#include "../base/block.hpp"
#include "../kernels/select.hpp"
#include "launch.hpp"

namespace tapeless::cuda {

// The cut, and counts.
inline constexpr index_t scratch_of_cut = 2048;
inline constexpr index_t scratch_of_select = scratch_of_cut + index_t{sizeof(range_counts)};

template <> struct kernel_for<detail::op::select> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    using U = key_type<T>;
    static_assert(sizeof(selection_cut<U>) <= scratch_of_cut);
    const detail::select_attributes q = detail::attributes_of_select(c.step);
    auto* const cut = reinterpret_cast<selection_cut<U>*>(c.scratch);
    const count_t n = counted(elements_of(c.operand(0)));
    const bool in_segments = q.segments > 0, is_asked = !in_segments && c.step.loads > 1;
    const index_t most = !q.by_order() || in_segments ? 0 : q.most_of(n);
    device.launch(
        begin_cut_kernel<U>{cut, is_asked ? c.index(1) : nullptr, c.count, c.template out<std::int32_t>(),
                            most < n ? counted(most) : n, c.results()},
        c.results() < 256 ? 256 : c.results());
    if (!q.by_order()) find<true>(device, c, c.in(0), n, false);
    else if constexpr (!std::is_same_v<T, bool>) {
      if (in_segments) {
        auto* const chosen = static_cast<std::int32_t*>(c.slot[c.step.loads + 2].data());
        device.launch(of_each_segment_kernel<T>{c.in(0), c.index(1), chosen, n, counted(q.k),
                                                static_cast<std::int32_t>(q.segments), q.least()},
                      n);
        return find<true>(device, c, chosen, n, false);
      }
      for (int shift = 8 * static_cast<int>(sizeof(U)) - 8; shift >= 0; shift -= 8) {
        device.launch(digit_counts_kernel<T>{c.in(0), cut, n, shift, q.least()}, n);
        device.launch(cut_kernel<U>{cut, shift}, 1);
      }
      find<false>(device, c, c.in(0), n, q.least());
    }
  }

private:
  // The positions of what is above the cut of x; of a mask, of what is not 0.
  template <bool Mask, class T, class X, class Device>
  static void find(const Device& device, const kernel_call<T>& c, const X* x, count_t n, bool least) {
    const values_in_ranges<X, Mask> values{x,
                                           reinterpret_cast<const selection_cut<key_type<X>>*>(c.scratch),
                                           reinterpret_cast<range_counts*>(c.scratch + scratch_of_cut),
                                           n,
                                           (n + ranges - 1) / ranges,
                                           least};
    device.launch(range_counts_kernel<X, Mask>{values}, ranges);
    device.launch(group_counts_kernel{values.counts}, ranges / ranges_of_group);
    device.launch(positions_kernel<X, Mask>{values, c.template out<std::int32_t>(), c.count}, ranges);
  }
};

} // namespace tapeless::cuda
