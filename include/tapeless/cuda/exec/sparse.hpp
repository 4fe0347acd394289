// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The launches of sparse matrices. A step whose attribute has in_lines reads the lines that a step op::pattern has made: at
// each load where the matrix is loaded, else in each run. How many threads share a sum depends on extents alone.
#pragma once
#include <cstdint>
#include "../../core/csr_tiles.hpp"
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
#include "../../ops/sparse_dense.hpp"
#include "../../ops/sparse_solve.hpp"
#include "../../ops/spgemm.hpp"
#include "../../ops/spmm.hpp"
#include "../../plan/ir/kernel_extents.hpp"
#include "../base/block.hpp"
#include "../fused/loop.hpp"
#include "../kernels/lines.hpp"
#include "../kernels/sparse.hpp"
#include "launch.hpp"
#include "sort.hpp"

namespace tapeless::cuda {

// The matrix whose pattern is operand k: its rows, or the lines that have been made of it.
template <class T> sparse_lines lines_at(const kernel_call<T>& c, int k, bool wide) {
  return {c.slot[k + 1].data(), c.index(k), nullptr, wide};
}
template <class T> sparse_lines lines_of(const kernel_call<T>& c, bool wide) {
  if ((c.step.attr & detail::in_lines) == 0) return lines_at(c, 0, wide);
  return {c.slot[1].data(), c.index(0), reinterpret_cast<const count_t*>(c.index(c.step.loads - 1)), false};
}
template <class T> bool has(const kernel_call<T>& c, std::uint64_t attribute) {
  return (c.step.attr & attribute) != 0;
}
template <class T> count_t entries_of_pattern(const kernel_call<T>& c, int k = 0) {
  return counted(c.operand(k).d[0]);
}
template <class T> count_t lines_of_pattern(const kernel_call<T>& c, int k = 0) {
  return counted(c.operand(k + 1).d[0]);
}

// A device may have libraries for matrices of several columns. Where they do nothing, they say false.
//   device.line_products(extents, lines, values, x, y)        Y[i, :] = sum_p values[e] X[j, :], all of them
//   device.line_samples(extents, rows, l, r, out)             out[e] = <L[i, :], R[j, :]>
template <class Device, class T>
concept has_line_products = requires(const Device& device, line_extents e, sparse_lines a, const T* x, T* y) {
  device.line_products(e, a, x, x, y);
  device.line_samples(e, a, x, x, y);
};

// The lines of a pattern: crosses, ends, entries; then a place for the sort, and the rows and columns of a tiled matrix.
template <> struct kernel_for<detail::op::pattern> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const auto made = [&c](int k) { return static_cast<std::int32_t*>(c.slot[c.step.loads + k].data()); };
    const auto entry = reinterpret_cast<count_t*>(made(2));
    const count_t n = entries_of_pattern(c), rows = lines_of_pattern(c),
                  lines = counted(c.slot[c.step.loads + 1].s.d[0]);
    const bool columns = has(c, detail::spmm_transposed);
    const std::int32_t *key = c.index(0), *cross = nullptr;
    if (has(c, detail::in_tiles)) {
      std::int32_t *const row = made(3), *const column = made(4);
      const detail::tiling t = detail::tiling_of(
          rows, detail::eval(static_cast<extent_t>(c.step.attr2), c.names), n, extent_t{sizeof(T)});
      device.launch(
          tile_entries_kernel{c.index(0), c.index(1), row, column, t.rows, t.row_blocks, t.col_blocks,
                              t.col_bits, detail::row_bits_of_tile, static_cast<int>(detail::lanes_of_tile)},
          counted(t.row_blocks * t.col_blocks));
      key = columns ? column : row;
      cross = columns ? row : column;
    }
    sort_positions(device, c.scratch, key, n, lines, entry, reinterpret_cast<count_t*>(made(0)),
                   reinterpret_cast<count_t*>(made(1)));
    if (cross != nullptr) device.launch(entries_by_place_kernel<std::int32_t>{cross, entry, made(0), n}, n);
    else
      device.launch(
          row_of_place_kernel{lines_at(c, 0, has(c, detail::wide_row_ends)), entry, made(0), n, rows}, n);
  }
};

// Few long lines are cut into parts, so that there are threads enough: as extents say. Bytes of what parts sum up to.
inline constexpr count_t most_product_threads = 1u << 17, least_of_part = 1024;
inline constexpr index_t scratch_of_products = index_t{most_product_threads} * 8;
constexpr count_t parts_of_lines(count_t entries, count_t lines, std::uint64_t threads) {
  if (lines == 0 || threads >= most_product_threads) return 1;
  const std::uint64_t most = most_product_threads / threads, long_enough = entries / lines / least_of_part;
  return static_cast<count_t>(long_enough < 1 ? 1 : long_enough < most ? long_enough : most);
}
template <> struct kernel_for<detail::op::spmm> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const shape& y = c.result();
    const count_t n = entries_of_pattern(c), lines = lines_of_pattern(c),
                  k = counted(detail::product(y, 1, y.rank));
    if (y.rank > 1 && (k > 1 || device.lists()) && by_library(device, c, k)) return;
    // neighbours have elements side by side, or entries
    const int lanes = k >= 8 ? 1 : n / 16 < lines ? 4 : 32;
    if (lanes == 1 || device.lists()) start<1>(device, c, k);
    if (lanes == 4 || device.lists()) start<4>(device, c, k);
    if (lanes == 32 || device.lists()) start<32>(device, c, k);
  }

