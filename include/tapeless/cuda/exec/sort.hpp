// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// sort_positions: the positions [0, n) by their keys, and where each key ends.
#pragma once
#include <cstddef>
#include "../base/block.hpp"
#include "../kernels/sort.hpp"

namespace tapeless::cuda {

inline constexpr index_t scratch_of_sort = index_t{sizeof(sort_scratch)};

// key: (n), outside [0, keys) it comes last   sorted, spare: (n)   end: (keys)
template <class Device>
void sort_positions(const Device& device, std::byte* scratch, const std::int32_t* key, count_t n,
                    count_t keys, count_t* sorted, count_t* spare, count_t* end) {
  auto* const counts = reinterpret_cast<sort_scratch*>(scratch);
  const count_t most = (n + 63) / 64, pieces = most < most_pieces ? most : most_pieces;
  int passes = 0;
  for (count_t k = keys; k > 0; k >>= 8) ++passes;
  const count_t* from = nullptr;
  for (int pass = 0; pass < passes && n > 0; ++pass) {
    count_t* const to = (passes - pass) % 2 == 1 ? sorted : spare; // the last one to `sorted`
    const sort_pass p{key, from, to, counts, n, keys, pieces, (n + pieces - 1) / pieces, 8 * pass};
    device.launch(sort_counts_kernel{p}, pieces);
    device.launch(sort_sums_kernel{counts, pieces}, pieces);
    device.launch(sort_places_kernel{counts, pieces}, pieces);
    device.launch(sort_kernel{p}, pieces);
    from = to;
  }
  device.launch(sort_ends_kernel{key, sorted, end, n, keys, keys}, keys);
}

} // namespace tapeless::cuda
