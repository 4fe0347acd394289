// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// softmax_cross_entropy<ignore_label{i}>(logits, label): loss, gradient and Hessian of the other rows are those by loops; an
// ignored row has the loss 0 and the gradient 0, whatever stands in it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/random.hpp>
#include <support/refusal.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using flat = std::vector<double>;
constexpr int classes = 3;
constexpr tl::extent_t named = tl::dyn<'n'>;
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class L> flat elements(const L& leaf) {
  flat r;
  for (tl::extent_t i = 0; i < leaf.size(); ++i) r.push_back(static_cast<double>(leaf[i]));
  return r;
}

// sum_i (i + 1) loss_i: its terms, its gradient, and its Hessian times d, by loops
struct by_loops {
  flat loss, gradient, product;
};
by_loops loops(const flat& x, const std::vector<std::int32_t>& label, std::int32_t ignored, const flat& d) {
  by_loops r;
  for (std::size_t i = 0; i < label.size(); ++i) {
    const double *row = x.data() + i * classes, *along = d.data() + i * classes,
                 c = static_cast<double>(i + 1);
    if (label[i] == ignored) {
      r.loss.push_back(0);
      r.gradient.resize(r.gradient.size() + classes);
      r.product.resize(r.product.size() + classes);
      continue;
    }
    double sum = 0, moved = 0;
    for (int k = 0; k < classes; ++k) sum += std::exp(row[k]);
    r.loss.push_back(std::log(sum) - row[label[i]]);
    for (int k = 0; k < classes; ++k) moved += std::exp(row[k]) / sum * along[k];
    for (int k = 0; k < classes; ++k) {
      const double p = std::exp(row[k]) / sum;
      r.gradient.push_back(c * (p - (k == label[i] ? 1 : 0)));
      r.product.push_back(c * p * (along[k] - moved));
    }
  }
  return r;
}

template <int I> struct losses {
  constexpr auto operator()(auto x, auto label) const {
    return tl::softmax_cross_entropy<tl::ignore_label{I}>(x, label);
  }
};
template <int I> struct losses_of_computed { // labels that the program computes
  constexpr auto operator()(auto x, auto label) const { return losses<I>{}(x, label + 0 * label); }
};
template <int I> struct losses_of_var {
  constexpr auto operator()(auto x, auto label) const {
    const tl::var z = x;
    return tl::softmax_cross_entropy<tl::ignore_label{I}>(z, label).template as<double, named>();
  }
};
template <int I> struct losses_of_pixels { // (n, 1, 1, classes)
  constexpr auto operator()(auto x, auto label) const {
    return tl::reshape<named>(
        losses<I>{}(tl::reshape<named, 1, 1, classes>(x), tl::reshape<named, 1, 1>(label)));
  }
};
template <class F> struct weighted {
  constexpr auto operator()(auto x, auto label, auto c) const { return tl::sum(F{}(x, label) * c); }
};

using X = tl::tensor<double, named, classes>;
using L = tl::tensor<std::int32_t, named>;
using V = tl::tensor<double, named>;

void check_close(const flat& a, const flat& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (b[i] == 0) CHECK(a[i] == 0);
    else CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-12));
  }
}
template <class F, int I> void check() {
  auto run = tl::jit(F{}).template bind<X, L>(tl::dim<'n'>(12));
  auto gradient = tl::jit(tl::grad<0>(weighted<F>{})).template bind<X, L, V>(tl::dim<'n'>(12));
  auto product = tl::jit(tl::hvp<0>(weighted<F>{})).template bind<X, L, V, X>(tl::dim<'n'>(12));
  for (const int n : {12, 1, 7, 0})
    for (const int every : {3, 1, 100}) { // some are ignored, all, none
      CAPTURE(n);
      CAPTURE(every);
      tl::owned<X> x(tl::dim<'n'>{n}), d(tl::dim<'n'>{n});
      tl::owned<L> label(tl::dim<'n'>{n});
      tl::owned<V> c(tl::dim<'n'>{n});
      const flat values = support::random_values<double>(static_cast<std::size_t>(n * classes), 1);
      const flat along = support::random_values<double>(static_cast<std::size_t>(n * classes), 2);
      std::vector<std::int32_t> labels;
      for (int i = 0; i < n; ++i) {
        const int other = I == 1 ? 2 * (i % 2) : i % classes;
        labels.push_back((*label)[i] = i % every == 0 && every < 100 ? I : other);
        (*c)[i] = i + 1;
        for (int k = 0; k < classes; ++k) {
          const auto at = static_cast<std::size_t>(i * classes + k);
          (*x)[i * classes + k] = labels.back() != I ? values[at] : k == 1 ? infinity - infinity : infinity;
          (*d)[i * classes + k] = along[at];
        }
      }
      const by_loops expected = loops(values, labels, I, along);
      check_close(elements(run(*x, *label)), expected.loss);
      check_close(elements(gradient(*x, *label, *c)), expected.gradient);
      check_close(elements(product(*x, *label, *c, *d)), expected.product);
    }
}

} // namespace

