#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Losses whose rows a mask or a list of indices weighs: value and gradient are those of sum_i c_i loss_i by plain loops.
// Where the program leaves rows out, what stands in them does not matter: NaN and infinity there stay there.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <support/allocations.hpp>
#include <support/trees.hpp>
#include <support/refusal.hpp>
#include <tapeless/tapeless.hpp>

namespace weighted_rows {

namespace tl = tapeless;

using support::elements, support::largest_difference;
using flat = std::vector<double>;
constexpr int n = 24, inputs = 32, hidden = 64, outputs = 4;
constexpr tl::extent_t named = tl::dyn<'n'>, extent_of_positions = 2147483647;
constexpr double infinity = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();

template <class T> using parameters =
    std::tuple<tl::tensor<T, inputs, hidden>, tl::tensor<T, hidden>, tl::tensor<T, hidden, outputs>>;
template <class T, tl::extent_t N> using data = tl::tensor<T, N, inputs>;
template <class T, tl::extent_t N> using targets = tl::tensor<T, N, outputs>;

constexpr auto scores(const auto& p, auto x) {
  return tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p)) + std::get<1>(p)), std::get<2>(p));
}
constexpr auto losses(const auto& p, auto x, auto t) { return tl::mean<1>(tl::square(scores(p, x) - t)); }

template <class T, tl::extent_t N = n> struct batch {
  tl::owned<parameters<T>> p;
  tl::owned<data<T, N>> x;
  tl::owned<targets<T, N>> t;
  explicit batch(int count = n) : x(tl::dim<'n'>(count)), t(tl::dim<'n'>(count)) {
    std::uint64_t seed = support::draw(*p, 1, 0.25);
    seed = support::draw(*x, seed);
    support::draw(*t, seed);
  }
  void poison(int row) {
    for (int k = 0; k < inputs; ++k) (*x)[row * inputs + k] = static_cast<T>(k % 2 == 0 ? nan : infinity);
    for (int k = 0; k < outputs; ++k) (*t)[row * outputs + k] = static_cast<T>(k % 2 == 0 ? -infinity : nan);
  }
};

// ---- by loops: losses, and the gradient of sum_i c_i loss_i

struct by_loops {
  flat loss, gradient;
  double value = 0;
};
template <class B> by_loops loops(const B& b, const flat& c) {
  const flat p = elements(*b.p), x = elements(*b.x), t = elements(*b.t);
  by_loops r;
  r.gradient.assign(p.size(), 0.0);
  const double *w = p.data(), *bias = w + inputs * hidden, *v = bias + hidden;
  double *dw = r.gradient.data(), *dbias = dw + inputs * hidden, *dv = dbias + hidden;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double *xi = x.data() + i * inputs, *ti = t.data() + i * outputs;
    double h[hidden], d[outputs], loss = 0;
    for (int j = 0; j < hidden; ++j) {
      h[j] = bias[j];
      for (int k = 0; k < inputs; ++k) h[j] += xi[k] * w[k * hidden + j];
      h[j] = std::tanh(h[j]);
    }
    for (int k = 0; k < outputs; ++k) {
      d[k] = -ti[k];
      for (int j = 0; j < hidden; ++j) d[k] += h[j] * v[j * outputs + k];
      loss += d[k] * d[k] / outputs;
    }
    r.loss.push_back(loss);
    if (c[i] == 0) continue;
    r.value += c[i] * loss;
    for (int j = 0; j < hidden; ++j) {
      double dh = 0;
      for (int k = 0; k < outputs; ++k) {
        const double dz = 2 * c[i] * d[k] / outputs;
        dv[j * outputs + k] += h[j] * dz;
        dh += v[j * outputs + k] * dz;
      }
      dh *= 1 - h[j] * h[j];
      dbias[j] += dh;
      for (int k = 0; k < inputs; ++k) dw[k * hidden + j] += xi[k] * dh;
    }
  }
  return r;
}
inline flat divided(flat w, double by) {
  for (double& e : w) e /= by;
  return w;
}
inline double total(const flat& w) {
  double s = 0;
  for (const double e : w) s += e;
  return s;
}

// ---- losses with a mask; weights(m): c of the mask m

