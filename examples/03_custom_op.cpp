// An op of one's own: a function of one number and its derivative; it is fused and differentiated like the others.
#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>

namespace tl = tapeless;

// y = log(1 + e^x)     dy/dx = 1 / (1 + e^-x)
struct softplus {
  template <class T> static T primal(T x) { return std::log1p(std::exp(x)); }
  static constexpr auto vjp(auto x, auto /*y*/, auto y_bar) { return y_bar * tl::sigmoid(x); }
};

constexpr auto f = [](auto x) { return tl::sum(tl::custom<softplus>(x)); };
constexpr auto slope = [](auto x) { return tl::grad<0>(f)(x); };
constexpr auto curvature = [](auto x) { return tl::grad<0>([](auto z) { return tl::sum(slope(z)); })(x); };

int main() {
  using vector = tl::tensor<double, 3>;
  double data[] = {-1, 0, 2};
  auto first = tl::jit(slope).bind<vector>();
  auto second = tl::jit(curvature).bind<vector>();
  const vector x(data), d1 = first(x), d2 = second(x);
  for (int i = 0; i < 3; ++i) std::printf("x = %2.0f: f' = %.4f  f'' = %.4f\n", x[i], d1[i], d2[i]);
}
