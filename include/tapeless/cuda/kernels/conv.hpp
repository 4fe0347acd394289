// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Convolution, see conv_extents: a thread an element of the result, which goes over its products. For the emulated device, and
// where the library of convolutions cannot.
#pragma once
#include "../../core/bf16.hpp"
#include "../../core/geometry.hpp"
#include "../base/block.hpp"

namespace tapeless::cuda {

// The three forms of convolution, and the operands of each:
//   fprop  y of x, w     dgrad  x_bar of y_bar, w     wgrad  w_bar of x, y_bar
enum class conv_pass : std::uint8_t { fprop, dgrad, wgrad };
constexpr index_t results_of(conv_pass pass, const conv_extents& e) {
  return pass == conv_pass::fprop   ? e.n * e.k * e.p * e.q
         : pass == conv_pass::dgrad ? e.n * e.c * e.h * e.w
                                    : e.k * (e.c / e.groups) * e.r * e.s;
}

// The index of a row of the output that sees row "at" of the input by tap r; -1: none.
TAPELESS_KERNEL index_t seen_by(index_t at, index_t r, index_t dil, index_t pad, index_t stride,
                                index_t outputs) {
  const index_t from = at + pad - r * dil;
  // divided in 32 bits: a launch counts elements in these, and most_counted leaves room for the padding
  const count_t i = static_cast<count_t>(from) / static_cast<count_t>(stride);
  return from >= 0 && i * stride == from && i < outputs ? index_t{i} : -1;
}

// Strides of images: NCHW, or NHWC.
struct image_strides {
  index_t n, c, h, w;
  TAPELESS_KERNEL image_strides(bool nhwc, index_t channels, index_t height, index_t width)
      : n(channels * height * width),
        c(nhwc ? 1 : height * width),
        h(nhwc ? width * channels : width),
        w(nhwc ? channels : 1) {}
};

template <class T, class X> struct conv_kernel_base {
  static constexpr int lanes = 1;
  const X *first, *second; // operands of the step
  T* result;
  count_t items;
  conv_extents extents;
};
// y[n, k, p, q]
template <class T, class X> struct conv_fprop_kernel : conv_kernel_base<T, X> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->items, [this](count_t at) {
      const conv_extents& e = this->extents;
      const image_strides x(e.nhwc, e.c, e.h, e.w), y(e.nhwc, e.k, e.p, e.q);
      const index_t j = at % e.q, i = at / e.q % e.p, k = at / e.q / e.p % e.k, n = at / e.q / e.p / e.k,
                    channels = e.c / e.groups, first_channel = k / (e.k / e.groups) * channels;
      T sum(0);
      for (index_t c = 0; c < channels; ++c) {
        T part(0);
        for (index_t r = 0; r < e.r; ++r)
          for (index_t s = 0; s < e.s; ++s) {
            const index_t h = i * e.stride_h - e.pad_top + r * e.dil_h,
                          w = j * e.stride_w - e.pad_left + s * e.dil_w;
            if (h >= 0 && h < e.h && w >= 0 && w < e.w)
              part += static_cast<T>(this->first[n * x.n + (first_channel + c) * x.c + h * x.h + w * x.w]) *
                      static_cast<T>(this->second[((k * channels + c) * e.r + r) * e.s + s]);
          }
        sum += part;
      }
      this->result[n * y.n + k * y.c + i * y.h + j * y.w] = sum;
    });
  }
};
// x_bar[n, c, h, w], of y_bar and the weights
template <class T, class X> struct conv_dgrad_kernel : conv_kernel_base<T, X> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(this->items, [this](count_t at) {
      const conv_extents& e = this->extents;
      const image_strides x(e.nhwc, e.c, e.h, e.w), y(e.nhwc, e.k, e.p, e.q);
      const index_t w = at % e.w, h = at / e.w % e.h, c = at / e.w / e.h % e.c, n = at / e.w / e.h / e.c,
                    channels = e.c / e.groups, filters = e.k / e.groups,
                    first_filter = c / channels * filters;
      T sum(0);
      for (index_t k = first_filter; k < first_filter + filters; ++k) {
        T part(0);
        for (index_t r = 0; r < e.r; ++r)
          for (index_t s = 0; s < e.s; ++s) {
            const index_t i = seen_by(h, r, e.dil_h, e.pad_top, e.stride_h, e.p),
                          j = seen_by(w, s, e.dil_w, e.pad_left, e.stride_w, e.q);
            if (i >= 0 && j >= 0)
              part += static_cast<T>(this->first[n * y.n + k * y.c + i * y.h + j * y.w]) *
                      static_cast<T>(this->second[((k * channels + c % channels) * e.r + r) * e.s + s]);
          }
        sum += part;
      }
      this->result[n * x.n + c * x.c + h * x.h + w * x.w] = sum;
    });
  }
};
// w_bar[k, c, r, s], of x and y_bar: a warp an element
template <class T, class X> struct conv_wgrad_kernel : conv_kernel_base<T, X> {
  static constexpr int lanes = 32;
  struct sum_of_lane {
    T x[1];
  };
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.template groups<32, sum_of_lane>(
        this->items, [this](count_t at, count_t lane) { return of_lane(at, lane); },
        [](sum_of_lane& a, const sum_of_lane& b) { a.x[0] += b.x[0]; },
        [this](count_t at, const sum_of_lane& sum) { this->result[at] = sum.x[0]; });
  }

