// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Programs on the device as users write them, on a runtime that runs on the host: streams, memory, graphs.
#include <tapeless/cuda.hpp>

#include <support/cuda_runtime.hpp>
#include <support/labelled_rows.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

namespace {

using namespace support::labelled_rows;

struct on_the_device {
  cuda::owned<params> p;
  cuda::owned<images> x;
  cuda::owned<labels> y;
  on_the_device(const cuda::stream& s, const data& d) : p(s, d.p), x(s, d.x), y(s, d.y) {}
};
template <class... Option> auto bound(const Option&... option) {
  return step.bind<cuda::on<params>, cuda::on<images>, cuda::on<labels>>(option...);
}
auto bound_on_the_host() { return step.bind<params, images, labels>(n); }
} // namespace

TEST_CASE("a step, eager, captured and replayed") {
  const cuda::stream s;
  data d;
  const on_the_device at(s, d);
  auto run = bound(s, n);
  auto host = bound_on_the_host();
  cuda::pinned<params> gradient;
  cuda::pinned<tl::scalar<float>> value;
  for (std::uint64_t k = 0; k < 5; ++k) {
    fill(d.p->w, 10 + k);
    tl::copy(d.p, at.p, s);
    const auto [v, g] = run(*at.p, *at.x, *at.y);
    tl::copy(g, gradient, s);
    tl::copy(v, value, s);
    fill(d.p->b, 100 + k); // pageable memory has been read
    s.wait();
    fill(d.p->b, 2);
    const auto [expected, expected_gradient] = host(*d.p, *d.x, *d.y);
    check_close(*value, expected);
    check_close(gradient->w, expected_gradient.w);
    check_close(gradient->b, expected_gradient.b);
  }
}

TEST_CASE("a graph is of its pointers and extents") {
  const cuda::stream s;
  const data one(1), two(50);
  const on_the_device a(s, one), b(s, two);
  auto run = bound(s, n);
  auto host = bound_on_the_host();
  for (int k = 0; k < 4; ++k)
    for (int which = 0; which < 2; ++which)
      for (const tl::extent_t rows : {tl::extent_t{9}, tl::extent_t{4}, tl::extent_t{0}}) {
        const on_the_device& at = which == 0 ? a : b;
        const data& d = which == 0 ? one : two;
        const cuda::on x{images((*at.x).tree.data(), rows)};
        const cuda::on y{labels((*at.y).tree.data(), rows)};
        cuda::pinned<params> gradient;
        tl::copy(std::get<1>(run(*at.p, x, y)), gradient, s);
        s.wait();
        const auto expected = host(*d.p, images(d.x->data(), rows), labels(d.y->data(), rows));
        if (rows > 0) check_close(gradient->w, std::get<1>(expected).w);
      }
}

TEST_CASE("the default stream of the device is a stream of the caller's") {
  const cuda::stream s(nullptr);
  const data d;
  const on_the_device at(s, d);
  auto run = bound(s, n);
  auto host = bound_on_the_host();
  cuda::pinned<params> gradient;
  for (int k = 0; k < 3; ++k) {
    tl::copy(std::get<1>(run(*at.p, *at.x, *at.y)), gradient, s);
    s.wait();
    check_close(gradient->w, std::get<1>(host(*d.p, *d.x, *d.y)).w);
  }
}

TEST_CASE("capture() makes the graph in the next run") {
  const cuda::stream s;
  const data d;
  const on_the_device at(s, d);
  auto run = bound(s, n);
  run.capture();
  cuda::pinned<tl::scalar<float>> value;
  tl::copy(std::get<0>(run(*at.p, *at.x, *at.y)), value, s);
  s.wait();
  auto host = bound_on_the_host();
  check_close(*value, std::get<0>(host(*d.p, *d.x, *d.y)));
}

