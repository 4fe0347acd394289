// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The operands of a product of matrices, and their packing for the microkernel.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../../core/geometry.hpp"
#include "micro.hpp"             // IWYU pragma: export
#include "../base/transpose.hpp" // IWYU pragma: export

namespace tapeless::cpu {

/// A strided matrix: element (i, j) at p[i * row + j * col]; row == 1 or col == 1.
/// With a list, line n along the axis whose stride is not 1 is that of index list[n].
template <class T> struct matrix {
  const T* p;
  index_t row, col;
  const std::int32_t* list = nullptr;
  matrix at(index_t i, index_t j) const {
    if (list == nullptr) return {p + i * row + j * col, row, col};
    return row == 1 ? matrix{p + i, row, col, list + j} : matrix{p + j, row, col, list + i};
  }
  const T* line(index_t n) const { return p + (list == nullptr ? n : list[n]) * (row == 1 ? col : row); }
};

/// The same product with as many rows as possible: matrices of a batch that share b become one, and a column vector
/// becomes a row vector of the transpose.   @pre e.batch, e.m, e.n > 0
template <class T> void combine_rows(matmul_extents& e, const T*& a, const T*& b) {
  if (e.m == 1) e.ta = false;
  if (e.a_batched && !e.b_batched && !e.ta) e.m *= e.batch, e.batch = 1;
  if (e.n != 1) return;
  if (e.m > 1) {
    std::swap(a, b);
    std::swap(e.a_batched, e.b_batched);
    std::swap(e.m, e.n);
    e.tb = !e.ta;
    e.ta = false;
  } else e.tb = true;
}

/// Packs (rows, k) of a, whose columns are contiguous (a.row == 1), as the blocks of row_blocks: element (i, p) of the
/// block that starts at row r goes to to[r * k + p * block + i]. It reads a line by line and prefetches some lines
/// ahead.
template <class V, class T> void pack_columns(index_t rows, index_t k, const matrix<T>& a, T* to) {
  constexpr index_t W = blocking<V>::W, MR = blocking<V>::MR, line = 64 / static_cast<index_t>(sizeof(T));
  constexpr index_t ahead = 8;
  const index_t blocks = ceil_div(rows, MR), size = rows / blocks, larger = rows % blocks;
  const auto steps = [&](index_t first, index_t last, auto inside,
                         auto by_list) __attribute__((always_inline)) {
    for (index_t p = first; p < last; ++p) {
      const T* from = a.line(p);
      if (p + ahead < k)
        for (index_t x = 0; x < rows; x += line) __builtin_prefetch(a.line(p + ahead) + x);
      const T* const end = (a.list != nullptr ? from : a.line(k - 1)) + rows;
      T* t = to + p * (size + 1);
      const auto part = [&](index_t block, index_t i) __attribute__((always_inline)) {
        const index_t lanes = std::min(W, block - i);
        if constexpr (inside && !by_list)
          store(t + i, load<V>(from + i)); // later steps overwrite what is too much
        else {
          const V v = end - from - i >= W ? load<V>(from + i) : load_n<V>(from + i, lanes);
          if constexpr (inside) store(t + i, v);
          else store_n(t + i, v, lanes);
        }
      };
      const auto copy = [&](index_t n, index_t block) __attribute__((always_inline)) {
        for (; n > 0; --n, from += block, t += block * k) {
          part(block, 0);
          for (index_t i = W; i < block; i += W) part(block, i);
        }
      };
      copy(larger, size + 1);
      t -= p; // the other blocks have one row less
      copy(blocks - larger, size);
    }
  };
  // In all steps but the last ones whole vectors may be read and written.
  const index_t whole = std::max<index_t>(0, k - round_up(MR, W));
  if (a.list != nullptr) steps(0, whole, std::true_type{}, std::true_type{});
  else steps(0, whole, std::true_type{}, std::false_type{});
  steps(whole, k, std::false_type{}, std::false_type{});
}

/// Packs (k, cols) of b as panels of NR columns, one after the other, with zeros after the last column up to a whole
/// vector.
template <class V, class T> void pack_panels(index_t k, index_t cols, const matrix<T>& b, T* to) {
  constexpr index_t W = blocking<V>::W, NR = blocking<V>::NR, line = 64 / static_cast<index_t>(sizeof(T));
  if (b.col == 1) {
    constexpr index_t together = 8 * NR; // few pages of `to` are in use at once
    for (index_t j0 = 0; j0 < cols; j0 += together)
      for (index_t p = 0; p < k; ++p) {
        if (p + 8 < k)
          for (index_t j = j0; j < std::min(cols, j0 + together); j += line)
            __builtin_prefetch(b.line(p + 8) + j);
        const T* const row = b.line(p);
        for (index_t j = j0; j < std::min(cols, j0 + together); j += W) {
          const T* const from = row + j;
          store(to + j / NR * (k * NR) + p * NR + j % NR,
                cols - j >= W ? load<V>(from) : load_n<V>(from, cols - j));
        }
      }
  } else
    for (index_t j = 0; j < cols; j += NR, to += k * NR) {
      if (cols - j >= NR) interleave<V>(NR, k, b.p + j * b.col, b.col, to);
      else
        for (index_t x = 0; x < NR; ++x)
          for (index_t p = 0; p < k; ++p) to[p * NR + x] = j + x < cols ? b.p[(j + x) * b.col + p] : T(0);
    }
}

} // namespace tapeless::cpu
