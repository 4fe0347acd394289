// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The kernels that are chosen for some layers of float, on machines with vectors of 64 and of 32 bytes.
#include <tapeless/cpu/conv/conv.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

using namespace tapeless::cpu;
using tapeless::conv_extents;

// The rules read the size of a vector and nothing else of it.
template <std::size_t Bytes> struct floats {
  using value_type = float;
  static constexpr std::size_t size = Bytes / sizeof(float);
  alignas(Bytes) float lanes[size];
};
using avx512 = floats<64>;
using avx2 = floats<32>;

std::string name_of(conv_kernel k) {
  using enum conv_kernel;
  switch (k) {
    case direct: return "direct";
    case indirect: return "indirect";
    case depthwise: return "depthwise";
    case winograd: return "winograd";
    case winograd4: return "winograd4";
    case pointwise: return "pointwise";
    case narrow_groups: return "narrow_groups";
    case via_nhwc: return "via_nhwc";
    case nhwc_direct: return "nhwc_direct";
    case nhwc_trimmed: return "nhwc_trimmed";
    case nhwc_winograd: return "nhwc_winograd";
    case nhwc_depthwise: return "nhwc_depthwise";
    default: return "dense";
  }
}

struct layer {
  index_t channels, columns, filter = 3, stride = 1, dilation = 1, groups = 1; // as many filters as channels
  constexpr conv_extents extents(bool nhwc) const {
    const index_t pad = dilation * (filter - 1) / 2, results = (columns - 1) / stride + 1;
    return {.c = channels, .h = columns, .w = columns, .k = channels, .r = filter, .s = filter, .p = results,
            .q = results, .stride_h = stride, .stride_w = stride, .pad_top = pad, .pad_left = pad,
            .dil_h = dilation, .dil_w = dilation, .groups = groups, .nhwc = nhwc};
  }
};

template <class V> std::string kernels_of(const layer& l, bool nhwc) {
  const auto of = [&](conv_pass p) { return name_of(conv_kernel_of<V>(p, l.extents(nhwc))); };
  const std::string fprop = of(conv_pass::fprop), dgrad = of(conv_pass::dgrad), wgrad = of(conv_pass::wgrad);
  return fprop == dgrad && dgrad == wgrad ? fprop : fprop + ", " + dgrad + ", " + wgrad;
}

template <class V> int fewest_channels(conv_pass p, const layer& l) {
  for (int channels = 1; channels <= 64; ++channels) {
    const conv_extents e = layer{channels, l.columns, 3, 1, l.dilation}.extents(false);
    if (conv_kernel_of<V>(p, e) == conv_kernel::winograd) return channels;
  }
  return 0;
}

int main() {
  constexpr struct {
    const char* name;
    layer l;
  } layers[] = {
      {"32 channels, 32 x 32", {32, 32}},
      {"  stride 2", {32, 32, 3, 2}},
      {"  dilation 2", {32, 32, 3, 1, 2}},
      {"  4 groups", {32, 32, 3, 1, 1, 4}},
      {"  32 groups", {32, 32, 3, 1, 1, 32}},
      {"  filters of 1 x 1", {32, 32, 1}},
      {"64 channels, 7 x 7", {64, 7}},
      {"512 channels, 7 x 7", {512, 7}},
  };
  for (const bool nhwc : {false, true}) {
    std::printf("%-23s %-40s %s\n", nhwc ? "NHWC" : "NCHW", "AVX-512", "AVX2");
    for (const auto& [name, l] : layers)
      std::printf("%-23s %-40s %s\n", name, kernels_of<avx512>(l, nhwc).c_str(), kernels_of<avx2>(l, nhwc).c_str());
    std::printf("\n");
  }

  std::printf("`winograd` from so many channels on (0: not up to 64)\n%-23s %-18s %s\n%-23s %-8s %-9s %-8s %s\n", "",
              "dilation 1", "dilation 2", "columns", "AVX-512", "AVX2", "AVX-512", "AVX2");
  for (const conv_pass p : {conv_pass::fprop, conv_pass::wgrad})
    for (const index_t columns : {14, 28, 56, 112}) {
      const layer plain{.channels = 1, .columns = columns}, dilated{.channels = 1, .columns = columns, .dilation = 2};
      std::printf("%-5s %3d %13s %7d %5d %11d %6d\n", p == conv_pass::fprop ? "fprop" : "wgrad",
                  static_cast<int>(columns), "", fewest_channels<avx512>(p, plain), fewest_channels<avx2>(p, plain),
                  fewest_channels<avx512>(p, dilated), fewest_channels<avx2>(p, dilated));
    }
}
