#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Images whose slots are used again once a selection has left them out: the program is what it is of copies of the images that
// are selected.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <support/allocations.hpp>
#include <support/compare.hpp>
#include <support/random.hpp>
#include <tuple>
#include <vector>

#include <tapeless/tapeless.hpp>

#include "reference/select.hpp"

namespace recycled_slots_test {

namespace tl = tapeless;

constexpr int n = 37, kept = 9, side = 21, channels = 3, width = 40;
constexpr int image = channels * side * side;
template <class T, int N> using images = tl::tensor<T, N, channels, side, side>;
template <class T, int N> using scales = tl::tensor<T, N>;
template <class T> using first = tl::tensor<T, width, channels, 3, 3>;
template <class T> using second = tl::tensor<T, width, width, 3, 3>;

// the loss of each image, behind a pool or not; the scale is the data's, to say which are the hardest
template <bool Pools> constexpr auto losses_of_network = [](auto x, auto scale, auto w1, auto w2) {
  constexpr tl::conv same{.padding = 1};
  constexpr auto pooled = [](auto h) {
    if constexpr (Pools) return tl::max_pool2d<tl::pool{.kernel = 3, .stride = 2}>(h);
    else return h;
  };
  const auto h = pooled(tl::relu(tl::conv2d<same>(tl::relu(tl::conv2d<same>(x, w1)), w2)));
  return tl::sum<1, 2, 3>(tl::square(h)) * scale;
};
inline constexpr auto losses = losses_of_network<false>;
template <bool Pools> constexpr auto of_all = tl::value_and_grad<2, 3>(
    [](auto x, auto scale, auto w1, auto w2) { return tl::sum(losses_of_network<Pools>(x, scale, w1, w2)); });
template <auto Select, bool Pools = false> constexpr auto of_selected =
    tl::value_and_grad<2, 3>([](auto x, auto scale, auto w1, auto w2) {
      const auto l = losses_of_network<Pools>(x, scale, w1, w2);
      return tl::sum(tl::gather(l, Select(l)));
    });
inline constexpr auto k_greatest = [](auto l) { return tl::top_k<kept>(l); };
inline constexpr auto k_least = [](auto l) { return tl::bottom_k<kept>(l); };
inline constexpr auto a_quarter = [](auto l) { return tl::top_k<tl::percent{25}>(l); };

template <class F, class... A> constexpr const auto& plan_of =
    tl::detail::planned_with<false, F, A...>::value;
template <class T, class F, class... More> constexpr bool has_places() {
  return tl::cpu::has_recycled_slots<
      plan_of<std::remove_const_t<F>, images<T, n>, scales<T, n>, first<T>, second<T>, More...>>;
}

template <class T> std::vector<T> flat(const auto& v) { return {v.begin(), v.end()}; }
template <class T> void agree(const std::vector<T>& got, const std::vector<T>& expected) {
  double largest = 0;
  for (const T x : expected)
    if (std::isfinite(x)) largest = std::max(largest, static_cast<double>(std::abs(x)));
  const auto c = support::close(got, expected, (sizeof(T) == 8 ? 1e-12 : 2e-5) * largest);
  CAPTURE(c);
  CHECK(c);
}

// a NaN may be any
template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T x, T y) { return x == y ? std::signbit(x) == std::signbit(y) : x != x && y != y; });
}

// Scales in whose order images come from the easiest, from the hardest, equal ones, in disorder, and with NaNs.
template <class T> std::vector<std::vector<T>> orders() {
  std::vector<std::vector<T>> r(5, std::vector<T>(n, T(1)));
  for (std::size_t i = 0; i < n; ++i) {
    r[0][i] = T(1 + 4 * i);
    r[1][i] = T(4 * (n - i));
    r[3][i] = r[4][i] = T(1 + i * 23 % n * 5);
  }
  for (const std::size_t i : {3u, 11u, 30u}) r[4][i] = std::numeric_limits<T>::quiet_NaN();
  return r;
}

