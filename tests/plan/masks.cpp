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

namespace tl = tapeless;

namespace {

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
flat divided(flat w, double by) {
  for (double& e : w) e /= by;
  return w;
}
double total(const flat& w) {
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
flat mask_of(int which, int count) {
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
flat greatest(const flat& loss, const std::vector<int>& among, std::size_t k) {
  std::vector<int> rows = among;
  std::sort(rows.begin(), rows.end(), [&](int i, int j) {
    return loss[static_cast<std::size_t>(i)] > loss[static_cast<std::size_t>(j)];
  });
  rows.resize(std::min(k, rows.size()));
  flat c(loss.size(), 0.0);
  for (const int i : rows) c[static_cast<std::size_t>(i)] = 1 / static_cast<double>(rows.size());
  return c;
}
std::vector<int> all_rows() {
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

} // namespace

TEST_CASE("masks: the gradient of the weighted rows, whatever the others are") {
  check_mask<mean_of_products, double, n, vector>(1e-12);
  check_mask<mean_of_products, double, n, tl::tensor<bool, n>>(1e-12);
  check_mask<mean_of_products, double, n, integers>(1e-12);
  check_mask<mean_of_products, float, n, tl::tensor<float, n>>(1e-5);
  check_mask<mean_where, double, n, tl::tensor<bool, n>>(1e-12);
  check_mask<mean_without, double, n, tl::tensor<bool, n>>(1e-12);
  check_mask<weighted_mean, double, n, vector>(1e-12);
  check_mask<column, double, n, tl::tensor<double, n, 1>>(1e-12);
  check_mask<of_features, double, n, tl::tensor<bool, n>>(1e-12);
}
TEST_CASE("masks of several axes: of as many rows as elements") {
  check_mask<reshaped, double, n, tl::tensor<double, 4, 3, 2>>(1e-12);
  check_mask<grid, double, n, tl::tensor<double, 4, 3, 2>>(1e-12);
  check_mask<grid, double, n, tl::tensor<bool, 4, 3, 2>>(1e-12);
  check_mask<grid, float, n, tl::tensor<std::int32_t, 4, 3, 2>>(1e-5);
}
TEST_CASE("masks of a named extent") {
  check_mask<mean_where, double, named, tl::tensor<bool, named>>(1e-12);
  check_mask<weighted_mean, double, named, tl::tensor<double, named>>(1e-12);
}
TEST_CASE("masks: a product of two of them") {
  batch<double> b;
  tl::owned<vector> m;
  auto run = program<two_masks, vector, 0>();
  flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  for (const int i : {4, 5, 6, 23}) (*b.t)[i * outputs] = -3, c[static_cast<std::size_t>(i)] = 0;
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, of_ratio::weights(c), value, gradient);
}
TEST_CASE("masks: ones everywhere are no mask") {
  batch<double> b;
  tl::owned<vector> m;
  std::fill(m.view().begin(), m.view().end(), 1.0);
  auto run = program<mean_of_products, vector, 0>();
  auto without = tl::jit(tl::value_and_grad<0>(mean_of_all{}))
                     .bind<parameters<double>, data<double, n>, targets<double, n>>();
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  const auto [expected, of_all] = without(*b.p, *b.x, *b.t);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-14));
  CHECK(largest_difference(elements(gradient), elements(of_all)) < 1e-14);
}
TEST_CASE("masks: the losses of all rows besides are those of the program without the mask") {
  constexpr tl::cost of_losses =
      tl::jit(losses_of_all{}).cost<parameters<double>, data<double, n>, targets<double, n>>();
  static_assert(of_losses.primal.flops <= cost_of<with_losses, double, n, vector, 0>.primal.flops &&
                counts_rows(cost_of<with_losses, double, n, vector, 0>.adjoint.flops));
  batch<double> b;
  tl::owned<vector> m;
  auto run = program<with_losses, vector, 0>();
  auto without = tl::jit(losses_of_all{}).bind<parameters<double>, data<double, n>, targets<double, n>>();
  const flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  const auto [out, gradient] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, of_mean::weights(c), std::get<0>(out), gradient);
  CHECK(elements(std::get<1>(out)) == elements(without(*b.p, *b.x, *b.t)));
}
TEST_CASE("masks: differentiated by, or computed as a focal weight, they keep all rows") {
  static_assert(!counts_rows(cost_of<mean_of_products, double, n, vector, 0, 3>.flops()));
  static_assert(!counts_rows(cost_of<focal, double, n, vector, 0>.flops()));
  batch<double> b;
  tl::owned<vector> m;
  flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  auto run = program<mean_of_products, vector, 0, 3>();
  const auto [value, gradient, by_mask] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, of_mean::weights(c), value, gradient);
  const flat loss = loops(b, c).loss;
  CHECK(largest_difference(elements(by_mask), divided(loss, n)) < 1e-13);
  auto run_focal = program<focal, vector, 0>();
  const auto [value_focal, gradient_focal] = run_focal(*b.p, *b.x, *b.t, *m);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::pow(c[i] - std::exp(-loss[i]), 2) / n;
  check_rows(b, c, value_focal, gradient_focal);
}
TEST_CASE("masks: the greatest losses of the rows of a mask") {
  batch<double> b;
  tl::owned<vector> m;
  const flat c = mask_of(2, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  flat loss = loops(b, c).loss;
  for (std::size_t i = 0; i < c.size(); ++i) loss[i] *= c[i];
  auto run = program<masked_top, vector, 0>();
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, greatest(loss, all_rows(), 6), value, gradient);
}
TEST_CASE("rows of rows: the greatest losses of a list, of which alone the forward is computed") {
  constexpr tl::cost c = cost_of<top_of_listed, double, n, vector, 0>;
  static_assert(c.densified == 0);
  static_assert(c.primal.flops.at(tl::dim<'s'>(0), tl::dim<'k'>(0)) <= 4 * n);   // no product of all rows
  static_assert(c.adjoint.flops.at(tl::dim<'s'>(n), tl::dim<'k'>(0)) <= 40 * n); // nor of all of the list
  batch<double> b;
  tl::owned<vector> m;
  auto run = program<top_of_listed, vector, 0>();
  const flat all = loops(b, flat(n, 0.0)).loss;
  for (const int which : {2, 1, 2}) {
    const flat weights = mask_of(which, n);
    std::vector<int> among;
    for (int i = 0; i < n; ++i)
      if (((*m)[i] = weights[static_cast<std::size_t>(i)]) != 0) among.push_back(i);
    batch<double> poisoned;
    for (int i = 0; i < n; ++i)
      if ((*m)[i] == 0) poisoned.poison(i);
    const auto [value, gradient] = run(*poisoned.p, *poisoned.x, *poisoned.t, *m);
    check_rows(b, greatest(all, among, 6), value, gradient);
    CHECK(support::allocations_of(
              [&] { static_cast<void>(run(*poisoned.p, *poisoned.x, *poisoned.t, *m)); }) == 0);
  }
}
TEST_CASE("masks: H d is the difference of two gradients") {
  batch<double> b;
  tl::owned<vector> m;
  tl::owned<parameters<double>> d;
  const flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  support::draw(*d, 40);
  const auto gradient_at = [&](double step) { // p + step d
    batch<double> moved;
    flat by = elements(*d);
    std::size_t at = 0;
    tl::for_each_leaf(*moved.p, [&](const auto& leaf) {
      for (double& e : leaf) e += step * by[at++];
    });
    return loops(moved, of_ratio::weights(c)).gradient;
  };
  const flat above = gradient_at(1e-5), below = gradient_at(-1e-5);
  flat difference(above.size());
  for (std::size_t i = 0; i < above.size(); ++i) difference[i] = (above[i] - below[i]) / 2e-5;
  for (int i = 0; i < n; ++i)
    if (c[static_cast<std::size_t>(i)] == 0) b.poison(i);
  auto run = tl::jit(tl::hvp<0>(weighted_mean{}))
                 .bind<parameters<double>, data<double, n>, targets<double, n>, vector, parameters<double>>();
  CHECK(largest_difference(elements(run(*b.p, *b.x, *b.t, *m, *d)), difference) < 1e-7);
}
TEST_CASE_TEMPLATE("masks: labels that are none", F, valid_labels, ignored_labels, ignored_pixels) {
  using P = parameters<double>;
  static_assert(counts_rows(
      tl::jit(tl::value_and_grad<0>(F{})).template cost<P, data<double, n>, integers>().adjoint.flops));
  auto run = tl::jit(tl::value_and_grad<0>(F{})).template bind<P, data<double, n>, integers>();
  auto rest = tl::jit(tl::value_and_grad<0>(labels_of_rows{}))
                  .bind<P, data<double, named>, tl::tensor<std::int32_t, named>>(tl::dim<'n'>(n));
  batch<double> b;
  tl::owned<integers> label;
  int valid = 0;
  for (int i = 0; i < n; ++i) valid += ((*label)[i] = i % 4 == 1 ? 255 : i % 3) != 255;
  batch<double, named> kept(valid);
  tl::owned<tl::tensor<std::int32_t, named>> kept_label(tl::dim<'n'>{valid});
  int at = 0;
  for (int i = 0; i < n; ++i) {
    if ((*label)[i] == 255) {
      b.poison(i);
      continue;
    }
    std::copy_n((*b.x).data() + i * inputs, inputs, (*kept.x).data() + at * inputs);
    (*kept_label)[at++] = (*label)[i];
  }
  const auto [value, gradient] = run(*b.p, *b.x, *label);
  const auto [expected, of_kept] = rest(*kept.p, *kept.x, *kept_label);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-12));
  CHECK(largest_difference(elements(gradient), elements(of_kept)) < 1e-12);
}

