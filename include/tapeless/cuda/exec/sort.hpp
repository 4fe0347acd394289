// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// sort_positions: the positions [0, n) by their keys, and where each key ends.
#pragma once
#include <cstddef>
#include "../../core/extent.hpp"
#include "../base/block.hpp"
#include "../kernels/sort.hpp"

namespace tapeless::cuda {

constexpr extent_t pieces_of_sort(extent_t n) {
  return n > 64 * extent_t{most_pieces} ? most_pieces : (n + 63) / 64;
}
// Bytes, for n positions.
constexpr extent_t scratch_of_sort(extent_t n) {
  return (detail::is_static(n) ? pieces_of_sort(n) : most_pieces) * (sort_digits + 1) *
         extent_t{sizeof(count_t)};
}

// key: (n), outside [0, keys) it comes last   sorted, spare: (n)   end: (keys)
template <class Device>
void sort_positions(const Device& device, std::byte* scratch, const std::int32_t* key, count_t n,
                    count_t keys, count_t* sorted, count_t* spare, count_t* end) {
  const auto pieces = static_cast<count_t>(pieces_of_sort(n));
  auto *const counts = reinterpret_cast<count_t*>(scratch), *const sums = counts + pieces * sort_digits;
  int passes = 0;
  for (count_t k = keys; k > 0; k >>= 8) ++passes;
  const count_t* from = nullptr;
  for (int pass = 0; pass < passes && n > 0; ++pass) {
    count_t* const to = (passes - pass) % 2 == 1 ? sorted : spare; // the last one to `sorted`
    const sort_pass p{key, from, to, counts, n, keys, pieces, (n + pieces - 1) / pieces, 8 * pass};
    device.launch(sort_counts_kernel{p}, pieces);
    device.launch(sort_sums_kernel{counts, sums, pieces}, pieces);
    device.launch(sort_places_kernel{counts, sums, pieces}, pieces);
    device.launch(sort_kernel{p}, pieces);
    from = to;
  }
  device.launch(sort_ends_kernel{key, sorted, end, n, keys, keys}, keys);
}

} // namespace tapeless::cuda