template <class T, bool Pools = false> struct data {
  std::vector<T> x = support::random_values<T>(n * image, 1),
                 w1 = support::random_values<T>(width * channels * 9, 2),
                 w2 = support::random_values<T>(width * width * 9, 3);
  data() { std::copy_n(x.begin(), 5 * image, x.begin() + 20 * image); } // images 0 to 4 again

  std::vector<T> losses_of(std::vector<T>& scale) {
    auto run = tl::jit(losses_of_network<Pools>)
                   .template bind<images<T, n>, scales<T, n>, first<T>, second<T>>(tl::threads(1));
    return flat<T>(
        run(images<T, n>(x.data()), scales<T, n>(scale.data()), first<T>(w1.data()), second<T>(w2.data())));
  }
  // value and gradients of the sum over copies of K images
  template <int K> auto of_copies(const std::vector<std::int32_t>& rows, const std::vector<T>& scale) {
    REQUIRE(rows.size() == K);
    std::vector<T> some_images, some_scales;
    for (const std::int32_t i : rows) {
      some_images.insert(some_images.end(), x.begin() + i * image, x.begin() + (i + 1) * image);
      some_scales.push_back(scale[static_cast<std::size_t>(i)]);
    }
    auto run =
        tl::jit(of_all<Pools>).template bind<images<T, K>, scales<T, K>, first<T>, second<T>>(tl::threads(1));
    const auto [v, d1, d2] = run(images<T, K>(some_images.data()), scales<T, K>(some_scales.data()),
                                 first<T>(w1.data()), second<T>(w2.data()));
    return std::tuple{flat<T>(v), flat<T>(d1), flat<T>(d2)};
  }
  // more: further arguments of the program
  template <class F, class... More>
  void check(const F& program, std::vector<T>& scale, const auto& expected, const More&... more) {
    std::vector<std::vector<T>> alone;
    for (const int threads : {1, 2, 3, 40}) {
      CAPTURE(threads);
      auto run = tl::jit(program).template bind<images<T, n>, scales<T, n>, first<T>, second<T>, More...>(
          tl::threads(threads));
      const auto results = [&] {
        const auto [v, d1, d2] = run(images<T, n>(x.data()), scales<T, n>(scale.data()), first<T>(w1.data()),
                                     second<T>(w2.data()), more...);
        return std::vector{flat<T>(v), flat<T>(d1), flat<T>(d2)};
      };
      const auto got = results();
      agree(got[0], std::get<0>(expected));
      agree(got[1], std::get<1>(expected));
      agree(got[2], std::get<2>(expected));
      if (threads == 1) alone = got;
      for (std::size_t k = 0; k < 3; ++k) CHECK(same_bits(got[k], alone[k]));
      CHECK(support::allocations_of([&] {
              (void)run(images<T, n>(x.data()), scales<T, n>(scale.data()), first<T>(w1.data()),
                        second<T>(w2.data()), more...);
            }) == 0);
    }
  }
};

template <class T, auto Select, bool Least, bool Pools = false> void check() {
  static_assert(has_places<T, decltype(of_selected<Select, Pools>)>());
  data<T, Pools> d;
  for (std::vector<T> scale : orders<T>())
    d.check(of_selected<Select, Pools>, scale,
            d.template of_copies<kept>(ref::extreme(Least, kept, d.losses_of(scale)), scale));
}

// as many as the run says, 9 at most; the hardest and the easiest ones
inline constexpr auto of_some = tl::value_and_grad<2, 3>([](auto x, auto scale, auto w1, auto w2, auto k) {
  const auto l = losses(x, scale, w1, w2);
  return tl::sum(tl::gather(l, tl::top_k<kept, 'k'>(l, k)));
});
inline constexpr auto of_both = tl::value_and_grad<2, 3>([](auto x, auto scale, auto w1, auto w2) {
  const auto l = losses(x, scale, w1, w2);
  return tl::sum(tl::gather(l, tl::top_k<kept>(l))) + tl::sum(tl::gather(l, tl::bottom_k<kept>(l)));
});
// what is read of several selected images is one sum
inline constexpr auto of_several = [](auto x, auto w1, auto w2) {
  constexpr tl::conv same{.padding = 1};
  const auto h = tl::conv2d<same>(tl::relu(tl::conv2d<same>(x, w1)), w2);
  const auto l = tl::sum<1, 2, 3>(tl::square(h));
  const auto some = tl::gather(h, tl::top_k<n - 4>(l));
  return tl::sum(tl::sqrt(1 + tl::square(some)));
};

} // namespace recycled_slots_test
