// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// noting_device: the emulated device. Where TAPELESS_KERNEL_NAMES names a file, the names of the kernels that it has launched
// are added to that file at the end, a line each; where TAPELESS_KERNELS_ONLY is set too, no kernel runs. TAPELESS_THREAD_ORDER
// is the number of the order in which threads run.
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/rtc/kernel_name.hpp>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace support {

class noted_kernels {
  std::mutex mutex_;
  std::set<std::string> names_;
  const char* file_ = std::getenv("TAPELESS_KERNEL_NAMES");

public:
  bool are_noted = file_ != nullptr; // a test may ask, too
  const bool run = std::getenv("TAPELESS_KERNELS_ONLY") == nullptr;
  static noted_kernels& of_process() {
    static noted_kernels all;
    return all;
  }
  void add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_.insert(name);
  }
  // Those since the last time
  std::set<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(names_, {});
  }
  noted_kernels() {
    using tapeless::cuda::thread_order;
    if (const char* const order = std::getenv("TAPELESS_THREAD_ORDER"))
      tapeless::cuda::emulated_device::order = static_cast<thread_order>(std::atoi(order));
  }
  noted_kernels(const noted_kernels&) = delete;
  ~noted_kernels() {
    std::string lines;
    for (const std::string& name : names_) lines += name + '\n';
    std::FILE* const f = file_ == nullptr ? nullptr : std::fopen(file_, "a");
    if (f == nullptr) return;
    std::fwrite(lines.data(), 1, lines.size(), f);
    std::fclose(f);
  }
};

struct noting_device : tapeless::cuda::emulated_device {
  template <class Kernel> void launch(const Kernel& k, tapeless::cuda::count_t n, int lanes = 1) const {
    noted_kernels& all = noted_kernels::of_process();
    if constexpr (tapeless::cuda::has_device_text<Kernel>)
      if (all.are_noted) {
        static const std::string name = tapeless::cuda::kernel_name<Kernel>();
        all.add(name);
      }
    if (all.run) emulated_device::launch(k, n, lanes);
  }
  template <class T, class X>
  void matmul(const tapeless::matmul_extents& e, const X* a, const X* b, T* c) const {
    const tapeless::cuda::count_t items = tapeless::cuda::counted(e.batch * e.m * e.n);
    launch(tapeless::cuda::matmul_kernel<T, X>{a, b, c, items, e}, items);
  }
  template <tapeless::cuda::conv_pass Pass, class T, class X>
  void conv(const tapeless::conv_extents& e, const X* first, const X* second, T* result) const {
    tapeless::cuda::convolve<Pass>(*this, e, first, second, result);
  }
  void tell(const tapeless::cuda::index_t* count, tapeless::detail::name_values& names, char name) const {
    if (noted_kernels::of_process().run) emulated_device::tell(count, names, name);
  }
};

} // namespace support
