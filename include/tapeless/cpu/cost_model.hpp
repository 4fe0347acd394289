// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The cost model of the CPU: convolutions in either layout and reorders (assign_layouts.hpp), and rows (row_cost.hpp).
#pragma once
#include "../expr/node.hpp"
#include "../ops/conv.hpp"
#include "../plan/ir/kernel_extents.hpp"
#include "base/operand.hpp"
#include "conv/bf16.hpp"
#include "conv/common/geometry.hpp"
#include "conv/kernels.hpp"
#include "conv/nhwc/depthwise.hpp"
#include "conv/nhwc/trimmed.hpp"
#include "conv/steps.hpp"
#include "exec/dispatch.hpp"
#include "exec/extents.hpp"
#include "exec/kernel_choice.hpp"
#include "matmul/micro.hpp"

namespace tapeless::cpu {

// The time of a convolution in ns, on a core with a peak of 50 products a ns. Only ratios count. They were measured
// with bench_kernels, by kinds of layers.
template <class T> constexpr double ns_of_conv(const detail::node& v, const shape& a, const shape& b) {
  const shape q[3] = {assumed(a), assumed(b), assumed(v.s)};
  conv_extents e = conv_of(v, q);
  using V = simd<T>;
  const conv_pass pass = pass_of(v.o);
  const bool nhwc = e.nhwc;
  e.nhwc = false;
  const conv_kernel nchw_kernel = conv_kernel_of<V>(pass, e),
                    nhwc_kernel = conv_kernel_of<V>(pass, in_nhwc(e));
  const bool pays = nhwc_pays<V>(pass, e);
  const bool minimal = nchw_kernel == conv_kernel::winograd || nchw_kernel == conv_kernel::winograd4;
  const double products =
      static_cast<double>(e.k * (e.c / e.groups) * e.r * e.s) * static_cast<double>(e.n * e.p * e.q);
  struct speed {
    double nchw, nhwc; // products a ns, as a share of the peak
  };
  const bool in_place = reads_in_place<V>(e) && e.q > 24;
  const bool depthwise = one_filter_a_channel(e) && e.c > 1,
             trimmed = nhwc_kernel == conv_kernel::nhwc_trimmed;
  // the share of lanes that so many channels fill
  const auto full = [](index_t lanes) {
    return static_cast<double>(lanes) / static_cast<double>(whole_lanes<V>(lanes));
  };
  const double lanes = full(pass == conv_pass::dgrad ? e.c / e.groups : e.k / e.groups);
  constexpr auto W = static_cast<index_t>(V::size);
  speed is = depthwise && pays               ? (in_place ? speed{0.6, 0.78} : speed{0.22, 0.55})
             : depthwise && e.c < W          ? speed{0.45, 0.4 * full(e.c)} // one vector for each pixel
             : depthwise && e.q % W == 0     ? speed{0.42, 0.4}
             : depthwise                     ? (e.q <= 28 ? speed{0.45, 0.68} : speed{0.42, 0.47})
             : pays && e.q <= 4              ? speed{0.42, 0.84}
             : e.q <= 8 && (pays || minimal) ? speed{0.75, 0.9}
             : minimal                       ? speed{1.1, trimmed ? 1.2 : 0.9}
             : pays                          ? speed{0.8, 0.92}
                                             : speed{0.85, 0.77};
  if (nhwc_kernel == conv_kernel::nhwc_winograd) {
    const double gain = nhwc_filtering_gain<V>(pass, e) * lanes; // over full vectors
    const index_t line = ceil_div(e.q, 2);                       // lanes on NCHW: do they fill vectors?
    is.nhwc = (pass == conv_pass::wgrad ? 0.9 : 1.15) * gain;
    if (minimal && pass == conv_pass::wgrad)
      is.nchw = (e.dil_w > 1                             ? 0.52
                 : line * 10 >= whole_lanes<V>(line) * 9 ? 0.84
                                                         : 0.7) *
                gain / full(e.c / e.groups);
  } else if (nhwc_kernel == conv_kernel::nhwc_direct || trimmed) {
    is.nhwc *= lanes;
  }
  if (minimal && pass != conv_pass::wgrad)
    is.nchw = 0.76 * filtering_gain<V>(pass == conv_pass::fprop ? e : transposed(e));
  if (trimmed && pays) {
    is.nhwc = 0.95 * lanes * static_cast<double>(e.p * e.q * e.r * e.s) /
              static_cast<double>(std::max<index_t>(products_inside(e), 1));
    if (nchw_kernel == conv_kernel::via_nhwc) is.nchw = 0.77 * is.nhwc;
  }
  return products / 50 / (nhwc ? is.nhwc : is.nchw);
}
// The time of a bf16 convolution. Products and pairs run at nearly twice the peak; pairs of NCHW are transposed. All
// others take the time of float and of a copy.
template <class Arch> constexpr double ns_of_bf16_conv(detail::node v, const shape& a, const shape& b) {
  const shape q[3] = {assumed(a), assumed(b), assumed(v.s)};
  const conv_extents e = conv_of(v, q);
  const conv_pass pass = pass_of(v.o);
  const conv_words words = conv2d_bf16_kernel_of<Arch>(pass, e).words;
  const auto size = [](const shape& s) { return static_cast<double>(product(s, 0, s.rank)); };
  if (words == conv_words::widened) {
    v.attr2 = detail::without_filtering(v.attr2);
    return ns_of_conv<float>(v, a, b) + 0.05 * size(q[0]);
  }
  const index_t lanes = pass == conv_pass::dgrad ? e.c / e.groups : e.k / e.groups;
  const double full = static_cast<double>(lanes) / static_cast<double>(whole_lanes<Arch>(lanes));
  const double products =
      static_cast<double>(e.k * (e.c / e.groups) * e.r * e.s) * static_cast<double>(e.n * e.p * e.q);
  const bool transposes = words == conv_words::pairs && !e.nhwc;
  const double transpose_ns =
      transposes ? 0.15 * (size(q[0]) + (pass == conv_pass::wgrad ? size(q[1]) : size(q[2]))) : 0;
  return products / 50 / (1.75 * full) + transpose_ns;
}
// A copy of n elements in another order: in the caches, or in memory.
constexpr double ns_of_reorder(double n) { return (n <= 1 << 17 ? 0.25 : 0.8) * n; }
// The same for some images at a time: between memory and caches.
constexpr double ns_of_image_reorder(double n) { return 0.4 * n; }

// What the passes weigh (plan/backend.hpp). The figures of rows are those of a core that does 100 flops a ns at its peak; of
// what the caches do not hold most passes while products are computed.
template <class Arch> struct cost_model {
  static constexpr double conv_ns(const detail::node& v, const shape& a, const shape& b) {
    return v.t == dtype::f64    ? ns_of_conv<double>(v, a, b)
           : v.t == dtype::bf16 ? ns_of_bf16_conv<Arch>(v, a, b)
                                : ns_of_conv<float>(v, a, b);
  }
  static constexpr double reorder_ns(double n) { return ns_of_reorder(n); }
  static constexpr double image_reorder_ns(double n) { return ns_of_image_reorder(n); }
  static constexpr double product_ns(double flops) { return flops / 80; }
  static constexpr double elementwise_ns(double flops) { return flops / 20; }
  static constexpr double move_ns(double n) { return n / 5; }
  static constexpr double memory_ns(double bytes) { return bytes / 250; }
  static constexpr double cache_bytes = 3 << 23;
};

} // namespace tapeless::cpu
