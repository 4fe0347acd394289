// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The attributes that convolution and pooling share, and the arithmetic of sliding windows.
//   extent of the output = floor((extent + before + after - (taps - 1) * dilation - 1) / stride) + 1
#pragma once
#include <limits>
#include "shape.hpp"

namespace tapeless {

// (height, width); one number is used for both.
struct pair2 {
  int h = 1, w = 1;
  constexpr pair2(int both) : h(both), w(both) {}
  constexpr pair2(int height, int width) : h(height), w(width) {}
  friend constexpr bool operator==(const pair2&, const pair2&) = default;
};

// The padding that makes the output's extent ceil(extent / stride); if it is odd, the larger half is at the end.
struct same_padding {
  static constexpr int number = std::numeric_limits<int>::min(); // placeholder until it is resolved
};
inline constexpr same_padding same;

// Zeros around an image. One number is used for all sides, two for (top and bottom, left and right).
struct padding2 {
  int top = 0, bottom = 0, left = 0, right = 0;
  constexpr padding2(int all) : top(all), bottom(all), left(all), right(all) {}
  constexpr padding2(int height, int width) : top(height), bottom(height), left(width), right(width) {}
  constexpr padding2(int t, int b, int l, int r) : top(t), bottom(b), left(l), right(r) {}
  constexpr padding2(same_padding) : padding2(same_padding::number) {}
  friend constexpr bool operator==(const padding2&, const padding2&) = default;
};

// The axes of an image: (N, C, H, W) or (N, H, W, C). Weights are (K, C/groups, R, S) in both. How a plan stores images
// between its steps is another matter: see assign_layouts.hpp.
enum class layout : std::uint8_t { nchw, nhwc };

namespace detail {

struct window_attributes {
  pair2 stride{1};
  padding2 padding{0};
  pair2 dilation{1};
};

constexpr bool in_byte(int x) { return x >= 0 && x < 256; }
constexpr bool in_byte(const padding2& p) {
  return in_byte(p.top) && in_byte(p.bottom) && in_byte(p.left) && in_byte(p.right);
}
constexpr bool positive_byte(const pair2& x) { return x.h >= 1 && x.w >= 1 && in_byte(x.h) && in_byte(x.w); }
// As the user gives them: `same` is not a number yet.
constexpr bool valid(const window_attributes& a) {
  return positive_byte(a.stride) && positive_byte(a.dilation) &&
         (a.padding == padding2(same) || in_byte(a.padding));
}
// one byte each     @pre valid(a), and a is resolved
constexpr std::uint64_t pack(const window_attributes& a) {
  const int v[] = {a.stride.h,     a.stride.w,      a.padding.top, a.padding.bottom,
                   a.padding.left, a.padding.right, a.dilation.h,  a.dilation.w};
  std::uint64_t r = 0;
  for (int i = 0; i < 8; ++i) r |= static_cast<std::uint64_t>(v[i] & 255) << (8 * i);
  return r;
}
constexpr window_attributes unpack(std::uint64_t p) {
  const auto at = [p](int i) { return static_cast<int>((p >> (8 * i)) & 255); };
  return {pair2{at(0), at(1)}, padding2{at(2), at(3), at(4), at(5)}, pair2{at(6), at(7)}};
}

// In the options of a convolution or pool: its images are NHWC. Only the planner sets it, see assign_layouts.hpp.
inline constexpr std::uint64_t nhwc_bit = std::uint64_t{1} << 40;
constexpr bool is_nhwc(std::uint64_t options) { return (options & nhwc_bit) != 0; }
inline constexpr std::uint64_t to_nhwc = 0x1320, to_nchw = 0x2130; // for transpose
// an image of a node with these options as (N, C, H, W)
constexpr shape image_of(const shape& s, std::uint64_t options) {
  return is_nhwc(options) ? permuted(s, to_nchw) : s;
}

constexpr extent_t spread(int taps, int dilation) { return extent_t{taps - 1} * dilation + 1; }
constexpr extent_t window_count(extent_t n, int before, int after, int taps, int dilation, int stride) {
  const extent_t room = n + before + after - spread(taps, dilation);
  return room < 0 ? 0 : room / stride + 1;
}
// `same` replaced by numbers; they may be too large for pack
constexpr window_attributes resolved(window_attributes a, extent_t h, extent_t w, int r, int s) {
  if (a.padding != padding2(same)) return a;
  const auto total = [](extent_t n, int stride, extent_t span) {
    const extent_t t = ((n + stride - 1) / stride - 1) * stride + span - n;
    return static_cast<int>(t > 0 ? t : 0);
  };
  const int v = total(h, a.stride.h, spread(r, a.dilation.h)),
            u = total(w, a.stride.w, spread(s, a.dilation.w));
  a.padding = padding2{v / 2, v - v / 2, u / 2, u - u / 2};
  return a;
}
// sum over output positions of the taps that meet the image, not its padding
constexpr double taps_inside(extent_t n, extent_t out, int before, int taps, int dilation, int stride) {
  double sum = 0;
  for (extent_t p = 0; p < out; ++p)
    for (int t = 0; t < taps; ++t) {
      const extent_t at = p * stride - before + extent_t{t} * dilation;
      sum += at >= 0 && at < n ? 1 : 0;
    }
  return sum;
}

template <extent_t H, extent_t W>
concept image_extents_static = is_static(H) && is_static(W) && H >= 1 && W >= 1;
template <extent_t Padded, extent_t Kernel>
concept kernel_fits = Kernel <= Padded;
template <window_attributes Resolved>
concept padding_of_same_fits = in_byte(Resolved.padding);
template <int Rank>
concept has_four_axes = Rank == 4;

} // namespace detail
} // namespace tapeless
