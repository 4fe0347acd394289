// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What the libraries of the device may do.
#pragma once
#include <cstddef>
#include <cstdint>
#include "../../core/error.hpp"

namespace tapeless::cuda {

struct options {
  // Products and convolutions of float: operands are rounded to 10 bits of significand, for tensor cores.
  bool tf32 = false;
  // A relu behind a product is a part of it. The library's relu makes 0 of a NaN.
  bool fused_relu = false;
  // Convolutions: sums in any order, so that the bits differ from run to run.
  bool nondeterministic = false;
  // Convolutions: at bind the device times some plans, and the fastest is taken. Another run may take another one.
  bool autotune = false;
  // Products of sparse matrices with several columns: by the library's own kernels, not by cuSPARSE.
  bool own_sparse = false;
  // Bytes of scratch that a product and a convolution may take, at most.
  std::size_t matmul_workspace = std::size_t{32} << 20, conv_workspace = std::size_t{256} << 20;
  constexpr bool operator==(const options&) const = default;
};

// @throws argument_error where a number is one that was negative
inline const options& checked(const options& o) {
  if (o.matmul_workspace > PTRDIFF_MAX || o.conv_workspace > PTRDIFF_MAX)
    detail::refuse(
        "tapeless: cuda: bind: options.%s is %lld: a number of bytes is not negative",
        o.matmul_workspace > PTRDIFF_MAX ? "matmul_workspace" : "conv_workspace",
        static_cast<long long>(o.matmul_workspace > PTRDIFF_MAX ? o.matmul_workspace : o.conv_workspace));
  return o;
}

} // namespace tapeless::cuda