struct of_mean {
  static flat weights(const flat& m) { return divided(m, static_cast<double>(m.size())); }
};
struct of_ratio {
  static flat weights(const flat& m) { return divided(m, total(m)); }
};
struct mean_of_products : of_mean {
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(tl::cast<typename decltype(x)::value_type>(m) * losses(p, x, t));
  }
};
struct mean_where : of_mean {
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(tl::where(m, losses(p, x, t), 0.0));
  }
};
struct mean_without : of_mean { // the rows of !m
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(tl::where(!m, 0.0, losses(p, x, t)));
  }
};
struct weighted_mean : of_ratio {
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::sum(m * losses(p, x, t)) / tl::sum(m);
  }
};
struct column : of_mean { // mask: (n, 1)
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(m * tl::reshape<n, 1>(losses(p, x, t)));
  }
};
struct reshaped : of_mean { // mask: (4, 3, 2)
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(m * tl::reshape<4, 3, 2>(losses(p, x, t)));
  }
};
struct grid : of_ratio { // mask: (4, 3, 2), of rows (4, 3, 2, inputs)
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto y = tl::reshape<4, 3, 2, outputs>(t);
    const auto l = tl::mean<3>(tl::square(scores(p, tl::reshape<4, 3, 2, inputs>(x)) - y));
    const auto w = tl::cast<typename decltype(x)::value_type>(m);
    return tl::sum(w * l) / tl::sum(w);
  }
};
struct of_features : of_mean { // mask: (n), of losses (n, outputs)
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(tl::where(tl::reshape<n, 1>(m), tl::square(scores(p, x) - t), 0.0));
  }
};
struct two_masks : of_ratio { // the other one is the sign of a datum
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto both = m * tl::cast<double>(tl::reshape<n>(tl::slice<1, 0, 1>(t)) > -2.0);
    return tl::sum(both * losses(p, x, t)) / tl::sum(both);
  }
};

template <tl::extent_t N, class F, class T, class M> auto bind(int members) {
  constexpr auto f = tl::jit(tl::value_and_grad<0>(F{}));
  if constexpr (N == n)
    return f.template bind<parameters<T>, data<T, N>, targets<T, N>, M>(tl::threads(members));
  else
    return f.template bind<parameters<T>, data<T, N>, targets<T, N>, M>(tl::dim<'n'>(n),
                                                                        tl::threads(members));
}

// Has it a product with as many rows as the run counts in the mask?
constexpr bool counts_rows(const tl::polynomial& flops) {
  for (int i = 0; i < flops.size(); ++i)
    for (tl::extent_t packed = flops[i].names; packed != 0; packed >>= tl::detail::name_bits)
      if ((packed & 63) == tl::detail::first_generated) return true;
  return false;
}
template <class F, class T, tl::extent_t N, class M, int... Wrt> constexpr tl::cost cost_of =
    tl::jit(tl::value_and_grad<Wrt...>(F{})).template cost<parameters<T>, data<T, N>, targets<T, N>, M>();

// Masks that a run gets: of n rows, some with other weights than 0 and 1.
inline flat mask_of(int which, int count) {
  flat m(static_cast<std::size_t>(count), which == 1 ? 1.0 : 0.0);
  for (std::size_t i = 0; which >= 2 && i < m.size(); ++i)
    m[i] = i % 3 == 0 ? 0.0 : which == 2 ? 1.0 : static_cast<double>(i % 4);
  return m;
}

