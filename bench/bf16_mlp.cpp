// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// n samples through 512 -> 1024 -> 1024 -> 16, relu, with operands of matmul in float and in bf16: squared error and
// the gradient of every weight and bias, and the result alone. Weights are float in both.
// over_float: time in float / in bf16.

#include "ratio.hpp"

#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdint>

namespace {

namespace tl = tapeless;

constexpr int n = 128;

struct params {
  tl::tensor<float, 512, 1024> w1;
  tl::tensor<float, 1024> b1;
  tl::tensor<float, 1024, 1024> w2;
  tl::tensor<float, 1024> b2;
  tl::tensor<float, 1024, 16> w3;
  tl::tensor<float, 16> b3;
};
using inputs = tl::tensor<float, n, 512>;
using targets = tl::tensor<float, n, 16>;

template <class T> struct infer {
  constexpr auto operator()(const auto& p, auto x) const {
    const auto layer = [](auto h, auto w) { return tl::matmul(tl::cast<T>(h), tl::cast<T>(w)); };
    const auto h1 = tl::relu(layer(x, p.w1) + p.b1);
    const auto h2 = tl::relu(layer(h1, p.w2) + p.b2);
    return layer(h2, p.w3) + p.b3;
  }
};
template <class T> struct loss {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    return tl::mean(tl::square(infer<T>{}(p, x) - t));
  }
};

struct data {
  tl::owned<params> p;
  tl::owned<inputs> x;
  tl::owned<targets> t;
  std::uint32_t seed = 1;

  data() {
    const auto fill = [&](auto leaf, float scale) {
      for (float& v : leaf) {
        seed = seed * 1664525u + 1013904223u;
        v = scale * (static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f);
      }
    };
    tl::for_each_leaf(*p, [&](auto leaf) { fill(leaf, 0.05f); });
    fill(*x, 1);
    fill(*t, 1);
  }
};
bool near(double a, double b) { return std::abs(a - b) <= 0.02 * std::abs(b); }

template <class Wide, class Narrow>
void compare(benchmark::State& state, const Wide& wide, const Narrow& narrow) {
  const auto [f, b] = bench::fastest_seconds(state, wide, narrow);
  state.counters["float_ms"] = f * 1e3;
  state.counters["bf16_ms"] = b * 1e3;
  state.counters["over_float"] = f / b;
}

void bf16_mlp_step(benchmark::State& state) {
  const data d;
  auto wide = tl::jit(tl::value_and_grad<0>(loss<float>{})).bind<params, inputs, targets>(tl::threads(1));
  auto narrow =
      tl::jit(tl::value_and_grad<0>(loss<tl::bf16>{})).bind<params, inputs, targets>(tl::threads(1));
  if (!near(std::get<0>(narrow(*d.p, *d.x, *d.t))[0], std::get<0>(wide(*d.p, *d.x, *d.t))[0]))
    return state.SkipWithError("the values differ");
  compare(
      state, [&] { benchmark::DoNotOptimize(wide(*d.p, *d.x, *d.t)); },
      [&] { benchmark::DoNotOptimize(narrow(*d.p, *d.x, *d.t)); });
}
BENCHMARK(bf16_mlp_step)->UseManualTime();

// Of `rows` samples, weights loaded once.
template <int Rows> void bf16_mlp_infer(benchmark::State& state) {
  using few = tl::tensor<float, Rows, 512>;
  const data d;
  auto wide = tl::jit(infer<float>{}).bind<params, few>(tl::threads(1)).load(*d.p);
  auto narrow = tl::jit(infer<tl::bf16>{}).bind<params, few>(tl::threads(1)).load(*d.p);
  const few x((*d.x).data());
  compare(state, [&] { benchmark::DoNotOptimize(wide(x)); }, [&] { benchmark::DoNotOptimize(narrow(x)); });
}
BENCHMARK(bf16_mlp_infer<1>)->UseManualTime();
BENCHMARK(bf16_mlp_infer<16>)->UseManualTime();
BENCHMARK(bf16_mlp_infer<n>)->UseManualTime();

} // namespace
