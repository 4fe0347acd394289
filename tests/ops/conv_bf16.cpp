// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Convolutions of bf16 in programs. Small integers are bf16, and so are the cotangents of sums of so few of them: values,
// gradients and second derivatives are exactly those of float.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/allocations.hpp>
#include <support/random.hpp>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

template <bool Rounds> constexpr auto stored(auto a) {
  if constexpr (Rounds) return tl::cast<tl::bf16>(a);
  else return a;
}
template <class Conv, bool Rounds> struct squares {
  constexpr auto operator()(auto x, auto w) const {
    return tl::sum(tl::square(Conv{}(stored<Rounds>(x), stored<Rounds>(w))));
  }
};
template <class Conv, bool Rounds> struct values {
  constexpr auto operator()(auto x, auto w) const { return Conv{}(stored<Rounds>(x), stored<Rounds>(w)); }
};

std::vector<float> minus_one_to_one(tl::extent_t size, std::uint64_t seed) {
  std::vector<float> v;
  for (const std::int32_t i : support::random_integers(static_cast<std::size_t>(size), seed, -1, 2))
    v.push_back(static_cast<float>(i));
  return v;
}
// What a step may ask for, of a batch of `images`.
template <bool Second, class X, class W, class Conv, bool Rounds>
std::vector<float> results(tl::extent_t images, tl::extent_t of_image, int threads) {
  const tl::owned<W> w, w_dot;
  const auto fill = [](const auto& t, std::uint64_t seed) {
    const auto v = minus_one_to_one(t.size(), seed);
    std::copy(v.begin(), v.end(), t.begin());
  };
  fill(*w, 1);
  fill(*w_dot, 2);
  auto x = minus_one_to_one(images * of_image, 3), x_dot = minus_one_to_one(images * of_image, 4);
  const X xv(x.data(), images), xv_dot(x_dot.data(), images);
  std::vector<float> all;
  const auto run = [&](auto f, const auto&... arguments) {
    auto program = tl::jit(f).template bind<std::remove_cvref_t<decltype(arguments)>...>(
        tl::dim<'n'>(images), tl::threads(threads));
    tl::for_each_leaf(program(arguments...),
                      [&](const auto& leaf) { all.insert(all.end(), leaf.begin(), leaf.end()); });
    CHECK(support::allocations_of([&] { program(arguments...); }) == 0);
  };
  using f = squares<Conv, Rounds>;
  run(tl::value_and_grad<0, 1>(f{}), xv, *w);
  if constexpr (Second) {
    run(values<Conv, Rounds>{}, xv, *w);
    run(tl::hvp<0>(f{}), xv, *w, xv_dot);
    run(tl::jvp<0, 1>(f{}), xv, *w, xv_dot, *w_dot);
  }
  return all;
}
template <class X, class W, bool Second = false, class Conv> void check(tl::extent_t of_image, Conv) {
  for (const tl::extent_t images : {1, 2, 5}) {
    CAPTURE(images);
    const auto expected = results<Second, X, W, Conv, false>(images, of_image, 1);
    CHECK(results<Second, X, W, Conv, true>(images, of_image, 1) == expected);
    CHECK(results<Second, X, W, Conv, true>(images, of_image, 3) == expected);
  }
}

} // namespace

TEST_CASE("conv2d of bf16: values, gradients and second derivatives of small integers are those of float") {
  check<tl::tensor<float, n, 6, 7, 9>, tl::tensor<float, 20, 6, 3, 3>, true>(
      6 * 7 * 9, [](auto x, auto w) { return tl::conv2d<tl::conv{.padding = 1}>(x, w); });
  check<tl::tensor<float, n, 10, 8, 6>, tl::tensor<float, 12, 5, 3, 2>>(10 * 8 * 6, [](auto x, auto w) {
    return tl::conv2d<tl::conv{.stride = 2, .padding = tl::padding2{0, 1, 1, 0}, .groups = 2}>(x, w);
  });
  check<tl::tensor<float, n, 7, 9, 5>, tl::tensor<float, 17, 5, 3, 3>>(7 * 9 * 5, [](auto x, auto w) {
    return tl::conv2d<tl::conv{.padding = 2, .dilation = 2, .layout = tl::layout::nhwc}>(x, w);
  });
  check<tl::tensor<float, n, 11, 4, 4>, tl::tensor<float, 11, 1, 3, 3>>(
      11 * 4 * 4, [](auto x, auto w) { return tl::conv2d<tl::conv{.padding = 1, .groups = 11}>(x, w); });
}

TEST_CASE("conv2d of bf16: one pixel filters, one channel, filters as large as the image") {
  check<tl::tensor<float, n, 9, 5, 3>, tl::tensor<float, 18, 9, 1, 1>>(
      9 * 5 * 3, [](auto x, auto w) { return tl::conv2d(x, w); });
  check<tl::tensor<float, n, 1, 5, 3>, tl::tensor<float, 18, 1, 1, 1>>(
      5 * 3, [](auto x, auto w) { return tl::conv2d(x, w); });
  check<tl::tensor<float, n, 3, 4, 5>, tl::tensor<float, 5, 3, 4, 5>>(
      3 * 4 * 5, [](auto x, auto w) { return tl::conv2d(x, w); });
}

