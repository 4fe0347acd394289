#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Programs with sparse matrices against loops over the entries: losses of rows, their gradients in x and in the matrix,
// products with the Hessian; that such a loss and its gradient read the entries once; runs of any size.
#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/compare.hpp"
#include "support/random.hpp"

namespace sparse_programs {

namespace tl = tapeless;

constexpr tl::extent_t r = tl::dyn<'r'>, c = tl::dyn<'c'>, e = tl::dyn<'e'>;
template <class T> using matrix = tl::csr<T, r, c, e>;
template <class T> using in_columns = tl::tensor<T, c>;
template <class T> using in_rows = tl::tensor<T, r>;

using flat = std::vector<double>;
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// A random matrix and vectors beside it. Every seventh row is empty; others have up to `longest` entries.
template <class T> struct data {
  std::vector<T> a, a_dot, x, v, y, m;
  std::vector<std::int32_t> column, row_end;
  std::int64_t rows, cols;

  data(std::int64_t n_rows, std::int64_t n_cols, std::int64_t longest, std::uint64_t seed)
      : rows(n_rows), cols(n_cols) {
    support::splitmix64 random(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto most = static_cast<std::uint64_t>(std::min(longest, cols));
      const std::uint64_t length = i % 7 == 3 || most == 0 ? 0 : 1 + random.below(most);
      std::vector<std::int32_t> row;
      while (row.size() < length) {
        const auto j = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(cols)));
        if (std::find(row.begin(), row.end(), j) == row.end()) row.push_back(j);
      }
      std::sort(row.begin(), row.end());
      column.insert(column.end(), row.begin(), row.end());
      row_end.push_back(static_cast<std::int32_t>(column.size()));
    }
    a = support::random_values<T>(column.size(), seed + 1);
    a_dot = support::random_values<T>(column.size(), seed + 2);
    x = support::random_values<T>(at(cols), seed + 3);
    v = support::random_values<T>(at(cols), seed + 4);
    y = support::random_values<T>(at(rows), seed + 5, 0, 1);
    m = support::random_values<T>(at(rows), seed + 6, 0, 2);
    for (std::int64_t i = 0; i < rows; i += 5) m[at(i)] = 0;
  }
  std::int64_t nnz() const { return static_cast<std::int64_t>(column.size()); }

  template <class M = matrix<T>> M view(std::vector<T>& values) {
    static bool nothing[1];
    return {tl::trusted, make<typename M::values_type>(values), make<typename M::columns_type>(column),
            make<typename M::row_end_type>(row_end), typename M::width_type(&nothing[0], cols)};
  }
  template <class M = matrix<T>> M view() { return view<M>(a); }
  template <class V, class E> static V make(std::vector<E>& of) {
    static E nothing[1];
    return V(of.empty() ? nothing : of.data(), of.size());
  }
  in_columns<T> X() { return make<in_columns<T>>(x); }
  in_columns<T> V() { return make<in_columns<T>>(v); }
  in_rows<T> Y() { return make<in_rows<T>>(y); }
  in_rows<T> M() { return make<in_rows<T>>(m); }

  template <class F> void each(F f) const { // f(e, i, j)
    std::size_t k = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (; k < at(row_end[at(i)]); ++k) f(k, at(i), at(column[k]));
  }
  template <class B, class W> flat times(const W& values, const B& b) const {
    flat z(at(rows));
    each([&](std::size_t k, std::size_t i, std::size_t j) { z[i] += double(values[k]) * double(b[j]); });
    return z;
  }
  template <class B> flat times(const B& b) const { return times(a, b); }
  flat transposed_times(const flat& d) const {
    flat g(at(cols));
    each([&](std::size_t k, std::size_t i, std::size_t j) { g[j] += double(a[k]) * d[i]; });
    return g;
  }
  template <class B> flat sampled(const flat& d, const B& b) const {
    flat g(column.size());
    each([&](std::size_t k, std::size_t i, std::size_t j) { g[k] = d[i] * double(b[j]); });
    return g;
  }
};
template <class View> flat elements(const View& y) { return {y.begin(), y.end()}; }

