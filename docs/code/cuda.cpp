// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// [program]
#include <tapeless/cuda.hpp> // and all of tapeless/tapeless.hpp
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>
#include <tuple>
namespace tl = tapeless;
namespace cuda = tapeless::cuda;

struct params {
  tl::tensor<float, 2, 16> w;
  tl::tensor<float, 16> b, out;
};
using points = tl::tensor<const float, tl::dyn<'n'>, 2>;
using values = tl::tensor<const float, tl::dyn<'n'>>;

constexpr auto predict = [](auto p, auto x) { return tl::matmul(tanh(tl::matmul(x, p.w) + p.b), p.out); };
constexpr auto loss = [](auto p, auto x, auto y) { return tl::mean(tl::square(predict(p, x) - y)); };
constexpr auto step = tl::jit(tl::value_and_grad<0>(loss));
// [/program]
// [prepared]
void write_kernels(const char* path) {
  cuda::prepare<cuda::on<params>, cuda::on<points>, cuda::on<values>>(step, path, {"sm_90", "sm_120"});
}
// [/prepared]
// [train]
constexpr auto training = tl::jit([](auto p, auto state, auto x, auto y, auto rate) {
  const auto [value, gradient] = tl::value_and_grad<0>(loss)(p, x, y);
  const auto [next, next_state] = tl::adam_update(p, gradient, state, rate);
  return std::tuple{value, next, next_state};
});
using state = tl::adam_state<params>;
// [/train]

// [custom]
// y_i = x_(i + By), around the end      vjp: x_bar_i += y_bar_(i - By)
template <int By> struct rotated {
  static constexpr tl::shape result(tl::shape x) { return x; }
  static tl::extent_t first(tl::extent_t n) { return n > 0 ? (By % n + n) % n : 0; }
  static void primal(auto y, auto x) { std::rotate_copy(x.begin(), x.begin() + first(x.size()), x.end(), y.begin()); }
  static void launch(cudaStream_t stream, auto y, auto x) { // for a device alone: puts the work on the stream
    const auto copy = [stream](float* to, const float* from, tl::extent_t n) {
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(n) * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    };
    const tl::extent_t at = first(x.size()), rest = x.size() - at;
    copy(y.data(), x.data() + at, rest);
    copy(y.data() + rest, x.data(), at);
  }
  static constexpr auto vjp(auto, auto, auto y_bar) { return tl::custom<rotated<-By>>(y_bar); }
};
// [/custom]

// The product of two numbers, at 64 points
constexpr int count = 64;
void fill(const tl::owned<params>& p, const tl::owned<points>& x, const tl::owned<values>& y) {
  for (int i = 0; i < 32; ++i) p->w[i] = static_cast<float>((7 * i) % 11 - 5) / 8;
  for (int i = 0; i < 16; ++i) p->out[i] = static_cast<float>((5 * i) % 7 - 3) / 8;
  for (int i = 0; i < count; ++i) {
    const float a = static_cast<float>(i % 8) / 4 - 0.875f, b = static_cast<float>(i / 8) / 4 - 0.875f;
    x.mutable_view()[2 * i] = a;
    x.mutable_view()[2 * i + 1] = b;
    y.mutable_view()[i] = a * b;
  }
}

