#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[.., m, n] = sum_k a[.., m, k] * b[.., k, n]          a: (.., M, K)   b: (.., K, N)   y: (.., M, N)
// ta: a is given as (.., K, M); tb: b is given as (.., N, K). Ranks are at least 2; the batch axes before the
// last two broadcast as in NumPy. Flops: 2 M N K per matrix of the result.

#include "array.hpp"
#include "elementwise.hpp"

namespace ref {

template <class T>
array<T> matmul(const array<T>& a, const array<T>& b, bool ta = false, bool tb = false) {
  if (a.rank() < 2 || b.rank() < 2) throw std::invalid_argument("reference: matmul of rank below 2");
  const std::int64_t rows = a.shape[a.rank() - (ta ? 1 : 2)];
  const std::int64_t terms = a.shape[a.rank() - (ta ? 2 : 1)];
  const std::int64_t columns = b.shape[b.rank() - (tb ? 2 : 1)];
  if (b.shape[b.rank() - (tb ? 1 : 2)] != terms)
    throw std::invalid_argument("reference: inner extents differ");

  const dims batch_a(a.shape.begin(), a.shape.end() - 2);
  const dims batch_b(b.shape.begin(), b.shape.end() - 2);
  const dims batch = broadcast_shape(batch_a, batch_b);
  dims shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);

  array<T> y(shape);
  for_each_index(batch, [&](const dims& i) {
    const auto at = [](const array<T>& x, dims index, std::int64_t row, std::int64_t column, bool swapped) {
      index.push_back(swapped ? column : row);
      index.push_back(swapped ? row : column);
      return x.at(index);
    };
    const dims in_a = broadcast_index(batch_a, i);
    const dims in_b = broadcast_index(batch_b, i);
    for (std::int64_t m = 0; m < rows; ++m)
      for (std::int64_t n = 0; n < columns; ++n) {
        T accumulator = T(0);
        for (std::int64_t k = 0; k < terms; ++k) accumulator += at(a, in_a, m, k, ta) * at(b, in_b, k, n, tb);
        dims in_y = i;
        in_y.push_back(m);
        in_y.push_back(n);
        y.at(in_y) = accumulator;
      }
  });
  return y;
}

} // namespace ref
