// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows that a mask makes zero are not visited: values and gradients against loops over the rows that count, data of the
// others that would poison a sum, and programs in which all rows are needed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <support/random.hpp>
#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using flat = std::vector<double>;
using A = tl::csr<double, tl::dyn<'m'>, tl::dyn<'n'>, tl::dyn<'e'>>;
using X = tl::tensor<double, tl::dyn<'n'>>;
using Y = tl::tensor<double, tl::dyn<'m'>>;
using B = tl::tensor<bool, tl::dyn<'m'>>;
using I = tl::tensor<std::int32_t, tl::dyn<'m'>>;

constexpr auto by_factor = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(mask * tl::square(tl::matmul(a, x) - y));
};
constexpr auto by_where = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(tl::where(mask, tl::square(tl::matmul(a, x) - y), 0.0));
};
constexpr auto by_integer = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(tl::cast<double>(mask) * tl::square(tl::matmul(a, x) - y));
};
constexpr auto by_comparison = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(tl::where(mask > 0.0, mask * tl::square(tl::matmul(a, x) - y), 0.0));
};

// a mask that is not 0, or true, in the rows left out
constexpr auto by_not = [](auto x, auto a, auto y, auto out) {
  return tl::mean(tl::cast<double>(!out) * tl::square(tl::matmul(a, x) - y));
};
constexpr auto by_where_out = [](auto x, auto a, auto y, auto out) {
  return tl::mean(tl::where(out, 0.0, tl::square(tl::matmul(a, x) - y)));
};
constexpr auto by_neither = [](auto x, auto a, auto y, auto out) {
  return tl::mean(tl::where(!(out || out == true), tl::square(tl::matmul(a, x) - y), 0.0));
};
constexpr auto by_zero = [](auto x, auto a, auto y, auto out) {
  return tl::mean(tl::where(out == 0, tl::square(tl::matmul(a, x) - y), 0.0));
};
constexpr auto by_nonzero = [](auto x, auto a, auto y, auto out) {
  return tl::mean(tl::where(0 != out, 0.0, tl::square(tl::matmul(a, x) - y)));
};

