#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Normalisation where the laws do not reach: one element, none, a large mean, the third derivative, the plan.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace norm_programs {

namespace tl = tapeless;

constexpr tl::extent_t n = tl::dyn<'n'>;

template <class Tree> void fill(const Tree& tree, double step) {
  double e = 0.3;
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    for (auto& x : leaf) x = static_cast<std::remove_cvref_t<decltype(x)>>(e = std::fmod(e + step, 1.0));
  });
}
inline constexpr auto batch = [](const auto& x, const auto& g, const auto& b) {
  return tl::batch_norm(x, g, b);
};
inline constexpr auto layer = [](const auto& x, const auto& g, const auto& b) {
  return tl::layer_norm(x, g, b);
};
inline constexpr auto groups = [](const auto& x, const auto& g, const auto& b) {
  return tl::group_norm<4>(x, g, b);
};

// In images: forward reads x three times, for x - mean is computed again, and writes y; the gradients read x three times
// and y_bar three times, and write x_bar.
using images = tl::tensor<float, n, 16, 8, 8>;
using channels = tl::tensor<float, 16>;
inline constexpr auto image_bytes = 4 * 16 * 8 * 8;
template <class F> constexpr tl::cost forward = tl::jit(F{}).template cost<images, channels, channels>();
template <class F> constexpr tl::cost gradients =
    tl::jit(tl::vjp<0, 1, 2>(F{})).template cost<images, channels, channels, images>();
constexpr double images_moved(const tl::cost& c) {
  return (c.bytes().at(tl::dim<'n'>(1000)) - c.bytes().at(tl::dim<'n'>(0))) / (1000.0 * image_bytes);
}
using batch_t = std::remove_const_t<decltype(batch)>;
using groups_t = std::remove_const_t<decltype(groups)>;

// third derivatives
inline constexpr auto ours = [](auto x) { return sum(tanh(tl::batch_norm(x, 0.125))); };
inline constexpr auto formula = [](auto x) {
  const auto c = x - tl::mean<0>(x, tl::keepdims);
  return sum(tanh(c / sqrt(tl::mean<0>(square(c), tl::keepdims) + 0.125)));
};
inline constexpr auto third = [](auto f, auto x, auto v) {
  return tl::grad<0>([f](auto a, auto b) { return sum(square(tl::hvp(f)(a, b))); })(x, v);
};

// Rows of N numbers, y and the vjp by u, beside the formula in long double, whose exponent has room.
template <int N> using row_of = tl::tensor<float, 1, N>;
struct errors {
  double y, x_bar; // the largest ones, over the largest of the exact numbers; infinite where one is NaN
};
template <class F, int N> errors errors_of(const std::vector<float>& x, bool centred, double eps) {
  static auto run = tl::jit([](auto a, auto u) {
                      return std::tuple{F{}(a), tl::vjp<0>(F{})(a, u)};
                    }).template bind<row_of<N>, row_of<N>>();
  using real = long double;
  tl::owned<row_of<N>> u;
  fill(*u, 0.371);
  const auto [y, x_bar] = run(row_of<N>(const_cast<float*>(x.data())), *u);
  real mean = 0, square = 0, u_mean = 0, uy_mean = 0;
  for (const float e : x) mean += centred ? real(e) / N : 0;
  for (const float e : x) square += (e - mean) * (e - mean) / N;
  const real r = 1 / std::sqrt(square + real(eps));
  const auto at = [&](int i) { return (x[static_cast<std::size_t>(i)] - mean) * r; };
  for (int i = 0; i < N; ++i) {
    u_mean += centred ? real((*u)[i]) / N : 0;
    uy_mean += (*u)[i] * at(i) / N;
  }
  real off[2] = {0, 0}, top[2] = {0, 0};
  for (int i = 0; i < N; ++i) {
    const real exact[] = {at(i), r * ((*u)[i] - u_mean - at(i) * uy_mean)};
    const float got[] = {y[i], x_bar[i]};
    for (int k = 0; k < 2; ++k) {
      top[k] = std::fmax(top[k], k == 0 ? std::abs(exact[k]) : r); // u is about 1
      off[k] = std::isnan(got[k]) ? std::numeric_limits<real>::infinity()
                                  : std::fmax(off[k], std::abs(got[k] - exact[k]));
    }
  }
  return {double(off[0] / top[0]), double(off[1] / top[1])};
}
// numbers about `offset` whose deviation is about 1, times scale
template <int N> std::vector<float> numbers(double offset, double scale) {
  std::vector<float> x;
  double e = 0.3;
  for (int i = 0; i < N; ++i)
    x.push_back(static_cast<float>(scale * (offset + 4 * (e = std::fmod(e + 0.381966, 1.0)) - 2)));
  return x;
}
inline constexpr auto plain_layer = [](auto x) { return tl::layer_norm(x); };
inline constexpr auto exact_layer = [](auto x) { return tl::layer_norm(x, 0.0); };
inline constexpr auto plain_rms = [](auto x) { return tl::rms_norm(x); };
inline constexpr auto exact_rms = [](auto x) { return tl::rms_norm(x, 0.0); };
template <int N> void check_magnitudes(std::initializer_list<double> scales,
                                       std::initializer_list<double> offsets) {
  for (const double scale : scales)
    for (const double offset : offsets) {
      CAPTURE(N);
      CAPTURE(scale);
      CAPTURE(offset);
      const auto x = numbers<N>(offset, scale);
      const auto check = [](const errors& e) {
        CHECK(e.y < 2e-6);
        CHECK(e.x_bar < 1e-5);
      };
      check(errors_of<std::remove_const_t<decltype(plain_layer)>, N>(x, true, 1e-5));
      check(errors_of<std::remove_const_t<decltype(exact_layer)>, N>(x, true, 0));
      check(errors_of<std::remove_const_t<decltype(plain_rms)>, N>(x, false, 1e-5));
      check(errors_of<std::remove_const_t<decltype(exact_rms)>, N>(x, false, 0));
    }
}
template <class View> double largest(const View& v) {
  double r = 0;
  for (const auto e : v)
    r = std::isnan(e) ? std::numeric_limits<double>::infinity() : std::fmax(r, std::abs(double(e)));
  return r;
}

} // namespace norm_programs
