// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The limits of the attributes of convolution and pooling; the maximum of relus.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr tl::conv nhwc{.padding = 1, .layout = tl::layout::nhwc};
constexpr tl::pool inner{.kernel = 2, .stride = 1, .count_padding = false};
constexpr tl::pool bordered{.kernel = 2, .stride = 1, .padding = 1, .count_padding = false};
constexpr auto mean_inner = [](auto x) { return tl::avg_pool2d<inner>(x); };
constexpr auto mean_all = [](auto x) { return tl::avg_pool2d<tl::pool{.kernel = 2, .stride = 1}>(x); };

// ---- the maximum of relus
template <tl::pool P> constexpr auto pooled = [](auto x) { return tl::max_pool2d<P>(tl::relu(x)); };
// Values that meet: ties, both zeros, infinities, NaN.
std::vector<float> awkward(std::int64_t n) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float all[] = {1, -1, 0,  -0.0f, 2, 2, -inf, 3, std::numeric_limits<float>::quiet_NaN(),
                           1, -2, inf};
  std::vector<float> r;
  for (std::int64_t i = 0; i < n; ++i) r.push_back(all[(i * i / 3 + i) % (i % 5 == 0 ? 12 : 7)]);
  return r;
}
bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}
// P slides over (h, w) with `pad` around, of relu(x): maxima, and what dy gives x. NaN are maxima.
template <tl::pool P, int H, int W> struct naive_pool {
  static constexpr int stride = P.stride.h == 0 ? P.kernel.h : P.stride.h, pad = P.padding.top,
                       p = (H + 2 * pad - P.kernel.h) / stride + 1,
                       q = (W + 2 * pad - P.kernel.w) / stride + 1;
  std::vector<float> y, dx;
  // at(z, i, j), out(z, i, j): where elements of plane z are
  template <class At, class Out>
  naive_pool(int planes, const std::vector<float>& x, const std::vector<float>& dy, At at, Out out)
      : y(static_cast<std::size_t>(planes * p * q)), dx(x.size()) {
    const auto relu = [](float v) { return v <= 0 ? 0.0f : v; };
    for (int z = 0; z < planes; ++z)
      for (int i = 0; i < p; ++i)
        for (int j = 0; j < q; ++j) {
          std::size_t best = x.size();
          for (int r = 0; r < P.kernel.h; ++r)
            for (int s = 0; s < P.kernel.w; ++s) {
              const int a = i * stride - pad + r, b = j * stride - pad + s;
              if (a < 0 || a >= H || b < 0 || b >= W) continue;
              const std::size_t here = at(z, a, b);
              if (best == x.size()) best = here;
              const float v = relu(x[here]), m = relu(x[best]);
              if (m == m && !(v <= m)) best = here;
            }
          y[out(z, i, j)] = relu(x[best]);
          if (x[best] > 0) dx[best] += dy[out(z, i, j)];
        }
  }
};
template <tl::pool P> void check_maximum_of_relus() {
  constexpr int n = 2, c = 19, h = 7, w = 9, planes = n * c;
  using naive = naive_pool<P, h, w>;
  constexpr bool last = P.layout == tl::layout::nhwc;
  using X = std::conditional_t<last, tl::tensor<float, n, h, w, c>, tl::tensor<float, n, c, h, w>>;
  using Y = std::conditional_t<last, tl::tensor<float, n, naive::p, naive::q, c>,
                               tl::tensor<float, n, c, naive::p, naive::q>>;
  const auto place = [](int rows, int columns) {
    return [=](int z, int i, int j) {
      return static_cast<std::size_t>(last ? ((z / c * rows + i) * columns + j) * c + z % c
                                           : (z * rows + i) * columns + j);
    };
  };
  tl::owned<X> x;
  tl::owned<Y> dy;
  const auto xs = awkward((*x).size());
  std::copy(xs.begin(), xs.end(), x->begin());
  std::vector<float> ds;
  for (int i = 0; i < (*dy).size(); ++i) ds.push_back(0.25f * static_cast<float>(i % 7 - 3));
  std::copy(ds.begin(), ds.end(), dy->begin());
  const naive expected(planes, xs, ds, place(h, w), place(naive::p, naive::q));
  auto back = tl::jit(tl::vjp<0>(pooled<P>)).template bind<X, Y>();
  auto forward = tl::jit(pooled<P>).template bind<X>();
  const auto got = forward(*x);
  CHECK(std::equal(got.begin(), got.end(), expected.y.begin(), same_bits));
  const auto dx = back(*x, *dy);
  CHECK(std::equal(dx.begin(), dx.end(), expected.dx.begin()));
  // a relu for each maximum, not for each element
  constexpr auto alone = [](auto v) { return tl::max_pool2d<P>(v); };
  constexpr auto flops = [](const auto& program) { return program.template cost<X>().primal.flops.at(); };
  CHECK(flops(tl::jit(pooled<P>)) == flops(tl::jit(alone)) + static_cast<double>(expected.y.size()));
}

} // namespace

