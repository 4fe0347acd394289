#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[i] = f(x[i]) by the C library. round: ties to even. sign(NaN) = NaN. One flop each, but rsqrt 2 and softplus 6.

#include "elementwise.hpp"

#include <cmath>

namespace ref {

template <class T>
array<T> sin(const array<T>& a) {
  using std::sin;
  return map<T>(a, [](T x) { return sin(x); });
}
template <class T>
array<T> cos(const array<T>& a) {
  using std::cos;
  return map<T>(a, [](T x) { return cos(x); });
}
template <class T>
array<T> tan(const array<T>& a) {
  using std::tan;
  return map<T>(a, [](T x) { return tan(x); });
}
template <class T>
array<T> asin(const array<T>& a) {
  using std::asin;
  return map<T>(a, [](T x) { return asin(x); });
}
template <class T>
array<T> acos(const array<T>& a) {
  using std::acos;
  return map<T>(a, [](T x) { return acos(x); });
}
template <class T>
array<T> atan(const array<T>& a) {
  using std::atan;
  return map<T>(a, [](T x) { return atan(x); });
}
template <class T>
array<T> sinh(const array<T>& a) {
  using std::sinh;
  return map<T>(a, [](T x) { return sinh(x); });
}
template <class T>
array<T> cosh(const array<T>& a) {
  using std::cosh;
  return map<T>(a, [](T x) { return cosh(x); });
}
template <class T>
array<T> asinh(const array<T>& a) {
  using std::asinh;
  return map<T>(a, [](T x) { return asinh(x); });
}
template <class T>
array<T> acosh(const array<T>& a) {
  using std::acosh;
  return map<T>(a, [](T x) { return acosh(x); });
}
template <class T>
array<T> atanh(const array<T>& a) {
  using std::atanh;
  return map<T>(a, [](T x) { return atanh(x); });
}
template <class T>
array<T> exp2(const array<T>& a) {
  using std::exp2;
  return map<T>(a, [](T x) { return exp2(x); });
}
template <class T>
array<T> expm1(const array<T>& a) {
  using std::expm1;
  return map<T>(a, [](T x) { return expm1(x); });
}
template <class T>
array<T> log1p(const array<T>& a) {
  using std::log1p;
  return map<T>(a, [](T x) { return log1p(x); });
}
template <class T>
array<T> log2(const array<T>& a) {
  using std::log2;
  return map<T>(a, [](T x) { return log2(x); });
}
template <class T>
array<T> log10(const array<T>& a) {
  using std::log10;
  return map<T>(a, [](T x) { return log10(x); });
}
template <class T>
array<T> cbrt(const array<T>& a) {
  using std::cbrt;
  return map<T>(a, [](T x) { return cbrt(x); });
}
template <class T>
array<T> floor(const array<T>& a) {
  using std::floor;
  return map<T>(a, [](T x) { return floor(x); });
}
template <class T>
array<T> ceil(const array<T>& a) {
  using std::ceil;
  return map<T>(a, [](T x) { return ceil(x); });
}
template <class T>
array<T> abs(const array<T>& a) {
  using std::abs;
  return map<T>(a, [](T x) { return abs(x); });
}
template <class T>
array<T> round(const array<T>& a) {
  using std::nearbyint;
  return map<T>(a, [](T x) { return nearbyint(x); });
}
template <class T>
T sign_of(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}
inline counted sign_of(counted x) { return counted::tally(sign_of(x.value())); }
template <class T>
array<T> sign(const array<T>& a) {
  return map<T>(a, [](T x) { return sign_of(x); });
}
template <class T>
array<T> rsqrt(const array<T>& a) {
  using std::sqrt;
  return map<T>(a, [](T x) { return T(1) / sqrt(x); });
}
template <class T>
array<T> softplus(const array<T>& a) {
  using std::abs, std::exp, std::log1p;
  return map<T>(a, [](T x) { return larger(x, T(0)) + log1p(exp(-abs(x))); });
}
template <class T>
array<T> atan2(const array<T>& y, const array<T>& x) {
  using std::atan2;
  return zip<T>(y, x, [](T a, T b) { return atan2(a, b); });
}

} // namespace ref
