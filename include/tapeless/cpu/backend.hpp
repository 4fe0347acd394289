// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Steps of a plan -> kernels of this folder. One function for fused groups, one line for each whole-tensor op.
#pragma once
#include "../plan/backend.hpp"
#include "conv.hpp"
#include "fused.hpp"
#include "index.hpp"
#include "matmul.hpp"
#include "pool.hpp"
#include "team.hpp"

namespace tapeless::cpu {

using tapeless::detail::eval;
using tapeless::detail::location;
using tapeless::detail::place;
using tapeless::detail::run_context;
using tapeless::detail::slot;
using tapeless::detail::step;

// ---- addresses ------------------------------------------------------------------------------------------------

inline void* address(const location& l, const run_context& c) {
  switch (l.where) {
    case place::input: return c.input[l.index];
    case place::result: return c.result[l.index];
    case place::arena: return c.part[l.index] + l.offset * c.part_unit[l.index];
    default: return nullptr;
  }
}

// ---- whole-tensor ops: extents of a step from its shapes --------------------------------------------------------

inline shape evaluated(const shape& s, const tapeless::detail::name_values& names) {
  shape r = s;
  for (int i = 0; i < s.rank; ++i) r.d[i] = eval(s.d[i], names);
  return r;
}
constexpr index_t product(const shape& s, int from, int to) {
  index_t n = 1;
  for (int i = from; i < to; ++i) n *= s.d[i];
  return n;
}
// unknown extents of a shape as 1: for scratch sizes, which do not depend on them
constexpr shape assumed(const shape& s) {
  shape r = s;
  for (int i = 0; i < s.rank; ++i)
    if (!tapeless::detail::is_static(r.d[i])) r.d[i] = 1;
  return r;
}

// a, b, c: shapes of the operands and the result of a step, as numbers
constexpr matmul_extents matmul_of(const step& s, const shape& a, const shape& b, const shape& c) {
  matmul_extents e;
  e.ta = (s.attr & 1u) != 0;
  e.tb = (s.attr & 2u) != 0;
  e.batch = product(c, 0, c.rank - 2);
  e.m = c.d[c.rank - 2];
  e.n = c.d[c.rank - 1];
  e.k = tapeless::detail::cols(a, e.ta);
  e.a_batched = e.batch != 1 && product(a, 0, a.rank - 2) == e.batch;
  e.b_batched = e.batch != 1 && product(b, 0, b.rank - 2) == e.batch;
  return e;
}
// x, w, y: image, weights, result of the convolution, whichever of them the step computes
constexpr conv_extents conv_of(const step& s, const shape& x, const shape& w, const shape& y) {
  const tapeless::detail::window_attributes a = tapeless::detail::unpack(s.attr);
  conv_extents e;
  e.n = x.d[0];
  e.c = x.d[1];
  e.h = x.d[2];
  e.w = x.d[3];
  e.k = w.d[0];
  e.r = w.d[2];
  e.s = w.d[3];
  e.p = y.d[2];
  e.q = y.d[3];
  e.stride_h = a.stride.h;
  e.stride_w = a.stride.w;
  e.pad_top = a.padding.top;
  e.pad_left = a.padding.left;
  e.dil_h = a.dilation.h;
  e.dil_w = a.dilation.w;
  e.groups = static_cast<index_t>(s.attr2);
  return e;
}
constexpr conv_extents conv_of(const step& s, const shape (&q)[3]) {
  return s.o == op::conv_fprop ? conv_of(s, q[0], q[1], q[2]) : s.o == op::conv_dgrad ? conv_of(s, q[2], q[1], q[0]) : conv_of(s, q[0], q[2], q[1]);
}
constexpr window_extents window_of(const step& s, const shape& x, const shape& y) {
  const tapeless::detail::window_attributes a = tapeless::detail::unpack(s.attr);
  const pair2 k = tapeless::detail::unpack_kernel(s.attr2);
  window_extents e;
  e.planes = x.d[0] * x.d[1];
  e.h = x.d[2];
  e.w = x.d[3];
  e.r = k.h;
  e.s = k.w;
  e.p = y.d[2];
  e.q = y.d[3];
  e.stride_h = a.stride.h;
  e.stride_w = a.stride.w;
  e.pad_top = a.padding.top;
  e.pad_left = a.padding.left;
  e.dil_h = a.dilation.h;
  e.dil_w = a.dilation.w;
  return e;
}

// scratch for each member and shared scratch, in elements
struct scratch_need {
  index_t each = 0, shared = 0;
};
template <class T> constexpr scratch_need scratch_of(const step& s, const shape (&q)[3]) {
  switch (s.o) {
    case op::matmul: {
      const matmul_extents e = matmul_of(s, q[0], q[1], q[2]);
      return {matmul_scratch<T>(e), matmul_shared<T>(e)};
    }
    case op::conv_fprop: {
      const conv_extents e = conv_of(s, q);
      return {conv2d_fprop_scratch<T>(e), conv2d_fprop_shared<T>(e)};
    }
    case op::conv_dgrad: {
      const conv_extents e = conv_of(s, q);
      return {conv2d_dgrad_scratch<T>(e), conv2d_dgrad_shared<T>(e)};
    }
    case op::conv_wgrad: {
      const conv_extents e = conv_of(s, q);
      return {conv2d_wgrad_scratch<T>(e), conv2d_wgrad_shared<T>(e)};
    }
    default: return {};
  }
}

template <class T, class Team>
void run_whole(const Team& team, const step& s, const shape (&q)[3], void* const (&p)[4], T* scratch, T* shared, const tapeless::detail::name_values& names) {
  const auto in = [&](int k) { return static_cast<const T*>(p[k]); };
  const auto index = [&](int k) { return static_cast<const std::int32_t*>(p[k]); };
  T* const y = static_cast<T*>(p[s.loads]);
  const int axis = static_cast<int>(s.attr);
  const shape& x = q[0];
  const auto planes = [&](const shape& image, const shape& pooled) { return window_of(s, image, pooled); };
  switch (s.o) {
    case op::matmul: return matmul<T>(team, matmul_of(s, q[0], q[1], q[2]), in(0), in(1), y, scratch, shared);
    case op::conv_fprop: return conv2d_fprop<T>(team, conv_of(s, q), in(0), in(1), y, scratch, shared);
    case op::conv_dgrad: return conv2d_dgrad<T>(team, conv_of(s, q), in(0), in(1), y, scratch, shared);
    case op::conv_wgrad: return conv2d_wgrad<T>(team, conv_of(s, q), in(0), in(1), y, scratch, shared);
    case op::window_argmax: return window_argmax<T>(team, planes(x, q[1]), in(0), static_cast<std::int32_t*>(p[1]));
    case op::window_gather: return window_gather<T>(team, planes(x, q[2]), in(0), index(1), y);
    case op::window_scatter: return window_scatter<T>(team, planes(q[2], x), index(1), in(0), y);
    case op::window_sum: return window_sum<T>(team, planes(x, q[1]), in(0), y);
    case op::window_spread: return window_spread<T>(team, planes(q[1], x), in(0), y);
    case op::pad:
      return pad_axis(team, product(x, 0, axis), x.d[axis], q[1].d[axis], product(x, axis + 1, x.rank), static_cast<index_t>(s.attr2), in(0), y);
    case op::concat:
      return concat_axis(team, product(x, 0, axis), x.d[axis], q[1].d[axis], product(x, axis + 1, x.rank), in(0), in(1), y);
    case op::gather:
      return gather_axis(team, product(x, 0, axis), x.d[axis], product(q[1], 0, q[1].rank), product(x, axis + 1, x.rank), in(0), index(1), y);
    case op::scatter_add:
      return scatter_add_axis(team, product(x, 0, axis), q[2].d[axis], product(q[1], 0, q[1].rank), product(q[2], axis + 1, q[2].rank), in(0), index(1), y);
    case op::argmax: {
      index_t extent[4] = {1, 1, 1, 1};
      for (int i = 0; i < x.rank; ++i) extent[i] = x.d[i];
      return argmax_axes(team, extent, static_cast<unsigned>(s.attr) | (0xfu << x.rank & 0xfu), in(0), static_cast<std::int32_t*>(p[1]));
    }
    case op::custom_tensor: {
      const void* const operands[3] = {p[0], s.loads > 1 ? p[1] : nullptr, s.loads > 2 ? p[2] : nullptr};
      return s.custom->run(y, operands, names);
    }
    default: return;
  }
}

// ---- fused groups -----------------------------------------------------------------------------------------------

template <const auto& P, int I> constexpr auto code_of() {
  constexpr step s = P.step_[I];
  fused_code<s.codes, s.konsts, s.stores, s.customs> k;
  for (int i = 0; i < s.codes; ++i) k.code[i] = P.code[s.code0 + i];
  for (int i = 0; i < s.konsts; ++i) k.konst[i] = P.konst[s.konst0 + i];
  for (int i = 0; i < s.stores; ++i) k.store[i] = P.store_[s.store0 + i];
  for (int i = 0; i < s.customs; ++i) k.custom[i] = P.custom[s.custom0 + i];
  k.slots = s.loads + s.stores;
  k.axes = s.axes;
  return k;
}

// Strides, starts and loop extents of a step, as numbers.
template <int Slots> struct loop_table {
  extent_t stride[Slots > 0 ? Slots : 1][max_rank]{};
  extent_t start[Slots > 0 ? Slots : 1]{};
  extent_t loop[max_rank]{};
};
template <const auto& P, int I> constexpr bool loops_are_static() {
  constexpr step s = P.step_[I];
  for (int a = 0; a < s.axes; ++a)
    if (!tapeless::detail::is_static(s.loop[a])) return false;
  return true; // strides and offsets are products of these
}
template <const auto& P, int I> constexpr auto loops_of(const tapeless::detail::name_values& names) {
  constexpr step s = P.step_[I];
  constexpr int n = s.loads + s.stores;
  loop_table<n> t;
  for (int k = 0; k < n; ++k) {
    const slot& q = P.slot_[s.slot0 + k];
    for (int a = 0; a < s.axes; ++a) t.stride[k][a] = eval(q.stride[a], names);
    t.start[k] = eval(q.offset[0], names) + eval(q.offset[1], names);
  }
  for (int a = 0; a < s.axes; ++a) t.loop[a] = eval(s.loop[a], names);
  return t;
}
template <const auto& P, int I> inline constexpr auto static_loops = loops_of<P, I>(tapeless::detail::name_values{});

template <const auto& P, int I, class Team> void run_fused(const Team& team, const run_context& c) {
  constexpr step s = P.step_[I];
  constexpr int slots = s.loads + s.stores;
  using T = std::conditional_t<s.wide, double, float>;
  using kernel = fused_kernel<code_of<P, I>(), T>;
  void* base[slots > 0 ? slots : 1];
  for (int k = 0; k < slots; ++k) base[k] = address(P.slot_[s.slot0 + k].at, c);
  extent_t extents[s.extents > 0 ? s.extents : 1];
  for (int k = 0; k < s.extents; ++k) extents[k] = eval(P.extent[s.extent0 + k], c.names);

  const auto run = [&](const auto& table) {
    extent_t inner = 1;
    for (int a = 1; a < s.axes; ++a) inner *= table.loop[a];
    const tapeless::detail::chunking cut = tapeless::detail::chunks_of(table.loop[0], inner, s.axes == 1);
    if (table.loop[0] == 0 || inner == 0) { // nothing to visit: sums are 0
      for (int k = 0; k < s.stores; ++k) {
        const tapeless::detail::store y(P.store_[s.store0 + k]);
        if (y.k == store_kind::dense) continue;
        extent_t n = 1;
        for (int a = 0; a < s.axes; ++a)
          if (!((y.reduced >> a) & 1u)) n *= table.loop[a];
        T* const q = static_cast<T*>(base[y.slot]);
        for (extent_t i = 0; i < n; ++i) q[i] = T(0);
      }
      return;
    }
    const fused_arguments all{base, table.stride, table.start, table.loop, extents};
    if (cut.count == 1) return kernel::run(all, 0, table.loop[0]);
    const auto partial_of = [&](int k) { return static_cast<T*>(address(P.slot_[s.partial0 + k].at, c)); };
    const auto partial_size = [&](int k) {
      return eval(tapeless::detail::numel(P.slot_[s.partial0 + k].s), c.names);
    };
    team.run(cut.count, [&](index_t chunk, int) {
      void* mine[slots > 0 ? slots : 1];
      for (int k = 0; k < slots; ++k) mine[k] = base[k];
      int part = 0;
      for (int k = 0; k < s.stores; ++k)
        if (const tapeless::detail::store y(P.store_[s.store0 + k]); y.splits) {
          mine[y.slot] = partial_of(part) + chunk * partial_size(part);
          ++part;
        }
      fused_arguments a = all;
      a.base = mine;
      const extent_t end = (chunk + 1) * cut.size;
      kernel::run(a, chunk * cut.size, end < table.loop[0] ? end : table.loop[0]);
    });
    int part = 0;
    for (int k = 0; k < s.stores; ++k)
      if (const tapeless::detail::store y(P.store_[s.store0 + k]); y.splits) {
        combine_partials(y.is_max, partial_of(part), cut.count, partial_size(part), static_cast<T*>(base[y.slot]));
        ++part;
      }
  };
  if constexpr (loops_are_static<P, I>()) run(static_loops<P, I>);
  else run(loops_of<P, I>(c.names));
}

// ---- the back end -----------------------------------------------------------------------------------------------

template <team Team> struct backend {
  using team_type = Team;
  using space = host;

  template <const auto& P> static constexpr scratch_need scratch_bytes() {
    scratch_need most;
    for (int i = 0; i < P.steps; ++i) {
      const step& s = P.step_[i];
      if (s.fused) continue;
      shape q[3]{};
      for (int k = 0; k < s.loads + 1 && k < 3; ++k) q[k] = assumed(P.slot_[s.slot0 + k].s);
      const scratch_need n = s.wide ? scratch_of<double>(s, q) : scratch_of<float>(s, q);
      const index_t size = s.wide ? 8 : 4;
      if (n.each * size > most.each) most.each = n.each * size;
      if (n.shared * size > most.shared) most.shared = n.shared * size;
    }
    most.each = tapeless::detail::aligned(most.each);
    most.shared = tapeless::detail::aligned(most.shared);
    return most;
  }

  template <const auto& P, int I> [[gnu::always_inline]] static inline void run_step(const Team& team, const run_context& c) {
    constexpr step s = P.step_[I];
    if constexpr (s.fused) run_fused<P, I>(team, c);
    else {
      using T = std::conditional_t<s.wide, double, float>;
      shape q[3]{};
      void* p[4]{};
      for (int k = 0; k < s.loads + 1; ++k) {
        if (k < 3) q[k] = evaluated(P.slot_[s.slot0 + k].s, c.names);
        p[k] = address(P.slot_[s.slot0 + k].at, c);
      }
      run_whole<T>(team, s, q, p, reinterpret_cast<T*>(c.scratch), reinterpret_cast<T*>(c.shared), c.names);
    }
  }
};

#ifdef TAPELESS_WITH_OPENMP
using default_team = openmp_team;
#else
using default_team = serial_team;
#endif

} // namespace tapeless::cpu

template <> struct tapeless::detail::backend_for<tapeless::host> {
  using type = tapeless::cpu::backend<tapeless::cpu::default_team>;
};
