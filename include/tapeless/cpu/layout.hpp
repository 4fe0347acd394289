// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What plan/layout.hpp and plan/row_cost.hpp weigh on the CPU: a convolution in either layout, and a reorder; rows.
#pragma once
#include "whole.hpp"

namespace tapeless::cpu {

// What a convolution takes, in ns of a core that does 50 products a ns at its peak. Only ratios count: they are those of
// bench_kernels, by kinds of layers.
template <class T> constexpr double ns_of_conv(const tapeless::detail::node& v, const shape& a,
                                               const shape& b) {
  const shape q[3] = {assumed(a), assumed(b), assumed(v.s)};
  conv_extents e = conv_of(v, q);
  const bool last = e.channels_last;
  e.channels_last = false;
  const conv_kernel k = conv_kernel_of<simd<T>>(pass_of(v.o), e);
  const bool pays = channels_last_pays<simd<T>>(pass_of(v.o), e);
  const bool filtered = k == conv_kernel::winograd || k == conv_kernel::winograd4;
  struct speed {
    double share_of_peak, gain; // on planes; what the other layout gains
  };
  const speed is = pays && detail::one_filter_a_channel(e) ? speed{0.22, 2.5}
                   : pays && e.q <= 4                      ? speed{0.42, 2}
                   : (pays || filtered) && e.q <= 8        ? speed{0.75, 1.2}
                   : filtered                              ? speed{1.1, 0.67}
                   : pays                                  ? speed{0.8, 1.15}
                                                           : speed{0.85, 0.9};
  const double products =
      static_cast<double>(e.k * (e.c / e.groups) * e.r * e.s) * static_cast<double>(e.n * e.p * e.q);
  return products / 50 / is.share_of_peak / (last ? is.gain : 1);
}
// A copy of n elements in another order.
constexpr double ns_of_reorder(double n) { return n; }

// What plan/row_cost.hpp weighs, of a core that does 100 flops a ns at its peak: flops of products, of elementwise ops,
// elements of rows that are moved, and bytes behind the caches, most of which pass while products are computed.
struct row_figures {
  static constexpr double product_ns(double flops) { return flops / 80; }
  static constexpr double elementwise_ns(double flops) { return flops / 20; }
  static constexpr double move_ns(double n) { return n / 5; }
  static constexpr double memory_ns(double bytes) { return bytes / 250; }
  static constexpr double cache_bytes = 3 << 23;
};

} // namespace tapeless::cpu
