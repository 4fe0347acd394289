#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Values, vjp and jvp of a function against the numbers that data/make_ops.py has stored.

#include <tapeless/io/npz_arrays.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/compare.hpp"

namespace against_jax {

namespace tl = tapeless;

// f(arguments), its vjp of u by each argument, its jvp of the tangents
template <auto& f> constexpr auto of_one = [](auto a, auto u, auto a_dot) {
  return std::tuple{f(a), tl::vjp<0>(f)(a, u), tl::jvp<0>(f)(a, a_dot)};
};
template <auto& f> constexpr auto of_two = [](auto a, auto b, auto u, auto a_dot, auto b_dot) {
  return std::tuple{f(a, b), tl::vjp<0, 1>(f)(a, b, u), tl::jvp<0, 1>(f)(a, b, a_dot, b_dot)};
};
template <auto& f>
constexpr auto of_three = [](auto a, auto b, auto c, auto u, auto a_dot, auto b_dot, auto c_dot) {
  return std::tuple{f(a, b, c), tl::vjp<0, 1, 2>(f)(a, b, c, u),
                    tl::jvp<0, 1, 2>(f)(a, b, c, a_dot, b_dot, c_dot)};
};

inline std::vector<double> read(const std::string& name) {
  const tl::npy_array a = tl::npz_read<double>(std::filesystem::path(TAPELESS_TEST_DATA) / "ops.npz", name);
  std::vector<double> result(a.bytes.size() / sizeof(double));
  std::memcpy(result.data(), a.bytes.data(), a.bytes.size());
  return result;
}

// What a result may be off by, in units of rounding: of its own size, and of the largest number of the same result. Below the
// normal numbers a float is off by one of these.
struct tolerance {
  double own = 0, largest = 0;
};

// The file's array `name` holds the arguments, of types X, and the results. n is the extent that has a name.
template <auto& program, class T, class... X>
void compare(const std::string& name, const tolerance& allowed, std::int64_t n) {
  constexpr double unit = std::numeric_limits<T>::epsilon();
  INFO(name, " of ", sizeof(T), " bytes");
  const std::vector<double> all = read(name);
  std::size_t at = 0;
  auto argument = [&]<class Y>(tl::owned<Y> x) {
    tl::for_each_leaf(*x, [&](auto leaf) {
      for (T& element : leaf) element = static_cast<T>(all.at(at++));
    });
    return x;
  };
  const std::tuple<tl::owned<X>...> arguments{argument(tl::owned<X>{tl::dim<'n'>(n)})...};
  static constexpr auto compiled = tl::jit(program);
  auto run = std::apply([](const auto&... x) { return compiled.bind_for(*x...); }, arguments);
  const auto results = std::apply([&](const auto&... x) { return run(*x...); }, arguments);
  tl::for_each_leaf(results, [&](auto got) {
    REQUIRE(at + got.size() <= all.size());
    const std::vector<double> expected(all.begin() + at, all.begin() + at + got.size());
    at += got.size();
    double largest = 0;
    for (const double e : expected)
      if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
    const double least = std::numeric_limits<T>::min();
    CHECK(support::close(got, expected, allowed.largest * unit * largest + least, allowed.own * unit));
  });
  CHECK(at == all.size());
}

// Functions of single elements
template <auto& f, int arguments> void elements(const std::string& name, double roundings) {
  const auto of = [&]<class T>(T) {
    using X = tl::tensor<T, tl::dyn<'n'>>;
    const std::int64_t n = static_cast<std::int64_t>(read(name).size()) / (3 * arguments + 3);
    if constexpr (arguments == 1) compare<of_one<f>, T, X, X, X>(name, {.own = roundings}, n);
    if constexpr (arguments == 2) compare<of_two<f>, T, X, X, X, X, X>(name, {.own = roundings}, n);
    if constexpr (arguments == 3) compare<of_three<f>, T, X, X, X, X, X, X, X>(name, {.own = roundings}, n);
  };
  of(double());
  of(float());
}

// Functions of rows, whose result is a number for each, or a row. Sums of seven terms, and differences of these, are off by
// some units of the largest number.
template <auto& f, int arguments, bool a_row = false> void rows(const std::string& name,
                                                                double roundings = 8) {
  const auto of = [&]<class T>(T) {
    using X = tl::tensor<T, 5, 7>;
    using Y = std::conditional_t<a_row, X, tl::tensor<T, 5>>;
    if constexpr (arguments == 1) compare<of_one<f>, T, X, Y, X>(name, {.own = 8, .largest = roundings}, 0);
    if constexpr (arguments == 2)
      compare<of_two<f>, T, X, X, Y, X, X>(name, {.own = 8, .largest = roundings}, 0);
  };
  of(double());
  of(float());
}

// Functions of arguments with the extents of X..., whatever their result is
template <auto& f, class... X> void arrays(const std::string& name, double roundings = 0) {
  const auto of = [&]<class T>(T) {
    using Y = tl::detail::traced_result<std::remove_cvref_t<decltype(f)>, tl::basic_tensor<T, X::extents>...>;
    const tolerance allowed{.own = roundings, .largest = roundings};
    if constexpr (sizeof...(X) == 1)
      compare<of_one<f>, T, tl::basic_tensor<T, X::extents>..., Y, tl::basic_tensor<T, X::extents>...>(
          name, allowed, 0);
    if constexpr (sizeof...(X) == 2)
      compare<of_two<f>, T, tl::basic_tensor<T, X::extents>..., Y, tl::basic_tensor<T, X::extents>...>(
          name, allowed, 0);
    if constexpr (sizeof...(X) == 3)
      compare<of_three<f>, T, tl::basic_tensor<T, X::extents>..., Y, tl::basic_tensor<T, X::extents>...>(
          name, allowed, 0);
  };
  of(double());
  of(float());
}

} // namespace against_jax
