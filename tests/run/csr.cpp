// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Sparse matrices from outside: what views and owners of them hold, and every refusal with its sentence.
#include <tapeless/run/csr.hpp>
#include <tapeless/run/csr_build.hpp>
#include <tapeless/run/csr_dense.hpp>
#include <tapeless/run/csr_product.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/refusal.hpp"

namespace tl = tapeless;
using support::refusal;

namespace {

template <class T, class End = std::int32_t> using table =
    tl::csr<T, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>, End>;
using square = tl::csr<float, tl::dyn<'n'>, tl::dyn<'n'>, tl::dyn<'e'>>;
using fixed = tl::csr<float, 3, 4, 5>;

// What a matrix should be: its dense elements, and which of them are stored.
template <class T> struct naive {
  std::int64_t rows = 0, cols = 0;
  std::vector<T> value;
  std::vector<char> stored;

  naive(std::int64_t r, std::int64_t c)
      : rows(r), cols(c), value(static_cast<std::size_t>(r * c)), stored(static_cast<std::size_t>(r * c)) {}
  std::size_t at(std::int64_t i, std::int64_t j) const { return static_cast<std::size_t>(i * cols + j); }
  void add(std::int64_t i, std::int64_t j, T x) {
    value[at(i, j)] = stored[at(i, j)] != 0 ? value[at(i, j)] + x : x;
    stored[at(i, j)] = 1;
  }
  naive transposed() const {
    naive t(cols, rows);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        t.value[t.at(j, i)] = value[at(i, j)];
        t.stored[t.at(j, i)] = stored[at(i, j)];
      }
    return t;
  }
};

// Is a the matrix n, stored entry by stored entry?
template <class A, class T> bool is(const A& a, const naive<T>& n) {
  tl::csr_check(a);
  if (a.rows() != n.rows || a.cols() != n.cols) return false;
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < n.rows; ++i) {
    if (a.row_begin(i) != k) return false;
    for (std::int64_t j = 0; j < n.cols; ++j)
      if (n.stored[n.at(i, j)] != 0) {
        if (k >= a.nnz() || a.columns()[k] != j || a.values()[k] != n.value[n.at(i, j)]) return false;
        ++k;
      }
    if (a.row_end()[i] != k) return false;
  }
  return k == a.nnz();
}

template <class T> struct arrays {
  std::int64_t rows, cols;
  std::vector<std::int32_t> row_ptr, columns;
  std::vector<T> values;
};
template <class T> arrays<T> arrays_of(const naive<T>& n) {
  arrays<T> r{n.rows, n.cols, {0}, {}, {}};
  for (std::int64_t i = 0; i < n.rows; ++i) {
    for (std::int64_t j = 0; j < n.cols; ++j)
      if (n.stored[n.at(i, j)] != 0) {
        r.columns.push_back(static_cast<std::int32_t>(j));
        r.values.push_back(n.value[n.at(i, j)]);
      }
    r.row_ptr.push_back(static_cast<std::int32_t>(r.columns.size()));
  }
  return r;
}

// (rows, cols, entries): empty, one element, primes, empty first and last rows, one dense row, many duplicates
struct sizes {
  std::int64_t rows, cols, entries;
};
constexpr sizes awkward[] = {{0, 0, 0}, {0, 5, 0},   {5, 0, 0},   {1, 1, 0},    {1, 1, 3},     {7, 1, 5},
                             {1, 7, 9}, {13, 11, 0}, {13, 11, 1}, {13, 11, 70}, {31, 17, 400}, {3, 101, 600}};
template <class T> std::vector<tl::triplet<T>> random_triplets(const sizes& s, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<tl::triplet<T>> t;
  for (std::int64_t k = 0; k < s.entries; ++k) {
    // of 13 rows the first and the last stay empty, row 5 takes a third
    std::int64_t i = static_cast<std::int64_t>(engine()) % s.rows;
    if (s.rows == 13) i = k % 3 == 0 ? 5 : 1 + i % 11;
    const std::int64_t j = static_cast<std::int64_t>(engine()) % s.cols;
    t.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                 static_cast<T>(static_cast<int>(engine() % 2001) - 1000) / 8});
  }
  return t;
}
template <class T> naive<T> naive_of(const sizes& s, const std::vector<tl::triplet<T>>& triplets) {
  naive<T> n(s.rows, s.cols);
  for (const auto& t : triplets) n.add(t.row, t.col, t.value);
  return n;
}

