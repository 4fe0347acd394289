// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/conv/bf16.hpp>

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "conv_sums.hpp"

using namespace tapeless;
using namespace tapeless::cpu;
using namespace conv_sums;
using products::rounded_values;

namespace {

template <conv_pass P, conv_words Words, conv_kernel K> void check_kernel(const conv_extents& e,
                                                                          const exact_sums& exact,
                                                                          const std::vector<bf16>& a,
                                                                          const std::vector<bf16>& b) {
  constexpr conv_bf16_kernel kernel{Words, K};
  conv_extents plain = e;
  plain.nhwc = Words == conv_words::pairs || e.nhwc;
  if (conv2d_bf16_kernel_of(P, e).words == conv_words::product) {
    if (Words != conv_words::product) return;
  } else if (Words == conv_words::product || !conv_kernel_takes<simd<float>>(P, K, plain)) return;
  CAPTURE(static_cast<int>(K));
  CAPTURE(static_cast<int>(Words));
  const scratch_need need = conv2d_bf16_scratch<P>(kernel, e);
  const auto as_bf16 = [](float* p) { return reinterpret_cast<bf16*>(p); };
  CHECK(exact.agree(products::result_of<float>(
      static_cast<index_t>(exact.sum.size()), need.each / 2, (need.packed + need.shared) / 2,
      [&](const auto& team, float* out, float* each, float* packed) {
        conv2d_bf16_pack<P, kernel>(team, e, b.data(), as_bf16(packed));
        conv2d_bf16_run<P, kernel>(team, e, a.data(), b.data(), out,
                                   {as_bf16(packed), as_bf16(each), as_bf16(packed + need.packed / 2)});
      })));
}
void check(const conv_extents& e) {
  each_pass(e, rounded_values(x_size(e), 1), rounded_values(w_size(e), 2), rounded_values(y_size(e), 3),
            [](auto pass, const conv_extents& of, const exact_sums& exact, const std::vector<bf16>& a,
               const std::vector<bf16>& b) {
              CAPTURE(static_cast<int>(pass.value));
              CAPTURE(of.nhwc);
              using enum conv_words;
              check_kernel<pass.value, product, conv_kernel::dense>(of, exact, a, b);
              check_kernel<pass.value, pairs, conv_kernel::nhwc_direct>(of, exact, a, b);
              check_kernel<pass.value, pairs, conv_kernel::nhwc_pointwise>(of, exact, a, b);
              check_kernel<pass.value, widened, conv_kernel::pointwise>(of, exact, a, b);
              check_kernel<pass.value, widened, conv_kernel::nhwc_pointwise>(of, exact, a, b);
              check_kernel<pass.value, widened, conv_kernel::nhwc_depthwise>(of, exact, a, b);
              check_kernel<pass.value, widened, conv_kernel::direct>(of, exact, a, b);
              if constexpr (pass.value == conv_pass::wgrad)
                check_kernel<pass.value, widened, conv_kernel::narrow_groups>(of, exact, a, b);
            });
}
void check(conv_extents e, index_t end) {
  if (complete(e, end, end)) check(e);
}

} // namespace

TEST_CASE("conv of bf16: equals the loops over strides, dilations and paddings, of one to three images") {
  for (index_t stride : {1, 2, 3})
    for (index_t dil : {1, 2})
      for (index_t pad : {0, 1, 3})
        for (const auto& rs : {std::pair<index_t, index_t>{1, 1}, {3, 3}, {2, 5}})
          for (index_t n : {1, 2, 3})
            check({.n = n,
                   .c = 3,
                   .h = 11,
                   .w = 19,
                   .k = 5,
                   .r = rs.first,
                   .s = rs.second,
                   .stride_h = stride,
                   .stride_w = (stride + dil) % 3 + 1,
                   .pad_top = pad,
                   .pad_left = (pad + 1) % 3,
                   .dil_h = dil,
                   .dil_w = 3 - dil},
                  pad / 2);
}

TEST_CASE("conv of bf16: groups of odd and even numbers of channels, down to one channel each") {
  for (const auto& ck : {std::pair<index_t, index_t>{4, 6}, {6, 6}, {2, 8}, {6, 2}, {14, 14}, {6, 9}})
    for (index_t groups : {index_t(1), index_t(2), index_t(3), ck.first})
      for (index_t r : {1, 3}) {
        if (ck.first % groups != 0 || ck.second % groups != 0) continue;
        check({.n = 2,
               .c = ck.first,
               .h = 7,
               .w = 21,
               .k = ck.second,
               .r = r,
               .s = r,
               .stride_h = r == 3 ? 2 : 1,
               .pad_top = r / 2,
               .pad_left = r / 2,
               .groups = groups},
              r / 2);
      }
  check({.n = 3, .c = 32, .h = 5, .w = 7, .k = 32, .r = 3, .s = 3, .pad_top = 1, .pad_left = 1, .groups = 8},
        1);
}

TEST_CASE("conv of bf16: extents of one, filters as large as the image, outputs of padding alone") {
  check({.n = 1, .c = 1, .h = 1, .w = 1, .k = 1, .r = 1, .s = 1, .p = 1, .q = 1});
  check({.n = 1, .c = 3, .h = 2, .w = 1, .k = 5, .r = 1, .s = 1, .p = 2, .q = 1}); // halves of one pixel
  check({.n = 3, .c = 1, .h = 4, .w = 3, .k = 1, .r = 1, .s = 1, .p = 4, .q = 3});
  check(
      {.n = 3, .c = 2, .h = 1, .w = 1, .k = 7, .r = 3, .s = 3, .p = 1, .q = 1, .pad_top = 1, .pad_left = 1});
  check({.n = 2, .c = 2, .h = 9, .w = 13, .k = 3, .r = 9, .s = 13, .p = 1, .q = 1});
  check(
      {.n = 1, .c = 2, .h = 2, .w = 2, .k = 2, .r = 2, .s = 2, .p = 5, .q = 6, .pad_top = 2, .pad_left = 3});
  check(
      {.n = 1, .c = 1, .h = 9, .w = 9, .k = 1, .r = 1, .s = 1, .p = 3, .q = 3, .stride_h = 3, .stride_w = 3});
}

