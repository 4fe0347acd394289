// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// elided_gathers: the gathers of a program that copy nothing. Readers take rows list[0], list[1], .. of the operand:
//   a loop      row by row, with its pointer moved to each row; it may read up to indexed_loads::most such gathers
//   a^T b       while it packs a or b
//   wgrad       image by image
// A gather is elided if all its readers are of these kinds, and if its operand and list last as long as they run.
#pragma once
#include "../../core/dtype.hpp"
#include "../../core/shape.hpp"
#include "../../ops/row_axis.hpp"
#include "../../plan/ir/step.hpp"
#include "extents.hpp"
#include "liveness.hpp"

namespace tapeless::cpu {

// The loads of one loop that read by lists: step gather[k] has the list of load[k].
struct indexed_loads {
  static constexpr int most = 4;
  int count = 0;
  int load[most]{}, gather[most]{};
  index_t unit = 0;                   // indices of the outermost loop axis in each row
  index_t row[most]{}, first[most]{}; // bytes of a row, and of its part before what is read
};

template <const auto& P> constexpr bool has_step(bool (&is)(op)) {
  for (int i = 0; i < P.steps; ++i)
    if (!P.step_[i].fused && is(P.step_[i].o)) return true;
  return false;
}

template <const auto& P> class elided_gathers : liveness<P> {
  using liveness<P>::result_of;
  static constexpr index_t least_bytes = 512; // of a row that a loop is called for

  // How many indices of the outermost loop axis of step r fall into each row that slot k reads (n rows, `numel`
  // elements in all). 0: the loop does not go through these rows in order.
  static constexpr index_t unit_of(int r, int k, extent_t n, extent_t numel) {
    using namespace tapeless::detail;
    const step& s = P.step_[r];
    const detail::slot& q = P.slot_[k];
    const index_t row = quotient(numel, n);
    int first = r;
    while (P.step_[first].sweep) --first;
    if (is_sparse(P.step_[first].o) || s.at_load || row == 0 || row * size_of(q.t) < least_bytes) return 0;
    if (!is_static(q.stride[0]) || q.stride[0] <= 0 || row % q.stride[0] != 0) return 0;
    const index_t unit = row / q.stride[0];
    if (s.loop[0] != times(n, unit)) return 0;
    if (!is_static(q.offset[0]) || !is_static(q.offset[1])) return 0;
    index_t farthest = q.offset[0] + q.offset[1] + (unit - 1) * q.stride[0]; // the last element read of a row
    if (q.offset[0] + q.offset[1] < 0) return 0;
    for (int a = 1; a < s.axes; ++a) {
      if (!is_static(s.loop[a]) || !is_static(q.stride[a]) || q.stride[a] < 0) return 0;
      farthest += (s.loop[a] - 1) * q.stride[a];
    }
    return farthest < row ? unit : 0;
  }
  // Does kernel step r read rows of the tensor y in slot k, and not those of a reshape of it?
  static constexpr bool kernel_reads_rows(int r, int k, const shape& y) {
    const step& s = P.step_[r];
    if (s.at_load || s.bf16 || s.loads != 2 || !(P.slot_[k].s == y)) return false;
    shape q[3]{};
    for (int j = 0; j < 3; ++j) q[j] = P.slot_[s.slot0 + j].s;
    constexpr bool conv = has_step<P>(is_conv);
    return s.wide ? reads_lists<double, conv>(s, q) : reads_lists<float, conv>(s, q);
  }
  // Does gather i copy floating-point rows of a tensor that is dense and lies where its slot says?
  static constexpr bool is_list_of_rows(int i) {
    using detail::is_static, detail::is_float;
    const step& s = P.step_[i];
    if (s.fused || s.o != op::gather || s.attr != 0 || s.at_load) return false;
    const detail::slot &x = P.slot_[s.slot0], &list = P.slot_[s.slot0 + 1], &y = P.slot_[s.slot0 + 2];
    if (y.at.where != detail::place::arena || !is_float(x.t) || list.s.rank != 1 || x.s.rank < 2)
      return false;
    if (i + 1 < P.steps && P.step_[i + 1].epilogue) return false;
    // the result of another gather may lie where its operand is: see full_selection
    if (const int w = liveness<P>::writer_of(i, s.slot0); w >= 0 && P.step_[w].o == op::gather) return false;
    if (is_static(x.s.d[0])) return x.s.d[0] > 0; // a run may bring zero rows: the gather then makes zeros
    const int w = liveness<P>::writer_of(i, s.slot0 + 1);
    return w >= 0 && P.step_[w].o == op::select;
  }

public:
  static constexpr int slots = P.slots > 0 ? P.slots : 1, steps = P.steps > 0 ? P.steps : 1;
  int gather[slots]{};   // slot k reads the rows of elided gather gather[k]; -1: it does not
  index_t unit[steps]{}; // unit_of a loop that reads by lists; 1: of another step that does
  bool elided[steps]{};

  constexpr elided_gathers() {
    for (int& g : gather) g = -1;
    for (int i = 0; i < P.steps; ++i) {
      if (!is_list_of_rows(i)) continue;
      const int x = P.step_[i].slot0, y = result_of(i);
      const extent_t n = P.slot_[y].s.d[0], all = detail::numel(P.slot_[y].s);
      bool fits = liveness<P>::stays(i, x) && liveness<P>::stays(i, x + 1);
      index_t units[steps]{};
      int loads[steps]{};
      const auto each = [&](auto&& f) { liveness<P>::each_reader(i, f); };
      if (fits)
        each([&](int r, int k) {
          const index_t u = P.step_[r].fused                        ? unit_of(r, k, n, all)
                            : kernel_reads_rows(r, k, P.slot_[y].s) ? 1
                                                                    : 0;
          fits = fits && u > 0 && (units[r] == 0 || units[r] == u) && (unit[r] == 0 || unit[r] == u);
          units[r] = u;
          ++loads[r];
        });
      for (int r = i; r < P.steps; ++r) {
        int known = 0;
        for (int k = P.step_[r].slot0; loads[r] > 0 && k < result_of(r); ++k) known += gather[k] >= 0 ? 1 : 0;
        fits = fits && loads[r] + known <= indexed_loads::most;
      }
      if (!fits) continue;
      elided[i] = true;
      each([&](int r, int k) {
        gather[k] = i;
        unit[r] = units[r];
      });
    }
  }
  constexpr indexed_loads of_loop(int r) const {
    indexed_loads l;
    for (int k = P.step_[r].slot0; k < result_of(r); ++k) {
      if (gather[k] < 0) continue;
      const detail::slot &y = P.slot_[result_of(gather[k])], &q = P.slot_[k];
      const index_t size = detail::size_of(y.t);
      l.load[l.count] = k - P.step_[r].slot0;
      l.gather[l.count] = gather[k];
      l.row[l.count] = detail::quotient(detail::numel(y.s), y.s.d[0]) * size;
      l.first[l.count] = (q.offset[0] + q.offset[1]) * size;
      ++l.count;
    }
    l.unit = unit[r];
    return l;
  }
};

constexpr bool is_gather(op o) { return o == op::gather; }
template <const auto& P> inline constexpr elided_gathers<P> lists_of{};
// Is step i an elided gather?
template <const auto& P> constexpr bool is_elided(int i) {
  if constexpr (has_step<P>(is_gather)) return lists_of<P>.elided[i];
  else return false;
}
// The indexed loads of step i.
template <const auto& P> constexpr indexed_loads indexed_loads_of(int i) {
  if constexpr (has_step<P>(is_gather)) return lists_of<P>.of_loop(i);
  else return {};
}

} // namespace tapeless::cpu