int main(int arguments, char** argument) {
  if (arguments > 1) return write_kernels(argument[1]), 0;
  constexpr tl::dim<'n'> n{count};
  tl::owned<params> host;
  tl::owned<points> host_x(n);
  tl::owned<values> host_y(n);
  fill(host, host_x, host_y);
  auto on_the_cpu = step.bind<params, points, values>(n);
  std::printf("CPU: loss %.4f\n", std::get<0>(on_the_cpu(*host, *host_x, *host_y))[0]);

  // [run]
  const cuda::stream s;            // a queue of the current device
  cuda::owned<params> p(s, *host); // a copy on the device; *p is a cuda::on<params>
  cuda::owned<points> x(s, *host_x);
  cuda::owned<values> y(s, *host_y);
  auto run = step.bind<cuda::on<params>, cuda::on<points>, cuda::on<values>>(s, n); // kernels are compiled here

  const auto [value, gradient] = run(*p, *x, *y); // put on the stream: the host does not wait
  cuda::pinned<tl::scalar<float>> loss_here;      // memory of the host that the device writes to by itself
  tl::copy(value, loss_here, s);
  s.wait(); // now all of it is done
  std::printf("GPU: loss %.4f\n", (*loss_here)());
  // [/run]

  // [launch]
  const cuda::owned<state> moments(s); // zeros
  const cuda::owned<tl::scalar<float>> last(s);
  auto train = training.bind<cuda::on<params>, cuda::on<state>, cuda::on<points>, cuda::on<values>, float>(s, n);
  for (int k = 0; k < 500; ++k) // from the third on a step is two launches: of a number, and of all else
    train.into(std::tuple{*last, *p, *moments})(*p, *moments, *x, *y, k < 250 ? 0.03f : 0.003f);
  tl::copy(last, loss_here, s);
  tl::copy(p, host, s); // into any tree of the host
  s.wait();
  // [/launch]
  std::printf("trained: loss %s, as the CPU finds: %s\n", (*loss_here)() < 1e-3f ? "small" : "large",
              std::get<0>(on_the_cpu(*host, *host_x, *host_y))[0] < 1e-3f ? "small" : "large");

  // [options]
  auto fast = step.bind<cuda::on<params>, cuda::on<points>, cuda::on<values>>(s, n, cuda::options{.tf32 = true});
  // [/options]
  // [capture]
  run.capture(); // the next run, too, is a graph
  run(*p, *x, *y);
  // [/capture]

  // [load]
  constexpr auto prediction = tl::jit(predict);
  auto bound = prediction.bind<cuda::on<params>, cuda::on<points>>(s, n);
  auto infer = bound.load(*p); // what follows from the weights alone is done here
  const cuda::on<tl::tensor<float, tl::dyn<'n'>>> z = infer(*x);
  // [/load]
  std::printf("predictions: %d\n", static_cast<int>(z.tree.size()));

  // [foreign]
  const float* const theirs = (*x).tree.data(); // memory of the device that somebody else owns, as of cudaMalloc
  const cuda::on some(points(theirs, 8));       // the first 8 points: a view
  tl::owned<tl::tensor<float, tl::dyn<'n'>>> few(tl::dim<'n'>(8));
  tl::copy(infer(some), few, s);
  s.wait();
  // [/foreign]
  std::printf("the first one is off by less than 0.1: %s\n", std::abs((*few)(0) - (*host_y)(0)) < 0.1f ? "yes" : "no");

  // [threads]
  const auto work = [&](float* result) {
    const cuda::stream own; // of the current device of this thread; cudaSetDevice chooses another
    const cuda::owned<params> q(own, *host);
    const cuda::owned<points> u(own, *host_x);
    const cuda::owned<values> v(own, *host_y);
    auto mine = step.bind<cuda::on<params>, cuda::on<points>, cuda::on<values>>(own, n); // one for each thread
    cuda::pinned<tl::scalar<float>> back;
    tl::copy(std::get<0>(mine(*q, *u, *v)), back, own);
    own.wait();
    *result = (*back)();
  };
  float a = 0, b = 1;
  std::thread other(work, &a);
  work(&b);
  other.join();
  // [/threads]
  std::printf("two threads, the same bits: %s\n", a == b ? "yes" : "no");

  constexpr auto smooth = tl::jit(tl::grad([](auto v) { return tl::sum(tl::square(tl::custom<rotated<1>>(v) - v)); }));
  tl::owned<tl::tensor<float, tl::dyn<'n'>>> of_device(n);
  auto smooth_there = smooth.bind<cuda::on<values>>(s, n);
  auto smooth_here = smooth.bind<values>(n);
  tl::copy(smooth_there(*y), of_device, s);
  s.wait();
  const auto of_host = smooth_here(*host_y);
  std::printf("an op of one's own, the gradient of the CPU: %s\n", std::equal(of_host.begin(), of_host.end(), of_device->begin()) ? "yes" : "no");

  // [errors]
  try {
    const cuda::owned<points> huge(s, tl::dim<'n'>(tl::extent_t{1} << 50));
  } catch (const cuda::error& e) { std::puts(e.what()); } // e.op, e.library, e.status
  // [/errors]
}
