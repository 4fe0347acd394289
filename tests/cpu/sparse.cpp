// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/sparse/product.hpp>
#include <tapeless/cpu/sparse/solve.hpp>
#include <tapeless/cpu/sparse/spgemm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "support/reserved.hpp"

using namespace tapeless::cpu;

namespace {

// Arrays are exactly as long as the kernels may read: a sanitizer sees what lies behind.
template <class T> struct csr {
  std::string name;
  index_t rows, cols;
  std::vector<std::int32_t> end, column;
  std::vector<T> values;
  csr_rows<const std::int32_t*> view() const { return {end.data(), column.data()}; }
  index_t nnz() const { return static_cast<index_t>(column.size()); }
};

// Multiples of 1/8 in [-2, 2]: a product is a multiple of 1/64 up to 4 = 2^8 / 64, so every sum below of fewer than
// 2^16 products is exact in float, in any order and fused or not. Comparisons with loops are for equality.
template <class T> std::vector<T> eighths(index_t n, std::uint64_t seed) {
  const auto integers = support::random_integers(static_cast<std::size_t>(n), seed, -16, 17);
  std::vector<T> x;
  for (std::int32_t i : integers) x.push_back(static_cast<T>(i) / T(8));
  return x;
}
// Values whose sums are rounded: for what must be equal bit by bit
template <class T> std::vector<T> reals(index_t n, std::uint64_t seed) {
  return support::random_values<T>(static_cast<std::size_t>(n), seed);
}

// length(i): entries of row i; their columns are random, every skip-th column stays empty
template <class T, class Length>
csr<T> make(std::string name, index_t rows, index_t cols, Length length, index_t skip = 0) {
  csr<T> a{std::move(name), rows, cols, {}, {}, {}};
  std::vector<std::int32_t> all;
  for (index_t j = 0; j < cols; ++j)
    if (skip == 0 || j % skip != 0) all.push_back(static_cast<std::int32_t>(j));
  for (index_t i = 0; i < rows; ++i) {
    const auto order = support::random_permutation(all.size(), static_cast<std::uint64_t>(31 * i + cols));
    const std::size_t n = std::min(all.size(), static_cast<std::size_t>(length(i)));
    std::vector<std::int32_t> row;
    for (std::size_t e = 0; e < n; ++e) row.push_back(all[order[e]]);
    std::sort(row.begin(), row.end());
    a.column.insert(a.column.end(), row.begin(), row.end());
    a.end.push_back(static_cast<std::int32_t>(a.column.size()));
  }
  a.values = eighths<T>(a.nnz(), 5);
  return a;
}

template <class T> std::vector<csr<T>> awkward() {
  return {make<T>("no row", 0, 5, [](index_t) { return 3; }),
          make<T>("no column", 7, 0, [](index_t) { return 3; }),
          make<T>("1 x 1", 1, 1, [](index_t) { return 1; }),
          make<T>("1 x 1, no entry", 1, 1, [](index_t) { return 0; }),
          make<T>("one entry a row", 37, 11, [](index_t) { return 1; }),
          make<T>("one dense row", 13, 101, [](index_t i) { return i == 5 ? 101 : 0; }),
          make<T>("empty rows first and last", 17, 23, [](index_t i) { return i < 3 || i > 14 ? 0 : 9; }),
          make<T>(
              "empty columns", 29, 31, [](index_t i) { return i % 13; }, 3),
          make<T>("every length", 71, 67, [](index_t i) { return i; }),
          make<T>("dense", 19, 43, [](index_t) { return 43; })};
}

template <class T> const T* data(const std::vector<T>& x) { return x.data(); }

// (row, entry) for every entry
template <class T, class F> void each_entry(const csr<T>& a, F f) {
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t e = a.view().begin(i); e < a.end[static_cast<std::size_t>(i)]; ++e)
      f(static_cast<std::size_t>(i), static_cast<std::size_t>(e),
        static_cast<std::size_t>(a.column[static_cast<std::size_t>(e)]));
}

std::vector<std::int32_t> some_rows(index_t rows) {
  std::vector<std::int32_t> list;
  for (index_t i = 0; i < rows; ++i)
    if (i % 5 != 1 && i % 7 != 0) list.push_back(static_cast<std::int32_t>(i));
  return list;
}

