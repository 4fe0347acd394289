// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <utility>

#include "conv_kernels.hpp"
#include "conv_sums.hpp"

using namespace tapeless;
using namespace tapeless::cpu;
using namespace products;
using namespace conv_sums;

namespace conv_kernels {
TAPELESS_CONV_CHECKS(extern template, filtered)
TAPELESS_CONV_CHECKS(extern template, nhwc)
} // namespace conv_kernels

namespace {

template <class T, conv_pass P> void check_pass(const conv_extents& e, const exact_sums& exact,
                                                const std::vector<T>& a, const std::vector<T>& b) {
  CAPTURE(static_cast<int>(P));
  if (e.nhwc) conv_kernels::check<T, P, conv_kernels::nhwc>(e, exact, a, b);
  else {
    conv_kernels::check<T, P, conv_kernels::nchw>(e, exact, a, b);
    conv_kernels::check<T, P, conv_kernels::filtered>(e, exact, a, b);
  }
  CHECK(conv_kernel_takes<simd<T>>(P, conv_kernel_of<simd<T>>(P, e), e));
}

// A 3 x 3 layer without stride, padded by `pad` on all sides.
conv_extents filter_of_three(index_t n, index_t c, index_t h, index_t w, index_t k, index_t pad,
                             index_t dil_h, index_t dil_w, index_t groups = 1) {
  conv_extents e{.n = n,
                 .c = c,
                 .h = h,
                 .w = w,
                 .k = k,
                 .r = 3,
                 .s = 3,
                 .pad_top = pad,
                 .pad_left = pad,
                 .dil_h = dil_h,
                 .dil_w = dil_w,
                 .groups = groups};
  REQUIRE(complete(e, pad, pad));
  return e;
}

template <class T> void check(const conv_extents& e) {
  each_pass(e, values<T>(x_size(e), 1), values<T>(w_size(e), 2), values<T>(y_size(e), 3),
            [](auto pass, const conv_extents& of, const exact_sums& exact, const std::vector<T>& a,
               const std::vector<T>& b) { check_pass<T, pass.value>(of, exact, a, b); });
}

} // namespace

TEST_CASE_TEMPLATE("conv: fprop, dgrad and wgrad equal the loops over strides, dilations and paddings", T,
                   TAPELESS_ELEMENTS) {
  for (index_t stride : {1, 2, 3})
    for (index_t dil : {1, 2, 3})
      for (index_t pad : {0, 1, 3})
        for (const auto& rs : {std::pair<index_t, index_t>{1, 1}, {3, 3}, {2, 5}}) {
          conv_extents e{.n = 2,
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
                         .dil_w = 4 - dil};
          for (index_t end : {0, 2})
            if (complete(e, end, 2 - end)) check<T>(e);
        }
}

TEST_CASE_TEMPLATE("conv: groups see their own channels, down to one channel each", T, TAPELESS_ELEMENTS) {
  for (const auto& ck : {std::pair<index_t, index_t>{4, 6}, {6, 6}, {2, 8}, {6, 2}, {14, 14}})
    for (index_t groups : {index_t(1), index_t(2), ck.first})
      for (index_t stride : {1, 2}) {
        if (ck.second % groups != 0) continue;
        for (index_t r : {1, 3}) {
          conv_extents e{.n = 2,
                         .c = ck.first,
                         .h = 7,
                         .w = 37,
                         .k = ck.second,
                         .r = r,
                         .s = r,
                         .stride_h = stride,
                         .stride_w = stride,
                         .pad_top = r / 2,
                         .pad_left = r / 2,
                         .groups = groups};
          REQUIRE(complete(e, r / 2, r / 2));
          check<T>(e);
        }
      }
}

TEST_CASE_TEMPLATE("conv: groups that are narrower than a vector", T, TAPELESS_ELEMENTS) {
  constexpr auto W = static_cast<index_t>(simd<T>::size);
  static_assert(has_conv_kernel(conv_pass::wgrad, conv_kernel::narrow_groups) &&
                !has_conv_kernel(conv_pass::fprop, conv_kernel::narrow_groups) &&
                !has_conv_kernel(conv_pass::dgrad, conv_kernel::narrow_groups));
  for (const index_t channels : {2, 4, 8}) // of a group
    for (const index_t pad : {0, 1, 2, 5})
      for (const index_t dil : {1, 2}) {
        const index_t c = 2 * std::max(W, channels);
        const conv_extents e = filter_of_three(3, c, 7, 9, c, pad, dil, 3 - dil, c / channels);
        CHECK(conv_kernel_takes<simd<T>>(conv_pass::wgrad, conv_kernel::narrow_groups, e) ==
              (sizeof(simd<T>) >= 32 && channels < W));
        check<T>(e);
      }
  const index_t c = std::max<index_t>(W, 4);
  check<T>(filter_of_three(11, c, 1, 2, c, 1, 1, 1, c / 2));
  check<T>(filter_of_three(1, c, 24, 150, c, 1, 1, 1, c / 4)); // lines in bands
}

