// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sweeps of rows, end to end: what a program over many rows computes is what the same program computes of each row.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr int count = 1000, row = 100;
template <int N> using rows = tl::tensor<float, N, row>;
using scale = tl::tensor<float, row>;

constexpr auto network = [](auto x, auto gamma, auto beta) {
  return tl::layer_norm(tl::softmax(tl::layer_norm(x, gamma, beta)) * gamma);
};
constexpr auto pullback = tl::vjp<0>(network);

template <class F, class... X> constexpr int steps_in_sweeps() {
  const auto& p = tl::detail::planned<F, X...>::value;
  int n = 0;
  for (int i = 0; i < p.steps; ++i) n += p.step_[i].sweep;
  return n;
}
template <class View> void fill(unsigned seed, const View& v) {
  for (auto& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) * 0x1p-22f - 2.0f;
  }
}

// Kernels of programs that differ may round differently: where the compiler contracts a product and a sum.
bool near(const float* expected, const float* x) {
  bool all = true;
  for (int j = 0; j < row; ++j)
    all = all && std::abs(expected[j] - x[j]) <= 2e-5f * std::max(1.0f, std::abs(expected[j]));
  return all;
}

template <class F, int More> void check_rows(int threads) {
  tl::owned<rows<count>> x, y_bar;
  tl::owned<rows<1>> one, one_bar;
  tl::owned<scale> gamma, beta;
  fill(1, *x);
  fill(2, *y_bar);
  fill(3, *gamma);
  fill(4, *beta);
  const auto run = [](auto& bound, const auto& a, const auto& b, const auto& g, const auto& h) {
    if constexpr (More == 1) return bound(*a, *g, *h, *b);
    else return bound(*a, *g, *h);
  };
  const auto bind = []<class X>(std::type_identity<X>, int t) {
    if constexpr (More == 1) return tl::jit(F{}).template bind<X, scale, scale, X>(tl::threads(t));
    else return tl::jit(F{}).template bind<X, scale, scale>(tl::threads(t));
  };
  auto all = bind(std::type_identity<rows<count>>{}, threads);
  auto single = bind(std::type_identity<rows<1>>{}, 1);
  const auto result = run(all, x, y_bar, gamma, beta);
  bool agree = true;
  for (int i = 0; i < count; ++i) {
    std::copy_n((*x).data() + i * row, row, (*one).data());
    std::copy_n((*y_bar).data() + i * row, row, (*one_bar).data());
    const auto expected = run(single, one, one_bar, gamma, beta);
    agree = agree && near(expected.data(), result.data() + i * row);
  }
  CHECK(agree);
}

// y, its transpose, its transpose's softmax: rows of another step are read across
constexpr auto across = [](auto x) { return tl::softmax(tl::transpose(tl::softmax(x))); };
// one row of the softmax is read by all, and a shifted part of each
constexpr auto first_row = [](auto x) {
  auto y = tl::softmax(x);
  return tl::softmax(y * tl::slice<0, 0, 1>(y) + tl::sum<1>(tl::slice<1, 10, 20>(y), tl::keepdims));
};
std::vector<double> softmax(std::vector<double> v) {
  const double top = *std::max_element(v.begin(), v.end());
  double sum = 0;
  for (double& e : v) sum += e = std::exp(e - top);
  for (double& e : v) e /= sum;
  return v;
}
template <class View> std::vector<double> line(const View& v, int i, int n) {
  return std::vector<double>(v.data() + i * n, v.data() + (i + 1) * n);
}
template <class View> double difference(const View& v, int i, const std::vector<double>& expected) {
  double worst = 0;
  const int n = static_cast<int>(expected.size());
  for (int j = 0; j < n; ++j)
    worst = std::max(worst, std::abs(v.data()[i * n + j] - expected[j]) / expected[j]);
  return worst;
}

