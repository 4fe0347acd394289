// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tl = tapeless;

TEST_CASE("running ops: the bits do not depend on the number of threads") {
  using X = tl::tensor<float, 3, 40, 700>;
  constexpr auto f = [](auto x) {
    return std::tuple{
        tl::cumprod<1>(x), tl::cummax<2>(x), tl::logcumsumexp<1>(x), tl::linear_scan<0>(x, x),
        tl::grad([](auto v) { return tl::sum(tl::cumprod<1>(v) + tl::prod<1>(v, tl::keepdims)); })(x)};
  };
  tl::owned<X> x;
  for (tl::extent_t i = 0; i < x->size(); ++i) (*x)[i] = 0.5f + 0.001f * static_cast<float>(i * 37 % 1001);
  auto one = tl::jit(f).bind<X>(tl::threads(1)), more = tl::jit(f).bind<X>(tl::threads(3));
  const auto y = one(*x), z = more(*x);
  const auto equal = [](const auto& p, const auto& q) { return std::equal(p.begin(), p.end(), q.begin()); };
  CHECK(equal(std::get<0>(y), std::get<0>(z)));
  CHECK(equal(std::get<1>(y), std::get<1>(z)));
  CHECK(equal(std::get<2>(y), std::get<2>(z)));
  CHECK(equal(std::get<3>(y), std::get<3>(z)));
  CHECK(equal(std::get<4>(y), std::get<4>(z)));
}