private:
  TAPELESS_KERNEL sum_of_lane of_lane(count_t at, count_t lane) const {
    const conv_extents& e = this->extents;
    const image_strides x(e.nhwc, e.c, e.h, e.w), y(e.nhwc, e.k, e.p, e.q);
    const index_t channels = e.c / e.groups, s = at % e.s, r = at / e.s % e.r, c = at / e.s / e.r % channels,
                  k = at / e.s / e.r / channels, of_x = k / (e.k / e.groups) * channels + c;
    T sum(0);
    for (index_t n = 0; n < e.n; ++n)
      for (index_t i = 0; i < e.p; ++i) {
        const index_t h = i * e.stride_h - e.pad_top + r * e.dil_h;
        if (h < 0 || h >= e.h) continue;
        T part(0);
        for (index_t j = lane; j < e.q; j += 32) {
          const index_t w = j * e.stride_w - e.pad_left + s * e.dil_w;
          if (w >= 0 && w < e.w)
            part += static_cast<T>(this->first[n * x.n + of_x * x.c + h * x.h + w * x.w]) *
                    static_cast<T>(this->second[n * y.n + k * y.c + i * y.h + j * y.w]);
        }
        sum += part;
      }
    return {{sum}};
  }
};

// y = x
struct widen_kernel {
  const bf16* x;
  float* y;
  count_t items;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t at) { y[at] = static_cast<float>(x[at]); });
  }
};

// y[o, j, i] = x[o, i, j]                            x: (outer, n, m)
// Planes become channels last, and the other way round. A thread moves `run` elements: neighbours read side by side, and what a
// thread writes is side by side.
template <class T> struct turn_kernel {
  static constexpr count_t run = 8;
  const T* x;
  T* y;
  count_t items, n, m; // items: outer * runs(n) * m
  static constexpr index_t runs(index_t n) { return (n + run - 1) / run; }
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(items, [this](count_t at) {
      const count_t of_image = (n + run - 1) / run, j = at % m, first = at / m % of_image * run;
      const index_t image = index_t{at / m / of_image} * n * m;
      TAPELESS_UNROLL
      for (count_t k = 0; k < run; ++k)
        if (first + k < n) y[image + index_t{j} * n + first + k] = x[image + index_t{first + k} * m + j];
    });
  }
};

template <conv_pass> struct conv_kernel_of;
template <> struct conv_kernel_of<conv_pass::fprop> {
  template <class T, class X> using type = conv_fprop_kernel<T, X>;
};
template <> struct conv_kernel_of<conv_pass::dgrad> {
  template <class T, class X> using type = conv_dgrad_kernel<T, X>;
};
template <> struct conv_kernel_of<conv_pass::wgrad> {
  template <class T, class X> using type = conv_wgrad_kernel<T, X>;
};
template <conv_pass Pass, class T, class X> using conv_kernel =
    typename conv_kernel_of<Pass>::template type<T, X>;

} // namespace tapeless::cuda
