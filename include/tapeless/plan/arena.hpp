// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Offsets of buffers by their lifetimes, first fit. One part for each product of named extents (1, n, m, n*m):
// offsets are constants in units of that product, 64-byte aligned.
#pragma once
#include "../core/vec.hpp"
#include "../expr/handle.hpp"

namespace tapeless::detail {

inline constexpr extent_t arena_alignment = 64;
constexpr extent_t aligned(extent_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

// Invariant: `live` is sorted by offset and its blocks do not overlap.
struct arena_part {
  struct block {
    extent_t offset = 0, size = 0;
    int last = 0; // the last step that reads it
  };
  extent_t names = 0;
  extent_t top = 0;
  vec<block> live;

  constexpr void expire(int step) {
    int k = 0;
    for (int i = 0; i < live.size(); ++i)
      if (live[i].last >= step) {
        if (k != i) live[k] = live[i];
        ++k;
      }
    live.truncate(k);
  }
  constexpr extent_t take(extent_t size, int last) {
    extent_t offset = 0;
    int i = 0;
    for (; i < live.size(); ++i) {
      if (live[i].offset - offset >= size) break;
      offset = live[i].offset + live[i].size;
    }
    live.push_back({});
    for (int j = live.size() - 1; j > i; --j) live[j] = live[j - 1];
    live[i] = {offset, size, last};
    if (offset + size > top) top = offset + size;
    return offset;
  }
};

inline constexpr int max_parts = 8;

struct arena_layout {
  vec<arena_part> parts;
  constexpr int part_of(extent_t names) {
    for (int i = 0; i < parts.size(); ++i)
      if (parts[i].names == names) return i;
    require(parts.size() < max_parts, "tapeless: plan: at most 8 different products of named extents");
    parts.push_back({});
    parts.back().names = names;
    return parts.size() - 1;
  }
  constexpr void expire(int step) {
    for (arena_part& p : parts) p.expire(step);
  }
};

} // namespace tapeless::detail
