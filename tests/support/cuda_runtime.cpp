// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The CUDA runtime, as far as the library calls it, on the host: programs that are compiled with TAPELESS_CUDA_EMULATED run
// where no device is. A stream is lazy: what is put on it runs when somebody waits. So a program that reads too early, or
// frees too early, or changes what a graph has kept, is found. Two devices of 3 processors, whose memory is one.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace {

using action = std::function<void()>;
struct graph {
  std::vector<action> actions;
};
thread_local int current = 0;
struct queue {
  int device = current;
  std::vector<action> actions;
  std::unique_ptr<graph> capturing;
  void put(action a) { (capturing ? capturing->actions : actions).push_back(std::move(a)); }
  void run() {
    auto now = std::exchange(actions, {});
    for (const action& a : now) a();
  }
};

std::recursive_mutex lock;
enum class kind { device, pinned };
struct range {
  std::size_t size;
  kind k;
};
std::map<const std::byte*, range>& memory() {
  static std::map<const std::byte*, range> m;
  return m;
}
std::vector<queue*>& queues() {
  static std::vector<queue*> q;
  return q;
}
int calls = 0;
cudaError_t last_error = cudaSuccess;
std::size_t room = std::size_t{1} << 40, in_use = 0;

queue& of(cudaStream_t s) {
  static queue* const of_all = [] {
    queues().push_back(new queue); // nullptr: the default stream
    return queues().back();
  }();
  return s == nullptr ? *of_all : *reinterpret_cast<queue*>(s);
}
// nullptr: pageable memory of the host
const range* range_of(const void* p) {
  const auto* const at = static_cast<const std::byte*>(p);
  auto next = memory().upper_bound(at);
  if (next == memory().begin()) return nullptr;
  --next;
  return at < next->first + next->second.size ? &next->second : nullptr;
}
cudaError_t make(void** p, std::size_t n, kind k) {
  const std::lock_guard hold(lock);
  if (k == kind::device && in_use + n > room) return cudaErrorMemoryAllocation;
  *p = std::malloc(n);
  memory().emplace(static_cast<const std::byte*>(*p), range{n, k});
  in_use += k == kind::device ? n : 0;
  return cudaSuccess;
}
cudaError_t end(void* p) {
  const std::lock_guard hold(lock);
  ++calls;
  for (queue* q : queues()) q->run(); // as the runtime does, it waits
  if (const auto at = memory().find(static_cast<const std::byte*>(p)); at != memory().end()) {
    in_use -= at->second.k == kind::device ? at->second.size : 0;
    memory().erase(at);
    std::free(p);
  }
  return cudaSuccess;
}

} // namespace

// How much the device has, and how much is in use.
void set_memory_of_the_device(std::size_t bytes) { room = bytes; }
std::size_t memory_in_use() { return in_use; }
int calls_of_the_runtime() { return calls; }

extern "C" {

cudaError_t cudaGetDevice(int* d) {
  *d = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  current = d;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t s, int* d) {
  *d = of(s).device;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorString(cudaError_t e) {
  return e == cudaErrorMemoryAllocation       ? "out of memory"
         : e == cudaErrorInvalidConfiguration ? "invalid configuration argument"
                                              : "an error";
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr a, int) {
  *value = a == cudaDevAttrMultiProcessorCount ? 3 : a == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, std::size_t n) {
  ++calls;
  return make(p, n, kind::device);
}
cudaError_t cudaMallocHost(void** p, std::size_t n) { return make(p, n, kind::pinned); }
cudaError_t cudaFree(void* p) { return end(p); }
cudaError_t cudaFreeHost(void* p) { return end(p); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  const std::lock_guard hold(lock);
  queues().push_back(new queue);
  *s = reinterpret_cast<cudaStream_t>(queues().back());
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  const std::lock_guard hold(lock);
  of(s).run();
  std::erase(queues(), &of(s));
  delete &of(s);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  const std::lock_guard hold(lock);
  ++calls;
  of(s).run();
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int value, std::size_t n, cudaStream_t s) {
  const std::lock_guard hold(lock);
  ++calls;
  of(s).put([=] { std::memset(p, value, n); });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind, cudaStream_t s) {
  const std::lock_guard hold(lock);
  ++calls;
  if (range_of(from) != nullptr) of(s).put([=] { std::memcpy(to, from, n); });
  else { // it has been read when the call returns
    const auto* const p = static_cast<const std::byte*>(from);
    of(s).put([to, kept = std::vector<std::byte>(p, p + n)] { std::memcpy(to, kept.data(), kept.size()); });
  }
  if (range_of(to) == nullptr) of(s).run();
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  const std::lock_guard hold(lock);
  ++calls;
  if (s == nullptr) return cudaErrorStreamCaptureUnsupported;
  of(s).capturing = std::make_unique<graph>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  const std::lock_guard hold(lock);
  *g = reinterpret_cast<cudaGraph_t>(of(s).capturing.release());
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t g, unsigned long long) {
  *e = reinterpret_cast<cudaGraphExec_t>(new graph(*reinterpret_cast<graph*>(g)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  delete reinterpret_cast<graph*>(g);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  const std::lock_guard hold(lock);
  for (queue* q : queues()) q->run();
  delete reinterpret_cast<graph*>(e);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  const std::lock_guard hold(lock);
  ++calls;
  for (const action& a : reinterpret_cast<graph*>(e)->actions) of(s).put(a);
  return cudaSuccess;
}
// kernel: a function that runs the kernel object in argument[0], of a size, with so many blocks
cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3, void** argument, std::size_t,
                             cudaStream_t s) {
  struct emulated_kernel {
    std::size_t size;
    void (*run)(const void* object, unsigned blocks);
  };
  const std::lock_guard hold(lock);
  ++calls;
  if (blocks.x == 0) return last_error = cudaErrorInvalidConfiguration;
  const auto& k = *static_cast<const emulated_kernel*>(kernel);
  struct alignas(16) words {
    std::byte b[16];
  };
  std::vector<words> object((k.size + 15) / 16);
  std::memcpy(object.data(), argument[0], k.size);
  of(s).put([run = k.run, n = blocks.x, kept = std::move(object)] { run(kept.data(), n); });
  return cudaSuccess;
}

// Nobody loads a kernel.
cudaError_t cudaLibraryLoadData(cudaLibrary_t*, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return cudaErrorNotSupported;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t*, cudaLibrary_t, const char*) { return cudaErrorNotSupported; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return cudaErrorNotSupported; }
cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaErrorNotSupported; }

} // extern "C"
