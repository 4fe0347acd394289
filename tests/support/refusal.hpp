#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// refusal(f): the text of the argument_error that f() throws, empty where it throws none.

#include <tapeless/core/error.hpp>

#include <string>

namespace support {

template <class F> std::string refusal(F&& f) {
  try {
    f();
  } catch (const tapeless::argument_error& e) { return e.what(); }
  return "";
}

} // namespace support