// What lives within a sweep: it lies in the scratch of a member, and no step writes where it reads.
template <class F, class... X> constexpr bool sweeps_keep_to_their_scratch() {
  using namespace tl::detail;
  const auto& p = planned<F, X...>::value;
  for (int i = 0; i < p.steps; ++i) {
    const step& s = p.step_[i];
    const int n = s.loads + (s.fused ? s.stores : 1);
    for (int k = s.slot0; k < s.slot0 + n; ++k) {
      const slot& q = p.slot_[k];
      if (q.at.where != place::sweep) continue;
      const bool in_a_sweep = s.sweep || (i + 1 < p.steps && p.step_[i + 1].sweep);
      if (!in_a_sweep || q.at.offset < 0 || q.at.offset >= p.sweep_bytes) return false;
      for (int w = s.slot0 + s.loads; w < s.slot0 + n; ++w)
        if (w != k && p.slot_[w].at == q.at) return false;
    }
  }
  return true;
}
template <class F, class... X> constexpr int values_within_sweeps() {
  const auto& p = tl::detail::planned<F, X...>::value;
  int n = 0;
  for (int i = 0; i < p.steps; ++i)
    for (int k = 0; k < p.step_[i].stores; ++k)
      n += p.slot_[p.step_[i].slot0 + p.step_[i].loads + k].at.where == tl::detail::place::sweep;
  return n;
}
constexpr auto softmax_of_rows = [](auto x) { return tl::softmax(x); };
// the exponentials are a result too
constexpr auto exponentials = [](auto x) {
  auto e = exp(x - tl::max<1>(x, tl::keepdims));
  return std::tuple{e * (1.0 / tl::sum<1>(e, tl::keepdims)), e};
};

// sums and a maximum over rows beside and between the steps of sweeps
constexpr auto over_rows = [](auto x) {
  auto y = tl::softmax(x);
  auto bottom = tl::softmax(y - tl::max<0>(y) + tl::sum(x * x));
  return std::tuple{bottom, tl::sum<0>(y * x), tl::sum(y * bottom), tl::max<0>(bottom)};
};

// Of a sweep, no step writes in the arena where another one reads or writes.
template <class F, class... X> bool sweeps_are_disjoint() {
  using namespace tl::detail;
  const auto& p = planned<F, X...>::value;
  const auto bytes = [&](const step& s, const slot& q) {
    tl::extent_t last = 0;
    for (int a = 0; a < s.axes; ++a) last += (s.loop[a] - 1) * q.stride[a];
    return (last + 1) * size_of(q.t);
  };
  bool right = true;
  for (int first = 0; first < p.steps; ++first)
    for (int i = first + 1; i < p.steps && p.step_[i].sweep; ++i)
      for (int before = first; before < i; ++before) {
        const step &s = p.step_[i], &b = p.step_[before];
        for (int w = s.slot0 + s.loads; w < s.slot0 + s.loads + s.stores; ++w)
          for (int r = b.slot0; r < b.slot0 + b.loads + b.stores; ++r) {
            const slot &x = p.slot_[w], &y = p.slot_[r];
            if (x.at.where != place::arena || x.at.where != y.at.where || x.at.index != y.at.index) continue;
            right = right &&
                    (x.at.offset + bytes(s, x) <= y.at.offset || y.at.offset + bytes(b, y) <= x.at.offset);
          }
      }
  return right;
}

} // namespace

TEST_CASE("sweeps: many rows at once are each row by itself") {
  static_assert(steps_in_sweeps<decltype(network), rows<count>, scale, scale>() >= 6);
  static_assert(steps_in_sweeps<decltype(pullback), rows<count>, scale, scale, rows<count>>() >= 6);
  static_assert(steps_in_sweeps<decltype(network), rows<1>, scale, scale>() == 0);
  for (int threads : {1, 2}) {
    check_rows<decltype(network), 0>(threads);
    check_rows<std::remove_const_t<decltype(pullback)>, 1>(threads);
  }
}

TEST_CASE("sweeps: within one nothing is written where another step reads or writes") {
  CHECK(sweeps_are_disjoint<decltype(network), rows<count>, scale, scale>());
  CHECK(
      sweeps_are_disjoint<std::remove_const_t<decltype(pullback)>, rows<count>, scale, scale, rows<count>>());
}