TEST_CASE("results of counted rows have room for those of this run") {
  using vector = tl::tensor<const float, tl::dyn<'n'>>;
  constexpr auto chosen = [](auto x) {
    const auto k = tl::where<'k'>(x > 0.0f);
    return std::tuple{k, tl::gather(x, k)};
  };
  const cuda::stream s;
  const std::vector<float> values{1, 2, -3, 4, 5, 6};
  auto run = tl::jit(chosen).bind<cuda::on<vector>>(s, tl::dim<'n'>(6));
  const cuda::owned<vector> x(s, vector(values.data(), 6));
  for (int again = 0; again < 3; ++again)
    for (const tl::extent_t rows : {6, 3, 0, 5}) {
      const auto [positions, kept] = run(cuda::on{vector((*x).tree.data(), rows)});
      REQUIRE(kept.tree.extent(0) == rows);
      cuda::pinned<std::remove_cvref_t<decltype(kept.tree)>> here(tl::dim<'k'>{rows});
      cuda::pinned<std::remove_cvref_t<decltype(positions.tree)>> at(tl::dim<'k'>{rows});
      tl::copy(kept, here, s);
      tl::copy(positions, at, s);
      s.wait();
      int k = 0;
      for (int i = 0; i < rows; ++i)
        if (values[static_cast<std::size_t>(i)] > 0) {
          CHECK(here->data()[k] == values[static_cast<std::size_t>(i)]);
          CHECK(at->data()[k++] == i);
        }
      for (; k < rows; ++k) {
        CHECK(here->data()[k] == 0);
        CHECK(at->data()[k] == -1);
      }
    }
}

TEST_CASE("bind has all kernels that other extents ask for") {
  using matrix = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
  using columns = tl::tensor<float, tl::dyn<'c'>, tl::dyn<'k'>>;
  using rows = tl::tensor<float, tl::dyn<'r'>, tl::dyn<'k'>>;
  constexpr auto f = [](auto a, auto x, auto y) { return tl::sum(tl::square(tl::matmul(a, x) - y)); };
  const cuda::stream s;
  const tl::dim<'r'> r{60};
  const tl::dim<'c'> c{50};
  const tl::dim<'e'> e{3000};
  const tl::dim<'k'> most{20};
  auto run = tl::jit(tl::value_and_grad<0, 1>(f))
                 .bind<cuda::on<matrix>, cuda::on<columns>, cuda::on<rows>>(s, r, c, e, most);
  auto host = tl::jit(tl::value_and_grad<0, 1>(f)).bind<matrix, columns, rows>(r, c, e, most);
  for (const auto [m, each, k] :
       {std::array<int, 3>{60, 50, 1}, {60, 1, 1}, {60, 2, 20}, {1, 50, 3}, {0, 0, 9}}) {
    const tl::dim<'r'> here{m};
    const tl::dim<'k'> width{k};
    tl::owned<matrix> a(here, c, tl::dim<'e'>{m * each});
    a.for_each_mutable_leaf([&, leaf = 0](const auto& x) mutable {
      using T = typename std::remove_cvref_t<decltype(x)>::value_type;
      for (tl::extent_t i = 0; i < x.size(); ++i)
        x.data()[i] = static_cast<T>(leaf == 0 ? i % 7 - 3 : leaf == 1 ? i % each : (i + 1) * each);
      ++leaf;
    });
    tl::owned<columns> x(c, width);
    tl::owned<rows> y(here, width);
    fill(*x, 1);
    fill(*y, 2);
    const cuda::owned<matrix> da(s, a);
    const cuda::owned<columns> dx(s, x);
    const cuda::owned<rows> dy(s, y);
    cuda::pinned<columns> gradient(c, width);
    tl::copy(std::get<2>(run(*da, *dx, *dy)), gradient, s);
    s.wait();
    const auto expected = host(*a, *x, *y);
    check_close(*gradient, std::get<2>(expected));
  }
}

