#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Where the programs of this folder run, their template argument: on_cpu, or on_gpu where WITH_CUDA is defined.
//   Space::bind<params, X>(program, options...)   the program bound to these trees there
//   Space::place(host_tree)                       the owner of a tree there: that of the host itself, or a copy on the device
//   Space::zeros<params>(dims...)                 likewise
//   Space::number(owner)                          the number in a tree without axes, when what makes it is done
#include <tapeless/tapeless.hpp>
#if defined(WITH_CUDA)
#include <tapeless/cuda.hpp>
#endif

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace tl = tapeless;

struct on_cpu {
  template <class... A, class Program, class... Option> static auto bind(const Program& program,
                                                                         Option... o) {
    return program.template bind<A...>(o...);
  }
  template <class Tree> static tl::owned<Tree> place(tl::owned<Tree>&& x) { return std::move(x); }
  template <class Tree> static tl::owned<Tree> zeros(auto... dims) { return tl::owned<Tree>(dims...); }
  template <class T> static double number(const tl::owned<tl::scalar<T>>& x) {
    return static_cast<double>((*x)());
  }
};

#if defined(WITH_CUDA)
struct on_gpu {
  // A number is the same on both sides.
  template <class A> using on = std::conditional_t<std::is_arithmetic_v<A>, A, tl::cuda::on<A>>;
  template <class... A, class Program, class... Option> static auto bind(const Program& program,
                                                                         Option... o) {
    return program.template bind<on<A>...>(o...);
  }
  // The stream that a program takes where none is given
  static const tl::cuda::stream& stream() { return tl::cuda::stream::common(); }
  template <class Tree> static tl::cuda::owned<Tree> place(tl::owned<Tree>&& x) { return {stream(), x}; }
  template <class Tree> static tl::cuda::owned<Tree> zeros(auto... dims) {
    return tl::cuda::owned<Tree>(stream(), dims...);
  }
  template <class T> static double number(const tl::cuda::owned<tl::scalar<T>>& x) {
    tl::cuda::pinned<tl::scalar<T>> here;
    tl::copy(x, here, stream());
    stream().wait();
    return static_cast<double>((*here)());
  }
};
#endif

inline float uniform(std::mt19937& random) {
  return static_cast<float>(random()) * 0x1p-31f - 1;
} // in [-1, 1)
template <class View> void fill(const View& w, std::mt19937& random, float scale) {
  for (auto& v : w) v = scale * uniform(random);
}

struct loss {
  int step;
  double value;
};
// Runs Problem in each space, prints the losses side by side.   @return 0 where they fall, and agree
template <class Problem> int show(const char* title) {
  std::vector<loss> cpu = Problem::template run<on_cpu>(), gpu;
  bool agree = cpu.back().value < cpu.front().value / 2;
#if defined(WITH_CUDA)
  try {
    gpu = Problem::template run<on_gpu>();
  } catch (const tl::cuda::error& e) { // as where there is no device
    std::fprintf(stderr, "%s\n", e.what());
    agree = false;
  }
#endif
  std::printf("%s\n  step      CPU%s\n", title, gpu.empty() ? "" : "      GPU");
  for (std::size_t k = 0; k < cpu.size(); ++k) {
    std::printf("%6d  %7.4f", cpu[k].step, cpu[k].value);
    if (!gpu.empty()) {
      std::printf("  %7.4f", gpu[k].value);
      agree = agree && std::abs(gpu[k].value - cpu[k].value) < 1e-4;
    }
    std::printf("\n");
  }
  return agree ? 0 : 1;
}