//  . 1 . 2        3 x 4, five entries
//  . . . .
//  3 . 4 5
const std::vector<std::int32_t> ptr{0, 2, 2, 5}, cols{1, 3, 0, 2, 3};
std::vector<float> vals{1, 2, 3, 4, 5};

std::string view_of(const std::vector<std::int32_t>& p, const std::vector<std::int32_t>& c) {
  return refusal([&] {
    std::vector<float> v(c.size());
    tl::csr_view<table<float>>(3, 4, p, c, v);
  });
}
const std::string view_says = "tapeless: csr_view(rows, cols, row_ptr, columns, values): ";

} // namespace

TEST_CASE_TEMPLATE("csr: every builder makes the naive matrix, of any order and with duplicates", A,
                   table<float>, table<double>, table<float, std::int64_t>, table<double, std::int64_t>) {
  using T = typename A::value_type;
  using End = typename A::row_end_type::value_type;
  for (const sizes& s : awkward) {
    CAPTURE(s.rows);
    CAPTURE(s.cols);
    CAPTURE(s.entries);
    const auto triplets = random_triplets<T>(s, 42);
    const naive<T> n = naive_of(s, triplets);
    const auto own = tl::csr_from_triplets<A>(s.rows, s.cols, triplets);
    CHECK(is(*own, n));

    std::vector<std::int32_t> rows32, cols32;
    std::vector<std::int64_t> rows64, cols64;
    std::vector<T> values;
    for (const auto& t : triplets) {
      rows32.push_back(t.row);
      cols32.push_back(t.col);
      rows64.push_back(t.row);
      cols64.push_back(t.col);
      values.push_back(t.value);
    }
    CHECK(is(*tl::csr_from_coo<A>(s.rows, s.cols, rows32, cols32, values), n));
    CHECK(is(*tl::csr_from_coo<A>(s.rows, s.cols, std::span<const std::int64_t>(rows64), cols64,
                                  std::span(values)),
             n));

    const arrays<T> a = arrays_of(n);
    const arrays<T> t = arrays_of(n.transposed());
    CHECK(is(*tl::csr_from_csr<A>(s.rows, s.cols, a.row_ptr, a.columns, a.values), n));
    CHECK(is(*tl::csr_from_csr<table<const T, End>>(s.rows, s.cols, a.row_ptr, a.columns, a.values), n));
    CHECK(is(*tl::csr_from_csr<A>(s.rows, s.cols, a.row_ptr.data(), a.columns.data(), a.values.data()), n));
    CHECK(is(*tl::csr_from_csc<A>(s.rows, s.cols, t.row_ptr, t.columns, t.values), n));
    const std::vector<std::int64_t> wide_ptr(t.row_ptr.begin(), t.row_ptr.end()),
        wide_rows(t.columns.begin(), t.columns.end());
    CHECK(is(*tl::csr_from_csc<A>(s.rows, s.cols, wide_ptr, wide_rows, t.values), n));

    const auto transposed = tl::csr_transposed<A>(*own);
    CHECK(is(*transposed, n.transposed()));
    CHECK(is(*tl::csr_transposed<table<T, std::int32_t>>(*own), n.transposed()));
    CHECK(is(*tl::csr_transposed<table<T, std::int64_t>>(*own), n.transposed()));
    CHECK(is(*tl::csr_transposed<A>(*transposed), n));

    const auto dense = tl::to_dense(*own);
    CHECK(std::vector<T>(dense->begin(), dense->end()) == n.value);
    naive<T> without_zeros = n;
    for (std::size_t k = 0; k < n.value.size(); ++k) without_zeros.stored[k] = n.value[k] != 0;
    CHECK(is(*tl::csr_from_dense<A>(*dense), without_zeros));

    const std::vector<End> ends(a.row_ptr.begin(), a.row_ptr.end());
    const auto viewed = tl::csr_view<table<const T, End>>(s.rows, s.cols, ends, a.columns, a.values);
    CHECK(is(viewed, n));
    CHECK(viewed.values().data() == a.values.data());
    CHECK(viewed.row_end().data() == ends.data() + 1);
  }
}

