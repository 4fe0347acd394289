// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Programs with pools, counts of the run, two selections, sums over several images, and loads.
#include "recycled_slots.hpp"

using namespace recycled_slots_test;

TEST_CASE("recycled slots: pools in the sweep") {
  // in double: of float, which of two near maxima is the greater depends on rounding
  check<double, k_least, true, true>();
}

TEST_CASE("recycled slots: as many images as the run says, and two selections") {
  using count = tl::tensor<std::int32_t>;
  static_assert(has_places<double, decltype(of_some), count>());
  static_assert(!has_places<double, decltype(of_both)>()); // an image is read if either takes it
  data<double> d;
  for (std::vector<double> scale : orders<double>()) {
    const std::vector<double> l = d.losses_of(scale);
    std::int32_t all = kept, some = 4;
    d.check(of_some, scale, d.of_copies<kept>(ref::extreme(false, kept, l), scale), count(&all));
    d.check(of_some, scale, d.of_copies<4>(ref::extreme(false, 4, l), scale), count(&some));
    ref::positions both = ref::extreme(false, kept, l);
    for (const std::int32_t i : ref::extreme(true, kept, l)) both.push_back(i);
    d.check(of_both, scale, d.of_copies<2 * kept>(both, scale));
  }
}

TEST_CASE("recycled slots: a sum over several images has the same bits, wherever they are") {
  using F = std::remove_const_t<decltype(of_several)>;
  static_assert(tl::cpu::has_recycled_slots<plan_of<F, images<double, n>, first<double>, second<double>>>);
  data<double> d;
  std::vector<double> bits;
  for (const int threads : {1, 2, 3, 7, 40}) {
    auto run =
        tl::jit(of_several).bind<images<double, n>, first<double>, second<double>>(tl::threads(threads));
    for (int round = 0; round < 5; ++round)
      bits.push_back(
          run(images<double, n>(d.x.data()), first<double>(d.w1.data()), second<double>(d.w2.data()))[0]);
  }
  for (const double b : bits) CHECK(b == bits[0]);
}

TEST_CASE("recycled slots: beside weights that a load packs") {
  constexpr auto program = [](auto w, auto x, auto scale) {
    const auto l = losses(x, scale, std::get<0>(w), std::get<1>(w));
    return tl::sum(tl::gather(l, tl::top_k<1>(l)) * 3.0);
  };
  constexpr auto gradient = tl::value_and_grad<1, 2>(program);
  using W = std::tuple<first<double>, second<double>>;
  using F = std::remove_const_t<decltype(gradient)>;
  constexpr const auto& plan =
      tl::detail::planned_with<true, F, W, images<double, n>, scales<double, n>>::value;
  static_assert(tl::cpu::has_recycled_slots<plan>);
  data<double> d;
  auto run = tl::jit(gradient).bind<W, images<double, n>, scales<double, n>>(tl::threads(2));
  const W weights{first<double>(d.w1.data()), second<double>(d.w2.data())};
  auto loaded = run.load(weights);
  for (std::vector<double> scale : orders<double>()) {
    const auto [value, dx, dscale] =
        run(weights, images<double, n>(d.x.data()), scales<double, n>(scale.data()));
    const auto v = flat<double>(value), x = flat<double>(dx), s = flat<double>(dscale);
    const auto [value2, dx2, dscale2] =
        loaded(images<double, n>(d.x.data()), scales<double, n>(scale.data()));
    CHECK(same_bits(flat<double>(value2), v));
    CHECK(same_bits(flat<double>(dx2), x));
    CHECK(same_bits(flat<double>(dscale2), s));
  }
}
