// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// How optimizers are made and what trees they take. Their formulas are tested in tests/optim.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/refusal.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using line = tl::tensor<float, 5>;
using grid = tl::tensor<double, tl::dyn<'n'>, tl::dyn<'m'>>;
struct params {
  line a;
  tl::tensor<double, 2, 3> b;
};

using support::refusal;
template <class Tree> std::vector<double> flat(const Tree& t) {
  std::vector<double> values;
  tl::for_each_leaf(t, [&](const auto& leaf) {
    for (const auto x : leaf) values.push_back(static_cast<double>(x));
  });
  return values;
}
template <class Tree> void set(const Tree& t, double value) {
  tl::for_each_leaf(t, [&](const auto& leaf) {
    for (auto& x : leaf) x = static_cast<std::remove_cvref_t<decltype(x)>>(value);
  });
}
// The parameters after two steps from 1 with slopes of 0.5.
template <class Optimizer> std::vector<double> two_steps(Optimizer opt) {
  tl::owned<params> p, g;
  set(*p, 1);
  set(*g, 0.5);
  for (int t = 0; t < 2; ++t) opt.step(*p, *g);
  return flat(*p);
}

} // namespace

TEST_CASE("adam, sgd: without options they have the default ones, with a number this learning rate") {
  static_assert(std::is_default_constructible_v<tl::adam<params>>);
  static_assert(std::is_default_constructible_v<tl::sgd<params>>);
  CHECK(two_steps(tl::adam<params>()) == two_steps(tl::adam<params>(tl::adam_options{})));
  CHECK(two_steps(tl::sgd<params>()) == two_steps(tl::sgd<params>(tl::sgd_options{})));
  CHECK(two_steps(tl::adam<params>(0.25)) == two_steps(tl::adam<params>({.learning_rate = 0.25})));
  CHECK(two_steps(tl::sgd<params>(0.25f)) == two_steps(tl::sgd<params>({.learning_rate = 0.25})));
  CHECK(two_steps(tl::sgd<params>(1)) == two_steps(tl::sgd<params>({.learning_rate = 1})));
  CHECK(two_steps(tl::sgd<params>(0.25)) != two_steps(tl::sgd<params>()));
  CHECK(tl::adam<params>().options().learning_rate == 1e-3);
  CHECK(tl::sgd<params>().options().learning_rate == 1e-2);

  CHECK(refusal([] { tl::adam<params>(-1.0); }) ==
        "tapeless: adam: the learning rate is finite and not negative");
  CHECK(tl::adam<grid>(tl::dim<'n'>(2), tl::dim<'m'>(3)).options().beta1 == 0.9);
  CHECK(tl::adam<grid>(0.5, tl::dim<'n'>(2), tl::dim<'m'>(3)).options().learning_rate == 0.5);
  CHECK(refusal([] { tl::adam<grid>(0.5, tl::dim<'n'>(2)); }) ==
        "tapeless: owned<tree>(dims...): give the extent m a value, as in owned<tree>(tl::dim<'m'>(64))");
}

TEST_CASE(
    "adam, sgd: parameters and gradient may be owned trees, or trees of other types with the same leaves") {
  struct same {
    line x;
    tl::tensor<double, 2, 3> y;
  };
  struct read_only {
    tl::tensor<const float, 5> x;
    tl::tensor<const double, 2, 3> y;
  };
  tl::owned<params> p, q, g;
  set(*g, 1);
  tl::sgd<params> opt(0.5);
  tl::adam<params> adam(0.5), other(0.5);
  opt.step(p, g);
  for (const double x : flat(*p)) CHECK(x == -0.5);
  opt.step(same{p->a, p->b}, read_only{g->a, g->b});
  for (const double x : flat(*p)) CHECK(x == -1);
  set(*p, 0);
  adam.step(p, g);
  other.step(*q, *g);
  CHECK(flat(*p) == flat(*q));
  CHECK(flat(*p)[0] < -0.4);
}

TEST_CASE("adam, sgd: other extents are refused, also of as many elements") {
  tl::owned<grid> p(tl::dim<'n'>(2), tl::dim<'m'>(3)), turned(tl::dim<'n'>(3), tl::dim<'m'>(2));
  set(*turned, 1);
  const auto refuses = [&](auto& opt, const std::string& name) {
    CHECK(refusal([&] { opt.step(p, turned); }) ==
          "tapeless: " + name +
              ".step(p, gradient): the gradient has the extents [3, 2] in leaf 0, expected [2, 3]");
    for (const double x : flat(*p)) CHECK(x == 0);
  };
  tl::sgd<grid> plain(1.0), heavy({.learning_rate = 1, .momentum = 0.5}, tl::dim<'n'>(2), tl::dim<'m'>(3));
  tl::adam<grid> adam(1.0, tl::dim<'n'>(2), tl::dim<'m'>(3));
  refuses(plain, "sgd");
  refuses(heavy, "sgd");
  refuses(adam, "adam");
  CHECK(refusal([&] { adam.step(turned, turned); }) ==
        "tapeless: adam.step(p, gradient): p has the extents [3, 2] in leaf 0, expected [2, 3]");
  CHECK(refusal([&] { heavy.step(turned, turned); }) ==
        "tapeless: sgd.step(p, gradient): p has the extents [3, 2] in leaf 0, expected [2, 3]");
}

TEST_CASE("sgd: without decay an infinite weight stays infinite") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const double momentum : {0.0, 0.5}) {
    CAPTURE(momentum);
    tl::owned<params> p, g;
    set(*p, infinite);
    set(*g, 1);
    tl::sgd<params> opt({.learning_rate = 0.5, .momentum = momentum});
    for (int t = 0; t < 2; ++t) opt.step(p, g);
    for (const double x : flat(*p)) CHECK(x == infinite);
  }
}
