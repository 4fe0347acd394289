// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>
#include <sstream>
#include <string>

namespace tl = tapeless;

// [hard]
struct network {
  tl::tensor<float, 64, 256> w1;
  tl::tensor<float, 256> b1;
  tl::tensor<float, 256, 10> w2;
};
using images = tl::tensor<float, 4096, 64>;
using targets = tl::tensor<float, 4096, 10>;
constexpr auto losses = [](const auto& p, auto x, auto t) { // of every row
  auto h = tl::relu(tl::matmul(x, p.w1) + p.b1);
  return tl::mean<1>(tl::square(tl::matmul(h, p.w2) - t));
};
constexpr auto all_rows = tl::jit(tl::value_and_grad<0>([](const auto& p, auto x, auto t) {
  return tl::mean(losses(p, x, t));
}));
constexpr auto hard_rows = tl::jit(tl::value_and_grad<0>([](const auto& p, auto x, auto t) {
  auto loss = losses(p, x, t);
  return tl::mean(tl::gather(loss, tl::top_k<1024>(loss))); // the hardest quarter
}));
constexpr tl::cost all = all_rows.cost<network, images, targets>();
constexpr tl::cost hard = hard_rows.cost<network, images, targets>();
static_assert(hard.adjoint.flops <= 0.26 * all.adjoint.flops && hard.densified == 0);
// [/hard]

// [mask]
using flags = tl::tensor<bool, 4096>;
constexpr auto masked = tl::jit(tl::value_and_grad<0>([](const auto& p, auto x, auto t, auto keep) {
  return tl::mean(tl::where(keep, losses(p, x, t), 0.0f));
}));
// [/mask]

void print(const char* rows, const tl::cost& c) {
  std::printf("%-15s %-18s %s\n", rows, to_string(c.primal.flops).c_str(), to_string(c.adjoint.flops).c_str());
}

int main() {
  std::istringstream plan(hard_rows.explain<network, images, targets>());
  for (std::string line; std::getline(plan, line);)
    for (const char* word : {"step ", "top_k", "adjoint "})
      if (line.find(word) != std::string::npos) std::puts(line.c_str());
  std::puts("\nflops           forward            backward");
  print("all rows", all);
  print("hard_rows", hard);
  print("masked", masked.cost<network, images, targets, flags>());
}