TEST_CASE_TEMPLATE("conv: extents of one, filters as large as the image, outputs of padding alone", T,
                   TAPELESS_ELEMENTS) {
  check<T>({.n = 1, .c = 1, .h = 1, .w = 1, .k = 1, .r = 1, .s = 1, .p = 1, .q = 1});
  check<T>(
      {.n = 3, .c = 2, .h = 1, .w = 1, .k = 7, .r = 3, .s = 3, .p = 1, .q = 1, .pad_top = 1, .pad_left = 1});
  check<T>(
      {.n = 2, .c = 2, .h = 9, .w = 13, .k = 3, .r = 9, .s = 13, .p = 1, .q = 1}); // 117 taps: two blocks
  check<T>({.n = 1,
            .c = 1,
            .h = 12,
            .w = 10,
            .k = 1,
            .r = 9,
            .s = 9,
            .p = 12,
            .q = 10,
            .pad_top = 4,
            .pad_left = 4});
  check<T>({.n = 1,
            .c = 1,
            .h = 20,
            .w = 20,
            .k = 2,
            .r = 18,
            .s = 18,
            .p = 2,
            .q = 2,
            .stride_h = 2,
            .stride_w = 2});
  check<T>(
      {.n = 1, .c = 2, .h = 2, .w = 2, .k = 2, .r = 2, .s = 2, .p = 5, .q = 6, .pad_top = 2, .pad_left = 3});
  check<T>(
      {.n = 1, .c = 1, .h = 9, .w = 9, .k = 1, .r = 1, .s = 1, .p = 3, .q = 3, .stride_h = 3, .stride_w = 3});
}

TEST_CASE_TEMPLATE("conv: wide layers in several bands, images in several units", T, TAPELESS_ELEMENTS) {
  check<T>({.n = 2,
            .c = 16,
            .h = 40,
            .w = 61,
            .k = 20,
            .r = 3,
            .s = 3,
            .p = 40,
            .q = 61,
            .pad_top = 1,
            .pad_left = 1});
  check<T>({.n = 1,
            .c = 70,
            .h = 21,
            .w = 90,
            .k = 67,
            .r = 3,
            .s = 1,
            .p = 10,
            .q = 45,
            .stride_h = 2,
            .stride_w = 2});
  check<T>({.n = 1, .c = 230, .h = 5, .w = 33, .k = 8, .r = 1, .s = 1, .p = 5, .q = 33});
  check<T>({.n = 1, .c = 8, .h = 5, .w = 33, .k = 230, .r = 1, .s = 1, .p = 5, .q = 33});
  check<T>({.n = 37,
            .c = 3,
            .h = 3,
            .w = 3,
            .k = 4,
            .r = 3,
            .s = 3,
            .p = 2,
            .q = 2,
            .stride_h = 2,
            .stride_w = 2,
            .pad_top = 1,
            .pad_left = 1});
  // weights in several panels
  check<T>({.n = 1,
            .c = 520,
            .h = 3,
            .w = 3,
            .k = 13,
            .r = 3,
            .s = 3,
            .p = 3,
            .q = 3,
            .pad_top = 1,
            .pad_left = 1});
}

TEST_CASE_TEMPLATE("conv: a dilated filter with as many taps as the image has elements", T,
                   TAPELESS_ELEMENTS) {
  check<T>({.n = 2,
            .c = 2,
            .h = 3,
            .w = 3,
            .k = 3,
            .r = 3,
            .s = 3,
            .p = 1,
            .q = 1,
            .dil_h = 2,
            .dil_w = 2}); // padding at the bottom and on the right
  check<T>({.n = 3, .c = 4, .h = 1, .w = 5, .k = 9, .r = 1, .s = 5, .p = 1, .q = 1, .dil_h = 3});
}