TEST_CASE("csr: columns that do not ascend are sorted, and what stands twice is summed in the order given") {
  const std::vector<std::int64_t> p{0, 4, 4, 7};
  const std::vector<std::int32_t> c{3, 1, 3, 0, 2, 2, 2};
  const std::vector<float> v{1, 2, 4, 8, 1e8f, 1, -1e8f};
  const auto a = tl::csr_from_csr<table<float>>(3, 4, p, c, v);
  naive<float> n(3, 4);
  n.add(0, 3, 5);
  n.add(0, 1, 2);
  n.add(0, 0, 8);
  n.add(2, 2, (1e8f + 1) + -1e8f); // 0; the sum of the first and the last first would be 1
  CHECK(is(*a, n));
  CHECK(a->nnz() == 4);
  CHECK(a->values()[3] == 0); // and stays stored
  CHECK(tl::csr_from_dense<table<float>>(*tl::to_dense(*a))->nnz() == 3);

  const tl::triplet<float> order[] = {{0, 0, 1e8f}, {0, 1, 1}, {0, 0, -1e8f}, {0, 0, 1}};
  CHECK(tl::csr_from_triplets<table<float>>(1, 2, order)->values()[0] == 1);
  const tl::triplet<float> other[] = {{0, 0, 1}, {0, 1, 1}, {0, 0, 1e8f}, {0, 0, -1e8f}};
  CHECK(tl::csr_from_triplets<table<float>>(1, 2, other)->values()[0] == 0);
}

TEST_CASE("csr: a stored zero stays where it is stored; of a dense matrix NaN is kept, -0 is not") {
  const tl::triplet<double> zeros[] = {{1, 1, 0.0}, {0, 0, -0.0}};
  CHECK(tl::csr_from_triplets<table<double>>(2, 2, zeros)->nnz() == 2);
  CHECK(tl::csr_from_triplets<table<double>>(2, 2, {{1, 0, 2.0}, {1, 0, 3.0}})->values()[0] == 5);
  double x[] = {0, -0.0, std::numeric_limits<double>::quiet_NaN(), 1};
  const auto a = tl::csr_from_dense<table<double>>(tl::tensor<double, 2, 2>(x));
  CHECK(a->nnz() == 2);
  CHECK(std::isnan(a->values()[0]));
  const auto b = tl::csr_from_dense<table<double>>(tl::tensor<const double, tl::dyn<'n'>, 2>(x, 2));
  CHECK(b->nnz() == 2);
}

TEST_CASE("csr: integers and truth values are summed as such") {
  const tl::triplet<bool> flags[] = {{0, 1, true}, {0, 1, true}, {0, 0, false}};
  const auto a = tl::csr_from_triplets<table<bool>>(1, 2, flags);
  CHECK(a->nnz() == 2);
  CHECK_FALSE(a->values()[0]);
  CHECK(a->values()[1]);
  const tl::triplet<std::int32_t> big[] = {{2, 1, 2147483647}, {2, 1, 1}};
  CHECK(refusal([&] { tl::csr_from_triplets<table<std::int32_t>>(3, 2, big); }) ==
        "tapeless: csr_from_triplets(rows, cols, triplets): row 2: the sum of equal entries exceeds an "
        "std::int32_t");
}

