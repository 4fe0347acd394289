// expect: tapeless: cuda: a custom op of elements has the text of its primal for the device: static constexpr const char* device = "return x * x;", see tapeless/ops/custom.hpp
// within: 60
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cuda/program_kernels.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct cube {
  template <class T> static T primal(T x) { return x * x * x; }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * 3.0f * tl::square(x); }
#ifndef TAPELESS_BAD
  static constexpr const char* device = "return x * x * x;";
#endif
};
constexpr auto f = [](auto x) { return tl::custom<cube>(x); };
auto names() { return tl::cuda::program_kernels<decltype(f), tl::tensor<float, 3>>(); }
