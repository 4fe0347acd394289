// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// steps launches       calls of the CUDA runtime in one step of a program that runs again and again: 1, the launch of its graph
// steps leaks [N]      N steps, with batches of several sizes, and some programs bound and dropped between them: memory of
//                      the device and of the process before and after
// The programs: a training step of a small network, gradient and Adam, in place; and the gradient of a convolution with a
// loss of the hardest images.
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <tuple>

#include <support/cuda_runtime.hpp>

#include "kernels.hpp"

namespace {

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

struct params {
  tl::tensor<float, 16, 32> w;
  tl::tensor<float, 32> b;
  tl::tensor<float, 32, 4> v;
};
using rows = tl::tensor<const float, tl::dyn<'n'>, 16>;
using targets = tl::tensor<const float, tl::dyn<'n'>, 4>;
using state = tl::adam_state<params>;
constexpr tl::extent_t most_rows = 64;

constexpr auto loss = [](auto p, auto x, auto t) {
  return tl::mean(tl::square(tl::matmul(tl::relu(tl::matmul(x, p.w) + p.b), p.v) - t));
};
constexpr auto train = [](auto p, auto s, auto x, auto t) {
  const auto [value, gradient] = tl::value_and_grad(loss)(p, x, t);
  const auto [next, next_state] = tl::adam_update(p, gradient, s, tl::adam_options{.learning_rate = 0.01});
  return std::tuple{value, next, next_state};
};
using images = tl::tensor<float, 16, 4, 8, 8>;
using filters = tl::tensor<float, 8, 4, 3, 3>;
constexpr auto hard = [](auto w, auto x) {
  const auto losses = tl::mean<1, 2, 3>(tl::square(tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, w))));
  return tl::mean(tl::gather(losses, tl::top_k<4>(losses)));
};
constexpr auto hard_step = tl::value_and_grad<0>(hard);

void fill(const auto& tree, std::uint64_t seed) {
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    for (tl::extent_t i = 0; i < leaf.size(); ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      leaf.data()[i] = static_cast<float>(seed >> 40) * 0x1p-24f - 0.5f;
    }
  });
}

auto bind_train(const cuda::stream& s) {
  return tl::jit(train).bind<cuda::on<params>, cuda::on<state>, cuda::on<rows>, cuda::on<targets>>(
      s, tl::dim<'n'>(most_rows));
}
auto bind_hard(const cuda::stream& s) {
  return tl::jit(hard_step).bind<cuda::on<filters>, cuda::on<images>>(s);
}

struct programs {
  cuda::stream s;
  tl::owned<params> host_p;
  tl::owned<rows> host_x{tl::dim<'n'>(most_rows)};
  tl::owned<targets> host_t{tl::dim<'n'>(most_rows)};
  tl::owned<filters> host_w;
  tl::owned<images> host_images;
  cuda::owned<params> p{s};
  cuda::owned<state> st{s};
  cuda::owned<rows> x{s, tl::dim<'n'>(most_rows)};
  cuda::owned<targets> t{s, tl::dim<'n'>(most_rows)};
  cuda::owned<tl::scalar<float>> value{s};
  cuda::owned<filters> w{s};
  cuda::owned<images> xs{s};
  decltype(bind_train(s)) run_train = bind_train(s);
  decltype(bind_hard(s)) run_hard = bind_hard(s);

  programs() {
    fill(*host_p, 1);
    fill(host_x.mutable_view(), 2);
    fill(host_t.mutable_view(), 3);
    fill(*host_w, 4);
    fill(*host_images, 5);
    tl::copy(host_p, p, s);
    tl::copy(host_x, x, s);
    tl::copy(host_t, t, s);
    tl::copy(host_w, w, s);
    tl::copy(host_images, xs, s);
  }
  void step(tl::extent_t n) {
    const cuda::on at{rows((*x).tree.data(), n)};
    const cuda::on to{targets((*t).tree.data(), n)};
    run_train.into(std::tuple{*value, *p, *st})(*p, *st, at, to);
  }
  void hard_images() { run_hard(*w, *xs); }
  float loss() {
    cuda::pinned<tl::scalar<float>> v;
    tl::copy(value, v, s);
    s.wait();
    return (*v)();
  }
};