TEST_CASE("conv of bf16: vectors of channels, several bands, blocks of pixels and chunks of images") {
  check({.n = 2, .c = 32, .h = 20, .w = 33, .k = 48, .r = 3, .s = 3, .pad_top = 1, .pad_left = 1}, 1);
  check({.n = 1, .c = 70, .h = 21, .w = 40, .k = 67, .r = 3, .s = 1, .stride_h = 2, .stride_w = 2}, 0);
  check({.n = 1, .c = 230, .h = 5, .w = 33, .k = 8, .r = 1, .s = 1}, 0);
  check({.n = 2, .c = 3, .h = 1, .w = 600, .k = 9, .r = 1, .s = 3}, 0);
  check(
      {.n = 131, .c = 3, .h = 3, .w = 3, .k = 4, .r = 3, .s = 3, .stride_h = 2, .pad_top = 1, .pad_left = 1},
      1);
  check({.n = 5, .c = 17, .h = 90, .w = 100, .k = 18, .r = 1, .s = 1}, 0);
  check({.n = 9, .c = 9, .h = 90, .w = 60, .k = 4, .r = 2, .s = 2, .stride_h = 2, .stride_w = 2}, 0);
}

TEST_CASE("conv of bf16: an empty batch has no output and a zero weight gradient") {
  check({.n = 0, .c = 3, .h = 5, .w = 5, .k = 2, .r = 3, .s = 3, .p = 3, .q = 3});
  check({.n = 0, .c = 3, .h = 5, .w = 5, .k = 2, .r = 1, .s = 1, .p = 5, .q = 5});
}

TEST_CASE("conv of bf16: scratch and kernel do not depend on the batch, and minimal filtering is not taken") {
  constexpr auto equals = []<conv_pass P>(std::integral_constant<conv_pass, P>, conv_extents e) {
    conv_extents more = e;
    more.n = 999;
    const conv_bf16_kernel taken = conv2d_bf16_kernel_of(P, e);
    const conv_kernel k = taken.k;
    if (taken.words == conv_words::product)
      return conv2d_bf16_scratch<P>(taken, e) == conv2d_bf16_scratch<P>(taken, more);
    const conv_bf16_kernel pairs{conv_words::pairs, conv_kernel::nhwc_direct},
        plain{conv_words::widened, conv_kernel::direct};
    return conv2d_bf16_kernel_of(P, e) == conv2d_bf16_kernel_of(P, more) && k != conv_kernel::winograd &&
           k != conv_kernel::winograd4 && k != conv_kernel::nhwc_winograd &&
           conv2d_bf16_scratch<P>(taken, e) == conv2d_bf16_scratch<P>(taken, more) &&
           conv2d_bf16_scratch<P>(pairs, e) == conv2d_bf16_scratch<P>(pairs, more) &&
           conv2d_bf16_scratch<P>(plain, e) == conv2d_bf16_scratch<P>(plain, more);
  };
  constexpr auto all = [=](const conv_extents& e) {
    return equals(std::integral_constant<conv_pass, conv_pass::fprop>{}, e) &&
           equals(std::integral_constant<conv_pass, conv_pass::dgrad>{}, e) &&
           equals(std::integral_constant<conv_pass, conv_pass::wgrad>{}, e);
  };
  static_assert(all({.c = 8, .h = 28, .w = 28, .k = 32, .r = 3, .s = 3, .p = 26, .q = 26}));
  static_assert(all({.c = 64, .h = 28, .w = 28, .k = 64, .r = 3, .s = 3, .p = 26, .q = 26}));
  static_assert(all({.c = 8, .h = 28, .w = 28, .k = 32, .p = 28, .q = 28}));
}

TEST_CASE(
    "conv of bf16: what is finite in float is finite: infinite elements of x reach the taps that meet them") {
  const conv_extents e{.n = 1, .c = 2, .h = 5, .w = 6, .k = 16, .r = 3, .s = 3, .p = 3, .q = 4};
  constexpr conv_bf16_kernel pairs{conv_words::pairs, conv_kernel::nhwc_direct};
  std::vector<bf16> x(static_cast<std::size_t>(x_size(e)), bf16(1.0f));
  const std::vector<bf16> dy(static_cast<std::size_t>(y_size(e)), bf16(1.0f));
  x[4 * 6 + 2] = bf16(std::numeric_limits<float>::infinity()); // taps of the last row meet it
  const scratch_need need = conv2d_bf16_scratch<conv_pass::wgrad>(pairs, e);
  std::vector<bf16> each(static_cast<std::size_t>(need.each)), shared(static_cast<std::size_t>(need.shared));
  std::vector<float> dw(static_cast<std::size_t>(w_size(e)));
  conv2d_bf16_run<conv_pass::wgrad, pairs>(serial_team{}, e, x.data(), dy.data(), dw.data(),
                                           {nullptr, each.data(), shared.data()});
  for (std::size_t i = 0; i < dw.size(); ++i)
    if (i % 18 < 6 || i % 18 >= 9) CHECK(dw[i] == 12.0f);
    else CHECK(!std::isfinite(dw[i]));
}
