// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <support/random.hpp>
#include <tapeless/tapeless.hpp>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

struct network {
  tl::tensor<double, 24, 40> w1;
  tl::tensor<double, 40> b1;
  tl::tensor<double, 40, 40> w2;
  tl::tensor<double, 40> b2;
  tl::tensor<double, 40, 3> w3;
};
using inputs = tl::tensor<double, tl::dyn<'n'>, 24>;
using targets = tl::tensor<double, tl::dyn<'n'>, 3>;

constexpr auto loss = [](const network& p, auto x, auto y) {
  const auto h = tl::tanh(tl::matmul(tl::tanh(tl::matmul(x, p.w1) + p.b1), p.w2) + p.b2);
  return tl::sum(tl::square(tl::matmul(h, p.w3) - y));
};

struct convnet {
  tl::tensor<double, 4, 1, 3, 3> depthwise;
  tl::tensor<double, 40, 4, 3, 3> w2;
  tl::tensor<double, 40, 40, 3, 3> filtered;
  tl::tensor<double, 16, 40, 1, 1> narrow;
  tl::tensor<double, 16, 16, 3, 3> w3;
  tl::tensor<double, 300, 16, 5, 5> w4;
};
using images = tl::tensor<double, tl::dyn<'n'>, 4, 12, 12>;
using scores = tl::tensor<double, tl::dyn<'n'>, 300, 1, 1>;

constexpr auto convnet_loss = [](const convnet& p, auto x, auto y) {
  const auto a = tl::tanh(tl::conv2d<tl::conv{.padding = 1, .groups = 4}>(x, p.depthwise));
  const auto b = tl::tanh(tl::conv2d<tl::conv{.padding = 1}>(a, p.w2));
  const auto m = tl::tanh(tl::conv2d<tl::conv{.padding = 1}>(b, p.filtered));
  const auto c = tl::tanh(tl::conv2d<tl::conv{.stride = 2}>(tl::tanh(tl::conv2d(m, p.narrow)), p.w3));
  return tl::sum(tl::square(tl::tanh(tl::conv2d(c, p.w4)) - y));
};

// The gradient over n rows of x and y, and the sum of the gradients over `block` of them at a time.
template <class Params, class X, class Y> void gradients_add_up(auto f, tl::extent_t n, tl::extent_t block) {
  tl::owned<Params> p;
  std::uint64_t seed = 1;
  tl::for_each_leaf(*p, [&](const auto& leaf) {
    const auto v = support::random_values<double>(static_cast<std::size_t>(leaf.size()), ++seed, -0.4, 0.4);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) leaf[i] = v[static_cast<std::size_t>(i)];
  });
  const tl::extent_t x_row = tl::owned<X>(tl::dim<'n'>(1))->size(),
                     y_row = tl::owned<Y>(tl::dim<'n'>(1))->size();
  auto x = support::random_values<double>(static_cast<std::size_t>(n * x_row), 21);
  auto y = support::random_values<double>(static_cast<std::size_t>(n * y_row), 22);
  const auto step = tl::jit(tl::value_and_grad<0>(f));
  auto all = step.template bind<Params, X, Y>(tl::dim<'n'>(n));
  auto few = step.template bind<Params, X, Y>(tl::dim<'n'>(block));
  const auto [value, gradient] = all(*p, X(x.data(), n), Y(y.data(), n));

  std::vector<double> sum;
  double total = 0;
  for (tl::extent_t at = 0; at < n; at += block) {
    const auto [v, g] = few(*p, X(x.data() + at * x_row, block), Y(y.data() + at * y_row, block));
    total += v[0];
    std::size_t k = 0;
    tl::for_each_leaf(g, [&](const auto& leaf) {
      for (const double d : leaf) {
        if (k == sum.size()) sum.push_back(0);
        sum[k++] += d;
      }
    });
  }
  CHECK(value[0] == doctest::Approx(total).epsilon(1e-12));
  std::size_t k = 0;
  double worst = 0, size = 0;
  tl::for_each_leaf(gradient, [&](const auto& leaf) {
    for (const double d : leaf) {
      worst = std::fmax(worst, std::fabs(d - sum[k]));
      size = std::fmax(size, std::fabs(sum[k++]));
    }
  });
  CHECK(size > 1);
  CHECK(worst <= 1e-11 * size);
}

