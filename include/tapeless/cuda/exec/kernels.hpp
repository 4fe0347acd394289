// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The kernels of ops that have a step of their own.
#pragma once
#include <algorithm>
#include <type_traits>
#include "../../core/bf16.hpp"
#include "../../core/geometry.hpp"
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
#include "../base/block.hpp"
#include "../base/sums.hpp"
#include "../kernels/conv.hpp"
#include "../kernels/index.hpp"
#include "../kernels/matmul.hpp"
#include "../kernels/pool.hpp"
#include "../kernels/scan.hpp"
#include "../kernels/shape.hpp"
#include "../kernels/unfold.hpp"
#include "launch.hpp"
#include "sort.hpp"

namespace tapeless::cuda {

template <> struct kernel_for<detail::op::pad> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const shape &x = c.operand(0), &y = c.result();
    device.launch(pad_kernel<T>{c.in(0), c.out(), c.results(), c.axis_of(x), c.axis_of(y), c.after(x),
                                counted(static_cast<index_t>(c.step.attr2))},
                  c.results());
  }
};
template <> struct kernel_for<detail::op::concat> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const shape &a = c.operand(0), &b = c.operand(1);
    device.launch(
        concat_kernel<T>{c.in(0), c.in(1), c.out(), c.results(), c.axis_of(a), c.axis_of(b), c.after(a)},
        c.results());
  }
};
template <> struct kernel_for<detail::op::flip> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const shape& x = c.operand(0);
    device.launch(flip_kernel<T>{c.in(0), c.out(), c.results(), c.axis_of(x), c.after(x)}, c.results());
  }
};
template <> struct kernel_for<detail::op::gather> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const shape &x = c.operand(0), &at = c.operand(1);
    device.launch(gather_kernel<T>{c.in(0), c.index(1), c.out(), c.results(), c.axis_of(x),
                                   counted(elements_of(at)), c.after(x), c.rows},
                  c.results());
  }
};
// The positions of a scatter, sorted by the rows that they go to; nullptr: there are few.
struct sorted_positions {
  const count_t *sorted = nullptr, *end = nullptr;
};
template <class T, class Device>
sorted_positions positions_of_scatter(const Device& device, const kernel_call<T>& c, count_t n,
                                      count_t rows) {
  if (c.step.partials == 0) return {};
  const auto made = [&c](int k) { return static_cast<count_t*>(c.slot[c.step.loads + k].data()); };
  sort_positions(device, c.scratch, c.index(1), n, rows, made(1), made(2), made(3));
  return {made(1), made(3)};
}
template <> struct kernel_for<detail::op::scatter_add> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const shape& x = c.result();
    const count_t n = counted(elements_of(c.operand(1))), rows = c.axis_of(x);
    const sorted_positions p = positions_of_scatter(device, c, n, rows);
    device.launch(scatter_add_kernel<T>{c.in(0), c.index(1), c.step.loads > 2 ? c.in(2) : nullptr, c.out(),
                                        p.sorted, p.end, c.results(), rows, n, c.after(x)},
                  c.results());
  }
};
template <> struct kernel_for<detail::op::scatter_argmax> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    const count_t n = counted(elements_of(c.operand(1))), rows = c.results();
    const sorted_positions p = positions_of_scatter(device, c, n, rows);
    device.launch(scatter_argmax_kernel<T>{c.in(0), c.index(1), c.in(2), c.template out<std::int32_t>(),
                                           p.sorted, p.end, rows, n, c.rows},
                  rows);
  }
};
template <> struct kernel_for<detail::op::argmax> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    argmax_kernel<T> k{
        c.in(0), c.template out<std::int32_t>(), c.results(), 1, c.step.attr2 != 0, 0, 0, {}, {}, {}, {}};
    const shape& x = c.operand(0);
    index_t stride = 1;
    for (int a = x.rank - 1; a >= 0; --a) {
      const count_t n = counted(x.d[a]);
      if (((c.step.attr >> a) & 1u) != 0) {
        k.reduced_extent[k.reduced] = n;
        k.reduced_stride[k.reduced++] = stride;
        k.positions = counted(index_t{k.positions} * n);
      } else {
        k.kept_extent[k.kept] = n;
        k.kept_stride[k.kept++] = stride;
      }
      stride *= n;
    }
    device.launch(k, c.results(), k.lanes);
  }
};
// Chunks of a scan: at most so many of all lines, of a line, and elements of each at least.
inline constexpr count_t most_chunks = 1u << 13, most_of_line = 512, least_of_chunk = 32;
inline constexpr index_t scratch_of_scan =
    most_chunks * index_t{sizeof(scan_state<double, static_cast<int>(detail::op::linear_scan)>)};

