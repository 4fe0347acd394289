// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The kernels of 2-d convolution by name, and which extents each of them can take.
#include "../../core/geometry.hpp"
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
enum class conv_kernel : std::uint8_t {
  direct,         // NCHW: lanes are columns of the image
  indirect,       // lanes are channels
  dense,          // filters as large as the image
  depthwise,      // one channel a group
  winograd,       // 3 x 3 without stride, tiles of 2 x 2
  winograd4,      // tiles of 4 x 4: fewer products, less exact
  pointwise,      // 1 x 1 without stride or padding
  narrow_groups,  // wgrad of groups narrower than a vector, 3 x 3 without stride
  via_nhwc,       // small images, transposed to NHWC in the cache
  nhwc_direct,    // any NHWC layer but those of nhwc_pointwise
  nhwc_trimmed,   // small images, without the taps on padding
  nhwc_winograd,  // 3 x 3 without stride, tiles of 2 x 2
  nhwc_depthwise, // one channel and one filter a group
  nhwc_pointwise, // 1 x 1 without stride, padding or groups
};

struct no_conv_kernel {}; // of a pass for which has_conv_kernel is false
template <class Fprop, class Dgrad, class Wgrad> struct conv_passes {
  using fprop = Fprop;
  using dgrad = Dgrad;
  using wgrad = Wgrad;
};
template <conv_kernel K, class V> struct conv_family;
template <class V> struct conv_family<conv_kernel::direct, V>
    : conv_passes<direct_fprop<V>, direct_dgrad<V>, direct_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::indirect, V>
    : conv_passes<indirect_fprop<V>, indirect_dgrad<V>, indirect_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::dense, V>
    : conv_passes<dense_fprop<V>, dense_dgrad<V>, dense_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::depthwise, V>
    : conv_passes<depthwise_fprop<V>, depthwise_dgrad<V>, depthwise_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::winograd, V>
    : conv_passes<winograd_fprop<V, 2>, winograd_dgrad<V, 2>, winograd_wgrad<V, 2>> {};
template <class V> struct conv_family<conv_kernel::winograd4, V>
    : conv_passes<winograd_fprop<V, 4>, winograd_dgrad<V, 4>, winograd_wgrad<V, 4>> {};
template <class V> struct conv_family<conv_kernel::pointwise, V>
    : conv_passes<pointwise_fprop<V>, pointwise_dgrad<V>, pointwise_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::narrow_groups, V>
    : conv_passes<no_conv_kernel, no_conv_kernel, narrow_groups_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::via_nhwc, V>
    : conv_passes<via_nhwc_fprop<V>, via_nhwc_dgrad<V>, via_nhwc_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::nhwc_direct, V>
    : conv_passes<nhwc_direct_fprop<V>, nhwc_direct_dgrad<V>, nhwc_direct_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::nhwc_trimmed, V>
    : conv_passes<nhwc_trimmed_fprop<V>, nhwc_trimmed_dgrad<V>, nhwc_trimmed_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::nhwc_winograd, V>
    : conv_passes<nhwc_winograd_fprop<V>, nhwc_winograd_dgrad<V>, nhwc_winograd_wgrad<V>> {};
template <class V> struct conv_family<conv_kernel::nhwc_depthwise, V>
    : conv_passes<nhwc_depthwise_fprop<V>, nhwc_depthwise_dgrad<V>, nhwc_depthwise_wgrad<V>> {};
// The same matrix product. It is an enumerator of its own since that tells the layout: takes_nhwc.
template <class V> struct conv_family<conv_kernel::nhwc_pointwise, V> : conv_family<conv_kernel::dense, V> {};
template <conv_pass P, conv_kernel K, class V> using conv_kernel_type =
    std::conditional_t<P == conv_pass::fprop, typename conv_family<K, V>::fprop,
                       std::conditional_t<P == conv_pass::dgrad, typename conv_family<K, V>::dgrad,
                                          typename conv_family<K, V>::wgrad>>;
/// Has family k a kernel for pass p?
constexpr bool has_conv_kernel(conv_pass p, conv_kernel k) {
  return p == conv_pass::wgrad || k != conv_kernel::narrow_groups;
}

constexpr bool takes_nhwc(conv_kernel k) {
  using enum conv_kernel;
  return k == nhwc_direct || k == nhwc_trimmed || k == nhwc_winograd || k == nhwc_depthwise ||
         k == nhwc_pointwise;
}
constexpr conv_extents in_nhwc(conv_extents e) {
  e.nhwc = true;
  return e;
}
/// Can kernel k run pass p of e?
template <class V> constexpr bool conv_kernel_takes(conv_pass p, conv_kernel k, const conv_extents& e) {
  if (e.nhwc != takes_nhwc(k) || !has_conv_kernel(p, k)) return false;
  switch (k) {
    case conv_kernel::direct: return p == conv_pass::wgrad || !pointwise(e);
    case conv_kernel::indirect: return p != conv_pass::wgrad || indirect_wgrad<V>::takes(e);
    case conv_kernel::dense: return filters_cover_image(e);
    case conv_kernel::depthwise: return one_channel_a_group(e);
    case conv_kernel::winograd:
    case conv_kernel::winograd4:
    case conv_kernel::nhwc_winograd: return three_by_three(e);
    case conv_kernel::pointwise: return pointwise(e);
    case conv_kernel::narrow_groups: return narrow_groups_wgrad<V>::takes(e);
    case conv_kernel::via_nhwc:
      return p == conv_pass::wgrad ? via_nhwc_wgrad<V>::takes(e) : takes_via_nhwc<typename V::value_type>(e);
    case conv_kernel::nhwc_direct: return !is_product(e);
    case conv_kernel::nhwc_trimmed:
      return p == conv_pass::wgrad ? nhwc_trimmed_wgrad<V>::takes(e) : takes_trimmed(e);
    case conv_kernel::nhwc_depthwise: return one_filter_a_channel(e);
    case conv_kernel::nhwc_pointwise: return is_product(e);
  }
  return false;
}

template <conv_kernel K> using conv_kernel_constant = std::integral_constant<conv_kernel, K>;
/// f(conv_kernel_constant<k>)   @pre k is one of them
template <class F> constexpr auto with_conv_kernel(conv_kernel k, const F& f) {
  using enum conv_kernel;
  switch (k) {
    case direct: return f(conv_kernel_constant<direct>{});
    case indirect: return f(conv_kernel_constant<indirect>{});
    case dense: return f(conv_kernel_constant<dense>{});
    case depthwise: return f(conv_kernel_constant<depthwise>{});
    case winograd: return f(conv_kernel_constant<winograd>{});
    case winograd4: return f(conv_kernel_constant<winograd4>{});
    case pointwise: return f(conv_kernel_constant<pointwise>{});
    case narrow_groups: return f(conv_kernel_constant<narrow_groups>{});
    case via_nhwc: return f(conv_kernel_constant<via_nhwc>{});
    case nhwc_direct: return f(conv_kernel_constant<nhwc_direct>{});
    case nhwc_trimmed: return f(conv_kernel_constant<nhwc_trimmed>{});
    case nhwc_winograd: return f(conv_kernel_constant<nhwc_winograd>{});
    case nhwc_depthwise: return f(conv_kernel_constant<nhwc_depthwise>{});
    case nhwc_pointwise: break;
  }
  return f(conv_kernel_constant<nhwc_pointwise>{});
}

} // namespace tapeless::cpu
