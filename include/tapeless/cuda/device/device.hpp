// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cuda::device: a bound program's part of a device, as a team: its stream, its memory, its kernels and graphs. Kernels are
// compiled at bind. Where a library has no plan for a product or a convolution, and for pointers that are aligned otherwise than
// at bind, there is a kernel of ours: it is compiled, too.
#pragma once
#include <cuda_runtime_api.h>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include "../../core/bf16.hpp"
#include "../../core/geometry.hpp"
#include "../../core/shape.hpp"
#include "../../plan/backend.hpp"
#include "../base/block.hpp"
#include "../exec/launch.hpp"
#include "../exec/products.hpp"
#include "../kernels/conv.hpp"
#include "../kernels/lines.hpp"
#include "../kernels/matmul.hpp"
#include "../kernels/shape.hpp"
#include "../libs/check.hpp"
#include "../libs/options.hpp"
#include "../rtc/error.hpp"
#include "../rtc/kernel_name.hpp"
#include "graphs.hpp"
#include "loaded_kernels.hpp"
#include "memory.hpp"
#include "stream.hpp"
#if !defined(TAPELESS_CUDA_EMULATED)
#include "../libs/libraries.hpp"
#endif

namespace tapeless::cuda {

// Each class of kernels has a number in the process.
inline std::size_t next_kernel_number() {
  static std::atomic<std::size_t> next{0};
  return next++;
}
template <class Kernel> std::size_t kernel_number() {
  static const std::size_t number = next_kernel_number();
  return number;
}

// In tests the runtime is one of the host: a kernel is what it calls, and there are no libraries.
#if defined(TAPELESS_CUDA_EMULATED)
struct libraries {
  explicit libraries(const options&) {}
  static inline bool many = false;
  bool has_many_plans() const { return many; }
  void keep_recent() { many = false; }
};
struct emulated_kernel {
  std::size_t size;
  void (*run)(const void* object, unsigned blocks);
};
template <class Kernel> inline constexpr emulated_kernel emulated{
    sizeof(Kernel), [](const void* object, unsigned blocks) {
      for (count_t b = blocks; b-- > 0;) (*static_cast<const Kernel*>(object))(host_block{b, blocks});
    }};
#endif

class device {
  using graph = holder<cudaGraphExec_t, cudaGraphExecDestroy>;
  struct state {
    options may;
    cudaStream_t stream = nullptr;
    int ordinal = 0;
    count_t most_blocks = 0;
    std::string arch;
    libraries has;                    // its plans outlive what waits for their kernels: the release of memory
    device_memory arena, scratch;     // scratch: of the libraries
    std::vector<cudaKernel_t> kernel; // by number; nullptr: not of this program
    // bind asks each step what it needs
    bool lists = false;
    std::vector<std::size_t> number;
    std::vector<std::string> name;
    graph_cache<graph> graphs;
    std::vector<std::uint64_t> key;
    bool captures_at_once = false;
    // Captures: what other threads put on the program's stream meanwhile is no part of the graph
    holder<cudaStream_t, cudaStreamDestroy> capturing;

    state(const cuda::stream& s, const options& o)
        : may(checked(o)), stream(s.get()), ordinal(s.device()), has(may) {
      int processors = 0, major = 0, minor = 0;
      check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal), "bind");
      check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal), "bind");
      check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal), "bind");
      most_blocks = static_cast<count_t>(processors) * 8; // all that a processor holds at once
      arch = "sm_" + std::to_string(10 * major + minor);
    }
    workspace room() const { return {scratch.data(), scratch.size()}; }
  };
  std::unique_ptr<state> s_;
  device(const cuda::stream& s, const options& o) : s_(std::make_unique<state>(s, o)) {}

  template <class Option> static const cuda::stream* stream_in(const Option& option) {
    if constexpr (std::is_same_v<Option, cuda::stream>) return &option;
    else return nullptr;
  }
  template <class Option> static void take(options& may, const Option& option) {
    if constexpr (std::is_same_v<Option, options>) may = option;
  }

