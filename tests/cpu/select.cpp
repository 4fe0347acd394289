// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/move/select.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reference/select.hpp"

using namespace tapeless::cpu;

namespace {

using rows = ref::positions;
const std::vector<index_t> sizes{0, 1, 2, 7, 63, 64, 65, 1000, 4099};

std::size_t size_of(index_t n) { return static_cast<std::size_t>(n); }

// What f writes behind `place` rows, or more rows than it counts, is an error.
template <class F> rows written(index_t place, const F& f) {
  rows r(size_of(place) + 1, -7);
  const index_t count = f(r.data());
  REQUIRE(count >= 0);
  REQUIRE(count <= place);
  CHECK(r.back() == -7);
  r.resize(size_of(count));
  return r;
}

template <class T> struct pattern {
  std::string name;
  std::vector<T> v;
};

// Values of n rows: what sorts well, and what does not.
template <class T> std::vector<pattern<T>> patterns(index_t n) {
  using limits = std::numeric_limits<T>;
  std::mt19937_64 random(17);
  std::vector<T> some{limits::lowest(), limits::min(), limits::max(), T(0), T(1), T(-1)};
  if constexpr (limits::has_infinity) {
    const T nan = limits::quiet_NaN();
    for (const T x : {limits::infinity(), limits::denorm_min(), nan, T(0)}) {
      some.push_back(x);
      some.push_back(-x);
    }
  }
  const auto of = [&](const char* name, const auto& value) {
    pattern<T> p{name, {}};
    for (index_t i = 0; i < n; ++i) p.v.push_back(static_cast<T>(value(i)));
    return p;
  };
  const auto bits = [&](index_t) { // all of them, NaNs too
    const std::uint64_t word = random();
    T x;
    std::memcpy(&x, &word, sizeof x);
    return x;
  };
  std::vector<pattern<T>> all{
      of("equal", [](index_t) { return 3; }),
      of("ascending", [](index_t i) { return i - 5; }),
      of("descending", [](index_t i) { return -i; }),
      of("three values", [&](index_t) { return int(random() % 3) - 1; }),
      of("near one another", [&](index_t) { return 1000000 + int(random() % 4000); }),
      of("extremes and ties", [&](index_t) { return some[random() % some.size()]; }),
      of("any bits", bits),
  };
  if constexpr (limits::has_infinity) {
    const T nan = limits::quiet_NaN();
    all.push_back(of("NaNs of both signs", [&](index_t i) { return i % 2 == 0 ? nan : -nan; }));
    all.push_back(of("zeros of both signs", [&](index_t i) { return i % 3 == 0 ? -T(0) : T(0); }));
    all.push_back(of("losses", [&](index_t) { return std::exponential_distribution<T>()(random); }));
  }
  return all;
}

} // namespace

TEST_CASE_TEMPLATE("select_nonzero: the positions where a mask is not 0", T, bool, std::int32_t, float,
                   double) {
  std::mt19937 random(3);
  for (const index_t n : sizes)
    for (const unsigned share : {0u, 1u, 2u, 40u, 100u}) { // of 100 that are set
      CAPTURE(n);
      CAPTURE(share);
      std::vector<T> truth;
      const std::unique_ptr<T[]> mask(new T[size_of(n)]);
      for (index_t i = 0; i < n; ++i) {
        mask[size_of(i)] = static_cast<T>(random() % 100 < share);
        if constexpr (std::numeric_limits<T>::has_infinity) { // not 0: NaN, the smallest; 0: -0
          const T odd[]{std::numeric_limits<T>::quiet_NaN(), -T(0), std::numeric_limits<T>::denorm_min(),
                        T(-2)};
          if (share > 1 && random() % 8 == 0) mask[size_of(i)] = odd[random() % 4];
        }
        truth.push_back(mask[size_of(i)]);
      }
      CHECK(written(n, [&](std::int32_t* r) { return select_nonzero(n, mask.get(), r); }) ==
            ref::nonzero(truth));
    }
}

TEST_CASE("select_nonzero: any byte of a bool but 0 is set") {
  const unsigned char bytes[] = {255, 0, 2, 128, 0, 1, 64, 3};
  CHECK(written(8, [&](std::int32_t* r) {
          return select_nonzero(8, reinterpret_cast<const bool*>(bytes), r);
        }) == std::vector<std::int32_t>{0, 2, 3, 5, 6, 7});
}

TEST_CASE_TEMPLATE("select_extreme: the first k by value, then position, in the order of positions", T, float,
                   double, std::int32_t) {
  for (const index_t n : sizes)
    for (const pattern<T>& p : patterns<T>(n))
      for (const index_t k : {index_t(-1), index_t(0), index_t(1), n / 64, n / 2, n - 1, n, n + 3})
        for (const bool least : {false, true}) {
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(p.name);
          CAPTURE(least);
          const index_t place = std::max<index_t>(0, std::min(k, n)); // and no more than that
          const rows r =
              written(place, [&](std::int32_t* to) { return select_extreme(least, n, k, p.v.data(), to); });
          CHECK(r == ref::extreme(least, k, p.v));
        }
}

TEST_CASE_TEMPLATE("select_extreme_of_each: of each segment, the first k by value, then position", T, float,
                   double, std::int32_t) {
  std::mt19937 random(5);
  for (const index_t n : {0, 1, 2, 7, 64, 1000})
    for (const pattern<T>& p : patterns<T>(n))
      for (const index_t segments : {0, 1, 2, 9, 100}) {
        std::vector<std::int32_t> segment(size_of(n));
        for (const int kind : {0, 1, 2}) {
          const auto m = static_cast<std::int32_t>(segments);
          for (std::int32_t& s : segment) {
            const auto any = static_cast<std::int32_t>(random() % 1000);
            s = kind == 0   ? any % (m + 2) - 1              // -1 and m: outside
                : kind == 1 ? (m == 0 ? 0 : any % m / 3 * 3) // two of three are empty
                            : (any < 500 ? m - 1 : std::numeric_limits<std::int32_t>::min() + any);
          }
          for (const index_t k : {index_t(-1), index_t(0), index_t(1), index_t(3), n / 2, n, n + 3})
            for (const bool least : {false, true}) {
              CAPTURE(n);
              CAPTURE(k);
              CAPTURE(p.name);
              CAPTURE(least);
              CAPTURE(segments);
              CAPTURE(kind);
              std::vector<std::int32_t> start(size_of(segments) + 2, -7);
              const rows r = written(n, [&](std::int32_t* to) {
                return select_extreme_of_each(least, n, k, segments, p.v.data(), segment.data(), to,
                                              start.data());
              });
              CHECK(start.back() == -7);
              CHECK(r == ref::extreme_of_each(least, k, segments, p.v, segment));
            }
        }
      }
}
