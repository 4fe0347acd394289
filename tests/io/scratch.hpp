#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A directory of this process that is gone at the end.

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

struct scratch {
  std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("tapeless_" + std::to_string(::getpid()));
  scratch() { std::filesystem::create_directories(directory); }
  ~scratch() { std::filesystem::remove_all(directory); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  std::filesystem::path operator/(const char* name) const { return directory / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
  }
};
