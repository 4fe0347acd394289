// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Weights of rows that the program computes: value and gradient are those of the same weights as numbers, by a program
// that has no mask, and rows of weight zero are left out, whatever stands in them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/allocations.hpp>
#include <support/trees.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using support::elements, support::largest_difference;
using flat = std::vector<double>;
constexpr int n = 240, inputs = 32, hidden = 256,
              outputs = 4; // where less is saved, such weights are no masks
using parameters = std::tuple<tl::tensor<double, inputs, hidden>, tl::tensor<double, hidden, hidden>,
                              tl::tensor<double, hidden, outputs>>;
using data = tl::tensor<double, n, inputs>;
using targets = tl::tensor<double, n, outputs>;
using vector = tl::tensor<double, n>;
using image = tl::tensor<double, 8, 10, 3>;
using integers = tl::tensor<std::int32_t, n>;

constexpr auto losses(const auto& p, auto x, auto t) {
  const auto h = tl::tanh(tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p)));
  const auto z = tl::matmul(h, std::get<2>(p));
  return tl::mean<1>(tl::square(z - t));
}

struct batch {
  tl::owned<parameters> p;
  tl::owned<data> x;
  tl::owned<targets> t;
  batch() {
    std::uint64_t seed = support::draw(*p, 1, 0.125);
    seed = support::draw(*x, seed);
    support::draw(*t, seed);
  }
  void poison(int row) {
    for (int k = 0; k < inputs; ++k) (*x)[row * inputs + k] = std::numeric_limits<double>::quiet_NaN();
    for (int k = 0; k < outputs; ++k) (*t)[row * outputs + k] = std::numeric_limits<double>::infinity();
  }
};

// ---- weights of an argument m

struct of_square {
  static double number(double m) { return m * m; }
  template <class M> static constexpr auto weight(const M& m) { return tl::square(m); }
};
struct of_root {
  static double number(double m) { return std::sqrt(m) * 0.5; }
  template <class M> static constexpr auto weight(const M& m) { return 0.5 * tl::sqrt(m); }
};
struct of_quotient {
  static double number(double m) { return m / (1 + m); }
  template <class M> static constexpr auto weight(const M& m) { return m / (1.0 + m); }
};
struct above_one {
  static double number(double m) { return std::max(m - 1, 0.0); }
  template <class M> static constexpr auto weight(const M& m) { return tl::relu(m - 1.0); }
};
struct of_both { // zero where both are
  static double number(double m) { return m + std::max(m - 1, 0.0); }
  template <class M> static constexpr auto weight(const M& m) { return m + tl::max(m - 1.0, 0.0); }
};
struct stopped {
  static double number(double m) { return m * m; }
  template <class M> static constexpr auto weight(const M& m) { return tl::stop_gradient(m * m); }
};
struct of_classes { // weights 0, 1.5, 0 and 2 of the classes 0 to 3
  static double number(double m) { return m == 1 ? 1.5 : m == 3 ? 2 : 0; }
  template <class M> static constexpr auto weight(const M& m) {
    const auto c = tl::slice<0, 0, 4>(m); // 0, 1, 2, 3
    return tl::gather(tl::where(c == 1.0, 1.5, tl::where(c == 3.0, c - 1.0, 0.0)), tl::cast<std::int32_t>(m));
  }
};
struct flattened { // of a mask of several axes, beside losses of one
  static double number(double m) { return m; }
  template <class M> static constexpr auto weight(const M& m) { return tl::reshape<n>(m); }
};
template <class W> struct mean_of {
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(W::weight(m) * losses(p, x, t));
  }
};
struct of_numbers { // exp is no mask
  constexpr auto operator()(const auto& p, auto x, auto t, auto log_of_weight) const {
    return tl::mean(tl::exp(log_of_weight) * losses(p, x, t));
  }
};

// Has it a product with as many rows as the run counts in the mask?
constexpr bool counts_rows(const tl::polynomial& flops) {
  for (int i = 0; i < flops.size(); ++i)
    for (tl::extent_t packed = flops[i].names; packed != 0; packed >>= tl::detail::name_bits)
      if ((packed & 63) == tl::detail::first_generated && flops[i].c > inputs * hidden) return true;
  return false;
}
template <class F, class M, int... Wrt> constexpr tl::cost cost_of =
    tl::jit(tl::value_and_grad<Wrt...>(F{})).template cost<parameters, data, targets, M>();