// 3,000 rows of 0 to 9 entries: several chunks, and blocks of rows that a mask is looked at. Of so many columns that x and
// its sums alternate, or of few.
constexpr tl::extent_t few = 37, many = 37 * 500;
static_assert(many * 8 > tl::cpu::short_vector);
struct problem {
  static constexpr tl::extent_t m = 3000;
  const tl::extent_t n;
  std::vector<std::int32_t> row_ptr{0}, columns;
  flat values, x, y, weight;
  explicit problem(tl::extent_t columns_ = few)
      : n(columns_),
        x(support::random_values<double>(static_cast<std::size_t>(n), 1)),
        y(support::random_values<double>(m, 2)),
        weight(m, 1.0) {
    std::uint32_t state = 1;
    const tl::extent_t apart = n / few;
    for (tl::extent_t i = 0; i < m; ++i) {
      for (tl::extent_t j = i % 4; j < n; j += apart * (4 + i % 7 * (i % 5))) {
        state = state * 1664525u + 1013904223u;
        columns.push_back(static_cast<std::int32_t>(j));
        values.push_back(static_cast<double>(state >> 8) * 0x1p-23 - 1);
      }
      row_ptr.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }
  A a() { return tl::csr_view<A>(m, n, row_ptr, columns, values); }
  // the loss and its gradient over the rows whose weight is not 0
  std::pair<double, flat> expected() const {
    std::pair<double, flat> r{0, flat(x.size())};
    for (std::size_t i = 0; i < weight.size(); ++i) {
      if (weight[i] == 0) continue;
      double z = -y[i];
      const auto first = static_cast<std::size_t>(row_ptr[i]),
                 last = static_cast<std::size_t>(row_ptr[i + 1]);
      for (std::size_t e = first; e < last; ++e) z += values[e] * x[static_cast<std::size_t>(columns[e])];
      r.first += weight[i] * z * z / m;
      for (std::size_t e = first; e < last; ++e)
        r.second[static_cast<std::size_t>(columns[e])] += 2 * weight[i] * z / m * values[e];
    }
    return r;
  }
};

// visited: of the loss alone; with its gradient, a mask may be what an earlier step made of it
template <class Mask, class F>
void check(F f, problem& p, const Mask& mask, const char* visited = "rows where x6 is not 0") {
  const A a = p.a();
  const tl::dim<'m'> m(p.m);
  const tl::dim<'n'> n(p.n);
  const tl::dim<'e'> e(a.nnz());
  constexpr auto step = tl::jit(tl::value_and_grad<0>(F{}));
  static_cast<void>(f);
  CHECK(step.template explain<X, A, Y, Mask>().find("; rows where") != std::string::npos);
  constexpr auto loss = tl::jit(F{});
  CHECK(loss.template explain<X, A, Y, Mask>().find(visited) != std::string::npos);
  const auto [value, gradient] = p.expected();
  auto forward = loss.template bind<X, A, Y, Mask>(m, n, e, tl::threads(2));
  CHECK(forward(X(p.x.data(), p.n), a, Y(p.y.data(), p.m), mask)[0] == doctest::Approx(value).epsilon(1e-12));
  flat before;
  for (const int members : {1, 2, 3}) {
    auto run = step.template bind<X, A, Y, Mask>(m, n, e, tl::threads(members));
    const auto [v, g] = run(X(p.x.data(), p.n), a, Y(p.y.data(), p.m), mask);
    CHECK(v[0] == doctest::Approx(value).epsilon(1e-12));
    for (std::size_t j = 0; j < gradient.size(); ++j)
      CHECK(std::abs(g[static_cast<tl::extent_t>(j)] - gradient[j]) <= 1e-13);
    flat now(g.begin(), g.end());
    now.push_back(v[0]);
    if (members > 1) CHECK(now == before); // bit for bit
    before = now;
  }
}

std::vector<flat> weights() {
  flat none(problem::m, 0.0), all(problem::m, 1.0), some(problem::m, 0.0), half = none, last = none;
  const flat draw = support::random_values<double>(problem::m, 3);
  for (std::size_t i = 0; i < some.size(); ++i) {
    some[i] = draw[i] > 0.5 ? draw[i] : 0.0;
    half[i] = i < some.size() / 2 ? 1.0 : 0.0; // whole chunks without a row
  }
  last.back() = 1;
  return {none, all, some, half, last};
}

} // namespace

TEST_CASE("rows of weight 0 are not looked at: their data may be anything") {
  for (const tl::extent_t columns : {few, many})
    for (const flat& weight : weights()) {
      problem p(columns);
      p.weight = weight;
      for (std::size_t i = 0; i < weight.size(); ++i)
        if (weight[i] == 0)
          p.y[i] =
              i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
      check(by_factor, p, Y(p.weight.data(), p.m));
      check(by_comparison, p, Y(p.weight.data(), p.m));
      std::vector<std::int32_t> integers(weight.size());
      const auto flags = std::make_unique<bool[]>(weight.size());
      for (std::size_t i = 0; i < weight.size(); ++i) {
        p.weight[i] = integers[i] = flags[i] = weight[i] != 0;
      }
      check(by_integer, p, I(integers.data(), p.m));
      check(by_where, p, B(flags.get(), p.m));
    }
}

