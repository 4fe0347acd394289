#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A sparse matrix as its entries v_e at (i_e, j_e), e in the order of the rows, and the ops on it as loops over them:
//   matmul(A, b)  y[i, :] += v b[j, :]      matmul(b, A)  y[:, j] += v b[:, i]     of transpose(A): i and j change places
//   sampled_matmul(A, l, r)  v = <l[i, :], r[j, :]>        scale_rows  v s[i]       scale_columns  v s[j]
//   A * D  v d[i, j]   A / D  v / d[i, j]
//   sum<1>  y[i] += v         sum<0>  y[j] += v            sum  y += v
// Flops: 2 for each entry and column of a product, 1 for each of a sampled product of vectors, of a scaling or a sum.

#include "array.hpp"
#include "elementwise.hpp"

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace ref {

// Invariants as those of tl::csr: row_end never falls, columns lie in [0, cols).
struct pattern {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::int32_t> columns, row_end;
};

// f(e, i, j) for each entry
template <class F>
void for_each_entry(const pattern& p, F f) {
  std::size_t e = 0;
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (; e < static_cast<std::size_t>(p.row_end[static_cast<std::size_t>(i)]); ++e)
      f(e, i, std::int64_t{p.columns[e]});
}

template <class T>
struct csr {
  using value_type = T;
  pattern p;
  array<T> entries;

  const array<T>& values() const { return entries; }
  csr with(const array<T>& v) const {
    if (v.shape != dims{static_cast<std::int64_t>(p.columns.size())})
      throw std::invalid_argument("reference: one value for each entry");
    return {p, v};
  }
};
template <class T>
struct transposed {
  csr<T> a;
};
template <class T>
transposed<T> transpose(const csr<T>& a) {
  return {a};
}

// y[to, :] += v b[from, :], to and from the row and the column of an entry, swapped where A^T b is meant
template <class T>
array<T> sparse_times_dense(const csr<T>& a, const array<T>& b, bool swapped) {
  const std::int64_t inner = swapped ? a.p.rows : a.p.cols;
  if (b.rank() < 1 || b.rank() > 2 || b.shape[0] != inner)
    throw std::invalid_argument("reference: inner extents differ");
  dims s = b.shape;
  s[0] = swapped ? a.p.cols : a.p.rows;
  const std::int64_t k = b.rank() == 2 ? b.shape[1] : 1;
  array<T> y(s);
  for_each_entry(a.p, [&](std::size_t e, std::int64_t i, std::int64_t j) {
    const std::int64_t to = swapped ? j : i, from = swapped ? i : j;
    for (std::int64_t c = 0; c < k; ++c)
      y.data[static_cast<std::size_t>(to * k + c)] +=
          a.entries.data[e] * b.data[static_cast<std::size_t>(from * k + c)];
  });
  return y;
}
// y[:, to] += v b[:, from]
template <class T>
array<T> dense_times_sparse(const array<T>& b, const csr<T>& a, bool swapped) {
  const std::int64_t inner = swapped ? a.p.cols : a.p.rows, outer = swapped ? a.p.rows : a.p.cols;
  if (b.rank() < 1 || b.rank() > 2 || b.shape.back() != inner)
    throw std::invalid_argument("reference: inner extents differ");
  dims s = b.shape;
  s.back() = outer;
  const std::int64_t k = b.rank() == 2 ? b.shape[0] : 1;
  array<T> y(s);
  for_each_entry(a.p, [&](std::size_t e, std::int64_t i, std::int64_t j) {
    const std::int64_t to = swapped ? i : j, from = swapped ? j : i;
    for (std::int64_t c = 0; c < k; ++c)
      y.data[static_cast<std::size_t>(c * outer + to)] +=
          a.entries.data[e] * b.data[static_cast<std::size_t>(c * inner + from)];
  });
  return y;
}
template <class T>
array<T> matmul(const csr<T>& a, const array<T>& b) {
  return sparse_times_dense(a, b, false);
}
template <class T>
array<T> matmul(const transposed<T>& t, const array<T>& b) {
  return sparse_times_dense(t.a, b, true);
}
template <class T>
array<T> matmul(const array<T>& b, const csr<T>& a) {
  return dense_times_sparse(b, a, false);
}
template <class T>
array<T> matmul(const array<T>& b, const transposed<T>& t) {
  return dense_times_sparse(b, t.a, true);
}

template <class T>
csr<T> sampled_matmul(const csr<T>& a, const array<T>& l, const array<T>& r) {
  array<T> v(a.entries.shape);
  const std::int64_t k = l.rank() == 2 ? l.shape[1] : 1;
  for_each_entry(a.p, [&](std::size_t e, std::int64_t i, std::int64_t j) {
    const auto product = [&](std::int64_t c) {
      return l.data[static_cast<std::size_t>(i * k + c)] * r.data[static_cast<std::size_t>(j * k + c)];
    };
    if (l.rank() == 1) v.data[e] = product(0);
    else
      for (std::int64_t c = 0; c < k; ++c) v.data[e] += product(c);
  });
  return a.with(v);
}
template <class T>
csr<T> scale_rows(const array<T>& s, const csr<T>& a) {
  csr<T> y = a;
  for_each_entry(a.p, [&](std::size_t e, std::int64_t i, std::int64_t) {
    y.entries.data[e] = s.data[static_cast<std::size_t>(i)] * a.entries.data[e];
  });
  return y;
}
template <class T>
csr<T> scale_columns(const csr<T>& a, const array<T>& s) {
  csr<T> y = a;
  for_each_entry(a.p, [&](std::size_t e, std::int64_t, std::int64_t j) {
    y.entries.data[e] = a.entries.data[e] * s.data[static_cast<std::size_t>(j)];
  });
  return y;
}

template <int... Axis, class T>
array<T> sum(const csr<T>& a) {
  static_assert(sizeof...(Axis) <= 1);
  constexpr int axis = sizeof...(Axis) == 0 ? 2 : (((Axis + 2) % 2) + ... + 0);
  array<T> y(axis == 0 ? dims{a.p.cols} : axis == 1 ? dims{a.p.rows} : dims{});
  for_each_entry(a.p, [&](std::size_t e, std::int64_t i, std::int64_t j) {
    y.data[static_cast<std::size_t>(axis == 0 ? j : axis == 1 ? i : 0)] += a.entries.data[e];
  });
  return y;
}

// s, or where it is a matrix with the extents of a its elements where a has entries
template <class T>
array<T> at_entries(const csr<T>& a, const array<T>& s) {
  if (s.rank() != 2) return s;
  array<T> v(a.entries.shape);
  for_each_entry(a.p, [&](std::size_t e, std::int64_t i, std::int64_t j) {
    v.data[e] = s.data[static_cast<std::size_t>(i * a.p.cols + j)];
  });
  return v;
}

template <class T>
csr<T> operator+(const csr<T>& a, const csr<T>& b) {
  return a.with(a.entries + b.entries);
}
template <class T>
csr<T> operator-(const csr<T>& a, const csr<T>& b) {
  return a.with(a.entries - b.entries);
}
template <class T>
csr<T> operator*(const csr<T>& a, const csr<T>& b) {
  return a.with(a.entries * b.entries);
}
template <class T>
csr<T> operator*(const csr<T>& a, const array<T>& s) {
  return a.with(a.entries * at_entries(a, s));
}
template <class T>
csr<T> operator*(const array<T>& s, const csr<T>& a) {
  return a.with(at_entries(a, s) * a.entries);
}
template <class T>
csr<T> operator*(const csr<T>& a, double s) {
  return a.with(a.entries * constant(T(s)));
}
template <class T>
csr<T> operator/(const csr<T>& a, const array<T>& s) {
  return a.with(a.entries / at_entries(a, s));
}
template <class T>
csr<T> operator/(const csr<T>& a, double s) {
  return a.with(a.entries / constant(T(s)));
}
template <class T>
csr<T> operator-(const csr<T>& a) {
  return a.with(-a.entries);
}

} // namespace ref
