// The largest curvature of a function, by power iteration: H v costs a few gradients, and H is never formed.
#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>

namespace tl = tapeless;
using vector = tl::tensor<double, 50>;

// H = diag(3 x_i^2 + 1) + the matrix of ones
constexpr auto f = [](vector x) {
  return tl::sum(0.25 * tl::square(tl::square(x)) + 0.5 * tl::square(x)) + 0.5 * tl::square(tl::sum(x));
};

int main() {
  auto hessian_times = tl::jit(tl::hvp<0>(f)).bind<vector, vector>();
  tl::owned<vector> x, v;
  for (int i = 0; i < 50; ++i) (*x)[i] = (*v)[i] = 0.1 * i;

  for (int iteration = 0; iteration <= 60; ++iteration) {
    double length = 0;
    for (const double e : *v) length += e * e;
    for (double& e : *v) e /= std::sqrt(length); // |v| = 1

    const vector hv = hessian_times(*x, *v);
    double curvature = 0; // v . H v, along v
    for (int i = 0; i < 50; ++i) curvature += (*v)[i] * hv[i];
    if (iteration % 20 == 0) std::printf("iteration %2d: curvature %.4f\n", iteration, curvature);
    for (int i = 0; i < 50; ++i) (*v)[i] = hv[i];
  }
}
