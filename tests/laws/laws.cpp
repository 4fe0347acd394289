// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The laws, without types. A negative control for each stands at the end.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <support/compare.hpp>
#include <support/fd.hpp>
#include <support/projection.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

namespace laws {
namespace {

std::size_t total(const std::vector<ref::dims>& shapes) {
  std::size_t n = 0;
  for (const ref::dims& s : shapes) n += static_cast<std::size_t>(ref::element_count(s));
  return n;
}
// One domain for each argument; the last one stands for all further ones.
flat draw(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed) {
  const std::size_t n = total(run.x_shape);
  const flat pool = support::well_separated<double>(n > 0 ? n : 1, seed),
             plain = support::random_values<double>(n, seed);
  flat x;
  for (std::size_t k = 0; k < run.x_shape.size(); ++k) {
    const domain d = domains.empty() ? domain{} : domains[std::min(k, domains.size() - 1)];
    for (std::int64_t i = ref::element_count(run.x_shape[k]); i > 0; --i) {
      const double e = d.separated ? pool[x.size()] : plain[x.size()];
      x.push_back(d.lo + (d.hi - d.lo) * (e + 1) / 2);
    }
  }
  return x;
}
double norm(const flat& a) {
  double s = 0;
  for (const double e : a) s += e * e;
  return std::sqrt(s);
}
double dot(const flat& a, const flat& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) s += a[i] * b[i];
  return s;
}

// Each law is true or says what is wrong.
struct verdict {
  bool holds = true;
  std::string why;
};
template <class... Part> std::string text(const Part&... part) {
  std::ostringstream out;
  out.precision(17);
  (out << ... << part);
  return out.str();
}
verdict close(const flat& got, const flat& expected, double absolute, double relative = 0) {
  const support::comparison r = support::close(got, expected, absolute, relative);
  return {static_cast<bool>(r), text(r)};
}

verdict value_is_the_reference(const case_info& c, const flat& x, const flat& y, double eps) {
  const flat expected = c.reference(x, false);
  const flat bound = c.by == scale::terms ? c.reference(x, true) : expected;
  if (y.size() != expected.size()) return {false, text(y.size(), " elements, expected ", expected.size())};
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double tolerance = c.roundings * eps * std::abs(bound[i]);
    const bool same = y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i]));
    if (!same && !(std::abs(y[i] - expected[i]) <= tolerance))
      return {false, text("[", i, "]: ", y[i], " is not ", expected[i], " within ", tolerance)};
  }
  return {};
}
verdict flops_are_counted(const case_info& c) {
  const auto counted = static_cast<double>(c.reference_flops());
  if (!c.compare_flops || (c.same_flops ? c.flops == counted : c.flops <= counted)) return {};
  return {false, text(c.flops, " flops, counted ", counted)};
}
// The error of a central difference: h^2 / 6 times a third derivative of order 1, and eps |<u, y>| / h.
verdict gradient_is_the_difference(const flat& gradient, const flat& difference, double largest) {
  return close(gradient, difference, 1e-7 * (1 + largest), 1e-7);
}
verdict transposes(const flat& u, const flat& jv, const flat& jtu, const flat& v) {
  const support::projection p = support::project<double>(u, jv, jtu, v, 64);
  return {norm(jtu) > 0 ? static_cast<bool>(p) : p.left == 0, text(p)};
}
verdict second_derivative_is_the_difference(const flat& w, const flat& hv, const support::estimate& along) {
  const double got = dot(w, hv), tolerance = 4 * along.error + 1e-9 * (1 + norm(w) * norm(hv));
  return {std::abs(got - along.value) <= tolerance,
          text("<w, H v> = ", got, ", finite difference ", along.value, ", tolerance ", tolerance)};
}

void expect(const char* law, const verdict& v) { CHECK_MESSAGE(v.holds, law, ": ", v.why); }

} // namespace

