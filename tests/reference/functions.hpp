#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[i] = f(x[i]) by the C library; erfinv, digamma and polygamma in long double, by gamma.hpp. round: ties to even. sign(NaN) =
// NaN. One flop each, but rsqrt 2 and softplus 6.

#include "elementwise.hpp"
#include "gamma.hpp"

#include <cmath>

namespace ref {

template <class T, class F>
array<T> each(const array<T>& a, F f) {
  return map<T>(a, [f](T x) { return once(x, f); });
}

template <class T>
array<T> sin(const array<T>& a) {
  return each(a, [](auto x) { return std::sin(x); });
}
template <class T>
array<T> cos(const array<T>& a) {
  return each(a, [](auto x) { return std::cos(x); });
}
template <class T>
array<T> tan(const array<T>& a) {
  return each(a, [](auto x) { return std::tan(x); });
}
template <class T>
array<T> asin(const array<T>& a) {
  return each(a, [](auto x) { return std::asin(x); });
}
template <class T>
array<T> acos(const array<T>& a) {
  return each(a, [](auto x) { return std::acos(x); });
}
template <class T>
array<T> atan(const array<T>& a) {
  return each(a, [](auto x) { return std::atan(x); });
}
template <class T>
array<T> sinh(const array<T>& a) {
  return each(a, [](auto x) { return std::sinh(x); });
}
template <class T>
array<T> cosh(const array<T>& a) {
  return each(a, [](auto x) { return std::cosh(x); });
}
template <class T>
array<T> asinh(const array<T>& a) {
  return each(a, [](auto x) { return std::asinh(x); });
}
template <class T>
array<T> acosh(const array<T>& a) {
  return each(a, [](auto x) { return std::acosh(x); });
}
template <class T>
array<T> atanh(const array<T>& a) {
  return each(a, [](auto x) { return std::atanh(x); });
}
template <class T>
array<T> exp2(const array<T>& a) {
  return each(a, [](auto x) { return std::exp2(x); });
}
template <class T>
array<T> expm1(const array<T>& a) {
  return each(a, [](auto x) { return std::expm1(x); });
}
template <class T>
array<T> log1p(const array<T>& a) {
  return each(a, [](auto x) { return std::log1p(x); });
}
template <class T>
array<T> log2(const array<T>& a) {
  return each(a, [](auto x) { return std::log2(x); });
}
template <class T>
array<T> log10(const array<T>& a) {
  return each(a, [](auto x) { return std::log10(x); });
}
template <class T>
array<T> erfc(const array<T>& a) {
  return each(a, [](auto x) { return std::erfc(x); });
}
template <class T>
array<T> cbrt(const array<T>& a) {
  return each(a, [](auto x) { return std::cbrt(x); });
}
template <class T>
array<T> floor(const array<T>& a) {
  return each(a, [](auto x) { return std::floor(x); });
}
template <class T>
array<T> ceil(const array<T>& a) {
  return each(a, [](auto x) { return std::ceil(x); });
}
template <class T>
array<T> abs(const array<T>& a) {
  return each(a, [](auto x) { return std::abs(x); });
}
template <class T>
array<T> round(const array<T>& a) {
  return each(a, [](auto x) { return std::nearbyint(x); });
}
template <class T>
array<T> sign(const array<T>& a) {
  return each(a, [](auto x) { return x > 0 ? 1 : x < 0 ? -1 : x; });
}
template <class T>
array<T> rsqrt(const array<T>& a) {
  using std::sqrt;
  return map<T>(a, [](T x) { return T(1) / sqrt(x); });
}
template <class T>
array<T> softplus(const array<T>& a) {
  return map<T>(a, [](T x) {
    using std::exp;
    const T minus_size = -once(x, [](auto e) { return std::abs(e); });
    return larger(x, T(0)) + once(T(exp(minus_size)), [](auto e) { return std::log1p(e); });
  });
}
template <class T>
array<T> atan2(const array<T>& y, const array<T>& x) {
  using std::atan2;
  return zip<T>(y, x, [](T a, T b) { return atan2(a, b); });
}

template <class T>
array<T> erfinv(const array<T>& a) {
  return each(a, [](auto x) { return static_cast<double>(erfinv(static_cast<long double>(x))); });
}
template <class T>
array<T> lgamma(const array<T>& a) {
  return each(a, [](auto x) { return static_cast<double>(std::lgamma(static_cast<long double>(x))); });
}
template <class T>
array<T> digamma(const array<T>& a) {
  return each(a, [](auto x) { return static_cast<double>(polygamma(0, static_cast<long double>(x))); });
}
template <int N, class T>
array<T> polygamma(const array<T>& a) {
  return each(a, [](auto x) { return static_cast<double>(polygamma(N, static_cast<long double>(x))); });
}

// z[i] = f(x[i], y[i]), one flop
template <class T, class F>
array<T> each(const array<T>& a, const array<T>& b, F f) {
  return zip<T>(a, b, [f](T x, T y) {
    return once(x, [&](auto u) { return f(u, static_cast<decltype(u)>(static_cast<double>(y))); });
  });
}
template <class T>
array<T> fmod(const array<T>& a, const array<T>& b) {
  return each(a, b, [](auto x, auto y) { return std::fmod(x, y); });
}
template <class T>
array<T> remainder(const array<T>& a, const array<T>& b) {
  return each(a, b, [](auto x, auto y) {
    const auto r = std::fmod(x, y);
    return r == 0 ? std::copysign(r, y) : (r < 0) == (y < 0) ? r : r + y;
  });
}
template <class T>
array<T> hypot(const array<T>& a, const array<T>& b) {
  return each(a, b, [](auto x, auto y) { return std::hypot(x, y); });
}

} // namespace ref
