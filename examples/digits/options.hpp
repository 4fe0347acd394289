#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The command line of the digits program.

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace digits {

inline constexpr const char* usage =
    "usage: digits [options]\n"
    "Trains a small convolutional network on 8 x 8 images of handwritten digits.\n"
    "  --data DIR     where digits.csv is (examples/data)\n"
    "  --folds        all five folds of the cross validation instead of the first\n"
    "  --epochs N     times that each image is seen, 1 .. 10000 (60)\n"
    "  --seed N       of folds, weights and order (1)\n"
    "  --threads N    1 .. 256 (1)\n"
    "  --out DIR      for parameters and the picture of misread digits (digits_out)\n"
    "  --help         this text\n";

struct options {
  std::string data = "examples/data";
  std::string out = "digits_out";
  bool all_folds = false;
  bool help = false;
  std::int64_t epochs = 60;
  std::uint64_t seed = 1;
  int threads = 1;
};

// what() says which option is wrong, and why.
struct option_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

template <class T> T to_number(std::string_view option, std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw option_error(std::string(option) + ": '" + std::string(text) + "' is not a number from " +
                       std::to_string(least) + " to " + std::to_string(most));
  return value;
}

// Throws option_error.
inline options parse(int count, const char* const* arguments) {
  options result;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 == count) throw option_error(std::string(option) + ": a value is missing");
      return arguments[++i];
    };
    if (option == "--help") result.help = true;
    else if (option == "--folds") result.all_folds = true;
    else if (option == "--data") result.data = value();
    else if (option == "--out") result.out = value();
    else if (option == "--epochs") result.epochs = to_number<std::int64_t>(option, value(), 1, 10000);
    else if (option == "--seed") result.seed = to_number<std::uint64_t>(option, value(), 0, UINT64_MAX);
    else if (option == "--threads") result.threads = to_number<int>(option, value(), 1, 256);
    else throw option_error("unknown option '" + std::string(option) + "'");
  }
  return result;
}

} // namespace digits
