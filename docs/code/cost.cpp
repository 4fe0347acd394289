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

int main() {
  std::printf("primal flops   %s\n", to_string(cost.primal.flops).c_str());
  std::printf("adjoint flops  %s\n", to_string(cost.adjoint.flops).c_str());
  std::printf("primal bytes   %s\n", to_string(cost.primal.bytes).c_str());
  std::printf("adjoint bytes  %s\n", to_string(cost.adjoint.bytes).c_str());
  std::printf("arena bytes    %s\n", to_string(cost.arena).c_str());
  std::printf("steps          %d\n\n", cost.steps());
  std::fputs(tl::jit(tl::value_and_grad<1>(loss)).explain<X, V>().c_str(), stdout);
}