TEST_CASE_TEMPLATE("conv: images in bands, rows of more than 512 columns", T, TAPELESS_ELEMENTS) {
  check<T>({.n = 2,
            .c = 2,
            .h = 260,
            .w = 300,
            .k = 4,
            .r = 3,
            .s = 3,
            .p = 260,
            .q = 300,
            .pad_top = 1,
            .pad_left = 1,
            .groups = 2});
  check<T>({.n = 1, .c = 3, .h = 1, .w = 600, .k = 9, .r = 1, .s = 3, .p = 1, .q = 598});
}

TEST_CASE_TEMPLATE("conv: 1 x 1, few or many channels and filters, images in one piece and several", T,
                   TAPELESS_ELEMENTS) {
  for (const auto& ck :
       {std::pair<index_t, index_t>{1, 20}, {20, 1}, {2, 2}, {70, 4}, {14, 64}, {40, 45}, {90, 34}})
    for (const auto& hw : {std::pair<index_t, index_t>{7, 9}, {25, 41}, {30, 70}})
      for (const index_t groups : {1, 2}) {
        conv_extents e{.n = hw.first == 30 ? 1 : 3,
                       .c = ck.first * groups,
                       .h = hw.first,
                       .w = hw.second,
                       .k = ck.second * groups,
                       .r = 1,
                       .s = 1,
                       .groups = groups};
        REQUIRE(complete(e, 0, 0));
        check<T>(e);
      }
}

TEST_CASE_TEMPLATE("conv: an empty batch has no output and a zero weight gradient", T, TAPELESS_ELEMENTS) {
  check<T>({.n = 0, .c = 3, .h = 5, .w = 5, .k = 2, .r = 3, .s = 3, .p = 3, .q = 3});
  check<T>({.n = 0, .c = 3, .h = 5, .w = 5, .k = 2, .r = 1, .s = 1, .p = 5, .q = 5});
}

TEST_CASE_TEMPLATE("conv: depthwise with dilated, wide and even filters, more channels than lanes", T,
                   TAPELESS_ELEMENTS) {
  for (const index_t c : {3, 19, 32})
    for (const index_t stride : {1, 2, 3})
      for (const auto& rs : {std::pair<index_t, index_t>{3, 3}, {5, 2}, {4, 5}})
        for (const index_t dil : {1, 2}) {
          conv_extents e{.n = 2,
                         .c = c,
                         .h = 9,
                         .w = 15,
                         .k = c,
                         .r = rs.first,
                         .s = rs.second,
                         .stride_h = stride,
                         .stride_w = stride,
                         .pad_top = dil,
                         .pad_left = 1,
                         .dil_h = dil,
                         .dil_w = 3 - dil,
                         .groups = c};
          REQUIRE(complete(e, 1, 2));
          check<T>(e);
        }
}

TEST_CASE_TEMPLATE("conv: depthwise 3 x 3 of neighbours, about the ends of blocks of rows and of vectors", T,
                   TAPELESS_ELEMENTS) {
  for (const index_t h : {1, 2, 7, 8, 9, 17})
    for (const index_t w : {1, 3, 15, 16, 17, 31, 32, 33, 48, 65})
      for (const index_t stride_h : {1, 2})
        for (const index_t pad : {0, 1, 2}) {
          conv_extents e{.n = 3,
                         .c = 2,
                         .h = h,
                         .w = w,
                         .k = w == 17 || w == 32 ? 4 : 2,
                         .r = 3,
                         .s = 3,
                         .stride_h = stride_h,
                         .pad_top = pad,
                         .pad_left = pad,
                         .dil_h = stride_h,
                         .groups = 2};
          if (complete(e, pad, pad)) check<T>(e);
        }
}

TEST_CASE_TEMPLATE("conv: lines of results that are no multiple of the lanes, one band and several", T,
                   TAPELESS_ELEMENTS) {
  for (const index_t w : {2, 7, 17, 26, 33})
    for (const index_t pad : {0, 1, 2}) {
      conv_extents e{.n = 2,
                     .c = w == 26 ? 20 : 3,
                     .h = w == 26 ? 41 : 5,
                     .w = w,
                     .k = 18,
                     .r = 3,
                     .s = pad == 2 ? 5 : 3,
                     .pad_top = 1,
                     .pad_left = pad};
      if (complete(e, pad, 1)) check<T>(e);
    }
}

