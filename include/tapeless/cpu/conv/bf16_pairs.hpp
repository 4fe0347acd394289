// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// conv_of_words: a convolution kernel of float, run on words of bf16, some images at a time.
#include "../../core/bf16.hpp"
#include "../matmul/bf16.hpp"
#include "bf16_words.hpp"
#include "common/tile.hpp"
#include "kernels.hpp"

namespace tapeless::cpu {

/// Elements of a chunk of images as words; with their results, if those are NCHW.
inline constexpr index_t words_together = 1 << 19;

// Scratch is counted in floats; packed, each and shared as in scratch_need.
template <conv_pass P, conv_kernel K, bool Pairs, class V> struct conv_of_words {
  static_assert(has_conv_kernel(P, K));
  using L = std::conditional_t<Pairs, bf16_lanes<V>, widened_lanes<V>>;
  static constexpr index_t depth = L::depth;
  using kernel = conv_kernel_type<P, K, typename L::lanes>;

  /// NCHW operands are transposed to NHWC words, and results back.
  static constexpr bool transposes(const conv_extents& e) { return Pairs && !e.nhwc; }
  static constexpr conv_extents on_words(conv_extents e) {
    e.winograd = 0;
    if (!Pairs) return e;
    e.nhwc = true;
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
    return operand(on_words(e)).size() + (transposes(e) ? result(e).size() : 0);
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
      words_of_channels<L>(team, words.n, e.groups, in.channels / e.groups, in.pixels, !transposes(e),
                           a + z * in.size(), from);
      kernel::run(team, words, from, s.packed + kernel::need(words).packed, transposes(e) ? to : result,
                  rest);
      if (transposes(e)) to_planes(team, words.n, out.channels, out.pixels, to, result);
    }
  }

  // ---- wgrad
  /// A single image is paired as the upper and the lower half of its rows of dy. Both halves have their padding as
  /// elements.
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
    const auto to_words = [&](const side& of, const bf16* p, float* to) {
      words_of_lines<L>(
          team, words.n, 1, of.pixels, of.channels, of.pixels, !transposes(e),
          [&](index_t z, index_t) {
            const bf16* const q = p + (first + z * depth) * of.size();
            return pair_of_lines{q, depth == 2 && z * depth + 1 < images ? q + of.size() : nullptr};
          },
          to);
    };
    to_words(image(e), x, xs);
    to_words(cotangent(e), dy, ys);
    kernel::run(team, words, image_batch<float>{xs, image(e).size()},
                image_batch<float>{ys, cotangent(e).size()}, dw,
                {s.packed, s.each, s.shared + count * size_of_pair(e)});
  }
  // With an odd number of rows the halves share one row. It counts in the upper half, and is zero in the lower one.
  // So that zero meets only elements of x that the row itself meets.
  template <class Team>
  static void sum_of_halves(const Team& team, const conv_extents& e, const bf16* x, const bf16* dy, float* dw,
                            const scratch_of_kernel<float>& s) {
    const conv_extents words = on_words(halved(e));
    const index_t apart = e.p - words.p, in_both = words.p - apart; // rows of dy
    float *const xs = s.shared, *const ys = xs + image(words).size();
    const auto halves_to_words = [&](const bf16* p, index_t rows, index_t width, index_t channels,
                                     index_t wanted, index_t above, index_t below, index_t left_out,
                                     float* to) {
      const auto row = [&](index_t i) {
        return i < 0 || i >= rows ? nullptr : p + i * width * (e.nhwc ? channels : 1);
      };
      words_of_lines<L>(
          team, 1, wanted, width, channels, rows * width, e.nhwc,
          [&](index_t, index_t i) {
            return pair_of_lines{row(i - above), i < left_out ? nullptr : row(i - above + below)};
          },
          to);
    };
    halves_to_words(x, e.h, e.w, e.c, words.h, e.pad_top, apart * e.stride_h, 0, xs);
    halves_to_words(dy, e.p, e.q, e.k, words.p, 0, apart, in_both, ys);
    kernel::run(team, words, image_batch<float>{xs, image(words).size()},
                image_batch<float>{ys, cotangent(words).size()}, dw,
                {s.packed, s.each, s.shared + size_of_pair(words)});
  }
  template <class Team> static void run_wgrad(const Team& team, const conv_extents& e, const bf16* x,
                                              const bf16* dy, float* dw, scratch_of_kernel<float> s) {
    const index_t size = elements_of_weights(e);
    if (e.n == 0) return void(std::fill_n(dw, size, 0.0f));
    if (is_halved(e)) return sum_of_halves(team, e, x, dy, dw, s);
    // the sums of some images, and what their total has lost
    float *const part = s.shared, *const lost = part + size;
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

} // namespace tapeless::cpu