// x[0 .. n) at [Stride * j], 77 between
template <class T> std::vector<T> spaced(const std::vector<T>& x, int stride) {
  if (stride == 1) return x;
  std::vector<T> y(x.empty() ? 0 : (x.size() - 1) * static_cast<std::size_t>(stride) + 1, T(77));
  for (std::size_t j = 0; j < x.size(); ++j) y[j * static_cast<std::size_t>(stride)] = x[j];
  return y;
}

template <int Stride, class T> void check_vectors(const csr<T>& a) {
  using V = simd<T>;
  const auto x = eighths<T>(a.cols, 1), r = eighths<T>(a.rows, 2), g = eighths<T>(a.cols, 3);
  const auto xs = spaced(x, Stride);
  const std::vector<T> no_rows(static_cast<std::size_t>(a.rows));
  const std::vector<T> no_entries(static_cast<std::size_t>(a.nnz()));
  const T *const v = a.values.data(), *const xp = xs.data(), *const rp = r.data();

  std::vector<T> y = no_rows, y1 = y, yv = y, yn = y, expected = y, expected1 = y, expectedv = y,
                 expectedn = y;
  spmv<V, Stride>(a.view(), every_row{}, v, xp, 0, a.rows, y.data());
  spmv<V, Stride>(a.view(), every_row{}, ones{}, xp, 0, a.rows, y1.data());
  spmv<V, Stride>(a.view(), every_row{}, v, ones{}, 0, a.rows, yv.data());
  spmv<V, Stride>(a.view(), every_row{}, ones{}, ones{}, 0, a.rows, yn.data());
  auto gs = spaced(g, Stride), gs1 = gs, gsv = gs, gsn = gs;
  auto h = g, h1 = g, hv = g, hn = g;
  spmv_transposed<V, Stride>(a.view(), every_row{}, v, rp, 0, a.rows, gs.data());
  spmv_transposed<V, Stride>(a.view(), every_row{}, ones{}, rp, 0, a.rows, gs1.data());
  spmv_transposed<V, Stride>(a.view(), every_row{}, v, ones{}, 0, a.rows, gsv.data());
  spmv_transposed<V, Stride>(a.view(), every_row{}, ones{}, ones{}, 0, a.rows, gsn.data());
  std::vector<T> o = no_entries, ol = o, ox = o, expected_o = o, expected_l = o, expected_x = o;
  spread<V, Stride>(a.view(), every_row{}, rp, xp, 0, a.rows, o.data());
  spread<V, Stride>(a.view(), every_row{}, rp, ones{}, 0, a.rows, ol.data());
  spread<V, Stride>(a.view(), every_row{}, ones{}, xp, 0, a.rows, ox.data());
  each_entry(a, [&](std::size_t i, std::size_t e, std::size_t j) {
    expected[i] += a.values[e] * x[j], expected1[i] += x[j], expectedv[i] += a.values[e], expectedn[i] += 1;
    h[j] += a.values[e] * r[i], h1[j] += r[i], hv[j] += a.values[e], hn[j] += 1;
    expected_o[e] = r[i] * x[j], expected_l[e] = r[i], expected_x[e] = x[j];
  });
  CHECK(y == expected);
  CHECK(y1 == expected1);
  CHECK(yv == expectedv);
  CHECK(yn == expectedn);
  CHECK(gs == spaced(h, Stride)); // and what lies between is untouched
  CHECK(gs1 == spaced(h1, Stride));
  CHECK(gsv == spaced(hv, Stride));
  CHECK(gsn == spaced(hn, Stride));
  CHECK(o == expected_o);
  CHECK(ol == expected_l);
  CHECK(ox == expected_x);
}

template <class T> void check_matrices(const csr<T>& a, index_t K) {
  using V = simd<T>;
  const auto B = eighths<T>(a.cols * K, 1), C = eighths<T>(a.rows * K, 2);
  const T* const v = a.values.data();
  const std::size_t k = static_cast<std::size_t>(K);
  std::vector<T> P(C.size(), T(77)), P1 = P, expected(C.size()), expected1 = expected;
  spmm<V>(a.view(), every_row{}, v, B.data(), K, 0, a.rows, P.data());
  spmm<V>(a.view(), every_row{}, ones{}, B.data(), K, 0, a.rows, P1.data());
  auto Q = B, Q1 = B, transposed = B, transposed1 = B;
  spmm_transposed<V>(a.view(), every_row{}, v, C.data(), K, K, 0, a.rows, Q.data());
  spmm_transposed<V>(a.view(), every_row{}, ones{}, C.data(), K, K, 0, a.rows, Q1.data());
  std::vector<T> out(static_cast<std::size_t>(a.nnz()), T(77)), products(out.size());
  sddmm<V>(a.view(), every_row{}, C.data(), B.data(), K, 0, a.rows, out.data());
  each_entry(a, [&](std::size_t i, std::size_t e, std::size_t j) {
    for (std::size_t n = 0; n < k; ++n) {
      expected[i * k + n] += a.values[e] * B[j * k + n], expected1[i * k + n] += B[j * k + n];
      transposed[j * k + n] += a.values[e] * C[i * k + n], transposed1[j * k + n] += C[i * k + n];
      products[e] += C[i * k + n] * B[j * k + n];
    }
  });
  CHECK(P == expected);
  CHECK(P1 == expected1);
  CHECK(Q == transposed);
  CHECK(Q1 == transposed1);
  CHECK(out == products);
}

} // namespace