// Do two blocks of the arena, of the given shapes, have no byte in common?
constexpr bool disjoint(const tl::detail::slot& a, const tl::shape& shape_a, const tl::detail::slot& b,
                        const tl::shape& shape_b) {
  using namespace tl::detail;
  if (a.at.where != place::arena || b.at.where != place::arena || a.at.index != b.at.index) return true;
  const tl::extent_t size_a = coefficient(numel(shape_a)) * size_of(a.t);
  const tl::extent_t size_b = coefficient(numel(shape_b)) * size_of(b.t);
  return a.at.offset + size_a <= b.at.offset || b.at.offset + size_b <= a.at.offset;
}

} // namespace

TEST_CASE("epilogue: a gradient over many chunks of rows is the sum of gradients over few rows") {
  gradients_add_up<network, inputs, targets>(loss, 3000, 20); // 3000 rows are several chunks, 20 are one
}

TEST_CASE("epilogue: the same for each kernel of convolution, behind which an activation runs") {
  gradients_add_up<convnet, images, scores>(convnet_loss, 120, 1);
  using tl::cpu::conv_kernel, tl::cpu::conv_pass;
  constexpr auto choice = [](tl::conv_extents e) {
    return tl::cpu::conv_kernel_of<tl::cpu::simd<double>>(conv_pass::fprop, e);
  };
  constexpr tl::conv_extents first{.c = 4,
                                   .h = 12,
                                   .w = 12,
                                   .k = 4,
                                   .r = 3,
                                   .s = 3,
                                   .p = 12,
                                   .q = 12,
                                   .pad_top = 1,
                                   .pad_left = 1,
                                   .groups = 4};
  constexpr tl::conv_extents second{
      .c = 4, .h = 12, .w = 12, .k = 40, .r = 3, .s = 3, .p = 12, .q = 12, .pad_top = 1, .pad_left = 1};
  constexpr tl::conv_extents filtered{
      .c = 40, .h = 12, .w = 12, .k = 40, .r = 3, .s = 3, .p = 12, .q = 12, .pad_top = 1, .pad_left = 1};
  constexpr tl::conv_extents third{
      .c = 16, .h = 12, .w = 12, .k = 16, .r = 3, .s = 3, .p = 5, .q = 5, .stride_h = 2, .stride_w = 2};
  constexpr tl::conv_extents fourth{.c = 16, .h = 5, .w = 5, .k = 300, .r = 5, .s = 5};
  CHECK(choice(first) == conv_kernel::depthwise);
  if (tl::cpu::width<double> == 4) CHECK(choice(second) == conv_kernel::direct);
  CHECK(choice(filtered) == conv_kernel::winograd);
  CHECK(choice(third) ==
        (sizeof(tl::cpu::simd<double>) == 64 ? conv_kernel::via_nhwc : conv_kernel::indirect));
  CHECK(choice(fourth) == conv_kernel::dense);
  constexpr tl::conv_extents narrow{.c = 40, .h = 12, .w = 12, .k = 16, .p = 12, .q = 12};
  CHECK(choice(narrow) == conv_kernel::pointwise);
}

