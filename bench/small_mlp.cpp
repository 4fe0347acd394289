// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// 64 -> 64 -> 64 -> 1, relu, one sample: squared error and the gradient of every weight and bias. tapeless beside the
// same gradient written by hand, once with loops fused over SIMD lanes and once with Eigen.
// over_hand, over_eigen: their time / ours.

#include "ratio.hpp"

#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdint>
#if __has_include(<Eigen/Dense>)
#include <Eigen/Dense>
#define TAPELESS_BENCH_EIGEN
#endif

namespace {

namespace tl = tapeless;

constexpr int n = 64;

struct params {
  tl::tensor<float, n, n> w1;
  tl::tensor<float, n> b1;
  tl::tensor<float, n, n> w2;
  tl::tensor<float, n> b2;
  tl::tensor<float, n, 1> w3;
  tl::tensor<float, 1> b3;
};
using sample = tl::tensor<float, 1, n>;
using target = tl::tensor<float, 1, 1>;

struct loss {
  constexpr auto operator()(const params& p, auto x, auto t) const {
    const auto h1 = tl::relu(tl::matmul(x, p.w1) + p.b1);
    const auto h2 = tl::relu(tl::matmul(h1, p.w2) + p.b2);
    return tl::sum(tl::square(tl::matmul(h2, p.w3) + p.b3 - t));
  }
};

// By hand: a layer is one sweep over the rows of its matrix, forwards and backwards.
class fused {
  using lanes = tl::cpu::simd<float>;
  static constexpr int width = tl::cpu::width<float>, vectors = n / width;

  // h = relu(x w + b)
  static void layer(const float* x, const float* w, const float* b, float* h) {
    lanes sum[vectors];
    tl::cpu::unroll<vectors>([&](auto v) { sum[v] = tl::cpu::load<lanes>(b + v * width); });
    for (int i = 0; i < n; ++i)
      tl::cpu::unroll<vectors>([&](auto v) {
        sum[v] = tl::cpu::fma(lanes(x[i]), tl::cpu::load<lanes>(w + i * n + v * width), sum[v]);
      });
    tl::cpu::unroll<vectors>([&](auto v) {
      tl::cpu::store(h + v * width, tl::cpu::select(sum[v] > lanes(0.0f), sum[v], lanes(0.0f)));
    });
  }
  // w_bar = x^T d
  static void outer(const float* x, const float* d, float* w_bar) {
    lanes row[vectors];
    tl::cpu::unroll<vectors>([&](auto v) { row[v] = tl::cpu::load<lanes>(d + v * width); });
    for (int i = 0; i < n; ++i)
      tl::cpu::unroll<vectors>(
          [&](auto v) { tl::cpu::store(w_bar + i * n + v * width, lanes(x[i]) * row[v]); });
  }
  // d_below = (w d) where h > 0: `width` rows of w at a time
  static void pull(const float* d, const float* w, const float* h, float* d_below) {
    for (int i = 0; i < n; i += width) {
      lanes sum[width];
      tl::cpu::unroll<width>([&](auto r) {
        sum[r] = lanes(0.0f);
        for (int j = 0; j < n; j += width)
          sum[r] =
              tl::cpu::fma(tl::cpu::load<lanes>(w + (i + r) * n + j), tl::cpu::load<lanes>(d + j), sum[r]);
      });
      const lanes dots = tl::cpu::hsum_each(sum);
      tl::cpu::store(d_below + i,
                     tl::cpu::select(tl::cpu::load<lanes>(h + i) > lanes(0.0f), dots, lanes(0.0f)));
    }
  }

public:
  tl::owned<params> bar;
  float value = 0;

  void operator()(const params& p, const sample& x, float t) {
    alignas(64) float h1[n], h2[n];
    layer(x.data(), p.w1.data(), p.b1.data(), h1);
    layer(h1, p.w2.data(), p.b2.data(), h2);
    lanes dot(0.0f);
    for (int i = 0; i < n; i += width)
      dot = tl::cpu::fma(tl::cpu::load<lanes>(h2 + i), tl::cpu::load<lanes>(p.w3.data() + i), dot);
    const float e = tl::cpu::hsum(dot) + p.b3[0] - t, g = 2 * e;
    value = e * e;
    bar->b3[0] = g;
    for (int i = 0; i < n; i += width) {
      const lanes h = tl::cpu::load<lanes>(h2 + i), d = lanes(g) * tl::cpu::load<lanes>(p.w3.data() + i);
      tl::cpu::store(bar->w3.data() + i, lanes(g) * h);
      tl::cpu::store(bar->b2.data() + i, tl::cpu::select(h > lanes(0.0f), d, lanes(0.0f)));
    }
    outer(h1, bar->b2.data(), bar->w2.data());
    pull(bar->b2.data(), p.w2.data(), h1, bar->b1.data());
    outer(x.data(), bar->b1.data(), bar->w1.data());
  }
};

#ifdef TAPELESS_BENCH_EIGEN
class eigen {
  using matrix = Eigen::MatrixXf; // column-major: w is (out, in)
  using vector = Eigen::VectorXf;
  matrix w1_, w2_;
  Eigen::RowVectorXf w3_;
  vector b1_, b2_, x_;
  float b3_, t_;

public:
  matrix w1_bar, w2_bar;
  Eigen::RowVectorXf w3_bar;
  vector b1_bar, b2_bar;
  float b3_bar = 0, value = 0;

