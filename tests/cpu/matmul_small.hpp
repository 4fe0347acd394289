#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Small products against the triple loop.
#include <tapeless/cpu/matmul/small.hpp>

#include <support/elements.hpp>

#include "products.hpp"

namespace matmul_small_test {

using namespace tapeless;
using namespace tapeless::cpu;
using namespace products;

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

} // namespace matmul_small_test
