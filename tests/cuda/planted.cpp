// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Faults of kernels that the emulated device finds: a kernel whose threads need an order, and those that read or write beyond
// their operand. Where TAPELESS_BEYOND is READ or WRITE it runs one of the latter: a sanitizer has to end it.
#include <tapeless/cuda/base/block.hpp>
#include <tapeless/cuda/emulated.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace cuda = tapeless::cuda;
using cuda::count_t;

namespace {

// x[i] is what thread i - 1 has left in x[i - 1]: it wants a barrier between reading and writing.
struct without_a_barrier {
  float* x;
  count_t n;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(n, [this](count_t i) { x[i] = i == 0 ? 1.0f : x[i - 1] + 1.0f; });
  }
};
// The lanes of a group exchange values in memory.
struct lanes_without_a_barrier {
  float *x, *y;
  count_t n;
  struct nothing {
    float x[1];
  };
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.template groups<8, nothing>(
        n,
        [this](count_t i, count_t lane) {
          x[8 * i + lane] = static_cast<float>(lane);
          return nothing{{x[8 * i + (lane ^ 1u)]}};
        },
        [](nothing& a, const nothing& b) { a.x[0] = a.x[0] * 3.0f + b.x[0]; },
        [this](count_t i, const nothing& r) { y[i] = r.x[0]; });
  }
};
struct copies {
  const float* x;
  float* y;
  count_t n;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(n, [this](count_t i) { y[i] = x[i]; });
  }
};
struct doubles {
  float* x;
  count_t n;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(n, [this](count_t i) { x[i] *= 2.0f; });
  }
};

// The results in all orders of threads, in how many versions
template <class Run> std::size_t versions(Run run) {
  std::set<std::vector<float>> all;
  for (const auto order :
       {cuda::thread_order::ascending, cuda::thread_order::descending, cuda::thread_order::odd_first}) {
    cuda::emulated_device::order = order;
    all.insert(run());
  }
  cuda::emulated_device::order = cuda::thread_order::ascending;
  return all.size();
}
// One element more is read than there are, or written.
void beyond(bool read) {
  const count_t n = 100;
  const std::vector<float> x(read ? n - 1 : n, 1.0f);
  std::vector<float> y(read ? n : n - 1);
  cuda::emulated_device{}.launch(copies{x.data(), y.data(), n}, n);
}
const bool runs_beyond = [] {
  if (const char* const how = std::getenv("TAPELESS_BEYOND")) beyond(std::string(how) == "READ");
  return true;
}();

} // namespace

TEST_CASE("a missing barrier is seen: the results depend on the order of threads") {
  CHECK(runs_beyond);
  const cuda::emulated_device device;
  CHECK(versions([&] {
          std::vector<float> x(600, 7.0f);
          device.launch(doubles{x.data(), 600}, 600);
          return x;
        }) == 1);
  CHECK(versions([&] {
          std::vector<float> x(600, 7.0f);
          device.launch(without_a_barrier{x.data(), 600}, 600);
          return x;
        }) > 1);
  CHECK(versions([&] {
          std::vector<float> x(8 * 40, 7.0f), y(40);
          device.launch(lanes_without_a_barrier{x.data(), y.data(), 40}, 40, 8);
          return y;
        }) > 1);
}
