// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Maxima of windows and their positions.
#include "pool.hpp"

using namespace pool_test;

TEST_CASE_TEMPLATE("pool: argmax is the first maximum in scan order and gather reads it", T,
                   TAPELESS_ELEMENTS) {
  const auto check = [](const window_extents& e) {
    auto x = values<T>(e.planes * e.h * e.w, 1);
    for (std::size_t i = 0; i < x.size(); i += 11)
      x[i] = i % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : -std::numeric_limits<T>::infinity();
    const auto idx = argmax(e, x);
    const auto y = on_teams([&](const auto& team) {
      std::vector<T> out(idx.size(), T(99));
      window_gather(team, e, x.data(), idx.data(), out.data());
      return out;
    });
    const auto largest = on_teams([&](const auto& team) {
      std::vector<T> out(idx.size(), T(99));
      window_max<T>(team, e, x.data(), out.data());
      return out;
    });
    std::vector<std::int32_t> positions(idx.size(), -7);
    std::vector<T> maxima(idx.size(), T(99));
    window_argmax_and_max(serial_team{}, e, x.data(), positions.data(), maxima.data());
    CHECK(positions == idx);
    CHECK(std::equal(maxima.begin(), maxima.end(), largest.begin(), same_number<T>));
    for (index_t z = 0; z < e.planes; ++z) {
      std::vector<std::int32_t> first(static_cast<std::size_t>(e.p * e.q), -1);
      const T* plane = x.data() + z * e.h * e.w;
      naive(e, [&](index_t out, index_t in) {
        const bool nan_wins = first[out] >= 0 && std::isnan(plane[in]) && !std::isnan(plane[first[out]]);
        if (first[out] < 0 || plane[in] > plane[first[out]] || nan_wins)
          first[out] = static_cast<std::int32_t>(in);
      });
      bool equal = true;
      for (index_t i = 0; i < e.p * e.q; ++i) {
        const index_t out = z * e.p * e.q + i;
        if (first[i] < 0) equal = equal && idx[out] == 0 && same_number(largest[out], T(0)); // padding alone
        else
          equal = equal && idx[out] == first[i] && same_number(y[out], plane[first[i]]) &&
                  same_number(largest[out], plane[first[i]]);
      }
      CHECK(equal);
    }
  };
  each_extents(check);
  each_width(check);
}

TEST_CASE_TEMPLATE("pool: the first NaN of a window wins, minus infinity beats padding", T,
                   TAPELESS_ELEMENTS) {
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  const window_extents row{.planes = 1, .h = 1, .w = 6, .r = 1, .s = 3, .p = 1, .q = 2, .stride_w = 3};
  CHECK(argmax<T>(row, {inf, nan, 7, nan, nan, inf}) == std::vector<std::int32_t>{1, 3});
  CHECK(argmax<T>(row, {nan, nan, nan, 1, 2, nan}) == std::vector<std::int32_t>{0, 5});
  const window_extents padded{.planes = 1, .h = 1, .w = 2, .r = 1, .s = 3, .p = 1, .q = 2, .pad_left = 1};
  CHECK(argmax<T>(padded, {-inf, -inf}) == std::vector<std::int32_t>{0, 0});
}

TEST_CASE_TEMPLATE("pool: scatter is the transpose of gather", T, TAPELESS_ELEMENTS) {
  const auto check = [](const window_extents& e) {
    const auto idx = argmax(e, values<T>(e.planes * e.h * e.w, 2));
    const auto dy = values<T>(static_cast<index_t>(idx.size()), 3);
    const auto dx = on_teams([&](const auto& team) {
      std::vector<T> out(static_cast<std::size_t>(e.planes * e.h * e.w), T(99));
      window_scatter(team, e, idx.data(), dy.data(), out.data());
      return out;
    });
    std::vector<T> expected(dx.size(), T(0));
    for (std::size_t i = 0; i < idx.size(); ++i)
      expected[static_cast<index_t>(i) / (e.p * e.q) * e.h * e.w + idx[i]] += dy[i];
    CHECK(dx == expected);
    if (!cpu::windows_meet_plane(e)) return;
    std::vector<T> pulled = expected; // as in planes that no cache holds
    for (index_t z = 0; z < e.planes; ++z) {
      std::vector<T> plane(static_cast<std::size_t>(e.h * e.w), T(99));
      if (cpu::pull_maxima<simd<T>>(e, idx.data() + z * e.p * e.q, dy.data() + z * e.p * e.q, plane.data()))
        std::copy(plane.begin(), plane.end(), pulled.begin() + z * e.h * e.w);
    }
    CHECK(pulled == expected);
  };
  each_extents(check);
  each_width(check);
}
