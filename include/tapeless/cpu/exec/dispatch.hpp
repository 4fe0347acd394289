// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Kernel steps: from the slots of a step to the call of its kernel, a branch for each op.
#pragma once
#include "../../core/csr_tiles.hpp"
#include "../../core/dtype.hpp"
#include "../../ops/conv.hpp"
#include "../../ops/matmul.hpp"
#include "../../ops/select.hpp"
#include "../../ops/sparse_dense.hpp"
#include "../../ops/sparse_solve.hpp"
#include "../../ops/spgemm.hpp"
#include "../../ops/spmm.hpp"
#include "../../ops/unfold.hpp"
#include "../conv/bf16.hpp"
#include "../conv/kernels.hpp"
#include "../matmul/bf16.hpp"
#include "../matmul/matmul.hpp"
#include "../matmul/small.hpp"
#include "../move/index.hpp"
#include "../move/select.hpp"
#include "../move/unfold.hpp"
#include "../pool/pool.hpp"
#include "../sparse/csr.hpp"
#include "../sparse/dense.hpp"
#include "../sparse/solve.hpp"
#include "../sparse/spgemm.hpp"
#include "../sparse/tiles.hpp"
#include "extents.hpp"
#include "frame.hpp"
#include "kernel_choice.hpp"

namespace tapeless::cpu {

// Does step i compute the maxima whose positions step i - 1 computes? If both or neither are in a sweep, one pass computes
// both. It may write the maxima early: step i - 1 reads nothing in their place, and earlier readers are done.
template <const auto& P> constexpr bool is_made_with_positions(int i) {
  if (i == 0 || i >= P.steps) return false;
  const step &s = P.step_[i], &w = P.step_[i - 1];
  if (s.fused || w.fused || s.o != op::window_max || w.o != op::window_argmax) return false;
  const bool begins_sweep = i + 1 < P.steps && P.step_[i + 1].sweep;
  return (s.sweep || (!w.sweep && !begins_sweep)) && s.at_load == w.at_load && s.attr == w.attr &&
         s.attr2 == w.attr2 && P.slot_[s.slot0].at == P.slot_[w.slot0].at &&
         P.slot_[s.slot0].s == P.slot_[w.slot0].s;
}
// Positions and maxima of the windows of x.
template <class T, class Team>
void run_argmax_and_max(const Team& team, const step& s, const frame_slot& x, const frame_slot& positions,
                        const frame_slot& maxima) {
  window_argmax_and_max<T>(team, window_of(s, x.s, positions.s), static_cast<const T*>(x.data()),
                           static_cast<std::int32_t*>(positions.data()), static_cast<T*>(maxima.data()));
}

constexpr bool is_small(const conv_kernel&) { return false; }
constexpr bool is_small(const conv_bf16_kernel&) { return false; }
constexpr bool is_small(const small_product& s) { return s.m > 0; }

// Packs the weights of a step: once for all of its rows.
template <op O, auto K, class T, class Team>
void pack_kernel(const Team& team, const step& s, const frame_step& f, T* packed) {
  if constexpr (is_conv(O)) {
    const conv_extents e = conv_of(s, {f.slot[0].s, f.slot[1].s, f.slot[2].s});
    const T* const w = static_cast<const T*>(f.slot[1].data());
    if constexpr (is_bf16<T>) conv2d_bf16_pack<pass_of(O), K>(team, e, w, packed);
    else conv2d_pack<pass_of(O), K, simd<T>>(team, e, w, packed);
  }
  if constexpr (O == op::matmul && is_bf16<T>) {
    if (packed) matmul_bf16_pack(team, f.matmul, static_cast<const T*>(f.slot[1].data()), packed);
  } else if constexpr (O == op::matmul) {
    const T* const b = static_cast<const T*>(f.slot[1].data());
    if constexpr (!is_small(K)) {
      if (packed) matmul_pack<T>(team, f.matmul, b, packed);
    } else if constexpr (small_packed(K) > 0) {
      if (packed) small_pack<K>(b, packed);
    }
  }
}
// Returns the number of chosen rows.
template <class T> index_t run_select(const step& s, const frame_step& f) {
  const detail::select_attributes q = detail::attributes_of_select(s);
  const index_t n = f.slot[0].s.d[0];
  const T* const x = static_cast<const T*>(f.slot[0].data());
  const auto* const second = s.loads > 1 ? static_cast<const std::int32_t*>(f.slot[1].data()) : nullptr;
  const auto rows = static_cast<std::int32_t*>(f.slot[s.loads].data());
  if constexpr (std::is_same_v<T, detail::mask_byte>) return select_nonzero(n, x, rows);
  else {
    if (!q.by_order()) return select_nonzero(n, x, rows);
    if (q.segments > 0) { // sorts all rows in scratch: the result may have no room for all
      const auto scratch = [&](int k) { return static_cast<std::int32_t*>(f.slot[s.loads + k].data()); };
      const index_t count =
          select_extreme_of_each(q.least(), n, q.k, q.segments, x, second, scratch(2), scratch(1));
      std::copy_n(scratch(2), count, rows);
      return count;
    }
    const index_t most = q.most_of(n);
    return select_extreme(q.least(), n, second == nullptr ? most : std::min<index_t>(most, *second), x, rows);
  }
}
// The sources and lists of the first two operands that are elided gathers.
struct indexed_operands {
  const void* from[2]{};
  row_lists lists;
};

// in, index: operand k as numbers and as indices; y: the result
template <class T, class Team, class In, class Index>
[[gnu::always_inline]] inline void run_spgemm(const Team& team, const step& s, const frame_step& f,
                                              const In& in, const Index& index, T* y) {
  const shape& out = f.slot[s.loads].s;
  const auto run = [&](const auto& p) {
    const auto makes = detail::made_by_spgemm(s.attr);
    T* const lost = static_cast<T*>(f.slot[s.loads + 1].data());
    if (makes == detail::spgemm_a) spgemm_a<T>(team, p, in(6), in(7), y, lost);
    else if (makes == detail::spgemm_c) spgemm_c<T>(team, p, in(6), in(7), y, lost);
    else spgemm_b<T>(p, out.d[0], in(6), in(7), y, lost);
  };
  const auto rows = [&](int k) {
    const bool wide = (s.attr & detail::spgemm_wide(k)) != 0;
    return csr_rows{row_ends{f.slot[2 * k + 1].data(), wide}, index(2 * k)};
  };
  if (detail::made_by_spgemm(s.attr) != s.attr)
    run(spgemm_patterns<row_ends>{rows(0), rows(1), rows(2), f.slot[1].s.d[0]});
  else
    run(spgemm_patterns<const std::int32_t*>{
        {index(1), index(0)}, {index(3), index(2)}, {index(5), index(4)}, f.slot[1].s.d[0]});
}
// Entries of a sparse matrix from a dense one, or the other way round.
template <op O, class T, class Team, class In, class Index>
[[gnu::always_inline]] inline void run_dense(const Team& team, const step& s, const frame_step& f,
                                             const In& in, const Index& index, T* y) {
  const shape& out = f.slot[s.loads].s;
  const shape& matrix = O == op::dense_of ? out : f.slot[2].s; // the dense one
  const index_t rows = matrix.d[0], columns = matrix.d[1];
  const auto run = [&](const auto& a) {
    if constexpr (O == op::entries_of) entries_of<T>(team, a, rows, columns, in(2), y);
    else dense_of<T>(team, a, rows, columns, in(2), y);
  };
  if ((s.attr & detail::in_tiles) != 0)
    run(csr_tiles{detail::tiling_of(rows, columns, f.slot[0].s.d[0], sizeof(T)), index(1), index(0)});
  else run(csr_rows{row_ends{f.slot[1].data(), (s.attr & detail::entries_wide) != 0}, index(0)});
}

// K: the kernel of a convolution, the extents of a small product
template <op O, auto K, class T, class Team> void run_kernel(const Team& team, const step& s,
                                                             const frame_step& f,
                                                             const scratch_of_kernel<T>& scratch,
                                                             const detail::name_values& names,
                                                             const indexed_operands& indexed = {}) {
  const int result = s.loads;
  const auto in = [&](int k) {
    return static_cast<const T*>(k < 2 && indexed.from[k] != nullptr ? indexed.from[k] : f.slot[k].data());
  };
  const auto index = [&](int k) { return static_cast<const std::int32_t*>(f.slot[k].data()); };
  T* const y = static_cast<T*>(f.slot[result].data());
  std::int32_t* const position = static_cast<std::int32_t*>(f.slot[result].data());
  const shape& x = f.slot[0].s;
  const shape& out = f.slot[result].s;
  const int axis = static_cast<int>(s.attr);
  const auto before = [&](const shape& q) { return product(q, 0, axis); };
  const auto after = [&](const shape& q) { return product(q, axis + 1, q.rank); };
  if constexpr (O == op::matmul && is_bf16<T>)
    matmul_bf16(team, f.matmul, in(0), in(1), static_cast<float*>(f.slot[result].data()), scratch.each,
                scratch.packed);
  else if constexpr (O == op::matmul) {
    if constexpr (is_small(K)) matmul_small<K, T>(team, f.matmul, in(0), in(1), y, scratch.packed);
    else
      matmul<T>(team, f.matmul, in(0), in(1), y, scratch.each, scratch.shared, scratch.packed, indexed.lists);
  } else if constexpr (is_conv(O) && is_bf16<T>)
    conv2d_bf16_run<pass_of(O), K>(team, conv_of(s, {x, f.slot[1].s, out}), in(0), in(1),
                                   static_cast<float*>(f.slot[result].data()), scratch);
  else if constexpr (is_conv(O))
    conv2d_run<pass_of(O), K, simd<T>>(team, conv_of(s, {x, f.slot[1].s, out}), in(0), in(1), y, scratch,
                                       indexed.lists);
  else if constexpr (O == op::window_max) window_max<T>(team, window_of(s, x, out), in(0), y);
  else if constexpr (O == op::window_argmax) window_argmax<T>(team, window_of(s, x, out), in(0), position);
  else if constexpr (O == op::window_gather) window_gather<T>(team, window_of(s, x, out), in(0), index(1), y);
  else if constexpr (O == op::window_scatter)
    window_scatter<T>(team, window_of(s, out, x), index(1), in(0), y);
  else if constexpr (O == op::window_sum)
    window_sum<T>(team, window_of(s, x, out), window_factor<T>(s), in(0), y);
  else if constexpr (O == op::window_spread)
    window_spread<T>(team, window_of(s, out, x), window_factor<T>(s), in(0), y);
  else if constexpr (O == op::unfold && is_bf16<T>)
    unfold<T, Team, simd<float>>(team, unfold_of(s, x), in(0), y);
  else if constexpr (O == op::unfold) unfold<T>(team, unfold_of(s, x), in(0), y);
  else if constexpr (O == op::fold) fold<T>(team, unfold_of(s, out), in(0), y);
  else if constexpr (O == op::pad)
    pad_axis(team, before(x), x.d[axis], out.d[axis], after(x), static_cast<index_t>(s.attr2), in(0), y);
  else if constexpr (O == op::concat)
    concat_axis(team, before(x), x.d[axis], f.slot[1].s.d[axis], after(x), in(0), in(1), y);
  else if constexpr (O == op::gather)
    gather_axis(team, before(x), x.d[axis], product(f.slot[1].s, 0, f.slot[1].s.rank), after(x), in(0),
                index(1), y);
  else if constexpr (O == op::scatter_add) {
    T* const lost = s.carries > 0 ? static_cast<T*>(f.slot[s.loads + 1].data()) : nullptr;
    scatter_add_axis(team, before(out), out.d[axis], product(f.slot[1].s, 0, f.slot[1].s.rank), after(out),
                     in(0), index(1), s.loads > 2 ? in(2) : nullptr, y, lost,
                     lost ? reinterpret_cast<std::uint8_t*>(lost + product(out, 0, out.rank)) : nullptr);
  } else if constexpr (O == op::spgemm) run_spgemm<T>(team, s, f, in, index, y);
  else if constexpr (O == op::entries_of || O == op::dense_of) run_dense<O, T>(team, s, f, in, index, y);
  else if constexpr (O == op::sparse_solve) {
    const auto has = [&](std::uint64_t attribute) { return (s.attr & attribute) != 0; };
    const triangular_solve how{out.d[0], product(out, 1, out.rank), has(detail::solves_upper),
                               has(detail::solves_unit), has(detail::spmm_transposed)};
    if (has(detail::solves_wide))
      solve<T>(how, csr_rows{static_cast<const std::int64_t*>(f.slot[1].data()), index(0)}, in(2), in(3), y);
    else solve<T>(how, csr_rows{index(1), index(0)}, in(2), in(3), y);
  } else if constexpr (O == op::argmax) argmax_axes(team, x, static_cast<unsigned>(s.attr), in(0), position);
  else {
    static_assert(O == op::custom_tensor);
    const void* operands[3]{};
    for (int k = 0; k < s.loads; ++k) operands[k] = f.slot[k].data();
    s.custom->run(y, operands, names);
  }
}

// Rows [lo, hi) of a step whose first operand and result have the same outermost axis. result: the address of row 0
template <op O, auto K, class T> void run_rows(const step& s, const frame_step& f, index_t lo, index_t hi,
                                               void* result, const scratch_of_kernel<T>& scratch,
                                               const detail::name_values& names) {
  frame_slot slot[3] = {f.slot[0], f.slot[1], f.slot[2]};
  slot[2].source = &result;
  slot[2].offset = 0;
  for (const int k : {0, 2}) {
    slot[k].offset +=
        lo * product(slot[k].s, 1, slot[k].s.rank) * (k == 0 ? index_t{sizeof(T)} : bytes_of_result<T>());
    slot[k].s.d[0] = hi - lo;
  }
  frame_step part;
  part.slot = slot;
  part.matmul = f.matmul;
  part.matmul.m = hi - lo;
  run_kernel<O, K, T>(serial_team{}, s, part, scratch, names);
}

} // namespace tapeless::cpu
