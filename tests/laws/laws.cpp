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
verdict flops_are_counted(double stated, std::int64_t counted) {
  return {stated == static_cast<double>(counted), text(stated, " flops, counted ", counted)};
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

verdict tangents_agree(const flat& by_vjp, const flat& by_jvp) {
  return close(by_vjp, by_jvp, 1e-12 * (1 + norm(by_jvp)));
}
verdict second_derivatives_agree(const flat& by_vjp, const flat& by_jvp) {
  return close(by_vjp, by_jvp, 1e-11 * (1 + norm(by_jvp)));
}

constexpr const char *value_law = "value", *flops_law = "flops",
                     *difference_law = "J^T u is the finite difference",
                     *projection_law = "<u, J v> == <J^T u, v>", *tangent_law = "J v by jvp == by vjp of vjp",
                     *symmetry_law = "H v by jvp of vjp == by vjp of vjp",
                     *second_law = "H v is the finite difference";

finding found(const std::string& name, const char* law, const verdict& v, const std::string& where = "") {
  return {name, law, v.holds, where + v.why};
}

} // namespace

finding examine_flops(const char* name, double flops, std::int64_t counted) {
  return found(name, flops_law, flops_are_counted(flops, counted));
}
void check(const findings& all) {
  for (const finding& f : all) CHECK_MESSAGE(f.holds, f.name, ": ", f.law, ": ", f.why);
}

findings examine(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed) {
  const flat x = draw(run, domains, seed), v = support::random_values<double>(x.size(), seed + 1);
  const flat w = support::random_values<double>(x.size(), seed + 2);
  std::vector<flat> u, zero;
  for (const std::size_t n : run.y_size) {
    u.push_back(support::random_values<double>(n, seed + 3 + u.size()));
    zero.emplace_back(n, 0.0);
  }
  const std::size_t cases = run.cases.size();
  const evaluation at = run.evaluate(x, v, u);

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

  findings all;
  for (std::size_t k = 0; k < cases; ++k) {
    const case_info& c = run.cases[k];
    const auto add = [&](const char* law, const verdict& holds) {
      all.push_back(found(c.name, law, holds, text("seed ", seed, ", ", x.size(), " elements: ")));
    };
    add(value_law, value_is_the_reference(c, x, at.y[k], std::numeric_limits<double>::epsilon()));
    add(flops_law, flops_are_counted(c.flops, c.reference_flops()));
    std::vector<flat> only = zero;
    only[k] = u[k];
    const evaluation e = run.evaluate(x, v, only);
    if (few) add(difference_law, gradient_is_the_difference(e.jtu, difference[k], norm(u[k]) * norm(e.y[k])));
    add(projection_law, transposes(u[k], e.jv[k], e.jtu, v));
    add(tangent_law, tangents_agree(e.jv_again[k], e.jv[k]));
    add(symmetry_law, second_derivatives_agree(e.hv_again, e.hv));
    const auto along = support::finite_difference_directional(
        [&](const flat& q) { return dot(w, run.evaluate(q, v, only).jtu); }, x, v, 1e-4);
    add(second_law, second_derivative_is_the_difference(w, e.hv, along));
  }
  return all;
}

findings examine_float(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed) {
  flat x = draw(run, domains, seed);
  for (double& e : x) e = static_cast<double>(static_cast<float>(e));
  const std::vector<flat> y = run.values(x);
  findings all;
  for (std::size_t k = 0; k < run.cases.size(); ++k) {
    const case_info& c = run.cases[k];
    all.push_back(found(c.name, value_law,
                        value_is_the_reference(c, x, y[k], std::numeric_limits<float>::epsilon()),
                        text("float, seed ", seed, ", ", x.size(), " elements: ")));
    all.push_back(found(c.name, flops_law, flops_are_counted(c.flops, c.reference_flops())));
  }
  return all;
}

} // namespace laws

