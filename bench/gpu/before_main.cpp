// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Makes an example write its kernels, see kernels.hpp, before its main. It is linked behind the example, whose programs are
// listed then.
#include "kernels.hpp"

namespace {
const bool written = [] {
  const bool done = gpu::only_writes_kernels();
  if (done) std::exit(0);
  return done;
}();
} // namespace
