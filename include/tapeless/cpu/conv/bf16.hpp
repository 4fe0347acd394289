// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Convolution of bf16 operands; the result is float, products are exact, sums are of float. Extents: conv.hpp.
//
// Operands become 32-bit words, which kernels of float take as elements. With AVX512_BF16 a word holds two
// neighbours along the summed axis, and one instruction adds both products. The kernels are nhwc_direct, and
// nhwc_pointwise for 1 x 1:
//   fprop   pairs of channels
//   dgrad   pairs of filters
//   wgrad   pairs of images, or the halves of a single image
// On other machines, and where results fill few lanes, a word is one widened element, in the operand's layout. Any
// kernel but minimal filtering takes these. A convolution that is a matrix product goes to matmul/bf16.hpp.
// Some images at a time become words, in scratch that does not depend on the batch.
#include "../../core/bf16.hpp"
#include "../base/bf16.hpp"
#include "../matmul/bf16.hpp"
#include "common/geometry.hpp"
#include "common/tile.hpp"
#include "bf16_pairs.hpp"
#include "bf16_words.hpp"
#include "conv.hpp"

namespace tapeless::cpu {
/// A product that sums one to three terms mostly writes: it runs as a convolution of widened elements.
constexpr bool is_shallow_product(conv_pass p, const conv_extents& e) {
  return is_product(e) && (p == conv_pass::fprop ? e.c < 4 : p == conv_pass::dgrad && e.k < 4);
}
/// A convolution as a matrix product of its two operands, perhaps swapped; m == 0: it is not a matrix product.
struct conv_product {
  matmul_extents e{.m = 0};
  bool swapped = false;
};
constexpr conv_product product_of(conv_pass p, const conv_extents& e) {
  const index_t area = e.h * e.w;
  const bool whole = !e.nhwc && filters_cover_image(e);
  if (!whole && (!is_product(e) || is_shallow_product(p, e))) return {};
  if (whole || e.nhwc) {
    const index_t rows = whole ? e.n : e.n * area, c = whole ? e.c * area : e.c;
    switch (p) {
      case conv_pass::fprop: return {{.m = rows, .n = e.k, .k = c, .tb = true, .b_batched = false}};
      case conv_pass::dgrad: return {{.m = rows, .n = c, .k = e.k, .b_batched = false}};
      case conv_pass::wgrad: return {{.m = e.k, .n = c, .k = rows, .ta = true}, true};
    }
  }
  switch (p) { // w times each image
    case conv_pass::fprop: return {{.batch = e.n, .m = e.k, .n = area, .k = e.c, .a_batched = false}, true};
    case conv_pass::dgrad:
      return {{.batch = e.n, .m = e.c, .n = area, .k = e.k, .ta = true, .a_batched = false}, true};
    case conv_pass::wgrad: break;
  }
  return {};
}
/// The same for any batch: for scratch, and for an empty batch.
constexpr conv_product product_of_many(conv_pass p, conv_extents e) {
  e.n = unknown_extent;
  return product_of(p, e);
}
constexpr bool is_product_of(conv_pass p, const conv_extents& e) { return product_of_many(p, e).e.m > 0; }
/// Elements of packed w: it is packed if each image has enough rows.
template <class V> constexpr index_t packed_of_product(conv_pass p, const conv_extents& e) {
  const conv_product q = product_of_many(p, e);
  const bool packs = p != conv_pass::wgrad && !q.swapped && e.p * e.q >= 2 * blocking<V>::MR;
  return packs ? matmul_bf16_packed<V>(q.e) : 0;
}

/// A matrix product; or words for kernel k: NHWC pairs, or widened elements.
enum class conv_words : std::uint8_t { product, pairs, widened };
struct conv_bf16_kernel {
  conv_words words;
  conv_kernel k;
  constexpr bool operator==(const conv_bf16_kernel&) const = default;
};
/// By measurements of bench_kernels: pairs take half the time where lanes are full. On NCHW, lanes of columns are
/// faster if less than 60 % of the lanes are full, or if a transposed pixel takes part in few products. A pair needs
/// two channels.
template <class V = simd<float>>
constexpr conv_bf16_kernel conv2d_bf16_kernel_of(conv_pass p, const conv_extents& e) {
  if (is_product_of(p, e)) return {conv_words::product, conv_kernel::dense};
  const index_t cg = e.c / e.groups, kg = e.k / e.groups;
  const index_t lanes = p == conv_pass::dgrad ? cg : kg, summed = p == conv_pass::dgrad ? kg : cg;
  const bool wgrad = p == conv_pass::wgrad, full = lanes * 10 >= 6 * whole_lanes<V>(lanes);
  const bool pays =
      e.nhwc ? (wgrad ? e.groups == 1 || cg > 1 : summed > 1) : full && (wgrad || summed * e.r * e.s >= 64);
  if (bf16_lanes<V>::depth == 2 && pays && !is_shallow_product(p, e))
    return {conv_words::pairs, is_product(e) ? conv_kernel::nhwc_pointwise : conv_kernel::nhwc_direct};
  conv_extents plain = e;
  plain.winograd = 0;
  return {conv_words::widened, conv_kernel_of<V>(p, plain)};
}

/// Which kernels conv2d_bf16_kernel_of may choose for widened elements.
constexpr bool is_of_widened_words(conv_kernel k) {
  using enum conv_kernel;
  return k != dense && k != winograd && k != winograd4 && k != nhwc_winograd;
}
/// Scratch in elements of bf16; it does not depend on n.
template <conv_pass P, class V = simd<float>>
constexpr scratch_need conv2d_bf16_scratch(conv_bf16_kernel k, const conv_extents& e) {
  if (k.words == conv_words::product)
    return {.packed = packed_of_product<V>(P, e), .each = matmul_bf16_scratch<V>(product_of_many(P, e).e)};
  const auto need = [&] {
    if (k.words == conv_words::pairs)
      return k.k == conv_kernel::nhwc_direct
                 ? conv_of_words<P, conv_kernel::nhwc_direct, true, V>::need(e)
                 : conv_of_words<P, conv_kernel::nhwc_pointwise, true, V>::need(e);
    return with_conv_kernel(k.k, [&](auto kernel) {
      if constexpr (is_of_widened_words(kernel) && has_conv_kernel(P, kernel))
        return conv_of_words<P, kernel, false, V>::need(e);
      else return scratch_need{};
    });
  }();
  return {.packed = 2 * need.packed, .each = 2 * need.each, .shared = 2 * need.shared};
}

/// Call conv2d_bf16_pack once for the weights, then conv2d_bf16_run for the batch or parts of it. wgrad packs nothing.
template <conv_pass P, conv_bf16_kernel K, team Team, class V = simd<float>>
void conv2d_bf16_pack(const Team& team, const conv_extents& e, const bf16* w, bf16* packed) {
  if constexpr (P == conv_pass::wgrad) return;
  else if constexpr (K.words != conv_words::product)
    conv_of_words<P, K.k, K.words == conv_words::pairs, V>::pack(team, e, w,
                                                                 reinterpret_cast<float*>(packed));
  else if (packed_of_product<V>(P, e) > 0) matmul_bf16_pack<Team, V>(team, product_of(P, e).e, w, packed);
}
/// a, b: x and w, dy and w, or x and dy
template <conv_pass P, conv_bf16_kernel K, team Team, class V = simd<float>>
void conv2d_bf16_run(const Team& team, const conv_extents& e, const bf16* a, const bf16* b, float* result,
                     const scratch_of_kernel<bf16>& s) {
  if constexpr (K.words == conv_words::product) {
    const conv_product q = product_of(P, e);
    matmul_bf16<Team, V>(team, q.e, q.swapped ? b : a, q.swapped ? a : b, result, s.each,
                         packed_of_product<V>(P, e) > 0 ? s.packed : nullptr);
  } else {
    const auto numbers = [](bf16* p) { return reinterpret_cast<float*>(p); };
    const scratch_of_kernel<float> of_words{numbers(s.packed), numbers(s.each), numbers(s.shared)};
    using kernel = conv_of_words<P, K.k, K.words == conv_words::pairs, V>;
    if constexpr (P == conv_pass::wgrad) kernel::run_wgrad(team, e, a, b, result, of_words);
    else kernel::run(team, e, a, result, of_words);
  }
}

} // namespace tapeless::cpu
