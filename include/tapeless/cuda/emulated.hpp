// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// emulated_device: runs the kernels on the host, a block and a thread after another, to test them where no device is.
#pragma once
#include "../core/extent.hpp"
#include "../core/geometry.hpp"
#include "exec/products.hpp"
#include "base/block.hpp"
#include "kernels/conv.hpp"

namespace tapeless::cuda {

// What a custom op of tensors gets for a stream: what is put on it has run when it is there.
struct emulated_stream {};

struct emulated_device {
  static constexpr count_t blocks = 7; // fewer than there are groups: threads go on to the next ones
  static inline thread_order order = thread_order::ascending;
  template <class Kernel> void launch(const Kernel& k, count_t, int = 1) const {
    for (count_t b = blocks; b-- > 0;) k(host_block{b, blocks, order}); // the last block first
  }
  template <class T, class X> void matmul(const matmul_extents& e, const X* a, const X* b, T* c) const {
    multiply(*this, e, a, b, c);
  }
  template <conv_pass Pass, class T, class X>
  void conv(const conv_extents& e, const X* first, const X* second, T* result) const {
    convolve<Pass>(*this, e, first, second, result);
  }
  using stream_type = emulated_stream;
  template <class Put> void enqueue(Put&& put) const { put(emulated_stream{}); }
  // A selection has so many rows: here the host knows it at once.
  void tell(const index_t* count, detail::name_values& names, char name) const {
    names.value[static_cast<std::size_t>(names.find(name))] = *count;
  }
  static constexpr bool lists() { return false; }
  // As a team.
  int size() const { return 1; }
  bool start() const { return true; }
};

} // namespace tapeless::cuda
