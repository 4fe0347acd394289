// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// NHWC depthwise convolution, one filter a channel: lanes are channels, and nothing is copied. Each axis is cut into
// segments of results that have the same taps inside the image: long ones, and short ones at the border.
#include <numeric>

#include "../common/tile.hpp"

namespace tapeless::cpu {

constexpr bool one_filter_a_channel(const conv_extents& e) { return e.c == e.groups && e.k == e.groups; }

/// Taps first + j * step, j < count, are inside the image and read element from + j * from_step; from_step > 0.
struct taps_of_axis {
  index_t first, step, count, from, from_step;
};
/// One axis of fprop, or of its transpose dgrad. In dgrad, result m of residue f is f + m * stride.
struct depthwise_axis {
  index_t out, in, taps, stride, pad, dil;
  bool transposed;

  constexpr index_t residues() const { return transposed ? stride : 1; }
  constexpr index_t results(index_t f) const { return f < out ? ceil_div(out - f, residues()) : 0; }
  constexpr index_t moves() const { return transposed ? 1 : stride; } // of `from` from one result to the next
  constexpr taps_of_axis at(index_t f, index_t m) const {
    taps_of_axis t{0, 1, taps, m * stride - pad, dil};
    if (transposed) {
      while (t.first < taps && !meets(f, pad, t.first, dil, stride)) ++t.first;
      t.step = stride / std::gcd(stride, dil);
      t.count = ceil_div(taps - t.first, t.step);
      t.from = m + (f + pad - t.first * dil) / stride;
      t.from_step = -dil * t.step / stride;
    }
    const auto outside = [&](index_t i) { return i < 0 || i >= in; };
    for (; t.count > 0 && outside(t.from); --t.count) t.first += t.step, t.from += t.from_step;
    while (t.count > 0 && outside(t.from + (t.count - 1) * t.from_step)) --t.count;
    if (t.from_step < 0 && t.count > 0)
      t = {t.first + (t.count - 1) * t.step, -t.step, t.count, t.from + (t.count - 1) * t.from_step,
           -t.from_step};
    return t;
  }
  /// f(first result, how many, taps of the first) for results begin ... end - 1 of a residue
  template <class F> constexpr void each_segment(index_t f, index_t begin, index_t end, F&& each) const {
    for (index_t m = begin, next; m < end; m = next) {
      const taps_of_axis t = at(f, m);
      for (next = m + 1; next < end; ++next) {
        const taps_of_axis u = at(f, next);
        if (u.first != t.first || u.count != t.count) break;
      }
      each(m, next - m, t);
    }
  }
};
constexpr depthwise_axis vertical(const conv_extents& e, bool transposed) {
  return {transposed ? e.h : e.p, transposed ? e.p : e.h, e.r, e.stride_h, e.pad_top, e.dil_h, transposed};
}
constexpr depthwise_axis horizontal(const conv_extents& e, bool transposed) {
  return {transposed ? e.w : e.q, transposed ? e.q : e.w, e.s, e.stride_w, e.pad_left, e.dil_w, transposed};
}

/// The taps of a rectangle of results: w[r * w_row + s * w_col] meets x[r * x_row + s * x_col].
struct depthwise_taps {
  index_t r, s, x_row, x_col, w_row, w_col;
};

/// Lanes [0, lanes) of y[i * y_step], i < Q: all of whole vectors, of which the last two may overlap; Masked: lanes
/// < W.
template <class V, int Q, bool Masked, class T>
[[gnu::noinline]] void depthwise_pixels(const depthwise_taps& t, index_t lanes, const T* x, index_t x_step,
                                        const T* w, T* y, index_t y_step) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const first_lanes<V> few(Masked ? lanes : W);
  const auto vector = [&](const T* p)
                          __attribute__((always_inline)) { return Masked ? few.load(p) : load<V>(p); };
  for (index_t begin = 0; begin < lanes; begin += W) {
    const index_t j = Masked ? 0 : std::min(begin, lanes - W);
    V acc[1][Q];
    const T* a[Q];
#pragma GCC unroll 8
    for (int i = 0; i < Q; ++i) {
      acc[0][i] = V(T(0));
      a[i] = x + j + i * x_step;
    }
    chain_sums<V, 1, Q> sums;
    const auto chain = [&](index_t r, index_t r_end, index_t s0, index_t s_end)
                           __attribute__((always_inline)) {
                             for (; r < r_end; ++r) {
                               index_t at = r * t.x_row + s0 * t.x_col;
                               const T* ws = w + j + r * t.w_row + s0 * t.w_col;
                               for (index_t s = s0; s < s_end; ++s, at += t.x_col, ws += t.w_col) {
                                 V f = vector(ws);
                                 opaque(f);
#pragma GCC unroll 8
                                 for (int i = 0; i < Q; ++i) acc[0][i] = fma(f, vector(a[i] + at), acc[0][i]);
                               }
                             }
                           };
    in_chains_of_rows(t.r, t.s, steps_of_chain<V>(t.r * t.s), acc, sums, chain);
    sums.finish(acc);
#pragma GCC unroll 8
    for (int i = 0; i < Q; ++i)
      if constexpr (Masked) few.store(y + i * y_step, acc[0][i]);
      else store(y + j + i * y_step, acc[0][i]);
  }
}