TEST_CASE("sweeps: what only a sweep reads has no buffer of the tensor's size") {
  using X = rows<count>;
  using tl::detail::aligned;
  static_assert(values_within_sweeps<decltype(softmax_of_rows), X>() == 5);
  static_assert(tl::jit(softmax_of_rows).cost<X>().arena == aligned(4 * count * row));
  static_assert(tl::jit(softmax_of_rows).cost<X>().bytes() == 2 * 4 * count * row);
  // a result is memory, and so is what a step outside reads
  static_assert(values_within_sweeps<decltype(exponentials), X>() == 3);
  static_assert(values_within_sweeps<decltype(softmax_of_rows), rows<1>>() == 0);
  static_assert(sweeps_keep_to_their_scratch<decltype(softmax_of_rows), X>());
  static_assert(sweeps_keep_to_their_scratch<decltype(network), X, scale, scale>());
  static_assert(sweeps_keep_to_their_scratch<decltype(pullback), X, scale, scale, X>());
  static_assert(sweeps_keep_to_their_scratch<decltype(across), tl::tensor<double, 300, 300>>());
  tl::owned<X> x;
  fill(7, *x);
  auto bound = tl::jit(exponentials).bind<X>(tl::threads(2));
  auto plain = tl::jit(softmax_of_rows).bind<X>();
  const auto [y, e] = bound(*x);
  const auto z = plain(*x);
  CHECK(std::equal(y.begin(), y.end(), z.begin()));
  CHECK(*std::max_element(e.begin(), e.end()) == 1.0f);
}

TEST_CASE("sweeps: sums over rows are partial sums of each chunk") {
  using named = tl::tensor<double, tl::dyn<'n'>, row>;
  constexpr const auto& p = tl::detail::planned<decltype(over_rows), named>::value;
  static_assert(steps_in_sweeps<decltype(over_rows), named>() >= 4);
  constexpr int first = [] {
    int k = 0;
    while (!p.step_[k].sweep) ++k;
    return k - 1;
  }();
  constexpr bool sums = [] {
    bool found = false;
    for (int k = first; k == first || p.step_[k].sweep; ++k) found = found || p.step_[k].partials > 0;
    return found;
  }();
  static_assert(sums);
  auto alone = tl::jit(over_rows).bind<named>(tl::dim<'n'>(count), tl::threads(1));
  auto team = tl::jit(over_rows).bind<named>(tl::dim<'n'>(count), tl::threads(2));
  for (const int n : {1, 2, 163, 164, count}) {
    tl::owned<named> x{tl::dim<'n'>(n)};
    unsigned seed = 8;
    for (double& v : *x) {
      seed = seed * 1664525u + 1013904223u;
      v = static_cast<double>(seed >> 8) * 0x1p-22 - 2.0;
    }
    std::vector<std::vector<double>> y(n), bottom(n);
    std::vector<double> top(row, 0), columns(row, 0), highest(row, 0);
    double squares = 0, product = 0;
    for (int i = 0; i < n; ++i) {
      y[i] = softmax(line(*x, i, row));
      for (int j = 0; j < row; ++j) {
        const double v = line(*x, i, row)[j];
        top[j] = std::max(top[j], y[i][j]);
        columns[j] += y[i][j] * v;
        squares += v * v;
      }
    }
    for (int i = 0; i < n; ++i) {
      bottom[i] = y[i];
      for (int j = 0; j < row; ++j) bottom[i][j] += squares - top[j];
      bottom[i] = softmax(bottom[i]);
      for (int j = 0; j < row; ++j) {
        product += y[i][j] * bottom[i][j];
        highest[j] = std::max(highest[j], bottom[i][j]);
      }
    }
    const auto [a, b, c, d] = alone(*x);
    double worst = 0;
    for (int i = 0; i < n; ++i) worst = std::max(worst, difference(a, i, bottom[i]));
    for (int j = 0; j < row; ++j) {
      worst = std::max(worst, std::abs(b.data()[j] - columns[j]) / n);
      worst = std::max(worst, std::abs(d.data()[j] - highest[j]));
    }
    CHECK(worst < 1e-10);
    CHECK(*c.data() == doctest::Approx(product).epsilon(1e-12));
    const auto [e, f, g, h] = team(*x);
    CHECK(std::equal(a.begin(), a.end(), e.begin()));
    CHECK(std::equal(b.begin(), b.end(), f.begin()));
    CHECK(*c.data() == *g.data());
    CHECK(std::equal(d.begin(), d.end(), h.begin()));
  }
  // no rows: a sum of nothing
  constexpr auto sums_only = [](auto x) {
    auto y = tl::softmax(x);
    return std::tuple{tl::sum<0>(y * x), tl::sum(y), y};
  };
  auto bound = tl::jit(sums_only).bind<named>(tl::dim<'n'>(count), tl::threads(2));
  tl::owned<named> some{tl::dim<'n'>(count)}, none{tl::dim<'n'>(0)};
  std::fill((*some).begin(), (*some).end(), 1.0);
  CHECK(*std::get<1>(bound(*some)).data() == doctest::Approx(count));
  const auto nothing = bound(*none);
  CHECK(*std::get<1>(nothing).data() == 0);
  for (const double v : std::get<0>(nothing)) CHECK(v == 0);
}

