// The cost of a gradient is known to the compiler: this program does not compile if it exceeds its budget.
#include <tapeless/tapeless.hpp>

#include <cstdint>
#include <cstdio>

namespace tl = tapeless;

struct params {
  tl::tensor<float, 64, 128> w1;
  tl::tensor<float, 128> b1;
  tl::tensor<float, 128, 10> w2;
};
using images = tl::tensor<float, tl::dyn<'n'>, 64>; // n is known at call time: costs are polynomials in n
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;

constexpr auto loss = [](const params& p, images x, labels y) {
  return tl::mean(tl::softmax_cross_entropy(tl::matmul(tl::relu(tl::matmul(x, p.w1) + p.b1), p.w2), y));
};

constexpr tl::cost cost = tl::jit(tl::value_and_grad<0>(loss)).cost<params, images, labels>();
static_assert(cost.adjoint.flops <= 2.1 * cost.primal.flops);   // for every n >= 1
static_assert(cost.arena.at(tl::dim<'n'>(256)) <= 1024 * 1024); // bytes

int main() {
  for (const int n : {1, 16, 256}) {
    const double primal = cost.primal.flops.at(tl::dim<'n'>(n));
    const double adjoint = cost.adjoint.flops.at(tl::dim<'n'>(n));
    std::printf("n = %3d: primal %4.0f kflop, adjoint %4.0f kflop, ratio %.2f\n", n, primal / 1000,
                adjoint / 1000, adjoint / primal);
  }
}
