// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A step of a custom op of tensors: Op::launch(stream, y, a, b, c) of the user's class, see ops/custom.hpp.
#pragma once
#include <utility>
#include "../../core/extent.hpp"
#include "../../ops/custom_op.hpp"
#include "../../plan/frame.hpp"

namespace tapeless::cuda {

template <class Op, class Stream, class... Views>
concept op_has_launch = requires(Stream stream, Views... view) { Op::launch(stream, view...); };

template <const detail::custom_op* C> struct custom_step {
  template <class Device>
  static void run(const Device& device, const detail::step_operands& c, const detail::name_values& names) {
    start(device, c, names, types_of(detail::whole_key<C>{}));
  }

private:
  template <class Device, class Op, class Y, class... X>
  static void start(const Device& device, const detail::step_operands& c, const detail::name_values& names,
                    detail::whole_types<Op, Y, X...>) {
    static_assert(
        op_has_launch<Op, typename Device::stream_type, Y, X...>,
        "tapeless: cuda: a custom op of tensors has a member that puts its work on a stream of the device: "
        "static void launch(auto stream, auto y, auto x), see tapeless/ops/custom.hpp");
    if constexpr (op_has_launch<Op, typename Device::stream_type, Y, X...>)
      device.enqueue([&](auto stream) {
        [&]<int... I>(std::integer_sequence<int, I...>) {
          Op::launch(stream, detail::view_of<Y>(c.out<void>(), names),
                     detail::view_of<X>(c.slot[I].data(), names)...);
        }(std::make_integer_sequence<int, sizeof...(X)>{});
      });
  }
};

} // namespace tapeless::cuda
