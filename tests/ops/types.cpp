// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// int32 and bool: as inputs, as results, beside float and beside double, in every op that takes them.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr int n = 11; // no multiple of a vector
template <class T> using X = tl::tensor<T, n>;
using I = tl::tensor<std::int32_t, n>;
using B = tl::tensor<bool, n>;

template <class Leaf> std::vector<int> ints(const Leaf& leaf) {
  std::vector<int> r;
  for (std::int64_t i = 0; i < leaf.size(); ++i) r.push_back(static_cast<int>(leaf[i]));
  return r;
}
template <class F> std::vector<int> expected(F f) {
  std::vector<int> r;
  for (int i = 0; i < n; ++i) r.push_back(static_cast<int>(f(i)));
  return r;
}
int number(int i) { return (i * 7 + 2) % 11 - 5; } // -5 .. 5
template <class T> T real(int i) { return static_cast<T>(number(i)) * T(0.75); }

} // namespace

TEST_CASE_TEMPLATE("comparisons of real numbers are masks", T, float, double) {
  tl::owned<X<T>> x;
  for (int i = 0; i < n; ++i) (*x)[i] = real<T>(i);
  auto run = tl::jit([](auto a) {
               const auto small = a < T(1) && a > T(-2);
               return std::tuple{
                   a<T(0), a <= T(0), a> T(0), a >= T(0),           a == T(0),          a != T(0), small,
                   !small || a == T(0),        small == (a > T(0)), small != (a > T(0))};
             }).template bind<X<T>>();
  const auto [lt, le, gt, ge, eq, ne, small, either, same, other] = run(*x);
  const auto in = [](int i) { return real<T>(i) < 1 && real<T>(i) > -2; };
  CHECK(ints(lt) == expected([](int i) { return number(i) < 0; }));
  CHECK(ints(le) == expected([](int i) { return number(i) <= 0; }));
  CHECK(ints(gt) == expected([](int i) { return number(i) > 0; }));
  CHECK(ints(ge) == expected([](int i) { return number(i) >= 0; }));
  CHECK(ints(eq) == expected([](int i) { return number(i) == 0; }));
  CHECK(ints(ne) == expected([](int i) { return number(i) != 0; }));
  CHECK(ints(small) == expected(in));
  CHECK(ints(either) == expected([&](int i) { return !in(i) || number(i) == 0; }));
  CHECK(ints(same) == expected([&](int i) { return in(i) == (number(i) > 0); }));
  CHECK(ints(other) == expected([&](int i) { return in(i) != (number(i) > 0); }));
}

TEST_CASE("a mask of one comparison is right where nothing else is computed") {
  tl::owned<X<double>> x;
  for (int i = 0; i < n; ++i) (*x)[i] = number(i) + 1e-12;
  auto mask = tl::jit([](auto a) { return a > 0.0; }).bind<X<double>>();
  CHECK(ints(mask(*x)) == expected([](int i) { return number(i) >= 0; }));
  auto chain = tl::jit([](auto a) { return (a > 0.0 && a < 3.0) || !(a < 4.0); }).bind<X<double>>();
  CHECK(ints(chain(*x)) ==
        expected([](int i) { return (number(i) >= 0 && number(i) < 3) || number(i) >= 4; }));
}

TEST_CASE_TEMPLATE("casts between real numbers, int32 and bool", T, float, double) {
  tl::owned<std::tuple<X<T>, I, B>> in;
  const auto& [x, i, b] = *in;
  for (int k = 0; k < n; ++k) x[k] = real<T>(k), i[k] = number(k), b[k] = number(k) > 1;
  auto run = tl::jit([](auto a, auto j, auto m) {
               return std::tuple{tl::cast<std::int32_t>(a),
                                 tl::cast<bool>(a),
                                 tl::cast<T>(j),
                                 tl::cast<bool>(j),
                                 tl::cast<T>(m),
                                 tl::cast<std::int32_t>(m),
                                 tl::cast<std::int32_t>(tl::cast<T>(tl::cast<bool>(j)) * T(2.9))};
             }).template bind<X<T>, I, B>();
  const auto [xi, xb, ix, ib, bx, bi, all] = run(x, i, b);
  CHECK(ints(xi) == expected([](int k) { return static_cast<int>(real<T>(k)); })); // towards zero
  CHECK(ints(xb) == expected([](int k) { return number(k) != 0; }));
  CHECK(ints(ix) == expected(number));
  CHECK(ints(ib) == expected([](int k) { return number(k) != 0; }));
  CHECK(ints(bx) == expected([](int k) { return number(k) > 1; }));
  CHECK(ints(bi) == expected([](int k) { return number(k) > 1; }));
  CHECK(ints(all) == expected([](int k) { return number(k) != 0 ? 2 : 0; }));
}

TEST_CASE("a cast alone reads the type it is given") {
  tl::owned<X<double>> x;
  for (int i = 0; i < n; ++i) (*x)[i] = number(i) * 1.5;
  auto run = tl::jit([](auto a) { return tl::cast<std::int32_t>(a); }).bind<X<double>>();
  CHECK(ints(run(*x)) == expected([](int i) { return static_cast<int>(number(i) * 1.5); }));
}