bool launches() {
  programs all;
  bool one = true;
  const auto count = [&](const char* name, const auto& step) {
    int calls[4];
    for (int& c : calls) {
      const int before = calls_of_the_runtime();
      step();
      c = calls_of_the_runtime() - before;
    }
    all.s.wait();
    line("launches")
        .put("program", name)
        .put("eager", calls[0])
        .put("captured", calls[1])
        .put("later", calls[3])
        .put("holds", calls[2] == 1 && calls[3] == 1);
    one = one && calls[2] == 1 && calls[3] == 1;
  };
  count("training step", [&] { all.step(most_rows); });
  count("hardest images", [&] { all.hard_images(); });
  return one;
}

// Bytes in use: of the device, of the process
std::pair<std::int64_t, std::int64_t> memory() {
  std::size_t free = 0, whole = 0;
  GPU_OK(cudaMemGetInfo(&free, &whole));
#if defined(TAPELESS_CUDA_EMULATED)
  cudaMemGetInfo(&free, &whole);
#endif
  long pages = 0, resident = 0;
  if (std::FILE* const f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return {static_cast<std::int64_t>(whole - free), std::int64_t{resident} * sysconf(_SC_PAGESIZE)};
}
bool leaks(long steps) {
  programs all;
  const float at_first = (all.step(most_rows), all.loss());
  const auto run = [&](long n) {
    for (long k = 0; k < n; ++k) {
      // more sizes than a program keeps graphs of, but seldom another one
      all.step(k % 50 == 0 ? 1 + k / 50 % 40 : most_rows);
      if (k % 2 == 0) all.hard_images();
      if (k % 64 == 0) all.s.wait();
      if (k % (n / 50 + 1) == 0) {
        auto again = bind_train(all.s);
        again(*all.p, *all.st, *all.x, *all.t);
      }
    }
    all.s.wait();
  };
  run(steps / 10); // what is made once is there now
  const auto before = memory();
  const double begin = now();
  run(steps);
  const double seconds = now() - begin;
  const auto after = memory();
  const float at_last = (all.step(most_rows), all.loss());
  const std::int64_t device = after.first - before.first, host = after.second - before.second;
  // Allocators keep pieces; a leak of 60 bytes a step is found in 100000.
  const bool holds =
      device <= (std::int64_t{2} << 20) && host <= (std::int64_t{4} << 20) + 20 * steps && at_last < at_first;
  line("leaks")
      .put("steps", steps)
      .put("device_bytes", device)
      .put("host_bytes", host)
      .put("us_a_step", seconds * 1e6 / static_cast<double>(steps))
      .put("first_loss", at_first)
      .put("last_loss", at_last)
      .put("holds", holds);
  return holds;
}

} // namespace

int main(int argc, char** argv) {
  support::bound_programs() = {
      cuda::program_kernels<decltype(train), cuda::on<params>, cuda::on<state>, cuda::on<rows>,
                            cuda::on<targets>>,
      cuda::program_kernels<decltype(hard_step), cuda::on<filters>, cuda::on<images>>};
  if (gpu::only_writes_kernels()) return 0;
  const std::string which = argc > 1 ? argv[1] : "";
  gpu::need_device(which.c_str());
  try {
    if (which == "launches") return launches() ? 0 : 1;
    if (which == "leaks") return leaks(argc > 2 ? std::atol(argv[2]) : 100000) ? 0 : 1;
  } catch (const std::exception& e) {
    line("error").put("error", e.what());
    return 1;
  }
  std::fprintf(stderr, "usage: steps launches | leaks [N]\n");
  return 2;
}