public:
  // For the options of bind: a stream, cuda::options.
  template <class... Option> static device with(const Option&... option) {
    static_assert((0 + ... + int{std::is_same_v<Option, cuda::stream>}) < 2 &&
                      (0 + ... + int{std::is_same_v<Option, options>}) < 2,
                  "tapeless: bind<...>(options...): one stream and one cuda::options at most");
    const cuda::stream* given = nullptr;
    ((given = stream_in(option) != nullptr ? stream_in(option) : given), ...);
    options may;
    (take(may, option), ...);
    const cuda::stream& s = given != nullptr ? *given : cuda::stream::common();
    const on_device here(s.device());
    return {s, may};
  }
  device another() const {
    const on_device here(s_->ordinal);
    device r(cuda::stream(s_->stream), s_->may);
    return r;
  }
  cudaStream_t stream() const { return s_->stream; }

  // As a team with memory of its own.
  int size() const { return 1; }
  bool start() const { return true; }
  std::byte* allocate(extent_t bytes) {
    const on_device here(s_->ordinal);
    s_->arena = device_memory(static_cast<std::size_t>(bytes), s_->stream, "bind");
    return s_->arena.data();
  }
  std::size_t allocated() const { return s_->arena.size() + s_->scratch.size(); }
  // A number goes along with a launch: a copy from memory of the host that is not pinned might wait for the stream.
  template <class T> void store(void* place, T value) const {
    launch(store_kernel{static_cast<std::uint64_t*>(place), bits_of(value)}, 1);
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    const on_device here(s_->ordinal);
    copy_bytes(to, from, bytes, s_->stream, "run");
  }
  // ask() runs all steps, which ask for what they need: afterwards it is there.
  template <class Ask> void prepare(Ask&& ask) const {
    const on_device here(s_->ordinal);
    s_->lists = true;
    ask();
    s_->lists = false;
#if !defined(TAPELESS_CUDA_EMULATED)
    const std::vector<cudaKernel_t> loaded = loaded_kernels::of_process().get(s_->name, s_->arch);
    for (std::size_t k = 0; k < loaded.size(); ++k) {
      if (s_->number[k] >= s_->kernel.size()) s_->kernel.resize(s_->number[k] + 1);
      s_->kernel[s_->number[k]] = loaded[k];
      load(loaded[k]);
    }
    s_->scratch = device_memory(s_->has.need(), s_->stream, "bind");
#endif
  }
  void capture_next() const { s_->captures_at_once = true; }
  // result: where the caller finds the results
  template <class Steps> void run_or_replay(const detail::run_context& c, int inputs, void* const* result,
                                            int outputs, Steps&& steps) const {
    const on_device here(s_->ordinal);
    if (s_->has.has_many_plans()) { // seldom
      check(cudaStreamSynchronize(s_->stream), "run");
      s_->graphs = {};
      s_->has.keep_recent();
    }
    std::vector<std::uint64_t>& key = s_->key;
    key.clear();
    for (int k = 0; k < inputs; ++k) key.push_back(reinterpret_cast<std::uintptr_t>(c.input[k]));
    for (int k = 0; k < outputs; ++k) key.push_back(reinterpret_cast<std::uintptr_t>(result[k]));
    for (int k = 0; k < c.names.count; ++k)
      key.push_back(static_cast<std::uint64_t>(c.names.value[static_cast<std::size_t>(k)]));
    bool is_new = false;
    auto& e = s_->graphs.find(key.data(), key.size(), is_new);
    if (is_new && !s_->captures_at_once) return steps();
    s_->captures_at_once = false;
    if (!e.is_captured) {
      e.graph = captured(steps);
      e.is_captured = true;
    }
    check(cudaGraphLaunch(e.graph.get(), s_->stream), "run");
  }

  // As a device: see exec/launch.hpp
  bool lists() const { return s_->lists; }
  template <class Kernel> void launch(const Kernel& k, count_t members, int lanes = 1) const {
#if defined(TAPELESS_CUDA_EMULATED)
    const std::size_t number = kernel_number<Kernel>();
    if (lists()) note(number, [] { return std::string(); });
    else launch(is_noted(number) ? &emulated<Kernel> : nullptr, &k, members, lanes);
#elif defined(__CUDACC__) // a compiler of CUDA: it has compiled the kernel
    const auto* const function = reinterpret_cast<const void*>(&run_kernel<Kernel>);
    if (lists()) load(function);
    else launch(function, &k, members, lanes);
#else
    const std::size_t number = kernel_number<Kernel>();
    if (lists()) note(number, [] { return kernel_name<Kernel>(); });
    else launch(number < s_->kernel.size() ? s_->kernel[number] : nullptr, &k, members, lanes);
#endif
  }
  template <class T, class X> void matmul(const matmul_extents& e, const X* a, const X* b, T* c) const {
#if !defined(TAPELESS_CUDA_EMULATED)
    const on_device here(s_->ordinal);
    if (lists()) s_->has.template plan_product<T, X>(e);
    else if (s_->has.template multiply<T, X>(e, a, b, c, s_->room(), s_->stream)) return;
#endif
    cuda::multiply(*this, e, a, b, c);
  }
  // c = relu(product + bias), the relu and the bias where they are asked for.   @return is it done?
  template <class T, class X>
  bool matmul([[maybe_unused]] const matmul_extents& e, [[maybe_unused]] const X* a,
              [[maybe_unused]] const X* b, [[maybe_unused]] T* c, [[maybe_unused]] const T* bias,
              [[maybe_unused]] bool relu) const {
#if !defined(TAPELESS_CUDA_EMULATED)
    const on_device here(s_->ordinal);
    if (!lists()) return s_->has.template multiply<T, X>(e, a, b, c, s_->room(), s_->stream, bias, relu);
    s_->has.template plan_product<T, X>(e, bias != nullptr, relu);
#endif
    return false;
  }
  template <conv_pass Pass, class T, class X>
  void conv(const conv_extents& e, const X* first, const X* second, T* result) const {
#if !defined(TAPELESS_CUDA_EMULATED)
    const on_device here(s_->ordinal);
    if (lists()) {
      s_->has.template plan_convolution<X>(Pass, e);
      list_moves<X>(*this);
    } else if (s_->has.template convolve<Pass>(*this, e, first, second, result, s_->room(), s_->stream))
      return;
#endif
    cuda::convolve<Pass>(*this, e, first, second, result);
  }
  // See has_line_products
  template <class T> bool line_products([[maybe_unused]] const line_extents& e,
                                        [[maybe_unused]] const sparse_lines& a,
                                        [[maybe_unused]] const T* values, [[maybe_unused]] const T* x,
                                        [[maybe_unused]] T* y) const {
#if !defined(TAPELESS_CUDA_EMULATED)
    const on_device here(s_->ordinal);
    if (!lists()) return s_->has.line_products(*this, e, a, values, x, y, s_->room(), s_->stream);
    launch(line_offsets_kernel{}, 0);
    launch(entries_by_place_kernel<T>{}, 0);
    s_->has.template plan_line_products<T>(e, a, s_->arena.data());
#endif
    return false;
  }
  template <class T> bool line_samples([[maybe_unused]] const line_extents& e,
                                       [[maybe_unused]] const sparse_lines& a, [[maybe_unused]] const T* l,
                                       [[maybe_unused]] const T* r, [[maybe_unused]] T* out) const {
#if !defined(TAPELESS_CUDA_EMULATED)
    const on_device here(s_->ordinal);
    if (!lists()) return s_->has.line_samples(*this, e, a, l, r, out, s_->room(), s_->stream);
    launch(line_offsets_kernel{}, 0);
    s_->has.template plan_line_samples<T>(e, s_->arena.data());
#endif
    return false;
  }
  // put(stream): a custom op of tensors. What it launches is not ours: the runtime is asked for its error.
  using stream_type = cudaStream_t;
  template <class Put> void enqueue(Put&& put) const {
    if (lists()) return;
    const on_device here(s_->ordinal);
    const bool was_sound = cudaPeekAtLastError() == cudaSuccess; // an older error is not of this op
    put(s_->stream);
    if (was_sound) check(cudaGetLastError(), "custom");
  }
  // On a device the number of rows is not known to the host: values have room for all of them.
  void tell(const index_t*, detail::name_values&, char) const {}

