// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The three forms of convolution by cuDNN. A plan is made once for each form, extents, type, and how pointers are aligned.
//   cudnn_convolutions convolutions(options);
//   convolutions.prepare<X>(pass, e)                                            at bind: bytes of workspace
//   convolutions.run<X>(device, pass, e, first, second, result, workspace, stream)
// Where they say that there is no plan, kernels/conv.hpp has a kernel. Of bf16 the sums and results are float. The first of
// these that cuDNN has a plan for is taken:
//   channels last   operands stay bf16. What is of planes is turned into the workspace, and the result back; weights, too.
//                   cuDNN 9.19 for sm_90: fprop but of depthwise convolutions, and of groups with few channels; dgrad and wgrad of
//                   one group and even numbers of channels. Any dilation and padding. It compiles their kernels itself, with
//                   the driver and NVRTC; without these it has none.
//   widened         operands become float in the workspace. They are exact in the 10 bits that tensor cores read, and
//                   products are exact.
// One object serves one thread at a time.
#pragma once
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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
#include "plan_cache.hpp"

namespace tapeless::cuda {

class cudnn_convolutions {
public:
  explicit cudnn_convolutions(const options& may = {}) : may_(may) {}
  // For plans alone: the device that the JSON describes.
  cudnn_convolutions(std::string_view json, const options& may = {}) : device_(json), may_(may) {}

  // Bytes of workspace; none, if there is no plan.
  template <class X> std::optional<std::size_t> prepare(conv_pass pass, const conv_extents& e) {
    if (is_empty(pass, e)) return 0;
    const bool tuned = may_.autotune && device_.handle() != nullptr;
    if constexpr (is_short<X>)
      if (may_turn(pass, e))
        if (const conv_plan* const p = find(key_of_bf16(pass, e, 16), may_.conv_workspace, tuned))
          return p->workspace() + turned_bytes(pass, e);
    const conv_plan* const p = find(key_of<X>(pass, e, 16), may_.conv_workspace, tuned);
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
    if constexpr (is_short<X>)
      if (run_channels_last(device, pass, e, first, second, result, scratch, stream)) return true;
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
      float* const b = a + aligned_count(results_of(first_of(pass), e));
      widen(device, first, a, results_of(first_of(pass), e));
      widen(device, second, b, results_of(second_of(pass), e));
      execute(*p, pass, a, b, result, free);
    } else execute(*p, pass, first, second, result, free);
    return true;
  }
  // Plans so far, of which keep(n) leaves n, see plan_cache.
  std::size_t plans() const { return plans_.size(); }
  void keep(std::size_t n) { plans_.keep(n); }

private:
  static constexpr std::size_t most_tuned = 8;
  struct cached {
    conv_key key;
    std::size_t room;
    std::optional<conv_plan> plan;
  };
  cudnn_device device_;
  options may_;
  plan_cache<cached> plans_;

  template <class X> static constexpr bool is_short = std::is_same_v<X, bf16>;
  template <class X> static conv_key key_of(conv_pass pass, const conv_extents& e, std::int64_t alignment) {
    static_assert(std::is_same_v<X, float> || std::is_same_v<X, double> || is_short<X>);
    return {pass, e, std::is_same_v<X, double> ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT,
            is_short<X> ? conv_operands::widened : conv_operands::whole, alignment};
  }
  static conv_key key_of_bf16(conv_pass pass, conv_extents e, std::int64_t alignment) {
    e.nhwc = true;
    return {pass, e, CUDNN_DATA_FLOAT, conv_operands::bf16, alignment};
  }
  // The forms that make what the operands are: results_of() counts their elements.
  static constexpr conv_pass first_of(conv_pass p) {
    return p == conv_pass::dgrad ? conv_pass::fprop : conv_pass::dgrad;
  }
  static constexpr conv_pass second_of(conv_pass p) {
    return p == conv_pass::wgrad ? conv_pass::fprop : conv_pass::wgrad;
  }
  // Has it no results, or sums without terms?
  static constexpr bool is_empty(conv_pass pass, const conv_extents& e) {
    return results_of(pass, e) == 0 || results_of(first_of(pass), e) == 0 ||
           results_of(second_of(pass), e) == 0;
  }
  static constexpr index_t aligned_count(index_t n) { return (n + 63) / 64 * 64; }
  template <class X> static constexpr std::size_t widened_bytes(conv_pass pass, const conv_extents& e) {
    const index_t n =
        aligned_count(results_of(first_of(pass), e)) + aligned_count(results_of(second_of(pass), e));
    return is_short<X> ? static_cast<std::size_t>(n) * sizeof(float) : 0;
  }
  template <class Device> static void widen(const Device& device, const bf16* x, float* y, index_t n) {
    // in parts that a launch can count
    for (index_t at = 0; at < n; at += most_counted) {
      const auto count = static_cast<count_t>(std::min<index_t>(n - at, most_counted));
      device.launch(widen_kernel{x + at, y + at, count}, count);
    }
  }

