#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Windows of pools: data, extents, and the loops over their elements.
#include <tapeless/cpu/pool/pool.hpp>
#include <tapeless/cpu/base/thread_team.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <support/elements.hpp>
#include <vector>

namespace pool_test {

using namespace tapeless;
using namespace tapeless::cpu;

// multiples of 1/4 in a small range: sums are exact and ties are common
template <class T> std::vector<T> values(index_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(-12, 12);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = static_cast<T>(draw(random)) / 4;
  return v;
}

// f(output, flat index in the plane) over the elements of all windows of a plane, in scan order
template <class F> void naive(const window_extents& e, F&& f) {
  for (index_t i = 0; i < e.p; ++i)
    for (index_t j = 0; j < e.q; ++j)
      for (index_t r = 0; r < e.r; ++r)
        for (index_t s = 0; s < e.s; ++s) {
          const index_t y = i * e.stride_h - e.pad_top + r * e.dil_h,
                        x = j * e.stride_w - e.pad_left + s * e.dil_w;
          if (y >= 0 && y < e.h && x >= 0 && x < e.w) f(i * e.q + j, y * e.w + x);
        }
}

// every combination in which p and q are positive, all padding asymmetric; rows of windows of some vectors too
template <class F> void each_extents(F&& f) {
  for (index_t planes : {0, 1, 3})
    for (const auto& hw : {std::pair<index_t, index_t>{1, 1}, {5, 7}, {8, 3}, {13, 17}, {3, 67}, {4, 131}})
      for (const auto& rs : {std::pair<index_t, index_t>{1, 1}, {2, 2}, {3, 2}, {1, 4}, {3, 3}})
        for (index_t stride : {1, 2, 3})
          for (index_t dil : {1, 2})
            for (index_t pad : {0, 1}) {
              window_extents e{.planes = planes,
                               .h = hw.first,
                               .w = hw.second,
                               .r = rs.first,
                               .s = rs.second,
                               .stride_h = stride,
                               .stride_w = stride % 3 + 1,
                               .pad_top = pad,
                               .pad_left = pad * (rs.second - 1),
                               .dil_h = dil,
                               .dil_w = 3 - dil};
              const index_t span_h = (e.r - 1) * e.dil_h + 1, span_w = (e.s - 1) * e.dil_w + 1;
              const index_t bottom = pad * 2, right = pad;
              if (e.h + e.pad_top + bottom < span_h || e.w + e.pad_left + right < span_w) continue;
              e.p = (e.h + e.pad_top + bottom - span_h) / e.stride_h + 1;
              e.q = (e.w + e.pad_left + right - span_w) / e.stride_w + 1;
              CAPTURE(e.h);
              CAPTURE(e.w);
              CAPTURE(e.r);
              CAPTURE(e.s);
              CAPTURE(stride);
              CAPTURE(dil);
              CAPTURE(pad);
              f(e);
            }
}

// every width of rows around those of vectors
template <class F> void each_width(F&& f) {
  for (index_t stride : {1, 2, 3})
    for (index_t taps : {1, 2, 3})
      for (index_t dil : {1, 3})
        for (index_t pad : {0, 1})
          for (index_t q = 1; q <= 4 * width<float> + 2; ++q) {
            window_extents e{.planes = 2,
                             .h = 5,
                             .w = (q - 1) * stride + (taps - 1) * dil + 1 - pad,
                             .r = 2,
                             .s = taps,
                             .p = 2,
                             .q = q,
                             .stride_h = 3,
                             .stride_w = stride,
                             .pad_left = pad,
                             .dil_w = dil};
            if (e.w < 1) continue;
            CAPTURE(stride);
            CAPTURE(taps);
            CAPTURE(dil);
            CAPTURE(pad);
            CAPTURE(q);
            f(e);
          }
}

template <class T> bool same_number(T a, T b) { return a == b || (a != a && b != b); }

// f(team) for every team under test: what f returns must not differ
template <class F> auto on_teams(F&& f) {
  const auto result = f(serial_team{});
  const auto again = f(thread_team(2));
  CHECK(std::equal(again.begin(), again.end(), result.begin(), result.end(),
                   [](auto a, auto b) { return same_number(a, b); }));
  return result;
}

template <class T> std::vector<std::int32_t> argmax(const window_extents& e, const std::vector<T>& x) {
  return on_teams([&](const auto& team) {
    std::vector<std::int32_t> idx(static_cast<std::size_t>(e.planes * e.p * e.q), -7);
    window_argmax(team, e, x.data(), idx.data());
    return idx;
  });
}

} // namespace pool_test
