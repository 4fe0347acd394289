// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Programs whose trees are cuda::on<tree>: their results lie on the device too, and are those of the host.
#include <support/emulated_space.hpp>
#include <support/labelled_rows.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

namespace {

using namespace support::labelled_rows;

} // namespace

TEST_CASE("results lie where the arguments do") {
  const data d;
  auto run = step.bind<cuda::on<params>, cuda::on<images>, cuda::on<labels>>(n);
  auto host = step.bind<params, images, labels>(n);
  const auto [value, gradient] = run(cuda::on{*d.p}, cuda::on{*d.x}, cuda::on{*d.y});
  static_assert(std::is_same_v<std::remove_const_t<decltype(value)>, cuda::scalar<float>>);
  static_assert(std::is_same_v<std::remove_const_t<decltype(gradient)>, cuda::on<params>>);
  const auto [expected, expected_gradient] = host(*d.p, *d.x, *d.y);
  check_close(value.tree, expected);
  check_close(gradient.tree.w, expected_gradient.w);
  check_close(gradient.tree.b, expected_gradient.b);
  CHECK(run.arena_bytes() > host.arena_bytes() / 2);
  // Results are arguments of other programs.
  constexpr auto twice = [](auto p) { return tl::sum(p.w * 2.0f); };
  auto more = tl::jit(twice).bind<cuda::on<params>>();
  CHECK(more(gradient).tree.data()[0] == doctest::Approx(2 *
                                                         [&] {
                                                           double s = 0;
                                                           for (const float v : expected_gradient.w)
                                                             s += static_cast<double>(v);
                                                           return s;
                                                         }())
                                             .epsilon(1e-4));
  // Into the caller's own memory of the device
  tl::owned<params> own;
  tl::owned<tl::scalar<float>> own_value;
  const auto out = run.into(std::tuple{cuda::on{*own_value}, cuda::on{*own}})(cuda::on{*d.p}, cuda::on{*d.x},
                                                                              cuda::on{*d.y});
  CHECK(std::get<1>(out).tree.w.data() == own->w.data());
  check_close(own->w, expected_gradient.w);
}

TEST_CASE("numbers are copied to the device") {
  const data d;
  constexpr auto scaled = [](auto p, auto factor, auto k, auto on) {
    return tl::where(on, p.b * factor, p.b) + tl::cast<float>(k);
  };
  auto run = tl::jit(scaled).bind<cuda::on<params>, float, std::int32_t, bool>();
  auto host = tl::jit(scaled).bind<params, float, std::int32_t, bool>();
  check_close(run(cuda::on{*d.p}, 3.0f, 4, true).tree, host(*d.p, 3.0f, 4, true));
  check_close(run(cuda::on{*d.p}, 2.0, 1, false).tree, host(*d.p, 2.0, 1, false));
}

TEST_CASE("weights are loaded on the device") {
  const data d;
  constexpr auto infer = [](auto p, auto x) { return tl::matmul(x, tl::exp(p.w)) + p.b; };
  auto run = tl::jit(infer).bind<cuda::on<params>, cuda::on<images>>(n);
  auto loaded = run.load(cuda::on{*d.p});
  auto host = tl::jit(infer).bind<params, images>(n);
  check_close(loaded(cuda::on{*d.x}).tree, host(*d.p, *d.x));
  for (float& v : d.p->w) v += 0.5f;
  loaded.load(cuda::on{*d.p});
  check_close(loaded(cuda::on{*d.x}).tree, host(*d.p, *d.x));
}

TEST_CASE("an index beyond is left out") {
  tl::owned<tl::tensor<float, 6, 2>> x;
  fill(x.view(), 1);
  tl::owned<tl::tensor<std::int32_t, 4>> at;
  const std::int32_t values[] = {5, 6, -7, 0};
  for (int i = 0; i < 4; ++i) at->data()[i] = values[i];
  constexpr auto rows = [](auto t, auto k) { return tl::gather(t, k); };
  auto run = tl::jit(rows).bind<cuda::on<tl::tensor<float, 6, 2>>, cuda::on<tl::tensor<std::int32_t, 4>>>();
  const auto y = run(cuda::on{*x}, cuda::on{*at});
  CHECK(y.tree(0, 1) == (*x)(5, 1));
  CHECK(y.tree(1, 0) == 0);
  CHECK(y.tree(2, 1) == 0);
  CHECK(y.tree(3, 0) == (*x)(0, 0));
}

TEST_CASE("bytes and int64 lie on the device; a label beyond int32 is no index there, too") {
  using bytes = tl::tensor<std::uint8_t, 6, 5>;
  using wide = tl::tensor<std::int64_t, 4>;
  tl::owned<bytes> x;
  for (int i = 0; i < 30; ++i) x->data()[i] = static_cast<std::uint8_t>(i * 11);
  tl::owned<wide> at;
  const std::int64_t values[] = {5, std::int64_t{1} << 32, -(std::int64_t{1} << 32), 0};
  for (int i = 0; i < 4; ++i) at->data()[i] = values[i];
  constexpr auto rows = [](auto t, auto k) {
    return std::tuple{tl::gather(t, tl::cast<std::int32_t>(k)), tl::cast<float>(t) * 0.5f, tl::flip<0>(k)};
  };
  auto run = tl::jit(rows).bind<cuda::on<bytes>, cuda::on<wide>>();
  const auto [picked, half, turned] = run(cuda::on{*x}, cuda::on{*at});
  for (int j = 0; j < 5; ++j) {
    CHECK(picked.tree(0, j) == (*x)(5, j));
    CHECK(picked.tree(1, j) == 0);
    CHECK(picked.tree(2, j) == 0);
    CHECK(picked.tree(3, j) == (*x)(0, j));
    CHECK(half.tree(4, j) == 0.5f * static_cast<float>((*x)(4, j)));
  }
  for (int i = 0; i < 4; ++i) CHECK(turned.tree[i] == values[3 - i]);
}

TEST_CASE("what is the same on both sides") {
  static_assert(step.cost<cuda::on<params>, cuda::on<images>, cuda::on<labels>>().primal.steps ==
                step.cost<params, images, labels>().primal.steps);
  CHECK(step.explain<cuda::on<params>, cuda::on<images>, cuda::on<labels>>().find("matmul") !=
        std::string::npos);
  const data d;
  auto run = tl::jit(loss).bind_for(cuda::on{*d.p}, cuda::on{*d.x}, cuda::on{*d.y});
  auto host = tl::jit(loss).bind_for(*d.p, *d.x, *d.y);
  check_close(run(cuda::on{*d.p}, cuda::on{*d.x}, cuda::on{*d.y}).tree, host(*d.p, *d.x, *d.y));
}
