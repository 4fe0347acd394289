// Layers of different extents stand in a std::tuple; the handle `var` is one variable that passes through them all.
#include <tapeless/tapeless.hpp>

#include <cstdio>
#include <tuple>

namespace tl = tapeless;

template <int In, int Out> struct dense {
  tl::tensor<double, In, Out> w;
  tl::tensor<double, Out> b;
};
using network = std::tuple<dense<6, 12>, dense<12, 5>, dense<5, 2>>;
using batch = tl::tensor<double, 3, 6>;

constexpr auto f = [](const network& layers, batch x) {
  tl::var h = x;
  tl::for_each_layer(layers, [&](const auto& l) { h = tl::tanh(tl::matmul(h, l.w) + l.b); });
  return tl::sum(h.as<double, 3, 2>()); // typed again: the extents are checked here
};

int main() {
  tl::owned<network> p;
  tl::owned<batch> x;
  for (int i = 0; i < 18; ++i) (*x)[i] = 0.1 * i;
  tl::for_each_layer(p.view(), [](const auto& l) {
    for (int i = 0; i < l.w.size(); ++i) l.w[i] = 0.2 * (i % 3 - 1) + 0.05;
  });

  auto run = tl::jit(tl::value_and_grad<0>(f)).bind<network, batch>();
  const auto [value, gradient] = run(*p, *x);
  std::printf("value %.4f\n", value[0]);
  tl::for_each_layer(gradient, [](const auto& l) {
    std::printf("dw: %d x %d, dw(0, 0) = %.4f, db(0) = %.4f\n", static_cast<int>(l.w.extent(0)),
                static_cast<int>(l.w.extent(1)), l.w(0, 0), l.b[0]);
  });
}
