// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Casts between float and double, in loops and beside kernels, with their derivatives; casts to int32 from beyond its range.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

namespace tl = tapeless;

namespace {

constexpr int n = 37; // no multiple of a vector
template <class T> using X = tl::tensor<T, n>;
double number(int i) { return (i * 7 % n - 11) * 0.137 + 1e-9; }

constexpr auto loss = [](auto a, auto b) {
  return tl::sum(square(tl::cast<double>(square(a))) * b); // a^4 b
};

} // namespace

TEST_CASE("casts between float and double round once, and are exact back") {
  tl::owned<std::tuple<X<float>, X<double>>> in;
  const auto& [x, y] = *in;
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(number(i)), y[i] = number(i);
  auto run = tl::jit([](auto a, auto b) {
               const auto c = tl::cast<float>(b);                       // from an argument
               const auto d = tl::cast<double>(a * 3.0f + 1.0f);        // of a loop of floats
               const auto e = tl::cast<float>(exp(b) + d) * a;          // to one
               const auto f = tl::cast<double>(tl::cast<float>(b)) - b; // what rounding loses
               return std::tuple{c,
                                 d,
                                 e,
                                 f,
                                 tl::cast<float>(tl::cast<double>(a)),
                                 tl::sum(tl::cast<double>(a)),
                                 tl::cast<float>(tl::sum(b)),
                                 where(d > b, d, b),
                                 tl::cast<double>(a > 0.0f)};
             }).bind<X<float>, X<double>>();
  const auto [c, d, e, f, same, sum, float_sum, larger, mask] = run(x, y);
  double total = 0, of_y = 0;
  for (int i = 0; i < n; ++i) {
    const auto wide = static_cast<double>(x[i] * 3.0f + 1.0f);
    CHECK(c[i] == static_cast<float>(y[i]));
    CHECK(std::abs(d[i] - wide) <= 1e-6 * std::abs(wide)); // a product and a sum may be rounded together
    CHECK(d[i] == static_cast<double>(static_cast<float>(d[i])));
    CHECK(e[i] == doctest::Approx((std::exp(y[i]) + wide) * x[i]).epsilon(1e-6));
    CHECK(f[i] == static_cast<double>(static_cast<float>(y[i])) - y[i]);
    CHECK(same[i] == x[i]);
    CHECK(larger[i] == (d[i] > y[i] ? d[i] : y[i]));
    CHECK(mask[i] == (x[i] > 0 ? 1 : 0));
    total += static_cast<double>(x[i]);
    of_y += y[i];
  }
  CHECK(sum[0] == doctest::Approx(total).epsilon(1e-14));
  CHECK(float_sum[0] == doctest::Approx(of_y).epsilon(1e-6));
}

TEST_CASE("a cast between float and double has the cotangent cast back, and second derivatives") {
  tl::owned<std::tuple<X<float>, X<double>, X<float>>> in;
  const auto& [x, w, v] = *in;
  for (int i = 0; i < n; ++i)
    x[i] = static_cast<float>(number(i)), w[i] = number(i) * 0.5 + 1, v[i] = static_cast<float>(i % 5) - 2.0f;
  auto run = tl::jit([](auto a, auto b, auto t) {
               const auto [da, db] = tl::grad<0, 1>(loss)(a, b);
               return std::tuple{loss(a, b), da, db, tl::hvp<0>(loss)(a, b, t), tl::jvp<0>(loss)(a, b, t)};
             }).bind<X<float>, X<double>, X<float>>();
  const auto [value, da, db, hv, dot] = run(x, w, v);
  double total = 0, along = 0;
  for (int i = 0; i < n; ++i) {
    const double a = static_cast<double>(x[i]), t = static_cast<double>(v[i]);
    total += a * a * a * a * w[i];
    along += 4 * a * a * a * w[i] * t;
    CHECK(da[i] == doctest::Approx(4 * a * a * a * w[i]).epsilon(1e-6));
    CHECK(db[i] == doctest::Approx(a * a * a * a).epsilon(1e-6));
    CHECK(hv[i] == doctest::Approx(12 * a * a * w[i] * t).epsilon(1e-6));
  }
  CHECK(value[0] == doctest::Approx(total).epsilon(1e-6));
  CHECK(dot[0] == doctest::Approx(along).epsilon(1e-6));
  // and to float: d/db sum of float(b)^2
  auto narrow = tl::jit(tl::value_and_grad<0>([](auto b) {
                  return tl::sum(square(tl::cast<float>(b)));
                })).bind<X<double>>();
  const auto [sum, gradient] = narrow(w);
  for (int i = 0; i < n; ++i) CHECK(gradient[i] == static_cast<double>(2 * static_cast<float>(w[i])));
}