TEST_CASE("sweeps: any number of rows, none among them, into the caller's buffer") {
  using named = tl::tensor<float, tl::dyn<'n'>, row>;
  auto bound = tl::jit(network).bind<named, scale, scale>(tl::dim<'n'>(700), tl::threads(2));
  auto single = tl::jit(network).bind<rows<1>, scale, scale>();
  tl::owned<scale> gamma, beta;
  fill(3, *gamma);
  fill(4, *beta);
  for (const int n : {0, 1, 163, 164, 700}) {
    tl::owned<named> x{tl::dim<'n'>(n)}, y{tl::dim<'n'>(n)};
    fill(1, *x);
    bound.into (*y)(*x, *gamma, *beta);
    bool all = true;
    for (int i = 0; i < n; ++i) {
      tl::owned<rows<1>> one;
      std::copy_n((*x).data() + i * row, row, (*one).data());
      const auto expected = single(*one, *gamma, *beta);
      all = all && near(expected.data(), (*y).data() + i * row);
    }
    CHECK(all);
  }
}

TEST_CASE("sweeps: a step that reads other rows than its own waits for all of them") {
  // the stride of a named extent times a long row is no number
  static_assert(steps_in_sweeps<decltype(across), tl::tensor<float, 500000, tl::dyn<'n'>>>() >= 1);
  constexpr int n = 300;
  using square = tl::tensor<double, n, n>;
  static_assert(steps_in_sweeps<decltype(across), square>() >= 4);
  tl::owned<square> x;
  fill(5, *x);
  auto bound = tl::jit(across).bind<square>(tl::threads(2));
  const auto z = bound(*x);
  std::vector<std::vector<double>> y(n, std::vector<double>(n)); // y[j][i] = softmax(x)[i][j]
  for (int i = 0; i < n; ++i) {
    const std::vector<double> row_of_y = softmax(line(*x, i, n));
    for (int j = 0; j < n; ++j) y[j][i] = row_of_y[j];
  }
  double worst = 0;
  for (int j = 0; j < n; ++j) worst = std::max(worst, difference(z, j, softmax(y[j])));
  CHECK(worst < 1e-13);
}

TEST_CASE("sweeps: a row that all read, and a part of each row") {
  using X = tl::tensor<double, count, row>;
  static_assert(steps_in_sweeps<decltype(first_row), X>() >= 3);
  tl::owned<X> x;
  fill(6, *x);
  auto bound = tl::jit(first_row).bind<X>(tl::threads(2));
  const auto z = bound(*x);
  const std::vector<double> top = softmax(line(*x, 0, row));
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<double> y = softmax(line(*x, i, row));
    double part = 0;
    for (int j = 10; j < 20; ++j) part += y[j];
    for (int j = 0; j < row; ++j) y[j] = y[j] * top[j] + part;
    worst = std::max(worst, difference(z, i, softmax(y)));
  }
  CHECK(worst < 1e-13);
}

