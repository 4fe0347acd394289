// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The straight-line program of a fused group, one 64-bit word for each instruction. Back ends take it as a template
// argument, so equal groups are one kernel. nvcc accepts integers there, not structs with arrays.
//   dst = op(a, b, c)      registers of three classes: floating point, int32, bool
#pragma once
#include "../../core/element_type.hpp"
#include "../../expr/op.hpp"

namespace tapeless::detail {

// How a slot follows the innermost axis.
enum class access : std::uint8_t {
  splat,   // the same element
  dense,   // the next element
  strided, // every stride-th element
  index    // no memory: the position itself (iota)
};

// What a fused loop does with a result.
enum class store_kind : std::uint8_t {
  dense,  // y[.., c] = x
  row,    // the innermost axis is reduced: y[..] += sum_c x
  column, // an outer axis is reduced: y[.., c] += x
  total   // all axes are reduced
};

struct instruction {
  op o;
  int dst, a, b, c;
  dtype t; // of the operands
  int imm; // input: access; constant, extent, custom_elementwise: which one

  constexpr instruction(op code, dtype type, int d, int x = 0, int y = 0, int z = 0, int i = 0)
      : o(code), dst(d), a(x), b(y), c(z), t(type), imm(i) {}
  constexpr explicit instruction(std::uint64_t w)
      : o(static_cast<op>(w & 255)),
        dst(static_cast<int>((w >> 8) & 255)),
        a(static_cast<int>((w >> 16) & 255)),
        b(static_cast<int>((w >> 24) & 255)),
        c(static_cast<int>((w >> 32) & 255)),
        t(static_cast<dtype>((w >> 40) & 255)),
        imm(static_cast<int>(w >> 48)) {}
  // in a word: all but dst, b and c
  static constexpr std::uint64_t bits_of_load = 0xffffff0000ff00ffu;
  constexpr std::uint64_t word() const {
    return static_cast<std::uint64_t>(o) | static_cast<std::uint64_t>(dst) << 8 |
           static_cast<std::uint64_t>(a) << 16 | static_cast<std::uint64_t>(b) << 24 |
           static_cast<std::uint64_t>(c) << 32 | static_cast<std::uint64_t>(t) << 40 |
           static_cast<std::uint64_t>(imm) << 48;
  }
};
// op::input is a load: dst = slot a, with access imm.

// How a reduction joins two elements.   Numbers: == of an enumerator would be looked up among the operators of handles.
namespace folding {
inline constexpr int sum = 0, max = 1, product = 2;
}

struct store {
  int reg = 0, slot = 0;
  dtype t = dtype::f32;
  store_kind k = store_kind::dense;
  int f = folding::sum;      // of a reduction
  unsigned reduced = 0;      // the loop axes that are reduced, bit mask
  bool has_partials = false; // the outermost axis is reduced: each chunk has a partial result
  bool carries = false;      // a long sum: its chains are added in pairs of numbers

  constexpr store() = default;
  constexpr explicit store(std::uint64_t w)
      : reg(static_cast<int>(w & 255)),
        slot(static_cast<int>((w >> 8) & 255)),
        t(static_cast<dtype>((w >> 16) & 255)),
        k(static_cast<store_kind>((w >> 24) & 255)),
        f(static_cast<int>((w >> 32 & 1) | (w >> 34 & 2))),
        reduced(static_cast<unsigned>((w >> 40) & 255)),
        has_partials(((w >> 33) & 1) != 0),
        carries(((w >> 34) & 1) != 0) {}
  constexpr std::uint64_t word() const {
    return static_cast<std::uint64_t>(reg) | static_cast<std::uint64_t>(slot) << 8 |
           static_cast<std::uint64_t>(t) << 16 | static_cast<std::uint64_t>(k) << 24 |
           (f == folding::max       ? std::uint64_t{1} << 32
            : f == folding::product ? std::uint64_t{1} << 35
                                    : 0) |
           (has_partials ? std::uint64_t{1} << 33 : 0) | (carries ? std::uint64_t{1} << 34 : 0) |
           static_cast<std::uint64_t>(reduced) << 40;
  }
};

} // namespace tapeless::detail