template <class F, class T, tl::extent_t N, class M> void check_mask(double tolerance) {
  static_assert(counts_rows(cost_of<F, T, N, M, 0>.primal.flops) &&
                counts_rows(cost_of<F, T, N, M, 0>.adjoint.flops));
  constexpr bool of_bool = std::is_same_v<typename M::value_type, bool>;
  auto one = bind<N, F, T, M>(1), two = bind<N, F, T, M>(2), three = bind<N, F, T, M>(3);
  for (const int count : N == n ? std::vector<int>{n} : std::vector<int>{n, 7, 1, n})
    for (const int which : {2, 0, 3, 1, 2}) {
      CAPTURE(count);
      CAPTURE(which);
      batch<T, N> b(count);
      tl::owned<M> m(tl::dim<'n'>{count});
      flat weights = mask_of(which, count);
      for (double& w : weights)
        if (of_bool) w = w != 0;
      for (int i = 0; i < count; ++i) {
        const double w = weights[static_cast<std::size_t>(i)];
        (*m)[i] = static_cast<typename M::value_type>(w);
      }
      const by_loops expected = loops(b, F::weights(weights));
      for (int i = 0; i < count; ++i)
        if (weights[static_cast<std::size_t>(i)] == 0) b.poison(i);
      const auto [value, gradient] = one(*b.p, *b.x, *b.t, *m);
      if (total(weights) == 0) {
        // no rows: a mean of all is 0, a quotient 0 / 0; the gradient is a sum of no rows
        if constexpr (std::is_base_of_v<of_mean, F>) CHECK(value[0] == 0);
        else CHECK(std::isnan(value[0]));
        CHECK(elements(gradient) == flat(expected.gradient.size(), 0.0));
      } else {
        CHECK(value[0] == doctest::Approx(expected.value).epsilon(tolerance));
        CHECK(largest_difference(elements(gradient), expected.gradient) <= tolerance);
      }
      CHECK(support::allocations_of([&] { static_cast<void>(one(*b.p, *b.x, *b.t, *m)); }) == 0);
      const auto [value2, gradient2] = two(*b.p, *b.x, *b.t, *m);
      const auto [value3, gradient3] = three(*b.p, *b.x, *b.t, *m);
      if (total(weights) != 0) CHECK((value2[0] == value[0] && value3[0] == value[0]));
      CHECK(elements(gradient2) == elements(gradient));
      CHECK(elements(gradient3) == elements(gradient));
    }
}

// ---- programs of one mask or list each

struct losses_of_all {
  constexpr auto operator()(const auto& p, auto x, auto t) const { return losses(p, x, t); }
};
struct mean_of_all {
  constexpr auto operator()(const auto& p, auto x, auto t) const { return tl::mean(losses(p, x, t)); }
};
struct with_losses { // of all rows, returned besides
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = losses(p, x, t);
    return std::tuple{tl::mean(m * l), l};
  }
};
struct focal { // the weight is computed: all rows
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::stop_gradient(tl::square(m - tl::exp(-l))) * l);
  }
};
struct masked_top { // of the rows of the mask
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = m * losses(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<6>(l)));
  }
};
struct top_of_listed { // the same: of a list of rows
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = tl::gather(losses(p, x, t), tl::where<'s'>(m > 0.0));
    return tl::mean(tl::gather(l, tl::top_k<6, 'k'>(l)));
  }
};
struct valid_labels { // 255: no label
  constexpr auto operator()(const auto& p, auto x, auto label) const {
    const auto valid = label != 255;
    const auto l = tl::softmax_cross_entropy(scores(p, x), tl::min(label, outputs - 1));
    return tl::sum(tl::where(valid, l, 0.0)) / tl::sum(tl::cast<double>(valid));
  }
};
struct ignored_labels { // the same
  constexpr auto operator()(const auto& p, auto x, auto label) const {
    const auto l = tl::softmax_cross_entropy<tl::ignore_label{255}>(scores(p, x), label);
    return tl::sum(l) / tl::sum(tl::cast<double>(label != 255));
  }
};
struct ignored_pixels { // the same, as those of 4 images
  constexpr auto operator()(const auto& p, auto x, auto label) const {
    const auto of_pixels = tl::reshape<4, 3, 2>(label);
    const auto z = scores(p, tl::reshape<4, 3, 2, inputs>(x));
    const auto l = tl::softmax_cross_entropy<tl::ignore_label{255}>(z, of_pixels);
    return tl::sum(l) / tl::sum(tl::cast<double>(of_pixels != 255));
  }
};
struct labels_of_rows { // without rubbish among them
  constexpr auto operator()(const auto& p, auto x, auto label) const {
    return tl::mean(tl::softmax_cross_entropy(scores(p, x), label));
  }
};
struct listed {
  constexpr auto operator()(const auto& p, auto x, auto t, auto rows) const {
    return tl::mean(tl::gather(losses(p, x, t), rows));
  }
};
struct of_each_segment {
  constexpr auto operator()(const auto& p, auto x, auto t, auto segment) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k_of_each<2, 3, 'k'>(l, segment)));
  }
};
struct as_many {
  constexpr auto operator()(const auto& p, auto x, auto t, auto count) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<n, 'k'>(l, count)));
  }
};
struct hard_and_listed { // two lists of few rows: each goes on by itself
  constexpr auto operator()(const auto& p, auto x, auto t, auto rows) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<6>(l))) + tl::mean(tl::gather(l, rows));
  }
};
struct hard_and_easy { // the same, and a third term of the first list
  constexpr auto operator()(const auto& p, auto x, auto t, auto) const {
    const auto l = losses(p, x, t);
    const auto hard = tl::gather(l, tl::top_k<6>(l));
    return tl::mean(hard) + tl::mean(tl::gather(l, tl::bottom_k<3>(l))) + tl::mean(2.0 * hard);
  }
};
struct three_selections { // of three lists: all rows
  constexpr auto operator()(const auto& p, auto x, auto t, auto rows) const {
    return hard_and_listed{}(p, x, t, rows) +
           tl::mean(tl::gather(losses(p, x, t), tl::bottom_k<3>(losses(p, x, t))));
  }
};
struct hard_and_listed_squares { // of v: no rows are left out
  constexpr auto operator()(const auto& p, auto x, auto t, auto v) const {
    return tl::sum(tl::exp(2.0 * tl::log(v)) * losses(p, x, t));
  }
};
struct two_selections { // cotangents of two lists meet, of which the run counts one: all rows
  constexpr auto operator()(const auto& p, auto x, auto t, auto limit) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<6>(l))) + tl::mean(tl::gather(l, tl::where<'k'>(l < limit)));
  }
};
template <bool Again> struct deep { // five products one after the other
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    auto h = x;
    for (const auto& w : p) h = tl::tanh(tl::matmul(h, w));
    const auto l = tl::mean<1>(tl::square(h - t));
    if constexpr (Again) return tl::mean(tl::gather(l, tl::top_k<3>(l, tl::recompute)));
    else return tl::mean(tl::gather(l, tl::top_k<3>(l)));
  }
};