TEST_CASE("csr: static extents equal the numbers, a name that stands twice stands for equal ones") {
  const auto a = tl::csr_view<fixed>(3, 4, ptr, cols, vals);
  static_assert(std::is_same_v<decltype(a), const fixed>);
  CHECK(a.rows() == 3);
  CHECK(a.cols() == 4);
  CHECK(a.nnz() == 5);
  a.values()[0] = 7; // a view: the caller's array
  CHECK(vals[0] == 7);
  vals[0] = 1;
  CHECK(is(*tl::csr_from_csr<fixed>(3, 4, ptr, cols, vals),
           naive_of<float>({3, 4, 5}, {{0, 1, 1}, {0, 3, 2}, {2, 0, 3}, {2, 2, 4}, {2, 3, 5}})));
  CHECK(refusal([&] { tl::csr_view<tl::csr<float, 2, 4, 5>>(3, 4, ptr, cols, vals); }) ==
        view_says + "rows = 3, but the matrix type has 2");
  CHECK(refusal([&] { tl::csr_view<tl::csr<float, 3, 5, 5>>(3, 4, ptr, cols, vals); }) ==
        view_says + "cols = 4, but the matrix type has 5");
  CHECK(refusal([&] { tl::csr_view<tl::csr<float, 3, 4, 6>>(3, 4, ptr, cols, vals); }) ==
        view_says + "nnz = 5, but the matrix type has 6");
  CHECK(refusal([&] { tl::csr_view<tl::csr<float, 3, 4, 6>>(tl::trusted, 3, 4, ptr, cols, vals); }) ==
        "tapeless: csr_view(trusted, rows, cols, row_ptr, columns, values): nnz = 5, but the matrix type "
        "has 6");
  CHECK(refusal([&] { tl::csr_view<square>(3, 4, ptr, cols, vals); }) ==
        view_says + "cols says n = 4, but rows says n = 3");
  const tl::triplet<float> one[] = {{1, 1, 2}};
  CHECK(tl::csr_from_triplets<square>(3, 3, one)->cols() == 3);
  CHECK(refusal([&] { tl::csr_from_triplets<square>(3, 4, one); }) ==
        "tapeless: csr_from_triplets(rows, cols, triplets): cols says n = 4, but rows says n = 3");
  CHECK(refusal([&] { tl::csr_from_triplets<fixed>(3, 4, one); }) ==
        "tapeless: csr_from_triplets(rows, cols, triplets): nnz = 1, but the matrix type has 5");
  // one name for all three
  using diagonal = tl::csr<float, tl::dyn<'n'>, tl::dyn<'n'>, tl::dyn<'n'>>;
  const tl::triplet<float> two[] = {{1, 1, 2}, {0, 0, 1}};
  CHECK(tl::csr_from_triplets<diagonal>(2, 2, two)->nnz() == 2);
  CHECK(refusal([&] { tl::csr_from_triplets<diagonal>(3, 3, two); }) ==
        "tapeless: csr_from_triplets(rows, cols, triplets): nnz says n = 2, but cols says n = 3");
}

TEST_CASE("csr_view: arrays, pointers, spans and vectors, mutable or const") {
  std::int32_t p[] = {0, 1}, c[] = {0};
  float v[] = {3};
  CHECK(tl::csr_view<table<float>>(1, 1, p, c, v).values()[0] == 3);
  CHECK(tl::csr_view<table<float>>(1, 1, &p[0], &c[0], &v[0]).nnz() == 1);
  CHECK(tl::csr_view<table<const float>>(1, 1, std::span(p), std::span<const std::int32_t>(c),
                                         std::span<const float>(v))
            .nnz() == 1);
  CHECK(tl::csr_view<table<float>>(tl::trusted, 1, 1, p, c, v).columns()[0] == 0);
  const std::vector<float> none;
  const std::array<std::int32_t, 1> zero{};
  CHECK(tl::csr_view<table<const float>>(0, 4, zero, std::span<const std::int32_t>(), none).nnz() == 0);
}

TEST_CASE("csr_view: what is wrong is named with its row") {
  CHECK(view_of(ptr, cols) == "");
  CHECK(view_of({1, 2, 2, 5}, cols) == view_says + "row_ptr[0] = 1, expected 0");
  CHECK(view_of({0, 3, 2, 5}, cols) == view_says + "row 1 ends at entry 2, before it begins at 3");
  CHECK(view_of({0, 6, 6, 5}, cols) == view_says + "row 0 ends at entry 6, but nnz = 5");
  CHECK(view_of({0, -2, 2, 5}, cols) == view_says + "row 0 ends at entry -2, before it begins at 0");
  CHECK(view_of({0, 2, 2, -5}, cols) == view_says + "row_ptr[3] = -5: it never falls");
  CHECK(view_of({0, 2, 2, 4}, cols) == view_says + "columns has 5 elements, expected 4");
  CHECK(view_of({0, 2, 5}, cols) == view_says + "row_ptr has 3 elements, expected 4");
  CHECK(view_of(ptr, {1, 4, 0, 2, 3}) == view_says + "row 0: column 4 is outside [0, 4)");
  CHECK(view_of(ptr, {1, 3, -1, 2, 3}) == view_says + "row 2: column -1 is outside [0, 4)");
  CHECK(view_of(ptr, {1, 3, 0, 9, 3}) == view_says + "row 2: column 9 is outside [0, 4)");
  CHECK(view_of(ptr, {1, 3, 0, 2, 2}) == view_says + "row 2: column 2 stands twice");
  CHECK(view_of(ptr, {1, 3, 0, 3, 2}) ==
        view_says + "row 2: column 2 stands behind column 3: they ascend strictly");
  // trusted: none of the arrays is looked at, but for the ends of row_ptr
  CHECK(refusal([&] {
          const std::vector<std::int32_t> wrong{9, 9, 9, 9, 9};
          tl::csr_view<table<float>>(tl::trusted, 3, 4, ptr, wrong, vals);
        }) == "");
}

