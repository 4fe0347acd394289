#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Every kernel of a family that takes the extents computes the sums. Each family is compiled in a file of its own:
// compilers take their time for these kernels.

#include <tapeless/cpu/conv/conv.hpp>

#include <support/elements.hpp>
#include <vector>

#include "products.hpp"

namespace conv_kernels {

using namespace tapeless;
using namespace tapeless::cpu;

enum family { nchw, filtered, nhwc }; // filtered: minimal filtering of NCHW tensors

template <class T, conv_pass P, conv_kernel K>
void check_kernel(const conv_extents& e, const products::exact_sums& exact, const std::vector<T>& a,
                  const std::vector<T>& b) {
  using V = simd<T>;
  if (!conv_kernel_takes<V>(P, K, e)) return;
  CAPTURE(static_cast<int>(K));
  const scratch_need need = conv2d_scratch<P, V>(K, e);
  const auto agrees = [&](const std::vector<T>& x, const std::vector<T>& y, const row_lists& lists = {}) {
    return exact.agree(
        products::result_of<T>(static_cast<index_t>(exact.sum.size()), need.each, need.packed + need.shared,
                               [&](const auto& team, T* out, T* each, T* packed) {
                                 conv2d_pack<P, K, V>(team, e, y.data(), packed);
                                 conv2d_run<P, K, V>(team, e, x.data(), y.data(), out,
                                                     {packed, each, packed + need.packed}, lists);
                               }),
        K == conv_kernel::winograd || K == conv_kernel::nhwc_winograd ? 3
        : K == conv_kernel::winograd4                                 ? 24
                                                                      : 0);
  };
  CHECK(agrees(a, b));
  if constexpr (P == conv_pass::wgrad)
    if (conv2d_reads_lists<V>(K, e)) {
      const products::rows_in_a_list<T> x(e.n, a), dy(e.n, b);
      CHECK(agrees(x.all, dy.all, {x.list.data(), dy.list.data()}));
    }
}
template <class T, conv_pass P, family F>
void check(const conv_extents& e, const products::exact_sums& exact, const std::vector<T>& a,
           const std::vector<T>& b) {
  if constexpr (F == nchw) {
    check_kernel<T, P, conv_kernel::direct>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::indirect>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::dense>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::depthwise>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::pointwise>(e, exact, a, b);
    if constexpr (P == conv_pass::wgrad) check_kernel<T, P, conv_kernel::narrow_groups>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::via_nhwc>(e, exact, a, b);
  } else if constexpr (F == filtered) {
    check_kernel<T, P, conv_kernel::winograd>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::winograd4>(e, exact, a, b);
  } else {
    check_kernel<T, P, conv_kernel::nhwc_direct>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::nhwc_trimmed>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::nhwc_depthwise>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::nhwc_winograd>(e, exact, a, b);
    check_kernel<T, P, conv_kernel::nhwc_pointwise>(e, exact, a, b);
  }
}

// TAPELESS_CONV_CHECKS(template, family): the definitions; with `extern template` their declarations
#define TAPELESS_CONV_CHECK(how, T, P, F)                                              \
  how void check<T, conv_pass::P, F>(const conv_extents&, const products::exact_sums&, \
                                     const std::vector<T>&, const std::vector<T>&);
#define TAPELESS_CONV_CHECKS_OF(how, T, F) \
  TAPELESS_CONV_CHECK(how, T, fprop, F)    \
  TAPELESS_CONV_CHECK(how, T, dgrad, F) TAPELESS_CONV_CHECK(how, T, wgrad, F)
#ifdef TAPELESS_TEST_FLOAT_ONLY
#define TAPELESS_CONV_CHECKS(how, F) TAPELESS_CONV_CHECKS_OF(how, float, F)
#else
#define TAPELESS_CONV_CHECKS(how, F) \
  TAPELESS_CONV_CHECKS_OF(how, float, F) TAPELESS_CONV_CHECKS_OF(how, double, F)
#endif

} // namespace conv_kernels
