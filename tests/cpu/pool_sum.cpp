// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sums of windows; planes that no cache holds.
#include "pool.hpp"

using namespace pool_test;

TEST_CASE_TEMPLATE("pool: sum adds the elements of a window and spread is its transpose", T,
                   TAPELESS_ELEMENTS) {
  const auto check = [](const window_extents& e) {
    auto x = values<T>(e.planes * e.h * e.w, 4), dy = values<T>(e.planes * e.p * e.q, 5);
    for (T& v : x) v /= 7; // sums depend on their order
    for (T& v : dy) v /= 7;
    const auto y = on_teams([&](const auto& team) {
      std::vector<T> out(dy.size(), T(99));
      window_sum(team, e, T(1), x.data(), out.data());
      return out;
    });
    const auto dx = on_teams([&](const auto& team) {
      std::vector<T> out(x.size(), T(99));
      window_spread(team, e, T(1), dy.data(), out.data());
      return out;
    });
    std::vector<T> sum(y.size(), T(0)), spread(x.size(), T(0));
    for (index_t z = 0; z < e.planes; ++z)
      naive(e, [&](index_t out, index_t in) {
        sum[z * e.p * e.q + out] += x[z * e.h * e.w + in];
        spread[z * e.h * e.w + in] += dy[z * e.p * e.q + out];
      });
    CHECK(y == sum);
    CHECK(dx == spread);
    window_sum(serial_team{}, e, T(0.5), x.data(), sum.data()); // exact
    window_spread(serial_team{}, e, T(0.5), dy.data(), spread.data());
    for (T& v : sum) v *= 2;
    for (T& v : spread) v *= 2;
    CHECK(y == sum);
    CHECK(dx == spread);
  };
  each_extents(check);
  each_width(check);
}

TEST_CASE("pool: what is stored past the caches is what is stored into them") {
  const window_extents e{
      .planes = 9, .h = 1024, .w = 1024, .r = 2, .s = 2, .p = 512, .q = 512, .stride_h = 2, .stride_w = 2};
  window_extents one = e;
  one.planes = 1;
  const index_t in = e.h * e.w, out = e.p * e.q;
  static_assert(9 * 1024 * 1024 * sizeof(float) >= larger_than_caches);
  const auto x = values<float>(e.planes * in, 6), dy = values<float>(e.planes * out, 7);
  const auto lines = [](std::vector<float>& v) { // where a line begins
    float* p = v.data();
    while (!lines_up(p)) ++p;
    return p;
  };
  std::vector<float> dx(x.size() + 16), plane(static_cast<std::size_t>(in));
  float* const all = lines(dx);
  const auto check = [&](const auto& pull) {
    pull(e, 0, all);
    for (index_t z = 0; z < e.planes; ++z) {
      pull(one, z, plane.data());
      CHECK(std::equal(plane.begin(), plane.end(), all + z * in));
    }
  };
  check([&](const window_extents& w, index_t z, float* to) {
    window_spread(serial_team{}, w, 0.25f, dy.data() + z * out, to);
  });
  check([&](const window_extents& w, index_t z, float* to) {
    std::vector<std::int32_t> idx(static_cast<std::size_t>(w.planes * out));
    window_argmax(serial_team{}, w, x.data() + z * in, idx.data());
    window_scatter(serial_team{}, w, idx.data(), dy.data() + z * out, to);
  });
}