TEST_CASE(
    "epilogue: rows that it alone reads share places; the results are those of one row at a time, for any team") {
  struct layer {
    tl::tensor<float, 150, 140> w; // wide enough to be packed ahead
    tl::tensor<float, 140> b;
  };
  using rows = tl::tensor<float, tl::dyn<'n'>, 150>;
  constexpr auto activation = [](const layer& p, auto x) { return tl::relu(tl::matmul(x, p.w) + p.b); };
  constexpr auto both = [](const layer& p, auto x) {
    const auto z = tl::matmul(x, p.w);
    return std::tuple{tl::relu(z + p.b), z};
  };
  const auto consumed = []<class F>(F) {
    const auto& plan = tl::detail::planned_with<false, F, layer, rows>::value;
    int n = 0;
    for (int i = 0; i < plan.steps; ++i) n += plan.step_[i].fuses_producer ? 1 : 0;
    return n;
  };
  CHECK(consumed(activation) == 1);
  CHECK(consumed(both) == 0); // the product is a result

  constexpr tl::extent_t n = 1003; // chunks of 118 rows and one of 59
  auto x = support::random_values<float>(n * 150, 1);
  tl::owned<layer> p;
  std::uint64_t seed = 2;
  tl::for_each_leaf(*p, [&](const auto& leaf) {
    const auto v = support::random_values<float>(static_cast<std::size_t>(leaf.size()), ++seed);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) leaf[i] = v[static_cast<std::size_t>(i)];
  });
  auto one = tl::jit(activation).bind<layer, rows>(tl::dim<'n'>(1));
  std::vector<float> of_one_member;
  for (const int members : {1, 2, 3, 20}) {
    auto run = tl::jit(activation).bind<layer, rows>(tl::dim<'n'>(n), tl::threads(members));
    auto run_both = tl::jit(both).bind<layer, rows>(tl::dim<'n'>(n), tl::threads(members));
    const auto y = run(*p, rows(x.data(), n));
    const auto [again, z] = run_both(*p, rows(x.data(), n));
    if (of_one_member.empty()) of_one_member.assign(y.begin(), y.end());
    CHECK(std::equal(y.begin(), y.end(), of_one_member.begin()));
    CHECK(std::equal(y.begin(), y.end(), again.begin()));
    CHECK(z.size() == y.size());
  }
  float worst = 0;
  for (tl::extent_t i = 0; i < n; ++i) {
    const auto y = one(*p, rows(x.data() + i * 150, 1));
    for (tl::extent_t j = 0; j < 140; ++j)
      worst = std::fmax(worst, std::fabs(y[j] - of_one_member[static_cast<std::size_t>(i * 140 + j)]));
  }
  CHECK(worst <= 1e-4f); // 150 products of numbers below 1
}

TEST_CASE(
    "epilogue: several results, some of other types, in the place of one of which the product may stand") {
  constexpr tl::extent_t k = 160, m = 96, n = 1003;
  using x_rows = tl::tensor<float, tl::dyn<'n'>, k>;
  using weights = tl::tensor<float, k, m>;
  using r_rows = tl::tensor<float, tl::dyn<'n'>, m>;
  constexpr auto several = [](auto x, auto w, auto r) {
    const auto z = tl::matmul(x, w);
    const auto c = z > 0.25f;
    const auto y = tl::where(c, z + r, r - z);
    return std::tuple{c, y, tl::sum<0>(z * r), tl::max<1>(y)};
  };
  constexpr auto narrow = [](auto x, auto w, auto r) {
    const auto z = tl::matmul(tl::cast<tl::bf16>(x), tl::cast<tl::bf16>(w));
    return std::tuple{tl::cast<tl::bf16>(tl::relu(z) + r), z * r};
  };
  auto x = support::random_values<float>(n * k, 1), w = support::random_values<float>(k * m, 2),
       r = support::random_values<float>(n * m, 3);
  // multiples of 1/8 up to 1: products, and their sums, are exact, in bf16 operands, too
  for (auto* v : {&x, &w, &r})
    for (float& e : *v) e = std::round(8 * e) / 8;
  std::vector<float> z(n * m);
  for (tl::extent_t i = 0; i < n; ++i)
    for (tl::extent_t p = 0; p < k; ++p)
      for (tl::extent_t j = 0; j < m; ++j) z[i * m + j] += x[i * k + p] * w[p * m + j];
  for (const int members : {1, 2, 5}) {
    CAPTURE(members);
    auto run = tl::jit(several).bind<x_rows, weights, r_rows>(tl::dim<'n'>(n), tl::threads(members));
    const auto [c, y, sums, most] = run(x_rows(x.data(), n), weights(w.data()), r_rows(r.data(), n));
    auto run_narrow = tl::jit(narrow).bind<x_rows, weights, r_rows>(tl::dim<'n'>(n), tl::threads(members));
    const auto [low, products] = run_narrow(x_rows(x.data(), n), weights(w.data()), r_rows(r.data(), n));
    std::vector<float> sum(m);
    bool right = true;
    for (tl::extent_t i = 0; i < n; ++i) {
      float largest = -1e9f;
      for (tl::extent_t j = 0; j < m; ++j) {
        const tl::extent_t at = i * m + j;
        const float expected = z[at] > 0.25f ? z[at] + r[at] : r[at] - z[at];
        right = right && c[at] == (z[at] > 0.25f) && y[at] == expected;
        right = right && products[at] == z[at] * r[at] &&
                low[at].bits == tl::bf16(std::fmax(z[at], 0.0f) + r[at]).bits;
        largest = std::fmax(largest, expected);
        sum[j] += z[at] * r[at];
      }
      right = right && most[i] == largest;
    }
    CHECK(right);
    CHECK(std::equal(sum.begin(), sum.end(), sums.begin()));
  }
}