namespace {

using namespace tapeless::cpu;
using tl::detail::op;

std::size_t size_of(index_t n) { return static_cast<std::size_t>(n); }

// y (before, n, after) one element after the other, sums in long double
template <op O, class T, class Y>
void naive(index_t before, index_t n, index_t after, bool to_end, const T* a, const T* b, Y* y) {
  for (index_t o = 0; o < before; ++o)
    for (index_t j = 0; j < after; ++j) {
      const auto at = [&](index_t i) { return o * n * after + (to_end ? n - 1 - i : i) * after + j; };
      long double sum = 0;
      T last{};
      index_t place = 0;
      for (index_t i = 0; i < n; ++i) {
        const T x = a[at(i)];
        if constexpr (O == op::cumsum) {
          sum += static_cast<long double>(x);
          y[at(i)] = static_cast<Y>(sum);
        } else if constexpr (O == op::cumargmax) {
          const T best = a[at(place)];
          if (x > best || (x != x && best == best)) place = i;
          y[at(i)] = static_cast<Y>(place);
        } else if constexpr (O == op::linear_scan)
          last = y[at(i)] = i == 0 ? b[at(i)] : fma_scalar(a[at(to_end ? i - 1 : i)], last, b[at(i)]);
        else if constexpr (O == op::cumprod) last = y[at(i)] = i == 0 ? x : last * x;
        else last = y[at(i)] = i == 0 || (last == last && !(last >= x)) ? x : last;
      }
    }
}
template <class T> bool same(T x, T y) { return x == y || (x != x && y != y); }
template <op O, class T> void compare(index_t before, index_t n, index_t after, const T* a, const T* b) {
  using Y = std::conditional_t<O == op::cumargmax, std::int32_t, T>;
  const index_t size = before * n * after;
  const auto y = std::make_unique<Y[]>(size_of(size)), z = std::make_unique<Y[]>(size_of(size)),
             more = std::make_unique<Y[]>(size_of(size));
  for (const bool to_end : {false, true}) {
    CAPTURE(static_cast<int>(O));
    CAPTURE(before);
    CAPTURE(n);
    CAPTURE(after);
    CAPTURE(to_end);
    naive<O>(before, n, after, to_end, a, b, z.get());
    scan_axis<O>(serial_team{}, before, n, after, to_end, a, b, y.get());
    scan_axis<O>(thread_team(3), before, n, after, to_end, a, b, more.get());
    index_t wrong = 0, differ = 0;
    for (index_t i = 0; i < size; ++i) {
      const Y is = y[size_of(i)], should = z[size_of(i)];
      differ += same(is, more[size_of(i)]) ? 0 : 1;
      if (O == op::cumsum) {
        const Y off = is > should ? is - should : should - is, near = (should < 0 ? -should : should) * Y(4);
        wrong += same(is, should) || off <= near * std::numeric_limits<Y>::epsilon() + Y(1e-30) ? 0 : 1;
      } else wrong += same(is, should) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(differ == 0);
  }
}
template <class T> void compare_all(index_t before, index_t n, index_t after, const T* a, const T* b) {
  compare<op::cumsum>(before, n, after, a, b);
  compare<op::cumprod>(before, n, after, a, b);
  compare<op::cummax>(before, n, after, a, b);
  compare<op::cumargmax>(before, n, after, a, b);
  compare<op::linear_scan>(before, n, after, a, b);
}

} // namespace

TEST_CASE_TEMPLATE("running ops: those of the naive loop for any extents, from both ends", T, float, double) {
  constexpr index_t W = width<T>, many = 128 * W;
  std::mt19937 random(3);
  struct extents {
    index_t before, n, after;
  };
  for (const extents e : {extents{1, 1, 1},      {1, W, 1},         {1, 300, 1},       {1, many, 1},
                          {1, 3 * many - 1, 1},  {2, many + 1, 1},  {3, 2 * many, 1},  {W / 4, many + 7, 1},
                          {W / 4 + 1, many, 1},  {W - 1, 5, 1},     {W, W, 1},         {W + 1, W - 1, 1},
                          {2 * W + 3, W + 1, 1}, {2 * W, 3 * W, 1}, {5, 9 * W - 1, 1}, {3, 7, 2},
                          {2, 9, W - 1},         {2, 9, W},         {2, 9, 3 * W + 1}, {1, 1, 4 * W},
                          {2, 30, 5 * W - 1},    {1, 11, 1024},     {1, 7, 1025 + W},  {1, 5, 5000},
                          {20, 6, 5 * W},        {0, 3, 2},         {2, 0, 3},         {2, 3, 0}}) {
    const index_t size = e.before * e.n * e.after;
    const auto a = std::make_unique<T[]>(size_of(size)), b = std::make_unique<T[]>(size_of(size));
    for (index_t i = 0; i < size; ++i) { // of one sign, so that sums do not cancel
      a[size_of(i)] = T(0.5) + T(0.001) * static_cast<T>(random() % 1001);
      b[size_of(i)] = static_cast<T>(random() % 2001) * T(0.001);
    }
    compare_all(e.before, e.n, e.after, a.get(), b.get());
  }
}
TEST_CASE_TEMPLATE("running ops: NaN, infinities, zeros and what overflows, anywhere in a line", T, float,
                   double) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity(),
              most = std::numeric_limits<T>::max();
  constexpr index_t W = width<T>, n = 2 * 128 * W + 5;
  std::vector<T> a(size_of(n), T(1)), b(a);
  for (const T x : {nan, inf, -inf, T(-0.0), most})
    for (index_t i = 0; i < n; i += 1 + i / 3) {
      std::fill(a.begin(), a.end(), T(1));
      a[size_of(i)] = x;
      for (const auto& [before, rows, after] : {std::tuple{index_t{1}, n, index_t{1}},
                                                {W + 1, n / (W + 1), index_t{1}},
                                                {index_t{1}, n / (5 * W), 5 * W}}) {
        compare<op::cumsum>(before, rows, after, a.data(), b.data());
        compare<op::cumprod>(before, rows, after, a.data(), b.data());
        compare<op::cummax>(before, rows, after, a.data(), b.data());
        compare<op::cumargmax>(before, rows, after, a.data(), b.data());
      }
    }
}
TEST_CASE_TEMPLATE("running sums: a part of a line overflows, but no sum; a sum does, but no part", T, float,
                   double) {
  constexpr T most = std::numeric_limits<T>::max(), inf = std::numeric_limits<T>::infinity();
  constexpr index_t W = width<T>, n = 3 * 128 * W;
  std::vector<T> a(size_of(n), T(0)), y(a);
  a[3] = -most, a[130] = most, a[140] = most; // the second part alone is 2 most
  scan_axis<op::cumsum>(serial_team{}, 1, n, 1, false, a.data(), nullptr, y.data());
  CHECK(y[129] == -most);
  CHECK(y[139] == 0);
  CHECK(y[size_of(n - 1)] == most);
  a[3] = most, a[130] = most, a[140] = -most; // stays infinite, as in any other line
  scan_axis<op::cumsum>(serial_team{}, 1, n, 1, false, a.data(), nullptr, y.data());
  CHECK(y[129] == most);
  CHECK(y[139] == inf);
  CHECK(y[size_of(n - 1)] == inf);
}
TEST_CASE("running sums of one line: as exact where they cancel") {
  constexpr index_t n = 100000;
  std::vector<float> a(size_of(n)), y(a);
  std::mt19937 random(8);
  for (float& x : a) x = static_cast<float>(random() % 20001) - 10000.0f + 0.1f;
  long double sum = 0, sizes = 0, worst = 0;
  scan_axis<op::cumsum>(serial_team{}, 1, n, 1, false, a.data(), nullptr, y.data());
  for (index_t i = 0; i < n; ++i) {
    const auto x = static_cast<long double>(a[size_of(i)]);
    sum += x;
    sizes += std::fabs(x);
    const long double allowed = std::fabs(sum) * 0x1p-24L + sizes * 0x1p-40L;
    worst = std::max(worst, std::fabs(static_cast<long double>(y[size_of(i)]) - sum) / allowed);
  }
  CHECK(worst <= 1.01L);
}
