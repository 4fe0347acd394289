// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// What convolution kernels share: tiles of an image with its zero padding, and the taps of a residue.
#include <algorithm>
#include <cstdint>

#include "../../../core/geometry.hpp"
#include "../../matmul/matmul.hpp" // IWYU pragma: export
#include "../../base/simd.hpp"
#include "../../base/team.hpp"
#include "../../base/transpose.hpp"

namespace tapeless::cpu {

constexpr index_t floor_div(index_t a, index_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// The images of a batch, or those of a list: (z) is the address of image z.
template <class T> struct image_batch {
  const T* p;
  index_t size; // elements of one
  const std::int32_t* list = nullptr;
  const T* operator()(index_t z) const { return p + (list == nullptr ? z : list[z]) * size; }
  image_batch from(index_t offset) const { return {p + offset, size, list}; } // of each
};

/// Rows of planes in scratch: column j of residue f at f * width + j.
struct image_tile {
  index_t planes, rows, residues, width;
  constexpr index_t line() const { return residues * width; }
  constexpr index_t plane() const { return rows * line(); }
  constexpr index_t size() const { return planes * plane(); }
};

/// Prefetches from memory: a plane of the next image, while this one is computed.
template <class T> void prefetch(const T* p, index_t n) {
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  for (index_t i = 0; i < std::min<index_t>(n, 1 << 14); i += line) __builtin_prefetch(p + i);
}

// Rows are short: overlapping whole vectors instead of memcpy and tails.
template <class V, class T> [[gnu::always_inline]] inline void zero_row(T* to, index_t n) {
  constexpr index_t W = static_cast<index_t>(V::size);
  if (n < W) {
    if (n > 0) store_n(to, V(T(0)), n);
    return;
  }
  for (index_t j = 0; j < n - W; j += W) store(to + j, V(T(0)));
  store(to + n - W, V(T(0)));
}
/// to[j] = from[2 j] for j < n; from has 2 n - 1 elements
template <class V, class T> [[gnu::always_inline]] inline void copy_even(T* to, const T* from, index_t n) {
  constexpr index_t W = static_cast<index_t>(V::size);
  // the second vector of a pair begins with the last element of the first: none is read beyond
  const auto put = [](T* t, const T* f) __attribute__((always_inline)) {
    store(t, [&]<int... L>(std::integer_sequence<int, L...>) __attribute__((always_inline)) {
      return V(__builtin_shufflevector(load<V>(f).data, load<V>(f + W - 1).data,
                                       (2 * L < W ? 2 * L : 2 * L + 1)...));
    }(std::make_integer_sequence<int, static_cast<int>(W)>{}));
  };
  if (n < W) {
    for (index_t j = 0; j < n; ++j) to[j] = from[2 * j];
    return;
  }
  for (index_t j = 0; j < n - W; j += W) put(to + j, from + 2 * j);
  put(to + n - W, from + 2 * (n - W));
}

/// The columns of one residue of a tile that lie inside a row of w elements: [first, end) of its width; column j is
/// element start + j * residues of the row.
struct columns_inside {
  index_t start, first, end;
  columns_inside(const image_tile& t, index_t w, index_t x0, index_t f)
      : start(x0 + f),
        first(start < 0 ? std::min(ceil_div(-start, t.residues), t.width) : 0),
        end(start < w ? std::clamp((w - 1 - start) / t.residues + 1, first, t.width) : first) {}
};
/// to[i * line + j] = row[i * w + start + j * Step], j < width, zero outside the row; Step is 1 or 2.
template <class V, int Step, class T> [[gnu::always_inline]] inline void fill_rows(
    columns_inside c, index_t rows, index_t width, index_t line, T* to, const T* row, index_t w,
    index_t plane) {
  constexpr index_t W = static_cast<index_t>(V::size);
  const index_t n = c.end - c.first, left = c.first, right = width - c.end;
  row += c.start + Step * left;
  // hardware prefetchers do not follow to the same rows of the next plane
  const auto fetch = [&](const T* next) __attribute__((always_inline)) {
    for (index_t j = 0; j < w; j += 64 / static_cast<index_t>(sizeof(T))) __builtin_prefetch(next + j);
  };
  const auto copy = [&]() __attribute__((always_inline)) {
    if constexpr (Step == 1) copy_row<V>(to + left, row, n);
    else copy_even<V>(to + left, row, n);
  };
  if (n >= W && left <= W && right <= W) // the copy overwrites the ends of whole vectors of zeros
    for (; rows > 0; --rows, to += line, row += w) {
      fetch(row + plane);
      if (left > 0) store(to, V(T(0)));
      if (right > 0) store(to + width - W, V(T(0)));
      copy();
    }
  else
    for (; rows > 0; --rows, to += line, row += w) {
      zero_row<V>(to, left);
      zero_row<V>(to + c.end, right);
      if (n > 0) copy();
    }
}
/// line[f * width + j] = row[x0 + j * residues + f], zero outside the row of w elements; more than two residues.
template <class V, class T>
void fill_line(const image_tile& t, T* line, const T* row, index_t w, index_t x0) {
  const index_t residues = t.residues;
  // columns that lie inside x with all their residues
  const index_t whole = std::clamp<index_t>(x0 < 0 ? ceil_div(-x0, residues) : 0, 0, t.width);
  const index_t whole_end = std::clamp<index_t>(w > x0 ? (w - x0) / residues : 0, whole, t.width);
  transpose<V>(whole_end - whole, residues, row + x0 + whole * residues, residues, line + whole, t.width);
  for (index_t f = 0; f < residues; ++f, line += t.width) {
    const columns_inside c(t, w, x0, f);
    zero_row<V>(line, c.first);
    for (index_t j = c.first; j < std::min(whole, c.end); ++j) line[j] = row[c.start + j * residues];
    for (index_t j = std::max(whole_end, c.first); j < c.end; ++j) line[j] = row[c.start + j * residues];
    zero_row<V>(line + c.end, t.width - c.end);
  }
}

/// tile[c, i, f, j] = x[c, y0 + i, x0 + j * residues + f], zero outside x.
template <class V, class T>
void fill(const image_tile t, T* to, const T* x, index_t h, index_t w, index_t y0, index_t x0) {
  const columns_inside even(t, w, x0, 0), odd(t, w, x0, 1);
  const index_t line = t.line(), above = std::clamp<index_t>(-y0, 0, t.rows);
  const index_t inside = std::clamp<index_t>(h - y0, above, t.rows) - above;
  const index_t below = t.rows - above - inside;
  x += (y0 + above) * w;
  for (index_t c = 0; c < t.planes; ++c, x += h * w) {
    zero_row<V>(to, above * line);
    to += above * line;
    if (t.residues == 1) fill_rows<V, 1>(even, inside, t.width, line, to, x, w, h * w);
    else if (t.residues == 2) {
      fill_rows<V, 2>(even, inside, t.width, line, to, x, w, h * w);
      fill_rows<V, 2>(odd, inside, t.width, line, to + t.width, x, w, h * w);
    } else
      for (index_t i = 0; i < inside; ++i) fill_line<V>(t, to + i * line, x + i * w, w, x0);
    to += inside * line;
    zero_row<V>(to, below * line);
    to += below * line;
  }
}

/// to[j * stride + f] = from[f * pitch + j] for all of the n elements of `to`.
template <class V, class T> void merge_residues(index_t n, index_t stride, const T* from, index_t pitch,
                                                T* to) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t j = 0;
  if (stride == 2)
    for (; 2 * (j + W) <= n; j += W) {
      const V parts[2] = {load<V>(from + j), load<V>(from + pitch + j)};
      store_apart(to + 2 * j, parts);
    }
  else if (stride > 2) {
    j = n / stride;
    interleave<V>(stride, j, from, pitch, to);
  }
  for (index_t f = 0; f < stride; ++f)
    for (index_t i = j; i * stride + f < n; ++i) to[i * stride + f] = from[f * pitch + i];
}

/// So many taps at a time, one chain of a sum. Their offsets lie on the stack.
inline constexpr int tap_block = 56;

/// Taps of one axis that meet outputs of residue f: those with (f + pad - t * dil) a multiple of the stride.
constexpr bool meets(index_t f, index_t pad, index_t t, index_t dil, index_t stride) {
  return (f + pad - t * dil) % stride == 0;
}
/// f(r, s) for every tap that meets elements of x of the residue (fy, fx) modulo the strides, in row-major order.
template <class F> constexpr void each_tap(const conv_extents& e, index_t fy, index_t fx, F&& f) {
  for (index_t r = 0; r < e.r; ++r)
    if (meets(fy, e.pad_top, r, e.dil_h, e.stride_h))
      for (index_t s = 0; s < e.s; ++s)
        if (meets(fx, e.pad_left, s, e.dil_w, e.stride_w)) f(r, s);
}
constexpr index_t count_taps(const conv_extents& e, index_t fy, index_t fx) {
  index_t n = 0;
  each_tap(e, fy, fx, [&](index_t, index_t) { ++n; });
  return n;
}
/// What an element of x of any residue sees of dy: rows [i + low_h, i + low_h + more_h], i its row / stride_h.
struct cotangent_window {
  index_t low_h, low_w, more_h, more_w;
  constexpr explicit cotangent_window(const conv_extents& e)
      : low_h(floor_div(e.pad_top - (e.r - 1) * e.dil_h, e.stride_h)),
        low_w(floor_div(e.pad_left - (e.s - 1) * e.dil_w, e.stride_w)),
        more_h(floor_div(e.stride_h - 1 + e.pad_top, e.stride_h) - low_h),
        more_w(floor_div(e.stride_w - 1 + e.pad_left, e.stride_w) - low_w) {}
  /// Where tap (r, s) of element (fy, fx) lies in a tile of dy that begins at (low_h, low_w).
  constexpr index_t at(const conv_extents& e, index_t fy, index_t fx, index_t r, index_t s,
                       index_t line) const {
    return ((fy + e.pad_top - r * e.dil_h) / e.stride_h - low_h) * line +
           (fx + e.pad_left - s * e.dil_w) / e.stride_w - low_w;
  }
};

} // namespace tapeless::cpu