  // What a form makes, image by image: pixels of each channel, or, of weights, taps.
  struct planes {
    index_t images, channels, pixels;
    bool are_last; // channels, or it is the same
    planes(conv_pass made, const conv_extents& e)
        : images(made == conv_pass::wgrad ? e.k : e.n),
          channels(made == conv_pass::fprop   ? e.k
                   : made == conv_pass::dgrad ? e.c
                                              : e.c / e.groups),
          pixels(results_of(made, e) / images / channels),
          are_last((e.nhwc && made != conv_pass::wgrad) || channels == 1 || pixels == 1) {}
    std::size_t bytes(std::size_t element) const { // where it is turned
      return are_last ? 0 : static_cast<std::size_t>(aligned_count(images * channels * pixels)) * element;
    }
  };
  // Launches count elements in 32 bits.
  static bool may_turn(conv_pass pass, const conv_extents& e) {
    return results_of(pass, e) <= most_counted && results_of(first_of(pass), e) <= most_counted &&
           results_of(second_of(pass), e) <= most_counted;
  }
  static std::size_t turned_bytes(conv_pass pass, const conv_extents& e) {
    return planes(first_of(pass), e).bytes(sizeof(bf16)) + planes(second_of(pass), e).bytes(sizeof(bf16)) +
           planes(pass, e).bytes(sizeof(float));
  }
  // (images, n, m) becomes (images, m, n).
  template <class T, class Device>
  static void turn(const Device& device, const T* x, T* y, index_t images, index_t n, index_t m) {
    using kernel = turn_kernel<T>;
    const auto items = static_cast<count_t>(images * kernel::runs(n) * m);
    device.launch(kernel{x, y, items, static_cast<count_t>(n), static_cast<count_t>(m)}, items);
  }
  template <class Device>
  bool run_channels_last(const Device& device, conv_pass pass, const conv_extents& e, const bf16* first,
                         const bf16* second, float* result, const workspace& scratch, cudaStream_t stream) {
    const planes of_first(first_of(pass), e), of_second(second_of(pass), e), of_result(pass, e);
    const std::size_t turned = turned_bytes(pass, e);
    if (scratch.bytes < turned || !may_turn(pass, e)) return false;
    std::uint32_t alignment = 16; // of what is not turned
    if (of_first.are_last) alignment = alignment_of(first, alignment);
    if (of_second.are_last) alignment = alignment_of(second, alignment);
    if (of_result.are_last) alignment = alignment_of(result, alignment);
    const conv_plan* const p = find(key_of_bf16(pass, e, alignment), scratch.bytes - turned);
    if (p == nullptr) return false;
    check(cudnnSetStream(device_.handle(), stream), "convolution");
    auto* free = static_cast<std::byte*>(scratch.data);
    const auto last = [&](const bf16* x, const planes& of) -> const bf16* {
      if (of.are_last) return x;
      auto* const y = reinterpret_cast<bf16*>(free);
      free += of.bytes(sizeof(bf16));
      turn(device, x, y, of.images, of.channels, of.pixels);
      return y;
    };
    const bf16 *const a = last(first, of_first), *const b = last(second, of_second);
    auto* const y = of_result.are_last ? result : reinterpret_cast<float*>(free);
    execute(*p, pass, a, b, y, free + of_result.bytes(sizeof(float)));
    if (!of_result.are_last) turn(device, y, result, of_result.images, of_result.pixels, of_result.channels);
    return true;
  }
  template <class X, class T>
  void execute(const conv_plan& p, conv_pass pass, const X* first, const X* second, T* result,
               void* scratch) const {
    void *const a = const_cast<X*>(first), *const b = const_cast<X*>(second);
    if (pass == conv_pass::fprop) p.run(device_.handle(), a, b, result, scratch);
    else if (pass == conv_pass::dgrad) p.run(device_.handle(), result, b, a, scratch);
    else p.run(device_.handle(), a, result, b, scratch);
  }
  // The plan, which takes at most `room` bytes; nullptr: there is none.
  const conv_plan* find(const conv_key& k, std::size_t room, bool tuned = false) {
    room = std::min(room, may_.conv_workspace);
    if (const cached* const known = plans_.find([&](const cached& c) {
          return c.key == k && (c.plan ? c.plan->workspace() <= room : c.room >= room);
        }))
      return known->plan ? &*known->plan : nullptr;
    std::vector<conv_plan> plans;
    if (cudnn_can_state(k.extents)) plans = conv_plan::make(device_, k, may_, room, tuned ? most_tuned : 1);
    const std::size_t best = plans.size() > 1 ? fastest(device_, k, plans) : 0;
    cached& made = plans_.add(std::make_unique<cached>(k, room, std::nullopt));
    if (plans.empty()) return nullptr;
    return &made.plan.emplace(std::move(plans[best]));
  }
};

} // namespace tapeless::cuda