/// The same if S taps of a row meet neighbouring elements, and results are Stride elements apart. Each is loaded once.
template <class V, int Q, int S, int Stride, class T>
[[gnu::noinline]] void depthwise_row(const depthwise_taps& t, index_t lanes, const T* x, const T* w, T* y,
                                     index_t y_step) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const index_t x_col = t.x_col;
  for (index_t begin = 0; begin < lanes; begin += W) {
    const index_t j = std::min(begin, lanes - W);
    V acc[Q];
#pragma GCC unroll 8
    for (int i = 0; i < Q; ++i) acc[i] = V(T(0));
    const T *xs = x + j, *ws = w + j;
    for (index_t r = 0; r < t.r; ++r, xs += t.x_row, ws += t.w_row) {
      V f[S];
#pragma GCC unroll 8
      for (int s = 0; s < S; ++s) f[s] = load<V>(ws + s * t.w_col);
      const T* p = xs;
#pragma GCC unroll 32
      for (int k = 0; k < (Q - 1) * Stride + S; ++k, p += x_col) {
        V v = load<V>(p);
        opaque(v);
#pragma GCC unroll 8
        for (int s = 0; s < S; ++s)
          if (const int at = k - s; at >= 0 && at % Stride == 0 && at / Stride < Q)
            acc[at / Stride] = fma(f[s], v, acc[at / Stride]);
      }
    }
    T* to = y + j;
#pragma GCC unroll 8
    for (int i = 0; i < Q; ++i, to += y_step) store(to, acc[i]);
  }
}

/// Cuts the channels at whole vectors. The last part has at least one vector, if c has one.
template <class V> struct channel_parts {
  static constexpr index_t W = static_cast<index_t>(V::size);
  index_t c, parts;
  constexpr channel_parts(index_t channels, index_t most)
      : c(channels), parts(std::clamp<index_t>(most, 1, std::max<index_t>(channels / W, 1))) {}
  constexpr index_t begin(index_t part) const { return part == parts ? c : c / W * part / parts * W; }
};