TEST_CASE("masks and selections: their positions are int32") {
  using support::refusal;
  constexpr auto selected = [](auto x) { return tl::sum(tl::gather(x, tl::top_k<3, 'k'>(x))); };
  using V = tl::tensor<double, named>;
  const std::string message =
      "tapeless: bind: a selection among 2147483648 values: at most 2147483647, positions are std::int32_t";
  CHECK(refusal([&] {
          static_cast<void>(tl::jit(selected).bind<V>(tl::dim<'n'>(extent_of_positions + 1)));
        }) == message);
  constexpr auto masked = tl::jit(tl::value_and_grad<0>(weighted_mean{}));
  CHECK(refusal([&] {
          static_cast<void>(masked.bind<parameters<double>, data<double, named>, targets<double, named>, V>(
              tl::dim<'n'>(extent_of_positions + 1)));
        }) == message);
}

TEST_CASE("where: a condition that leaves out, of fewer axes than the result") {
  using V = tl::tensor<double, 4>;
  using B = tl::tensor<double, 4, 1>;
  constexpr auto f = [](auto v, auto b) {
    return tl::where(tl::broadcast_to<4, 3>(tl::reshape<4, 1>(v)) > 0.0, 0.0, b);
  };
  auto run = tl::jit(f).bind<V, B>();
  double v[] = {1, -1, 0, 2}, b[] = {1, 2, 3, 4};
  const auto y = run(V(v), B(b));
  REQUIRE(y.size() == 12);
  for (int i = 0; i < 12; ++i) CHECK(y[i] == (v[i / 3] > 0 ? 0 : b[i / 3]));
}
TEST_CASE("rows of an argument, which may repeat") {
  using list = tl::tensor<std::int32_t, n / 2>;
  static_assert(cost_of<listed, double, n, list, 0>.flops() <=
                0.6 * cost_of<mean_of_products, double, n, vector, 0, 3>.flops());
  auto run = program<listed, list, 0>();
  batch<double> b;
  tl::owned<list> rows;
  for (const int spread : {n, 3, 1}) {
    flat c(n, 0.0);
    for (int i = 0; i < n / 2; ++i) {
      (*rows)[i] = (i * 7 + 5) % spread;
      c[static_cast<std::size_t>((*rows)[i])] += 2.0 / n;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value, gradient);
  }
}
TEST_CASE("rows: the greatest of each segment") {
  auto run = program<of_each_segment, integers, 0>();
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  for (const int segments :
       {3, 1, 5, 0}) { // segment 2 may have one row, or none; segments 3, 4 and -1 are none
    tl::owned<integers> segment;
    flat c(n, 0.0);
    int kept = 0;
    std::vector<int> members[3];
    for (int i = 0; i < n; ++i) {
      (*segment)[i] = segments == 0 ? -1 : i % segments;
      if (segments > 0 && i % segments < 3) members[i % segments].push_back(i);
    }
    for (const auto& rows : members) {
      const flat some = greatest(loss, rows, 2);
      for (std::size_t i = 0; i < c.size(); ++i)
        if (some[i] != 0) c[i] = 1, ++kept;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *segment);
    if (kept > 0) check_rows(b, divided(c, kept), value, gradient);
    else CHECK((std::isnan(value[0]) && elements(gradient) == flat(elements(gradient).size(), 0.0)));
  }
}
TEST_CASE("rows: the greatest of few segments of many rows") {
  constexpr int many = 20000;
  using V = tl::tensor<double, many>;
  using S = tl::tensor<std::int32_t, many>;
  auto run = tl::jit(tl::value_and_grad<0>([](auto x, auto segment) {
               return tl::sum(tl::gather(x, tl::top_k_of_each<1, 2, 'k'>(x, segment)));
             })).bind<V, S>();
  tl::owned<V> x;
  tl::owned<S> segment;
  flat expected(many, 0.0);
  for (int i = 0; i < many; ++i) {
    (*x)[i] = (i * 7919) % many;
    (*segment)[i] = i % 3;
  }
  for (int s = 0; s < 2; ++s) {
    int best = s;
    for (int i = s; i < many; i += 3)
      if ((*x)[i] > (*x)[best]) best = i;
    expected[static_cast<std::size_t>(best)] = 1;
  }
  CHECK(elements(std::get<1>(run(*x, *segment))) == expected);
}
TEST_CASE(
    "rows: none in one run, some in the next: maxima of them, and indices into them, which are clamped") {
  using S = tl::tensor<double>;
  using I = tl::tensor<std::int32_t, 2>;
  auto run = tl::jit([](auto x, auto limit, auto i) {
               const auto rows = tl::gather(x, tl::where<'k'>(x > limit));
               return std::tuple{tl::max(rows), tl::gather(rows, i)};
             }).bind<vector, S, I>();
  tl::owned<vector> x;
  tl::owned<S> limit;
  tl::owned<I> i;
  for (int k = 0; k < n; ++k) (*x)[k] = k;
  (*i)[0] = 1, (*i)[1] = 5;
  for (const int above : {n - 3, 2, n, n - 9, n}) {
    (*limit)[0] = above;
    const auto [greatest_one, picked] = run(*x, *limit, *i);
    CHECK(greatest_one[0] == (above < n ? n - 1 : -infinity));
    if (above < n) CHECK((picked[0] == above + 2 && picked[1] == std::min(above + 6, n - 1)));
  }
}
TEST_CASE("rows: no more memory than the rows that there are, whatever k") {
  using V = tl::tensor<double, named>;
  auto run = tl::jit(tl::value_and_grad<0>([](auto x) {
               return tl::sum(tl::square(tl::gather(tl::tanh(x), tl::top_k<(1 << 30), 'k'>(x))));
             })).bind<V>(tl::dim<'n'>(n));
  auto each = tl::jit(tl::value_and_grad<0>([](auto x, auto segment) {
                return tl::sum(tl::square(
                    tl::gather(tl::tanh(x), tl::top_k_of_each<(1 << 30), (1 << 10), 'k'>(x, segment))));
              })).bind<V, tl::tensor<std::int32_t, named>>(tl::dim<'n'>(n));
  CHECK((run.arena_bytes() < 40000 && each.arena_bytes() < 40000));
  tl::owned<V> x(tl::dim<'n'>{n});
  tl::owned<tl::tensor<std::int32_t, named>> segment(tl::dim<'n'>{n});
  flat expected;
  for (int i = 0; i < n; ++i) {
    (*x)[i] = (i - 7) / 8.0;
    (*segment)[i] = i * 40;
    const double y = std::tanh((*x)[i]);
    expected.push_back(2 * y * (1 - y * y));
  }
  CHECK(largest_difference(elements(std::get<1>(run(*x))), expected) < 1e-12);
  CHECK(largest_difference(elements(std::get<1>(each(*x, *segment))), expected) < 1e-12);
}
TEST_CASE("rows: a function of selected rows is differentiated by them, twice, and called again") {
  using V = tl::tensor<double, n>;
  auto run = tl::jit(derivatives_of_rows{}).bind<V, V>();
  tl::owned<V> x, v;
  flat h, d;
  double value = 0, tangent = 0;
  for (int i = 0; i < n; ++i) {
    const double e = (*x)[i] = (i * 5 % 11 - 4) / 4.0, along = (*v)[i] = i - 10;
    const bool in = e > 0;
    value += in ? 9 * std::pow(e, 4) : 0;
    d.push_back(in ? 36 * std::pow(e, 3) : 0);
    h.push_back(in ? 108 * e * e * along : 0);
    tangent += d.back() * along;
  }
  const auto [hv, gradient, y, y_dot] = run(*x, *v);
  CHECK(largest_difference(elements(hv), h) < 1e-10);
  CHECK(largest_difference(elements(gradient), d) < 1e-10);
  CHECK(y[0] == doctest::Approx(value));
  CHECK(y_dot[0] == doctest::Approx(tangent));
}
TEST_CASE("rows: as many as the run says, none and all of them too") {
  auto run = program<as_many, tl::tensor<std::int32_t>, 0>();
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  tl::owned<tl::tensor<std::int32_t>> k;
  for (const std::int32_t count : {5, 0, n, 1, -3, n + 9, std::numeric_limits<std::int32_t>::min(), 2}) {
    CAPTURE(count);
    (*k)[0] = count;
    if (count < 0 || count > n) {
      CHECK_THROWS_AS(run(*b.p, *b.x, *b.t, *k), tl::argument_error);
      continue;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *k);
    CHECK(support::allocations_of([&] { static_cast<void>(run(*b.p, *b.x, *b.t, *k)); }) == 0);
    if (count > 0)
      check_rows(b, greatest(loss, all_rows(), static_cast<std::size_t>(count)), value, gradient);
    else CHECK((std::isnan(value[0]) && elements(gradient) == flat(elements(gradient).size(), 0.0)));
  }
}
TEST_CASE("rows: two lists of few rows in one loss") {
  using list = tl::tensor<std::int32_t, 4>;
  constexpr tl::cost of_two = cost_of<hard_and_listed, double, n, list, 0>;
  constexpr tl::cost of_all = cost_of<mean_of_products, double, n, vector, 0, 3>;
  static_assert(of_two.densified == 0 && of_two.adjoint.flops <= 0.55 * of_all.adjoint.flops);
  static_assert(cost_of<hard_and_easy, double, n, list, 0>.densified == 0);
  static_assert(cost_of<three_selections, double, n, list, 0>.densified > 0);
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  const flat hardest = greatest(loss, all_rows(), 6);
  flat negated = loss;
  for (double& e : negated) e = -e;
  const flat easiest = greatest(negated, all_rows(), 3);
  tl::owned<list> rows;
  auto run = program<hard_and_listed, list, 0>();
  auto with_easy = program<hard_and_easy, list, 0>();
  auto of_three = program<three_selections, list, 0>();
  auto two = tl::jit(tl::value_and_grad<0>(hard_and_listed{}))
                 .bind<parameters<double>, data<double, n>, targets<double, n>, list>(tl::threads(2));
  auto hessian =
      tl::jit(tl::hvp<0>(hard_and_listed{}))
          .bind<parameters<double>, data<double, n>, targets<double, n>, list, parameters<double>>();
  auto of_squares =
      tl::jit(tl::hvp<0>(hard_and_listed_squares{}))
          .bind<parameters<double>, data<double, n>, targets<double, n>, vector, parameters<double>>();
  for (const int spread : {n, 5, 1}) { // they are rows of the other list too, and one row several times
    flat c = hardest;
    for (int i = 0; i < 4; ++i) {
      (*rows)[i] = (i * 7 + 5) % spread;
      c[static_cast<std::size_t>((*rows)[i])] += 0.25;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value, gradient);
    CHECK(support::allocations_of([&] { static_cast<void>(run(*b.p, *b.x, *b.t, *rows)); }) == 0);
    const auto [value2, gradient2] = two(*b.p, *b.x, *b.t, *rows);
    CHECK((value2[0] == value[0] && elements(gradient2) == elements(gradient)));
    tl::owned<vector> v;
    for (int i = 0; i < n; ++i) (*v)[i] = std::sqrt(c[static_cast<std::size_t>(i)]);
    CHECK(largest_difference(elements(hessian(*b.p, *b.x, *b.t, *rows, *b.p)),
                             elements(of_squares(*b.p, *b.x, *b.t, *v, *b.p))) < 1e-11);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] += easiest[i];
    const auto [value3, gradient3] = of_three(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value3, gradient3);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = 3 * hardest[i] + easiest[i];
    const auto [value4, gradient4] = with_easy(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value4, gradient4);
  }
}
TEST_CASE("rows: two selections in one loss, one of them counted") {
  static_assert(cost_of<two_selections, double, n, tl::tensor<double>, 0>.densified > 0);
  auto run = program<two_selections, tl::tensor<double>, 0>();
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  flat sorted = loss;
  std::sort(sorted.begin(), sorted.end());
  for (const std::size_t below : {3, 20, n - 1}) {
    tl::owned<tl::tensor<double>> limit;
    (*limit)[0] = sorted[below];
    flat c = greatest(loss, all_rows(), 6);
    for (std::size_t i = 0; i < c.size(); ++i)
      if (loss[i] < sorted[below]) c[i] += 1 / static_cast<double>(below);
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *limit);
    check_rows(b, c, value, gradient);
  }
}
TEST_CASE("rows: computed again, they need less memory") {
  constexpr int rows = 96;
  using P = std::array<tl::tensor<double, 32, 32>, 5>;
  using X = tl::tensor<double, rows, 32>;
  constexpr tl::cost again = tl::jit(tl::value_and_grad<0>(deep<true>{})).cost<P, X, X>();
  constexpr tl::cost kept = tl::jit(tl::value_and_grad<0>(deep<false>{})).cost<P, X, X>();
  static_assert(again.arena <= 0.75 * kept.arena && again.flops() >= kept.flops());
  tl::owned<P> p;
  tl::owned<X> x, t;
  std::uint64_t seed = support::draw(*p, 3);
  seed = support::draw(*x, seed);
  support::draw(*t, seed);
  auto run = tl::jit(tl::value_and_grad<0>(deep<true>{})).bind<P, X, X>();
  auto without = tl::jit(tl::value_and_grad<0>(deep<false>{})).bind<P, X, X>();
  const auto [value, gradient] = run(*p, *x, *t);
  const auto [expected, of_kept] = without(*p, *x, *t);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-14));
  CHECK(largest_difference(elements(gradient), elements(of_kept)) < 1e-12);
}
