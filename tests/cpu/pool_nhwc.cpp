// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Windows of rows of channels.
#include "pool.hpp"

using namespace pool_test;

// planes of e as one of rows of `inner` channels, and back
template <class T> std::vector<T> as_rows(const std::vector<T>& x, index_t area, index_t inner) {
  std::vector<T> r(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const index_t at = static_cast<index_t>(i), z = at / (area * inner), c = at / area % inner;
    r[static_cast<std::size_t>((z * area + at % area) * inner + c)] = x[i];
  }
  return r;
}

TEST_CASE_TEMPLATE("pool: of rows of channels what it is of the channels' planes", T, TAPELESS_ELEMENTS) {
  constexpr index_t W = width<T>;
  const index_t channels[] = {2, W, 5 * W + 1, 2 * W - 1, 4 * W};
  int next = 0;
  each_extents([&](const window_extents& images) {
    window_extents rows = images, e = images;
    rows.inner = channels[next++ % 5];
    e.planes *= rows.inner;
    const index_t in = e.h * e.w, out = e.p * e.q;
    auto x = values<T>(e.planes * in, 8);
    for (std::size_t i = 0; i < x.size(); i += 11)
      x[i] = i % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : -std::numeric_limits<T>::infinity();
    auto dy = values<T>(e.planes * out, 9);
    for (std::size_t i = 0; i < dy.size(); i += 3) dy[i] = -T(0);
    const auto x_rows = as_rows(x, in, rows.inner), dy_rows = as_rows(dy, out, rows.inner);
    // f(team, extents, x, dy, to): the same of both
    const auto check = [&]<class R>(R, index_t area, const auto& f) {
      std::vector<R> expected(static_cast<std::size_t>(e.planes * area), R(99));
      f(serial_team{}, e, x.data(), dy.data(), expected.data());
      const auto got = on_teams([&](const auto& team) {
        std::vector<R> r(expected.size(), R(99));
        f(team, rows, x_rows.data(), dy_rows.data(), r.data());
        return r;
      });
      const auto in_rows = as_rows(expected, area, rows.inner);
      CHECK(std::equal(got.begin(), got.end(), in_rows.begin(), [](R a, R b) {
        return same_number(a, b) &&
               std::signbit(static_cast<double>(a)) == std::signbit(static_cast<double>(b));
      }));
    };
    const auto idx = argmax(e, x);
    const auto idx_rows = as_rows(idx, out, rows.inner);
    const auto idx_of = [&](const window_extents& w) { return w.inner > 1 ? idx_rows.data() : idx.data(); };
    const auto both = [](const auto& w, const T* from, std::int32_t* positions, T* maxima) {
      std::vector<std::int32_t> i(static_cast<std::size_t>(w.planes * w.p * w.q * w.inner));
      std::vector<T> y(i.size());
      window_argmax_and_max(serial_team{}, w, from, positions ? positions : i.data(),
                            maxima ? maxima : y.data());
    };
    check(std::int32_t{}, out, [](const auto& team, const auto& w, const T* from, const T*, auto* to) {
      window_argmax(team, w, from, to);
    });
    check(T{}, out, [](const auto& team, const auto& w, const T* from, const T*, T* to) {
      window_max(team, w, from, to);
    });
    check(std::int32_t{}, out,
          [&](const auto&, const auto& w, const T* from, const T*, auto* to) { both(w, from, to, nullptr); });
    check(T{}, out,
          [&](const auto&, const auto& w, const T* from, const T*, T* to) { both(w, from, nullptr, to); });
    check(T{}, out, [&](const auto& team, const auto& w, const T* from, const T*, T* to) {
      window_gather(team, w, from, idx_of(w), to);
    });
    if (cpu::windows_meet_plane(e)) // else they have no positions
      check(T{}, in, [&](const auto& team, const auto& w, const T*, const T* from, T* to) {
        window_scatter(team, w, idx_of(w), from, to);
      });
    check(T{}, out, [](const auto& team, const auto& w, const T* from, const T*, T* to) {
      window_sum(team, w, T(0.5), from, to);
    });
    check(T{}, in, [](const auto& team, const auto& w, const T*, const T* from, T* to) {
      window_spread(team, w, T(0.5), from, to);
    });
  });
}
