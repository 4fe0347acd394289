// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

// [signature]
using X = tl::tensor<float, tl::dyn<'n'>, tl::dyn<'m'>>;
using V = tl::tensor<float, tl::dyn<'m'>>;
constexpr auto loss = [](auto x, auto v) { return tl::sum(square(tl::matmul(x, v))); };

constexpr tl::cost cost = tl::jit(tl::value_and_grad<1>(loss)).cost<X, V>(); // by v alone
constexpr tl::polynomial flops = cost.flops();                              // primal + adjoint
static_assert(flops.at(tl::dim<'n'>(10), tl::dim<'m'>(3)) == 150);
static_assert(cost.adjoint.flops <= 1.5 * cost.primal.flops); // for every n >= 1 and m >= 1
static_assert(cost.steps() == cost.primal.steps + cost.adjoint.steps);
// [/signature]

// [densified]
constexpr auto hard = [](auto w, auto x, auto t) { // the 16 greatest losses
  auto losses = tl::mean<1>(tl::square(tl::matmul(x, w) - t));
  return tl::mean(tl::gather(losses, tl::top_k<16>(losses)));
};
constexpr auto centred = [](auto w, auto x, auto t) { // a mean over rows mixes them
  auto y = tl::tanh(tl::matmul(x, w));
  auto losses = tl::mean<1>(tl::square(y - tl::mean<0>(y) - t));
  return tl::mean(tl::gather(losses, tl::top_k<16>(losses)));
};
using W = tl::tensor<float, 8, 4>;
using rows = tl::tensor<float, 64, 8>;
using targets = tl::tensor<float, 64, 4>;
static_assert(tl::jit(tl::grad<0>(hard)).cost<W, rows, targets>().densified == 0);
static_assert(tl::jit(tl::grad<0>(centred)).cost<W, rows, targets>().densified == 1);
// [/densified]

int main() {
  std::printf("primal flops   %s\n", to_string(cost.primal.flops).c_str());
  std::printf("adjoint flops  %s\n", to_string(cost.adjoint.flops).c_str());
  std::printf("primal bytes   %s\n", to_string(cost.primal.bytes).c_str());
  std::printf("adjoint bytes  %s\n", to_string(cost.adjoint.bytes).c_str());
  std::printf("arena bytes    %s\n", to_string(cost.arena).c_str());
  std::printf("steps          %d\n\n", cost.steps());
  std::fputs(tl::jit(tl::value_and_grad<1>(loss)).explain<X, V>().c_str(), stdout);
}
