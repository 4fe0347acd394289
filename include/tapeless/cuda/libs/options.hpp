// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What the libraries of the device may do.
#pragma once
#include <cstddef>

namespace tapeless::cuda {

struct options {
  // Products and convolutions of float: operands are rounded to 10 bits of significand, for tensor cores.
  bool tf32 = false;
  // Convolutions: sums in any order, so that the bits differ from run to run.
  bool nondeterministic = false;
  // Convolutions: at bind the device times some plans, and the fastest is taken. Another run may take another one.
  bool autotune = false;
  // Products of sparse matrices with several columns: by the library's own kernels, not by cuSPARSE.
  bool own_sparse = false;
  // Bytes of scratch that a product and a convolution may take, at most.
  std::size_t matmul_workspace = std::size_t{32} << 20, conv_workspace = std::size_t{1} << 30;
  constexpr bool operator==(const options&) const = default;
};

} // namespace tapeless::cuda
