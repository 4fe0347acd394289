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
#include <ostream>
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
  const flat pool = support::well_separated<double>(n > 0 ? n : 1, seed), plain = support::random_values<double>(n, seed);
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

void check_value(const case_info& c, const flat& x, const flat& y, double eps) {
  const flat expected = c.reference(x, false);
  const flat bound = c.by == scale::terms ? c.reference(x, true) : expected;
  REQUIRE(y.size() == expected.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    CAPTURE(i);
    const double tolerance = c.roundings * eps * std::abs(bound[i]);
    const bool same = y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i]));
    if (!same && !(std::abs(y[i] - expected[i]) <= tolerance)) {
      CHECK_MESSAGE(false, "value ", y[i], " is not the reference ", expected[i], " within ", tolerance);
      return;
    }
  }
}
void check_flops(const case_info& c) {
  if (!c.compare_flops) return;
  if (c.same_flops) CHECK(c.flops == static_cast<double>(c.reference_flops()));
  else CHECK(c.flops <= static_cast<double>(c.reference_flops()));
}

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

  // finite differences of all <u_k, y_k> at once
  std::vector<flat> difference(cases, flat(x.size()));
  flat moved = x;
  for (std::size_t i = 0; i < x.size() && x.size() <= 400; ++i) {
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
    check_value(c, x, at.y[k], std::numeric_limits<double>::epsilon());
    check_flops(c);
    std::vector<flat> only = zero;
    only[k] = u[k];
    const evaluation e = run.evaluate(x, v, only);

    // h^2 y''' / 6 + eps |<u, y>| / h
    const double largest = norm(u[k]) * norm(e.y[k]);
    if (x.size() <= 400) CHECK(support::close(e.jtu, difference[k], 1e-7 * (1 + largest), 1e-7));

    const support::projection p = support::project<double>(u[k], e.jv[k], e.jtu, v, 64);
    if (norm(e.jtu) > 0) CHECK(p);
    else CHECK(p.left == 0);
    CHECK(support::close(e.jv_again[k], e.jv[k], 1e-12 * (1 + norm(e.jv[k]))));
    CHECK(support::close(e.hv_again, e.hv, 1e-11 * (1 + norm(e.hv))));

    const auto along = support::finite_difference_directional(
        [&](const flat& q) { return dot(w, run.evaluate(q, v, only).jtu); }, x, v, 1e-4);
    const double got = dot(w, e.hv);
    const double tolerance = 4 * along.error + 1e-9 * (1 + norm(w) * norm(e.hv));
    CHECK_MESSAGE(std::abs(got - along.value) <= tolerance, "<w, H v> = ", got, ", finite difference ", along.value, ", tolerance ", tolerance);
  }
}

void check_float(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed) {
  flat x = draw(run, domains, seed);
  for (double& e : x) e = static_cast<double>(static_cast<float>(e));
  const std::vector<flat> y = run.values(x);
  INFO("seed ", seed, ", ", x.size(), " elements");
  for (std::size_t k = 0; k < run.cases.size(); ++k) {
    INFO(run.cases[k].name);
    check_value(run.cases[k], x, y[k], std::numeric_limits<float>::epsilon());
    check_flops(run.cases[k]);
  }
}

} // namespace laws
