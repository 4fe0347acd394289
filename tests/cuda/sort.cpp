// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Positions by their keys, and what reads them: scatter_add.
#include <support/both_back_ends.hpp>

#include <tapeless/cuda/exec/sort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

namespace {

using cuda_tests::both_back_ends, cuda_tests::fill;
using counts = std::vector<cuda::count_t>;

// Keys in [-1, keys), many of which are the same.
std::vector<std::int32_t> random_keys(std::size_t n, std::uint64_t keys) {
  support::splitmix64 random(n + keys);
  std::vector<std::int32_t> r(n);
  for (std::int32_t& key : r)
    key = static_cast<std::int32_t>(random.below(3) == 0 ? keys / 2 : random.below(keys + 1)) - 1;
  return r;
}
bool is_sorted(std::size_t n, cuda::count_t keys) {
  const std::vector<std::int32_t> key = random_keys(n, keys);
  const auto at = [&](cuda::count_t p) { return key[p] < 0 ? keys : static_cast<cuda::count_t>(key[p]); };
  counts sorted(n), spare(n), end(keys), expected(n), ends(keys);
  std::vector<std::byte> scratch(
      static_cast<std::size_t>(cuda::scratch_of_sort(static_cast<tl::extent_t>(n))));
  cuda::sort_positions(cuda::emulated_device{}, scratch.data(), key.data(), static_cast<cuda::count_t>(n),
                       keys, sorted.data(), spare.data(), end.data());
  std::iota(expected.begin(), expected.end(), cuda::count_t{0});
  std::sort(expected.begin(), expected.end(),
            [&](cuda::count_t p, cuda::count_t q) { return at(p) != at(q) ? at(p) < at(q) : p < q; });
  for (cuda::count_t p = 0; p < n; ++p)
    if (at(p) < keys) ++ends[at(p)];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  return sorted == expected && end == ends;
}

constexpr tl::extent_t n = tl::dyn<'n'>;
using indices = tl::tensor<std::int32_t, n>;

} // namespace

TEST_CASE("cuda: positions are sorted by keys, those of one key ascend, and the ends of keys are known") {
  for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 1000u, 300007u})
    for (const cuda::count_t keys : {1u, 2u, 255u, 256u, 257u, 65535u, 65536u, 70001u}) {
      CAPTURE(size);
      CAPTURE(keys);
      CHECK(is_sorted(size, keys));
    }
}
TEST_CASE("cuda: scatter_add is that of the CPU, onto zeros and onto a base, along any axis") {
  using rows = tl::tensor<float, n, 3>;
  using columns = tl::tensor<double, 2, n>;
  const auto f = [](auto at, auto x, auto y) {
    const auto z = tl::scatter_add<0, 50>(at, x);
    return std::tuple{z, exp(z) + tl::scatter_add<0, 50>(at, square(x)), tl::scatter_add<1, 50>(at, y)};
  };
  both_back_ends<decltype(f), indices, rows, columns> both(tl::dim<'n'>{5000});
  for (const std::int64_t size : {0, 1, 41, 5000}) {
    tl::owned<indices> at(tl::dim<'n'>{size});
    tl::owned<rows> x(tl::dim<'n'>{size});
    tl::owned<columns> y(tl::dim<'n'>{size});
    support::splitmix64 random(static_cast<std::uint64_t>(size));
    for (std::int32_t& k : *at) k = static_cast<std::int32_t>(random.below(2) == 0 ? 3 : random.below(50));
    fill(*x, 1);
    fill(*y, 2);
    CHECK(both.difference(*at, *x, *y) < 1e-6);
  }
}
