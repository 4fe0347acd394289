// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>
#include <vector>

namespace tl = tapeless;

using rows = tl::tensor<const float, tl::dyn<'n'>, 2>;
using labels = tl::tensor<const std::int32_t, tl::dyn<'n'>>;
using weights = tl::tensor<float, 2, 3>;

constexpr auto loss = [](weights w, rows x, labels y) { return tl::mean(tl::softmax_cross_entropy(tl::matmul(x, w), y)); };

int main() {
  auto run = tl::jit(tl::value_and_grad<0>(loss)).bind<weights, rows, labels>(tl::dim<'n'>(8)); // a capacity

  const std::vector<float> x(20, 1.0f);
  const std::vector<std::int32_t> y{0, 1, 2, 0, 1, 2, 0, 1, 2, 5};
  tl::owned<weights> w;
  for (const int n : {8, 2}) { // a full batch, a smaller one
    const auto [value, gradient] = run(*w, rows(x.data(), n), labels(y.data(), n));
    std::printf("n = %d: loss %.4f, w_bar[0] %.4f\n", n, value[0], gradient[0]);
  }

  const auto refused = [&](const float* data, int n, const std::int32_t* label, int m) {
    try {
      run(*w, rows(data, n), labels(label, m));
    } catch (const tl::argument_error& e) {
      std::puts(e.what());
    }
  };
  refused(x.data(), 10, y.data(), 10);
  refused(x.data(), 3, y.data(), 4);
  refused(x.data(), 2, y.data() + 8, 2);
  refused(nullptr, 2, y.data(), 2);
}