TEST_CASE("csr_view: null pointers, negative numbers and numbers beyond 32 bits") {
  const std::int32_t* no_index = nullptr;
  float* no_value = nullptr;
  const auto says = [&](std::int64_t r, std::int64_t c, const std::int32_t* p, const std::int32_t* j,
                        float* v) { return refusal([&] { tl::csr_view<table<float>>(r, c, p, j, v); }); };
  CHECK(says(3, 4, no_index, cols.data(), vals.data()) == view_says + "row_ptr is null");
  CHECK(says(0, 4, no_index, cols.data(), vals.data()) == view_says + "row_ptr is null");
  CHECK(says(3, 4, ptr.data(), no_index, vals.data()) == view_says + "columns is null");
  CHECK(says(3, 4, ptr.data(), cols.data(), no_value) == view_says + "values is null");
  const std::vector<std::int32_t> empty{0, 0};
  CHECK(says(1, 4, empty.data(), no_index, no_value) == "");
  CHECK(says(-1, 4, ptr.data(), cols.data(), vals.data()) ==
        view_says + "rows = -1: an extent is not negative");
  CHECK(says(3, -4, ptr.data(), cols.data(), vals.data()) ==
        view_says + "cols = -4: an extent is not negative");
  CHECK(says(std::int64_t{1} << 31, 4, ptr.data(), cols.data(), vals.data()) ==
        view_says + "rows = 2147483648: at most 2147483647, positions are std::int32_t");
  CHECK(says(3, std::int64_t{1} << 40, ptr.data(), cols.data(), vals.data()) ==
        view_says + "cols = 1099511627776: at most 2147483647, positions are std::int32_t");
  CHECK(says(3, 2147483647, ptr.data(), cols.data(), vals.data()) == "");
}

TEST_CASE("csr_check: a view that nobody looked at") {
  const auto good = tl::csr_view<table<float>>(3, 4, ptr, cols, vals);
  CHECK(refusal([&] { tl::csr_check(good); }) == "");
  CHECK(refusal([&] { tl::csr_check(table<float>()); }) == "");
  const std::vector<std::int32_t> wrong{1, 3, 0, 3, 3};
  const auto bad = tl::csr_view<table<float>>(tl::trusted, 3, 4, ptr, wrong, vals);
  CHECK(refusal([&] { tl::csr_check(bad); }) == "tapeless: csr_check(a): row 2: column 3 stands twice");
  const std::vector<std::int32_t> ends{0, 0, 0, 0, 0}, no_columns;
  const std::vector<float> no_values;
  const auto factor = tl::csr_view<table<const float>>(4, 3, ends, no_columns, no_values);
  CHECK(refusal([&] { tl::csr_product_pattern<table<float>>(bad, factor); }) ==
        "tapeless: csr_product_pattern(a, b): row 2: column 3 stands twice");
  CHECK(refusal([&] { tl::to_dense(bad); }) == "tapeless: to_dense(a): row 2: column 3 stands twice");
  CHECK(refusal([&] { tl::csr_transposed<table<float>>(bad); }) ==
        "tapeless: csr_transposed(a): row 2: column 3 stands twice");
  using a = table<float>;
  const a::columns_type fewer(const_cast<std::int32_t*>(cols.data()), 4);
  CHECK(refusal([&] { tl::csr_check(a(tl::trusted, good.values(), fewer, good.row_end(), good.width())); }) ==
        "tapeless: csr_check(a): columns() says e = 4, but nnz says e = 5");
  const a::row_end_type null(static_cast<std::int32_t*>(nullptr), 3);
  CHECK(refusal([&] { tl::csr_check(a(tl::trusted, good.values(), good.columns(), null, good.width())); }) ==
        "tapeless: csr_check(a): row_end is null");
  const std::vector<std::int32_t> short_end{2, 2, 4};
  const a::row_end_type early(const_cast<std::int32_t*>(short_end.data()), 3);
  CHECK(refusal([&] { tl::csr_check(a(tl::trusted, good.values(), good.columns(), early, good.width())); }) ==
        "tapeless: csr_check(a): the last row ends at entry 4, but nnz = 5");
}

