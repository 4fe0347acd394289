// Layers of one type stand in a std::array, and an ordinary for loop runs over them.
#include <tapeless/tapeless.hpp>

#include <array>
#include <cstdio>

namespace tl = tapeless;

struct layer {
  tl::tensor<double, 4, 4> w;
  tl::tensor<double, 4> b;
};
struct network {
  std::array<layer, 5> layers;
  tl::tensor<double, 4> out;
};
using batch = tl::tensor<double, 3, 4>;

constexpr auto f = [](const network& p, batch x) {
  for (const layer& l : p.layers) x = x + tl::tanh(tl::matmul(x, l.w) + l.b); // a residual block
  return tl::mean(tl::matmul(x, p.out));
};

int main() {
  tl::owned<network> p;
  tl::owned<batch> x;
  for (int i = 0; i < 12; ++i) (*x)[i] = 0.1 * i;
  for (double& w : p->out) w = 1;
  for (std::size_t k = 0; k < p->layers.size(); ++k)
    for (int i = 0; i < 16; ++i) p->layers[k].w[i] = i % 5 == 0 ? 0.1 * static_cast<double>(k + 1) : 0;

  auto run = tl::jit(tl::value_and_grad<0>(f)).bind<network, batch>();
  const auto [value, gradient] = run(*p, *x);
  std::printf("value %.4f\n", value[0]);
  for (const layer& l : gradient.layers) std::printf("dw(0, 0) = %.4f  db(0) = %.4f\n", l.w(0, 0), l.b[0]);
}
