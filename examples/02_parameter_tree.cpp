// An ordinary struct is a parameter tree: the gradient comes back in the same struct, and Adam steps down it.
#include <tapeless/optim/adam.hpp>
#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

struct line {
  tl::tensor<double, 2> slope;
  tl::scalar<double> offset;
};
using points = tl::tensor<double, 4, 2>;
using values = tl::tensor<double, 4>;

constexpr auto loss = [](const line& p, points x, values y) {
  return tl::mse_loss(tl::matmul(x, p.slope) + p.offset, y);
};

int main() {
  double x[] = {0, 0, 0, 1, 1, 0, 1, 1};
  double y[] = {1, -1, 4, 2}; // y = 1 + 3 x0 - 2 x1

  tl::owned<line> p; // zero at first
  tl::adam<line> optimizer(tl::adam_options{.learning_rate = 0.05});
  auto run = tl::jit(tl::value_and_grad<0>(loss)).bind<line, points, values>();
  for (int i = 0; i <= 1000; ++i) {
    const auto [value, gradient] = run(p.view(), points(x), values(y));
    if (i % 500 == 0)
      std::printf("step %4d: loss %.3f, y = %.2f %+.2f x0 %+.2f x1\n", i, value[0], p->offset[0], p->slope[0],
                  p->slope[1]);
    optimizer.step(p.view(), gradient);
  }
}
