// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The kernels of 2-d convolution by name, and which extents each of them can take.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../core/geometry.hpp"
#include "../base/team.hpp"
#include "common/as_matmul.hpp"
#include "common/geometry.hpp"
#include "nchw/depthwise.hpp"
#include "nchw/depthwise_wgrad.hpp"
#include "nchw/direct.hpp"
#include "nchw/direct_wgrad.hpp"
#include "nchw/indirect.hpp"
#include "nchw/indirect_wgrad.hpp"
#include "nchw/narrow_groups_wgrad.hpp"
#include "nchw/pointwise.hpp"
#include "nchw/pointwise_wgrad.hpp"
#include "via_nhwc.hpp"
#include "nchw/winograd.hpp"
#include "nchw/winograd_wgrad.hpp"
#include "nhwc/depthwise.hpp"
#include "nhwc/depthwise_wgrad.hpp"
#include "nhwc/direct.hpp"
#include "nhwc/direct_wgrad.hpp"
#include "nhwc/trimmed.hpp"
#include "nhwc/trimmed_wgrad.hpp"
#include "nhwc/winograd.hpp"
#include "nhwc/winograd_wgrad.hpp"

namespace tapeless::cpu {

enum class conv_pass : std::uint8_t { fprop, dgrad, wgrad };
enum class conv_layout : std::uint8_t { nchw, nhwc, both };
enum class conv_kernel : std::uint8_t {
  columns,                 // lanes are columns of the image
  indirect,                // lanes are channels
  dense,                   // one matrix product
  depthwise,               // one channel a group
  winograd,                // 3 x 3 without stride, tiles of 2 x 2
  winograd4,               // tiles of 4 x 4: fewer products, less exact
  pointwise,               // 1 x 1 without stride or padding
  narrow,                  // groups narrower than a vector, 3 x 3 without stride
  turned,                  // small images, transposed to NHWC in the cache
  channels_last,           // lanes are channels
  channels_last_trimmed,   // small images, without the taps on padding
  channels_last_winograd,  // 3 x 3 without stride, tiles of 2 x 2
  channels_last_depthwise, // one channel and one filter a group
};

/// A pass that a kernel lacks.
struct no_conv_pass {
  static constexpr bool takes(const conv_extents&) { return false; }
  static constexpr scratch_need need(const conv_extents&) { return {}; }
};
/// A kernel: its layout, the extents that it takes, its passes. A pass that takes fewer extents has takes() of its own.
template <conv_kernel K, conv_layout L, bool (*Takes)(const conv_extents&), class Fprop, class Dgrad,
          class Wgrad>
struct conv_row {
  static constexpr conv_kernel kernel = K;
  template <conv_pass P> using pass =
      std::conditional_t<P == conv_pass::fprop, Fprop,
                         std::conditional_t<P == conv_pass::dgrad, Dgrad, Wgrad>>;

  template <class Pass> static constexpr bool pass_takes(const conv_extents& e) {
    if constexpr (requires { Pass::takes(e); }) return Pass::takes(e);
    else return true;
  }
  static constexpr bool takes(conv_pass p, const conv_extents& e) {
    if ((L != conv_layout::both && e.channels_last != (L == conv_layout::nhwc)) || !Takes(e)) return false;
    return p == conv_pass::fprop   ? pass_takes<Fprop>(e)
           : p == conv_pass::dgrad ? pass_takes<Dgrad>(e)
                                   : pass_takes<Wgrad>(e);
  }
};
constexpr bool all_extents(const conv_extents&) { return true; }
constexpr bool no_product(const conv_extents& e) { return !is_product(e); }

// clang-format off
/// In the order of the enumerators.
template <class V> using conv_rows = std::tuple<
    conv_row<conv_kernel::columns, conv_layout::nchw, all_extents,
             columns_fprop<V>, columns_dgrad<V>, columns_wgrad<V>>,
    conv_row<conv_kernel::indirect, conv_layout::nchw, all_extents,
             indirect_fprop<V>, indirect_dgrad<V>, indirect_wgrad<V>>,
    conv_row<conv_kernel::dense, conv_layout::both, is_dense,
             dense_fprop<V>, dense_dgrad<V>, dense_wgrad<V>>,
    conv_row<conv_kernel::depthwise, conv_layout::nchw, one_channel_a_group,
             depthwise_fprop<V>, depthwise_dgrad<V>, depthwise_wgrad<V>>,
    conv_row<conv_kernel::winograd, conv_layout::nchw, three_by_three,
             winograd_fprop<V, 2>, winograd_dgrad<V, 2>, winograd_wgrad<V, 2>>,
    conv_row<conv_kernel::winograd4, conv_layout::nchw, three_by_three,
             winograd_fprop<V, 4>, winograd_dgrad<V, 4>, winograd_wgrad<V, 4>>,
    conv_row<conv_kernel::pointwise, conv_layout::nchw, pointwise,
             pointwise_fprop<V>, pointwise_dgrad<V>, pointwise_wgrad<V>>,
    conv_row<conv_kernel::narrow, conv_layout::nchw, all_extents,
             no_conv_pass, no_conv_pass, narrow_wgrad<V>>,
    conv_row<conv_kernel::turned, conv_layout::nchw, all_extents,
             turned_fprop<V>, turned_dgrad<V>, turned_wgrad<V>>,
    conv_row<conv_kernel::channels_last, conv_layout::nhwc, no_product,
             channels_last_fprop<V>, channels_last_dgrad<V>, channels_last_wgrad<V>>,
    conv_row<conv_kernel::channels_last_trimmed, conv_layout::nhwc, takes_trimmed,
             channels_last_trimmed_fprop<V>, channels_last_trimmed_dgrad<V>, channels_last_trimmed_wgrad<V>>,
    conv_row<conv_kernel::channels_last_winograd, conv_layout::nhwc, three_by_three,
             channels_last_winograd_fprop<V>, channels_last_winograd_dgrad<V>, channels_last_winograd_wgrad<V>>,
    conv_row<conv_kernel::channels_last_depthwise, conv_layout::nhwc, one_filter_a_channel,
             channels_last_depthwise_fprop<V>, channels_last_depthwise_dgrad<V>, channels_last_depthwise_wgrad<V>>>;
// clang-format on
template <conv_kernel K, class V> using conv_row_of =
    std::tuple_element_t<static_cast<std::size_t>(K), conv_rows<V>>;
template <conv_pass P, conv_kernel K, class V> using conv_kernel_type =
    typename conv_row_of<K, V>::template pass<P>;

template <conv_kernel K> using conv_kernel_constant = std::integral_constant<conv_kernel, K>;
/// f(conv_kernel_constant<k>)
template <class F> constexpr auto with_conv_kernel(conv_kernel k, const F& f) {
  decltype(f(conv_kernel_constant<conv_kernel{}>{})) result{};
  [&]<int... I>(std::integer_sequence<int, I...>) {
    ((static_cast<int>(k) == I ? void(result = f(conv_kernel_constant<conv_kernel{I}>{})) : void()), ...);
  }(std::make_integer_sequence<int, std::tuple_size_v<conv_rows<void>>>{});
  return result;
}

constexpr conv_extents in_channels_last(conv_extents e) {
  e.channels_last = true;
  return e;
}
/// Can kernel k run pass p of e?
template <class V> constexpr bool conv_kernel_takes(conv_pass p, conv_kernel k, const conv_extents& e) {
  return with_conv_kernel(k, [&](auto kernel) {
    using row = conv_row_of<kernel, V>;
    static_assert(row::kernel == kernel);
    return row::takes(p, e);
  });
}

} // namespace tapeless::cpu
