#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[i] = f(x[i]), as the papers write them, by the functions of the C library.
// Flops per element: reciprocal 1; clamp, hardtanh, leaky_relu 2; elu, trunc, nan_to_num 3; selu, gelu 4; silu, hardswish 5;
// mish, log_sigmoid 8; gelu_tanh 11.

#include "elementwise.hpp"
#include "functions.hpp"

#include <cmath>
#include <limits>

namespace ref {

// f of the number, a double, as so many flops
template <class T, class F>
array<T> each_of(const array<T>& a, int flops, F f) {
  return map<T>(a, [=](T x) {
    const T y = once(x, [=](auto z) { return static_cast<decltype(z)>(f(static_cast<double>(z))); });
    T counted = y;
    for (int k = 1; k < flops; ++k) counted = once(counted, [](auto z) { return z; });
    return counted;
  });
}

template <class T>
array<T> clamp(const array<T>& a, double lo, double hi) {
  return each_of(a, 2, [=](auto x) { return std::isnan(x) ? x : x > hi ? hi : x < lo ? lo : x; });
}
template <class T>
array<T> hardtanh(const array<T>& a) {
  return clamp(a, -1, 1);
}
template <class T>
array<T> reciprocal(const array<T>& a) {
  return each_of(a, 1, [](auto x) { return 1 / x; });
}
template <class T>
array<T> leaky_relu(const array<T>& a, double slope = 0.01) {
  return each_of(a, 2, [=](auto x) { return x > 0 ? x : slope * x; });
}
template <class T>
array<T> elu(const array<T>& a, double alpha = 1) {
  return each_of(a, alpha == 1 ? 2 : 3, [=](auto x) { return x > 0 ? x : alpha * std::expm1(x); });
}
template <class T>
array<T> selu(const array<T>& a) {
  return each_of(
      a, 4, [](auto x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); });
}
template <class T>
array<T> gelu(const array<T>& a) {
  return each_of(a, 4, [](auto x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; });
}
template <class T>
array<T> gelu_tanh(const array<T>& a) {
  return each_of(a, 11, [](auto x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  });
}
template <class T>
array<T> silu(const array<T>& a) {
  return each_of(a, 5, [](auto x) { return x / (1 + std::exp(-x)); });
}
template <class T>
array<T> mish(const array<T>& a) {
  return each_of(a, 8, [](auto x) { return x * std::tanh(std::log1p(std::exp(x))); });
}
template <class T>
array<T> hardswish(const array<T>& a) {
  return each_of(a, 5, [](auto x) { return x <= -3 ? 0 * x : x >= 3 ? x : x * (x + 3) / 6; });
}
template <class T>
array<T> log_sigmoid(const array<T>& a) {
  return each_of(a, 8, [](auto x) { return -std::log1p(std::exp(-x)); });
}
template <class T>
array<T> trunc(const array<T>& a) {
  return each_of(a, 3, [](auto x) { return std::trunc(x); });
}
template <class T>
array<T> nan_to_num(const array<T>& a, double nan = 0) {
  return each_of(a, 3, [=](auto x) { return std::isnan(x) ? nan : x; });
}

} // namespace ref
