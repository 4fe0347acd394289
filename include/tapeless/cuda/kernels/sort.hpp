// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The positions [0, n) in the order of their keys, those of one key in ascending order, and where each key ends.
// A byte of the keys at a time, from the lowest: sort_counts_kernel counts the bytes of each piece of the positions, sort_sums and
// sort_places_kernel add these up, digit by digit and piece by piece, and sort_kernel puts the positions in their places.
// A thread has a piece and writes what no other writes: there is one order.
#pragma once
#include "../base/block.hpp"

namespace tapeless::cuda {

inline constexpr count_t sort_digits = 256, most_pieces = 16384;

// The positions of a piece, a thread each.
struct sort_pass {
  const std::int32_t* key;
  const count_t* from; // nullptr: the first pass
  count_t* to;
  count_t* counts; // [digit][piece]: the positions of a piece that have the digit. Then: where these go
  count_t n, most, pieces, each; // most: a key outside [0, most) is `most`
  int shift;

  TAPELESS_KERNEL static count_t key_of(const std::int32_t* key, count_t most, count_t position) {
    const auto k = static_cast<count_t>(key[position]);
    return k < most ? k : most;
  }
  // act(position, where the number of its digit stands)
  template <class Act> TAPELESS_KERNEL void of_piece(count_t piece, Act act) const {
    const std::uint64_t lo = std::uint64_t{piece} * each, end = lo + each < n ? lo + each : n;
    for (std::uint64_t i = lo; i < end; ++i) {
      const count_t position = from == nullptr ? static_cast<count_t>(i) : from[i];
      act(position, counts + ((key_of(key, most, position) >> shift) & (sort_digits - 1)) * pieces + piece);
    }
  }
};
struct sort_counts_kernel : sort_pass {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(pieces, [this](count_t piece) {
      for (count_t d = 0; d < sort_digits; ++d) counts[d * pieces + piece] = 0;
      of_piece(piece, [](count_t, count_t* count) { ++*count; });
    });
  }
};
// The counts in groups of `sort_digits`: there are `pieces` groups.
struct sort_sums_kernel {
  count_t *counts, *sums;
  count_t pieces;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(pieces, [this](count_t group) {
      count_t sum = 0;
      for (count_t k = 0; k < sort_digits; ++k) sum += counts[group * sort_digits + k];
      sums[group] = sum;
    });
  }
};
struct sort_places_kernel {
  count_t *counts, *sums;
  count_t pieces;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(pieces, [this](count_t group) {
      count_t before = 0;
      for (count_t g = 0; g < group; ++g) before += sums[g];
      for (count_t k = 0; k < sort_digits; ++k) {
        count_t& place = counts[group * sort_digits + k];
        const count_t count = place;
        place = before;
        before += count;
      }
    });
  }
};
struct sort_kernel : sort_pass {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(pieces, [this](count_t piece) {
      of_piece(piece, [this](count_t position, count_t* place) { to[(*place)++] = position; });
    });
  }
};
// end[k]: the number of positions whose key is at most k, for keys [0, keys)
struct sort_ends_kernel {
  const std::int32_t* key;
  const count_t* sorted;
  count_t* end;
  count_t n, most, keys;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(keys, [this](count_t k) {
      count_t lo = 0, hi = n;
      while (lo < hi) {
        const count_t middle = lo + (hi - lo) / 2;
        if (sort_pass::key_of(key, most, sorted[middle]) > k) hi = middle;
        else lo = middle + 1;
      }
      end[k] = lo;
    });
  }
};

} // namespace tapeless::cuda
