// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// stand-in
#pragma once
#include "team.hpp"
#include <algorithm>
#include "simd.hpp"
namespace tapeless::cpu {
struct csr_rows {
  const std::int32_t* end;
  const std::int32_t* column;
  index_t begin(index_t i) const { return i == 0 ? 0 : end[i - 1]; }
};
struct every_row {
  index_t operator()(index_t k) const { return k; }
};
struct listed_rows {
  const std::int32_t* row;
  index_t operator()(index_t k) const { return row[k]; }
};
template <class M> index_t compact_rows(const M* m, index_t lo, index_t hi, std::int32_t* out) {
  index_t n = 0;
  for (index_t i = lo; i < hi; ++i) {
    out[n] = static_cast<std::int32_t>(i);
    n += m[i] != M(0);
  }
  return n;
}
struct ones {
  constexpr int operator[](index_t) const { return 1; }
};
inline index_t chunk_of_rows(const std::int32_t*, index_t rows, index_t, index_t c, index_t n) {
  return rows * c / n;
}
inline index_t row_chunks(index_t rows, index_t nnz, index_t summed, index_t most) {
  index_t n = summed == 0 ? most : nnz / (6 * summed);
  n = std::min({n, most, nnz / 8192, rows});
  return n < 1 ? 1 : n;
}
inline index_t rows_of_tile(index_t rows, index_t nnz) {
  return std::clamp<index_t>(1024 / (nnz / rows + 1), 1, 64);
}
template <class V, int S, class R, class A, class X> void spmv(const csr_rows& a, R rows, A v, X x,
                                                               index_t lo, index_t hi,
                                                               typename V::value_type* y) {
  for (index_t k = lo; k < hi; ++k) {
    typename V::value_type s = 0;
    const index_t i = rows(k);
    for (index_t e = a.begin(i); e < a.end[i]; ++e) s += v[e] * x[S * index_t{a.column[e]}];
    y[k] = s;
  }
}
template <class V, int S, class R, class A, class X> void spmv_transposed(const csr_rows& a, R rows, A v, X r,
                                                                          index_t lo, index_t hi,
                                                                          typename V::value_type* g) {
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k);
    for (index_t e = a.begin(i); e < a.end[i]; ++e) g[S * index_t{a.column[e]}] += v[e] * r[k];
  }
}
template <class V, class R, class A, class X> void spread(const csr_rows& a, R rows, A l, X r, index_t lo,
                                                          index_t hi, typename V::value_type* y) {
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k);
    for (index_t e = a.begin(i); e < a.end[i]; ++e)
      y[e] = static_cast<typename V::value_type>(l[k] * r[a.column[e]]);
  }
}
template <class V, class R, class A, class X> void spmm(const csr_rows& a, R rows, A v, X x, index_t n,
                                                        index_t lo, index_t hi, typename V::value_type* y) {
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k);
    std::fill_n(y + k * n, n, typename V::value_type(0));
    for (index_t e = a.begin(i); e < a.end[i]; ++e)
      for (index_t j = 0; j < n; ++j) y[k * n + j] += v[e] * x[a.column[e] * n + j];
  }
}
template <class V, class R, class A, class X> void spmm_transposed(const csr_rows& a, R rows, A v, X r,
                                                                   index_t n, index_t lo, index_t hi,
                                                                   typename V::value_type* y) {
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k);
    for (index_t e = a.begin(i); e < a.end[i]; ++e)
      for (index_t j = 0; j < n; ++j) y[a.column[e] * n + j] += v[e] * r[k * n + j];
  }
}
template <class V, class R, class A, class X> void sddmm(const csr_rows& a, R rows, A l, X r, index_t n,
                                                         index_t lo, index_t hi, typename V::value_type* y) {
  for (index_t k = lo; k < hi; ++k) {
    const index_t i = rows(k);
    for (index_t e = a.begin(i); e < a.end[i]; ++e) {
      typename V::value_type s = 0;
      for (index_t j = 0; j < n; ++j) s += l[k * n + j] * r[a.column[e] * n + j];
      y[e] = s;
    }
  }
}
} // namespace tapeless::cpu