TEST_CASE("a mask of the rows left out: those where it is 0 are visited") {
  for (const flat& weight : weights()) {
    problem p;
    flat out(weight.size());
    std::vector<std::int32_t> integers(weight.size());
    const auto flags = std::make_unique<bool[]>(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i) {
      p.weight[i] = weight[i] != 0;
      integers[i] = flags[i] = weight[i] == 0;
      if (weight[i] == 0) {
        p.y[i] = std::numeric_limits<double>::quiet_NaN();
        out[i] = i % 3 == 0 ? -2.5 : i % 3 == 1 ? 1e-300 : std::numeric_limits<double>::quiet_NaN();
      } else out[i] = i % 2 == 0 ? 0.0 : -0.0;
    }
    check(by_not, p, B(flags.get(), p.m), "rows where x6 is 0");
    check(by_where_out, p, B(flags.get(), p.m), "rows where x6 is 0");
    check(by_neither, p, B(flags.get(), p.m), "rows where x6 is 0");
    check(by_zero, p, Y(out.data(), p.m), "rows where x6 is 0");
    check(by_nonzero, p, Y(out.data(), p.m), "rows where x6 is 0");
    check(by_zero, p, I(integers.data(), p.m), "rows where x6 is 0");
    check(by_nonzero, p, I(integers.data(), p.m), "rows where x6 is 0");
  }
}

// A^T r and the entries r[i] x[j], where an earlier step computed r
constexpr auto columns_of_product = [](auto x, auto a, auto y, auto mask) {
  return tl::matmul(tl::transpose(a), 2.0 * (mask * y)) + 0.0 * x;
};
constexpr auto columns_of_where = [](auto x, auto a, auto y, auto out) {
  return tl::matmul(tl::transpose(a), tl::where(out, 0.0, 2.0 * y)) + 0.0 * x;
};
constexpr auto entries_of_product = [](auto x, auto a, auto y, auto mask) {
  return tl::sampled_matmul(a, 2.0 * (mask * y), x);
};

template <class Mask, class F> void check_rows(F, problem& p, const Mask& mask, const char* visited) {
  const A a = p.a();
  const tl::dim<'m'> m(p.m);
  const tl::dim<'n'> n(p.n);
  const tl::dim<'e'> e(a.nnz());
  constexpr auto step = tl::jit(F{});
  CHECK(step.template explain<X, A, Y, Mask>().find(visited) != std::string::npos);
  flat g(p.x.size()), by_entry(p.values.size());
  for (std::size_t i = 0; i < p.weight.size(); ++i)
    for (auto k = static_cast<std::size_t>(p.row_ptr[i]); k < static_cast<std::size_t>(p.row_ptr[i + 1]);
         ++k) {
      if (p.weight[i] == 0) continue;
      g[static_cast<std::size_t>(p.columns[k])] += 2 * p.weight[i] * p.y[i] * p.values[k];
      by_entry[k] = 2 * p.weight[i] * p.y[i] * p.x[static_cast<std::size_t>(p.columns[k])];
    }
  flat before;
  for (const int members : {1, 2, 3}) {
    auto run = step.template bind<X, A, Y, Mask>(m, n, e, tl::threads(members));
    for (int twice = 0; twice < 2; ++twice) {
      const auto y = run(X(p.x.data(), p.n), a, Y(p.y.data(), p.m), mask);
      const auto leaf = [&] {
        if constexpr (requires { y.values(); }) return y.values();
        else return y;
      }();
      const flat now(leaf.begin(), leaf.end());
      const flat& want = now.size() == g.size() ? g : by_entry;
      REQUIRE(now.size() == want.size());
      for (std::size_t j = 0; j < want.size(); ++j) CHECK(std::abs(now[j] - want[j]) <= 1e-12);
      if (!before.empty()) CHECK(now == before); // bit for bit
      before = now;
    }
  }
}

TEST_CASE("a product with the transpose alone leaves out the rows that an earlier step made zero") {
  for (const flat& weight : weights()) {
    problem p;
    p.weight = weight;
    const auto flags = std::make_unique<bool[]>(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i)
      if ((flags[i] = weight[i] == 0)) p.y[i] = std::numeric_limits<double>::quiet_NaN();
    check_rows(columns_of_product, p, Y(p.weight.data(), p.m), "rows where x6 is not 0");
    check_rows(entries_of_product, p, Y(p.weight.data(), p.m), "rows where x6 is not 0");
    for (double& w : p.weight) w = w != 0;
    check_rows(columns_of_where, p, B(flags.get(), p.m), "rows where x6 is 0");
  }
}

