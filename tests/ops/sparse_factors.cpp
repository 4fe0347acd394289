// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// solve_triangular, and sampled_matmul of two sparse matrices: values against dense loops, gradients against central
// differences, products with second derivatives against differences of gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include <support/random.hpp>
#include <tapeless/run/csr.hpp>
#include <tapeless/run/csr_build.hpp>
#include <tapeless/run/csr_product.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using flat = std::vector<double>;

flat random_numbers(tl::extent_t n, unsigned seed) {
  return support::random_values<double>(static_cast<std::size_t>(n), seed);
}

// A random pattern; `diagonal`: with all (i, i).
struct matrix {
  tl::extent_t rows, cols;
  std::vector<std::int32_t> row_ptr{0}, columns;
  flat values;
  matrix(tl::extent_t m, tl::extent_t n, double share, bool diagonal, unsigned seed) : rows(m), cols(n) {
    const flat draw = random_numbers(m * n, seed), value = random_numbers(m * n, seed + 1);
    for (tl::extent_t i = 0; i < m; ++i) {
      for (tl::extent_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(i * n + j);
        if (!(diagonal && i == j) && std::abs(draw[at]) > share) continue;
        columns.push_back(static_cast<std::int32_t>(j));
        values.push_back(i == j && diagonal ? 1.5 + 0.5 * value[at] : value[at]);
      }
      row_ptr.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }
  template <class A> A view() { return tl::csr_view<A>(rows, cols, row_ptr, columns, values); }
  flat dense() const {
    flat d(static_cast<std::size_t>(rows * cols));
    for (tl::extent_t i = 0; i < rows; ++i)
      for (auto e = row_ptr[static_cast<std::size_t>(i)]; e < row_ptr[static_cast<std::size_t>(i) + 1]; ++e)
        d[static_cast<std::size_t>(i * cols + columns[static_cast<std::size_t>(e)])] =
            values[static_cast<std::size_t>(e)];
    return d;
  }
};
flat copy(const auto& view) { return flat(view.begin(), view.end()); }
double largest_difference(const flat& x, const flat& y) {
  double worst = x.size() == y.size() ? 0 : HUGE_VAL;
  for (std::size_t k = 0; k < x.size() && k < y.size(); ++k) worst = std::max(worst, std::abs(x[k] - y[k]));
  return worst;
}
// d f / d x by central differences; f reads x. The error is of order h^2 + 1e-16 / h.
template <class F> flat differences(flat& x, F f) {
  constexpr double h = 1e-5;
  flat d;
  for (double& e : x) {
    const double at = e;
    e = at + h;
    const double up = f();
    e = at - h;
    const double down = f();
    e = at;
    d.push_back((up - down) / (2 * h));
  }
  return d;
}
constexpr double near_enough = 1e-7;

template <tl::triangle Of, bool Transposed> struct solution {
  constexpr auto operator()(auto a, auto b) const {
    if constexpr (Transposed) return tl::solve_triangular<Of>(tl::transpose(a), b);
    else return tl::solve_triangular<Of>(a, b);
  }
};
template <class F> struct loss_of {
  constexpr auto operator()(auto a, auto b, auto w) const { return tl::sum(w * tl::tanh(F{}(a, b))); }
};
// b and w: (n) or (n, 3)
template <class F, class B> void check_solve(tl::triangle of, bool transposed, tl::extent_t n,
                                             tl::extent_t k) {
  CAPTURE(n);
  using A = tl::csr<double, tl::dyn<'n'>, tl::dyn<'n'>, tl::dyn<'e'>>;
  matrix m(n, n, 0.4, true, 11);
  const auto size = static_cast<std::size_t>(n * k);
  flat b = random_numbers(n * k, 3), w = random_numbers(n * k, 4);
  const A a = m.view<A>();
  const B bv(b.data(), n), wv(w.data(), n);
  const tl::dim<'n'> rows(std::max<tl::extent_t>(n, 1)); // a capacity
  const tl::dim<'e'> entries(std::max<tl::extent_t>(a.nnz(), 1));
  auto solve = tl::jit(F{}).template bind<A, B>(rows, entries);
  const flat x = copy(solve(a, bv));
  // T x = b, T the triangle
  const flat d = m.dense();
  for (tl::extent_t i = 0; i < n; ++i)
    for (tl::extent_t c = 0; c < k; ++c) {
      double sum = 0;
      for (tl::extent_t j = 0; j < n; ++j) {
        const double stored = d[static_cast<std::size_t>(transposed ? j * n + i : i * n + j)];
        const double t = i == j ? (of.unit ? 1 : stored) : (j > i) == of.upper ? stored : 0;
        sum += t * x[static_cast<std::size_t>(j * k + c)];
      }
      CHECK(sum == doctest::Approx(b[static_cast<std::size_t>(i * k + c)]).epsilon(1e-10));
    }
  auto value = tl::jit(loss_of<F>{}).template bind<A, B, B>(rows, entries);
  auto gradient = tl::jit(tl::grad<0, 1>(loss_of<F>{})).template bind<A, B, B>(rows, entries);
  const auto f = [&] { return value(a, bv, wv)[0]; };
  const auto [by_a, by_b] = gradient(a, bv, wv);
  const flat of_a = copy(by_a.values()), of_b = copy(by_b);
  CHECK(largest_difference(of_a, differences(m.values, f)) < near_enough);
  CHECK(largest_difference(of_b, differences(b, f)) < near_enough);
  // along (v, u): the derivative of both gradients
  flat v = random_numbers(a.nnz(), 5), u = random_numbers(n * k, 6);
  auto second = tl::jit([](auto p, auto q, auto r, auto p_dot, auto q_dot) {
                  return tl::jvp<0, 1>(tl::grad<0, 1>(loss_of<F>{}))(p, q, r, p_dot, q_dot);
                }).template bind<A, B, B, A, B>(rows, entries);
  const auto [a_dot, b_dot] =
      second(a, bv, wv, a.with(typename A::values_type(v.data(), a.nnz())), B(u.data(), n));
  const flat got_a = copy(a_dot.values()), got_b = copy(b_dot);
  const flat at_a = m.values, at_b = b;
  const auto moved = [&](double h) {
    for (std::size_t e = 0; e < at_a.size(); ++e) m.values[e] = at_a[e] + h * v[e];
    for (std::size_t e = 0; e < size; ++e) b[e] = at_b[e] + h * u[e];
    const auto [p, q] = gradient(a, bv, wv);
    return std::pair{copy(p.values()), copy(q)};
  };
  constexpr double h = 1e-5;
  const auto up = moved(h), down = moved(-h);
  flat want_a, want_b;
  for (std::size_t e = 0; e < at_a.size(); ++e) want_a.push_back((up.first[e] - down.first[e]) / (2 * h));
  for (std::size_t e = 0; e < size; ++e) want_b.push_back((up.second[e] - down.second[e]) / (2 * h));
  CHECK(largest_difference(got_a, want_a) < near_enough);
  CHECK(largest_difference(got_b, want_b) < near_enough);
}
template <tl::triangle Of, bool Transposed> void check_triangle() {
  CAPTURE(Of.upper);
  CAPTURE(Of.unit);
  CAPTURE(Transposed);
  for (const tl::extent_t n : {0, 1, 2, 7, 13})
    check_solve<solution<Of, Transposed>, tl::tensor<double, tl::dyn<'n'>>>(Of, Transposed, n, 1);
  for (const tl::extent_t n : {1, 5})
    check_solve<solution<Of, Transposed>, tl::tensor<double, tl::dyn<'n'>, 3>>(Of, Transposed, n, 3);
}

using A = tl::csr<double, 7, 5, tl::dyn<'a'>>;
using B = tl::csr<double, 5, 6, tl::dyn<'b'>>;
using C = tl::csr<double, 7, 6, tl::dyn<'c'>>;
using W = tl::tensor<double, tl::dyn<'c'>>;
constexpr auto product = [](auto a, auto b, auto c) { return tl::sampled_matmul(c, a, b); };
constexpr auto product_loss = [](auto a, auto b, auto c, auto w) {
  return tl::sum(w * tl::tanh(product(a, b, c).values()));
};

} // namespace