TEST_CASE("where plans of libraries go, the graphs that may have them go first") {
  const cuda::stream s;
  const data d;
  const on_the_device at(s, d);
  auto run = bound(s, n);
  const auto calls = [&] {
    const int before = calls_of_the_runtime();
    run(*at.p, *at.x, *at.y);
    return calls_of_the_runtime() - before;
  };
  for (int k = 0; k < 2; ++k) calls();
  CHECK(calls() == 1); // a graph
  cuda::libraries::many = true;
  CHECK(calls() > 2);
  CHECK(!cuda::libraries::many);
  calls();
  CHECK(calls() == 1);
}

TEST_CASE("a stream of the caller's is of its own device") {
  cudaSetDevice(1);
  cuda::stream made;
  cudaSetDevice(0);
  CHECK(made.device() == 1);
  CHECK(cuda::stream(made.get()).device() == 1);
  CHECK(cuda::stream(nullptr).device() == 0);
}

TEST_CASE("options are numbers of bytes") {
  CHECK_THROWS_WITH_AS(
      bound(n, cuda::options{.conv_workspace = static_cast<std::size_t>(-1)}),
      "tapeless: cuda: bind: options.conv_workspace is -1: a number of bytes is not negative",
      tl::argument_error);
  CHECK_THROWS_WITH_AS(
      bound(n, cuda::options{.matmul_workspace = static_cast<std::size_t>(-5)}),
      "tapeless: cuda: bind: options.matmul_workspace is -5: a number of bytes is not negative",
      tl::argument_error);
}

namespace {

// y_ij = a_i b_j by a kernel of the user's, which the user launches
struct outer_kernel {
  float* y;
  const float *a, *b;
  tl::extent_t rows, columns;
  void operator()(const cuda::host_block& block) const {
    if (block.index == 0)
      for (tl::extent_t k = 0; k < rows * columns; ++k) y[k] = a[k / columns] * b[k % columns];
  }
};
bool launches_nothing = false;
int launches = 0;
struct outer {
  static constexpr tl::shape result(tl::shape a, tl::shape b) { return {2, {a[0], b[0]}}; }
  static void primal(auto y, auto a, auto b) {
    for (tl::extent_t i = 0; i < a.extent(0); ++i)
      for (tl::extent_t j = 0; j < b.extent(0); ++j) y(i, j) = a[i] * b[j];
  }
  static void launch(cudaStream_t stream, auto y, auto a, auto b) {
    ++launches;
    outer_kernel k{y.data(), a.data(), b.data(), a.size(), b.size()};
    void* argument[] = {&k};
    static_cast<void>(cudaLaunchKernel(&cuda::emulated<outer_kernel>, dim3(launches_nothing ? 0 : 2),
                                       dim3(32), argument, 0, stream));
  }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar) {
    return std::tuple{tl::matmul(y_bar, b), tl::matmul(a, y_bar)};
  }
};
using vector = tl::tensor<float, tl::dyn<'n'>>;
constexpr auto loss_of_outer = tl::jit(tl::value_and_grad<0, 1>(
    [](auto a, auto b) { return tl::sum(tl::square(tl::custom<outer>(a, tl::exp(b)))); }));

} // namespace

TEST_CASE("a custom op of tensors launches a kernel of the user's: eager, captured and replayed") {
  const cuda::stream s;
  tl::owned<vector> a(n), b(n);
  const cuda::owned<vector> on_a(s, a), on_b(s, b);
  auto run = loss_of_outer.bind<cuda::on<vector>, cuda::on<vector>>(s, n);
  CHECK(launches == 0); // not at bind
  auto host = loss_of_outer.bind<vector, vector>(n);
  cuda::pinned<vector> of_a(n), of_b(n);
  for (std::uint64_t k = 0; k < 5; ++k) {
    fill(*a, k);
    fill(*b, 10 + k);
    tl::copy(a, on_a, s);
    tl::copy(b, on_b, s);
    const int before = calls_of_the_runtime();
    const auto [value, along_a, along_b] = run(*on_a, *on_b);
    if (k > 1) CHECK(calls_of_the_runtime() - before == 1);
    tl::copy(along_a, of_a, s);
    tl::copy(along_b, of_b, s);
    s.wait();
    const auto [expected, expected_a, expected_b] = host(*a, *b);
    check_close(*of_a, expected_a);
    check_close(*of_b, expected_b);
  }
  CHECK(launches == 2); // eager and captured
}

