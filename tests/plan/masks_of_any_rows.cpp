// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Two losses with masks of their own, behind one network, of any number of rows: values, second derivatives, threads,
// allocations.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/allocations.hpp>
#include <support/trees.hpp>
#include <support/two_heads.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using support::deep, support::narrow, support::network, support::losses;

template <class T, template <class> class Head> struct of_any_rows {
  static constexpr tl::extent_t b = tl::dyn<'b'>;
  using element = T;
  using parameters = network<T, Head>;
  using data = tl::tensor<T, b, 3>;
  using targets = tl::tensor<T, b, 2>;
  using weights = tl::tensor<T, b>;
  using flags = tl::tensor<bool, b>;

  static constexpr auto masked = [](const auto& p, auto x, auto t, auto u, auto w, auto k) {
    return tl::sum(w * losses<1>(p, x, t)) + tl::sum(tl::where(k, losses<2>(p, x, u), T{0}));
  };
  template <class Second, class... More> static auto bound(auto f, tl::extent_t rows, int members = 1) {
    return tl::jit(f).template bind<parameters, data, targets, targets, weights, Second, More...>(
        tl::dim<'b'>(rows), tl::threads(members));
  }

  // Of every fourth row the weights are zero, or of all; flags likewise.
  static void check(tl::extent_t rows, bool some_weights, bool some_flags, double tolerance) {
    CAPTURE(rows);
    CAPTURE(some_weights);
    CAPTURE(some_flags);
    const tl::dim<'b'> count(rows);
    tl::owned<parameters> p, d;
    tl::owned<data> x(count);
    tl::owned<targets> t(count), u(count);
    tl::owned<weights> w(count), v(count);
    tl::owned<flags> k(count);
    std::uint64_t seed = support::draw(*p, 1, 0.5);
    for (const auto& leaf : {*t, *u}) seed = support::draw(leaf, seed);
    seed = support::draw(*x, seed);
    support::draw(*d, seed);
    for (int i = 0; i < rows; ++i) {
      (*w)[i] = some_weights && i % 4 != 0 ? T(i % 3) : T{0};
      (*k)[i] = some_flags && i % 4 != 1;
      (*v)[i] = (*k)[i] ? T{1} : T{0};
    }
    constexpr auto by_weights = [](const auto& q, auto a, auto r, auto s, auto c, auto e) {
      return tl::sum(c * losses<1>(q, a, r)) + tl::sum(e * losses<2>(q, a, s));
    };
    auto all = bound<weights>(tl::value_and_grad<0, 4, 5>(by_weights), rows);
    std::vector<double> expected = support::elements(all(*p, *x, *t, *u, *w, *v));
    constexpr auto step = tl::value_and_grad<0>(masked);
    auto one = bound<flags>(step, rows), two = bound<flags>(step, rows, 2),
         three = bound<flags>(step, rows, 3);
    auto hessian = bound<flags, parameters>(tl::hvp<0>(masked), rows);
    const auto product = [&] { return support::elements(hessian(*p, *x, *t, *u, *w, *k, *d)); };
    const auto clean = product();
    for (int i = 0; i < rows; ++i) {
      if ((*w)[i] == 0) (*t)[i * 2] = std::numeric_limits<T>::quiet_NaN();
      if (!(*k)[i]) (*u)[i * 2 + 1] = std::numeric_limits<T>::infinity();
      if ((*w)[i] == 0 && !(*k)[i]) (*x)[i * 3] = std::numeric_limits<T>::quiet_NaN();
    }
    const auto of = [&](auto& run) { return support::elements(run(*p, *x, *t, *u, *w, *k)); };
    const std::vector<double> result = of(one);
    expected.resize(result.size());
    CHECK(support::largest_difference(result, expected) <= tolerance);
    CHECK(of(two) == result);
    CHECK(of(three) == result);
    CHECK(support::allocations_of([&] { static_cast<void>(one(*p, *x, *t, *u, *w, *k)); }) == 0);
    CHECK(product() == clean); // rows that do not count are not read
    // along d, by central differences of the gradient: h^2 and eps / h
    const double h = std::is_same_v<T, double> ? 1e-5 : 1e-2;
    const auto moved = [&](double by) {
      tl::owned<parameters> q;
      std::vector<double> from = support::elements(*p), along = support::elements(*d);
      std::size_t i = 0;
      tl::for_each_leaf(*q, [&](const auto& leaf) {
        for (auto& e : leaf) {
          e = static_cast<T>(from[i] + by * along[i]);
          ++i;
        }
      });
      return support::elements(one(*q, *x, *t, *u, *w, *k));
    };
    const std::vector<double> up = moved(h), down = moved(-h);
    std::vector<double> difference;
    for (std::size_t i = 1; i < up.size(); ++i) difference.push_back((up[i] - down[i]) / (2 * h));
    CHECK(support::largest_difference(clean, difference) <= (std::is_same_v<T, double> ? 1e-6 : 2e-2));
  }
};

} // namespace

TEST_CASE_TEMPLATE("two masks: any number of rows and threads, none kept, no allocation", Case,
                   of_any_rows<float, narrow>, of_any_rows<double, deep>) {
  // sums of at most 64 terms, each below 10
  const double tolerance = std::is_same_v<typename Case::element, double> ? 1e-12 : 640 * 0x1p-22;
  for (const tl::extent_t rows : {1, 7, 12, 40})
    for (const bool some_weights : {true, false})
      for (const bool some_flags : {true, false}) Case::check(rows, some_weights, some_flags, tolerance);
}