TEST_CASE("csr: builders name the entry and the row of an index that is outside, and what a column holds") {
  const std::string triplets = "tapeless: csr_from_triplets(rows, cols, triplets): ";
  const auto says = [](tl::triplet<float> t) {
    return refusal([&] {
      const tl::triplet<float> all[] = {{0, 0, 1}, t};
      tl::csr_from_triplets<table<float>>(3, 4, all);
    });
  };
  CHECK(says({2, 3, 1}) == "");
  CHECK(says({3, 0, 1}) == triplets + "triplet 1: row 3 is outside [0, 3)");
  CHECK(says({-1, 0, 1}) == triplets + "triplet 1: row -1 is outside [0, 3)");
  CHECK(says({2, 4, 1}) == triplets + "triplet 1 in row 2: column 4 is outside [0, 4)");
  CHECK(says({2, -4, 1}) == triplets + "triplet 1 in row 2: column -4 is outside [0, 4)");

  using indices = std::vector<std::int64_t>;
  const auto coo = [](const indices& r, const indices& c, const std::vector<float>& v) {
    return refusal([&] { tl::csr_from_coo<table<float>>(3, 4, r, c, v); });
  };
  const std::string coo_says = "tapeless: csr_from_coo(rows, cols, row_indices, col_indices, values): ";
  CHECK(coo({1}, {std::int64_t{1} << 32}, {1}) ==
        coo_says + "entry 0 in row 1: column 4294967296 is outside [0, 4)");
  CHECK(coo({std::int64_t{1} << 32}, {0}, {1}) == coo_says + "entry 0: row 4294967296 is outside [0, 3)");
  CHECK(coo({1, 2}, {0}, {1}) == coo_says + "row_indices has 2 elements, expected 1");
  CHECK(coo({1}, {0, 3}, {1}) == coo_says + "col_indices has 2 elements, expected 1");

  const auto rows = [](const indices& p, const indices& c) {
    return refusal([&] {
      const std::vector<float> v(5);
      tl::csr_from_csr<table<float>>(3, 4, p, c, v);
    });
  };
  const std::string csr_says = "tapeless: csr_from_csr(rows, cols, row_ptr, columns, values): ";
  CHECK(rows({0, 2, 2, 5}, {1, 3, 3, 2, 0}) == "");
  CHECK(rows({0, 2, 2, 5}, {1, 3, 3, 4, 0}) == csr_says + "row 2: column 4 is outside [0, 4)");
  CHECK(rows({0, 3, 2, 5}, {1, 3, 3, 2, 0}) == csr_says + "row 1 ends at entry 2, before it begins at 3");
  CHECK(rows({0, 9, 9, 5}, {1, 3, 3, 2, 0}) == csr_says + "row 0 ends at entry 9, but nnz = 5");
  CHECK(rows({0, 2, 2, 6}, {1, 3, 3, 2, 0}) == csr_says + "columns has 5 elements, expected 6");
  CHECK(rows({0, 2, 2, -6}, {1, 3, 3, 2, 0}) == csr_says + "row_ptr[3] = -6: it never falls");
  CHECK(rows({0, 2, 5}, {1, 3, 3, 2, 0}) == csr_says + "row_ptr has 3 elements, expected 4");
  CHECK(refusal([] {
          const std::int64_t many[] = {0, std::int64_t{1} << 31};
          const std::int32_t c[1] = {};
          const float v[1] = {};
          tl::csr_from_csr<table<float>>(1, 4, &many[0], &c[0], &v[0]);
        }) ==
        csr_says +
            "2147483648 entries: at most 2147483647, row ends are std::int32_t; csr<T, rows, cols, nnz, "
            "std::int64_t> has more");

  const auto columns = [](const indices& p, const indices& r) {
    return refusal([&] {
      const std::vector<float> v(5);
      tl::csr_from_csc<table<float>>(4, 3, p, r, v);
    });
  };
  const std::string csc_says = "tapeless: csr_from_csc(rows, cols, col_ptr, row_indices, values): ";
  CHECK(columns({0, 2, 2, 5}, {1, 3, 3, 2, 0}) == "");
  CHECK(columns({0, 2, 2, 5}, {1, 3, 3, 4, 0}) == csc_says + "column 2: row 4 is outside [0, 4)");
  CHECK(columns({0, 3, 2, 5}, {1, 3, 3, 2, 0}) ==
        csc_says + "column 1 ends at entry 2, before it begins at 3");
  CHECK(columns({1, 3, 3, 5}, {1, 3, 3, 2, 0}) == csc_says + "col_ptr[0] = 1, expected 0");

  const tl::tensor<const float, tl::dyn<'r'>, 2> null(static_cast<const float*>(nullptr), 2);
  CHECK(refusal([&] { tl::csr_from_dense<table<float>>(null); }) == "tapeless: csr_from_dense(x): x is null");
}