template <class W, class M> void check() {
  using F = mean_of<W>;
  static_assert(counts_rows(cost_of<F, M, 0>.primal.flops) && counts_rows(cost_of<F, M, 0>.adjoint.flops));
  static_assert(!counts_rows(cost_of<of_numbers, vector, 0>.flops()));
  batch b;
  tl::owned<M> m;
  tl::owned<vector> v;
  const auto bound = [](int members) {
    return tl::jit(tl::value_and_grad<0>(F{}))
        .template bind<parameters, data, targets, M>(tl::threads(members));
  };
  auto one = bound(1), two = bound(2);
  auto all = tl::jit(tl::value_and_grad<0>(of_numbers{})).bind<parameters, data, targets, vector>();
  for (int i = 0; i < n; ++i) {
    (*m)[i] = i % 4;
    (*v)[i] = std::log(W::number((*m)[i]));
  }
  const auto [expected, of_all] = all(*b.p, *b.x, *b.t, *v);
  for (int i = 0; i < n; ++i)
    if (W::number((*m)[i]) == 0) b.poison(i);
  const auto [value, gradient] = one(*b.p, *b.x, *b.t, *m);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-12));
  CHECK(largest_difference(elements(gradient), elements(of_all)) < 1e-12);
  CHECK(support::allocations_of([&] { static_cast<void>(one(*b.p, *b.x, *b.t, *m)); }) == 0);
  const auto [value2, gradient2] = two(*b.p, *b.x, *b.t, *m);
  CHECK((value2[0] == value[0] && elements(gradient2) == elements(gradient)));
}

// ---- weights that the forward is needed for

struct focal {
  constexpr auto operator()(const auto& p, auto x, auto t, auto) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::stop_gradient(tl::square(tl::relu(l - tl::mean(l)))) * l);
  }
};
struct normalized {
  constexpr auto operator()(const auto& p, auto x, auto t, auto) const {
    const auto l = losses(p, x, t), w = tl::relu(tl::stop_gradient(l) - 0.5);
    return tl::sum(w * l) / tl::sum(w);
  }
};
struct of_values {
  constexpr auto operator()(const auto& p, auto x, auto t, auto) const { return losses(p, x, t); }
};
struct hinge { // its derivative is the weight
  constexpr auto operator()(const auto& p, auto x, auto t, auto) const {
    return tl::mean(tl::relu(losses(p, x, t) - 0.5));
  }
};
struct bounded { // never 0
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(tl::max(tl::cast<double>(m > 0.5), 0.01) * losses(p, x, t)) -
           tl::mean(tl::min(-m, -0.01) * losses(p, x, t));
  }
};
struct differentiated { // by the weight too
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(tl::square(m) * losses(p, x, t));
  }
};
struct without_stop { // the weight has a gradient
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::relu(l - tl::exp(m)) * l);
  }
};

} // namespace

