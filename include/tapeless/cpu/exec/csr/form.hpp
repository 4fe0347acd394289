// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The form of a CSR sweep, from its plan and extents: the steps that multiply and those that sum, the pairs of x and sums
// that alternate, the cut of rows into chunks and tiles, and the scratch of a member.
#pragma once
#include <algorithm>

#include "../../../core/csr_tiles.hpp"
#include "../../../core/element_type.hpp"
#include "../../../ops/spmm.hpp"
#include "../../../plan/ir/step.hpp"
#include "../../../plan/schedule/csr_sweeps.hpp"
#include "../../fused/lanes.hpp"
#include "../../sparse/csr.hpp"
#include "../../sparse/tiles.hpp"
#include "../frame.hpp"
#include "../sweep.hpp"

namespace tapeless::cpu {

using detail::is_sparse;

// The largest power of two up to n, at least 1.
constexpr index_t power_of_two(index_t n) {
  index_t power = 1;
  while (2 * power <= n) power *= 2;
  return power;
}
// The number of chunks. There are enough for threads, but each must have enough entries to be worth its start and its copy
// of the `summed` sums. It is a power of two: two threads take as long for 5 chunks as for 6.
constexpr index_t row_chunks(index_t rows, index_t nnz, index_t summed, index_t most) {
  index_t n = nnz / 8192;
  if (summed > 0) n = std::min(n, nnz / (8 * summed));
  return power_of_two(std::min({n, most, rows}));
}
// Columns of a slice, if K columns are cut into `slices` of whole cache lines.
constexpr index_t columns_of_slice(index_t K, index_t slices, index_t line) {
  return std::max(line, ((K + slices - 1) / slices + line - 1) / line * line);
}
inline constexpr index_t rows_beside_long_vectors = 64;
// The number of rows that the sweep takes at a time. If entries are read twice, the first-level cache must hold them and the
// elements of vectors that they touch. If the vectors are short (apart), the second-level cache must.
constexpr index_t rows_of_tile(index_t rows, index_t nnz, index_t entry_bytes, bool once, bool apart) {
  const index_t entries = apart ? bytes_in_second_level / entry_bytes : entries_at_hand;
  const index_t most = apart ? detail::csr_sweep_rows : rows_beside_long_vectors;
  return once ? most : std::clamp<index_t>(entries / (nnz / rows + 1), 1, most);
}
// x and its sums do not alternate if x has at most so many bytes: the first-level cache holds much of x, and would hold half
// as much of it in alternation.
inline constexpr index_t short_vector = 128 * 1024;

template <const auto& P, int First> struct csr_sweep_form {
  static constexpr int steps = steps_of_sweep<P>(First);
  using T = lanes_of_step<P, First>;
  static constexpr bool tiled = (P.step_[First].attr & detail::in_tiles) != 0;
  static constexpr bool multiplies(int i) { return is_sparse(P.step_[i].o) && !sums(i); }
  static constexpr bool sums(int i) { return is_sparse(P.step_[i].o) && P.step_[i].partials > 0; }
  static constexpr bool reads_entries_once() {
    int n = 0;
    for (int i = First; i < First + steps; ++i) n += is_sparse(P.step_[i].o);
    return n == 1;
  }
  static constexpr bool first_is_ones(int i) { return (P.step_[i].attr & detail::first_is_ones) != 0; }
  static constexpr bool second_is_ones(int i) { return (P.step_[i].attr & detail::second_is_ones) != 0; }
  // The slot of operand 1 or 2 of the op.
  static constexpr int slot_of(int i, int operand) { return operand == 1 || first_is_ones(i) ? 2 : 3; }
  static constexpr bool is_vector(int i) {
    const step& s = P.step_[i];
    for (int k = 2; k < s.loads + s.stores; ++k)
      if (P.slot_[s.slot0 + k].s.rank != 1) return false;
    return true;
  }
  // Is it a transposed product with a dense matrix and nothing else? Members may then share its columns.
  static constexpr bool has_slices = steps == 1 && sums(First) && !is_vector(First);
  static constexpr bool is_triangle(int i) {
    using namespace tapeless::detail;
    return (P.step_[i].attr & (in_lower_triangle | in_upper_triangle)) != 0;
  }
  static constexpr bool multiplies_a_vector(int i) {
    return P.step_[i].o == op::spmm && multiplies(i) && !second_is_ones(i) && is_vector(i);
  }
  // The product whose x alternates with the sums of step i, or the sums that alternate with the x of step i; -1: none.
  static constexpr int partner(int i) {
    if (tiled) return -1;
    const bool by_sums = sums(i);
    int n = 0;
    for (int k = First; k < i; ++k)
      n += by_sums ? sums(k) && is_vector(k) && P.step_[k].sweep : multiplies_a_vector(k);
    if (by_sums ? !is_vector(i) || !P.step_[i].sweep : !multiplies_a_vector(i)) return -1;
    for (int k = First; k < First + steps; ++k)
      if ((by_sums ? multiplies_a_vector(k) : sums(k) && is_vector(k) && P.step_[k].sweep) && n-- == 0)
        return k;
    return -1;
  }
  static constexpr index_t most_stride_of(int i) { return partner(i) >= 0 ? 2 : 1; }

  static T* partial(const frame<P>& f, int i) {
    return static_cast<T*>(f.step[i].slot[of_partial(i)].data());
  }
  static constexpr int of_partial(int i) { return P.step_[i].partial0 - P.step_[i].slot0; }
  static constexpr int of_result(int i) { return P.step_[i].loads; }
  static index_t results(const frame<P>& f, int i) {
    const shape& s = f.step[i].slot[of_result(i)].s;
    return product(s, 0, s.rank);
  }

  static index_t columns_of(const frame<P>& f, int i) { return f.step[i].slot[of_result(i)].s.d[1]; }

  using row_end =
      std::conditional_t<P.slot_[P.step_[First].slot0 + 1].t == dtype::i64, std::int64_t, std::int32_t>;
  struct cut {
    csr_rows<const row_end*> a;
    index_t rows, nnz, chunks, tile;
    index_t chain = 0; // rows in a chain of sums by columns
    bool apart;        // x and its sums lie apart
    csr_tiles tiles{};
    // The stride of the sums of step i.
    constexpr index_t stride_of(int i) const { return apart ? 1 : most_stride_of(i); }
  };
  static cut cut_of(const frame<P>& f) {
    const frame_slot* const slot = f.step[First].slot;
    cut r{{static_cast<const row_end*>(slot[1].data()), static_cast<const std::int32_t*>(slot[0].data())},
          slot[1].s.d[0],
          slot[0].s.d[0],
          1,
          1,
          0,
          true};
    const index_t columns = eval(static_cast<extent_t>(P.step_[First].attr2), f.names);
    r.apart = columns * index_t{sizeof(T)} <= short_vector;
    index_t summed = 0, most = detail::max_row_chunks, entries = r.nnz;
    for (int i = First; i < First + steps; ++i)
      if (sums(i)) {
        summed += r.stride_of(i) * results(f, i);
        if (is_vector(i)) continue;
        most = detail::max_row_chunks_of_matrices;
        entries = std::max(entries, r.nnz * columns_of(f, i) / 4); // an entry takes so much longer
      }
    r.chunks = row_chunks(r.rows, entries, summed, most);
    if constexpr (tiled) {
      const detail::tiling t = detail::tiling_of(r.rows, columns, r.nnz, index_t{sizeof(T)});
      r.tiles = {t, r.a.end, r.a.column};
      r.chunks = power_of_two(std::min(r.chunks, t.row_blocks));
    }
    r.tile =
        r.rows == 0 ? 1 : rows_of_tile(r.rows, r.nnz, index_t{sizeof(T)} + 4, reads_entries_once(), r.apart);
    if (summed > 0) { // about 64 entries a column are worth a pass over all columns
      r.chain = std::max(chain_of(r.rows), 64 * columns / (r.nnz / std::max<index_t>(1, r.rows) + 1));
      r.tile = std::min(r.tile, r.chain);
    }
    return r;
  }

  // ---- sums by columns: where a chunk has several chains of terms, they are added to high + low
  // `high` of a chunk of step i; `low` follows, of as many elements.
  static T* high(const frame<P>& f, const cut& c, int i, index_t chunk) {
    const index_t n = results(f, i);
    return partial(f, i) + c.stride_of(i) * c.chunks * n + chunk * 2 * n;
  }

  // Are rows with a large share of the entries cut into pieces?
  static constexpr bool cuts_rows = !tiled && is_vector(First);

  // ---- the rows that masks keep, block by block
  static constexpr int masks = P.step_[First].masks;
  static constexpr index_t list_bytes = masks > 0 ? detail::mask_block * 4 : 0;
  // Does load k of step i read rows from memory? Then the rows that masks keep are gathered.
  static constexpr bool gathers(int i, int k) {
    const detail::slot& q = P.slot_[P.step_[i].slot0 + k];
    return masks > 0 && k < P.step_[i].loads && q.at.where != detail::place::sweep && q.stride[0] != 0;
  }
  static constexpr index_t gathered_before(int step, int load) {
    index_t n = 0;
    for (int i = First; i <= step; ++i)
      for (int k = 0; k < (i == step ? load : P.step_[i].loads); ++k) n += gathers(i, k);
    return n * detail::room_of_csr_sweep_rows * 8;
  }
  static constexpr index_t own_scratch = detail::aligned(P.sweep_bytes);

  // Bytes of a member's scratch.
  static constexpr index_t scratch() {
    return own_scratch + list_bytes + gathered_before(First + steps - 1, P.step_[First + steps - 1].loads);
  }
};

} // namespace tapeless::cpu
