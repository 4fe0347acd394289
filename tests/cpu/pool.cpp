// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/pool/pool.hpp>
#include <tapeless/cpu/base/thread_team.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <support/elements.hpp>
#include <vector>

using namespace tapeless;
using namespace tapeless::cpu;

namespace {

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

} // namespace

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
      const auto turned = as_rows(expected, area, rows.inner);
      CHECK(std::equal(got.begin(), got.end(), turned.begin(), [](R a, R b) {
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