TEST_CASE_TEMPLATE("conv: more channels than one panel of weights holds, images in several bands", T,
                   TAPELESS_ELEMENTS) {
  check<T>({.n = 1,
            .c = 900,
            .h = 3,
            .w = 4,
            .k = 18,
            .r = 1,
            .s = 1,
            .p = 2,
            .q = 2,
            .stride_h = 2,
            .stride_w = 2});
  check<T>({.n = 1,
            .c = 18,
            .h = 4,
            .w = 4,
            .k = 900,
            .r = 1,
            .s = 1,
            .p = 2,
            .q = 2,
            .stride_h = 2,
            .stride_w = 2});
  check<T>({.n = 9,
            .c = 40,
            .h = 9,
            .w = 8,
            .k = 40,
            .r = 3,
            .s = 3,
            .p = 9,
            .q = 8,
            .pad_top = 1,
            .pad_left = 1});
}

TEST_CASE_TEMPLATE(
    "conv: minimal filtering of several images, bands and blocks of tiles, straight to y and by lines", T,
    TAPELESS_ELEMENTS) {
  const auto padded = [](index_t n, index_t c, index_t h, index_t w, index_t k, index_t dil, index_t groups) {
    return filter_of_three(n, c, h, w, k, dil, dil, dil, groups);
  };
  check<T>(padded(5, 4, 6, 6, 7, 1, 1));      // images that share vectors, and one more
  check<T>(padded(3, 6, 19, 4, 14, 2, 2));    // the same, dilated
  check<T>(padded(0, 6, 19, 4, 14, 2, 2));    // none
  check<T>(padded(1, 5, 12, 64, 8, 1, 1));    // rows of whole vectors
  check<T>(padded(2, 3, 11, 32, 5, 1, 1));    // of an odd height
  check<T>(padded(1, 80, 24, 64, 13, 1, 1));  // bands
  check<T>(padded(1, 130, 12, 12, 13, 1, 1)); // blocks of tiles that all filters meet
}

TEST_CASE_TEMPLATE("conv: windows trimmed to small images, in several chunks of images and panels of filters",
                   T, TAPELESS_ELEMENTS) {
  for (const index_t stride : {1, 2})
    for (const index_t pad : {1, 2, 4}) {
      const auto out = [=](index_t extent) { return (extent + 2 * pad - 3) / stride + 1; };
      check<T>({.n = 67,
                .c = 5,
                .h = 4,
                .w = 3,
                .k = 32,
                .r = 3,
                .s = 3,
                .p = out(4),
                .q = out(3),
                .stride_h = stride,
                .stride_w = stride,
                .pad_top = pad,
                .pad_left = pad});
      check<T>({.n = 2,
                .c = 9,
                .h = 1,
                .w = 300,
                .k = 96,
                .r = 3,
                .s = 3,
                .p = out(1),
                .q = out(300),
                .stride_h = stride,
                .stride_w = stride,
                .pad_top = pad,
                .pad_left = pad});
    }
  // one image: a team takes bands of it
  check<T>({.n = 1,
            .c = 8,
            .h = 24,
            .w = 24,
            .k = 32,
            .r = 5,
            .s = 5,
            .p = 24,
            .q = 24,
            .pad_top = 2,
            .pad_left = 2});
  constexpr conv_extents tiny{.c = 32,
                              .h = 5,
                              .w = 5,
                              .k = 32,
                              .r = 3,
                              .s = 3,
                              .p = 3,
                              .q = 3,
                              .stride_h = 2,
                              .stride_w = 2,
                              .pad_top = 1,
                              .pad_left = 1};
  constexpr auto trimmed = conv_kernel::nhwc_trimmed;
  static_assert(conv_kernel_of<simd<T>>(conv_pass::fprop, in_nhwc(tiny)) == trimmed);
  static_assert(conv_kernel_of<simd<T>>(conv_pass::dgrad, in_nhwc(tiny)) == trimmed);
  static_assert(conv_kernel_of<simd<T>>(conv_pass::wgrad, in_nhwc(tiny)) == trimmed);
}