TEST_CASE("what the user's launch does wrong is an error of the run") {
  const cuda::stream s;
  const cuda::owned<vector> a(s, n), b(s, n);
  auto run = loss_of_outer.bind<cuda::on<vector>, cuda::on<vector>>(s, n);
  launches_nothing = true;
  CHECK_THROWS_WITH_AS(run(*a, *b), "tapeless: cuda: custom: CUDA runtime: invalid configuration argument",
                       cuda::error);
  launches_nothing = false;
  run.capture();
  run(*a, *b);
  s.wait();
}

TEST_CASE("numbers change from run to run") {
  const cuda::stream s;
  const data d;
  const cuda::owned<params> p(s, d.p);
  constexpr auto scaled = [](auto q, auto factor) { return q.b * factor; };
  auto run = tl::jit(scaled).bind<cuda::on<params>, float>(s);
  cuda::pinned<tl::tensor<float, 7>> y;
  for (int k = 1; k < 5; ++k) {
    tl::copy(run(*p, static_cast<float>(k)), y, s);
    s.wait();
    for (int i = 0; i < 7; ++i) CHECK(y->data()[i] == d.p->b.data()[i] * static_cast<float>(k));
  }
}

TEST_CASE("a training step, gradient and Adam, is one launch, in place") {
  constexpr auto train = [](auto p, auto state, auto x, auto y) {
    const auto [value, gradient] = tl::value_and_grad(loss)(p, x, y);
    const auto [next, next_state] =
        tl::adam_update(p, gradient, state, tl::adam_options{.learning_rate = 0.05});
    return std::tuple{value, next, next_state};
  };
  using state_type = tl::adam_state<params>;
  const cuda::stream s;
  data d;
  const on_the_device at(s, d);
  const cuda::owned<state_type> state(s);
  const cuda::owned<tl::scalar<float>> value(s);
  auto run =
      tl::jit(train).bind<cuda::on<params>, cuda::on<state_type>, cuda::on<images>, cuda::on<labels>>(s, n);
  tl::adam<params> host_adam(tl::adam_options{.learning_rate = 0.05});
  auto host = bound_on_the_host();
  cuda::pinned<params> p;
  for (int k = 0; k < 6; ++k) {
    const int before = calls_of_the_runtime();
    run.into(std::tuple{*value, *at.p, *state})(*at.p, *state, *at.x, *at.y);
    if (k > 1) CHECK(calls_of_the_runtime() - before == 1);
    host_adam.step(d.p, std::get<1>(host(*d.p, *d.x, *d.y)));
    tl::copy(at.p, p, s);
    s.wait();
    check_close(p->w, d.p->w);
    check_close(p->b, d.p->b);
  }
}

TEST_CASE("results that are copied into arguments at the end are part of what a graph is of") {
  using square = tl::tensor<float, 3, 3>;
  const cuda::stream s;
  tl::owned<square> a, b;
  fill(*a, 1);
  fill(*b, 2);
  // Both arguments are read after either result is made.
  constexpr auto f = [](auto x, auto y) {
    const auto z = tl::matmul(x, y), w = tl::matmul(y, x);
    return std::tuple{z, w, tl::matmul(tl::matmul(z, x), tl::matmul(w, y))};
  };
  auto run = tl::jit(f).bind<cuda::on<square>, cuda::on<square>>(s);
  auto host = tl::jit(f).bind<square, square>();
  const auto [first, second, third] = host(*a, *b);
  cuda::pinned<square> p, q;
  const cuda::owned<square> x(s, a), y(s, b), z(s);
  for (int k = 0; k < 6; ++k) {
    tl::copy(a, x, s);
    tl::copy(b, y, s);
    if (k % 2 == 0) run.into(std::tuple{*x, *y, *z})(*x, *y);
    else run.into(std::tuple{*y, *x, *z})(*x, *y);
    tl::copy(k % 2 == 0 ? x : y, p, s);
    tl::copy(k % 2 == 0 ? y : x, q, s);
    s.wait();
    check_close(*p, first);
    check_close(*q, second);
    tl::copy(z, p, s);
    s.wait();
    check_close(*p, third);
  }
}

