// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Offsets of buffers by their lifetimes, first fit. The arena has one part for each product of named extents (1, n,
// m, n*m). Offsets in a part are constants in units of its product.
#pragma once
#include "../../core/vec.hpp"
#include "../../expr/handle.hpp"

namespace tapeless::detail {

inline constexpr extent_t arena_alignment = 64;
constexpr extent_t aligned(extent_t bytes) {
  return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
}

// Invariant: `gaps` are the free ranges below `top`, sorted by offset, no two of them touching.
class arena_part {
  struct range {
    extent_t begin = 0, end = 0;
  };
  vec<range> gaps_;

public:
  extent_t names = 0;
  extent_t top = 0;

  constexpr extent_t take(extent_t size) {
    for (int i = 0; i < gaps_.size(); ++i) {
      if (gaps_[i].end - gaps_[i].begin < size) continue;
      const extent_t at = gaps_[i].begin;
      gaps_[i].begin += size;
      if (gaps_[i].begin == gaps_[i].end) erase(i);
      return at;
    }
    // the last gap may grow
    extent_t at = top;
    if (const int n = gaps_.size(); n > 0 && gaps_[n - 1].end == top) {
      at = gaps_[n - 1].begin;
      gaps_.truncate(n - 1);
    }
    top = at + size;
    return at;
  }
  constexpr void give(extent_t offset, extent_t size) {
    if (size == 0) return;
    int i = 0;
    while (i < gaps_.size() && gaps_[i].end < offset) ++i;
    if (i < gaps_.size() && gaps_[i].end == offset) {
      gaps_[i].end += size;
      if (i + 1 < gaps_.size() && gaps_[i + 1].begin == gaps_[i].end) {
        gaps_[i].end = gaps_[i + 1].end;
        erase(i + 1);
      }
    } else if (i < gaps_.size() && gaps_[i].begin == offset + size) {
      gaps_[i].begin = offset;
    } else {
      gaps_.push_back({});
      for (int j = gaps_.size() - 1; j > i; --j) gaps_[j] = gaps_[j - 1];
      gaps_[i] = {offset, offset + size};
    }
  }

private:
  constexpr void erase(int i) {
    for (; i + 1 < gaps_.size(); ++i) gaps_[i] = gaps_[i + 1];
    gaps_.truncate(gaps_.size() - 1);
  }
};

inline constexpr int max_parts = 16;

// Blocks with lifetimes: a block taken until step `last` is free from step last + 1 on.
class arena_layout {
  struct block {
    int part = 0;
    extent_t offset = 0, size = 0;
    int next = -1; // another block with the same last step
  };
  vec<block> blocks_;
  vec<int> ending_; // step -> its first block

public:
  vec<arena_part> parts;

  constexpr explicit arena_layout(int steps) : ending_(steps + 1, -1) {}
  constexpr int part_of(extent_t names) {
    for (int i = 0; i < parts.size(); ++i)
      if (parts[i].names == names) return i;
    require(parts.size() < max_parts, "tapeless: plan: at most 16 different products of named extents");
    parts.push_back({});
    parts.back().names = names;
    return parts.size() - 1;
  }
  constexpr extent_t take(int part, extent_t size, int last) {
    const extent_t at = parts[part].take(size);
    blocks_.push_back({part, at, size, ending_[last]});
    ending_[last] = blocks_.size() - 1;
    return at;
  }
  // Frees what was read last by step `step` - 1.
  constexpr void expire(int step) {
    if (step == 0) return;
    for (int k = ending_[step - 1]; k >= 0; k = blocks_[k].next)
      parts[blocks_[k].part].give(blocks_[k].offset, blocks_[k].size);
  }
};

} // namespace tapeless::detail
