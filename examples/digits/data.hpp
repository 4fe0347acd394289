#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The optical digits of examples/data/digits.csv: 8 x 8 grey images and their labels.
//   images: (n, 1, 8, 8)   labels: (n)
// Five-fold cross validation: five_folds(n, seed) deals 0 .. n - 1, shuffled, into five test sets.

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace digits {

inline constexpr std::size_t side = 8;
inline constexpr std::size_t pixels = side * side;
inline constexpr int classes = 10;

struct data_set {
  std::vector<float> images;        // row by row, from 0 (paper) to 1 (ink)
  std::vector<std::int32_t> labels; // 0 .. 9

  std::size_t size() const { return labels.size(); }
  std::span<const float> image(std::size_t i) const { return std::span(images).subspan(i * pixels, pixels); }
};

// what() is "<path>:<line>: <what is wrong>".
struct data_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads lines of 64 pixels 0 .. 16 and a label 0 .. 9. Throws data_error where the file is missing, empty or
// malformed.
inline data_set load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw data_error(path + ": cannot be opened");
  data_set result;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const auto fail = [&](const std::string& problem) {
      throw data_error(path + ":" + std::to_string(number) + ": " + problem);
    };
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const char* at = line.data();
    const char* const end = at + line.size();
    for (std::size_t column = 0; column <= pixels; ++column) {
      const std::string where = "column " + std::to_string(column + 1);
      const int limit = column < pixels ? 16 : classes - 1;
      int value = 0;
      const auto [stop, error] = std::from_chars(at, end, value);
      if (error == std::errc::invalid_argument) fail(where + " is not a whole number");
      if (error != std::errc() || value < 0 || value > limit)
        fail(where + " is not within 0 .. " + std::to_string(limit));
      if (column < pixels && (stop == end || *stop != ',')) fail("comma expected behind " + where);
      if (column == pixels && stop != end) fail("text behind the label");
      at = stop + 1;
      if (column < pixels) result.images.push_back(static_cast<float>(value) / 16);
      else result.labels.push_back(value);
    }
  }
  if (file.bad()) throw data_error(path + ": read error");
  if (result.labels.empty()) throw data_error(path + ": empty");
  return result;
}

// The images and labels at these places, in this order. Throws std::out_of_range.
inline data_set subset(const data_set& data, std::span<const std::size_t> places) {
  data_set result;
  result.images.reserve(places.size() * pixels);
  result.labels.reserve(places.size());
  for (std::size_t place : places) {
    result.labels.push_back(data.labels.at(place));
    const std::span<const float> image = data.image(place);
    result.images.insert(result.images.end(), image.begin(), image.end());
  }
  return result;
}

// splitmix64: a seed gives one sequence on every machine; the distributions of <random> do not promise that.
class generator {
public:
  explicit generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 .. n - 1
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  // from lo to hi
  float uniform(float lo, float hi) { return lo + (hi - lo) * static_cast<float>(next() >> 40) * 0x1p-24f; }
  // Fisher and Yates
  void shuffle(std::span<std::size_t> order) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  }

private:
  std::uint64_t state_;
};

struct fold {
  std::vector<std::size_t> train;
  std::vector<std::size_t> test;
};

// Every place is in exactly one test set; their sizes differ by at most 1; train is all that is not in test.
inline std::array<fold, 5> five_folds(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  generator(seed).shuffle(order);
  std::array<fold, 5> folds;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t f = 0; f < folds.size(); ++f)
      (f == i % folds.size() ? folds[f].test : folds[f].train).push_back(order[i]);
  return folds;
}

} // namespace digits