TEST_CASE("a bound object may move, and several share a stream") {
  const data d;
  const cuda::stream& s = cuda::stream::common();
  const on_the_device at(s, d);
  auto first = bound(n);
  auto second = bound(n, cuda::options{});
  auto run = std::move(first);
  cuda::pinned<tl::scalar<float>> a, b;
  for (int k = 0; k < 3; ++k) {
    tl::copy(std::get<0>(run(*at.p, *at.x, *at.y)), a, s);
    tl::copy(std::get<0>(second(*at.p, *at.x, *at.y)), b, s);
  }
  s.wait();
  CHECK((*a)() == (*b)());
}

TEST_CASE("where memory does not suffice, nothing stays behind") {
  const cuda::stream s;
  const data d;
  const on_the_device at(s, d);
  s.wait();
  const std::size_t before = memory_in_use();
  set_memory_of_the_device(before + 100);
  std::string message;
  try {
    bound(s, n);
  } catch (const cuda::error& e) { message = e.what(); }
  set_memory_of_the_device(std::size_t{1} << 40);
  CHECK(message == "tapeless: cuda: bind: CUDA runtime: out of memory");
  CHECK(memory_in_use() == before);
}

TEST_CASE("the kernels of a program are those that its steps and its loads launch") {
  constexpr auto infer = tl::jit([](auto p, auto x) { return tl::matmul(x, tl::exp(p.w)) + p.b; });
  const auto names = cuda::kernels_of<cuda::on<params>, cuda::on<images>>(infer);
  CHECK(names == cuda::kernels_of<params, images>(infer));
  // exp is a step of the load, and part of the run's loops otherwise
  CHECK(names.size() >= 3);
  for (const std::string& name : names) CHECK(name.find("tapeless::cuda::run_kernel<") == 0);
}

TEST_CASE("what may turn the operands of a convolution of bf16 is among its kernels") {
  using tl::bf16;
  constexpr auto f = tl::jit([](auto x, auto w) { return tl::conv2d(x, w); });
  const auto names = cuda::kernels_of<tl::tensor<bf16, 2, 3, 5, 6>, tl::tensor<bf16, 4, 3, 3, 3>>(f);
  for (const char* const part : {"widen_kernel", "turn_kernel<tapeless::bf16>", "turn_kernel<float>"})
    CHECK(std::any_of(names.begin(), names.end(),
                      [&](const std::string& name) { return name.find(part) != name.npos; }));
}

TEST_CASE("trees of the device") {
  const cuda::stream s;
  const data d;
  cuda::owned<images> x(s, d.x), moved = std::move(x);
  CHECK((*x).tree.data() == nullptr);
  const cuda::owned<images> copy(s, moved);
  tl::owned<images> back(n);
  tl::copy(copy, back, s);
  s.wait();
  for (tl::extent_t i = 0; i < back->size(); ++i) CHECK(back->data()[i] == d.x->data()[i]);
  CHECK_THROWS_WITH_AS(tl::copy(copy, tl::owned<images>(tl::dim<'n'>(8)), s),
                       "tapeless: copy(from, to, stream): to has 40 elements in leaf 0, expected 45",
                       tl::argument_error);
}
