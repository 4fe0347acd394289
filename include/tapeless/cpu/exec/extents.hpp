// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// From the shapes of a step to the extents of its kernel.
#include "../../ops/conv.hpp"
#include "../../plan/analysis/batch_tiles.hpp"
#include "frame.hpp"

namespace tapeless::cpu {

// A shape with 1 for each named extent: for scratch sizes, which do not depend on those.
constexpr shape assumed(const shape& s) {
  shape r = s;
  for (int i = 0; i < s.rank; ++i)
    if (!detail::is_static(r.d[i])) r.d[i] = 1;
  return r;
}

using detail::is_batch_tiled;
using detail::is_conv;

} // namespace tapeless::cpu
