// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What steps ask of a device:
//   device.launch(kernel, members, lanes)                     runs a kernel whose threads go through `members`, `lanes` threads each
//   device.matmul<T, X>(extents, a, b, c)                     c of T, operands of X
//   device.conv<Pass, T, X>(extents, first, second, result)   see conv_pass
//   device.matmul<T, X>(extents, a, b, c, bias, relu)         true if c is relu(product + bias): see epilogue.hpp. It may lack it
//   device.enqueue(put)                                       put(stream), with a stream_type of the device's
// Products and convolutions by a library, or by the kernels of products.hpp. Where device.lists(), it only notes what it is asked for:
// all kernels that may be launched, whatever the extents are. kernel_for<op>: what a step of this op asks the device for.
#pragma once
#include <cstdint>
#include <cstring>
#include "../../core/error.hpp"
#include "../../core/shape.hpp"
#include "../../expr/op.hpp"
#include "../../plan/frame.hpp"
#include "../base/block.hpp"

namespace tapeless::cuda {

// n, which a launch counts in 32 bits.
inline count_t counted(index_t n) {
  if (n > index_t{most_counted})
    detail::refuse(
        "tapeless: cuda: run: a step of %lld elements: at most 4026531840, the kernels count in 32 bits",
        static_cast<long long>(n));
  return static_cast<count_t>(n);
}
// The bits of a number, which a device reads as a T.
template <class T> std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
inline index_t elements_of(const shape& s) { return detail::product(s, 0, s.rank); }

// A call of a kernel whose operands have elements of T.
template <class T> struct kernel_call : detail::step_operands {
  const detail::name_values& names;
  std::byte* scratch; // what backend::scratch says
  index_t* count;     // where a selection puts the number of its rows; nullptr: the plan knows it
  counted_rows rows;  // of the indices of a gather or scatter_argmax, of the axis of a scan

  const T* in(int k) const { return step_operands::in<T>(k); }
  const std::int32_t* index(int k) const { return step_operands::in<std::int32_t>(k); }
  template <class Y = T> Y* out() const { return step_operands::out<Y>(); }
  // The extents of x at the axis of the attribute and after it
  count_t axis_of(const shape& x) const { return counted(x.d[axis()]); }
  count_t after(const shape& x) const { return counted(after_axis(x)); }
  count_t results() const { return counted(elements_of(result())); }
};
// Its family specialises it:
//   template <> struct kernel_for<op::pad> {
//     template <class T, class Device> static void launch(const Device&, const kernel_call<T>&);
//   };
template <detail::op O> struct kernel_for {
  static_assert(
      O == detail::op::count_,
      "tapeless: cuda: this op has no kernel for the device yet: cuda/exec/ has cuda::kernel_for<op> of those that have");
};

} // namespace tapeless::cuda
