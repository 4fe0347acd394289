#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Of the tests of sweeps with convolutions, end to end: their plans, their data, and how results are compared. What a program
// over many images computes is the sum, or the list, of what the same program computes of each image.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <support/compare.hpp>
#include <support/random.hpp>
#include <vector>

#include <tapeless/tapeless.hpp>

namespace batch_sweeps {

namespace tl = tapeless;

constexpr int side = 20;
template <class T, int N, int C> using images = tl::tensor<T, N, C, side, side>;

// ---- plans
template <class F, class... X> struct plan_of {
  static constexpr const auto& p = tl::detail::planned<F, X...>::value;
  static constexpr bool in_sweep(int i) {
    return p.step_[i].sweep || (i + 1 < p.steps && p.step_[i + 1].sweep);
  }
  static constexpr int convolutions(bool sweeps) {
    int n = 0;
    for (int i = 0; i < p.steps; ++i)
      n += tl::detail::is_conv(p.step_[i].o) && (in_sweep(i) || !sweeps) ? 1 : 0;
    return n;
  }
  static constexpr bool all_in_sweeps() {
    return convolutions(false) > 0 && convolutions(true) == convolutions(false);
  }
  static constexpr int pools_in_sweeps() {
    int n = 0;
    for (int i = 0; i < p.steps; ++i)
      n += !p.step_[i].fused && tl::detail::slides(p.step_[i].o) && in_sweep(i) ? 1 : 0;
    return n;
  }
  // How many loops over a multiple of `rows` are in no sweep.
  static constexpr int loops_outside(tl::extent_t rows) {
    int n = 0;
    for (int i = 0; i < p.steps; ++i)
      n += p.step_[i].fused && p.step_[i].loop[0] % rows == 0 && !in_sweep(i) ? 1 : 0;
    return n;
  }
  // What passes from a step of a sweep to another one is in scratch, and no place of it is written while it is read.
  static constexpr bool keep_to_their_scratch() {
    using namespace tl::detail;
    for (int i = 0; i < p.steps; ++i) {
      const step& s = p.step_[i];
      const int n = s.loads + s.stores;
      for (int k = s.slot0; k < s.slot0 + n; ++k) {
        const slot& q = p.slot_[k];
        if (q.at.where != place::sweep) continue;
        if (!in_sweep(i) || q.at.offset < 0 || q.at.offset >= p.sweep_bytes) return false;
        for (int w = s.slot0 + s.loads; w < s.slot0 + n; ++w)
          if (w != k && p.slot_[w].at == q.at) return false;
        // maxima are written with their positions
        const bool early = tl::cpu::is_made_with_positions<p>(i + 1);
        if (early && p.slot_[p.step_[i + 1].slot0 + 1].at == q.at) return false;
      }
    }
    return true;
  }
};

// ---- data and sums
template <class T> using numbers = std::vector<T>;
template <class View, class T> void put(const View& to, const numbers<T>& from, std::size_t at = 0) {
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.data());
}
template <class View, class T> void add(numbers<T>& sum, const View& v) {
  sum.resize(static_cast<std::size_t>(v.size()));
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += v.data()[i];
}
template <class View, class T> void append(numbers<T>& list, const View& v) {
  list.insert(list.end(), v.begin(), v.end());
}
// Sums of many terms: by the largest element.
template <class T> double tolerance(const numbers<T>& expected) {
  double largest = 0;
  for (const T x : expected) largest = std::max(largest, static_cast<double>(std::abs(x)));
  return (sizeof(T) == 8 ? 1e-12 : 2e-5) * (1 + largest);
}
template <class View, class T> bool agrees(const View& got, const numbers<T>& expected) {
  const auto c = support::close(got, expected, tolerance(expected));
  CAPTURE(c);
  CHECK(c);
  return static_cast<bool>(c);
}

} // namespace batch_sweeps