TEST_CASE("the mask may be computed by one step and read by another behind the sweep") {
  using W = tl::tensor<double, tl::dyn<'m'>, 2>;
  constexpr auto f = [](auto a, auto y, auto b) {
    const auto w = tl::matmul(b, tl::sum<0>(b) * 0.0 + 1.0); // (m): a buffer that lives on
    const auto g = tl::matmul(tl::transpose(a), w * y);
    return std::tuple{g, tl::sum(w * tl::matmul(a, g))};
  };
  problem p;
  flat b(2 * problem::m);
  const flat draw = support::random_values<double>(problem::m, 7);
  for (std::size_t i = 0; i < draw.size(); ++i) {
    p.weight[i] = draw[i] > 0 ? draw[i] : 0.0;
    b[2 * i] = b[2 * i + 1] = p.weight[i] / 2;
    if (draw[i] <= 0) p.y[i] = std::numeric_limits<double>::quiet_NaN();
  }
  const A a = p.a();
  constexpr auto step = tl::jit(f);
  CHECK(step.explain<A, Y, W>().find("; rows where a") != std::string::npos);
  flat want(p.x.size());
  const auto each = [&](auto act) {
    for (std::size_t i = 0; i < p.weight.size(); ++i)
      for (auto k = static_cast<std::size_t>(p.row_ptr[i]); k < static_cast<std::size_t>(p.row_ptr[i + 1]);
           ++k)
        if (p.weight[i] != 0) act(i, k, static_cast<std::size_t>(p.columns[k]));
  };
  each([&](std::size_t i, std::size_t k, std::size_t j) { want[j] += p.weight[i] * p.y[i] * p.values[k]; });
  double total = 0;
  each([&](std::size_t i, std::size_t k, std::size_t j) { total += p.weight[i] * p.values[k] * want[j]; });
  for (const int members : {1, 3}) {
    auto run =
        step.bind<A, Y, W>(tl::dim<'m'>(p.m), tl::dim<'n'>(p.n), tl::dim<'e'>(a.nnz()), tl::threads(members));
    const auto [g, s] = run(a, Y(p.y.data(), p.m), W(b.data(), p.m));
    for (std::size_t j = 0; j < want.size(); ++j)
      CHECK(std::abs(g[static_cast<tl::extent_t>(j)] - want[j]) <= 1e-12);
    CHECK(s[0] == doctest::Approx(total).epsilon(1e-10));
  }
}

TEST_CASE("a product that reads the mask itself leaves the rows out, too") {
  constexpr auto f = [](auto x, auto a, auto y, auto mask) {
    return tl::sum(mask * tl::square(tl::matmul(a, x) - y)) + tl::sum(tl::matmul(tl::transpose(a), mask) * x);
  };
  problem p;
  const flat draw = support::random_values<double>(p.m, 4);
  for (std::size_t i = 0; i < draw.size(); ++i) {
    p.weight[i] = draw[i] > 0 ? draw[i] : 0.0;
    if (draw[i] <= 0) p.y[i] = std::numeric_limits<double>::quiet_NaN();
  }
  const A a = p.a();
  constexpr auto step = tl::jit(tl::grad<0>(f));
  CHECK(step.explain<X, A, Y, Y>().find("rows where x6 is not 0") != std::string::npos);
  auto run = step.bind<X, A, Y, Y>(tl::dim<'m'>(p.m), tl::dim<'n'>(p.n), tl::dim<'e'>(a.nnz()));
  const auto g = run(X(p.x.data(), p.n), a, Y(p.y.data(), p.m), Y(p.weight.data(), p.m));
  flat want = p.expected().second;
  for (double& w : want) w *= static_cast<double>(p.m);
  for (std::size_t i = 0; i < p.weight.size(); ++i)
    for (auto k = static_cast<std::size_t>(p.row_ptr[i]); k < static_cast<std::size_t>(p.row_ptr[i + 1]); ++k)
      want[static_cast<std::size_t>(p.columns[k])] += p.weight[i] * p.values[k];
  for (std::size_t j = 0; j < want.size(); ++j)
    CHECK(std::abs(g[static_cast<tl::extent_t>(j)] - want[j]) <= 1e-10);
}