template <detail::op O>
  requires(detail::is_scan(O))
struct kernel_for<O> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    constexpr int Op = static_cast<int>(O);
    using state = scan_state<T, Op>;
    const shape& x = c.operand(0);
    const count_t lines = counted(c.before_axis(x) * c.after_axis(x)), n = c.axis_of(x),
                  most = std::min({n / least_of_chunk, most_of_line, most_chunks / std::max(lines, 1u)}),
                  each = most > 1 ? (n + most - 1) / most : n, chunks = most > 1 ? (n + each - 1) / each : 1;
    const bool cut = chunks > 1 || device.lists();
    const scan_lines<T, Op> k{c.in(0),
                              c.in(is_linear<Op> ? 1 : 0),
                              c.template out<void>(),
                              cut ? reinterpret_cast<state*>(c.scratch) : nullptr,
                              lines,
                              n,
                              c.after(x),
                              chunks,
                              each,
                              c.rows,
                              c.step.attr2 != 0};
    if (cut) {
      device.launch(chunk_ends_kernel<T, Op>{k}, lines * chunks);
      device.launch(chunk_begins_kernel<T, Op>{k}, lines);
    }
    device.launch(scan_kernel<T, Op>{k}, lines * chunks);
  }
};
// Sums of products of bf16 are float.
template <class X> using sum_of_products = std::conditional_t<std::is_same_v<X, bf16>, float, X>;

template <> struct kernel_for<detail::op::matmul> {
  template <class X, class Device> static void launch(const Device& device, const kernel_call<X>& c) {
    using T = sum_of_products<X>;
    device.template matmul<T, X>(detail::matmul_of(c.step, c.operand(0), c.operand(1), c.result()), c.in(0),
                                 c.in(1), c.template out<T>());
  }
};

template <conv_pass Pass> struct conv_kernel_for {
  template <class X, class Device> static void launch(const Device& device, const kernel_call<X>& c) {
    using T = sum_of_products<X>;
    const shape q[3] = {c.operand(0), c.operand(1), c.result()};
    device.template conv<Pass, T, X>(detail::conv_of(c.step, q), c.in(0), c.in(1), c.template out<T>());
  }
};
template <> struct kernel_for<detail::op::conv_fprop> : conv_kernel_for<conv_pass::fprop> {};
template <> struct kernel_for<detail::op::conv_dgrad> : conv_kernel_for<conv_pass::dgrad> {};
template <> struct kernel_for<detail::op::conv_wgrad> : conv_kernel_for<conv_pass::wgrad> {};

template <> struct kernel_for<detail::op::unfold> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(unfold_kernel<T>{c.in(0), c.out(), c.results(), detail::unfold_of(c.step, c.operand(0))},
                  c.results());
  }
};
template <> struct kernel_for<detail::op::fold> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(fold_kernel<T>{c.in(0), c.out(), c.results(), detail::unfold_of(c.step, c.result())},
                  c.results());
  }
};

template <class T> window_extents windows_of_operand(const kernel_call<T>& c) {
  return detail::window_of(c.step, c.operand(0), c.result());
}
template <class T> window_extents windows_of_result(const kernel_call<T>& c) {
  return detail::window_of(c.step, c.result(), c.operand(0));
}
template <> struct kernel_for<detail::op::window_max> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(window_max_kernel<T>{c.in(0), c.out(), nullptr, c.results(), windows_of_operand(c)},
                  c.results());
  }
};
template <> struct kernel_for<detail::op::window_argmax> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(window_max_kernel<T>{c.in(0), nullptr, c.template out<std::int32_t>(), c.results(),
                                       windows_of_operand(c)},
                  c.results());
  }
};
template <> struct kernel_for<detail::op::window_gather> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(window_gather_kernel<T>{c.in(0), c.index(1), c.out(), c.results(), windows_of_operand(c)},
                  c.results());
  }
};
template <> struct kernel_for<detail::op::window_sum> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(window_sum_kernel<T>{c.in(0), c.out(), detail::window_factor<T>(c.step), c.results(),
                                       windows_of_operand(c)},
                  c.results());
  }
};
template <> struct kernel_for<detail::op::window_scatter> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(
        window_transposed_kernel<T>{c.in(0), c.index(1), c.out(), T(1), c.results(), windows_of_result(c)},
        c.results());
  }
};
template <> struct kernel_for<detail::op::window_spread> {
  template <class T, class Device> static void launch(const Device& device, const kernel_call<T>& c) {
    device.launch(window_transposed_kernel<T>{c.in(0), nullptr, c.out(), detail::window_factor<T>(c.step),
                                              c.results(), windows_of_result(c)},
                  c.results());
  }
};

} // namespace tapeless::cuda
