// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Tiled matrices: every op against loops over the entries, gradients and second derivatives against those of the same
// matrix in rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/allocations.hpp>
#include <support/compare.hpp>
#include <support/random.hpp>
#include <tapeless/run/csr_tiled.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t m = tl::dyn<'m'>, n = tl::dyn<'n'>, e = tl::dyn<'e'>;
template <class T> using in_rows = tl::csr<T, m, n, e>;
template <class T> using in_tiles = tl::csr<T, m, n, e, tl::tiled>;
template <class T> using rows_of = tl::tensor<T, m>;
template <class T> using columns_of = tl::tensor<T, n>;

static_assert(!std::is_same_v<tl::csr<float, 2, 3, 4>, tl::csr<float, 2, 3, 4, tl::tiled>>);

// ---- the cut
constexpr bool is_sound(tl::extent_t rows, tl::extent_t cols, tl::extent_t nnz, tl::extent_t size) {
  const tl::detail::tiling t = tl::detail::tiling_of(rows, cols, nnz, size);
  if (!t.fits()) return false;
  for (tl::extent_t q = 0; q < t.row_blocks; ++q)
    if (const tl::extent_t k = t.first_row(q + 1) - t.first_row(q);
        k < t.col_blocks || k > tl::detail::most_rows_of_tile || k * size > tl::detail::bytes_of_rows)
      return false;
  return t.first_row(0) == 0 && t.first_row(t.row_blocks) == rows &&
         (rows == 0 || t.first_col(t.col_blocks) >= cols) && t.col_bits <= 16;
}
static_assert(is_sound(0, 5, 0, 4) && is_sound(7, 0, 0, 4) && is_sound(1, 1, 1, 8));
static_assert(is_sound(850000, 210000, 178500000, 4) && is_sound(850000, 210000, 178500000, 8));
static_assert(is_sound(85000, 21000, 1785000, 4) && is_sound(4097, 4097, 100, 4) && is_sound(257, 3, 9, 8));
static_assert(is_sound(10000, 20500000, 1000, 4) && is_sound(257, 257 * 65536 - 1, 9, 4));
static_assert(is_sound(5, 300000, 1000, 4) && is_sound(1, 65536, 10, 4) && !is_sound(1, 65537, 10, 4));
static_assert(is_sound(100000, 100000000, 1000000, 8) && is_sound(300000, 20, 1000000, 4));

// ---- matrices; their values, and those of vectors, are multiples of 1/8 in [-2, 2]. A product is a multiple of 1/64
// up to 4 = 2^8 / 64, so every sum of fewer than 2^16 products is exact in float, in any order and fused or not.
template <class T> std::vector<T> eighths(tl::extent_t size, std::uint64_t seed) {
  std::vector<T> x;
  for (const std::int32_t i : support::random_integers(static_cast<std::size_t>(size), seed, -16, 17))
    x.push_back(static_cast<T>(i) / T(8));
  return x;
}