TEST_CASE("int32 arithmetic") {
  tl::owned<I> a;
  for (int i = 0; i < n; ++i) (*a)[i] = number(i);
  auto run = tl::jit([](auto j) {
               const auto k = tl::iota<0>(j);
               return std::tuple{j + k,         j - k,     j * k,     -j,
                                 tl::square(j), max(j, k), min(j, k), tl::where(j > k, j, k * 2),
                                 j == k,        j < k};
             }).bind<I>();
  const auto [add, sub, mul, neg, square, max, min, where, eq, lt] = run(*a);
  CHECK(ints(add) == expected([](int i) { return number(i) + i; }));
  CHECK(ints(sub) == expected([](int i) { return number(i) - i; }));
  CHECK(ints(mul) == expected([](int i) { return number(i) * i; }));
  CHECK(ints(neg) == expected([](int i) { return -number(i); }));
  CHECK(ints(square) == expected([](int i) { return number(i) * number(i); }));
  CHECK(ints(max) == expected([](int i) { return std::max(number(i), i); }));
  CHECK(ints(min) == expected([](int i) { return std::min(number(i), i); }));
  CHECK(ints(where) == expected([](int i) { return number(i) > i ? number(i) : 2 * i; }));
  CHECK(ints(eq) == expected([](int i) { return number(i) == i; }));
  CHECK(ints(lt) == expected([](int i) { return number(i) < i; }));
}

TEST_CASE("int32 and bool through the ops that move elements") {
  tl::owned<std::tuple<I, B>> in;
  const auto& [i, b] = *in;
  for (int k = 0; k < n; ++k) i[k] = number(k), b[k] = number(k) > 0;
  auto run = tl::jit([](auto j, auto m) {
               const auto places = tl::iota<0>(tl::slice<0, 0, 3>(j)) * 4; // 0, 4, 8
               return std::tuple{tl::pad<0, 1, 2>(j),
                                 tl::pad<0, 1, 2>(m),
                                 tl::concat<0>(j, j),
                                 tl::concat<0>(m, !m),
                                 tl::flip<0>(j),
                                 tl::flip<0>(m),
                                 tl::gather(j, places),
                                 tl::gather(m, places),
                                 tl::scatter_add<0, 12>(places, tl::slice<0, 1, 4>(j)),
                                 tl::transpose(tl::broadcast_to<2, n>(m)),
                                 tl::reshape<1, n>(m)};
             }).bind<I, B>();
  const auto [pi, pb, ci, cb, fi, fb, gi, gb, si, tb, rb] = run(i, b);
  for (int k = 0; k < n + 3; ++k) {
    const bool inside = k >= 1 && k <= n;
    CHECK((pi[k] == (inside ? number(k - 1) : 0) && pb[k] == (inside && number(k - 1) > 0)));
  }
  for (int k = 0; k < n; ++k) {
    CHECK((ci[k] == number(k) && ci[n + k] == number(k) && cb[k] == (number(k) > 0) &&
           cb[n + k] == !(number(k) > 0)));
    CHECK((fi[n - 1 - k] == number(k) && fb[n - 1 - k] == (number(k) > 0)));
    CHECK((tb[2 * k] == (number(k) > 0) && tb[2 * k + 1] == (number(k) > 0) && rb[k] == (number(k) > 0)));
  }
  for (int k = 0; k < 3; ++k) CHECK((gi[k] == number(4 * k) && gb[k] == (number(4 * k) > 0)));
  for (int k = 0; k < 12; ++k) CHECK(si[k] == (k % 4 == 0 ? number(k / 4 + 1) : 0));
}

TEST_CASE("argmax of int32 orders negative numbers too") {
  using J = tl::tensor<std::int32_t, 2, 3>;
  tl::owned<J> j;
  const int v[] = {-5, -1, -3, -2, 7, 7};
  for (int k = 0; k < 6; ++k) (*j)[k] = v[k];
  auto run = tl::jit([](auto a) { return tl::argmax<1>(a); }).bind<J>();
  CHECK(ints(run(*j)) == std::vector<int>{1, 1});
}

TEST_CASE("a mask of floats and one of doubles meet") {
  tl::owned<std::tuple<X<float>, X<double>>> in;
  const auto& [a, b] = *in;
  for (int k = 0; k < n; ++k) a[k] = real<float>(k), b[k] = number(k) * 0.5 + 1e-12;
  auto run = tl::jit([](auto x, auto y) {
               const auto both = x > 0.0f && y < 2.0;
               return std::tuple{both, tl::where(y > 1.0, x, 0.0f), tl::where(x > 0.0f, y, 0.0),
                                 tl::cast<float>(both) + x, tl::cast<double>(!both) + y};
             }).bind<X<float>, X<double>>();
  const auto [both, wx, wy, fx, dy] = run(a, b);
  for (int k = 0; k < n; ++k) {
    const bool m = a[k] > 0 && b[k] < 2;
    CHECK((both[k] == m && wx[k] == (b[k] > 1 ? a[k] : 0.0f) && wy[k] == (a[k] > 0 ? b[k] : 0.0) &&
           fx[k] == static_cast<float>(m) + a[k] && dy[k] == (m ? 0.0 : 1.0) + b[k]));
  }
}

TEST_CASE("numbers keep their type: a float argument beside a double one") {
  auto run = tl::jit([](auto a, auto b) { return std::tuple{a * a, b * b}; }).bind<float, double>();
  const auto [a, b] = run(3.0f, 1.0 / 3);
  CHECK((a[0] == 9.0f && b[0] == (1.0 / 3) * (1.0 / 3)));
}
