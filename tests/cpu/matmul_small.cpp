// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/matmul/small.hpp>

#include <support/elements.hpp>

#include "products.hpp"

using namespace tapeless;
using namespace tapeless::cpu;
using namespace products;

namespace {

struct extents { // of a type
  index_t m, n, k;
  bool ta = false, tb = false;
  index_t batch = 1;
  bool a_batched = false, b_batched = false;
  constexpr matmul_extents of() const { return {batch, m, n, k, ta, tb, a_batched, b_batched}; }
};

template <class T, extents E> void check() {
  constexpr matmul_extents e = E.of();
  constexpr small_product S = small_product_of(e, sizeof(T));
  static_assert(S.m > 0);
  CAPTURE(e.batch);
  CAPTURE(e.m);
  CAPTURE(e.n);
  CAPTURE(e.k);
  CAPTURE(e.ta);
  CAPTURE(e.tb);
  const auto a = values<T>((e.a_batched ? e.batch : 1) * e.m * e.k, 1),
             b = values<T>((e.b_batched ? e.batch : 1) * e.k * e.n, 2);
  const exact_sums c = sums_of_matmul(e, a, b);
  const auto product = [&](const T* packed) {
    return result_of<T>(e.batch * e.m * e.n, 0, 0, [&](const auto& team, T* out, T*, T*) {
      matmul_small<S, T>(team, e, a.data(), b.data(), out, packed);
    });
  };
  const std::vector<T> y = product(nullptr);
  CHECK(c.agree(y));
  constexpr index_t ahead = e.b_batched ? 0 : small_packed(S);
  if constexpr (ahead > 0) {
    std::vector<T> packed(ahead);
    small_pack<S>(b.data(), packed.data());
    CHECK(product(packed.data()) == y);
  }
}
template <class T, index_t M, index_t N, index_t K> void check_forms() {
  check<T, extents{M, N, K}>();
  check<T, extents{M, N, K, true}>();
  check<T, extents{M, N, K, false, true}>();
  check<T, extents{M, N, K, true, true}>();
}

} // namespace

TEST_CASE_TEMPLATE("matmul_small: equals the triple loop in all four transposes", T, TAPELESS_ELEMENTS) {
  check_forms<T, 1, 1, 1>();
  check_forms<T, 1, 4, 5>();
  check_forms<T, 1, 33, 18>();
  check_forms<T, 2, 3, 7>();
  check_forms<T, 3, 6, 1>();
  check_forms<T, 4, 4, 4>();
  check_forms<T, 7, 8, 9>();
  check_forms<T, 13, 18, 34>();
  check_forms<T, 33, 2, 19>(); // a narrow result
  check_forms<T, 18, 3, 2>();
  check_forms<T, 29, 1, 20>(); // a column
}

TEST_CASE("matmul_small: blocks of several vectors, one of them not whole") {
  check_forms<float, 1, 70, 40>();
  check_forms<float, 30, 60, 20>();
  check_forms<double, 11, 37, 16>();
}

TEST_CASE("matmul_small: a batch may share either operand; many matrices are shared out") {
  check<float, extents{3, 5, 4, false, false, 7, true, true}>();
  check<float, extents{3, 5, 4, true, false, 7, true, false}>();
  check<float, extents{3, 5, 4, false, true, 7, true, false}>(); // the rows of one matrix
  check<double, extents{3, 5, 4, false, true, 7, false, true}>();
  check<float, extents{9, 1, 6, false, false, 5, true, true}>();
  check<float, extents{20, 3, 18, false, false, 4, true, true}>();
  check<float, extents{16, 16, 16, false, true, 150, true, true}>();
}

TEST_CASE("matmul_small: what is known, not empty and stays in L1") {
  const auto is_small = [](index_t m, index_t n, index_t k, bool tb = false) {
    return small_product_of({.m = m, .n = n, .k = k, .tb = tb}, 4).m > 0;
  };
  CHECK(is_small(64, 64, 64));
  CHECK(is_small(64, 64, 64, true));
  CHECK_FALSE(is_small(65, 64, 64));
  CHECK_FALSE(is_small(1, 256, 256)); // b does not stay in L1
  CHECK_FALSE(is_small(8, 8, 0));
  CHECK_FALSE(is_small(0, 8, 8));
  CHECK_FALSE(is_small(8, 0, 8));
  CHECK_FALSE(is_small(tapeless::cpu::many, 8, 8));
  CHECK(small_product_of({.batch = tapeless::cpu::many, .m = 8, .n = 8, .k = 8}, 4).m > 0);
  CHECK(small_product_of({.batch = tapeless::cpu::many, .m = 8, .n = 8, .k = 8, .b_batched = false}, 4).m ==
        0);
}