TEST_CASE_TEMPLATE("sparse: spmv, its transpose and spread are the loops over entries", T, float, double) {
  for (const csr<T>& a : awkward<T>()) {
    CAPTURE(a.name);
    check_vectors<1>(a);
    check_vectors<2>(a);
    check_vectors<3>(a);
  }
}

TEST_CASE_TEMPLATE("sparse: spmm, its transpose and sddmm are the loops over entries and columns", T, float,
                   double) {
  for (const csr<T>& a : awkward<T>())
    for (index_t K : {1, 2, 3, 7, 8, 13, 16, 33, 64, 151}) {
      CAPTURE(a.name);
      CAPTURE(K);
      check_matrices(a, K);
    }
}

TEST_CASE_TEMPLATE("sparse: a row's sums are the same bits in any cut, list and stride", T, float, double) {
  using V = simd<T>;
  for (csr<T>& a : awkward<T>()) {
    CAPTURE(a.name);
    a.values = reals<T>(a.nnz(), 11);
    const T* const v = a.values.data();
    const auto x = reals<T>(a.cols, 12), r = reals<T>(a.rows, 13), g = reals<T>(a.cols, 14);
    const auto xs = spaced(x, 2);
    const auto list = some_rows(a.rows);
    const index_t listed = static_cast<index_t>(list.size());
    std::vector<T> y(static_cast<std::size_t>(a.rows)), cut = y, wide = y, some(list.size());
    spmv<V>(a.view(), every_row{}, v, data(x), 0, a.rows, y.data());
    spmv<V, 2>(a.view(), every_row{}, v, data(xs), 0, a.rows, wide.data());
    CHECK(wide == y);
    for (index_t at = 0; at <= a.rows; at += 4) {
      spmv<V>(a.view(), every_row{}, v, data(x), 0, at, cut.data());
      spmv<V>(a.view(), every_row{}, v, data(x), at, a.rows, cut.data());
      CHECK(cut == y);
    }
    spmv<V>(a.view(), listed_rows{list.data(), listed}, v, data(x), 0, listed, some.data());
    bool equal = true;
    for (std::size_t k = 0; k < list.size(); ++k)
      equal = equal && some[k] == y[static_cast<std::size_t>(list[k])];
    CHECK(equal);

    // rows that are not listed: 0 times a value, added
    std::vector<T> masked(r.size()), packed;
    for (std::int32_t i : list) {
      masked[static_cast<std::size_t>(i)] = r[static_cast<std::size_t>(i)];
      packed.push_back(r[static_cast<std::size_t>(i)]);
    }
    auto whole = g, parts = g, lists = g, wides = spaced(g, 2);
    const index_t at = a.rows / 3;
    spmv_transposed<V>(a.view(), every_row{}, v, data(masked), 0, a.rows, whole.data());
    spmv_transposed<V>(a.view(), every_row{}, v, data(masked), 0, at, parts.data());
    spmv_transposed<V>(a.view(), every_row{}, v, data(masked), at, a.rows, parts.data());
    spmv_transposed<V>(a.view(), listed_rows{list.data(), listed}, v, data(packed), 0, listed, lists.data());
    spmv_transposed<V, 2>(a.view(), every_row{}, v, data(masked), 0, a.rows, wides.data());
    CHECK(parts == whole);
    CHECK(lists == whole);
    CHECK(wides == spaced(whole, 2));

    // What is asked for meanwhile changes nothing, and no column behind the last one is read.
    for (index_t rows : {1, 2, 7}) {
      auto asks = spaced(g, 2), asks_of_list = asks;
      for (index_t lo = 0; lo < a.rows; lo += rows)
        spmv_transposed<V, 2>(a.view(), every_row{}, v, data(masked), lo, std::min(lo + rows, a.rows),
                              asks.data(), rows_next{a.rows, a.nnz()});
      for (index_t lo = 0; lo < listed; lo += rows)
        spmv_transposed<V, 2>(a.view(), listed_rows{list.data(), listed, 2 * rows}, v, data(packed), lo,
                              std::min(lo + rows, listed), asks_of_list.data(), rows_next{listed, a.nnz()});
      CHECK(asks == wides);
      CHECK(asks_of_list == wides);
    }
  }
}

