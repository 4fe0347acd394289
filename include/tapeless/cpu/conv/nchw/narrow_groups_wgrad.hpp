// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NCHW wgrad of narrow groups, 3 x 3 without stride: 2, 4 or 8 channels and as many filters, fewer than lanes. Lanes
// are the filters of neighbouring groups. A pixel of x is a vector of their channels. Channel j of each group is
// copied to all lanes of the group, and meets the nine pixels of dy whose windows read it:
//   sum[j][tap][f] += x[pixel][channel j of the group of f] * dy[pixel - tap][f]
// So nine products share one permutation, and sums stay in registers. Some lines of one vector of channels are
// transposed at a time, dy with zeros around it. An infinity or NaN in x may reach every tap of its channel.
#include <array>
#include <bit>
#include "../common/tile.hpp"

namespace tapeless::cpu {

/// Lane l of a vector from lane from(l).
template <class V> class lane_choice {
  static constexpr int words = sizeof(V) / 4, of_lane = sizeof(typename V::value_type) / 4;
  alignas(sizeof(V)) std::int32_t from_[words];

public:
  template <class F> explicit lane_choice(F from) {
    for (int i = 0; i < words; ++i)
      from_[i] = static_cast<std::int32_t>(from(i / of_lane)) * of_lane + i % of_lane;
  }
  [[gnu::always_inline]] V operator()(const V& x) const {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64)
      return std::bit_cast<V>(_mm512_permutexvar_ps(_mm512_load_si512(from_), std::bit_cast<__m512>(x)));
    else
#endif
#if defined(__AVX2__)
        if constexpr (sizeof(V) == 32)
      return std::bit_cast<V>(_mm256_permutevar8x32_ps(
          std::bit_cast<__m256>(x), _mm256_load_si256(reinterpret_cast<const __m256i*>(from_))));
    else
#endif
    {
      const auto word = std::bit_cast<std::array<std::int32_t, words>>(x);
      std::array<std::int32_t, words> r;
      for (std::size_t i = 0; i < words; ++i) r[i] = word[static_cast<std::size_t>(from_[i])];
      return std::bit_cast<V>(r);
    }
  }
};

/// Lines of one vector of channels. Taps are dil_h lines and dil_w pixels apart.
template <class T> struct narrow_lines {
  index_t rows, cols, dil_h, dil_w;
  const T *x, *dy; // dy: of the last tap of the first pixel of x
  index_t x_line, dy_line;
};
/// sum[j * 9 + tap] (+)= the sums of J channels over some lines, a vector each
template <class V, int J, class T>
[[gnu::noinline]] void narrow_sums(const narrow_lines<T>& s, const lane_choice<V>* choice, T* sum, bool add) {
  constexpr index_t W = static_cast<index_t>(V::size);
  V acc[J][9];
  unroll<J>([&](auto j) __attribute__((always_inline)) {
    unroll<9>([&](auto t) __attribute__((always_inline)) { acc[j][t] = V(T(0)); });
  });
  const index_t down = s.dil_h * s.dy_line, across = s.dil_w * W;
  chain_sums<V, J, 9> sums;
  const auto chain = [&](index_t i, index_t i_end, index_t j, index_t j_end) __attribute__((always_inline)) {
    for (; i < i_end; ++i) {
      const T *x = s.x + i * s.x_line + j * W, *const end = s.x + i * s.x_line + j_end * W;
      const T* top = s.dy + i * s.dy_line + j * W;
      for (; x < end; x += W, top += W) {
        const V pixel = load<V>(x);
        V moved[J];
        unroll<J>([&](auto k) __attribute__((always_inline)) { moved[k] = choice[k](pixel); });
        unroll<9>([&](auto t) __attribute__((always_inline)) {
          constexpr int r = 2 - t.value / 3, c = 2 - t.value % 3;
          V d = load<V>(top + r * down + c * across);
          if constexpr (J > 1) opaque(d); // one load for J uses
          unroll<J>([&](auto k) __attribute__((always_inline)) { acc[k][t] = fma(moved[k], d, acc[k][t]); });
        });
      }
    }
  };
  in_chains_of_rows(s.rows, s.cols, steps_of_chain<V>(s.rows * s.cols), acc, sums, chain);
  sums.finish(acc);
  unroll<J>([&](auto j) __attribute__((always_inline)) {
    unroll<9>([&](auto t) __attribute__((always_inline)) {
      T* const to = sum + (j * 9 + t) * W;
      store(to, add ? load<V>(to) + acc[j][t] : acc[j][t]);
    });
  });
}

