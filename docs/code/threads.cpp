// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace tl = tapeless;

// [program]
using X = tl::tensor<float, tl::dyn<'n'>, 1, 16, 16>;
using K = tl::tensor<float, 8, 1, 3, 3>;
using W = tl::tensor<float, 2048, 4>;
constexpr auto loss = [](auto x, auto k, auto w) {
  auto h = tanh(tl::conv2d<tl::conv{.padding = 1}>(x, k)); // (n, 8, 16, 16)
  return tl::mean(square(tl::matmul(tl::flatten(h), w)));
};
constexpr auto step = tl::jit(tl::value_and_grad<0, 1, 2>(loss));
// [/program]

// all results of a run after each other
std::vector<float> results(int threads, const X& x, const K& k, const W& w) {
  auto run = step.bind<X, K, W>(tl::dim<'n'>(x.extent(0)), tl::threads(threads));
  std::vector<float> all;
  const auto out = run(x, k, w);
  tl::detail::for_each_leaf(out, [&](const auto& leaf) { all.insert(all.end(), leaf.begin(), leaf.end()); });
  return all;
}

int main() {
  tl::owned<std::tuple<X, K, W>> in(tl::dim<'n'>(64));
  unsigned state = 1;
  tl::detail::for_each_leaf(*in, [&](auto leaf) {
    for (float& e : leaf) {
      state = state * 1664525u + 1013904223u;
      e = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
    }
  });
  const auto& [x, k, w] = *in;
  const std::vector<float> one = results(1, x, k, w);
  for (const int threads : {2, 3, 7}) {
    const std::vector<float> many = results(threads, x, k, w);
    const bool same = one.size() == many.size() && std::memcmp(one.data(), many.data(), one.size() * sizeof(float)) == 0;
    std::printf("%d threads: %zu numbers, %s\n", threads, many.size(), same ? "the same bits as with 1" : "OTHER BITS");
  }
}