  eigen(const params& p, const sample& x, float t)
      : w1_(Eigen::Map<const matrix>(p.w1.data(), n, n)),
        w2_(Eigen::Map<const matrix>(p.w2.data(), n, n)),
        w3_(Eigen::Map<const Eigen::RowVectorXf>(p.w3.data(), n)),
        b1_(Eigen::Map<const vector>(p.b1.data(), n)),
        b2_(Eigen::Map<const vector>(p.b2.data(), n)),
        x_(Eigen::Map<const vector>(x.data(), n)),
        b3_(p.b3[0]),
        t_(t),
        w1_bar(n, n),
        w2_bar(n, n) {}

  void operator()() {
    const vector h1 = (w1_ * x_ + b1_).cwiseMax(0.0f);
    const vector h2 = (w2_ * h1 + b2_).cwiseMax(0.0f);
    const float e = w3_.dot(h2) + b3_ - t_;
    value = e * e;
    b3_bar = 2 * e;
    w3_bar = b3_bar * h2.transpose();
    b2_bar = (h2.array() > 0.0f).select(b3_bar * w3_.transpose(), 0.0f);
    w2_bar.noalias() = b2_bar * h1.transpose();
    b1_bar = (h1.array() > 0.0f).select(w2_.transpose() * b2_bar, 0.0f);
    w1_bar.noalias() = b1_bar * x_.transpose();
  }
};
#endif

bool same(const float* a, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-4f * (1 + std::abs(b[i])))) return false;
  return true;
}

void small_mlp(benchmark::State& state) {
  tl::owned<params> p;
  tl::owned<sample> x;
  tl::owned<target> t;
  std::uint32_t seed = 1;
  const auto fill = [&](auto leaf, float scale) {
    for (float& v : leaf) {
      seed = seed * 1664525u + 1013904223u;
      v = scale * (static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f);
    }
  };
  tl::for_each_leaf(*p, [&](auto leaf) { fill(leaf, 0.2f); });
  fill(*x, 1);
  fill(*t, 1);

  auto step = tl::jit(tl::value_and_grad<0>(loss{})).bind<params, sample, target>(tl::threads(1));
  fused by_hand;
  const auto [value, bar] = step(*p, *x, *t);
  by_hand(*p, *x, (*t)[0]);
  bool agree =
      same(&by_hand.value, value.data(), 1) && same(by_hand.bar->w1.data(), bar.w1.data(), n * n) &&
      same(by_hand.bar->w2.data(), bar.w2.data(), n * n) && same(by_hand.bar->b1.data(), bar.b1.data(), n) &&
      same(by_hand.bar->b2.data(), bar.b2.data(), n) && same(by_hand.bar->w3.data(), bar.w3.data(), n) &&
      same(by_hand.bar->b3.data(), bar.b3.data(), 1);
#ifdef TAPELESS_BENCH_EIGEN
  eigen with_eigen(*p, *x, (*t)[0]);
  with_eigen();
  agree = agree && same(with_eigen.w1_bar.data(), bar.w1.data(), n * n) &&
          same(with_eigen.w2_bar.data(), bar.w2.data(), n * n) &&
          same(with_eigen.b1_bar.data(), bar.b1.data(), n) &&
          same(with_eigen.w3_bar.data(), bar.w3.data(), n);
#endif
  if (!agree) return state.SkipWithError("the gradients differ");

  const auto run_ours = [&] { benchmark::DoNotOptimize(step(*p, *x, *t)); };
  const auto run_hand = [&] {
    by_hand(*p, *x, (*t)[0]);
    benchmark::ClobberMemory();
  };
#ifdef TAPELESS_BENCH_EIGEN
  const auto run_eigen = [&] {
    with_eigen();
    benchmark::ClobberMemory();
  };
  const auto [ours, hand, eigen_time] = bench::fastest_seconds(state, run_ours, run_hand, run_eigen);
  state.counters["eigen_ns"] = eigen_time * 1e9;
  state.counters["over_eigen"] = eigen_time / ours;
#else
  const auto [ours, hand] = bench::fastest_seconds(state, run_ours, run_hand);
#endif
  state.counters["tapeless_ns"] = ours * 1e9;
  state.counters["hand_ns"] = hand * 1e9;
  state.counters["over_hand"] = hand / ours;
}
BENCHMARK(small_mlp)->UseManualTime();

} // namespace
