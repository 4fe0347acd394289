// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Running ops, products, and indices along an axis against stored numbers of JAX.

#include "against_jax.hpp"

namespace {

namespace tl = tapeless;
using against_jax::arrays;

using X = tl::tensor<double, 2, 3, 5>;
using I = tl::tensor<double, 2, 4, 5>; // indices, and what is put there

constexpr auto cumsum = [](auto a) { return tl::cumsum<1>(a); };
constexpr auto cumprod = [](auto a) { return tl::cumprod<2>(a); };
constexpr auto cummax = [](auto a) { return tl::cummax<2>(a); };
constexpr auto cummin = [](auto a) { return tl::cummin<2>(a); };
constexpr auto logcumsumexp = [](auto a) { return tl::logcumsumexp<2>(a); };
constexpr auto linear_scan = [](auto a, auto b) { return tl::linear_scan<1>(a, b); };
constexpr auto linear_scan_last = [](auto a, auto b) { return tl::linear_scan<2>(a, b); };
constexpr auto product = [](auto a) { return tl::prod<2>(a); };
constexpr auto product_two = [](auto a) { return tl::prod<0, 2>(a); };
constexpr auto second_product = tl::grad([](auto a) { return tl::sum(tl::prod<2>(a)); });
constexpr auto second_cumprod = tl::grad([](auto a) { return tl::sum(tl::cumprod<2>(a)); });

constexpr auto take = [](auto a, auto i) { return tl::take_along_axis<1>(a, tl::cast<std::int32_t>(i)); };
constexpr auto add = [](auto a, auto i, auto d) {
  return tl::scatter_add_along_axis<1>(a, tl::cast<std::int32_t>(i), d);
};
constexpr auto largest = [](auto a, auto i, auto d) {
  return tl::scatter_max_along_axis<1>(a, tl::cast<std::int32_t>(i), d);
};
constexpr auto least = [](auto a, auto i, auto d) {
  return tl::scatter_min_along_axis<1>(a, tl::cast<std::int32_t>(i), d);
};

} // namespace

TEST_CASE("running ops and products are those of JAX, also where factors are 0") {
  arrays<cumsum, X>("cumsum", 8);
  arrays<cumprod, X>("cumprod", 8);
  arrays<cummax, X>("cummax", 4); // their derivatives are sums
  arrays<cummin, X>("cummin", 4);
  arrays<logcumsumexp, X>("logcumsumexp", 256); // the rounding of an exponent of up to 100
  arrays<linear_scan, X, X>("linear_scan", 8);
  arrays<linear_scan_last, X, X>("linear_scan_last", 16);
  arrays<product, X>("prod", 8);
  arrays<product_two, X>("prod_two", 16);
  arrays<second_product, X>("second_prod", 16);
  arrays<second_cumprod, X>("second_cumprod", 16);
}

TEST_CASE("indices along an axis are those of JAX") {
  arrays<take, X, I>("take_along_axis", 2);
  arrays<add, X, I, I>("scatter_add_along_axis", 4);
  arrays<largest, X, I, I>("scatter_max_along_axis");
  arrays<least, X, I, I>("scatter_min_along_axis");
}