TEST_CASE("padding = same: an output sums the taps that meet the image, up to 255 on each side") {
  using X = tl::tensor<float, 1, 1, 1, 300>;
  using W = tl::tensor<float, 1, 1, 1, 511>;
  tl::owned<X> x;
  tl::owned<W> w;
  std::fill(x->begin(), x->end(), 1.0f);
  std::fill(w->begin(), w->end(), 1.0f);
  auto run =
      tl::jit([](auto a, auto b) { return tl::conv2d<tl::conv{.padding = tl::same}>(a, b); }).bind<X, W>();
  const auto y = run(*x, *w);
  REQUIRE(y.size() == 300);
  for (int q = 0; q < 300; ++q) CHECK(y[q] == std::min(299, q + 255) - std::max(0, q - 255) + 1);
}

TEST_CASE("max_pool2d of relus: the relus of maxima, values and cotangents as written") {
  check_maximum_of_relus<tl::pool{.kernel = 2}>();
  check_maximum_of_relus<tl::pool{.kernel = 3, .stride = 1, .padding = 1}>();
  check_maximum_of_relus<tl::pool{.kernel = 3, .stride = 2, .padding = 1, .layout = tl::layout::nhwc}>();
}

// Positions of x beside maxima of x in another shape, which lie at the same place.
constexpr tl::pool halves{.kernel = 2};
template <int N> constexpr auto wide = [](auto x) {
  return tl::max_pool2d<halves>(tl::reshape<N, 8, 9, 10>(x));
};
constexpr auto gradient_of_sum = tl::grad<0>([](auto x) { return tl::sum(tl::max_pool2d<halves>(x)); });
template <int N> constexpr auto of_two_shapes = [](auto x) {
  return std::tuple(wide<N>(x), gradient_of_sum(x));
};
template <int N> void check_maxima_of_two_shapes() {
  using X = tl::tensor<float, N, 8, 6, 15>;
  tl::owned<X> x;
  for (int i = 0; i < (*x).size(); ++i) (*x)[i] = static_cast<float>(i * 37 % 101);
  auto together = tl::jit(of_two_shapes<N>).template bind<X>();
  auto maxima = tl::jit(wide<N>).template bind<X>();
  auto gradient = tl::jit(gradient_of_sum).template bind<X>();
  const auto [y, dx] = together(*x);
  const auto y1 = maxima(*x);
  const auto dx1 = gradient(*x);
  CHECK(std::equal(y.begin(), y.end(), y1.begin()));
  CHECK(std::equal(dx.begin(), dx.end(), dx1.begin()));
}
TEST_CASE("max_pool2d of a tensor and of a reshape of it: each has its own windows") {
  check_maxima_of_two_shapes<2>();
  check_maxima_of_two_shapes<256>(); // in sweeps
}

TEST_CASE("avg_pool2d counts no taps where there is no padding to leave out") {
  using X = tl::tensor<float, 2, 3, 5, 6>;
  constexpr tl::cost a = tl::jit(mean_inner).cost<X>(), b = tl::jit(mean_all).cost<X>();
  CHECK(a.primal.flops.at() == b.primal.flops.at());
  CHECK(a.primal.steps == b.primal.steps);
  tl::owned<X> x;
  std::fill(x->begin(), x->end(), 3.0f);
  auto padded = tl::jit([](auto v) { return tl::avg_pool2d<bordered>(v); }).bind<X>();
  for (const float e : padded(*x)) CHECK(e == 3.0f);
}

TEST_CASE("convolutions of one to three axes and their transposes: vars make the nodes of the handles") {
  const auto same_nodes = []<class X, class W>(auto f, const X&, const W&) {
    tl::detail::graph g;
    const X x(&g, g.input(0, tl::dtype::f32, X::extents));
    const W w(&g, g.input(1, tl::dtype::f32, W::extents));
    const auto y = f(x, w);
    const tl::var v = f(tl::var(x), tl::var(w)), u = f(tl::var(x), w);
    return y.id() == v.node && y.id() == u.node && v.dims() == decltype(y)::extents;
  };
  constexpr tl::extent_t n = tl::dyn<'n'>;
  using tl::tensor;
  constexpr bool all[] = {
      same_nodes([](auto x, auto w) { return tl::conv1d<tl::conv1{.stride = 2, .padding = tl::same}>(x, w); },
                 tensor<float, n, 4, 7>{}, tensor<float, 3, 4, 3>{}),
      same_nodes([](auto x, auto w) { return tl::conv2d<tl::conv{.padding = 1, .groups = 2}>(x, w); },
                 tensor<float, n, 4, 5, 6>{}, tensor<float, 6, 2, 3, 3>{}),
      same_nodes([](auto x, auto w) { return tl::conv3d<tl::conv3{.stride = {2, 1, 1}, .groups = 2}>(x, w); },
                 tensor<float, n, 4, 3, 5, 6>{}, tensor<float, 6, 2, 2, 3, 3>{}),
      same_nodes(
          [](auto x, auto w) {
            return tl::conv_transpose1d<tl::conv_transpose1{
                .stride = 2, .padding = {0, 1}, .output_padding = 1, .groups = 2}>(x, w);
          },
          tensor<float, n, 4, 5>{}, tensor<float, 4, 3, 3>{}),
      same_nodes(
          [](auto x, auto w) {
            return tl::conv_transpose2d<tl::conv_transpose{.stride = {1, 2}, .groups = 4, .winograd = 0}>(x,
                                                                                                          w);
          },
          tensor<float, n, 4, 5, 6>{}, tensor<float, 4, 3, 3, 3>{}),
      same_nodes(
          [](auto x, auto w) {
            return tl::conv_transpose3d<tl::conv_transpose3{.stride = {2, 1, 3},
                                                            .padding = {1, 0, 0, 0, 0, 1},
                                                            .output_padding = {1, 0, 2},
                                                            .groups = 2}>(x, w);
          },
          tensor<float, n, 4, 3, 2, 2>{}, tensor<float, 4, 3, 2, 3, 3>{})};
  for (const bool same : all) CHECK(same);
}

