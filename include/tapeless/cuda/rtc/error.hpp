// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// error: a library of the device has failed.
#pragma once
#include <stdexcept>
#include <string>

namespace tapeless::cuda {

// op: what of ours has asked, as "bind"; library: as "NVRTC"; both are literals. status: the library's own number, 0 where it
// has none.
struct error : std::runtime_error {
  const char *op, *library;
  int status;
  error(const char* asked, const char* asked_of, int number, const std::string& what)
      : std::runtime_error(std::string("tapeless: cuda: ") + asked + ": " + asked_of + ": " + what),
        op(asked),
        library(asked_of),
        status(number) {}
};
[[noreturn, gnu::cold, gnu::noinline]] inline void failed(const char* op, const char* library, int status,
                                                          const char* text) {
  throw error(op, library, status, text);
}

} // namespace tapeless::cuda