TEST_CASE("sparse: which entries are asked for while a row is added") {
  const std::int32_t end[] = {3, 5, 305, 306};
  const csr_rows a{end, static_cast<const std::int32_t*>(nullptr)};
  const auto to_next = [&](index_t row, index_t then, index_t until, index_t nnz) {
    return entries_to_next(a, every_row{}, row, then, rows_next{until, nnz});
  };
  CHECK(to_next(0, 1, 4, 306) == 3);
  CHECK(to_next(0, 3, 4, 308) == 305);
  CHECK(to_next(0, 3, 4, 307) == 0); // row 3 and two entries more do not exist
  CHECK(to_next(1, 2, 4, 306) == 2);
  CHECK(to_next(1, 2, 2, 306) == 0);  // no such row
  CHECK(to_next(2, 3, 4, 1000) == 0); // a long row
  CHECK(entries_to_next(a, every_row{}, 0, 1, nothing_next{}) == 0);
}

TEST_CASE_TEMPLATE("sparse: K columns give the same bits in any cut and list", T, float, double) {
  using V = simd<T>;
  for (csr<T>& a : awkward<T>())
    for (index_t K : {3, 8, 33, 151}) {
      CAPTURE(a.name);
      CAPTURE(K);
      a.values = reals<T>(a.nnz(), 21);
      const T* const v = a.values.data();
      const auto B = reals<T>(a.cols * K, 22), L = reals<T>(a.rows * K, 23);
      const auto list = some_rows(a.rows);
      const index_t listed = static_cast<index_t>(list.size()), at = a.rows / 3;
      const std::size_t k = static_cast<std::size_t>(K);
      std::vector<T> C(L.size()), cut = C, some(list.size() * k);
      spmm<V>(a.view(), every_row{}, v, data(B), K, 0, a.rows, C.data());
      spmm<V>(a.view(), every_row{}, v, data(B), K, 0, at, cut.data());
      spmm<V>(a.view(), every_row{}, v, data(B), K, at, a.rows, cut.data());
      CHECK(cut == C);
      spmm<V>(a.view(), listed_rows{list.data(), listed}, v, data(B), K, 0, listed, some.data());
      std::vector<T> masked(L.size()), packed, expected;
      for (std::int32_t i : list)
        for (std::size_t n = 0; n < k; ++n) {
          const std::size_t from = static_cast<std::size_t>(i) * k + n;
          expected.push_back(C[from]);
          packed.push_back(L[from]);
          masked[from] = L[from];
        }
      CHECK(some == expected);

      auto whole = B, parts = B, lists = B;
      spmm_transposed<V>(a.view(), every_row{}, v, data(masked), K, K, 0, a.rows, whole.data());
      spmm_transposed<V>(a.view(), every_row{}, v, data(masked), K, K, 0, at, parts.data());
      spmm_transposed<V>(a.view(), every_row{}, v, data(masked), K, K, at, a.rows, parts.data());
      spmm_transposed<V>(a.view(), listed_rows{list.data(), listed}, v, data(packed), K, K, 0, listed,
                         lists.data());
      CHECK(parts == whole);
      CHECK(lists == whole);

      std::vector<T> out(static_cast<std::size_t>(a.nnz())), cuts = out, of_list = out, keep_of_list = out;
      sddmm<V>(a.view(), every_row{}, data(L), data(B), K, 0, a.rows, out.data());
      sddmm<V>(a.view(), every_row{}, data(L), data(B), K, 0, at, cuts.data());
      sddmm<V>(a.view(), every_row{}, data(L), data(B), K, at, a.rows, cuts.data());
      CHECK(cuts == out);
      sddmm<V>(a.view(), listed_rows{list.data(), listed}, data(packed), data(B), K, 0, listed,
               of_list.data());
      for (std::int32_t i : list)
        for (index_t e = a.view().begin(i); e < a.end[static_cast<std::size_t>(i)]; ++e)
          keep_of_list[static_cast<std::size_t>(e)] = out[static_cast<std::size_t>(e)];
      CHECK(of_list == keep_of_list); // entries of other rows are not written
    }
}

