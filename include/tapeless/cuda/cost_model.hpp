// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The cost model of a device: rates of a large one. Only ratios count.
#pragma once
#include "../core/shape.hpp"
#include "../expr/node.hpp"

namespace tapeless::cuda {

struct cost_model {
  static constexpr double product_ns(double flops) { return flops / 50000; }
  static constexpr double elementwise_ns(double flops) { return flops / 20000; }
  static constexpr double move_ns(double n) { return n / 500; }
  static constexpr double memory_ns(double bytes) { return bytes / 4000; }
  static constexpr double cache_bytes = 50e6;
  // Images stay as the user has them: see backend::rules.
  static constexpr double conv_ns(const detail::node&, const shape&, const shape&) { return 1; }
  static constexpr double reorder_ns(double n) { return n / 500; }
  static constexpr double image_reorder_ns(double n) { return n / 500; }
};

} // namespace tapeless::cuda