template <class V, bool Transposed> struct nhwc_depthwise_sweep {
  using T = typename V::value_type;
  static constexpr scratch_need need(const conv_extents& e) { return {.packed = e.c * e.r * e.s}; }
  /// packed: (tap, c)
  template <class Team> static void pack(const Team&, const conv_extents& e, const T* w, T* packed) {
    transpose<V>(e.c, e.r * e.s, w, e.r * e.s, packed, e.c);
  }
  template <class Team> static void run(const Team& team, const conv_extents& e, const T* x, const T*, T* y,
                                        const scratch_of_kernel<T>& s) {
    const depthwise_axis v = vertical(e, Transposed), h = horizontal(e, Transposed);
    const index_t rows = v.results(0), work = e.c * e.q * e.p * e.r * e.s / rows + 1;
    const index_t bands = ceil_div(rows, std::clamp<index_t>((1 << 19) / work, 1, rows));
    const channel_parts<V> parts(
        e.c,
        team.size() == 1 ? 1 : std::min<index_t>(4 * team.size() / (e.n * bands + 1), work * rows >> 16));
    team.run(e.n * bands * parts.parts, [&](index_t chunk, int) {
      const index_t part = chunk % parts.parts, b = chunk / parts.parts % bands;
      const index_t z = chunk / (parts.parts * bands);
      const index_t begin = b * rows / bands, end = (b + 1) * rows / bands;
      const T* const in = x + z * v.in * h.in * e.c;
      T* const out = y + z * v.out * h.out * e.c;
      for (index_t fy = 0; fy < v.residues(); ++fy)
        v.each_segment(
            fy, begin, std::min(end, v.results(fy)), [&](index_t i, index_t high, const taps_of_axis& r) {
              for (index_t fx = 0; fx < h.residues(); ++fx)
                h.each_segment(fx, 0, h.results(fx), [&](index_t j, index_t wide, const taps_of_axis& c) {
                  rectangle(e, v, h, i, fy, high, r, j, fx, wide, c, parts.begin(part), parts.begin(part + 1),
                            in, s.packed, out);
                });
            });
    });
  }

private:
  static void rectangle(const conv_extents& e, const depthwise_axis& v, const depthwise_axis& h, index_t i,
                        index_t fy, index_t high, const taps_of_axis& r, index_t j, index_t fx, index_t wide,
                        const taps_of_axis& c, index_t c0, index_t c1, const T* in, const T* w, T* out) {
    const index_t line = h.in * e.c, to_line = h.out * e.c;
    depthwise_taps t{r.count,     c.count, r.from_step * line, c.from_step * e.c, r.step * e.s * e.c,
                     c.step * e.c};
    // along rows or columns, whichever is longer
    struct steps {
      index_t n, from, to;
    } along{wide, h.moves() * e.c, h.residues() * e.c},
        across{high, v.moves() * line, v.residues() * to_line};
    if (high > wide) {
      std::swap(along, across);
      t = {t.s, t.r, t.x_col, t.x_row, t.w_col, t.w_row};
    }
    const T* const from = in + r.from * line + c.from * e.c;
    const T* const ws = w + (r.first * e.s + c.first) * e.c;
    T* const to = out + (i * v.residues() + fy) * to_line + (j * h.residues() + fx) * e.c;
    const index_t lanes = c1 - c0;
    for (index_t a = 0; a < across.n; ++a)
      constant_row_blocks<8>(along.n, [&](index_t b, auto q) {
        const T* const xs = from + a * across.from + b * along.from + c0;
        const T* const wl = ws + c0;
        T* const ys = to + a * across.to + b * along.to + c0;
        const bool near = along.from == t.x_col, next_but_one = along.from == 2 * t.x_col;
        if (lanes < W) depthwise_pixels<V, q.value, true>(t, lanes, xs, along.from, wl, ys, along.to);
        else if (t.r * t.s > one_chain)
          depthwise_pixels<V, q.value, false>(t, lanes, xs, along.from, wl, ys, along.to);
        else if (t.s == 3 && near) depthwise_row<V, q.value, 3, 1>(t, lanes, xs, wl, ys, along.to);
        else if (t.s == 3 && next_but_one) depthwise_row<V, q.value, 3, 2>(t, lanes, xs, wl, ys, along.to);
        else if (t.s == 2 && near) depthwise_row<V, q.value, 2, 1>(t, lanes, xs, wl, ys, along.to);
        else depthwise_pixels<V, q.value, false>(t, lanes, xs, along.from, wl, ys, along.to);
      });
  }
  static constexpr index_t W = static_cast<index_t>(V::size);
};
template <class V> using nhwc_depthwise_fprop = nhwc_depthwise_sweep<V, false>;
template <class V> using nhwc_depthwise_dgrad = nhwc_depthwise_sweep<V, true>;

} // namespace tapeless::cpu
