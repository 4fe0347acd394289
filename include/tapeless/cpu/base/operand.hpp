// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The operands of a step as kernels see them: where they are, and how a loop walks them.
#pragma once
#include <cstddef>
#include <cstdint>
#include "../../core/geometry.hpp" // IWYU pragma: export
#include "../../core/shape.hpp"    // IWYU pragma: export
#include "simd.hpp"                // IWYU pragma: export

namespace tapeless::cpu {

constexpr index_t product(const shape& s, int from, int to) {
  index_t n = 1;
  for (int i = from; i < to; ++i) n *= s.d[i];
  return n;
}

// Where an operand is, and how the step's loop walks it.
struct frame_slot {
  void* const* source = nullptr; // argument, result or arena part: a pointer that may change between runs
  std::ptrdiff_t offset = 0;     // bytes
  index_t start = 0;             // iota: the first value
  index_t stride[max_rank]{};    // fused: elements
  shape s{};                     // kernel steps and partial results: extents

  void* data() const { return static_cast<std::byte*>(*source) + offset; }
};

struct frame_step {
  const frame_slot* slot = nullptr;
  const index_t* extent = nullptr; // named extents that the code reads
  index_t loop[max_rank]{};
  index_t chunk = 1, chunks = 1; // of the outermost axis
  bool empty = false;
  matmul_extents matmul; // of a matmul step
};

// The address `bytes` before `rows`: that of row 0, where only the current rows are in memory.
inline void* before(void* rows, index_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(rows) - static_cast<std::uintptr_t>(bytes));
}

} // namespace tapeless::cpu