TEST_CASE(
    "compact_rows: the rows whose weight is not zero, or is, ascending; nothing behind the range is written") {
  for (index_t n : {0, 1, 2, 7, 64, 129})
    for (std::uint64_t kind = 0; kind < 4; ++kind) { // none, all, and two of random rows
      CAPTURE(n);
      CAPTURE(kind);
      std::vector<float> weight(static_cast<std::size_t>(n));
      const auto bits = support::random_integers(weight.size(), kind, 0, 2);
      const auto kept = std::make_unique<bool[]>(weight.size() + 1);
      for (std::size_t i = 0; i < weight.size(); ++i) {
        kept[i] = kind == 0 ? false : kind == 1 ? true : bits[i] != 0;
        weight[i] = kept[i] ? -0.5f : -0.0f;
      }
      for (index_t lo : {index_t(0), n / 3}) {
        std::vector<std::int32_t> expected;
        for (index_t i = lo; i < n; ++i)
          if (kept[static_cast<std::size_t>(i)]) expected.push_back(static_cast<std::int32_t>(i));
        std::vector<std::int32_t> out(static_cast<std::size_t>(n - lo)), of_bool = out;
        const index_t count = compact_rows(weight.data(), lo, n, out.data());
        const index_t count_of_bool = compact_rows<bool>(kept.get(), lo, n, of_bool.data());
        REQUIRE(count == static_cast<index_t>(expected.size()));
        REQUIRE(count_of_bool == count);
        out.resize(expected.size());
        of_bool.resize(expected.size());
        CHECK(out == expected);
        CHECK(of_bool == expected);
        std::vector<std::int32_t> zeros(static_cast<std::size_t>(n - lo)), others;
        zeros.resize(static_cast<std::size_t>(compact_rows<float, true>(weight.data(), lo, n, zeros.data())));
        for (index_t i = lo; i < n; ++i)
          if (!kept[static_cast<std::size_t>(i)]) others.push_back(static_cast<std::int32_t>(i));
        CHECK(zeros == others);
      }
    }
}

TEST_CASE("chunk_of_rows: ascends from 0 to rows, and no chunk exceeds its share by more than a row") {
  for (const csr<float>& a : awkward<float>())
    for (index_t chunks : {1, 2, 3, 8, 16, 200}) {
      CAPTURE(a.name);
      CAPTURE(chunks);
      const auto weight = [&](index_t i) { return a.view().begin(i) + i; }; // entries and rows before row i
      index_t largest = 0;
      for (index_t i = 0; i < a.rows; ++i) largest = std::max(largest, weight(i + 1) - weight(i));
      const auto first = [&](index_t c) { return chunk_of_rows(a.end.data(), a.rows, a.nnz(), c, chunks); };
      CHECK(first(0) == 0);
      CHECK(first(chunks) == a.rows);
      bool ascends = true, balanced = true;
      for (index_t c = 0; c < chunks; ++c) {
        ascends = ascends && first(c) <= first(c + 1);
        balanced =
            balanced && weight(first(c + 1)) - weight(first(c)) <= (a.nnz() + a.rows) / chunks + 1 + largest;
      }
      CHECK(ascends);
      CHECK(balanced);
    }
  constexpr std::int32_t end[] = {5, 5, 6, 16};
  static_assert(chunk_of_rows(end, 4, 16, 0, 2) == 0);
  static_assert(chunk_of_rows(end, 4, 16, 1, 2) == 4); // 9 of 20 lie before the long row
  static_assert(chunk_of_rows(end, 4, 16, 2, 2) == 4);
}