TEST_CASE_TEMPLATE("epilogue: behind a long product with few results, whose terms are cut into slices", T,
                   float, double) {
  constexpr int n = 64, k = 4096, m = 10;
  using X = tl::tensor<T, n, k>;
  using Any = tl::tensor<T, tl::dyn<'n'>, k>;
  using W = tl::tensor<T, m, k>;
  constexpr auto f = [](auto x, auto w) {
    return tl::sum<1>(tl::tanh(tl::matmul(x, tl::transpose(w)) * (T(1) / T(64))));
  };
  const auto xs = support::random_values<T>(n * k, 31), ws = support::random_values<T>(m * k, 32);
  tl::owned<X> x;
  tl::owned<W> w;
  std::copy(xs.begin(), xs.end(), x->begin());
  std::copy(ws.begin(), ws.end(), w->begin());
  std::vector<double> expected;
  for (std::size_t i = 0; i < n; ++i) {
    expected.push_back(0);
    for (std::size_t j = 0; j < m; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < k; ++p)
        sum += static_cast<double>(xs[i * k + p]) * static_cast<double>(ws[j * k + p]);
      expected.back() += std::tanh(sum / 64);
    }
  }
  const double tolerance = sizeof(T) == 8 ? 1e-12 : 1e-5; // sums of ten numbers below 1
  for (const int threads : {1, 2}) {
    auto run = tl::jit(f).template bind<X, W>(tl::threads(threads));
    auto any = tl::jit(f).template bind<Any, W>(tl::dim<'n'>(n), tl::threads(threads));
    const auto y = run(*x, *w);
    for (std::size_t i = 0; i < n; ++i)
      CHECK(std::abs(static_cast<double>(y[static_cast<int>(i)]) - expected[i]) < tolerance);
    const auto z = any(Any((*x).data(), n), *w);
    for (std::size_t i = 0; i < n; ++i)
      CHECK(std::abs(static_cast<double>(z[static_cast<int>(i)]) - expected[i]) < tolerance);
  }
}

TEST_CASE("epilogue: it never writes where the step that it follows still reads") {
  using namespace tl::detail;
  constexpr auto f = tl::value_and_grad<0, 1>(loss);
  using program_of = traced<std::remove_const_t<decltype(f)>, network, inputs, targets>;
  const auto& nodes = program_of::value.nodes;
  const auto& p = planned<std::remove_const_t<decltype(f)>, network, inputs, targets>::value;
  int epilogues = 0;
  for (int i = 1; i < p.steps; ++i) {
    const step &s = p.step_[i], &before = p.step_[i - 1];
    if (!s.epilogue) continue;
    ++epilogues;
    for (int k = 0; k < before.loads; ++k)
      for (int j = s.loads; j < s.loads + s.stores + s.partials; ++j) {
        const slot &read = p.slot_[before.slot0 + k], &written = p.slot_[s.slot0 + j];
        CHECK(disjoint(read, read.s, written, j < s.loads + s.stores ? nodes[before.node].s : written.s));
      }
  }
  CHECK(epilogues >= 3);
}