private:
  // The runtime loads a kernel when it is first asked for; a stream that is captured cannot wait for that.
  static void load(const void* function) {
    cudaFuncAttributes facts{};
    check(cudaFuncGetAttributes(&facts, function), "bind");
  }
  bool is_noted(std::size_t number) const {
    return std::find(s_->number.begin(), s_->number.end(), number) != s_->number.end();
  }
  template <class Name> void note(std::size_t number, Name&& name) const {
    if (is_noted(number)) return;
    s_->name.push_back(name());
    s_->number.push_back(number);
  }
  void launch(const void* function, const void* kernel, count_t members, int lanes) const {
    const std::uint64_t threads = std::uint64_t{members} * static_cast<std::uint64_t>(lanes);
    if (threads == 0) return;
    const auto blocks = static_cast<count_t>(
        std::min<std::uint64_t>((threads + block_threads - 1) / block_threads, s_->most_blocks));
    if (function == nullptr) failed("run", "tapeless", 0, "a kernel that bind was not asked for");
    void* argument[] = {const_cast<void*>(kernel)};
    const on_device here(s_->ordinal);
    check(cudaLaunchKernel(function, dim3(blocks), dim3(block_threads), argument, 0, s_->stream), "run");
  }
  // Libraries may load kernels meanwhile: the capture is relaxed.
  template <class Steps> graph captured(Steps&& steps) const {
    if (!s_->capturing)
      check(cudaStreamCreateWithFlags(s_->capturing.put(), cudaStreamNonBlocking), "capture");
    holder<cudaGraph_t, cudaGraphDestroy> made;
    const cudaStream_t of_program = std::exchange(s_->stream, s_->capturing.get());
    try {
      check(cudaStreamBeginCapture(s_->stream, cudaStreamCaptureModeRelaxed), "capture");
      steps();
    } catch (...) {
      cudaStreamEndCapture(s_->stream, made.put());
      s_->stream = of_program;
      throw;
    }
    const cudaError_t ended = cudaStreamEndCapture(s_->stream, made.put());
    s_->stream = of_program;
    check(ended, "capture");
    graph r;
    check(cudaGraphInstantiate(r.put(), made.get(), 0), "capture");
    return r;
  }
};

} // namespace tapeless::cuda
