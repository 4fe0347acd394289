// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// From the shapes of a step to its kernel, the scratch that the kernel needs, and whether it reads rows by a list.
#include "../../core/bf16.hpp"
#include "../../ops/matmul.hpp"
#include "../../plan/ir/kernel_extents.hpp"
#include "../conv/bf16.hpp"
#include "../conv/conv.hpp"
#include "../conv/steps.hpp"
#include "../matmul/bf16.hpp"
#include "../matmul/matmul.hpp"
#include "../matmul/small.hpp"
#include "extents.hpp"
#include "frame.hpp"

namespace tapeless::cpu {

template <class T> inline constexpr bool is_bf16 = false;
template <> inline constexpr bool is_bf16<bf16> = true;
// Bytes of an element of the result of a product or convolution of operands of T.
template <class T> constexpr index_t bytes_of_result() { return is_bf16<T> ? sizeof(float) : sizeof(T); }

// The kernel of a convolution and its scratch are functions of the shapes. They do not depend on values of named extents.
template <class T> constexpr conv_kernel kernel_of(const step& s, const shape (&q)[3]) {
  return conv_kernel_of<simd<T>>(pass_of(s.o), conv_of(s, {assumed(q[0]), assumed(q[1]), assumed(q[2])}));
}
template <class T> constexpr scratch_need scratch_of_conv(const step& s, const shape (&q)[3]) {
  using V = simd<T>;
  const conv_extents e = conv_of(s, {assumed(q[0]), assumed(q[1]), assumed(q[2])});
  switch (s.o) {
    case op::conv_fprop: return conv2d_scratch<conv_pass::fprop, V>(kernel_of<T>(s, q), e);
    case op::conv_dgrad: return conv2d_scratch<conv_pass::dgrad, V>(kernel_of<T>(s, q), e);
    case op::conv_wgrad: return conv2d_scratch<conv_pass::wgrad, V>(kernel_of<T>(s, q), e);
    default: return {};
  }
}
// The extents of a matmul with operands and result q; named extents are `unknown_extent`.
constexpr matmul_extents most_of_matmul(const step& s, const shape (&q)[3]) {
  matmul_extents e = matmul_of(s, assumed(q[0]), assumed(q[1]), assumed(q[2]));
  const auto named = [](extent_t n) { return !detail::is_static(n); };
  const int batch = q[2].rank - 2;
  if (named(q[2].d[batch])) e.m = unknown_extent;
  if (named(q[2].d[batch + 1])) e.n = unknown_extent;
  if (named(detail::cols(q[0], e.ta))) e.k = unknown_extent;
  for (int i = 0; i < batch; ++i)
    if (named(q[2].d[i])) e.batch = unknown_extent;
  return e;
}
constexpr bool may_pack(const matmul_extents& e, const shape (&q)[3]) {
  return q[1].rank == 2 && e.n != unknown_extent && e.k != unknown_extent;
}
// Counted in elements of bf16.
template <class Arch> constexpr scratch_need scratch_of_bf16(const step& s, const shape (&q)[3]) {
  const matmul_extents e = most_of_matmul(s, q);
  return {.packed = may_pack(e, q) ? matmul_bf16_packed<Arch>(e) : 0, .each = matmul_bf16_scratch<Arch>(e)};
}
template <class Arch> constexpr conv_bf16_kernel bf16_kernel_of(const step& s, const shape (&q)[3]) {
  return conv2d_bf16_kernel_of<Arch>(pass_of(s.o), conv_of(s, {assumed(q[0]), assumed(q[1]), assumed(q[2])}));
}
template <class Arch> constexpr scratch_need scratch_of_bf16_conv(const step& s, const shape (&q)[3]) {
  const conv_extents e = conv_of(s, {assumed(q[0]), assumed(q[1]), assumed(q[2])});
  const conv_bf16_kernel k = bf16_kernel_of<Arch>(s, q);
  switch (s.o) {
    case op::conv_fprop: return conv2d_bf16_scratch<conv_pass::fprop, Arch>(k, e);
    case op::conv_dgrad: return conv2d_bf16_scratch<conv_pass::dgrad, Arch>(k, e);
    default: return conv2d_bf16_scratch<conv_pass::wgrad, Arch>(k, e);
  }
}
// Convolutions: does the program have any? If not, their kernels are not instantiated.
template <class T, bool Convolutions> constexpr scratch_need scratch_of(const step& s, const shape (&q)[3]) {
  switch (s.o) {
    case op::matmul: {
      const matmul_extents e = most_of_matmul(s, q);
      if (const small_product p = small_product_of(e, sizeof(T)); p.m > 0)
        return {.packed = q[1].rank == 2 ? small_packed(p) : 0};
      return {.packed = may_pack(e, q) ? matmul_packed<T>(e) : 0,
              .each = matmul_scratch<T>(e),
              .shared = matmul_shared<T>(e)};
    }
    default:
      if constexpr (Convolutions) return scratch_of_conv<T>(s, q);
      return {};
  }
}

// Can the step read rows of its first two operands by a list?
template <class T, bool Convolutions> constexpr bool reads_lists(const step& s, const shape (&q)[3]) {
  if (s.o == op::matmul) {
    const matmul_extents e = most_of_matmul(s, q);
    const bool known = e.m != unknown_extent && e.n != unknown_extent; // a run may bring one row or column
    return known && q[0].rank == 2 && q[1].rank == 2 && small_product_of(e, sizeof(T)).m == 0 &&
           matmul_reads_lists(e);
  }
  if constexpr (Convolutions)
    if (s.o == op::conv_wgrad)
      return conv2d_reads_lists<simd<T>>(kernel_of<T>(s, q),
                                         conv_of(s, {assumed(q[0]), assumed(q[1]), assumed(q[2])}));
  return false;
}

} // namespace tapeless::cpu
