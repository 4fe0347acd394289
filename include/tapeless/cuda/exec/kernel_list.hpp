// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// kernel_list: a device that runs nothing. It notes the names of the kernels that it is to launch, each once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "../../core/extent.hpp"
#include "../../core/geometry.hpp"
#include "../base/block.hpp"
#include "../kernels/conv.hpp"
#include "../kernels/lines.hpp"
#include "../rtc/kernel_name.hpp"
#include "products.hpp"

struct CUstream_st; // of the CUDA runtime

namespace tapeless::cuda {

struct kernel_list {
  std::vector<std::string>* names = nullptr;

  // Whatever the extents are, it is asked for.
  static constexpr bool lists() { return true; }
  template <class Kernel> void launch(const Kernel&, count_t, int = 1) const { note(kernel_name<Kernel>()); }
  template <class T, class X> void matmul(const matmul_extents& e, const X* a, const X* b, T* c) const {
    multiply(*this, e, a, b, c);
  }
  template <conv_pass Pass, class T, class X>
  void conv(const conv_extents& e, const X* first, const X* second, T* result) const {
    list_moves<X>(*this);
    convolve<Pass>(*this, e, first, second, result);
  }
  template <class T>
  bool line_products(const line_extents&, const sparse_lines&, const T*, const T*, T*) const {
    launch(line_offsets_kernel{}, 0); // ahead of a library's
    launch(entries_by_place_kernel<T>{}, 0);
    return false;
  }
  template <class T>
  bool line_samples(const line_extents&, const sparse_lines&, const T*, const T*, T*) const {
    launch(line_offsets_kernel{}, 0);
    return false;
  }
  using stream_type = CUstream_st*; // cudaStream_t
  template <class Put> void enqueue(Put&&) const {}
  void tell(const index_t*, detail::name_values&, char) const {}
  int size() const { return 1; }
  bool start() const { return names != nullptr; }

private:
  void note(std::string name) const {
    for (const std::string& known : *names)
      if (known == name) return;
    names->push_back(std::move(name));
  }
};

} // namespace tapeless::cuda