struct of_rows { // sum of 9 x^4, x > 0
  constexpr auto operator()(auto x) const {
    const auto rows = tl::gather(x, tl::where<'k'>(x > 0.0));
    return tl::sum(tl::square(tl::grad([](auto h) { return tl::sum(h * h * h); })(rows)));
  }
};
struct derivatives_of_rows {
  constexpr auto operator()(auto x, auto v) const {
    constexpr of_rows f{};
    return std::tuple{tl::hvp<0>(f)(x, v), tl::grad(f)(x), f(x), tl::jvp<0>(f)(x, v)};
  }
};

using vector = tl::tensor<double, n>;
using integers = tl::tensor<std::int32_t, n>;
template <class F, class M, int... Wrt> auto program() {
  return tl::jit(tl::value_and_grad<Wrt...>(F{}))
      .template bind<parameters<double>, data<double, n>, targets<double, n>, M>();
}
// the k greatest of those rows: their weights, 1 / k each
inline flat greatest(const flat& loss, const std::vector<int>& among, std::size_t k) {
  std::vector<int> rows = among;
  std::sort(rows.begin(), rows.end(), [&](int i, int j) {
    return loss[static_cast<std::size_t>(i)] > loss[static_cast<std::size_t>(j)];
  });
  rows.resize(std::min(k, rows.size()));
  flat c(loss.size(), 0.0);
  for (const int i : rows) c[static_cast<std::size_t>(i)] = 1 / static_cast<double>(rows.size());
  return c;
}
inline std::vector<int> all_rows() {
  std::vector<int> r(n);
  for (int i = 0; i < n; ++i) r[static_cast<std::size_t>(i)] = i;
  return r;
}
template <class Out, class Gradient> void check_rows(const batch<double>& b, const flat& c, const Out& value,
                                                     const Gradient& gradient) {
  const by_loops expected = loops(b, c);
  CHECK(value[0] == doctest::Approx(expected.value).epsilon(1e-12));
  CHECK(largest_difference(elements(gradient), expected.gradient) < 1e-12);
}

} // namespace weighted_rows