void check(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed) {
  const flat x = draw(run, domains, seed), v = support::random_values<double>(x.size(), seed + 1);
  const flat w = support::random_values<double>(x.size(), seed + 2);
  std::vector<flat> u, zero;
  for (const std::size_t n : run.y_size) {
    u.push_back(support::random_values<double>(n, seed + 3 + u.size()));
    zero.emplace_back(n, 0.0);
  }
  const std::size_t cases = run.cases.size();
  const evaluation at = run.evaluate(x, v, u);
  INFO("seed ", seed, ", ", x.size(), " elements");

  // finite differences of all <u_k, y_k> at once; where x has many elements the other laws must do
  const bool few = x.size() <= 400;
  std::vector<flat> difference(cases, flat(x.size()));
  flat moved = x;
  for (std::size_t i = 0; few && i < x.size(); ++i) {
    const double h = 5e-6;
    moved[i] = x[i] + h;
    const auto above = run.evaluate(moved, v, zero).y;
    moved[i] = x[i] - h;
    const auto below = run.evaluate(moved, v, zero).y;
    moved[i] = x[i];
    for (std::size_t k = 0; k < cases; ++k) {
      double s = 0;
      for (std::size_t j = 0; j < u[k].size(); ++j) s += u[k][j] * (above[k][j] - below[k][j]);
      difference[k][i] = s / (2 * h);
    }
  }

  for (std::size_t k = 0; k < cases; ++k) {
    const case_info& c = run.cases[k];
    INFO(c.name);
    expect("value", value_is_the_reference(c, x, at.y[k], std::numeric_limits<double>::epsilon()));
    expect("flops", flops_are_counted(c));
    std::vector<flat> only = zero;
    only[k] = u[k];
    const evaluation e = run.evaluate(x, v, only);
    if (few)
      expect("J^T u is the finite difference",
             gradient_is_the_difference(e.jtu, difference[k], norm(u[k]) * norm(e.y[k])));
    expect("<u, J v> == <J^T u, v>", transposes(u[k], e.jv[k], e.jtu, v));
    expect("J v by jvp == by vjp of vjp", close(e.jv_again[k], e.jv[k], 1e-12 * (1 + norm(e.jv[k]))));
    expect("H v by jvp of vjp == by vjp of vjp", close(e.hv_again, e.hv, 1e-11 * (1 + norm(e.hv))));
    const auto along = support::finite_difference_directional(
        [&](const flat& q) { return dot(w, run.evaluate(q, v, only).jtu); }, x, v, 1e-4);
    expect("H v is the finite difference", second_derivative_is_the_difference(w, e.hv, along));
  }
}

void check_float(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed) {
  flat x = draw(run, domains, seed);
  for (double& e : x) e = static_cast<double>(static_cast<float>(e));
  const std::vector<flat> y = run.values(x);
  INFO("seed ", seed, ", ", x.size(), " elements");
  for (std::size_t k = 0; k < run.cases.size(); ++k) {
    INFO(run.cases[k].name);
    expect("value", value_is_the_reference(run.cases[k], x, y[k], std::numeric_limits<float>::epsilon()));
    expect("flops", flops_are_counted(run.cases[k]));
  }
}

} // namespace laws

TEST_CASE("each law fails where its premise is broken") {
  using namespace laws;
  const flat x{0.5, -1.5}, v{1, 2}, u{3, -1}, y{0.25, 2.25}, jv{1, -6}, jtu{3, 3}, hv{6, -4},
      w{1, 1}; // y = x^2, H v = 2 u v
  const case_info square{"square",
                         4,
                         scale::result,
                         true,
                         true,
                         2,
                         [] { return std::int64_t{2}; },
                         [&](const flat&, bool) { return y; }};
  const double eps = std::numeric_limits<double>::epsilon();
  CHECK(value_is_the_reference(square, x, y, eps).holds);
  CHECK_FALSE(value_is_the_reference(square, x, {0.25, 2.25 * (1 + 10 * eps)}, eps).holds);
  CHECK_FALSE(value_is_the_reference(square, x, {0.25}, eps).holds);
  CHECK_FALSE(value_is_the_reference(square, x, {0.25, std::nan("")}, eps).holds);
  case_info wrong = square;
  wrong.flops = 3;
  CHECK(flops_are_counted(square).holds);
  CHECK_FALSE(flops_are_counted(wrong).holds);
  CHECK(gradient_is_the_difference(jtu, {3 + 1e-9, 3}, 1).holds);
  CHECK_FALSE(gradient_is_the_difference(jtu, {3, 3 + 1e-5}, 1).holds);
  CHECK(transposes(u, jv, jtu, v).holds);
  CHECK_FALSE(transposes(u, {1, -6 + 1e-9}, jtu, v).holds);
  CHECK_FALSE(transposes(u, jv, {0, 0}, v).holds);
  const support::estimate along{2, 1e-10};
  CHECK(second_derivative_is_the_difference(w, hv, along).holds);
  CHECK_FALSE(second_derivative_is_the_difference(w, {6, -4 + 1e-6}, along).holds);
}
