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
  const auto print = [](const char* name, const tl::polynomial& p) {
    std::printf("%-14s %g at n = 1, m = 1; %g at n = 10, m = 3\n", name, p.at(tl::dim<'n'>(1), tl::dim<'m'>(1)),
                p.at(tl::dim<'n'>(10), tl::dim<'m'>(3)));
  };
  print("primal flops", cost.primal.flops);
  print("adjoint flops", cost.adjoint.flops);
  print("primal bytes", cost.primal.bytes);
  print("adjoint bytes", cost.adjoint.bytes);
  print("arena bytes", cost.arena);
  std::printf("steps          %d\n\n", cost.steps());
  std::fputs(tl::jit(tl::value_and_grad<1>(loss)).explain<X, V>().c_str(), stdout);
}