TEST_CASE("solve_triangular: values, gradients and second derivatives of both triangles and of transposes") {
  check_triangle<tl::triangle{}, false>();
  check_triangle<tl::triangle{.upper = true}, false>();
  check_triangle<tl::triangle{.unit = true}, false>();
  check_triangle<tl::triangle{.upper = true, .unit = true}, true>();
  check_triangle<tl::triangle{}, true>();
}

TEST_CASE("sampled_matmul of sparse matrices: values, gradients and second derivatives") {
  for (const double share : {0.0, 0.3, 1.0})
    for (const bool whole : {true, false}) {
      CAPTURE(share);
      matrix of_a(7, 5, share, false, 21), of_b(5, 6, 0.5, false, 22), some(7, 6, 0.4, false, 23);
      const A a = of_a.view<A>();
      const B b = of_b.view<B>();
      const tl::owned<C> all = tl::csr_product_pattern<C>(a, b);
      const C c = whole ? *all : some.view<C>();
      flat w = random_numbers(c.nnz(), 24);
      const W wv(w.data(), c.nnz());
      const auto capacity = [](tl::extent_t n) { return std::max<tl::extent_t>(n, 1); };
      const tl::dim<'a'> na(capacity(a.nnz()));
      const tl::dim<'b'> nb(capacity(b.nnz()));
      const tl::dim<'c'> nc(capacity(c.nnz()));
      auto run = tl::jit(product).bind<A, B, C>(na, nb, nc, tl::threads(2));
      const C got = run(a, b, c);
      CHECK(got.columns().data() == c.columns().data());
      const flat da = of_a.dense(), db = of_b.dense();
      double left = 0; // of the product: what C has no entry for
      for (tl::extent_t i = 0; i < 7; ++i)
        for (tl::extent_t j = 0; j < 6; ++j) {
          double sum = 0;
          for (tl::extent_t k = 0; k < 5; ++k)
            sum += da[static_cast<std::size_t>(i * 5 + k)] * db[static_cast<std::size_t>(k * 6 + j)];
          for (tl::extent_t e = c.row_begin(i); e < c.row_end()[i]; ++e)
            if (c.columns()[e] == j) {
              CHECK(got.values()[e] == doctest::Approx(sum));
              sum = 0;
            }
          left += std::abs(sum);
        }
      if (whole) CHECK(left == 0);
      auto value = tl::jit(product_loss).bind<A, B, C, W>(na, nb, nc);
      auto gradient = tl::jit(tl::grad<0, 1>(product_loss)).bind<A, B, C, W>(na, nb, nc);
      const auto f = [&] { return value(a, b, c, wv)[0]; };
      const auto [by_a, by_b] = gradient(a, b, c, wv);
      const flat got_a = copy(by_a.values()), got_b = copy(by_b.values());
      CHECK(largest_difference(got_a, differences(of_a.values, f)) < near_enough);
      CHECK(largest_difference(got_b, differences(of_b.values, f)) < near_enough);
      flat v = random_numbers(b.nnz(), 25);
      auto second = tl::jit([](auto p, auto q, auto r, auto s, auto q_dot) {
                      return tl::jvp<1>(tl::grad<0, 1>(product_loss))(p, q, r, s, q_dot);
                    }).bind<A, B, C, W, B>(na, nb, nc);
      const auto [a_dot, b_dot] = second(a, b, c, wv, b.with(B::values_type(v.data(), b.nnz())));
      const flat dot_a = copy(a_dot.values()), dot_b = copy(b_dot.values()), at = of_b.values;
      constexpr double h = 1e-5;
      const auto moved = [&](double by) {
        for (std::size_t e = 0; e < at.size(); ++e) of_b.values[e] = at[e] + by * v[e];
        const auto [p, q] = gradient(a, b, c, wv);
        return std::pair{copy(p.values()), copy(q.values())};
      };
      auto up = moved(h);
      const auto down = moved(-h);
      for (std::size_t e = 0; e < up.first.size(); ++e) up.first[e] = (up.first[e] - down.first[e]) / (2 * h);
      for (std::size_t e = 0; e < up.second.size(); ++e)
        up.second[e] = (up.second[e] - down.second[e]) / (2 * h);
      CHECK(largest_difference(dot_a, up.first) < near_enough);
      CHECK(largest_difference(dot_b, up.second) < near_enough);
    }
}