TEST_CASE("csr: with int64 row ends nnz exceeds 2^31 - 1, and with int32 the refusal names them") {
  const std::int64_t many[] = {0, std::int64_t{1} << 31};
  const std::int32_t* const no_columns = nullptr;
  float* const no_values = nullptr;
  // what comes next is looked at
  using wide = table<float, std::int64_t>;
  CHECK(refusal([&] { tl::csr_view<wide>(1, 4, many, no_columns, no_values); }) ==
        view_says + "columns is null");
  const std::int64_t too_many[] = {0, std::int64_t{1} << 62};
  CHECK(refusal([&] { tl::csr_view<wide>(1, 4, too_many, std::span<const std::int32_t>(), no_values); }) ==
        view_says + "columns has 0 elements, expected 4611686018427387904");
  CHECK(refusal([&] { tl::csr_view<wide>(std::int64_t{1} << 31, 4, many, no_columns, no_values); }) ==
        view_says + "rows = 2147483648: at most 2147483647, positions are std::int32_t");
  CHECK(refusal([&] { tl::csr_view<wide>(1, std::int64_t{1} << 31, many, no_columns, no_values); }) ==
        view_says + "cols = 2147483648: at most 2147483647, positions are std::int32_t");
  const std::string csr_says = "tapeless: csr_from_csr(rows, cols, row_ptr, columns, values): ";
  const std::span<const std::int32_t> none;
  const std::vector<float> values;
  CHECK(refusal([&] { tl::csr_from_csr<wide>(1, 4, many, none, values); }) ==
        csr_says + "columns has 0 elements, expected 2147483648");
  const std::vector<float> dense(12, 1.0f);
  CHECK(tl::csr_from_dense<wide>(tl::tensor<const float, 3, 4>(dense.data()))->row_end()[2] == 12);

  // each index is one of a static extent
  using large = tl::csr<float, 2, 4, (tl::extent_t{1} << 33), std::int64_t>;
  static_assert(large::values_type::extents.d[0] == tl::extent_t{1} << 33);
  const std::int64_t ptr_large[] = {0, 7, std::int64_t{1} << 33};
  CHECK(refusal([&] { tl::csr_view<large>(2, 4, ptr_large, no_columns, no_values); }) ==
        view_says + "columns is null");
  CHECK(refusal([&] { tl::csr_view<large>(1, 4, many, no_columns, no_values); }) ==
        view_says + "rows = 1, but the matrix type has 2");
}

TEST_CASE("csr: the invariants of int64 row ends are looked at") {
  std::vector<float> v(5);
  const auto says = [&](const std::vector<std::int64_t>& p, const std::vector<std::int32_t>& c) {
    return refusal([&] { tl::csr_view<table<float, std::int64_t>>(3, 4, p, c, v); });
  };
  CHECK(says({0, 2, 2, 5}, {1, 3, 0, 2, 3}) == "");
  CHECK(says({0, 3, 2, 5}, cols) == view_says + "row 1 ends at entry 2, before it begins at 3");
  CHECK(says({0, std::int64_t{1} << 32, 2, 5}, cols) ==
        view_says + "row 0 ends at entry 4294967296, but nnz = 5");
  CHECK(says({0, 2, (std::int64_t{1} << 32) + 2, 5}, cols) ==
        view_says + "row 1 ends at entry 4294967298, but nnz = 5");
  CHECK(says({0, 2, 2, -5}, cols) == view_says + "row_ptr[3] = -5: it never falls");
  CHECK(says({0, 2, 2, 5}, {1, 3, 0, 2, 2}) == view_says + "row 2: column 2 stands twice");
  CHECK(says({0, 2, 2, 5}, {1, 3, 0, 9, 3}) == view_says + "row 2: column 9 is outside [0, 4)");
}
