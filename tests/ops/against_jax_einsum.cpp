// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// einsum against NumPy's, its derivatives against JAX: data/make_ops.py writes their numbers.
#include "against_jax.hpp"

#include <doctest/doctest.h>

namespace tl = tapeless;
using namespace against_jax;

namespace {

constexpr auto einsum_0 = [](auto a, auto b) { return tl::einsum<"ij,jk->ik">(a, b); };
constexpr auto einsum_1 = [](auto a, auto b) { return tl::einsum<"ij,jk">(a, b); };
constexpr auto einsum_2 = [](auto a, auto b) { return tl::einsum<"ji,kj->ki">(a, b); };
constexpr auto einsum_3 = [](auto a, auto b) { return tl::einsum<"bij,bjk->bik">(a, b); };
constexpr auto einsum_4 = [](auto a, auto b) { return tl::einsum<"bhqd,bhkd->bhqk">(a, b); };
constexpr auto einsum_5 = [](auto a, auto b) { return tl::einsum<"abc,cba->">(a, b); };
constexpr auto einsum_6 = [](auto a, auto b) { return tl::einsum<"...ij,...jk->...ik">(a, b); };
constexpr auto einsum_7 = [](auto a, auto b, auto c) { return tl::einsum<"i,j,k->kij">(a, b, c); };
constexpr auto einsum_8 = [](auto a) { return tl::einsum<"iij->j">(a); };
constexpr auto einsum_9 = [](auto a) { return tl::einsum<"ijij">(a); };
constexpr auto einsum_10 = [](auto a, auto b) { return tl::einsum<"iji,ik->jk">(a, b); };
constexpr auto einsum_11 = [](auto a, auto b) { return tl::einsum<"b...,c...->...cb">(a, b); };
constexpr auto einsum_12 = [](auto a, auto b, auto c) { return tl::einsum<"ab,bc,cd->da">(a, b, c); };
constexpr auto einsum_13 = [](auto a, auto b, auto c) { return tl::einsum<"abc,bd,cd->a">(a, b, c); };
constexpr auto einsum_14 = [](auto a, auto b, auto c) { return tl::einsum<"nc, nc, c -> n">(a, b, c); };
constexpr auto einsum_15 = [](auto a, auto b) { return tl::einsum<"ijk,lmk->iljm">(a, b); };
constexpr auto einsum_16 = [](auto a) { return tl::einsum<"ijkl->lj">(a); };
constexpr auto einsum_17 = [](auto a, auto b, auto c) { return tl::einsum<"ij,ik,il->jkl">(a, b, c); };
constexpr auto einsum_18 = [](auto a, auto b) { return tl::einsum<"...,...->">(a, b); };
constexpr auto einsum_19 = [](auto a, auto b) { return tl::einsum<"...,...->">(a, b); };
constexpr auto einsum_20 = [](auto a, auto b) { return tl::einsum<"...ij,...jk->ik">(a, b); };
constexpr auto einsum_21 = [](auto a, auto b) { return tl::einsum<"...ij,...jk->ik">(a, b); };
constexpr auto einsum_22 = [](auto a, auto b) { return tl::einsum<"...i,...i->">(a, b); };
constexpr auto einsum_23 = [](auto a, auto b, auto c) { return tl::einsum<"...i,...j,...->ij">(a, b, c); };
constexpr auto einsum_24 = [](auto a, auto b, auto c) { return tl::einsum<"a...,...b,...->b">(a, b, c); };

} // namespace

TEST_CASE("einsum is that of NumPy, and its derivatives are those of JAX") {
  arrays<einsum_0, tl::tensor<float, 3, 4>, tl::tensor<float, 4, 5>>("einsum_0", 16);
  arrays<einsum_1, tl::tensor<float, 3, 4>, tl::tensor<float, 4, 5>>("einsum_1", 16);
  arrays<einsum_2, tl::tensor<float, 4, 3>, tl::tensor<float, 5, 4>>("einsum_2", 16);
  arrays<einsum_3, tl::tensor<float, 2, 3, 4>, tl::tensor<float, 2, 4, 5>>("einsum_3", 16);
  arrays<einsum_4, tl::tensor<float, 2, 2, 3, 4>, tl::tensor<float, 2, 2, 5, 4>>("einsum_4", 16);
  arrays<einsum_5, tl::tensor<float, 2, 3, 4>, tl::tensor<float, 4, 3, 2>>("einsum_5", 16);
  arrays<einsum_6, tl::tensor<float, 2, 1, 3, 4>, tl::tensor<float, 2, 4, 5>>("einsum_6", 16);
  arrays<einsum_7, tl::tensor<float, 2>, tl::tensor<float, 3>, tl::tensor<float, 4>>("einsum_7", 16);
  arrays<einsum_8, tl::tensor<float, 3, 3, 4>>("einsum_8", 16);
  arrays<einsum_9, tl::tensor<float, 2, 3, 2, 3>>("einsum_9", 16);
  arrays<einsum_10, tl::tensor<float, 3, 2, 3>, tl::tensor<float, 3, 4>>("einsum_10", 16);
  arrays<einsum_11, tl::tensor<float, 2, 3>, tl::tensor<float, 4, 3>>("einsum_11", 16);
  arrays<einsum_12, tl::tensor<float, 2, 3>, tl::tensor<float, 3, 4>, tl::tensor<float, 4, 5>>("einsum_12",
                                                                                               16);
  arrays<einsum_13, tl::tensor<float, 2, 3, 4>, tl::tensor<float, 3, 5>, tl::tensor<float, 4, 5>>("einsum_13",
                                                                                                  16);
  arrays<einsum_14, tl::tensor<float, 4, 3>, tl::tensor<float, 4, 3>, tl::tensor<float, 3>>("einsum_14", 16);
  arrays<einsum_15, tl::tensor<float, 2, 3, 4>, tl::tensor<float, 3, 2, 4>>("einsum_15", 16);
  arrays<einsum_16, tl::tensor<float, 2, 3, 2, 3>>("einsum_16", 16);
  arrays<einsum_17, tl::tensor<float, 3, 2>, tl::tensor<float, 3, 2>, tl::tensor<float, 3, 4>>("einsum_17",
                                                                                               16);
  arrays<einsum_18, tl::tensor<float, 3>, tl::tensor<float, 1>>("einsum_18", 16);
  arrays<einsum_19, tl::tensor<float, 1>, tl::tensor<float, 3>>("einsum_19", 16);
  arrays<einsum_20, tl::tensor<float, 3, 2, 4>, tl::tensor<float, 1, 4, 2>>("einsum_20", 16);
  arrays<einsum_21, tl::tensor<float, 1, 2, 4>, tl::tensor<float, 3, 4, 2>>("einsum_21", 16);
  arrays<einsum_22, tl::tensor<float, 3, 2>, tl::tensor<float, 1, 2>>("einsum_22", 16);
  arrays<einsum_23, tl::tensor<float, 3, 1, 2>, tl::tensor<float, 1, 5, 2>, tl::tensor<float, 5>>("einsum_23",
                                                                                                  16);
  arrays<einsum_24, tl::tensor<float, 2, 3, 1>, tl::tensor<float, 1, 2, 4>, tl::tensor<float, 3, 2>>(
      "einsum_24", 16);
}
