#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// ref::counted: a double that counts the floating-point operations done with it.
// + - * / negation, max, min, a comparison and each function of the C library count 1 each; conversions,
// copies and selections count 0. Every fold of the reference starts from its neutral element: n terms count n.

#include <cmath>
#include <cstdint>
#include <utility>

namespace ref {

class counted {
public:
  counted() = default;
  counted(double value) : value_(value) {}
  explicit operator double() const { return value_; }
  double value() const { return value_; }

  static inline std::int64_t flops = 0; // since the program started; not thread-safe

  friend counted operator+(counted a, counted b) { return tally(a.value_ + b.value_); }
  friend counted operator-(counted a, counted b) { return tally(a.value_ - b.value_); }
  friend counted operator*(counted a, counted b) { return tally(a.value_ * b.value_); }
  friend counted operator/(counted a, counted b) { return tally(a.value_ / b.value_); }
  friend counted operator-(counted a) { return tally(-a.value_); }
  counted& operator+=(counted b) { return *this = *this + b; }
  counted& operator-=(counted b) { return *this = *this - b; }
  counted& operator*=(counted b) { return *this = *this * b; }
  counted& operator/=(counted b) { return *this = *this / b; }

  friend bool operator<(counted a, counted b) { return tally(a.value_ < b.value_); }
  friend bool operator<=(counted a, counted b) { return tally(a.value_ <= b.value_); }
  friend bool operator>(counted a, counted b) { return tally(a.value_ > b.value_); }
  friend bool operator>=(counted a, counted b) { return tally(a.value_ >= b.value_); }
  friend bool operator==(counted a, counted b) { return tally(a.value_ == b.value_); }

  friend counted sqrt(counted a) { return tally(std::sqrt(a.value_)); }
  friend counted exp(counted a) { return tally(std::exp(a.value_)); }
  friend counted log(counted a) { return tally(std::log(a.value_)); }
  friend counted erf(counted a) { return tally(std::erf(a.value_)); }
  friend counted tanh(counted a) { return tally(std::tanh(a.value_)); }
  friend counted sin(counted a) { return tally(std::sin(a.value_)); }
  friend counted cos(counted a) { return tally(std::cos(a.value_)); }
  friend counted tan(counted a) { return tally(std::tan(a.value_)); }
  friend counted asin(counted a) { return tally(std::asin(a.value_)); }
  friend counted acos(counted a) { return tally(std::acos(a.value_)); }
  friend counted atan(counted a) { return tally(std::atan(a.value_)); }
  friend counted sinh(counted a) { return tally(std::sinh(a.value_)); }
  friend counted cosh(counted a) { return tally(std::cosh(a.value_)); }
  friend counted asinh(counted a) { return tally(std::asinh(a.value_)); }
  friend counted acosh(counted a) { return tally(std::acosh(a.value_)); }
  friend counted atanh(counted a) { return tally(std::atanh(a.value_)); }
  friend counted exp2(counted a) { return tally(std::exp2(a.value_)); }
  friend counted expm1(counted a) { return tally(std::expm1(a.value_)); }
  friend counted log1p(counted a) { return tally(std::log1p(a.value_)); }
  friend counted log2(counted a) { return tally(std::log2(a.value_)); }
  friend counted log10(counted a) { return tally(std::log10(a.value_)); }
  friend counted cbrt(counted a) { return tally(std::cbrt(a.value_)); }
  friend counted floor(counted a) { return tally(std::floor(a.value_)); }
  friend counted ceil(counted a) { return tally(std::ceil(a.value_)); }
  friend counted abs(counted a) { return tally(std::abs(a.value_)); }
  friend counted nearbyint(counted a) { return tally(std::nearbyint(a.value_)); }
  friend counted atan2(counted a, counted b) { return tally(std::atan2(a.value_, b.value_)); }
  friend counted pow(counted a, counted b) { return tally(std::pow(a.value_, b.value_)); }

  template <class Result>
  static Result tally(Result result) {
    ++flops;
    return result;
  }

private:
  double value_ = 0;
};

// The operations that f() does on counted values.
template <class F>
std::int64_t flops_of(F&& f) {
  const std::int64_t before = counted::flops;
  std::forward<F>(f)();
  return counted::flops - before;
}

} // namespace ref
