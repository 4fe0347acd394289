// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// [checked]
#define TAPELESS_CHECKED // better in the build, for all files: -DTAPELESS_CHECKED, or cmake -DTAPELESS_CHECKED=ON
#include <tapeless/tapeless.hpp>
// [/checked]

#include <cstdio>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace tl = tapeless;

// [program]
using X = tl::tensor<float, tl::dyn<'n'>, 3>;
constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
// [/program]

template <class F> void print_refusal(F f) {
  try {
    f();
    std::puts("nothing was refused");
  } catch (const std::exception& e) { std::puts(e.what()); }
}

// [returned]
X doubled(const X& x) {
  auto run = twice.bind_for(x);
  const X result = run(x);
  return result; // looks at the memory of run, which ends here
}
// [/returned]

// [returned_right]
tl::owned<X> doubled_and_kept(const X& x) {
  auto run = twice.bind_for(x);
  tl::owned<X> result(tl::dim<'n'>(x.extent(0)));
  run.into(*result)(x); // or tl::copy(run(x), result)
  return result;
}
// [/returned_right]

int main() {
  std::vector<float> v(24, 1.0f);
  const X x(v, 8);

  std::puts("a result of a local bound object:");
  print_refusal([&] { std::printf("%g\n", doubled(x)[0]); });
  std::printf("%g\n", (*doubled_and_kept(x))[0]);

  std::puts("a result kept over a run:");
  print_refusal([&] {
    // [kept]
    auto run = twice.bind_for(x);
    std::vector<X> results;
    for (int i = 0; i < 3; ++i) results.push_back(run(x)); // three times the same memory
    std::printf("%g\n", results[0][0]);
    // [/kept]
  });
  {
    // [kept_right]
    auto run = twice.bind_for(x);
    std::vector<tl::owned<X>> results;
    for (int i = 0; i < 3; ++i) {
      results.emplace_back(tl::dim<'n'>(8));
      tl::copy(run(x), results.back());
    }
    // [/kept_right]
    std::printf("%g\n", (*results[0])[0]);
  }

  std::puts("fewer elements than the extents:");
  print_refusal([&] {
    // [sizes]
    const X from_pointer(v.data(), 8); // believed: a pointer has no size
    const X from_vector(v, 80000);     // v has 24 elements
    // [/sizes]
    std::printf("%d\n", from_pointer.data() == from_vector.data());
  });

  // [threads]
  auto work = [&x](float& sum) { // a bound object for each thread
    auto run = twice.bind_for(tl::threads(1), x);
    for (int i = 0; i < 100; ++i) sum += run(x)[0];
  };
  float sums[2] = {};
  std::thread other(work, std::ref(sums[0]));
  work(sums[1]);
  other.join();
  // [/threads]
  std::printf("two threads: %g %g\n", sums[0], sums[1]);
}