TEST_CASE("a product with the Hessian and the gradient by the entries leave the rows out, too") {
  problem p;
  const flat draw = support::random_values<double>(p.m, 4);
  for (std::size_t i = 0; i < draw.size(); ++i) {
    p.weight[i] = draw[i] > 0 ? 1.0 : 0.0;
    if (draw[i] <= 0) p.y[i] = std::numeric_limits<double>::quiet_NaN();
  }
  const A a = p.a();
  const tl::dim<'m'> m(p.m);
  const tl::dim<'n'> n(p.n);
  const tl::dim<'e'> e(a.nnz());
  const X x(p.x.data(), p.n);
  const Y y(p.y.data(), p.m), w(p.weight.data(), p.m);
  constexpr auto hessian = tl::jit(tl::hvp<0>(by_factor));
  CHECK(hessian.explain<X, A, Y, Y, X>().find("rows where x6 is not 0") != std::string::npos);
  auto product = hessian.bind<X, A, Y, Y, X>(m, n, e);
  flat v = support::random_values<double>(p.n, 5);
  const auto h = product(x, a, y, w, X(v.data(), p.n));
  flat want(v.size());
  for (std::size_t i = 0; i < p.weight.size(); ++i) {
    double z = 0;
    for (auto k = static_cast<std::size_t>(p.row_ptr[i]); k < static_cast<std::size_t>(p.row_ptr[i + 1]); ++k)
      z += p.values[k] * v[static_cast<std::size_t>(p.columns[k])];
    for (auto k = static_cast<std::size_t>(p.row_ptr[i]); k < static_cast<std::size_t>(p.row_ptr[i + 1]); ++k)
      want[static_cast<std::size_t>(p.columns[k])] +=
          p.weight[i] * 2 * z / static_cast<double>(p.m) * p.values[k];
  }
  for (std::size_t j = 0; j < want.size(); ++j)
    CHECK(std::abs(h[static_cast<tl::extent_t>(j)] - want[j]) <= 1e-13);

  constexpr auto entries = tl::jit(tl::grad<1>(by_factor));
  CHECK(entries.explain<X, A, Y, Y>().find("rows where x6 is not 0") != std::string::npos);
  auto by_entries = entries.bind<X, A, Y, Y>(m, n, e);
  for (int twice = 0; twice < 2; ++twice) {
    const A g = by_entries(x, a, y, w);
    for (std::size_t i = 0; i < p.weight.size(); ++i) {
      double z = -p.y[i];
      const auto first = static_cast<std::size_t>(p.row_ptr[i]),
                 last = static_cast<std::size_t>(p.row_ptr[i + 1]);
      for (std::size_t k = first; k < last; ++k)
        z += p.values[k] * p.x[static_cast<std::size_t>(p.columns[k])];
      for (std::size_t k = first; k < last; ++k) {
        const double of_row = 2 * z / static_cast<double>(p.m) * p.x[static_cast<std::size_t>(p.columns[k])];
        CHECK(std::abs(g.values()[static_cast<tl::extent_t>(k)] - (p.weight[i] != 0 ? of_row : 0.0)) <=
              1e-13);
      }
    }
  }
}

