// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Row ends of int64: every op computes the bits that it computes with those of int32; and a matrix of more than 2^31
// entries, of which a program reads few.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <support/random.hpp>
#include <support/reserved.hpp>
#include <tapeless/run/csr_product.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t m = tl::dyn<'m'>, n = tl::dyn<'n'>, e = tl::dyn<'e'>;
template <class T, class End> using matrix = tl::csr<T, m, n, e, End>;
template <class T, class End> using square = tl::csr<T, n, n, e, End>;

static_assert(std::is_same_v<tl::csr<float, 2, 3, 4>, tl::csr<float, 2, 3, 4, std::int32_t>>);
static_assert(!std::is_same_v<tl::csr<float, 2, 3, 4>, tl::csr<float, 2, 3, 4, std::int64_t>>);

// ---- no array is as large as these types are
constexpr tl::extent_t many = tl::extent_t{3} << 31;
using large = tl::csr<float, 1000, 2000, many, std::int64_t>;
constexpr auto squares = [](auto x, auto a) { return tl::sum(tl::square(tl::matmul(a, x))); };
constexpr tl::cost cost_of_large = tl::jit(tl::grad<0>(squares)).cost<tl::tensor<float, 2000>, large>();
static_assert(cost_of_large.flops().at() == 4.0 * many + 1000);
// an entry is its value and its column, a row its end and what is made of it
static_assert(cost_of_large.bytes().at() == 8.0 * many + 8.0 * 1000 + 4.0 * 2 * 2000);
static_assert(std::is_same_v<decltype(large{}.with(large{}.values())), large>);
using gradient_of_large = decltype(tl::jit(tl::grad<1>(squares)).bind<tl::tensor<float, 2000>, large>());
static_assert(
    std::is_same_v<decltype(std::declval<gradient_of_large&>()(tl::tensor<float, 2000>{}, large{})), large>);

using large_square = tl::csr<float, 1000, 1000, many, std::int64_t>;
constexpr auto every_op = [](auto x, auto a, auto b) {
  const auto c = tl::scale_rows(x, tl::scale_columns(a + 2 * a.with(tl::exp(a.values())), x));
  const auto s = tl::sampled_matmul(tl::sampled_matmul(a, x, x), b, c);
  return tl::sum(tl::solve_triangular(a, tl::matmul(tl::transpose(c), x) + tl::sum<0>(s))) + tl::sum(s - a);
};
static_assert(tl::jit(tl::value_and_grad<0, 1, 2>(every_op))
                  .cost<tl::tensor<float, 1000>, large_square, large_square>()
                  .arena.at() > 4.0 * many);
template <class End> constexpr double bytes_of_a_row = [] {
  const tl::cost c = tl::jit([](auto x, auto a) {
                       return tl::matmul(a, x);
                     }).template cost<tl::tensor<float, n>, matrix<float, End>>();
  const auto of = [&](tl::extent_t rows) {
    return c.bytes().at(tl::dim<'m'>(rows), tl::dim<'n'>(1), tl::dim<'e'>(1));
  };
  return of(2) - of(1);
}();
static_assert(bytes_of_a_row<std::int32_t> == 8 && bytes_of_a_row<std::int64_t> == 12);

// ---- the same matrix with row ends of both types
template <class T> struct both {
  tl::extent_t rows, cols;
  std::vector<std::int32_t> ptr32{0}, columns;
  std::vector<std::int64_t> ptr64{0};
  std::vector<T> values, dots;

  // longest: entries of a row; diagonal: each row has entry (i, i), of 4 and more
  both(tl::extent_t r, tl::extent_t c, std::uint64_t longest, std::uint64_t seed, bool diagonal = false)
      : rows(r), cols(c) {
    support::splitmix64 random(seed);
    for (tl::extent_t i = 0; i < rows; ++i) {
      std::vector<std::int32_t> row;
      if (diagonal) row.push_back(static_cast<std::int32_t>(i));
      for (std::uint64_t k = i % 7 == 3 ? 0 : random.below(longest + 1); k > 0; --k)
        row.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(cols))));
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      columns.insert(columns.end(), row.begin(), row.end());
      ptr32.push_back(static_cast<std::int32_t>(columns.size()));
    }
    ptr64.assign(ptr32.begin(), ptr32.end());
    values = support::random_values<T>(columns.size(), seed + 1);
    dots = support::random_values<T>(columns.size(), seed + 2);
    std::size_t k = 0;
    for (tl::extent_t i = 0; diagonal && i < rows; ++i)
      for (; k < static_cast<std::size_t>(ptr32[static_cast<std::size_t>(i) + 1]); ++k)
        if (columns[k] == i) values[k] += 5;
  }
  template <class End> auto& ptr() {
    if constexpr (sizeof(End) == 8) return ptr64;
    else return ptr32;
  }
  template <class A> A view_of(std::vector<T>& v) {
    using end = typename A::row_end_type::value_type;
    return tl::csr_view<A>(rows, cols, ptr<end>(), columns, v);
  }
  template <class A> A view() { return view_of<A>(values); }
  template <class A> A dot() { return view_of<A>(dots); }
  tl::extent_t nnz() const { return static_cast<tl::extent_t>(columns.size()); }
};