TEST_CASE("casts stand beside products, broadcasts, transposes and gathers") {
  using A = tl::tensor<float, 6, 5>;
  using B = tl::tensor<double, 5, 7>;
  using I = tl::tensor<std::int32_t, 4>;
  tl::owned<std::tuple<A, B, I>> in;
  const auto& [a, b, index] = *in;
  for (int i = 0; i < 30; ++i) a[i] = static_cast<float>(number(i));
  for (int i = 0; i < 35; ++i) b[i] = number(i + 3);
  for (int i = 0; i < 4; ++i) index[i] = (i * 5) % 6;
  auto run = tl::jit([](auto x, auto y, auto i) {
               const auto p = tl::matmul(tl::cast<double>(x), y);       // doubles
               const auto q = tl::matmul(x, tl::cast<float>(y));        // floats
               const auto behind = tl::relu(tl::cast<double>(q) + 0.5); // behind a product of floats
               const auto rows = tl::cast<double>(tl::gather(x, i)) * 2.0;
               const auto turned = tl::cast<double>(tl::transpose(x)) +
                                   tl::cast<double>(tl::slice<1, 0, 1>(tl::transpose(x)));
               return std::tuple{p, q, behind, rows, turned, tl::cast<float>(tl::sum<0>(p))};
             }).bind<A, B, I>();
  const auto [p, q, behind, rows, turned, sums] = run(a, b, index);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 7; ++j) {
      double t = 0;
      for (int k = 0; k < 5; ++k) t += static_cast<double>(a[i * 5 + k]) * b[k * 7 + j];
      CHECK(p[i * 7 + j] == doctest::Approx(t).epsilon(1e-12));
      CHECK(q[i * 7 + j] == doctest::Approx(t).epsilon(1e-4));
      CHECK(behind[i * 7 + j] == std::max(0.0, static_cast<double>(q[i * 7 + j]) + 0.5));
    }
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 5; ++k) CHECK(rows[i * 5 + k] == 2.0 * static_cast<double>(a[index[i] * 5 + k]));
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 5; ++k)
      CHECK(turned[k * 6 + i] == static_cast<double>(a[i * 5 + k]) + static_cast<double>(a[k]));
}

namespace {

constexpr tl::extent_t rows = tl::dyn<'n'>;
using images = tl::tensor<float, rows, 128>;
using weights = tl::tensor<float, 128, 96>;

// softmax in double behind a product of floats, its sums and the gradient
constexpr auto in_double = [](auto x, auto w) {
  const auto y = tl::relu(tl::matmul(x, w)) + 0.5f;
  const auto p = tl::softmax<1>(tl::cast<double>(y));
  const auto back = tl::cast<float>(p * tl::cast<double>(y)) * y;
  return tl::mean(square(tl::sum<1>(tl::cast<double>(back)) - 1.0));
};
constexpr auto all_of_it = [](auto x, auto w) {
  const auto [value, dx, dw] = tl::value_and_grad<0, 1>(in_double)(x, w);
  return std::tuple{value, dx, dw, tl::cast<float>(tl::cumsum<1>(tl::cast<double>(x)))};
};

} // namespace

TEST_CASE("sweeps and epilogues with casts compute what steps of their own do") {
  const int count = 600;
  tl::owned<images> x{tl::dim<'n'>(count)};
  tl::owned<weights> w;
  int k = 0;
  for (float& e : *x) e = static_cast<float>(number(k++ % 991)) * 0.3f;
  for (float& e : *w) e = static_cast<float>(number(k++ % 983)) * 0.1f;
  auto run = tl::jit(all_of_it).bind<images, weights>(tl::dim<'n'>(count));
  auto plain = tl::jit(all_of_it).bind<images, weights>(tl::dim<'n'>(count), tl::plain);
  const auto [value, dx, dw, sums] = run(*x, *w);
  const auto [value_2, dx_2, dw_2, sums_2] = plain(*x, *w);
  CHECK(value[0] == doctest::Approx(value_2[0]).epsilon(1e-9));
  float largest = 0;
  for (const float e : dx_2) largest = std::max(largest, std::abs(e));
  bool same = largest > 0;
  for (int i = 0; i < count * 128; ++i)
    same = same && std::abs(dx[i] - dx_2[i]) <= 1e-5f * largest && sums[i] == sums_2[i];
  largest = 0;
  for (const float e : dw_2) largest = std::max(largest, std::abs(e));
  for (int i = 0; i < 128 * 96; ++i) same = same && std::abs(dw[i] - dw_2[i]) <= 1e-5f * largest;
  CHECK(same);
}

TEST_CASE("a number and a var are cast, and constants are floats first") {
  auto run = tl::jit([](auto x) {
               tl::var h = x;
               h = tl::cast<double>(h * 0.1f) + 1.0;
               const auto tenth = tl::cast<double>(0.0f * x + 0.1f);
               return std::tuple{h.as<double, 3>(), tenth, tl::cast<double>(tl::mean(x))};
             }).bind<tl::tensor<float, 3>>();
  tl::owned<tl::tensor<float, 3>> x;
  for (int i = 0; i < 3; ++i) (*x)[i] = static_cast<float>(i + 1);
  const auto [h, tenth, mean] = run(*x);
  for (int i = 0; i < 3; ++i) {
    CHECK(h[i] == static_cast<double>((*x)[i] * 0.1f) + 1.0);
    CHECK(tenth[i] == static_cast<double>(0.1f));
  }
  CHECK(mean[0] == 2.0);
}

TEST_CASE_TEMPLATE("a real number beyond int32 becomes the nearest one, and NaN 0", T, float, double) {
  using limits = std::numeric_limits<T>;
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(),
                         most = std::numeric_limits<std::int32_t>::max();
  const T of[] = {T(0x1p31),
                  -T(0x1p31),
                  std::nextafter(T(0x1p31), T(0)),
                  T(1e30),
                  T(-1e30),
                  limits::infinity(),
                  -limits::infinity(),
                  limits::quiet_NaN(),
                  T(-0.9),
                  T(2.9),
                  limits::max(),
                  limits::denorm_min()};
  const std::int32_t expected[] = {most,  least, static_cast<std::int32_t>(std::nextafter(T(0x1p31), T(0))),
                                   most,  least, most,
                                   least, 0,     0,
                                   2,     most,  0};
  tl::owned<tl::tensor<T, 12>> x;
  for (int i = 0; i < 12; ++i) (*x)[i] = of[i];
  auto run = tl::jit([](auto a) {
               return std::tuple{tl::cast<std::int32_t>(a), tl::cast<bool>(a)};
             }).template bind<tl::tensor<T, 12>>();
  const auto [y, b] = run(*x);
  for (int i = 0; i < 12; ++i) {
    CHECK(y[i] == expected[i]);
    CHECK(b[i]);
  }
}