// mean(m * f(A x, y)): f of handles, f of numbers, and its first two derivatives in z
struct squares {
  static constexpr auto of(auto z, auto y) { return tl::square(z - y); }
  static double value(double z, double y) { return (z - y) * (z - y); }
  static double first(double z, double y) { return 2 * (z - y); }
  static double second(double, double) { return 2; }
};
struct logistic {
  static constexpr auto of(auto z, auto y) { return tl::log(1 + tl::exp(z)) - y * z; }
  static double value(double z, double y) { return std::log(1 + std::exp(z)) - y * z; }
  static double first(double z, double y) { return 1 / (1 + std::exp(-z)) - y; }
  static double second(double z, double) { return 1 / (2 + std::exp(z) + std::exp(-z)); }
};
struct poisson {
  static constexpr auto of(auto z, auto y) { return tl::exp(z) - y * z; }
  static double value(double z, double y) { return std::exp(z) - y * z; }
  static double first(double z, double y) { return std::exp(z) - y; }
  static double second(double z, double) { return std::exp(z); }
};
struct huber {
  static constexpr auto of(auto z, auto y) {
    const auto d = z - y;
    const auto size = tl::max(d, -d);
    return tl::where(size < 0.5, 0.5 * tl::square(d), 0.5 * size - 0.125);
  }
  static double value(double z, double y) {
    const double d = std::abs(z - y);
    return d < 0.5 ? 0.5 * d * d : 0.5 * d - 0.125;
  }
  static double first(double z, double y) { return std::clamp(z - y, -0.5, 0.5); }
  static double second(double z, double y) { return std::abs(z - y) < 0.5 ? 1 : 0; }
};
template <class Row> struct mean_of_rows {
  constexpr auto operator()(auto x, auto a, auto y, auto m) const {
    return tl::mean(m * Row::of(tl::matmul(a, x), y));
  }
};

// the loops: value, f' and f'' times m / rows
template <class Row, class T> double value(const data<T>& d) {
  const flat z = d.times(d.x);
  double s = 0;
  for (std::size_t i = 0; i < z.size(); ++i) s += double(d.m[i]) * Row::value(z[i], double(d.y[i]));
  return s / static_cast<double>(d.rows);
}
template <class Row, class T> flat first(const data<T>& d) {
  flat z = d.times(d.x);
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = double(d.m[i]) * Row::first(z[i], double(d.y[i])) / static_cast<double>(d.rows);
  return z;
}
template <class Row, class T> flat second(const data<T>& d) {
  flat z = d.times(d.x);
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = double(d.m[i]) * Row::second(z[i], double(d.y[i])) / static_cast<double>(d.rows);
  return z;
}
inline flat product(flat p, const flat& q) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] *= q[i];
  return p;
}

template <class F, class... A, class... Option> auto bind(F f, std::tuple<A...>, Option... option) {
  return tl::jit(f).template bind<A...>(tl::dim<'r'>(30000), tl::dim<'c'>(300), tl::dim<'e'>(200000),
                                        option...);
}
template <class T> using arguments = std::tuple<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>>;
template <class T> using with_tangent =
    std::tuple<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>, in_columns<T>>;
template <class T> using with_matrix_tangent =
    std::tuple<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>, matrix<T>>;

template <class Row> void check_row_loss() {
  constexpr mean_of_rows<Row> f{};
  data<double> d(40, 30, 9, 1);
  auto step = bind(tl::value_and_grad<0>(f), arguments<double>{});
  const auto [l, g] = step(d.X(), d.view(), d.Y(), d.M());
  CHECK(l[0] == doctest::Approx(value<Row>(d)).epsilon(1e-13));
  CHECK(support::close(elements(g), d.transposed_times(first<Row>(d)), 1e-14, 1e-13));
  auto second_order = bind(tl::hvp<0>(f), with_tangent<double>{});
  const auto h = second_order(d.X(), d.view(), d.Y(), d.M(), d.V());
  CHECK(support::close(elements(h), d.transposed_times(product(second<Row>(d), d.times(d.v))), 1e-14, 1e-13));
}

constexpr double per_entry(const tl::polynomial& p) {
  const auto of = [&](tl::extent_t n) { return p.at(tl::dim<'r'>(1), tl::dim<'c'>(1), tl::dim<'e'>(n)); };
  return of(2) - of(1);
}
template <class T, class Row> constexpr tl::cost cost_of_gradient =
    tl::jit(tl::value_and_grad<0>(mean_of_rows<Row>{}))
        .template cost<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>>();
template <class T, class Row> constexpr tl::cost cost_of_hessian =
    tl::jit(tl::hvp<0>(mean_of_rows<Row>{}))
        .template cost<in_columns<T>, matrix<T>, in_rows<T>, in_rows<T>, in_columns<T>>();
// A x, the rows, A^T d and the quotient of the mean; an entry is its value and its column, and read once
template <class Row> constexpr bool reads_entries_once =
    cost_of_gradient<float, Row>.steps() == 4 && per_entry(cost_of_gradient<float, Row>.bytes()) == 8 &&
    per_entry(cost_of_gradient<double, Row>.bytes()) == 12 &&
    per_entry(cost_of_gradient<float, Row>.flops()) == 4 &&
    per_entry(cost_of_hessian<float, Row>.bytes()) == 8;