namespace {

// Three masks of one loss: a condition, weights and signs, some of which are 0
constexpr auto weights_first = [](auto x, auto a, auto u, auto s, auto keep) {
  return tl::sum(tl::where(keep, u * (s * tl::exp(0.25 * tl::matmul(a, x))), 0.0));
};
constexpr auto signs_first = [](auto x, auto a, auto u, auto s, auto keep) {
  return tl::sum(s * tl::where(keep, u * tl::exp(0.25 * tl::matmul(a, x)), 0.0));
};
constexpr auto product_of_both = [](auto x, auto a, auto u, auto s, auto keep) {
  return tl::sum(u * s * tl::cast<double>(keep) * tl::exp(0.25 * tl::matmul(a, x)));
};
constexpr auto of_conditions = [](auto x, auto a, auto u, auto s,
                                  auto keep) { // u and s are 0 where they leave out
  return tl::sum(
      tl::where(u == 0.0, 0.0,
                tl::where(s == 0.0, 0.0, tl::where(!keep, 0.0, u * s * tl::exp(0.25 * tl::matmul(a, x))))));
};
constexpr auto of_seven = [](auto x, auto a, auto u, auto s, auto keep) { // more than there is room for
  const auto l = tl::tanh(u) / tl::tanh(u) * u * s * tl::cast<double>(keep) * tl::square(s) *
                 tl::exp(0.25 * tl::matmul(a, x));
  return tl::sum(tl::where(u != 0.0, tl::where(keep, tl::where(s != 0.0, l, 0.0), 0.0), 0.0));
};
constexpr auto beside_sums = [](auto x, auto a, auto u, auto s, auto keep) {
  return weights_first(x, a, u, s, keep) + tl::sum(u * s) - tl::sum(s * u);
};

template <class F> void check_several(F, tl::extent_t columns) {
  problem p(columns);
  flat u = support::random_values<double>(p.m, 6), s = support::random_values<double>(p.m, 7),
       v = support::random_values<double>(p.n, 8), gradient(v.size()), hessian(v.size());
  const auto keep = std::make_unique<bool[]>(u.size());
  double value = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    keep[i] = i % 3 != 0;
    if (i % 4 == 1) u[i] = 0;
    s[i] = i % 5 == 2 ? 0.0 : s[i] < 0 ? -1.0 : 1.0;
    const auto first = static_cast<std::size_t>(p.row_ptr[i]),
               last = static_cast<std::size_t>(p.row_ptr[i + 1]);
    if (!keep[i] || u[i] == 0 || s[i] == 0) {
      for (std::size_t e = first; e < last; ++e) p.values[e] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    double z = 0, z_dot = 0;
    for (std::size_t e = first; e < last; ++e) {
      z += p.values[e] * p.x[static_cast<std::size_t>(p.columns[e])];
      z_dot += p.values[e] * v[static_cast<std::size_t>(p.columns[e])];
    }
    const double term = u[i] * s[i] * std::exp(0.25 * z);
    value += term;
    for (std::size_t e = first; e < last; ++e) {
      gradient[static_cast<std::size_t>(p.columns[e])] += 0.25 * term * p.values[e];
      hessian[static_cast<std::size_t>(p.columns[e])] += 0.0625 * term * z_dot * p.values[e];
    }
  }
  const A a = p.a();
  const tl::dim<'m'> m(p.m);
  const tl::dim<'n'> n(p.n);
  const tl::dim<'e'> e(a.nnz());
  const X x(p.x.data(), p.n);
  const Y weight(u.data(), p.m), sign(s.data(), p.m);
  const B kept(keep.get(), p.m);
  for (const int members : {1, 2}) {
    auto step =
        tl::jit(tl::value_and_grad<0>(F{})).template bind<X, A, Y, Y, B>(m, n, e, tl::threads(members));
    const auto [l, g] = step(x, a, weight, sign, kept);
    CHECK(l[0] == doctest::Approx(value).epsilon(1e-12));
    auto product = tl::jit(tl::hvp<0>(F{})).template bind<X, A, Y, Y, B, X>(m, n, e, tl::threads(members));
    const auto h = product(x, a, weight, sign, kept, X(v.data(), p.n));
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      CHECK(std::abs(g[static_cast<tl::extent_t>(j)] - gradient[j]) <= 1e-11);
      CHECK(std::abs(h[static_cast<tl::extent_t>(j)] - hessian[j]) <= 1e-11);
    }
  }
}

} // namespace

