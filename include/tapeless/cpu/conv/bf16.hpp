// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Convolution of bf16 operands; the result is float, products are exact, sums are of float. Extents as in cpu/conv/conv.hpp.
//
// Operands become words, which stand where kernels of float have elements. With AVX512_BF16 a word holds two neighbours
// along what the pass sums over, one instruction adds both products, and channels_last multiplies them, of 1 x 1
// channels_last_pointwise:
//   fprop   channels: an image of half as many      dgrad   filters      wgrad   images, or the halves of a single one
// On other machines, and where results fill few lanes, a word is one widened element, in the operand's layout, and any
// kernel but minimal filtering does the rest. What is a matrix product as it stands goes to cpu/matmul/bf16.hpp.
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
/// A product that sums one to three terms writes more than it multiplies: as a convolution of widened elements.
constexpr bool is_shallow_product(conv_pass p, const conv_extents& e) {
  return is_product(e) && (p == conv_pass::fprop ? e.c < 4 : p == conv_pass::dgrad && e.k < 4);
}
/// A convolution that is a matrix product of its two operands as they are, or swapped; m == 0: it is none.
struct conv_product {
  matmul_extents e{.m = 0};
  bool swapped = false;
};
constexpr conv_product product_of(conv_pass p, const conv_extents& e) {
  const index_t area = e.h * e.w;
  const bool whole = !e.channels_last && filters_cover_image(e);
  if (!whole && (!is_product(e) || is_shallow_product(p, e))) return {};
  if (whole || e.channels_last) {
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
/// The same for any batch: for scratch, and where a run has none.
constexpr conv_product product_of_many(conv_pass p, conv_extents e) {
  e.n = many;
  return product_of(p, e);
}
constexpr bool is_product_of(conv_pass p, const conv_extents& e) { return product_of_many(p, e).e.m > 0; }
/// Lanes of w, packed ahead: where each image has rows enough.
template <class V> constexpr index_t packed_of_product(conv_pass p, const conv_extents& e) {
  const conv_product q = product_of_many(p, e);
  const bool packs = p != conv_pass::wgrad && !q.swapped && e.p * e.q >= 2 * blocking<V>::MR;
  return packs ? matmul_bf16_packed<V>(q.e) : 0;
}

/// A product of matrices; words of two, channels last, or widened elements, for k.
enum class conv_words : std::uint8_t { product, pairs, widened };
struct conv_bf16_kernel {
  conv_words words;
  conv_kernel k;
  constexpr bool operator==(const conv_bf16_kernel&) const = default;
};
/// Read off bench_kernels: words of two take half the time where lanes are full. On planes lanes of columns are faster where
/// less than six in ten are, or where a pixel that is turned meets few products; pairs of channels need two of them.
template <class V = simd<float>>
constexpr conv_bf16_kernel conv2d_bf16_kernel_of(conv_pass p, const conv_extents& e) {
  if (is_product_of(p, e)) return {conv_words::product, conv_kernel::dense};
  const index_t cg = e.c / e.groups, kg = e.k / e.groups;
  const index_t lanes = p == conv_pass::dgrad ? cg : kg, summed = p == conv_pass::dgrad ? kg : cg;
  const bool wgrad = p == conv_pass::wgrad, full = lanes * 10 >= 6 * whole_lanes<V>(lanes);
  const bool pays = e.channels_last ? (wgrad ? e.groups == 1 || cg > 1 : summed > 1)
                                    : full && (wgrad || summed * e.r * e.s >= 64);
  if (bf16_lanes<V>::depth == 2 && pays && !is_shallow_product(p, e))
    return {conv_words::pairs,
            is_product(e) ? conv_kernel::channels_last_pointwise : conv_kernel::channels_last};
  conv_extents plain = e;
  plain.winograd = 0;
  return {conv_words::widened, conv_kernel_of<V>(p, plain)};
}

/// Elements of bf16, as many as the numbers of scratch take; a function of all extents but n.
template <conv_pass P, class V = simd<float>>
constexpr scratch_need conv2d_bf16_scratch(conv_bf16_kernel k, const conv_extents& e) {
  if (k.words == conv_words::product)
    return {.packed = packed_of_product<V>(P, e), .each = matmul_bf16_scratch<V>(product_of_many(P, e).e)};
  const auto need = [&] {
    if (k.words == conv_words::pairs)
      return k.k == conv_kernel::channels_last
                 ? conv_of_words<P, conv_kernel::channels_last, true, V>::need(e)
                 : conv_of_words<P, conv_kernel::channels_last_pointwise, true, V>::need(e);
    switch (k.k) {
      case conv_kernel::columns: return conv_of_words<P, conv_kernel::columns, false, V>::need(e);
      case conv_kernel::indirect: return conv_of_words<P, conv_kernel::indirect, false, V>::need(e);
      case conv_kernel::depthwise: return conv_of_words<P, conv_kernel::depthwise, false, V>::need(e);
      case conv_kernel::pointwise: return conv_of_words<P, conv_kernel::pointwise, false, V>::need(e);
      case conv_kernel::narrow: return conv_of_words<P, conv_kernel::narrow, false, V>::need(e);
      case conv_kernel::turned: return conv_of_words<P, conv_kernel::turned, false, V>::need(e);
      case conv_kernel::channels_last: return conv_of_words<P, conv_kernel::channels_last, false, V>::need(e);
      case conv_kernel::channels_last_trimmed:
        return conv_of_words<P, conv_kernel::channels_last_trimmed, false, V>::need(e);
      case conv_kernel::channels_last_depthwise:
        return conv_of_words<P, conv_kernel::channels_last_depthwise, false, V>::need(e);
      case conv_kernel::channels_last_pointwise:
        return conv_of_words<P, conv_kernel::channels_last_pointwise, false, V>::need(e);
      case conv_kernel::dense:
      case conv_kernel::winograd:
      case conv_kernel::winograd4:
      case conv_kernel::channels_last_winograd: break; // never taken
    }
    return scratch_need{};
  }();
  return {.packed = 2 * need.packed, .each = 2 * need.each, .shared = 2 * need.shared};
}

/// conv2d_bf16_pack, then conv2d_bf16_run: what all rows of a batch share, and the batch or a part of it. wgrad packs nothing.
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