template <class T> struct matrix {
  std::string name;
  tl::extent_t rows, cols;
  std::vector<std::int32_t> row_ptr{0}, columns;
  std::vector<T> values;
  bool whole = true; // eighths; or reals

  tl::extent_t nnz() const { return static_cast<tl::extent_t>(columns.size()); }
  in_rows<T> view() { return tl::csr_view<in_rows<T>>(rows, cols, row_ptr, columns, values); }
  // f(row, entry, column)
  template <class F> void each_entry(F f) const {
    for (std::size_t i = 0; i + 1 < row_ptr.size(); ++i)
      for (auto k = static_cast<std::size_t>(row_ptr[i]); k < static_cast<std::size_t>(row_ptr[i + 1]); ++k)
        f(i, k, static_cast<std::size_t>(columns[k]));
  }
};
// length(i): entries of row i; no column j with j % skip == 0
template <class T, class Length>
matrix<T> make(std::string name, tl::extent_t rows, tl::extent_t cols, Length length, tl::extent_t skip = 0) {
  matrix<T> a{std::move(name), rows, cols, {0}, {}, {}};
  support::splitmix64 random(static_cast<std::uint64_t>(rows + 7 * cols));
  std::vector<std::int32_t> row;
  for (tl::extent_t i = 0; i < rows; ++i) {
    row.clear();
    const tl::extent_t count = std::min<tl::extent_t>(cols, length(i));
    if (count == cols)
      for (tl::extent_t j = 0; j < cols; ++j) row.push_back(static_cast<std::int32_t>(j));
    else
      for (tl::extent_t k = 0; k < count; ++k)
        row.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(cols))));
    if (skip > 0) std::erase_if(row, [&](std::int32_t j) { return j % skip == 0; });
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    a.columns.insert(a.columns.end(), row.begin(), row.end());
    a.row_ptr.push_back(static_cast<std::int32_t>(a.columns.size()));
  }
  a.values = eighths<T>(a.nnz(), 5);
  return a;
}
template <class T> std::vector<matrix<T>> awkward() {
  return {make<T>("no row", 0, 5, [](auto) { return 3; }),
          make<T>("no column", 7, 0, [](auto) { return 3; }),
          make<T>("no entry", 700, 9000, [](auto) { return 0; }),
          make<T>("1 x 1", 1, 1, [](auto) { return 1; }),
          make<T>("one entry a row", 37, 11, [](auto) { return 1; }),
          make<T>("wide", 5, 300000, [](auto i) { return 40 * i; }),
          make<T>("tall", 9000, 3, [](auto i) { return i % 4; }),
          make<T>("one dense row", 600, 9001, [](auto i) { return i == 300 ? 9001 : 1; }),
          make<T>(
              "empty rows and columns", 1000, 5000, [](auto i) { return i % 3 == 0 ? 0 : 30; }, 3),
          make<T>("dense", 300, 70, [](auto) { return 70; }),
          make<T>("many tiles", 9001, 9001, [](auto) { return 33; }),
          make<T>("a power law", 9000, 4100, [](auto i) { return 4000 / (1 + i); })};
}

template <class V> auto numbers(const V& v) {
  return std::vector<typename V::value_type>(v.begin(), v.end());
}
// The values of a tiled matrix in the order of the rows.
template <class B> auto by_rows(const B& b) { return numbers(tl::csr_untiled(b)->values()); }
template <class X> bool same_bits(const X& x, const X& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0);
}
// Dimensions of a program: capacities, which a run need not fill.
template <class F, class... Of, class T> auto bind(F f, const matrix<T>& a, int threads) {
  return tl::jit(f).template bind<Of...>(
      tl::dim<'m'>(std::max<tl::extent_t>(a.rows, 1)), tl::dim<'n'>(std::max<tl::extent_t>(a.cols, 1)),
      tl::dim<'e'>(std::max<tl::extent_t>(a.nnz(), 1)), tl::threads(threads));
}

template <class T> using dense_of = tl::tensor<T, m, n>;
constexpr auto of_dense = [](auto a, auto d) { return a * tl::square(d) - d * a; };
// The same bits as of rows, and gradients by both.
template <class T> void check_dense(matrix<T>& a) {
  CAPTURE(a.name);
  const auto t = tl::csr_tiled(a.view());
  auto d = eighths<T>(a.rows * a.cols, 1);
  const dense_of<T> dense(d.data(), a.rows, a.cols);
  constexpr auto sum_of = [](auto b, auto by) { return tl::sum(of_dense(b, by)); };
  auto by_row = bind<decltype(of_dense), in_rows<T>, dense_of<T>>(of_dense, a, 1);
  auto by_tile = bind<decltype(of_dense), in_tiles<T>, dense_of<T>>(of_dense, a, 2);
  CHECK(by_rows(by_tile(*t, dense)) == numbers(by_row(a.view(), dense).values()));
  auto row_gradient =
      bind<decltype(tl::grad<0, 1>(sum_of)), in_rows<T>, dense_of<T>>(tl::grad<0, 1>(sum_of), a, 2);
  auto tile_gradient =
      bind<decltype(tl::grad<0, 1>(sum_of)), in_tiles<T>, dense_of<T>>(tl::grad<0, 1>(sum_of), a, 1);
  const auto [row_a, row_d] = row_gradient(a.view(), dense);
  const auto [tile_a, tile_d] = tile_gradient(*t, dense);
  CHECK(by_rows(tile_a) == numbers(row_a.values()));
  CHECK(numbers(tile_d) == numbers(row_d));
}