TEST_CASE_TEMPLATE("computed masks: known before the forward", W, of_square, of_root, of_quotient, above_one,
                   of_both, stopped, of_classes) {
  check<W, vector>();
}
TEST_CASE("computed masks: of several axes, beside losses of one") { check<flattened, image>(); }
TEST_CASE_TEMPLATE("computed masks: what is zero only after the forward leaves its rows out of the adjoint",
                   W, focal, normalized) {
  constexpr tl::cost c = cost_of<W, vector, 0>;
  static_assert(!counts_rows(c.primal.flops) && counts_rows(c.adjoint.flops));
  batch b;
  tl::owned<vector> m, v;
  auto forward = tl::jit(of_values{}).bind<parameters, data, targets, vector>();
  const auto l = forward(*b.p, *b.x, *b.t, *m);
  double mean = 0, sum = 0;
  for (int i = 0; i < n; ++i) mean += l[i] / n;
  for (int i = 0; i < n; ++i) sum += std::max(l[i] - 0.5, 0.0) / n;
  for (int i = 0; i < n; ++i) // the weights are exp(v)
    (*v)[i] = std::is_same_v<W, focal> ? 2 * std::log(std::max(l[i] - mean, 0.0))
                                       : std::log(std::max(l[i] - 0.5, 0.0) / sum);
  auto run = tl::jit(tl::value_and_grad<0>(W{})).template bind<parameters, data, targets, vector>();
  auto all = tl::jit(tl::value_and_grad<0>(of_numbers{})).bind<parameters, data, targets, vector>();
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  const auto [expected, of_all] = all(*b.p, *b.x, *b.t, *v);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-12));
  CHECK(largest_difference(elements(gradient), elements(of_all)) < 1e-12);
}
TEST_CASE("computed masks: none where a derivative flows through the weight, or where it is never 0") {
  static_assert(counts_rows(cost_of<hinge, vector, 0>.adjoint.flops));
  static_assert(!counts_rows(cost_of<bounded, vector, 0>.flops()));
  static_assert(!counts_rows(cost_of<differentiated, vector, 0, 3>.flops()));
  static_assert(!counts_rows(cost_of<without_stop, vector, 0>.flops()));
}

// ---- rows of weight zero, of which a function is not zero: exp(0 l) is 1 whatever l is

namespace {
struct exp_of_products {
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(tl::exp(m * losses(p, x, t)));
  }
};
struct with_products { // which are results too
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = m * losses(p, x, t);
    return std::tuple{tl::mean(tl::exp(l)), l};
  }
};
} // namespace

TEST_CASE("computed masks: a weight of zero is zero also where its product is read by what is not") {
  static_assert(counts_rows(cost_of<exp_of_products, vector, 0>.primal.flops));
  batch b;
  tl::owned<vector> m;
  for (int i = 0; i < n; ++i) (*m)[i] = i % 3 * 0.5;
  auto run = tl::jit(tl::value_and_grad<0>(exp_of_products{})).bind<parameters, data, targets, vector>();
  auto both = tl::jit(tl::value_and_grad<0>(with_products{})).bind<parameters, data, targets, vector>();
  auto dense = tl::jit(tl::value_and_grad<0, 3>(with_products{})).bind<parameters, data, targets, vector>();
  const auto [expected, of_all, by_m] = dense(*b.p, *b.x, *b.t, *m);
  const flat products = elements(std::get<1>(expected)), gradient_of_all = elements(of_all);
  const double mean = std::get<0>(expected)[0];
  for (int i = 0; i < n; i += 3) b.poison(i);
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  CHECK(value[0] == doctest::Approx(mean).epsilon(1e-12));
  CHECK(largest_difference(elements(gradient), gradient_of_all) < 1e-12);
  const auto [out, gradient2] = both(*b.p, *b.x, *b.t, *m);
  CHECK(std::get<0>(out)[0] == doctest::Approx(mean).epsilon(1e-12));
  CHECK(largest_difference(elements(std::get<1>(out)), products) < 1e-14);
  CHECK(largest_difference(elements(gradient2), gradient_of_all) < 1e-12);
}

TEST_CASE("the mask of the loss is tried before factors that the program computes") {
  constexpr auto loss = [](const auto& p, auto x, auto y, auto t, auto m) {
    const auto column = [](auto a) { return tl::reshape<n, 1>(a); };
    const auto u = x - 0.5, v = y - 0.5;
    const auto z = tl::concat<1>(tl::concat<1>(column(u), column(v)),
                                 tl::concat<1>(column(u * v), column((u - v) * (u + v))));
    const auto h = tl::tanh(tl::matmul(tl::tanh(tl::matmul(z, std::get<0>(p))), std::get<1>(p)));
    return tl::mean(m * tl::square(tl::matmul(h, std::get<2>(p)) - t));
  };
  using weights = std::tuple<tl::tensor<double, 4, hidden>, tl::tensor<double, hidden, hidden>,
                             tl::tensor<double, hidden>>;
  const std::string plan =
      tl::jit(tl::value_and_grad<0>(loss)).explain<weights, vector, vector, vector, vector>();
  CHECK(plan.find("x6 -> a1+0: where [#]") != std::string::npos); // m
}