// All elements of a result, but for patterns.
template <class Tree> std::vector<double> elements(const Tree& y) {
  std::vector<double> all;
  tl::for_each_leaf(y, [&](const auto& leaf) {
    using leaf_type = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (std::is_floating_point_v<typename leaf_type::value_type>)
      all.insert(all.end(), leaf.begin(), leaf.end());
  });
  return all;
}
bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return !x.empty() && x.size() == y.size() &&
         std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

template <class T> struct rows_and_columns {
  both<T> a{3000, 211, 30, 1};
  std::vector<T> x = support::random_values<T>(211, 11), y = support::random_values<T>(3000, 12),
                 x3 = support::random_values<T>(211 * 3, 13), y3 = support::random_values<T>(3000 * 3, 14),
                 weight = support::random_values<T>(3000, 15);
  rows_and_columns() {
    for (std::size_t i = 0; i < weight.size(); ++i)
      if (i % 3 != 0 || (i > 1000 && i < 1600)) weight[i] = 0;
  }
  using X = tl::tensor<T, n>;
  using Y = tl::tensor<T, m>;
  using X3 = tl::tensor<T, n, 3>;
  using Y3 = tl::tensor<T, m, 3>;
  X of_columns() { return X(x.data(), a.cols); }
  Y of_rows() { return Y(y.data(), a.rows); }
  Y weights() { return Y(weight.data(), a.rows); }
  X3 columns_3() { return X3(x3.data(), a.cols); }
  Y3 rows_3() { return Y3(y3.data(), a.rows); }
};

template <class T, class End, class F> std::vector<double> run(rows_and_columns<T>& d, F f, int threads) {
  using A = matrix<T, End>;
  using R = rows_and_columns<T>;
  auto program = tl::jit(f).template bind<A, typename R::X, typename R::Y, typename R::X3, typename R::Y3>(
      tl::dim<'m'>(d.a.rows), tl::dim<'n'>(d.a.cols), tl::dim<'e'>(d.a.nnz()), tl::threads(threads));
  return elements(program(d.a.template view<A>(), d.of_columns(), d.of_rows(), d.columns_3(), d.rows_3()));
}
template <class T, class F> void check_same(F f) {
  rows_and_columns<T> d;
  const std::vector<double> expected = run<T, std::int32_t>(d, f, 2);
  CHECK(same_bits(run<T, std::int64_t>(d, f, 2), expected));
  CHECK(same_bits(run<T, std::int64_t>(d, f, 1), expected));
}

constexpr auto products = [](auto a, auto x, auto y, auto x3, auto y3) {
  return std::tuple{tl::matmul(a, x),
                    tl::matmul(tl::transpose(a), y),
                    tl::matmul(y, a),
                    tl::matmul(x, tl::transpose(a)),
                    tl::matmul(a, x3),
                    tl::matmul(tl::transpose(a), y3),
                    tl::matmul(tl::transpose(y3), a),
                    tl::matmul(tl::transpose(x3), tl::transpose(a))};
};
constexpr auto entries = [](auto a, auto x, auto y, auto x3, auto y3) {
  const auto b = a.with(tl::exp(a.values()));
  const auto c = tl::scale_rows(y, tl::scale_columns(a, x));
  return std::tuple{tl::sampled_matmul(a, y, x),
                    tl::sampled_matmul(a, y3, x3),
                    c + b,
                    a - b,
                    a * b,
                    2 * a / 3,
                    a * tl::matmul(y3, tl::transpose(x3)),
                    -a,
                    tl::sum<0>(a),
                    tl::sum<1>(b),
                    tl::sum(c)};
};
constexpr auto loss = [](auto a, auto x, auto y, auto x3, auto y3) {
  const auto s = tl::sampled_matmul(a, y3, x3);
  const auto z = tl::matmul(tl::scale_columns(a * s, x), x);
  return tl::sum(tl::square(tl::matmul(a, x3))) + tl::sum(a * tl::matmul(y3, tl::transpose(x3))) +
         tl::mean(tl::tanh(z) * y + tl::sum<1>(a) * tl::square(tl::matmul(a, x) - y));
};
constexpr auto of_vars = [](auto a, auto x, auto y, auto x3, auto y3) {
  using T = typename decltype(x)::value_type;
  return std::tuple{loss(a, tl::var(x), tl::var(y), tl::var(x3), tl::var(y3)).template as<T>(),
                    tl::matmul(a, tl::var(x)).template as<T, m>()};
};

