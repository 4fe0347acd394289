// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// C[b] = op(A[b]) op(B[b]), see matmul_extents: a thread an element of C. For the emulated device, and where the library
// of products cannot.
#pragma once
#include "../../core/geometry.hpp"
#include "../base/block.hpp"
#include "../base/sums.hpp"

namespace tapeless::cuda {

// T: of C and of the sums; X: of A and B
template <class T, class X> struct matmul_kernel {
  const X *a, *b;
  T* c;
  count_t items;
  matmul_extents e;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t at) {
      const index_t j = at % e.n, row = at / e.n, i = row % e.m, s = row / e.m;
      const X* const p = a + (e.a_batched ? s * e.m * e.k : 0) + (e.ta ? i : i * e.k);
      const X* const q = b + (e.b_batched ? s * e.n * e.k : 0) + (e.tb ? j * e.k : j);
      const index_t p_next = e.ta ? e.m : 1, q_next = e.tb ? 1 : e.n;
      T sum(0);
      for (index_t k = 0; k < e.k;) {
        T part(0); // chains of 32 terms
        for (index_t l = 0; l < 32 && k < e.k; ++l, ++k)
          part += static_cast<T>(p[k * p_next]) * static_cast<T>(q[k * q_next]);
        sum += part;
      }
      c[at] = sum;
    });
  }
};

} // namespace tapeless::cuda
