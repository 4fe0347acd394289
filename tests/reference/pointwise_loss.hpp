#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// l[i] = f(a[i], b[i]), as the papers write them, in double by the C library.
// Flops per element: l1 2; hinge, poisson 3; huber 7; binary_cross_entropy 13, with a weight of the targets that are 1 16; logaddexp 14; kl 4, and one a term of its sum.

#include "activations.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"

#include <cmath>

namespace ref {

template <class T, class F>
array<T> zip_of(const array<T>& a, const array<T>& b, int flops, F f) {
  const array<T> r = zip<T>(a, b, [=](T x, T y) {
    const double second = static_cast<double>(y);
    return once(x, [=](auto z) { return static_cast<decltype(z)>(f(static_cast<double>(z), second)); });
  });
  return flops == 1 ? r : each_of(r, flops - 1, [](double x) { return x; });
}
template <class T>
array<T> l1(const array<T>& a, const array<T>& b) {
  return zip_of(a, b, 2, [](double x, double y) { return std::abs(x - y); });
}
template <class T>
array<T> huber(const array<T>& a, const array<T>& b, double delta) {
  return zip_of(a, b, 7, [=](double x, double y) {
    const double size = std::abs(x - y);
    return size <= delta ? size * size / 2 : delta * (size - delta / 2);
  });
}
template <class T>
array<T> binary_cross_entropy(const array<T>& a, const array<T>& y) {
  return zip_of(a, y, 13, [](double x, double t) {
    return t * std::log1p(std::exp(-x)) + (1 - t) * std::log1p(std::exp(x));
  });
}
template <class T>
array<T> binary_cross_entropy(const array<T>& a, const array<T>& y, double weight) {
  return zip_of(a, y, 16, [=](double x, double t) {
    return weight * t * std::log1p(std::exp(-x)) + (1 - t) * std::log1p(std::exp(x));
  });
}
template <class T>
array<T> logaddexp(const array<T>& a, const array<T>& b) {
  return zip_of(a, b, 14, [](double x, double y) { return std::log(std::exp(x) + std::exp(y)); });
}
template <class T>
array<T> hinge(const array<T>& a, const array<T>& y) {
  return zip_of(a, y, 3, [](double x, double t) { return std::fmax(0, 1 - x * t); });
}
template <class T>
array<T> poisson(const array<T>& a, const array<T>& count) {
  return zip_of(a, count, 3, [](double x, double k) { return std::exp(x) - k * x; });
}
template <class T>
array<T> kl(const array<T>& log_q, const array<T>& p) {
  return sum(zip_of(log_q, p, 4, [](double q, double x) { return x == 0 ? 0 : x * (std::log(x) - q); }),
             {-1});
}

} // namespace ref