TEST_CASE("ignore_label: losses, gradients, Hessians by loops") {
  check<losses<255>, 255>();
  check<losses<-100>, -100>();
  check<losses<1>, 1>(); // one of the classes
  check<losses_of_computed<255>, 255>();
  check<losses_of_var<255>, 255>();
  check<losses_of_pixels<255>, 255>();
}
TEST_CASE("ignore_label: another label outside of the classes is refused") {
  auto run = tl::jit(losses<255>{}).bind<X, L>(tl::dim<'n'>(4));
  auto strict = tl::jit([](auto x, auto label) {
                  return tl::softmax_cross_entropy(x, label);
                }).bind<X, L>(tl::dim<'n'>(4));
  auto both = tl::jit([](auto x, auto label) {
                return losses<255>{}(x, label) + tl::softmax_cross_entropy(x, label);
              }).bind<X, L>(tl::dim<'n'>(4));
  tl::owned<X> x(tl::dim<'n'>{4});
  tl::owned<L> label(tl::dim<'n'>{4});
  const auto message = [](int k) {
    return "tapeless: run: argument 1: index " + std::to_string(k) + " at position 2 is outside [0, 3)";
  };
  (*label)[0] = 255;
  CHECK(support::refusal([&] { static_cast<void>(run(*x, *label)); }).empty());
  (*label)[0] = 0;
  for (const int k : {254, 3, -1}) {
    (*label)[2] = k;
    CHECK(support::refusal([&] { static_cast<void>(run(*x, *label)); }) == message(k));
  }
  (*label)[2] = 255;
  CHECK(support::refusal([&] { static_cast<void>(strict(*x, *label)); }) == message(255));
  CHECK(support::refusal([&] { static_cast<void>(both(*x, *label)); }) == message(255));
}
TEST_CASE("labels of a transposed argument are checked, those that the program computes make the loss NaN") {
  using Z = tl::tensor<double, 2, 5, classes>;
  using Y = tl::tensor<std::int32_t, 5, 2>;
  using W = tl::tensor<double, 2, 5>;
  constexpr auto of_transposed = [](auto x, auto label) {
    return tl::softmax_cross_entropy<tl::ignore_label{255}>(x, tl::transpose<1, 0>(label));
  };
  constexpr auto of_reshaped = [](auto x, auto label) { // of the transpose: a copy stands between
    return tl::softmax_cross_entropy(tl::reshape<10, classes>(x),
                                     tl::reshape<10>(tl::transpose<1, 0>(label)));
  };
  constexpr auto of_computed = [](auto x, auto label) {
    return tl::softmax_cross_entropy<tl::ignore_label{255}>(x, (tl::transpose<1, 0>(label) + 1) - 1);
  };
  constexpr auto computed_by_condition = [](auto x, auto label) {
    const auto y = tl::transpose<1, 0>(label);
    return tl::softmax_cross_entropy(x, tl::where(y > 1, y, 0));
  };
  auto run = tl::jit(of_transposed).bind<Z, Y>();
  auto reshaped = tl::jit(of_reshaped).bind<Z, Y>();
  auto computed = tl::jit(of_computed).bind<Z, Y>();
  auto conditional = tl::jit(computed_by_condition).bind<Z, Y>();
  auto gradient = tl::jit(tl::grad<0>(weighted<decltype(of_transposed)>{})).bind<Z, Y, W>();
  auto gradient_of_computed = tl::jit(tl::grad<0>(weighted<decltype(of_computed)>{})).bind<Z, Y, W>();
  tl::owned<Z> x;
  tl::owned<Y> label;
  tl::owned<W> w;
  const flat values = support::random_values<double>(10 * classes, 3);
  std::copy(values.begin(), values.end(), (*x).data());
  std::vector<std::int32_t> rows(10); // label, transposed
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 5; ++j) {
      (*w)[i * 5 + j] = i * 5 + j + 1;
      rows[static_cast<std::size_t>(i * 5 + j)] = (*label)[j * 2 + i] = j == 3 ? 255 : (i + j) % classes;
    }
  const by_loops expected = loops(values, rows, 255, flat(values.size(), 0.0));
  check_close(elements(run(*x, *label)), expected.loss);
  check_close(elements(computed(*x, *label)), expected.loss);
  check_close(elements(gradient(*x, *label, *w)), expected.gradient);
  check_close(elements(gradient_of_computed(*x, *label, *w)), expected.gradient);
  CHECK(support::refusal([&] { static_cast<void>(reshaped(*x, *label)); }) ==
        "tapeless: run: argument 1: index 255 at position 6 is outside [0, 3)");
  for (const int k : {3, -1, 254}) {
    (*label)[4] = k; // row 2
    CHECK(support::refusal([&] { static_cast<void>(run(*x, *label)); }) ==
          "tapeless: run: argument 1: index " + std::to_string(k) + " at position 4 is outside [0, 3)");
    const flat got = elements(computed(*x, *label)), under = elements(conditional(*x, *label));
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(std::isnan(got[i]) == (i == 2));
      CHECK(std::isnan(under[i]) == ((i == 2 && k > 1) || rows[i] == 255));
    }
  }
}
