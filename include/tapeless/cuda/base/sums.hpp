// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Sums of one thread whose rounding errors stay small.
#pragma once
#include "block.hpp"

namespace tapeless::cuda {

// A sum as a pair, high + low: low is what additions to high have lost. Of integers, which wrap around, and of bools, whose
// sum is "or", low stays 0.
template <class T> struct long_sum {
  T high{}, low{};
  TAPELESS_KERNEL void add(T x) {
    if constexpr (sizeof(T) == 1) high = high || x;
    else if constexpr (T(1) / T(2) == T(0)) // an integer
      high = static_cast<T>(static_cast<std::uint32_t>(high) + static_cast<std::uint32_t>(x));
    else {
      const T sum = high + x, part = sum - high;
      low += (high - (sum - part)) + (x - part);
      high = sum;
    }
  }
  TAPELESS_KERNEL T value() const {
    if constexpr (sizeof(T) == 1) return high;
    else {
      const T sum = high + low;
      return sum == sum ? sum : high; // an infinite sum has lost NaN
    }
  }
};

} // namespace tapeless::cuda