TEST_CASE("each law fails where its premise is broken") {
  using namespace laws;
  const flat x{0.5, -1.5}, v{1, 2}, u{3, -1}, y{0.25, 2.25}, jv{1, -6}, jtu{3, 3}, hv{6, -4},
      w{1, 1}; // y = x^2, H v = 2 u v
  const case_info square{
      "square", 4, scale::result, 2, [] { return std::int64_t{2}; }, [&](const flat&, bool) { return y; }};
  const double eps = std::numeric_limits<double>::epsilon();
  CHECK(value_is_the_reference(square, x, y, eps).holds);
  CHECK_FALSE(value_is_the_reference(square, x, {0.25, 2.25 * (1 + 10 * eps)}, eps).holds);
  CHECK_FALSE(value_is_the_reference(square, x, {0.25}, eps).holds);
  CHECK_FALSE(value_is_the_reference(square, x, {0.25, std::nan("")}, eps).holds);
  CHECK(flops_are_counted(2, 2).holds);
  CHECK_FALSE(flops_are_counted(3, 2).holds);
  CHECK_FALSE(flops_are_counted(1, 2).holds);
  CHECK(gradient_is_the_difference(jtu, {3 + 1e-9, 3}, 1).holds);
  CHECK_FALSE(gradient_is_the_difference(jtu, {3, 3 + 1e-5}, 1).holds);
  CHECK(transposes(u, jv, jtu, v).holds);
  CHECK_FALSE(transposes(u, {1, -6 + 1e-9}, jtu, v).holds);
  CHECK_FALSE(transposes(u, jv, {0, 0}, v).holds);
  CHECK(tangents_agree(jv, jv).holds);
  CHECK_FALSE(tangents_agree({1, -6 + 1e-10}, jv).holds);
  CHECK(second_derivatives_agree(hv, hv).holds);
  CHECK_FALSE(second_derivatives_agree({6, -4 + 1e-9}, hv).holds);
  const support::estimate along{2, 1e-10};
  CHECK(second_derivative_is_the_difference(w, hv, along).holds);
  CHECK_FALSE(second_derivative_is_the_difference(w, {6, -4 + 1e-6}, along).holds);
}

TEST_CASE("a fault planted in one number of a program is found by the laws that read it") {
  using namespace laws;
  // y = x^2, written by hand; `fault` changes what the program computes
  const auto broken = [](const std::function<void(evaluation&)>& fault, double flops = 3) {
    law_run r;
    r.x_shape = {{3}};
    r.y_size = {3};
    r.cases.push_back({"square", 4, scale::result, flops, [] { return std::int64_t{3}; },
                       [](const flat& x, bool) { return flat{x[0] * x[0], x[1] * x[1], x[2] * x[2]}; }});
    r.evaluate = [&](const flat& x, const flat& v, const std::vector<flat>& u) {
      evaluation e{{flat(3)}, {flat(3)}, flat(3), flat(3), {}, {}};
      for (std::size_t i = 0; i < 3; ++i) {
        e.y[0][i] = x[i] * x[i];
        e.jv[0][i] = 2 * x[i] * v[i];
        e.jtu[i] = 2 * x[i] * u[0][i];
        e.hv[i] = 2 * u[0][i] * v[i];
      }
      e.jv_again = e.jv;
      e.hv_again = e.hv;
      fault(e);
      return e;
    };
    std::vector<std::string> names;
    for (const finding& f : examine(r, {{-1, 1}}, 5))
      if (!f.holds) names.push_back(f.law);
    return names;
  };
  using names = std::vector<std::string>;
  const double off = 1 + 1e-5;
  CHECK(broken([](evaluation&) {}) == names{});
  CHECK(broken([](evaluation&) {}, 4) == names{flops_law});
  CHECK(broken([&](evaluation& e) { e.y[0][1] *= off; }) == names{value_law, difference_law});
  CHECK(broken([&](evaluation& e) { e.jv[0][1] *= off; }) == names{projection_law, tangent_law});
  CHECK(broken([&](evaluation& e) { e.jv_again[0][1] *= off; }) == names{tangent_law});
  CHECK(broken([&](evaluation& e) { e.jtu[1] *= off; }) == names{difference_law, projection_law, second_law});
  CHECK(broken([&](evaluation& e) { e.hv[1] *= off; }) == names{symmetry_law, second_law});
  CHECK(broken([&](evaluation& e) { e.hv_again[1] *= off; }) == names{symmetry_law});
}