TEST_CASE("convolutions of bf16 over one and three axes, and transposed ones, are those of float") {
  check<tl::tensor<float, n, 5, 12>, tl::tensor<float, 16, 5, 3>>(
      5 * 12, [](auto x, auto w) { return tl::conv1d<tl::conv1{.stride = 2, .padding = 1}>(x, w); });
  check<tl::tensor<float, n, 2, 3, 4, 5>, tl::tensor<float, 16, 2, 2, 3, 3>>(
      2 * 3 * 4 * 5, [](auto x, auto w) { return tl::conv3d<tl::conv3{.padding = 1}>(x, w); });
  check<tl::tensor<float, n, 6, 3, 4>, tl::tensor<float, 6, 16, 3, 3>>(6 * 3 * 4, [](auto x, auto w) {
    return tl::conv_transpose2d<tl::conv_transpose{.stride = 2, .padding = 1}>(x, w);
  });
}

constexpr std::array<bool, 20> nine_filters = [] {
  std::array<bool, 20> kept{};
  for (std::size_t i = 0; i < 20; ++i) kept[i] = i % 2 == 0 && i < 18;
  return kept;
}();
constexpr auto kept_conv = [](auto x, auto w) {
  return tl::conv2d<tl::conv{.padding = 1}>(x, tl::keep<0, nine_filters>(w));
};
constexpr auto rounded_kept_conv = [](auto x, auto w) {
  return tl::conv2d<tl::conv{.padding = 1}>(stored<true>(x), stored<true>(tl::keep<0, nine_filters>(w)));
};

TEST_CASE("conv2d of bf16: filters that a mask takes away are skipped, as in float") {
  using X = tl::tensor<float, 2, 6, 7, 9>;
  using W = tl::tensor<float, 20, 6, 3, 3>;
  constexpr tl::cost plain = tl::jit(kept_conv).cost<X, W>(),
                     rounded = tl::jit(rounded_kept_conv).cost<X, W>();
  static_assert(plain.flops().at() == rounded.flops().at());
  tl::owned<std::tuple<X, W>> in;
  const auto& [x, w] = *in;
  const auto xs = minus_one_to_one(x.size(), 5), ws = minus_one_to_one(w.size(), 6);
  std::copy(xs.begin(), xs.end(), x.begin());
  std::copy(ws.begin(), ws.end(), w.begin());
  auto exact = tl::jit(kept_conv).bind<X, W>();
  auto run = tl::jit(rounded_kept_conv).bind<X, W>();
  const auto y = exact(x, w), z = run(x, w);
  CHECK(std::equal(y.begin(), y.end(), z.begin()));
}

TEST_CASE("conv2d of bf16: handles that carry their extents give the same program") {
  using X = tl::tensor<float, 2, 6, 7, 9>;
  using W = tl::tensor<float, 20, 6, 3, 3>;
  constexpr auto typed = [](auto x, auto w) {
    return tl::sum(tl::square(tl::conv2d<tl::conv{.padding = 1}>(stored<true>(x), stored<true>(w))));
  };
  constexpr auto carried = [](auto x, auto w) {
    const tl::var a = stored<true>(x), b = stored<true>(w);
    return tl::sum(tl::square(tl::conv2d<tl::conv{.padding = 1}>(a, b))).template as<float>();
  };
  constexpr tl::cost one = tl::jit(tl::value_and_grad<0, 1>(typed)).cost<X, W>(),
                     other = tl::jit(tl::value_and_grad<0, 1>(carried)).cost<X, W>();
  static_assert(one.flops().at() == other.flops().at() && one.bytes().at() == other.bytes().at());
}

// Each operand is rounded by 2^-9 of itself at most; a value that is rounded is rounded wherever it is used.
TEST_CASE("conv2d of bf16: a network of rounded activations stays near that of float, loaded or not") {
  struct params {
    tl::tensor<float, 32, 3, 3, 3> first;
    tl::tensor<float, 32> bias;
    tl::tensor<float, 16, 32, 3, 3> second;
  };
  constexpr auto network = []<bool Rounds>(std::bool_constant<Rounds>) {
    return [](const auto& p, auto x) {
      const auto h = tl::relu(tl::conv2d<tl::conv{.stride = 2, .padding = 1}>(
          stored<Rounds>(x), stored<Rounds>(p.first), p.bias));
      return tl::conv2d<tl::conv{.padding = 1}>(stored<Rounds>(h), stored<Rounds>(p.second));
    };
  };
  using X = tl::tensor<float, 4, 3, 16, 16>;
  tl::owned<params> p;
  const tl::owned<X> x;
  std::uint64_t seed = 7;
  const auto fill = [&](const auto& leaf) {
    const auto v = support::random_values<float>(static_cast<std::size_t>(leaf.size()), seed++);
    std::copy(v.begin(), v.end(), leaf.begin());
  };
  tl::for_each_leaf(*p, fill);
  fill(*x);
  auto exact = tl::jit(network(std::false_type{})).bind<params, X>();
  auto rounded = tl::jit(network(std::true_type{})).bind<params, X>();
  const auto y = exact(*p, *x), z = rounded(*p, *x);
  double most = 0, off = 0, norm = 0;
  for (tl::extent_t i = 0; i < y.size(); ++i) {
    most = std::max(most, std::abs(double{y[i]} - double{z[i]}));
    off += (double{y[i]} - double{z[i]}) * (double{y[i]} - double{z[i]});
    norm += double{y[i]} * double{y[i]};
  }
  CHECK(off <= 0x1p-14 * norm); // each rounding moves by 2^-9 of itself at most, in the mean by half of that
  CHECK(most > 0);
  auto loaded = rounded.load(*p);
  const auto l = loaded(*x);
  for (tl::extent_t i = 0; i < y.size(); ++i)
    CHECK(std::abs(l[i] - z[i]) <= 1e-5f * std::sqrt(static_cast<float>(norm)));
}
