// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The three forms of convolution by cuDNN. A plan is made once for each form, extents, type, and how pointers are aligned.
//   cudnn_convolutions convolutions(options);
//   convolutions.prepare<X>(pass, e)                                            at bind: bytes of workspace
//   convolutions.run<X>(device, pass, e, first, second, result, workspace, stream)
// Where they say that there is no plan, kernels/conv.hpp has a kernel. Of bf16 the sums and results are float. cuDNN has that
// for channels last alone; so the operands become float. They are exact in the 10 bits that tensor cores read, and products
// are exact.
// One object serves one thread at a time.
#pragma once
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include "../../core/bf16.hpp"
#include "../../core/geometry.hpp"
#include "../base/block.hpp"
#include "../kernels/conv.hpp"
#include "check.hpp"
#include "cudnn.hpp"
#include "cudnn_plan.hpp"
#include "cudnn_tune.hpp"
#include "options.hpp"

namespace tapeless::cuda {

class cudnn_convolutions {
public:
  explicit cudnn_convolutions(const options& may = {}) : may_(may) {}
  // For plans alone: the device that the JSON describes.
  cudnn_convolutions(std::string_view json, const options& may = {}) : device_(json), may_(may) {}

  // Bytes of workspace; none, if there is no plan.
  template <class X> std::optional<std::size_t> prepare(conv_pass pass, const conv_extents& e) {
    if (is_empty(pass, e)) return 0;
    const conv_plan* const p =
        find(key_of<X>(pass, e, 16), may_.conv_workspace, may_.autotune && device_.handle() != nullptr);
    if (p == nullptr) return std::nullopt;
    return p->workspace() + widened_bytes<X>(pass, e);
  }

  // first, second: as conv_pass says. False, and nothing is done, if there is no plan that the workspace suffices for.
  template <class X, class T, class Device>
  bool run(const Device& device, conv_pass pass, const conv_extents& e, const X* first, const X* second,
           T* result, const workspace& scratch, cudaStream_t stream) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
    const auto results = static_cast<std::size_t>(results_of(pass, e));
    if (is_empty(pass, e)) {
      fill_with_zeros(result, results * sizeof(T), stream, "convolution");
      return true;
    }
    const std::size_t widened = widened_bytes<X>(pass, e);
    if (scratch.bytes < widened) return false;
    auto* const free = static_cast<std::byte*>(scratch.data) + widened;
    std::uint32_t alignment = alignment_of(result, 16);
    if constexpr (!is_short<X>)
      alignment = std::min({alignment, alignment_of(first, 16), alignment_of(second, 16)});
    const conv_plan* const p = find(key_of<X>(pass, e, alignment), scratch.bytes - widened);
    if (p == nullptr) return false;
    check(cudnnSetStream(device_.handle(), stream), "convolution");
    if constexpr (is_short<X>) {
      auto* const a = static_cast<float*>(scratch.data);
      float* const b = a + aligned_count(first_elements(pass, e));
      widen(device, first, a, first_elements(pass, e));
      widen(device, second, b, second_elements(pass, e));
      execute(*p, pass, a, b, result, free);
    } else execute(*p, pass, first, second, result, free);
    return true;
  }

private:
  static constexpr std::size_t most_tuned = 8;
  struct cached {
    conv_key key;
    std::size_t room;
    std::optional<conv_plan> plan;
  };
  cudnn_device device_;
  options may_;
  std::vector<cached> plans_;

  template <class X> static constexpr bool is_short = std::is_same_v<X, bf16>;
  template <class X> static conv_key key_of(conv_pass pass, const conv_extents& e, std::int64_t alignment) {
    static_assert(std::is_same_v<X, float> || std::is_same_v<X, double> || is_short<X>);
    return {pass, e, std::is_same_v<X, double> ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, is_short<X>,
            alignment};
  }
  // Has it no results, or sums without terms?
  static constexpr bool is_empty(conv_pass pass, const conv_extents& e) {
    return results_of(pass, e) == 0 || first_elements(pass, e) == 0 || second_elements(pass, e) == 0;
  }
  static constexpr index_t first_elements(conv_pass pass, const conv_extents& e) {
    return results_of(pass == conv_pass::dgrad ? conv_pass::fprop : conv_pass::dgrad, e);
  }
  static constexpr index_t second_elements(conv_pass pass, const conv_extents& e) {
    return results_of(pass == conv_pass::wgrad ? conv_pass::fprop : conv_pass::wgrad, e);
  }
  static constexpr index_t aligned_count(index_t n) { return (n + 63) / 64 * 64; }
  template <class X> static constexpr std::size_t widened_bytes(conv_pass pass, const conv_extents& e) {
    const index_t n = aligned_count(first_elements(pass, e)) + aligned_count(second_elements(pass, e));
    return is_short<X> ? static_cast<std::size_t>(n) * sizeof(float) : 0;
  }
  template <class Device> static void widen(const Device& device, const bf16* x, float* y, index_t n) {
    // in parts that a launch can count
    for (index_t at = 0; at < n; at += most_counted) {
      const auto count = static_cast<count_t>(std::min<index_t>(n - at, most_counted));
      device.launch(widen_kernel{x + at, y + at, count}, count);
    }
  }
  template <class T> void execute(const conv_plan& p, conv_pass pass, const T* first, const T* second,
                                  T* result, void* scratch) const {
    void *const a = const_cast<T*>(first), *const b = const_cast<T*>(second);
    if (pass == conv_pass::fprop) p.run(device_.handle(), a, b, result, scratch);
    else if (pass == conv_pass::dgrad) p.run(device_.handle(), result, b, a, scratch);
    else p.run(device_.handle(), a, result, b, scratch);
  }
  // The plan, which takes at most `room` bytes; nullptr: there is none.
  const conv_plan* find(const conv_key& k, std::size_t room, bool tuned = false) {
    room = std::min(room, may_.conv_workspace);
    for (const cached& c : plans_)
      if (c.key == k && (c.plan ? c.plan->workspace() <= room : c.room >= room))
        return c.plan ? &*c.plan : nullptr;
    std::vector<conv_plan> plans;
    if (cudnn_can_state(k.extents)) plans = conv_plan::make(device_, k, may_, room, tuned ? most_tuned : 1);
    const std::size_t best = plans.size() > 1 ? fastest(device_, k, plans) : 0;
    cached& made = plans_.emplace_back(k, room, std::nullopt);
    if (plans.empty()) return nullptr;
    return &made.plan.emplace(std::move(plans[best]));
  }
};

} // namespace tapeless::cuda