TEST_CASE("conv: images narrower than vectors are transposed to NHWC in the cache") {
  constexpr conv_extents narrow{.c = 32,
                                .h = 32,
                                .w = 32,
                                .k = 32,
                                .r = 3,
                                .s = 3,
                                .p = 16,
                                .q = 16,
                                .stride_h = 2,
                                .stride_w = 2,
                                .pad_top = 1,
                                .pad_left = 1};
  constexpr auto tiny = [](conv_extents e) {
    e.h = e.w = 8, e.p = e.q = 4;
    return e;
  }(narrow);
  constexpr auto goes_via_nhwc = [](conv_pass p, conv_extents e, auto lane) {
    return conv_kernel_of<simd<decltype(lane)>>(p, e) == conv_kernel::via_nhwc;
  };
  constexpr auto with_groups = [](conv_extents e) {
    e.groups = 2;
    return e;
  };
  constexpr auto larger = [](conv_extents e) {
    e.c = 256, e.k = 256;
    return e;
  };
  for (const conv_pass p : {conv_pass::fprop, conv_pass::dgrad, conv_pass::wgrad}) {
    const bool as_wide_as_a_vector = sizeof(simd<float>) == 64;
    CHECK(goes_via_nhwc(p, narrow, 0.f) ==
          (as_wide_as_a_vector || (p == conv_pass::dgrad && sizeof(simd<float>) == 32)));
    CHECK(goes_via_nhwc(p, tiny, 0.f) == (sizeof(simd<float>) >= 32));
    CHECK(!goes_via_nhwc(p, with_groups(narrow), 0.f));
    CHECK(!goes_via_nhwc(p, larger(narrow), 0.f)); // images that leave the cache
    CHECK(!goes_via_nhwc(p, in_nhwc(narrow), 0.f));
  }
}

TEST_CASE("conv: wgrad of every kernel may be told which images there are") {
  using V = simd<float>;
  const conv_extents e{
      .c = 24, .h = 16, .w = 16, .k = 32, .r = 3, .s = 3, .p = 16, .q = 16, .pad_top = 1, .pad_left = 1};
  for (const conv_kernel k :
       {conv_kernel::direct, conv_kernel::indirect, conv_kernel::depthwise, conv_kernel::winograd,
        conv_kernel::winograd4, conv_kernel::narrow_groups, conv_kernel::via_nhwc})
    CHECK(conv2d_reads_lists<V>(k, e));
  for (const conv_kernel k : {conv_kernel::nhwc_direct, conv_kernel::nhwc_winograd,
                              conv_kernel::nhwc_depthwise, conv_kernel::nhwc_trimmed})
    CHECK(conv2d_reads_lists<V>(k, in_nhwc(e)));
  CHECK(conv2d_reads_lists<V>(conv_kernel::pointwise, {.c = 8, .h = 4, .w = 4, .k = 8, .p = 4, .q = 4}));
  CHECK(conv2d_reads_lists<V>(conv_kernel::dense, {.c = 8, .h = 3, .w = 3, .k = 5, .r = 3, .s = 3}));
  // pixels are the rows of a product; several small images are read together
  CHECK(!conv2d_reads_lists<V>(conv_kernel::nhwc_pointwise,
                               in_nhwc({.c = 8, .h = 4, .w = 4, .k = 8, .p = 4, .q = 4})));
  CHECK(!conv2d_reads_lists<V>(
      conv_kernel::nhwc_trimmed,
      {.c = 8, .h = 3, .w = 3, .k = 8, .r = 3, .s = 3, .p = 3, .q = 3, .pad_top = 1, .pad_left = 1}));
}

TEST_CASE("conv: wgrad of 1 x 1 is a product of each image where that has pixels and channels enough") {
  constexpr auto is_product = [](index_t c, index_t k, index_t side, index_t groups = 1) {
    const conv_extents e{
        .c = c, .h = side, .w = side, .k = k, .r = 1, .s = 1, .p = side, .q = side, .groups = groups};
    return conv_kernel_of<simd<float>>(conv_pass::wgrad, e) == conv_kernel::pointwise;
  };
  static_assert(is_product(64, 256, 56) && is_product(512, 2048, 7) && is_product(128, 128, 14, 2));
  static_assert(!is_product(512, 2048, 6)); // batches of small images: several at a time
  static_assert(is_product(64, 2, 20) && is_product(3, 64, 20));
  static_assert(is_product(24, 16, 100) && !is_product(24, 16, 50));
  static_assert(!is_product(33, 33, 50) || simd<float>::size < 16); // empty lanes
}

TEST_CASE("conv: scratch does not depend on the batch") {
  constexpr conv_extents one{.n = 1, .c = 8, .h = 28, .w = 28, .k = 32, .r = 3, .s = 3, .p = 26, .q = 26};
  constexpr conv_extents many{.n = 999, .c = 8, .h = 28, .w = 28, .k = 32, .r = 3, .s = 3, .p = 26, .q = 26};
  constexpr auto equals = [=]<conv_pass P>(std::integral_constant<conv_pass, P>) {
    for (const conv_kernel k :
         {conv_kernel::direct, conv_kernel::indirect, conv_kernel::dense, conv_kernel::depthwise,
          conv_kernel::winograd, conv_kernel::winograd4, conv_kernel::pointwise, conv_kernel::narrow_groups,
          conv_kernel::via_nhwc, conv_kernel::nhwc_direct, conv_kernel::nhwc_trimmed,
          conv_kernel::nhwc_winograd, conv_kernel::nhwc_depthwise, conv_kernel::nhwc_pointwise})
      if (conv2d_scratch<P, simd<float>>(k, one) != conv2d_scratch<P, simd<float>>(k, many)) return false;
    return conv_kernel_of<simd<float>>(P, one) == conv_kernel_of<simd<float>>(P, many);
  };
  static_assert(equals(std::integral_constant<conv_pass, conv_pass::fprop>{}));
  static_assert(equals(std::integral_constant<conv_pass, conv_pass::dgrad>{}));
  static_assert(equals(std::integral_constant<conv_pass, conv_pass::wgrad>{}));
}