template <class V> struct narrow_groups_wgrad {
  using T = typename V::value_type;
  static constexpr index_t W = static_cast<index_t>(V::size);
  static constexpr int J = sizeof(V) == 64 ? 2 : 1; // channels whose sums stay in registers

  static constexpr bool takes(const conv_extents& e) {
    const index_t cg = e.c / e.groups;
    return sizeof(V) >= 32 && e.r == 3 && e.s == 3 && e.stride_h == 1 && e.stride_w == 1 && e.c == e.k &&
           (cg == 2 || cg == 4 || cg == 8) && cg < W && e.c % W == 0;
  }
  struct plan {
    index_t cg, vectors;         // vectors of channels
    index_t band, bands;         // lines of x
    index_t x_line, dy_line, dw; // elements of lines, and of all weights of a vector
    index_t slots;               // partial sums over the images
    constexpr explicit plan(const conv_extents& e) : cg(e.c / e.groups), vectors(e.c / W) {
      x_line = e.w * W;
      dy_line = (e.w + 2 * e.dil_w) * W;
      // lines of a band fit the second cache
      const index_t most = (96 << 10) / (static_cast<index_t>(sizeof(T)) * (x_line + dy_line));
      bands = ceil_div(e.h, std::clamp<index_t>(most, 1, e.h));
      band = ceil_div(e.h, bands);
      dw = W * cg * 9;
      slots = std::clamp<index_t>((1 << 18) / (e.k * cg * 9), 1, 8);
    }
    constexpr index_t tile_of_x() const { return band * x_line; }
    constexpr index_t tile_of_dy(const conv_extents& e) const { return (band + 2 * e.dil_h) * dy_line; }
  };
  static constexpr scratch_need need(const conv_extents& e) {
    const plan p(e);
    return {.each = p.tile_of_x() + p.tile_of_dy(e) + p.dw, .shared = (p.slots + 1) * p.vectors * p.dw};
  }
  static constexpr bool reads_lists(const conv_extents&) { return true; }

  template <class Team> static void run(const Team& team, const conv_extents& e, const image_batch<T>& x,
                                        const image_batch<T>& dy, T* dw, const scratch_of_kernel<T>& s) {
    const plan p(e);
    const index_t units = e.n * p.bands, size = p.vectors * p.dw;
    if (units == 0) return void(std::fill_n(dw, size, T(0)));
    // target: (slots, k, c / groups, 3, 3)
    const auto all = sum_in_rounds<V>(
        team, units, p.slots, size, s.shared, dw,
        [&](index_t first_unit, index_t last, index_t slots, T* shared) {
          T* const target = units == last - first_unit && slots == 1 ? dw : shared;
          team.run(slots * p.vectors, [&](index_t chunk, int member) {
            const index_t vector = chunk % p.vectors, slot = chunk / p.vectors, first = vector * W;
            T* const xs = s.each + member * need(e).each;
            T* const ds = xs + p.tile_of_x();
            T* const sums = ds + p.tile_of_dy(e);
            const index_t begin = first_unit + slot * (last - first_unit) / slots,
                          end = first_unit + (slot + 1) * (last - first_unit) / slots;
            for (index_t u = begin; u < end; ++u) {
              const index_t z = u / p.bands, i = u % p.bands * p.band;
              const index_t rows = std::min(p.band, e.h - i);
              transpose<V>(W, rows * e.w, x(z) + first * e.h * e.w + i * e.w, e.h * e.w, xs, W);
              fill_cotangent(e, p, dy(z) + first * e.p * e.q, i + e.pad_top - 2 * e.dil_h, rows + 2 * e.dil_h,
                             ds);
              const narrow_lines<T> lines{rows, e.w, e.dil_h, e.dil_w, xs, ds, p.x_line, p.dy_line};
              for (index_t j = 0; j < p.cg; j += J) {
                const auto of_group = [&](index_t k) {
                  return lane_choice<V>([&](index_t lane) { return lane / p.cg * p.cg + j + k; });
                };
                const lane_choice<V> choice[2] = {of_group(0), of_group(J - 1)};
                narrow_sums<V, J>(lines, choice, sums + j * 9 * W, u > begin);
              }
            }
            transpose<V>(p.cg * 9, W, sums, W, target + slot * size + vector * p.dw, p.cg * 9);
          });
        });
    if (all.slots > 1) add_slices<V>(team, all.slots, size, all.p, dw);
  }

private:
  /// Copies lines [y0, y0 + rows) of dy with zeros around them: 2 dil_w - pad_left pixels before each line.
  static void fill_cotangent(const conv_extents& e, const plan& p, const T* dy, index_t y0, index_t rows,
                             T* to) {
    // columns of the tile that are columns of dy
    const index_t x0 = 2 * e.dil_w - e.pad_left, width = e.w + 2 * e.dil_w;
    const index_t first = std::clamp<index_t>(x0, 0, width),
                  end = std::clamp<index_t>(x0 + e.q, first, width);
    for (index_t i = 0; i < rows; ++i, to += p.dy_line) {
      const index_t y = y0 + i;
      if (y < 0 || y >= e.p) {
        zero_row<V>(to, p.dy_line);
        continue;
      }
      zero_row<V>(to, first * W);
      transpose<V>(W, end - first, dy + y * e.q + first - x0, e.p * e.q, to + first * W, W);
      zero_row<V>(to + end * W, (width - end) * W);
    }
  }
};

} // namespace tapeless::cpu