constexpr auto masked = [](auto x, auto a, auto y, auto weight) {
  return tl::mean(weight * tl::square(tl::matmul(a, x) - y));
};
template <class T, class End> std::vector<double> run_transforms(rows_and_columns<T>& d, std::string& steps) {
  using A = matrix<T, End>;
  using X = typename rows_and_columns<T>::X;
  using Y = typename rows_and_columns<T>::Y;
  const tl::dim<'m'> rows(d.a.rows);
  const tl::dim<'n'> cols(d.a.cols);
  const tl::dim<'e'> nnz(d.a.nnz());
  const A a = d.a.template view<A>(), a_dot = d.a.template dot<A>();
  constexpr auto first = tl::jit(tl::value_and_grad<0, 1>(masked));
  steps = first.template explain<X, A, Y, Y>();
  auto gradient = first.template bind<X, A, Y, Y>(rows, cols, nnz, tl::threads(2));
  const auto g = gradient(d.of_columns(), a, d.of_rows(), d.weights());
  CHECK(std::get<2>(g).row_end().data() == a.row_end().data());
  std::vector<double> all = elements(g);
  const auto append = [&](const auto& more) {
    const std::vector<double> next = elements(more);
    all.insert(all.end(), next.begin(), next.end());
  };
  auto along = tl::jit(tl::jvp<0, 1>(masked)).template bind<X, A, Y, Y, X, A>(rows, cols, nnz);
  append(along(d.of_columns(), a, d.of_rows(), d.weights(), d.of_columns(), a_dot));
  auto second = tl::jit(tl::hvp<0>(masked)).template bind<X, A, Y, Y, X>(rows, cols, nnz);
  append(second(d.of_columns(), a, d.of_rows(), d.weights(), d.of_columns()));
  auto in_entries = tl::jit(tl::hvp<1>(masked)).template bind<X, A, Y, Y, A>(rows, cols, nnz);
  append(in_entries(d.of_columns(), a, d.of_rows(), d.weights(), a_dot));
  return all;
}

// ---- substitution
template <tl::triangle Of, bool Transposed> struct solution {
  constexpr auto operator()(auto a, auto b) const {
    if constexpr (Transposed) return tl::solve_triangular<Of>(tl::transpose(a), b);
    else return tl::solve_triangular<Of>(a, b);
  }
};
template <class Solve> struct loss_of {
  constexpr auto operator()(auto a, auto b) const { return tl::sum(tl::tanh(Solve{}(a, b))); }
};
template <class End, class Solve> std::vector<double> run_solve(both<double>& d) {
  using A = square<double, End>;
  using B = tl::tensor<double, n, 2>;
  const tl::dim<'n'> rows(d.rows);
  const tl::dim<'e'> nnz(d.nnz());
  std::vector<double> b = support::random_values<double>(static_cast<std::size_t>(2 * d.rows), 5);
  const A a = d.view<A>();
  const B bv(b.data(), d.rows);
  auto second = tl::jit([](auto p, auto q, auto p_dot, auto q_dot) {
                  return std::tuple{Solve{}(p, q), tl::grad<0, 1>(loss_of<Solve>{})(p, q),
                                    tl::jvp<0, 1>(tl::grad<0, 1>(loss_of<Solve>{}))(p, q, p_dot, q_dot)};
                }).template bind<A, B, A, B>(rows, nnz);
  return elements(second(a, bv, d.dot<A>(), bv));
}
template <tl::triangle Of, bool Transposed> void check_solve() {
  both<double> d(131, 131, 9, 7, true);
  using F = solution<Of, Transposed>;
  CHECK(same_bits(run_solve<std::int64_t, F>(d), run_solve<std::int32_t, F>(d)));
}

// ---- products of sparse matrices: each of the three has row ends of its own
constexpr auto sparse_product = [](auto a, auto b, auto c) { return tl::sampled_matmul(c, a, b); };
constexpr auto sparse_loss = [](auto a, auto b, auto c) {
  return tl::sum(tl::tanh(sparse_product(a, b, c).values()));
};
template <class EndA, class EndB, class EndC> std::vector<double> run_product() {
  using A = tl::csr<double, 150, 80, tl::dyn<'a'>, EndA>;
  using B = tl::csr<double, 80, 90, tl::dyn<'b'>, EndB>;
  using C = tl::csr<double, 150, 90, tl::dyn<'c'>, EndC>;
  both<double> of_a(150, 80, 7, 21), of_b(80, 90, 6, 31);
  const A a = of_a.view<A>();
  const B b = of_b.view<B>();
  const tl::owned<C> c = tl::csr_product_pattern<C>(a, b);
  auto program = tl::jit([](auto p, auto q, auto r) {
                   return std::tuple{sparse_product(p, q, r), tl::grad<0, 1>(sparse_loss)(p, q, r)};
                 })
                     .template bind<A, B, C>(tl::dim<'a'>(a.nnz()), tl::dim<'b'>(b.nnz()),
                                             tl::dim<'c'>(c->nnz()), tl::threads(2));
  return elements(program(a, b, *c));
}

} // namespace

