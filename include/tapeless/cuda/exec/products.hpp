// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Products and convolutions by kernels: on the emulated device, and where the libraries of a device have none.
#pragma once
#include <type_traits>
#include "../../core/bf16.hpp"
#include "../../core/geometry.hpp"
#include "../base/block.hpp"
#include "../kernels/conv.hpp"
#include "../kernels/matmul.hpp"
#include "launch.hpp"

namespace tapeless::cuda {

template <class T, class X, class Device>
void multiply(const Device& device, const matmul_extents& e, const X* a, const X* b, T* c) {
  const count_t items =
      device.lists() ? 0 : counted(e.batch * e.m * e.n); // a library may do what a launch cannot count
  device.launch(matmul_kernel<T, X>{a, b, c, items, e}, items);
}
// What a library's convolution of X may launch around its own kernels, see libs/cudnn_conv.hpp.
template <class X, class Device> void list_moves(const Device& device) {
  if constexpr (std::is_same_v<X, bf16>) {
    device.launch(widen_kernel{}, 0);
    device.launch(turn_kernel<bf16>{}, 0);
    device.launch(turn_kernel<float>{}, 0);
  }
}
template <conv_pass Pass, class T, class X, class Device>
void convolve(const Device& device, const conv_extents& e, const X* first, const X* second, T* result) {
  using kernel = conv_kernel<Pass, T, X>;
  const count_t items = device.lists() ? 0 : counted(results_of(Pass, e));
  device.launch(kernel{{first, second, result, items, e}}, items, kernel::lanes);
}

} // namespace tapeless::cuda
