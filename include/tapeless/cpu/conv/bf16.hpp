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
#include "conv.hpp"

namespace tapeless::cpu {
/// Two lines of elements that become one of words; nullptr: zeros.
struct pair_of_lines {
  const bf16 *first, *second;
  constexpr pair_of_lines at(index_t i) const {
    return {first != nullptr ? first + i : first, second != nullptr ? second + i : second};
  }
};
/// Words of n elements of two lines.   @pre second is nullptr where words are widened elements
template <class L> [[gnu::always_inline]] inline simd<float> words_of_pair(pair_of_lines p, index_t n) {
  using V = simd<float>;
  const auto halves = [&](const bf16* q) __attribute__((always_inline)) {
    return q == nullptr ? words_of<V>{} : n >= L::W ? load_halves<V>(q) : load_halves_n<V>(q, n);
  };
  if constexpr (L::depth == 1) return lanes_of_words<V>(halves(p.first) << 16);
  else return lanes_of_words<V>(halves(p.first) | halves(p.second) << 16);
}
/// to[i] = the words of two lines of n elements
template <class L> void put_pair(index_t n, pair_of_lines p, float* to) {
  for (index_t i = 0; i < n; i += L::W)
    if (const auto v = words_of_pair<L>(p.at(i), n - i); n - i >= L::W) store(to + i, v);
    else store_n(to + i, v, n - i);
}
/// to[i * pitch + j] = the words of lines(j), i < n, j < count
template <class L, class Lines>
void turn_pairs(index_t count, index_t n, const Lines& lines, index_t pitch, float* to) {
  using V = simd<float>;
  constexpr index_t W = L::W;
  for (index_t j = 0; j < count; j += W) {
    pair_of_lines line[V::size];
    for (index_t r = 0; r < W; ++r) line[r] = j + r < count ? lines(j + r) : pair_of_lines{nullptr, nullptr};
    for (index_t i = 0; i < n; i += W) {
      V v[V::size];
      unroll<V::size>([&](auto r)
                          __attribute__((always_inline)) { v[r] = words_of_pair<L>(line[r].at(i), n - i); });
      transpose_lanes(v);
      unroll<V::size>([&](auto x) __attribute__((always_inline)) {
        if (i + x >= n) return;
        float* const row = to + (i + x) * pitch + j;
        if (count - j >= W) store(row, v[x]);
        else store_n(row, v[x], count - j);
      });
    }
  }
}
/// to[s] = the word of neighbours p[s * depth] ..., of n elements
template <class L> void put_neighbours(index_t n, const bf16* p, float* to) {
  const index_t steps = steps_of<L>(n);
  for (index_t s = 0; s < steps; s += L::W) {
    const simd<float> v = L::along(p + s * L::depth, n - s * L::depth);
    if (steps - s >= L::W) store(to + s, v);
    else store_n(to + s, v, steps - s);
  }
}

/// Images of (groups, channels of a group), planes or channels last -> (pixel, group, word of neighbouring channels).
template <class L, class Team> void words_of_channels(const Team& team, index_t images, index_t groups,
                                                      index_t channels, index_t pixels, bool last,
                                                      const bf16* x, float* to) {
  constexpr index_t block = 256; // pixels
  const index_t words = steps_of<L>(channels), pitch = groups * words, parts = ceil_div(pixels, block);
  team.run(images * parts, [&](index_t unit, int) {
    const index_t i = unit % parts * block, n = std::min(block, pixels - i), z = unit / parts;
    const bf16* const image = x + z * groups * channels * pixels;
    float* const out = to + (z * pixels + i) * pitch;
    if (!last)
      for (index_t g = 0; g < groups; ++g)
        turn_pairs<L>(
            words, n,
            [&](index_t j) {
              const index_t c = j * L::depth;
              const bf16* const p = image + (g * channels + c) * pixels + i;
              return pair_of_lines{p, L::depth == 2 && c + 1 < channels ? p + pixels : nullptr};
            },
            pitch, out + g * words);
    else if (const bf16* const from = image + i * groups * channels; channels % L::depth == 0)
      put_neighbours<L>(n * groups * channels, from, out);
    else
      for (index_t k = 0; k < n * groups; ++k)
        put_neighbours<L>(channels, from + k * channels, out + k * words);
  });
}
/// (n, rows, width) of pairs of lines, planes of `plane` elements or channels last -> (n, rows, width, channel).
///   lines(z, i): row i of pair z, of its first channel
template <class L, class Team, class Lines>
void words_of_lines(const Team& team, index_t pairs, index_t rows, index_t width, index_t channels,
                    index_t plane, bool last, const Lines& lines, float* to) {
  constexpr index_t block = 256; // columns
  const index_t parts = ceil_div(width, block);
  team.run(pairs * rows * parts, [&](index_t unit, int) {
    const index_t j = unit % parts * block, n = std::min(block, width - j), row = unit / parts;
    const pair_of_lines p = lines(row / rows, row % rows);
    float* const out = to + (row * width + j) * channels;
    if (last) put_pair<L>(n * channels, p.at(j * channels), out);
    else turn_pairs<L>(channels, n, [&](index_t c) { return p.at(c * plane + j); }, channels, out);
  });
}
/// (images, pixels, channels) -> (images, channels, pixels)
template <class Team>
void to_planes(const Team& team, index_t images, index_t channels, index_t pixels, const float* from,
               float* to) {
  constexpr index_t block = 16; // channels
  const index_t parts = ceil_div(channels, block);
  team.run(images * parts, [&](index_t unit, int) {
    const index_t z = unit / parts, c = unit % parts * block;
    transpose<simd<float>>(pixels, std::min(block, channels - c), from + z * pixels * channels + c, channels,
                           to + (z * channels + c) * pixels, pixels);
  });
}

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

/// Words of a chunk of images; their results, too, where those are planes.
inline constexpr index_t words_together = 1 << 19;

// Numbers of scratch are of float; packed, each and shared as in scratch_need.
template <conv_pass P, conv_kernel K, bool Pairs, class V> struct conv_of_words {
  using L = std::conditional_t<Pairs, bf16_lanes<V>, widened_lanes<V>>;
  static constexpr index_t depth = L::depth;
  using kernel = conv_kernel_type<P, K, typename L::lanes>;

  /// Of planes: words are turned to channels last, and so are results.
  static constexpr bool turns(const conv_extents& e) { return Pairs && !e.channels_last; }
  static constexpr conv_extents on_words(conv_extents e) {
    e.winograd = 0;
    if (!Pairs) return e;
    e.channels_last = true;
    if (P == conv_pass::fprop) e.c = e.groups * steps_of<L>(e.c / e.groups);
    if (P == conv_pass::dgrad) e.k = e.groups * steps_of<L>(e.k / e.groups);
    return e;
  }
  struct side {
    index_t channels, pixels;
    constexpr index_t size() const { return channels * pixels; }
  };
  static constexpr side image(const conv_extents& e) { return {e.c, e.h * e.w}; }
  static constexpr side cotangent(const conv_extents& e) { return {e.k, e.p * e.q}; }
  static constexpr index_t elements_of_weights(const conv_extents& e) {
    return e.k * (e.c / e.groups) * e.r * e.s;
  }

  // ---- fprop and dgrad
  static constexpr side operand(const conv_extents& e) {
    return P == conv_pass::fprop ? image(e) : cotangent(e);
  }
  static constexpr side result(const conv_extents& e) {
    return P == conv_pass::fprop ? cotangent(e) : image(e);
  }
  static constexpr index_t together(index_t size) {
    return std::clamp<index_t>(words_together / std::max<index_t>(size, 1), 1, 64);
  }
  static constexpr index_t size_of_image(const conv_extents& e) {
    return operand(on_words(e)).size() + (turns(e) ? result(e).size() : 0);
  }
  static constexpr index_t words_of_weights(const conv_extents& e) {
    return elements_of_weights(on_words(e));
  }
  template <class Team> static void pack(const Team& team, const conv_extents& e, const bf16* w,
                                         float* packed) {
    const conv_extents words = on_words(e);
    float* const to = packed + kernel::need(words).packed;
    const index_t cg = e.c / e.groups, kg = e.k / e.groups, taps = e.r * e.s;
    // lines of `length` elements, `lines` in a group, whose neighbours are paired
    const index_t length = P == conv_pass::fprop ? taps : cg * taps, lines = P == conv_pass::fprop ? cg : kg;
    const index_t groups = P == conv_pass::fprop ? e.k : e.groups, steps = steps_of<L>(lines);
    team.run(groups * steps, [&](index_t line, int) {
      const index_t j = line % steps * depth;
      const bf16* const p = w + (line / steps * lines + j) * length;
      put_pair<L>(length, {p, depth == 2 && j + 1 < lines ? p + length : nullptr}, to + line * length);
    });
    kernel::pack(team, words, to, packed);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const bf16* a, float* y,
                                        const scratch_of_kernel<float>& s) {
    conv_extents words = on_words(e);
    const side in = operand(e), out = result(e), of_words = operand(words);
    const index_t count = together(size_of_image(e));
    float *const from = s.shared, *const to = from + count * of_words.size();
    const scratch_of_kernel<float> rest{s.packed, s.each, from + count * size_of_image(e)};
    for (index_t z = 0; z < e.n; z += count) {
      words.n = std::min(count, e.n - z);
      float* const result = y + z * out.size();
      words_of_channels<L>(team, words.n, e.groups, in.channels / e.groups, in.pixels, !turns(e),
                           a + z * in.size(), from);
      kernel::run(team, words, from, s.packed + kernel::need(words).packed, turns(e) ? to : result, rest);
      if (turns(e)) to_planes(team, words.n, out.channels, out.pixels, to, result);
    }
  }

  // ---- wgrad
  /// A single image is its upper and its lower half of rows of dy, with the padding that the lower half would not have.
  static constexpr bool is_halved(const conv_extents& e) { return depth == 2 && e.n == 1 && e.p > 1; }
  static constexpr conv_extents halved(conv_extents e) {
    e.p = ceil_div(e.p, 2);
    e.h = (e.p - 1) * e.stride_h + (e.r - 1) * e.dil_h + 1;
    e.pad_top = 0;
    return e;
  }
  static constexpr index_t size_of_pair(const conv_extents& e) {
    return image(e).size() + cotangent(e).size();
  }
  template <class Team> static void sum_of_pairs(const Team& team, const conv_extents& e, const bf16* x,
                                                 const bf16* dy, index_t first, index_t images, float* dw,
                                                 const scratch_of_kernel<float>& s) {
    conv_extents words = on_words(e);
    words.n = ceil_div(images, depth);
    const index_t count = together(size_of_pair(e));
    float *const xs = s.shared, *const ys = xs + count * image(e).size();
    const auto turn = [&](const side& of, const bf16* p, float* to) {
      words_of_lines<L>(
          team, words.n, 1, of.pixels, of.channels, of.pixels, !turns(e),
          [&](index_t z, index_t) {
            const bf16* const q = p + (first + z * depth) * of.size();
            return pair_of_lines{q, depth == 2 && z * depth + 1 < images ? q + of.size() : nullptr};
          },
          to);
    };
    turn(image(e), x, xs);
    turn(cotangent(e), dy, ys);
    kernel::run(team, words, image_batch<float>{xs, image(e).size()},
                image_batch<float>{ys, cotangent(e).size()}, dw,
                {s.packed, s.each, s.shared + count * size_of_pair(e)});
  }
  // Of an odd number of rows the halves share one, which counts in the upper half: so a zero that stands for a row of dy meets
  // no elements of x but those that the row itself meets.
  template <class Team>
  static void sum_of_halves(const Team& team, const conv_extents& e, const bf16* x, const bf16* dy, float* dw,
                            const scratch_of_kernel<float>& s) {
    const conv_extents words = on_words(halved(e));
    const index_t apart = e.p - words.p, in_both = words.p - apart; // rows of dy
    float *const xs = s.shared, *const ys = xs + image(words).size();
    const auto turn = [&](const bf16* p, index_t rows, index_t width, index_t channels, index_t wanted,
                          index_t above, index_t below, index_t left_out, float* to) {
      const auto row = [&](index_t i) {
        return i < 0 || i >= rows ? nullptr : p + i * width * (e.channels_last ? channels : 1);
      };
      words_of_lines<L>(
          team, 1, wanted, width, channels, rows * width, e.channels_last,
          [&](index_t, index_t i) {
            return pair_of_lines{row(i - above), i < left_out ? nullptr : row(i - above + below)};
          },
          to);
    };
    turn(x, e.h, e.w, e.c, words.h, e.pad_top, apart * e.stride_h, 0, xs);
    turn(dy, e.p, e.q, e.k, words.p, 0, apart, in_both, ys);
    kernel::run(team, words, image_batch<float>{xs, image(words).size()},
                image_batch<float>{ys, cotangent(words).size()}, dw,
                {s.packed, s.each, s.shared + size_of_pair(words)});
  }
  template <class Team> static void run_wgrad(const Team& team, const conv_extents& e, const bf16* x,
                                              const bf16* dy, float* dw, scratch_of_kernel<float> s) {
    const index_t size = elements_of_weights(e);
    if (e.n == 0) return void(std::fill_n(dw, size, 0.0f));
    if (is_halved(e)) return sum_of_halves(team, e, x, dy, dw, s);
    float *const part = s.shared, *const lost = part + size; // of some images; of their sum
    s.shared += 2 * size;
    const index_t images = depth * together(size_of_pair(e));
    for (index_t z = 0; z < e.n; z += images) {
      sum_of_pairs(team, e, x, dy, z, std::min(images, e.n - z), z == 0 ? dw : part, s);
      if (z == 0) continue;
      constexpr index_t block = 8192;
      team.run(ceil_div(size, block), [&](index_t chunk, int) {
        const index_t i = chunk * block, n = std::min(block, size - i);
        add_block<V>(n, part + i, dw + i, lost + i, z == images);
        if (z + images >= e.n) end_sums<V>(n, dw + i, lost + i);
      });
    }
  }

  static constexpr scratch_need need(const conv_extents& e) {
    if constexpr (P != conv_pass::wgrad) {
      const scratch_need k = kernel::need(on_words(e));
      return {.packed = k.packed + words_of_weights(e),
              .each = k.each,
              .shared = k.shared + together(size_of_image(e)) * size_of_image(e)};
    } else {
      const conv_extents half = halved(e);
      const scratch_need a = kernel::need(on_words(e)), b = kernel::need(on_words(half));
      return {.each = std::max(a.each, b.each),
              .shared = std::max(
                  2 * elements_of_weights(e) + together(size_of_pair(e)) * size_of_pair(e) + a.shared,
                  size_of_pair(half) + b.shared)};
    }
  }
};

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