private:
  // A library adds all entries, of rows that are zero, too.
  template <class T, class Device>
  static bool by_library(const Device& device, const kernel_call<T>& c, count_t k) {
    if constexpr (has_line_products<Device, T>)
      if (!has(c,
               detail::first_is_ones | detail::second_is_ones | detail::in_tiles | detail::skips_zero_rows))
        return device.line_products({c.result().d[0], c.operand(3).d[0], c.operand(0).d[0], k},
                                    lines_of(c, has(c, detail::wide_row_ends)), c.in(2), c.in(3), c.out());
    return false;
  }
  template <int G, class T, class Device>
  static void start(const Device& device, const kernel_call<T>& c, count_t k) {
    const bool values = !has(c, detail::first_is_ones);
    const count_t items = c.results(),
                  parts = items == 0 ? 1
                                     : parts_of_lines(entries_of_pattern(c), lines_of_pattern(c),
                                                      std::uint64_t{items} * G);
    T* const y = parts > 1 ? reinterpret_cast<T*>(c.scratch) : c.out();
    device.launch(line_products_kernel<T, G>{lines_of(c, has(c, detail::wide_row_ends)),
                                             values ? c.in(2) : nullptr,
                                             has(c, detail::second_is_ones) ? nullptr : c.in(values ? 3 : 2),
                                             y,
                                             items,
                                             k,
                                             parts,
                                             has(c, detail::spmm_transposed),
                                             {c.step.masks > 0 ? c.slot[c.step.mask].data() : nullptr,
                                              has(c, detail::bool_mask), c.step.passes_where_zero != 0}},
                  items * parts, G);
    if (parts > 1 || device.lists())
      device.launch(combine_kernel<T, 0>{y, c.out(), items, parts, 1, {items}, {1}}, items, 32);
  }
};

template <> struct kernel_for<detail::op::sddmm> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    using namespace detail;
    const sparse_lines a = lines_of(c, has(c, wide_row_ends));
    const count_t n = entries_of_pattern(c), lines = lines_of_pattern(c);
    const bool first = !has(c, first_is_ones), second = !has(c, second_is_ones);
    if (has(c, in_lower_triangle | in_upper_triangle))
      device.launch(triangle_kernel<T>{a, c.out(), lines, has(c, in_upper_triangle), !has(c, off_diagonal)},
                    lines, 8);
    else if (!first || !second || c.operand(2).rank == 1)
      device.launch(spread_kernel<T>{a, first ? c.in(2) : nullptr, second ? c.in(first ? 3 : 2) : nullptr,
                                     c.out(), lines},
                    lines, 8);
    else {
      const count_t k = counted(c.operand(2).d[1]);
      if constexpr (has_line_products<Device, T>)
        if ((k > 1 || device.lists()) && !has(c, in_tiles) &&
            device.line_samples({c.operand(2).d[0], c.operand(3).d[0], c.operand(0).d[0], k}, a, c.in(2),
                                c.in(3), c.out()))
          return;
      if (k < 16 || device.lists())
        device.launch(sampled_kernel<T, 1>{a, c.in(2), c.in(3), c.out(), n, lines, k}, n);
      if (k >= 16 || device.lists())
        device.launch(sampled_kernel<T, 16>{a, c.in(2), c.in(3), c.out(), n, lines, k}, n, 16);
    }
  }
};

template <> struct kernel_for<detail::op::entries_of> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const count_t lines = lines_of_pattern(c);
    device.launch(entries_of_kernel<T>{lines_of(c, has(c, detail::entries_wide)), c.in(2), c.out(), lines,
                                       counted(c.operand(2).d[1])},
                  lines, 8);
  }
};
template <> struct kernel_for<detail::op::dense_of> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const count_t lines = lines_of_pattern(c);
    device.launch(zero_kernel<T>{c.out(), c.results()}, c.results());
    device.launch(dense_of_kernel<T>{lines_of(c, has(c, detail::entries_wide)), c.in(2), c.out(), lines,
                                     counted(c.result().d[1])},
                  lines, 8);
  }
};

template <> struct kernel_for<detail::op::spgemm> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const auto rows = [&c](int k) { return lines_at(c, 2 * k, has(c, detail::spgemm_wide(k))); };
    const T *const x = c.in(6), *const y = c.in(7);
    switch (detail::made_by_spgemm(c.step.attr)) {
      case detail::spgemm_a: // a_ik = sum over j of c_ij b_kj
        return start<true>(device, c, 0, {rows(0), rows(2), rows(1), y, x, c.out(), 0, 0});
      case detail::spgemm_b: // b_kj = sum over i of a_ik c_ij; the first pattern has come by columns
        return start<false>(device, c, 2, {rows(1), lines_of(c, false), rows(2), x, y, c.out(), 0, 0});
      default: // c_ij = sum over k of a_ik b_kj
        return start<false>(device, c, 4, {rows(2), rows(0), rows(1), x, y, c.out(), 0, 0});
    }
  }

private:
  // at: the operand that is the pattern of the result
  template <bool ByLine, class T, class Device>
  static void start(const Device& device, const kernel_call<T>& c, int at, spgemm_kernel<T, ByLine> k) {
    k.places = entries_of_pattern(c, at);
    k.lines = lines_of_pattern(c, at);
    device.launch(k, k.places, 8);
  }
};

template <> struct kernel_for<detail::op::sparse_solve> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const shape& x = c.result();
    const count_t k = counted(detail::product(x, 1, x.rank));
    // A^T has the other triangle
    const bool upper = has(c, detail::solves_upper) != has(c, detail::spmm_transposed);
    device.launch(solve_kernel<T>{lines_of(c, has(c, detail::solves_wide)), c.in(2), c.in(3), c.out(),
                                  counted(x.d[0]), k, upper, has(c, detail::solves_unit)},
                  k, 32);
  }
};

} // namespace tapeless::cuda
