// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What a function costs together with its gradient, beside the function alone, on one thread:
// time_ratio = gradient_us / value_us is measured; flop_ratio is the same of the flops that cost() states.

#include "ratio.hpp"

#include <tapeless/tapeless.hpp>

#include <cstdint>

namespace {

namespace tl = tapeless;

void fill(auto view) {
  std::uint32_t seed = 1;
  for (float& v : view) {
    seed = seed * 1664525u + 1013904223u;
    v = 0.2f * (static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f);
  }
}

// f(p, x, constants...) is differentiated by p
template <class F, class P, class X, class... Rest> void ratio(benchmark::State& state, F,
                                                               const Rest&... rest) {
  using gradient = decltype(tl::value_and_grad<0>(F{}));
  tl::owned<P> p;
  tl::owned<X> x;
  tl::for_each_leaf(*p, [](auto leaf) { fill(leaf); });
  fill(*x);
  auto value = tl::jit(F{}).template bind<P, X, Rest...>(tl::threads(1));
  auto both = tl::jit(gradient{}).template bind<P, X, Rest...>(tl::threads(1));
  const auto [primal, adjoint] =
      bench::fastest_seconds(state, [&] { value(*p, *x, rest...); }, [&] { both(*p, *x, rest...); });
  constexpr auto value_cost = tl::jit(F{}).template cost<P, X, Rest...>();
  constexpr auto both_cost = tl::jit(gradient{}).template cost<P, X, Rest...>();
  state.counters["value_us"] = primal * 1e6;
  state.counters["gradient_us"] = adjoint * 1e6;
  state.counters["time_ratio"] = adjoint / primal;
  state.counters["flop_ratio"] = both_cost.flops().at() / value_cost.flops().at();
}

struct chain {
  constexpr auto operator()(auto p, auto x) const {
    auto h = x;
    for (int i = 0; i < 8; ++i) h = tl::tanh(h * p + 0.1);
    return tl::mean(h);
  }
};
void elementwise_chain(benchmark::State& state) {
  using row = tl::tensor<float, 4096>;
  ratio<chain, row, row>(state, chain{});
}

struct dense_params {
  tl::tensor<float, 64, 64> w1;
  tl::tensor<float, 64> b1;
  tl::tensor<float, 64, 64> w2;
  tl::tensor<float, 64> b2;
  tl::tensor<float, 64, 10> w3;
  tl::tensor<float, 10> b3;
};
struct mlp_loss {
  constexpr auto operator()(const dense_params& p, auto x) const {
    const auto h = tl::relu(tl::matmul(x, p.w1) + p.b1);                   // (32, 64)
    const auto y = tl::matmul(tl::relu(tl::matmul(h, p.w2) + p.b2), p.w3); // (32, 10)
    return tl::mean(tl::square(y + p.b3));
  }
};
void mlp(benchmark::State& state) {
  ratio<mlp_loss, dense_params, tl::tensor<float, 32, 64>>(state, mlp_loss{});
}

struct scaled_logsumexp {
  constexpr auto operator()(auto p, auto x) const { return tl::mean(tl::logsumexp<1>(x * p)); }
};
void logsumexp(benchmark::State& state) {
  ratio<scaled_logsumexp, tl::tensor<float, 512>, tl::tensor<float, 256, 512>>(state, scaled_logsumexp{});
}

struct convnet_params {
  tl::tensor<float, 16, 1, 3, 3> w1;
  tl::tensor<float, 16> b1;
  tl::tensor<float, 32, 16, 3, 3> w2;
  tl::tensor<float, 32> b2;
  tl::tensor<float, 128, 10> w3;
  tl::tensor<float, 10> b3;
};
struct convnet_loss {
  constexpr auto operator()(const convnet_params& p, auto x, auto label) const {
    const auto a =
        tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, p.w1) + tl::channel(p.b1)); // (32, 16, 8, 8)
    const auto b = tl::relu(tl::conv2d<tl::conv{.stride = 2, .padding = 1}>(a, p.w2) +
                            tl::channel(p.b2)); // (32, 32, 4, 4)
    const auto logits =
        tl::matmul(tl::flatten(tl::max_pool2d<tl::pool{.kernel = 2}>(b)), p.w3) + p.b3; // (32, 10)
    return tl::mean(tl::softmax_cross_entropy(logits, label));
  }
};
void convnet(benchmark::State& state) {
  using labels = tl::tensor<std::int32_t, 32>;
  tl::owned<labels> label;
  for (int i = 0; i < 32; ++i) (*label)[i] = i % 10;
  ratio<convnet_loss, convnet_params, tl::tensor<float, 32, 1, 8, 8>, labels>(state, convnet_loss{}, *label);
}

BENCHMARK(elementwise_chain)->UseManualTime();
BENCHMARK(mlp)->UseManualTime();
BENCHMARK(logsumexp)->UseManualTime();
BENCHMARK(convnet)->UseManualTime();

} // namespace