TEST_CASE("several masks: a row that one of them makes zero is not looked at, whatever their order") {
  for (const tl::extent_t columns : {few, many}) {
    check_several(weights_first, columns);
    check_several(signs_first, columns);
    check_several(product_of_both, columns);
    check_several(beside_sums, columns);
    check_several(of_conditions, columns);
    check_several(of_seven, columns);
  }
  const std::string steps = tl::jit(tl::hvp<0>(weights_first)).explain<X, A, Y, Y, B, X>();
  CHECK(steps.find("rows where x7 is not 0 and x") != std::string::npos);
}

TEST_CASE("a mask of the other floating-point type is no list of rows, and right") {
  using AF = tl::csr<float, tl::dyn<'m'>, tl::dyn<'n'>, tl::dyn<'e'>>;
  using XF = tl::tensor<float, tl::dyn<'n'>>;
  using YF = tl::tensor<float, tl::dyn<'m'>>;
  constexpr auto f = [](auto x, auto a, auto y, auto mask) {
    return tl::sum(tl::where(mask > 0.0, tl::square(tl::matmul(a, x) - y), 0.0));
  };
  problem p;
  std::vector<float> values(p.values.begin(), p.values.end()), x(p.x.begin(), p.x.end()),
      y(p.y.begin(), p.y.end());
  for (std::size_t i = 0; i < p.weight.size(); ++i)
    p.weight[i] = i % 3 == 0 ? 0 : std::ldexp(1.0, -20); // the low half is 0
  const auto a = tl::csr_view<AF>(p.m, p.n, p.row_ptr, p.columns, values);
  auto run = tl::jit(f).bind<XF, AF, YF, Y>(tl::dim<'m'>(p.m), tl::dim<'n'>(p.n), tl::dim<'e'>(a.nnz()));
  const double got = run(XF(x.data(), p.n), a, YF(y.data(), p.m), Y(p.weight.data(), p.m))[0];
  for (double& w : p.weight) w = w > 0 ? static_cast<double>(p.m) : 0;
  // a float sum of 2,000 squares: 2000 / 2 eps is far from reached, 1e-5 is ten times what is seen
  CHECK(got == doctest::Approx(p.expected().first).epsilon(1e-5));
}