TEST_CASE("one vector as an operand by rows and by columns, or by entries, is read from memory") {
  using S = tl::csr<double, tl::dyn<'n'>, tl::dyn<'n'>, tl::dyn<'e'>>;
  using X = tl::tensor<double, tl::dyn<'n'>>;
  const tl::extent_t n = 300;
  matrix m(n, n, 0.02, false, 31);
  flat x = random_numbers(n, 32);
  const S a = m.view<S>();
  const tl::dim<'n'> rows(n);
  const tl::dim<'e'> entries(a.nnz());
  const auto times = [&](const flat& v, bool transposed) {
    flat y(v.size());
    for (tl::extent_t i = 0; i < n; ++i)
      for (tl::extent_t e = a.row_begin(i); e < a.row_end()[i]; ++e) {
        const auto r = static_cast<std::size_t>(transposed ? a.columns()[e] : i);
        const auto c = static_cast<std::size_t>(transposed ? i : a.columns()[e]);
        y[r] += a.values()[e] * v[c];
      }
    return y;
  };
  const flat z = times(x, false), az = times(z, false), atz = times(z, true);
  auto outer = tl::jit([](auto p, auto v) {
                 const auto w = tl::matmul(p, v);
                 return tl::sampled_matmul(p, w, w);
               }).bind<S, X>(rows, entries);
  auto quadratic = tl::jit(tl::grad<0>([](auto p, auto v) {
                     const auto w = tl::matmul(p, v);
                     return tl::sum(w * tl::matmul(p, w));
                   })).bind<S, X>(rows, entries);
  const S by_rows_and_columns = outer(a, X(x.data(), n));
  const S gradient = quadratic(a, X(x.data(), n));
  for (tl::extent_t i = 0; i < n; ++i)
    for (tl::extent_t e = a.row_begin(i); e < a.row_end()[i]; ++e) {
      const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(a.columns()[e]);
      CHECK(by_rows_and_columns.values()[e] == doctest::Approx(z[r] * z[c]));
      CHECK(gradient.values()[e] == doctest::Approx(z[r] * z[c] + (az[r] + atz[r]) * x[c]));
    }
  // entries in the place of rows: n entries in the first row
  using E = tl::csr<double, tl::dyn<'n'>, tl::dyn<'n'>, tl::dyn<'n'>>;
  std::vector<std::int32_t> row_ptr(static_cast<std::size_t>(n) + 1, static_cast<std::int32_t>(n)), columns;
  row_ptr[0] = 0;
  for (std::int32_t j = 0; j < n; ++j) columns.push_back(j);
  flat values = random_numbers(n, 33);
  const auto b = tl::csr_view<E>(n, n, row_ptr, columns, values);
  auto twice = tl::jit([](auto p, auto v) {
                 const auto w = tl::matmul(p, v);
                 return tl::matmul(w, p.with(w));
               }).bind<E, X>(rows);
  const auto got = twice(b, X(x.data(), n));
  double first = 0; // the only element of b x that is not 0
  for (std::size_t j = 0; j < x.size(); ++j) first += values[j] * x[j];
  CHECK(got[0] == doctest::Approx(first * first));
  for (tl::extent_t j = 1; j < n; ++j) CHECK(got[j] == 0);
}
