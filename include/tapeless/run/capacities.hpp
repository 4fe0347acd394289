// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The capacities of the named extents of a program: bind's options give them, and every size that follows from them is
// checked before anything is allocated.
#pragma once
#include <algorithm>
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../core/shape.hpp"
#include "../ops/select_node.hpp"
#include "../plan/ir/step.hpp"
#include "memory.hpp"

namespace tapeless::detail {

inline void set_capacity(name_values& capacity, char name, extent_t value) {
  const int i = capacity.find(name);
  if (i < 0) refuse("tapeless: bind: no argument has an extent named %c", name);
  if (value < 1) refuse("tapeless: bind: the capacity of %c is at least 1", name);
  capacity.value[static_cast<std::size_t>(i)] = value;
}
inline void require_capacities(const name_values& capacity) {
  for (int i = 0; i < capacity.count; ++i)
    if (capacity.value[static_cast<std::size_t>(i)] < 1) {
      const char name = capacity.name[static_cast<std::size_t>(i)];
      refuse("tapeless: bind: give the capacity of %c, as in bind<...>(tl::dim<'%c'>(64))", name, name);
    }
}
// The rows of a selection, which a step counts in each run: those that it looks at, or fewer.
inline void add_counted(name_values& capacity, const counted_extent& counted) {
  const auto i = static_cast<std::size_t>(capacity.add(counted.name));
  const extent_t rows = checked_eval(counted.rows, capacity, "bind");
  if (rows > most_selected)
    refuse("tapeless: bind: a selection among %lld values: at most 2147483647, positions are std::int32_t",
           wide(rows));
  capacity.value[i] = std::min(counted.most, rows);
}
// A leaf, or a loop, that is not too large at the capacities is not at any run either.
inline void check_size(const shape& s, std::size_t size, const name_values& capacity) {
  padded_bytes(checked_eval(numel(s), capacity, "bind"), size, "bind");
}
inline void check_size(const step& s, const name_values& capacity) {
  extent_t n = 1;
  for (int a = 0; a < s.axes; ++a) n = checked_product(n, checked_eval(s.loop[a], capacity, "bind"), "bind");
}

} // namespace tapeless::detail
