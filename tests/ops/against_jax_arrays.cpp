// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Arrangements against NumPy and JAX: data/make_ops.py writes their numbers.
#include "against_jax.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace tl = tapeless;
using namespace against_jax;

namespace {

using A = tl::tensor<float, 2, 3, 5>;

constexpr auto expand_dims = [](auto a) { return tl::expand_dims<-1>(a); };
constexpr auto squeeze = [](auto a) { return tl::squeeze<1>(a); };
constexpr auto tile = [](auto a) { return tl::tile<1, 3>(a); };
constexpr auto repeat = [](auto a) { return tl::repeat<-1, 2>(a); };
constexpr auto roll = [](auto a) { return tl::roll<2, -7>(a); };
constexpr auto slice_2 = [](auto a) { return tl::slice<2, 1, 4, 2>(a); };
constexpr auto slice_back = [](auto a) { return tl::slice<2, 4, 0, -3>(a); };
constexpr auto pad_reflect = [](auto a) { return tl::pad<2, 4, 2>(a, tl::reflect); };
constexpr auto pad_edge = [](auto a) { return tl::pad<1, 2, 1>(a, tl::edge); };
constexpr auto pad_wrap = [](auto a) { return tl::pad<1, 3, 2>(a, tl::wrap_around); };
constexpr auto stack = [](auto a, auto b) { return tl::stack<1>(a, b); };
constexpr auto split = [](auto a) { return tl::split<1, 3>(a)[2]; };
constexpr auto tril = [](auto a) { return tl::tril<-1>(a); };
constexpr auto triu = [](auto a) { return tl::triu<1>(a); };
constexpr auto diagonal = [](auto a) { return tl::diagonal<1>(a); };
constexpr auto trace = [](auto a) { return tl::trace<-1>(a); };
constexpr auto eye_like = [](auto a) { return tl::eye_like(a) * a; };
constexpr auto one_hot = [](auto a, auto i) {
  using T = typename decltype(a)::value_type;
  return a * tl::one_hot<T, 5>(tl::cast<std::int32_t>(i));
};
constexpr auto outer = [](auto a, auto b) { return tl::outer(a, b); };
constexpr auto meshgrid = [](auto a, auto b) {
  const auto [x, y] = tl::meshgrid(a, b);
  return x * y;
};

} // namespace

TEST_CASE("arrangements are those of NumPy, exactly") {
  arrays<expand_dims, A>("expand_dims");
  arrays<squeeze, tl::tensor<float, 2, 1, 5>>("squeeze");
  arrays<tile, A>("tile", 2); // their derivatives are sums
  arrays<repeat, A>("repeat", 2);
  arrays<roll, A>("roll");
  arrays<slice_2, A>("slice_2");
  arrays<slice_back, A>("slice_back");
  arrays<pad_reflect, A>("pad_reflect", 2);
  arrays<pad_edge, A>("pad_edge", 2);
  arrays<pad_wrap, A>("pad_wrap", 2);
  arrays<stack, A, A>("stack");
  arrays<split, A>("split");
  arrays<tril, A>("tril");
  arrays<triu, A>("triu");
  arrays<diagonal, A>("diagonal");
  arrays<trace, A>("trace", 2);
  arrays<eye_like, A>("eye_like");
  arrays<one_hot, A, tl::tensor<float, 2, 3>>("one_hot");
  arrays<outer, tl::tensor<float, 3>, tl::tensor<float, 5>>("outer", 4);
  arrays<meshgrid, tl::tensor<float, 3>, tl::tensor<float, 5>>("meshgrid", 4);
}