TEST_CASE("all rows are visited where one of weight 0 matters") {
  const auto visits_all = []<class F>(F, auto... types) {
    return tl::jit(F{}).template explain<decltype(types)...>().find("rows where") == std::string::npos;
  };
  // differentiated by the mask
  CHECK(visits_all(tl::value_and_grad<0, 3>(by_factor), X{}, A{}, Y{}, Y{}));
  // the loss of each row is a result
  CHECK(visits_all(
      [](auto x, auto a, auto y, auto mask) {
        const auto rows = mask * tl::square(tl::matmul(a, x) - y);
        return std::tuple{rows, tl::sum(rows)};
      },
      X{}, A{}, Y{}, Y{}));
  // a term without the mask
  CHECK(visits_all(tl::grad<0>([](auto x, auto a, auto y, auto mask) {
                     const auto z = tl::matmul(a, x);
                     return tl::sum(mask * tl::square(z - y)) + 1e-3 * tl::sum(tl::square(z));
                   }),
                   X{}, A{}, Y{}, Y{}));
  // exp(0) is 1
  CHECK(visits_all(tl::grad<0>([](auto x, auto a, auto y, auto mask) {
                     return tl::sum(tl::exp(mask) * tl::square(tl::matmul(a, x) - y));
                   }),
                   X{}, A{}, Y{}, Y{}));
  // 0.25 becomes 0: the mask is not 0, the number made of it is
  CHECK(visits_all(
      [](auto x, auto a, auto y, auto mask) {
        return tl::sum(tl::where(tl::cast<std::int32_t>(mask) == 0, tl::square(tl::matmul(a, x) - y), 0.0));
      },
      X{}, A{}, Y{}, Y{}));
  // a factor that is traced behind what needs all rows, and computed ahead of it
  using W = tl::tensor<double, tl::dyn<'m'>, 3>;
  using V = tl::tensor<double, 3>;
  constexpr auto product_first = [](auto x, auto a, auto w, auto v) {
    const auto z = tl::matmul(a, x);
    return std::tuple{z, tl::matmul(tl::transpose(a), z * tl::matmul(w, v))};
  };
  CHECK(visits_all(product_first, X{}, A{}, W{}, V{}));
  CHECK(visits_all(
      [](auto x, auto a, auto w, auto v) {
        const auto z = tl::matmul(a, x);
        const auto all = tl::sum(tl::square(z));
        return std::tuple{all, tl::matmul(tl::transpose(a), z * tl::matmul(w, v))};
      },
      X{}, A{}, W{}, V{}));
  // the factor of a row is that of another one, too
  using A40 = tl::csr<double, 40, 37, 90>;
  using X37 = tl::tensor<double, 37>;
  using Y40 = tl::tensor<double, 40>;
  CHECK(visits_all(
      [](auto x, auto a, auto y, auto w) {
        return tl::sum((w + tl::slice<0, 0, 1>(w)) * tl::square(tl::matmul(a, x) - y));
      },
      X37{}, A40{}, Y40{}, Y40{}));
  CHECK(visits_all(
      [](auto x, auto a, auto y, auto w) {
        const auto turned = tl::reshape<40>(tl::transpose(tl::reshape<4, 10>(w)));
        return tl::sum((w + turned) * tl::square(tl::matmul(a, x) - y));
      },
      X37{}, A40{}, Y40{}, Y40{}));
  // atan2(0, -0) is pi
  CHECK(visits_all(
      [](auto x, auto a, auto y, auto w) { return tl::sum(tl::atan2(w * tl::matmul(a, x), w * y)); }, X37{},
      A40{}, Y40{}, Y40{}));
  // a sum is zero where both terms are; what is multiplied has no factor
  CHECK(visits_all([](auto a, auto y, auto mask) { return tl::matmul(tl::transpose(a), y + mask); }, A{}, Y{},
                   Y{}));
  CHECK(visits_all([](auto a, auto y) { return tl::matmul(tl::transpose(a), y); }, A{}, Y{}));
}

TEST_CASE("selected rows: the product with the transpose visits them alone") {
  problem p;
  const A a = p.a();
  constexpr auto hard = [](auto x, auto m, auto y) {
    const auto losses = tl::square(tl::matmul(m, x) - y);
    const auto rows = tl::top_k<300, 'k'>(losses);
    return std::tuple{tl::mean(tl::gather(losses, rows)), rows};
  };
  constexpr auto step = tl::jit(tl::value_and_grad<0>(hard));
  CHECK(step.explain<X, A, Y>().find("; rows where") != std::string::npos);
  auto run = step.bind<X, A, Y>(tl::dim<'m'>(p.m), tl::dim<'n'>(p.n), tl::dim<'e'>(a.nnz()), tl::threads(2));
  for (int again = 0; again < 2; ++again) {
    const auto [out, g] = run(X(p.x.data(), p.n), a, Y(p.y.data(), p.m));
    const auto& [loss, rows] = out;
    REQUIRE(rows.size() == 300);
    std::fill(p.weight.begin(), p.weight.end(), 0.0);
    for (tl::extent_t i = 0; i < rows.size(); ++i)
      p.weight[static_cast<std::size_t>(rows[i])] = static_cast<double>(p.m) / 300;
    const auto [value, gradient] = p.expected();
    CHECK(loss[0] == doctest::Approx(value).epsilon(1e-12));
    for (std::size_t j = 0; j < gradient.size(); ++j)
      CHECK(g[static_cast<tl::extent_t>(j)] == doctest::Approx(gradient[j]).epsilon(1e-12));
    p.x[3] += 1;
  }
}