constexpr auto of_vectors = [](auto a, auto x, auto y) {
  const auto b = a.with(2 * a.values());
  return std::tuple{tl::matmul(a, x),
                    tl::matmul(tl::transpose(a), y),
                    tl::matmul(y, a),
                    tl::matmul(x, tl::transpose(a)),
                    tl::sum<1>(b),
                    tl::sum<0>(a),
                    tl::sum(a),
                    tl::sampled_matmul(a, y, x),
                    tl::scale_rows(y, b),
                    tl::scale_columns(a, x),
                    a + b,
                    a.with(tl::square(a.values()))};
};
template <class T> void check_vectors(matrix<T>& a, int threads) {
  CAPTURE(a.name);
  const auto t = tl::csr_tiled(a.view());
  auto x = eighths<T>(a.cols, 1), y = eighths<T>(a.rows, 2);
  auto program = bind<decltype(of_vectors), in_tiles<T>, columns_of<T>, rows_of<T>>(of_vectors, a, threads);
  const auto result = program(*t, columns_of<T>(x.data(), a.cols), rows_of<T>(y.data(), a.rows));
  std::vector<T> ax(y.size()), sums = ax, aty(x.size()), sums0 = aty;
  std::vector<T> sampled(a.values.size()), scaled = sampled, scaled1 = sampled, thrice = sampled,
                                           squares = sampled;
  T total = 0;
  a.each_entry([&](std::size_t i, std::size_t k, std::size_t j) {
    const T v = a.values[k];
    ax[i] += v * x[j], aty[j] += v * y[i], sums[i] += 2 * v, sums0[j] += v, total += v;
    sampled[k] = y[i] * x[j], scaled[k] = y[i] * (2 * v), scaled1[k] = v * x[j], thrice[k] = 3 * v;
    squares[k] = v * v;
  });
  CHECK(numbers(std::get<0>(result)) == ax);
  CHECK(numbers(std::get<1>(result)) == aty);
  CHECK(numbers(std::get<2>(result)) == aty);
  CHECK(numbers(std::get<3>(result)) == ax);
  CHECK(numbers(std::get<4>(result)) == sums);
  CHECK(numbers(std::get<5>(result)) == sums0);
  CHECK(std::get<6>(result)[0] == total);
  CHECK(by_rows(std::get<7>(result)) == sampled);
  CHECK(by_rows(std::get<8>(result)) == scaled);
  CHECK(by_rows(std::get<9>(result)) == scaled1);
  CHECK(by_rows(std::get<10>(result)) == thrice);
  CHECK(by_rows(std::get<11>(result)) == squares);
}

constexpr auto of_matrices = [](auto a, auto x, auto y) {
  return std::tuple{tl::matmul(a, x), tl::matmul(tl::transpose(a), y), tl::sampled_matmul(a, y, x),
                    tl::matmul(tl::transpose(y), a)};
};
template <class T, tl::extent_t K> void check_matrices(matrix<T>& a) {
  CAPTURE(a.name);
  using X = tl::tensor<T, n, K>;
  using Y = tl::tensor<T, m, K>;
  const auto t = tl::csr_tiled(a.view());
  auto x = eighths<T>(a.cols * K, 1), y = eighths<T>(a.rows * K, 2);
  auto program = bind<decltype(of_matrices), in_tiles<T>, X, Y>(of_matrices, a, 2);
  const auto result = program(*t, X(x.data(), a.cols), Y(y.data(), a.rows));
  std::vector<T> ax(y.size()), aty(x.size()), left(x.size()), sampled(a.values.size());
  constexpr auto k = static_cast<std::size_t>(K);
  a.each_entry([&](std::size_t i, std::size_t entry, std::size_t j) {
    for (std::size_t c = 0; c < k; ++c) {
      ax[i * k + c] += a.values[entry] * x[j * k + c];
      aty[j * k + c] += a.values[entry] * y[i * k + c];
      sampled[entry] += y[i * k + c] * x[j * k + c];
    }
  });
  for (std::size_t j = 0; j < x.size() / k; ++j)
    for (std::size_t c = 0; c < k; ++c) left[c * (x.size() / k) + j] = aty[j * k + c];
  CHECK(numbers(std::get<0>(result)) == ax);
  CHECK(numbers(std::get<1>(result)) == aty);
  CHECK(by_rows(std::get<2>(result)) == sampled);
  CHECK(numbers(std::get<3>(result)) == left);
}