TEST_CASE("convolutions with a bias: the sum with a bias for the channel axis, of vars as of handles") {
  const auto same_nodes = []<class X, class W, class B>(auto with, auto without, const X&, const W&,
                                                        const B&) {
    tl::detail::graph g;
    const X x(&g, g.input(0, tl::dtype::f32, X::extents));
    const W w(&g, g.input(1, tl::dtype::f32, W::extents));
    const B b(&g, g.input(2, tl::dtype::f32, B::extents));
    const auto y = with(x, w, b);
    const tl::var v = with(tl::var(x), w, b), u = with(x, w, tl::var(b));
    return y.id() == without(x, w, b).id() && y.id() == v.node && y.id() == u.node &&
           v.dims() == decltype(y)::extents;
  };
  constexpr tl::extent_t n = tl::dyn<'n'>;
  using tl::tensor;
  constexpr bool all[] = {
      same_nodes([](auto x, auto w, auto b) { return tl::conv1d<tl::conv1{.stride = 2}>(x, w, b); },
                 [](auto x, auto w, auto b) {
                   return tl::conv1d<tl::conv1{.stride = 2}>(x, w) + tl::reshape<3, 1>(b);
                 },
                 tensor<float, n, 4, 7>{}, tensor<float, 3, 4, 3>{}, tensor<float, 3>{}),
      same_nodes(
          [](auto x, auto w, auto b) { return tl::conv2d<tl::conv{.groups = 2}>(x, w, b); },
          [](auto x, auto w, auto b) { return tl::conv2d<tl::conv{.groups = 2}>(x, w) + tl::channel(b); },
          tensor<float, n, 4, 5, 6>{}, tensor<float, 6, 2, 3, 3>{}, tensor<float, 6>{}),
      same_nodes([](auto x, auto w, auto b) { return tl::conv2d<nhwc>(x, w, b); },
                 [](auto x, auto w, auto b) { return tl::conv2d<nhwc>(x, w) + b; },
                 tensor<float, n, 5, 6, 4>{}, tensor<float, 6, 4, 3, 3>{}, tensor<float, 6>{}),
      same_nodes([](auto x, auto w, auto b) { return tl::conv3d(x, w, b); },
                 [](auto x, auto w, auto b) { return tl::conv3d(x, w) + tl::reshape<6, 1, 1, 1>(b); },
                 tensor<float, n, 2, 3, 5, 6>{}, tensor<float, 6, 2, 2, 3, 3>{}, tensor<float, 6>{}),
      same_nodes([](auto x, auto w, auto b) { return tl::conv_transpose1d(x, w, b); },
                 [](auto x, auto w, auto b) { return tl::conv_transpose1d(x, w) + tl::reshape<3, 1>(b); },
                 tensor<float, n, 4, 5>{}, tensor<float, 4, 3, 3>{}, tensor<float, 3>{}),
      same_nodes([](auto x, auto w,
                    auto b) { return tl::conv_transpose2d<tl::conv_transpose{.groups = 2}>(x, w, b); },
                 [](auto x, auto w, auto b) {
                   return tl::conv_transpose2d<tl::conv_transpose{.groups = 2}>(x, w) + tl::channel(b);
                 },
                 tensor<float, n, 4, 5, 6>{}, tensor<float, 4, 3, 3, 3>{}, tensor<float, 6>{}),
      same_nodes(
          [](auto x, auto w, auto b) { return tl::conv_transpose3d(x, w, b); },
          [](auto x, auto w, auto b) { return tl::conv_transpose3d(x, w) + tl::reshape<3, 1, 1, 1>(b); },
          tensor<float, n, 4, 3, 2, 2>{}, tensor<float, 4, 3, 2, 3, 3>{}, tensor<float, 3>{})};
  for (const bool same : all) CHECK(same);
}
