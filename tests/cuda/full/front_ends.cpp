// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A program that a compiler of CUDA takes too: clang with -x cuda, and nvcc. It makes the kernels ahead of time.
#include <tapeless/cuda.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace tl = tapeless;

struct params {
  tl::tensor<float, 4, 3, 3, 3> filters;
  tl::tensor<float, 4 * 6 * 6, 7> w;
  tl::tensor<float, 7> b;
};
using images = tl::tensor<float, tl::dyn<'n'>, 3, 8, 8>;
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;

struct copied {
  static constexpr tl::shape result(tl::shape x) { return x; }
  static void primal(auto y, auto x) { std::copy(x.begin(), x.end(), y.begin()); }
  static void launch(cudaStream_t stream, auto y, auto x) {
    cudaMemcpyAsync(y.data(), x.data(), static_cast<std::size_t>(x.size()) * sizeof *x.data(),
                    cudaMemcpyDeviceToDevice, stream);
  }
  static constexpr auto vjp(auto, auto, auto y_bar) { return tl::custom<copied>(y_bar); }
};
constexpr auto loss = [](auto p, auto x, auto y) {
  const auto h = tl::custom<copied>(tl::relu(tl::conv2d(x, p.filters)));
  return tl::mean(tl::softmax_cross_entropy(tl::matmul(tl::flatten(h), p.w) + p.b, y));
};
constexpr auto train = [](auto p, auto x, auto y, auto rate) {
  const auto [value, gradient] = tl::value_and_grad(loss)(p, x, y);
  return std::tuple{value, tl::sgd_update(p, gradient, rate)};
};

int main() {
  using tl::cuda::on;
  const tl::dim<'n'> n(9);
  const tl::cuda::stream s;
  const tl::cuda::owned<params> p(s);
  const tl::cuda::owned<images> x(s, n);
  const tl::cuda::owned<labels> y(s, n);
  const tl::cuda::owned<tl::scalar<float>> value(s);
  auto run = tl::jit(train).bind<on<params>, on<images>, on<labels>, float>(s, n);
  run.into(std::tuple{*value, *p})(*p, *x, *y, 0.1f);
  s.wait();
}
