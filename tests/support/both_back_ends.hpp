#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A program on the CPU and on the emulated device.
#include <support/emulated_backend.hpp>
#include <support/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace cuda_tests {

namespace tl = tapeless;

using device = tl::cuda::backend<tl::cuda::emulated_device>;
static_assert(tl::detail::backend<device>);

// The largest difference of two results, as a part of the largest element of a leaf.
template <class Result> double difference_of(const Result& of_host, const Result& of_device) {
  std::vector<std::vector<double>> x, y;
  const auto copy_to = [](auto& to) {
    return [&to](const auto& leaf) { to.emplace_back(leaf.begin(), leaf.end()); };
  };
  tl::detail::for_each_leaf(of_host, copy_to(x));
  tl::detail::for_each_leaf(of_device, copy_to(y));
  REQUIRE(x.size() == y.size());
  double worst = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    REQUIRE(x[k].size() == y[k].size());
    double largest = 1e-30, most = 0;
    for (std::size_t i = 0; i < x[k].size(); ++i) {
      if (std::isfinite(x[k][i])) largest = std::fmax(largest, std::fabs(x[k][i]));
      if (x[k][i] == y[k][i] || (std::isnan(x[k][i]) && std::isnan(y[k][i]))) continue;
      if (std::isnan(x[k][i]) || std::isnan(y[k][i])) return std::numeric_limits<double>::infinity();
      most = std::fmax(most, std::fabs(x[k][i] - y[k][i]));
    }
    worst = std::fmax(worst, most / largest);
  }
  return worst;
}
template <class Backend, class F, class... A> using bound_on = tl::detail::bound<Backend, false, F, A...>;
template <class F, class... A> class both_back_ends {
  using host = tl::detail::backend_for<tl::host>::type;
  bound_on<host, F, A...> host_;
  bound_on<device, F, A...> device_;

public:
  template <class... Option> explicit both_back_ends(Option... option)
      : host_(option...), device_(option...) {}
  double difference(const A&... a) { return difference_of(host_(a...), device_(a...)); }
  auto& on_host() { return host_; }
  auto& on_device() { return device_; }
};
template <class Tree> void fill(const Tree& tree, std::uint64_t seed) {
  support::splitmix64 random(seed);
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    for (auto& e : leaf)
      e = static_cast<std::remove_reference_t<decltype(e)>>(static_cast<double>(random.below(2001)) / 1000 -
                                                            1);
  });
}

} // namespace cuda_tests
