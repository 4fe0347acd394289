// One program, bound twice: each bound object has an arena of its own, so two threads run them side by side.
#include <tapeless/tapeless.hpp>

#include <cstdio>
#include <thread>

namespace tl = tapeless;
using vector = tl::tensor<double, 1000>;

constexpr auto f = [](vector x, auto rate) { return tl::sum(tl::exp(-rate * tl::square(x))); };

// Climbs f, as a function of x, from the same start.
double climb(double rate) {
  auto run = tl::jit(tl::value_and_grad<0>(f)).bind<vector, double>();
  tl::owned<vector> x;
  for (int i = 0; i < 1000; ++i) (*x)[i] = 0.001 * i;
  double value = 0;
  for (int step = 0; step < 200; ++step) {
    const auto [now, gradient] = run(*x, rate);
    for (int i = 0; i < 1000; ++i) (*x)[i] += 0.01 * gradient[i];
    value = now[0];
  }
  return value;
}

int main() {
  double slow = 0, fast = 0;
  std::thread other([&] { slow = climb(0.5); });
  fast = climb(2);
  other.join();
  std::printf("rate 0.5: %.3f\nrate 2.0: %.3f\n", slow, fast);
}