// Row i + 1 of the wide matrix is row i of a; its row 0 has more than 2^31 entries and is not visited.
TEST_CASE_TEMPLATE("sparse: rows behind 2^31 entries give the bits of the same rows at the front", T, float,
                   double) {
  using V = simd<T>;
  constexpr index_t first = (index_t{1} << 31) + 3, K = 11, most = 1 << 20;
  const support::reserved<std::int32_t> column(first + most);
  const support::reserved<T> entries(first + most), out(first + most);
  if (column.data() == nullptr || entries.data() == nullptr || out.data() == nullptr) {
    MESSAGE("the system grants no 43 GB of addresses");
    return;
  }
  for (csr<T>& a : awkward<T>()) {
    CAPTURE(a.name);
    const index_t rows = a.rows, nnz = a.nnz();
    REQUIRE(nnz <= most);
    a.values = reals<T>(nnz, 51);
    std::vector<std::int64_t> end{first};
    for (const std::int32_t x : a.end) end.push_back(first + x);
    std::copy(a.column.begin(), a.column.end(), column.data() + first);
    std::copy(a.values.begin(), a.values.end(), entries.data() + first);
    const csr_rows<const std::int64_t*> wide{end.data(), column.data()};
    const T *const v = a.values.data(), *const w = entries.data();
    const auto list = some_rows(rows);
    std::vector<std::int32_t> wide_list;
    for (const std::int32_t i : list) wide_list.push_back(i + 1);
    const index_t listed = static_cast<index_t>(list.size());
    const listed_rows some{list.data(), listed}, wide_some{wide_list.data(), listed};
    const auto of_columns = reals<T>(a.cols * K, 52);
    const auto of_rows = reals<T>((rows + 1) * K, 53);
    const T* const B = of_columns.data();

    // f(matrix, rows visited, values, l, y, g, out, lo, hi); a row of the matrix has k elements in l and y
    const auto check = [&](index_t k, auto f) {
      const auto compare = [&](auto which, auto wide_which, index_t lo, index_t hi, index_t ahead) {
        std::vector<T> y(of_rows.size()), g = of_columns, o(a.values.size()), y_wide = y, g_wide = g;
        std::fill_n(out.data() + first, nnz, T(0));
        const T* const l = of_rows.data() + k;
        f(a.view(), which, v, l, y.data() + k, g.data(), o.data(), lo, hi);
        f(wide, wide_which, w, l - ahead * k, y_wide.data() + k - ahead * k, g_wide.data(), out.data(),
          lo + ahead, hi + ahead);
        CHECK(y_wide == y);
        CHECK(g_wide == g);
        CHECK(std::equal(o.begin(), o.end(), out.data() + first));
      };
      compare(every_row{}, every_row{}, 0, rows, 1);
      compare(some, wide_some, 0, listed, 0);
    };
    check(1,
          [&](const auto& m, auto which, const T* x, const T* l, T* y, T* g, T* o, index_t lo, index_t hi) {
            spmv<V>(m, which, x, B, lo, hi, y);
            spmv_transposed<V>(m, which, x, l, lo, hi, g);
            spread<V>(m, which, l, B, lo, hi, o);
          });
    check(K,
          [&](const auto& m, auto which, const T* x, const T* l, T* y, T* g, T* o, index_t lo, index_t hi) {
            spmm<V>(m, which, x, B, K, lo, hi, y);
            spmm_transposed<V>(m, which, x, l, K, K, lo, hi, g);
            sddmm<V>(m, which, l, B, K, lo, hi, o);
          });
    for (index_t i = 0; i < rows; ++i)
      for (const bool upper : {false, true}) {
        const triangle_of_row r = triangle_of(wide, i + 1, upper);
        bool apart = true;
        for (index_t e = wide.begin(i + 1); e < wide.end[i + 1]; ++e) {
          const index_t j = column.data()[e];
          apart = apart && (r.begin <= e && e < r.end) == (upper ? j > i + 1 : j < i + 1) &&
                  (r.diagonal == e) == (j == i + 1);
        }
        CHECK(apart);
      }
    // C is A where A is multiplied by the unit matrix
    std::vector<std::int32_t> unit_end, unit_column;
    for (index_t j = 0; j < a.cols; ++j) {
      unit_column.push_back(static_cast<std::int32_t>(j));
      unit_end.push_back(static_cast<std::int32_t>(j) + 1);
    }
    const csr_rows<row_ends> either{{end.data(), true}, column.data()},
        unit{{unit_end.data(), false}, unit_column.data()};
    index_t met = 0;
    bool at_itself = true;
    each_meeting(spgemm_patterns<row_ends>{either, unit, either, rows + 1}, 1, rows + 1,
                 [&](index_t i, index_t j, index_t k) {
                   at_itself = at_itself && i == first + met && k == i && j == column.data()[i];
                   ++met;
                 });
    CHECK(at_itself);
    CHECK(met == nnz);
    for (const index_t chunks : {1, 2, 7}) { // row 0 is the first chunk but for the last one
      const index_t all = first + nnz;
      for (index_t c = 0; c <= chunks; ++c) {
        const index_t at = chunk_of_rows(end.data(), rows + 1, all, c, chunks);
        CHECK(at == (c == 0 ? 0 : c == chunks ? rows + 1 : 1));
      }
    }
  }
}