TEST_CASE_TEMPLATE("row ends of int64: products and entries have the bits of int32", T, float, double) {
  check_same<T>(products);
  check_same<T>(entries);
}

TEST_CASE("row ends of int64: gradients, too, and programs of vars") {
  check_same<float>(tl::value_and_grad<0, 1, 2, 3, 4>(loss));
  check_same<double>(of_vars);
}

TEST_CASE("row ends of int64: sweeps over the rows that a mask keeps, jvp and hvp") {
  using T = double;
  rows_and_columns<T> d;
  std::string steps32, steps64;
  const std::vector<double> expected = run_transforms<T, std::int32_t>(d, steps32);
  CHECK(same_bits(run_transforms<T, std::int64_t>(d, steps64), expected));
  CHECK(steps32.find("; rows where") != std::string::npos);
  CHECK(steps32.find(" and 4 bytes each; rows where") != std::string::npos);
  CHECK(steps64.find(" and 8 bytes each; rows where") != std::string::npos);
}

TEST_CASE("row ends of int64: solve_triangular, its gradients and their derivatives") {
  check_solve<tl::triangle{}, false>();
  check_solve<tl::triangle{.upper = true}, true>();
  check_solve<tl::triangle{.upper = true, .unit = true}, false>();
}

TEST_CASE("row ends of int64: products of sparse matrices, each with row ends of its own") {
  using narrow = std::int32_t;
  using wide = std::int64_t;
  const std::vector<double> expected = run_product<narrow, narrow, narrow>();
  CHECK(same_bits(run_product<wide, wide, wide>(), expected));
  CHECK(same_bits(run_product<narrow, narrow, wide>(), expected));
  CHECK(same_bits(run_product<wide, narrow, narrow>(), expected));
  CHECK(same_bits(run_product<narrow, wide, wide>(), expected));
}

TEST_CASE("row ends of int64: a loss and its gradient over some rows of a matrix of more than 2^31 entries") {
  constexpr tl::extent_t first = (tl::extent_t{1} << 31) + 5; // entries of row 0, which no run visits
  support::reserved<std::int32_t> columns(first + 100);
  support::reserved<double> values(first + 100);
  if (columns.data() == nullptr || values.data() == nullptr) {
    MESSAGE("the system grants no 24 GB of addresses");
    return;
  }
  using A = matrix<double, std::int64_t>;
  both<double> d(6, 10, 8, 41);
  std::vector<std::int64_t> row_ptr{0};
  for (const std::int64_t end : d.ptr64) row_ptr.push_back(first + end);
  std::copy(d.columns.begin(), d.columns.end(), columns.data() + first);
  std::copy(d.values.begin(), d.values.end(), values.data() + first);
  const tl::extent_t nnz = first + d.nnz();
  const A a = tl::csr_view<A>(tl::trusted, 7, 10, row_ptr, columns.data(), values.data());
  CHECK(a.nnz() == nnz);
  CHECK(a.row_begin(1) == first);
  std::vector<double> x = support::random_values<double>(10, 42), y = support::random_values<double>(7, 43);
  std::vector<double> weight{0, 1, 2, 0.5, 1, 0, 3};
  using X = tl::tensor<double, n>;
  using Y = tl::tensor<double, m>;
  constexpr auto loss_of_rows = [](auto p, auto q, auto r, auto w) {
    return tl::sum(w * tl::square(tl::matmul(q, p) - r));
  };
  auto large_program =
      tl::jit(tl::value_and_grad<0>(loss_of_rows))
          .bind<X, A, Y, Y>(tl::dim<'m'>(7), tl::dim<'n'>(10), tl::dim<'e'>(nnz), tl::threads(2));
  const std::vector<double> got =
      elements(large_program(X(x.data(), 10), a, Y(y.data(), 7), Y(weight.data(), 7)));
  using B = matrix<double, std::int32_t>;
  auto small_program = tl::jit(tl::value_and_grad<0>(loss_of_rows))
                           .bind<X, B, Y, Y>(tl::dim<'m'>(6), tl::dim<'n'>(10), tl::dim<'e'>(d.nnz()));
  const std::vector<double> expected =
      elements(small_program(X(x.data(), 10), d.view<B>(), Y(y.data() + 1, 6), Y(weight.data() + 1, 6)));
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) // the chunks are others
    CHECK(got[k] == doctest::Approx(expected[k]).epsilon(1e-13));
}