TEST_CASE("sweeps: results larger than the caches, whether or not their rows begin at vectors") {
  constexpr int n = 8200, m = 1027;
  using X = tl::tensor<float, n, m>;
  constexpr const auto& p = tl::detail::planned<decltype(softmax_of_rows), X>::value;
  static_assert(tl::cpu::stores_past_caches(p, p.step_[p.steps - 1]) == 1);
  static_assert(tl::cpu::stores_past_caches(p, p.step_[0]) == 0);
  tl::owned<X> x;
  fill(9, *x);
  auto bound = tl::jit(softmax_of_rows).bind<X>(tl::threads(2));
  auto single = tl::jit(softmax_of_rows).bind<tl::tensor<float, 1, m>>();
  const auto y = bound(*x);
  bool same = true;
  for (int i = 0; i < n; i += 41) {
    tl::owned<tl::tensor<float, 1, m>> one;
    std::copy_n((*x).data() + i * m, m, (*one).data());
    const auto expected = single(*one);
    same = same && std::equal(expected.begin(), expected.end(), y.data() + i * m);
  }
  CHECK(same);
}

namespace {

constexpr auto batch_norm = [](auto x, auto gamma, auto beta) { return tl::batch_norm(x, gamma, beta); };
constexpr auto gradients = tl::value_and_grad<0, 1, 2>(
    [](auto x, auto gamma, auto beta, auto u) { return tl::sum(tl::batch_norm(x, gamma, beta) * u); });

} // namespace

// The same program with a named extent passes over the whole tensor once for each of its loops.
TEST_CASE("sweeps: channel by channel of a large tensor, as the whole tensor loop by loop") {
  constexpr int n = 3, c = 19, h = 150, w = 1000; // rows of h * w elements do not begin at vectors
  using X = tl::tensor<float, n, c, h, w>;
  using named = tl::tensor<float, tl::dyn<'n'>, c, h, w>;
  using C = tl::tensor<float, c>;
  constexpr const auto& p = tl::detail::planned<decltype(gradients), X, C, C, X>::value;
  static_assert(p.step_[0].loop[0] == c && p.step_[0].loop[1] == n);
  static_assert(steps_in_sweeps<decltype(gradients), X, C, C, X>() == p.steps - 1);
  static_assert(tl::detail::planned<decltype(batch_norm), named, C, C>::value.step_[0].loop[1] == c);
  tl::owned<X> x, u;
  tl::owned<C> gamma, beta;
  fill(1, *x);
  fill(2, *u);
  fill(3, *gamma);
  fill(4, *beta);
  const named xs((*x).data(), n), us((*u).data(), n);
  auto by_channels = tl::jit(gradients).bind<X, C, C, X>();
  auto in_team = tl::jit(gradients).bind<X, C, C, X>(tl::threads(2));
  auto by_loops = tl::jit(gradients).bind<named, C, C, named>(tl::dim<'n'>(n));
  const auto y = by_channels(*x, *gamma, *beta, *u), y_of_team = in_team(*x, *gamma, *beta, *u);
  const auto z = by_loops(xs, *gamma, *beta, us);
  // sums of 450,000 floats in blocks: some 100 roundings
  const auto close = [](const auto& a, const auto& b, double scale) {
    double worst = 0;
    for (std::int64_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(a.data()[i]) - b.data()[i]));
    return worst <= scale * 1e-5;
  };
  CHECK(close(std::get<0>(y), std::get<0>(z), 1e5));
  CHECK(close(std::get<1>(y), std::get<1>(z), 4));
  CHECK(close(std::get<2>(y), std::get<2>(z), 1e5));
  CHECK(close(std::get<3>(y), std::get<3>(z), 1e5));
  const auto same = [](const auto& a, const auto& b) { return std::equal(a.begin(), a.end(), b.begin()); };
  CHECK(std::get<0>(y).data()[0] == std::get<0>(y_of_team).data()[0]);
  CHECK(same(std::get<1>(y), std::get<1>(y_of_team)));
  CHECK(same(std::get<2>(y), std::get<2>(y_of_team)));
  CHECK(same(std::get<3>(y), std::get<3>(y_of_team)));
}
