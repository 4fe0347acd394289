// The gradient of a function of two vectors by one of them, checked against the formula.
#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;
using point = tl::tensor<double, 3>;

// f(x, y) = sum_i x_i^2 y_i + exp(sum_i x_i)
constexpr auto f = [](point x, point y) { return tl::sum(x * x * y) + tl::exp(tl::sum(x)); };

int main() {
  double x[] = {1, -2, 1}, y[] = {3, 0.5, 2};
  auto run = tl::jit(tl::value_and_grad<0>(f)).bind<point, point>();
  const auto [value, gradient] = run(point(x), point(y));

  std::printf("f(x, y) = %.2f\n", value[0]);
  for (int i = 0; i < 3; ++i)
    std::printf("df/dx[%d] = %5.2f, by hand %5.2f\n", i, gradient[i], 2 * x[i] * y[i] + 1); // sum(x) is 0
}
