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

// f(a): one flop for a counted number.
template <class F>
counted once(const counted& a, F f) {
  return counted::tally(f(a.value()));
}
template <class T, class F>
T once(T a, F f) {
  return f(a);
}

// The operations that f() does on counted values.
template <class F>
std::int64_t flops_of(F&& f) {
  const std::int64_t before = counted::flops;
  std::forward<F>(f)();
  return counted::flops - before;
}

} // namespace ref
