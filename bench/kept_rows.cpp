// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A step of n rows through some layers of w -> w with relu, of which the k rows of the greatest losses count: their
// activations read from where the forward pass stored them (kept), or computed again. taken_again: 1 where the cost
// model takes the latter.

#include "ratio.hpp"

#include <tapeless/tapeless.hpp>

#include <array>
#include <cmath>
#include <cstdint>

namespace {

namespace tl = tapeless;

template <int K, auto... How> struct loss {
  constexpr auto operator()(const auto& weights, auto x, auto t) const {
    auto h = x;
    for (const auto& w : weights) h = tl::relu(tl::matmul(h, w));
    const auto losses = tl::mean<1>(tl::square(h - t));
    return tl::mean(tl::gather(losses, tl::top_k<K>(losses, How...)));
  }
};

template <int Rows, int Layers, int Width, int K> void kept_rows(benchmark::State& state) {
  using params = std::array<tl::tensor<float, Width, Width>, Layers>;
  using rows = tl::tensor<float, Rows, Width>;
  tl::owned<params> p;
  tl::owned<rows> x, t;
  std::uint32_t seed = 1;
  const auto fill = [&](auto leaf, float scale) {
    for (float& v : leaf) {
      seed = seed * 1664525u + 1013904223u;
      v = scale * (static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f);
    }
  };
  tl::for_each_leaf(*p,
                    [&](auto leaf) { fill(leaf, std::sqrt(6.0f / Width)); }); // activations keep their size
  fill(*x, 1);
  fill(*t, 1);
  constexpr auto kept = tl::jit(tl::value_and_grad<0>(loss<K, tl::retain>{}));
  constexpr auto again = tl::jit(tl::value_and_grad<0>(loss<K, tl::recompute>{}));
  constexpr auto taken = tl::jit(tl::value_and_grad<0>(loss<K>{})).template cost<params, rows, rows>();
  auto a = kept.template bind<params, rows, rows>(tl::threads(1));
  auto b = again.template bind<params, rows, rows>(tl::threads(1));
  const auto [ta, tb] = bench::fastest_seconds(
      state, [&] { benchmark::DoNotOptimize(a(*p, *x, *t)); },
      [&] { benchmark::DoNotOptimize(b(*p, *x, *t)); });
  state.counters["kept_ms"] = ta * 1e3;
  state.counters["again_ms"] = tb * 1e3;
  state.counters["kept_MB"] = static_cast<double>(a.arena_bytes()) * 1e-6;
  state.counters["again_MB"] = static_cast<double>(b.arena_bytes()) * 1e-6;
  state.counters["taken_again"] = taken.arena == again.template cost<params, rows, rows>().arena ? 1 : 0;
}

// rows, layers, width, kept
BENCHMARK(kept_rows<16384, 12, 64, 164>)->UseManualTime();
BENCHMARK(kept_rows<16384, 12, 64, 4096>)->UseManualTime();
BENCHMARK(kept_rows<65536, 12, 32, 655>)->UseManualTime();
BENCHMARK(kept_rows<65536, 8, 64, 655>)->UseManualTime();
BENCHMARK(kept_rows<8192, 12, 256, 82>)->UseManualTime();
BENCHMARK(kept_rows<4096, 4, 256, 41>)->UseManualTime();

} // namespace