TEST_CASE_TEMPLATE(
    "conv: 3x3 with several images a chunk, filters in blocks, more padding than the filter reaches", T,
    TAPELESS_ELEMENTS) {
  const auto check_filter = [](index_t n, index_t c, index_t extent, index_t k, index_t pad, index_t dil_h,
                               index_t dil_w) {
    check<T>(filter_of_three(n, c, extent, extent, k, pad, dil_h, dil_w));
  };
  check_filter(11, 3, 5, 4, 1, 1, 1);
  check_filter(1, 2, 9, 70, 1, 1, 1);
  check_filter(2, 2, 9, 3, 3, 1, 1);
  check_filter(2, 2, 9, 3, 5, 1, 2);
  check_filter(1, 3, 12, 2, 1, 3, 1);
  check_filter(3, 9, 7, 17, 0, 2, 3);
}

TEST_CASE("conv: minimal filtering is taken where it pays, and only as far as it is asked for") {
  constexpr auto chosen = []<conv_pass P>(std::integral_constant<conv_pass, P>, conv_extents e, auto lane) {
    return conv_kernel_of<simd<decltype(lane)>>(P, e);
  };
  constexpr conv_extents e{
      .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3, .p = 56, .q = 56, .pad_top = 1, .pad_left = 1};
  constexpr auto all_are = [=](conv_kernel k, conv_extents x, auto lane) {
    return chosen(std::integral_constant<conv_pass, conv_pass::fprop>{}, x, lane) == k &&
           chosen(std::integral_constant<conv_pass, conv_pass::dgrad>{}, x, lane) == k &&
           chosen(std::integral_constant<conv_pass, conv_pass::wgrad>{}, x, lane) == k;
  };
  constexpr auto with = [](conv_extents x, index_t tile) {
    x.winograd = tile;
    return x;
  };
  static_assert(all_are(conv_kernel::winograd, e, 0.0f) && all_are(conv_kernel::winograd, e, 0.0));
  static_assert(all_are(conv_kernel::winograd4, with(e, 4), 0.0f));
  static_assert(!all_are(conv_kernel::winograd, with(e, 0), 0.0f));
  // those of tests/laws/conv.cpp
  constexpr conv_extents laws{
      .c = 40, .h = 8, .w = 9, .k = 40, .r = 3, .s = 3, .p = 8, .q = 9, .pad_top = 1, .pad_left = 1};
  static_assert(all_are(conv_kernel::winograd, laws, 0.0));
  // NHWC, and those of tests/laws/nhwc.hpp
  static_assert(all_are(conv_kernel::nhwc_winograd, in_nhwc(e), 0.0f));
  static_assert(!all_are(conv_kernel::nhwc_winograd, in_nhwc(with(e, 0)), 0.0f));
  static_assert(all_are(conv_kernel::nhwc_winograd, in_nhwc(laws), 0.0));
  constexpr conv_extents dilated{.c = 40,
                                 .h = 8,
                                 .w = 9,
                                 .k = 40,
                                 .r = 3,
                                 .s = 3,
                                 .p = 8,
                                 .q = 9,
                                 .pad_top = 2,
                                 .pad_left = 2,
                                 .dil_h = 2,
                                 .dil_w = 2};
  static_assert(all_are(conv_kernel::nhwc_winograd, in_nhwc(dilated), 0.0));
  constexpr conv_extents tiles{.c = 24,
                               .h = 20,
                               .w = 21,
                               .k = 25,
                               .r = 3,
                               .s = 3,
                               .p = 20,
                               .q = 21,
                               .pad_top = 1,
                               .pad_left = 1,
                               .winograd = 4};
  static_assert(width<double> > 4 || all_are(conv_kernel::winograd4, tiles, 0.0));
}