// However a mean is written: numbers, and sums that do not depend on the product, are there before the sweep.
// of(the weighted losses, their weights), and what it makes of a sum
struct half_mean {
  static constexpr auto of(auto l, auto) { return tl::mean(0.5 * l); }
  static double factor(const flat& m) { return 0.5 / static_cast<double>(m.size()); }
};
struct mean_of_kept {
  static constexpr auto of(auto l, auto m) { return tl::sum(l) / tl::sum(m); }
  static double factor(const flat& m) {
    double n = 0;
    for (const double w : m) n += w;
    return 1 / n;
  }
};
struct by_square_weights {
  static constexpr auto of(auto l, auto m) { return tl::sum(l / (2 * tl::sum(tl::square(m)))); }
  static double factor(const flat& m) {
    double n = 0;
    for (const double w : m) n += w * w;
    return 0.5 / n;
  }
};
template <class Scale, class Row> struct scaled_sum {
  constexpr auto operator()(auto x, auto a, auto y, auto m) const {
    return Scale::of(m * Row::of(tl::matmul(a, x), y), m);
  }
};
template <class Scale, class Row> constexpr bool is_one_pass =
    per_entry(tl::jit(tl::value_and_grad<0>(scaled_sum<Scale, Row>{}))
                  .template cost<in_columns<float>, matrix<float>, in_rows<float>, in_rows<float>>()
                  .bytes()) == 8;
template <class Scale, class Row> void check_scaled_sum() {
  data<double> d(40, 30, 9, 1);
  const double factor = Scale::factor(d.m) * static_cast<double>(d.rows);
  flat expected = d.transposed_times(first<Row>(d));
  for (double& g : expected) g *= factor;
  const double loss = value<Row>(d) * factor;
  for (std::size_t i = 0; i < d.y.size(); ++i)
    if (d.m[i] == 0) d.y[i] = std::nan(""); // rows that are left out are not looked at
  auto step = bind(tl::value_and_grad<0>(scaled_sum<Scale, Row>{}), arguments<double>{});
  const auto [l, g] = step(d.X(), d.view(), d.Y(), d.M());
  CHECK(l[0] == doctest::Approx(loss).epsilon(1e-13));
  CHECK(support::close(elements(g), expected, 1e-14, 1e-13));
}
// What a second product needs of the columns stands ahead of both.
inline constexpr auto two_products = [](auto x, auto a, auto y, auto m) {
  const auto z = tl::matmul(a, x);
  const auto w = tl::matmul(a, tl::square(x));
  return tl::sum(m * tl::square(z + w - y));
};

// What comes of the sum is multiplied behind the pass.
inline constexpr auto root_of_mean = [](auto x, auto a, auto y, auto m) {
  return tl::sqrt(tl::mean(m * tl::square(tl::matmul(a, x) - y)));
};
inline constexpr auto log_of_sums = [](auto x, auto a, auto y, auto m) {
  const auto z = tl::matmul(a, x);
  return tl::log(tl::sum(tl::where(m != 0.0, tl::exp(-z), 0.0))) / tl::sum(tl::square(z - y));
};
template <class F> constexpr bool gradient_is_one_pass =
    per_entry(tl::jit(tl::value_and_grad<0>(F{}))
                  .template cost<in_columns<double>, matrix<double>, in_rows<double>, in_rows<double>>()
                  .bytes()) == 12;

// Every row needs something of all rows: A x is done before the first row goes on.
inline constexpr auto shares = [](auto x, auto a, auto y, auto m) {
  const auto d = tl::square(tl::matmul(a, x) - y);
  return tl::sum(m * tl::square(d / tl::sum(d)));
};
// Several columns: rows of X leave the cache, each product is a step of its own.
inline constexpr auto squares_of_columns = [](auto x, auto a, auto y) {
  return tl::mean(tl::square(tl::matmul(a, x) - y));
};

inline constexpr auto masked_squares = mean_of_rows<squares>{};

inline constexpr auto scaled_products = [](auto x, auto a, auto y, auto s, auto v) {
  const auto b = tl::scale_rows(y, tl::scale_columns(a, x)) * s;
  return std::tuple{tl::sum(tl::matmul(tl::sampled_matmul(b, y, x) + b / s, v) * tl::matmul(a, x)),
                    tl::sum(tl::matmul(y, a) * v)};
};
inline constexpr auto of_vars = [](auto x, auto a, auto y, auto s, auto v) {
  const auto [first, second] = scaled_products(tl::var(x), a, tl::var(y), tl::var(s), tl::var(v));
  return std::tuple{first.template as<double>(), second.template as<double>()};
};

} // namespace sparse_programs