// ---- derivatives
constexpr auto loss = [](auto x, auto a, auto y, auto weight) {
  return tl::mean(weight * tl::square(tl::tanh(tl::matmul(a, x)) - y));
};
// All derivatives of it that a fit may ask for; of matrices the entries in the order of the rows.
template <class T, class A> std::vector<T> derivatives(const A& a, const A& a_dot, matrix<T>& of,
                                                       int threads) {
  std::vector<T> x = support::random_values<T>(static_cast<std::size_t>(of.cols), 11),
                 y = support::random_values<T>(static_cast<std::size_t>(of.rows), 12), weight = y;
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = i % 3 == 0 ? T(0) : T(1);
  using X = columns_of<T>;
  using Y = rows_of<T>;
  const X xv(x.data(), of.cols);
  const Y yv(y.data(), of.rows), wv(weight.data(), of.rows);
  std::vector<T> all;
  const auto append = [&](const auto& leaf) {
    if constexpr (tl::detail::is_tiled_v<std::remove_cvref_t<decltype(leaf)>>) {
      const auto more = by_rows(leaf);
      all.insert(all.end(), more.begin(), more.end());
    } else if constexpr (tl::detail::csr_matrix<decltype(leaf)>)
      all.insert(all.end(), leaf.values().begin(), leaf.values().end());
    else all.insert(all.end(), leaf.begin(), leaf.end());
  };
  constexpr auto gradient = tl::value_and_grad<0, 1>(loss);
  auto first = bind<decltype(gradient), X, A, Y, Y>(gradient, of, threads);
  const auto [value, by_x, by_a] = first(xv, a, yv, wv);
  append(value), append(by_x), append(by_a);
  CHECK(by_a.columns().data() == a.columns().data());
  constexpr auto along = tl::jvp<0, 1>(loss);
  auto tangent = bind<decltype(along), X, A, Y, Y, X, A>(along, of, threads);
  append(tangent(xv, a, yv, wv, xv, a_dot));
  constexpr auto second = tl::hvp<0>(loss);
  auto by_hessian = bind<decltype(second), X, A, Y, Y, X>(second, of, threads);
  append(by_hessian(xv, a, yv, wv, xv));
  constexpr auto in_entries = tl::hvp<1>(loss);
  auto by_entries = bind<decltype(in_entries), X, A, Y, Y, A>(in_entries, of, threads);
  append(by_entries(xv, a, yv, wv, a_dot));
  return all;
}
template <class T> matrix<T> with_reals(matrix<T> a, unsigned seed) {
  a.values = support::random_values<T>(a.values.size(), seed);
  return a;
}

} // namespace

TEST_CASE_TEMPLATE("tiles: csr_untiled(csr_tiled(a)) is a", T, float, double) {
  for (matrix<T>& a : awkward<T>()) {
    CAPTURE(a.name);
    const auto t = tl::csr_tiled(a.view());
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(*t)>, in_tiles<T>>);
    CHECK(t->rows() == a.rows);
    CHECK(t->cols() == a.cols);
    CHECK(t->nnz() == a.nnz());
    CHECK(std::is_sorted(t->row_end().begin(), t->row_end().end()));
    const auto back = tl::csr_untiled(*t);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(*back)>, in_rows<T>>);
    tl::csr_check(*back);
    CHECK(numbers(back->values()) == a.values);
    CHECK(numbers(back->columns()) == a.columns);
    CHECK(numbers(back->row_end()) == std::vector<std::int32_t>(a.row_ptr.begin() + 1, a.row_ptr.end()));
  }
}

