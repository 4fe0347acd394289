// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// A layer on a few labelled rows: the loss, its gradient, and data on the host.
#include <support/random.hpp>

#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace support::labelled_rows {

namespace tl = tapeless;

struct params {
  tl::tensor<float, 5, 7> w;
  tl::tensor<float, 7> b;
};
using images = tl::tensor<const float, tl::dyn<'n'>, 5>;
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;

inline constexpr auto loss = [](auto p, auto x, auto y) {
  return tl::mean(tl::softmax_cross_entropy(tl::relu(tl::matmul(x, p.w) + p.b), y));
};
inline constexpr auto step = tl::jit(tl::value_and_grad(loss));
inline constexpr tl::dim<'n'> n{9};

inline void fill(const auto& view, std::uint64_t seed) {
  const auto values = support::random_values<float>(static_cast<std::size_t>(view.size()), seed);
  std::copy(values.begin(), values.end(), view.data());
}
struct data {
  tl::owned<params> p;
  tl::owned<images> x{n};
  tl::owned<labels> y{n};
  explicit data(std::uint64_t seed = 1) {
    fill(p->w, seed);
    fill(p->b, seed + 1);
    fill(x.mutable_view(), seed + 2);
    for (int i = 0; i < 9; ++i) y->data()[i] = i % 7;
  }
};
inline void check_close(const auto& a, const auto& b) {
  REQUIRE(a.size() == b.size());
  for (tl::extent_t i = 0; i < a.size(); ++i)
    CHECK(a.data()[i] == doctest::Approx(b.data()[i]).epsilon(1e-5));
}

} // namespace support::labelled_rows
