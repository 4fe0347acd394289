// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A device as a back end: each step of a plan is a few launches, one after another. Device: what launches, see exec/launch.hpp.
#pragma once
#include <cstdint>
#include <type_traits>
#include "../core/bf16.hpp"
#include "../core/element_type.hpp"
#include "../core/shape.hpp"
#include "../expr/op.hpp"
#include "../ops/select_node.hpp"
#include "../plan/backend.hpp"
#include "../plan/ir/kernel_extents.hpp"
#include "../plan/ir/step.hpp"
#include "base/block.hpp"
#include "cost_model.hpp"
#include "exec/counted.hpp"
#include "exec/custom.hpp"
#include "exec/epilogue.hpp"
#include "exec/frame.hpp"
#include "exec/kernels.hpp"
#include "exec/launch.hpp"
#include "exec/loop_step.hpp"
#include "exec/select.hpp"
#include "exec/sort.hpp"
#include "exec/sparse.hpp"
#include "kernels/shape.hpp"
#include "on.hpp" // IWYU pragma: export

namespace tapeless { namespace cuda {

struct scratch_need {
  extent_t each = 0, shared = 0, packed = 0;
};

template <class Device> struct backend {
  using team_type = Device;
  using space = cuda_space;
  using cost_model = cuda::cost_model;
  // Values have buffers: nothing passes through them in pieces.
  static constexpr detail::plan_rules rules{.layouts = false,
                                            .sweeps = false,
                                            .epilogues = false,
                                            .chunks = 0,
                                            .sorts = true,
                                            .host_counts = false};
  template <const auto& P> using frame_type = frame<P>;

  template <const auto& P> static constexpr scratch_need scratch() {
    scratch_need r;
    for (int i = 0; i < P.steps; ++i) {
      const detail::step& s = P.step_[i];
      const shape &first = P.slot_[s.slot0].s, &second = P.slot_[s.slot0 + 1].s;
      const extent_t n = s.fused                      ? partial_bytes(s)
                         : s.o == detail::op::select  ? scratch_of_select
                         : s.o == detail::op::pattern ? scratch_of_sort(first.d[0])
                         : detail::is_scan(s.o)       ? scratch_of_scan
                         : s.o == detail::op::spmm    ? scratch_of_products
                         : detail::is_scatter(s.o)    ? scratch_of_sort(detail::numel(second))
                                                      : 0;
      if (n > r.shared) r.shared = detail::aligned(n);
    }
    r.packed = detail::aligned(P.counted * extent_t{sizeof(index_t)}); // frame::count
    return r;
  }
  template <const auto& P, int I> static void run_step(const Device& device, frame<P>& f) {
    if constexpr (!P.step_[I].at_load) execute<P, I>(device, f);
  }
  template <const auto& P, int I> static void load_step(const Device& device, frame<P>& f) {
    if constexpr (P.step_[I].at_load) execute<P, I>(device, f);
  }

  // load_step and run_step of each step. In chunks: clang folds at most 256 operands.
  template <const auto& P, int First = 0, int Count = P.steps>
  static void each_step(const Device& device, frame<P>& f) {
    if constexpr (Count <= 64)
      [&]<int... I>(std::integer_sequence<int, I...>) {
        ((load_step<P, First + I>(device, f), run_step<P, First + I>(device, f)), ...);
      }(std::make_integer_sequence<int, Count>{});
    else {
      each_step<P, First, Count / 2>(device, f);
      each_step<P, First + Count / 2, Count - Count / 2>(device, f);
    }
  }
  // At bind a device hears what the steps need.
  template <const auto& P, int Numbers>
    requires requires(const Device& d) { d.prepare([] {}); }
  static void prepare(const Device& device, frame<P>& f) {
    device.prepare([&] {
      if constexpr (Numbers > 0) device.launch(store_kernel{}, 1);
      each_step<P>(device, f);
    });
  }

private:
  template <const auto& P, int I> static void execute(const Device& device, frame<P>& f) {
    constexpr detail::step s = P.step_[I];
    static_assert(
        counted_rows_come_first<keeps_counted_rows_first<P>()>,
        "tapeless: cuda: the rows of a selection that is counted, as where<'k'>, are rows of a first axis: do not "
        "flip or transpose them, select among them, take their argmax or give them to a custom op of tensors; or "
        "select a static number, top_k<64>");
    if constexpr (epilogue_of<P>(I - 1).is_epilogue) {
    } // the step before it has run it
    else if constexpr (s.fused)
      loop_step<P, I>::run(device, f);
    else if constexpr (s.o == detail::op::custom_tensor)
      custom_step<P.step_[I].custom>::run(device, {P.step_[I], f.slot + s.slot0}, f.context->names);
    else {
      // The first operand of a sparse op is a pattern.
      constexpr dtype type = !is_sparse(s.o) ? P.slot_[s.slot0].t : s.wide ? dtype::f64 : dtype::f32;
      using T = decltype(zero_of<type>());
      constexpr int counts =
          s.o == detail::op::select ? counted_name<P>(P.slot_[s.slot0 + s.loads].s.d[0]) : -1;
      index_t* const count = counts < 0 ? nullptr : f.count + counts;
      if constexpr (epilogue_of<P>(I).is_epilogue)
        if (product_with_loop<P, I>::template run<T>(device, f)) return;
      kernel_for<s.o>::launch(
          device,
          kernel_call<T>{
              {P.step_[I], f.slot + s.slot0}, f.context->names, f.shared, count, counted_rows_of<P, I>(f)});
      if constexpr (counts >= 0) device.tell(count, f.context->names, P.count[counts].name);
      if constexpr (epilogue_of<P>(I).is_epilogue) loop_step<P, I + 1>::run(device, f);
    }
  }
  // Rows that are not there are 0 in what a step writes. The others keep zeros as zeros.
  template <const auto& P, int I> static counted_rows counted_rows_of(const frame<P>& f) {
    constexpr detail::step s = P.step_[I];
    constexpr bool gathers = s.o == detail::op::gather || s.o == detail::op::scatter_argmax,
                   scans = detail::is_scan(s.o);
    if constexpr (gathers || scans) {
      constexpr int operand = s.slot0 + (gathers ? 1 : 0), axis = gathers ? 0 : static_cast<int>(s.attr),
                    name = counted_name<P>(P.slot_[operand].s.d[axis]);
      if constexpr (name >= 0)
        return {f.count + name, f.most[name] == 0 ? 0
                                                  : counted(f.slot[operand].s.d[axis] / f.most[name] *
                                                            (gathers ? after_first(f.slot[operand].s) : 1))};
    }
    return {};
  }
  static index_t after_first(const shape& s) { return detail::product(s, 1, s.rank); }
  static constexpr bool is_sparse(detail::op o) {
    using detail::op;
    return o == op::pattern || o == op::spmm || o == op::sddmm || o == op::sparse_solve || o == op::spgemm ||
           o == op::entries_of || o == op::dense_of;
  }
  template <dtype Type> static constexpr auto zero_of() {
    if constexpr (Type == dtype::f32) return float{};
    else if constexpr (Type == dtype::f64) return double{};
    else if constexpr (Type == dtype::bf16) return bf16{};
    else if constexpr (Type == dtype::i32) return std::int32_t{};
    else if constexpr (Type == dtype::u8) return std::uint8_t{};
    else if constexpr (Type == dtype::i64) return std::int64_t{};
    else return bool{};
  }
};

}} // namespace tapeless::cuda