TEST_CASE("tiles: of static extents, of int64 row ends, of const values") {
  std::vector<std::int32_t> columns{0, 2, 1, 0, 2};
  std::vector<std::int64_t> row_ptr{0, 2, 3, 3, 5};
  const std::vector<float> values{1, 2, 3, 4, 5};
  const auto a = tl::csr_view<tl::csr<const float, 4, 3, 5, std::int64_t>>(4, 3, row_ptr, columns, values);
  const auto t = tl::csr_tiled(a);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(*t)>, tl::csr<float, 4, 3, 5, tl::tiled>>);
  float x[] = {1, 10, 100};
  auto product = tl::jit([](auto b, auto v) {
                   return tl::matmul(b, v);
                 }).bind<std::remove_cvref_t<decltype(*t)>, tl::tensor<float, 3>>();
  CHECK(numbers(product(*t, tl::tensor<float, 3>(x))) == std::vector<float>{201, 30, 0, 504});
}

TEST_CASE_TEMPLATE("tiles: every op on vectors is what loops over the entries compute", T, float, double) {
  for (matrix<T>& a : awkward<T>()) {
    check_vectors(a, 1);
    check_vectors(a, 3);
  }
}

TEST_CASE_TEMPLATE("tiles: a dense matrix beside one is read and made at its entries", T, float, double) {
  for (matrix<T>& a : awkward<T>())
    if (a.rows * a.cols < 6'000'000) check_dense(a);
}

TEST_CASE_TEMPLATE("tiles: products with matrices are what loops over the entries compute", T, float,
                   double) {
  for (matrix<T>& a : awkward<T>())
    if (a.name != "wide") check_matrices<T, 3>(a);
  matrix<T> a = make<T>("many tiles", 9001, 9001, [](auto) { return 5; });
  check_matrices<T, 33>(a);
}

// Of one to four chunks, whose columns members share where there are fewer chunks than members.
TEST_CASE("sparse: A^T C of many columns has the same bits on any number of threads, in rows and in tiles") {
  constexpr auto product = [](auto a, auto y) { return tl::matmul(tl::transpose(a), y); };
  constexpr tl::extent_t K = 53;
  using Y = tl::tensor<float, m, K>;
  matrix<float> all[] = {make<float>("few entries", 300, 11, [](auto i) { return i % 4; }),
                         make<float>("two chunks", 4000, 200, [](auto) { return 7; }),
                         make<float>("four chunks", 20000, 50, [](auto) { return 9; })};
  for (matrix<float>& a : all) {
    CAPTURE(a.name);
    a.values = support::random_values<float>(a.values.size(), 61);
    auto y = support::random_values<float>(static_cast<std::size_t>(a.rows * K), 62);
    const auto t = tl::csr_tiled(a.view());
    const auto check = [&]<class A>(const A& of) {
      const auto on = [&](int threads) {
        auto program = bind<decltype(product), A, Y>(product, a, threads);
        return numbers(program(of, Y(y.data(), a.rows)));
      };
      const std::vector<float> one = on(1);
      for (const int threads : {2, 3, 5}) CHECK(same_bits(one, on(threads)));
      return one;
    };
    const std::vector<float> rows = check(a.view()), tiles = check(*t);
    CHECK(support::close(rows, std::vector<double>(tiles.begin(), tiles.end()), 1e-3, 1e-4));
  }
}

// In double: each of the sums has fewer than 9001 terms of size 1 and less, so a relative error of 1e-10 is far above
// what rounding can do, and far below a term left out.
TEST_CASE("tiles: <u, A v> == <A^T u, v>; derivatives are those of the matrix in rows") {
  matrix<double> all[] = {
      with_reals(make<double>("many tiles", 9001, 9001, [](auto) { return 33; }), 21),
      with_reals(make<double>("one dense row", 600, 9001, [](auto i) { return i == 300 ? 9001 : 1; }), 22),
      with_reals(make<double>("tall", 9000, 3, [](auto i) { return i % 4; }), 23)};
  for (matrix<double>& a : all) {
    CAPTURE(a.name);
    matrix<double> dot = with_reals(a, 31);
    const auto t = tl::csr_tiled(a.view()), t_dot = tl::csr_tiled(dot.view());
    auto u = support::random_values<double>(static_cast<std::size_t>(a.rows), 41),
         v = support::random_values<double>(static_cast<std::size_t>(a.cols), 42);
    constexpr auto both = [](auto b, auto p, auto q) {
      return std::tuple{tl::sum(p * tl::matmul(b, q)), tl::sum(tl::matmul(tl::transpose(b), p) * q)};
    };
    auto program = bind<decltype(both), in_tiles<double>, rows_of<double>, columns_of<double>>(both, a, 2);
    const auto [x, y] = program(*t, rows_of<double>(u.data(), a.rows), columns_of<double>(v.data(), a.cols));
    CHECK(x[0] == doctest::Approx(y[0]).epsilon(1e-10));

    const std::vector<double> expected = derivatives<double>(a.view(), dot.view(), a, 2),
                              got = derivatives<double>(*t, *t_dot, a, 2);
    CHECK(got.size() == expected.size());
    double largest = 0, worst = 0;
    for (std::size_t k = 0; k < expected.size() && k < got.size(); ++k) {
      largest = std::max(largest, std::abs(expected[k]));
      worst = std::max(worst, std::abs(expected[k] - got[k]));
    }
    CHECK(largest > 1e-4);
    CHECK(worst < 1e-12 * largest);
  }
}

TEST_CASE_TEMPLATE("tiles: results have the same bits for any number of threads", T, float, double) {
  matrix<T> a = with_reals(make<T>("many tiles", 30000, 9001, [](auto i) { return 40 + i % 13; }), 51);
  const auto t = tl::csr_tiled(a.view());
  const std::vector<T> expected = derivatives<T>(*t, *t, a, 1);
  for (const int threads : {2, 3, 7}) CHECK(same_bits(derivatives<T>(*t, *t, a, threads), expected));
}

TEST_CASE("tiles: a loss and its gradient are one pass, and a run allocates nothing") {
  constexpr auto step = tl::value_and_grad<0>(loss);
  using X = columns_of<float>;
  using Y = rows_of<float>;
  const std::string steps = tl::jit(step).explain<X, in_tiles<float>, Y, Y>();
  CHECK(steps.find("a pass tile by tile over e entries and m rows: 8 and 4 bytes each\n") !=
        std::string::npos);
  CHECK(steps.find("spmm A^T [n] in the sweep") != std::string::npos);
  CHECK(tl::jit(step).cost<X, in_tiles<float>, Y, Y>().bytes().at(tl::dim<'m'>(0), tl::dim<'n'>(0),
                                                                  tl::dim<'e'>(1000)) <= 8000 + 16);
  matrix<float> a = make<float>("many tiles", 9001, 9001, [](auto) { return 33; });
  const auto t = tl::csr_tiled(a.view());
  std::vector<float> x(9001, 0.5f), y(9001, 1.0f);
  const X xv(x.data(), 9001);
  const Y yv(y.data(), 9001);
  auto program = bind<decltype(step), X, in_tiles<float>, Y, Y>(step, a, 2);
  static_cast<void>(program(xv, *t, yv, yv));
  CHECK(support::allocations_of([&] { static_cast<void>(program(xv, *t, yv, yv)); }) == 0);
}

TEST_CASE("tiles: what csr_tiled refuses") {
  const auto message = [](auto& a, const auto& view) -> std::string {
    try {
      static_cast<void>(a);
      static_cast<void>(tl::csr_tiled(view));
    } catch (const tl::argument_error& error) { return error.what(); }
    return "";
  };
  matrix<float> wide = make<float>("wide", 3, 200000, [](auto) { return 3; });
  CHECK(message(wide, wide.view()) ==
        "tapeless: csr_tiled(a): 200000 columns are too many for 3 rows: at most 65536 for each");
  matrix<float> a = make<float>("unsorted", 4, 9, [](auto) { return 3; });
  const auto view = a.view();
  std::reverse(a.columns.begin(), a.columns.end());
  CHECK(message(a, view).find("tapeless: csr_tiled(a): row 0") == 0);
}
