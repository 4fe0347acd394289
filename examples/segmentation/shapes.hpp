#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Pictures to be segmented: a light disc, a dark square and a striped ellipse on grey paper, with noise; and what an
// annotator says of their pixels: nothing near the border of a shape, nothing of most other pixels, and rubbish where
// nothing is known.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

namespace segmentation {

inline constexpr int side = 40, area = side * side;
inline constexpr int classes = 4; // paper, disc, square, stripes
inline constexpr double noise = 0.2, annotated = 0.3;

struct pictures {
  std::vector<float> grey;          // (n, side, side)
  std::vector<std::int32_t> truth;  // (n, side, side), 0 .. 3
  std::vector<std::int32_t> labels; // the same where known, anything else elsewhere
};

// Adds a picture.
inline void draw(pictures& to, std::mt19937& random) {
  const auto uniform = [&](double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(random()) * 0x1p-32;
  };
  std::array<int, area> truth{};
  std::array<double, area> grey{};
  grey.fill(uniform(0.3, 0.5));
  std::array<int, 3> kinds{1, 2, 3};
  std::shuffle(kinds.begin(), kinds.end(), random);
  for (const int kind : kinds) { // later ones lie on earlier ones
    const double x0 = uniform(6, side - 6), y0 = uniform(6, side - 6), r = uniform(5, 9);
    const double turn = uniform(0, std::numbers::pi), shade = uniform(0.85, 1);
    for (int i = 0; i < area; ++i) {
      const double dx = i % side - x0, dy = i / side - y0;
      const double u = std::cos(turn) * dx + std::sin(turn) * dy,
                   v = std::cos(turn) * dy - std::sin(turn) * dx;
      const bool inside = kind == 1   ? u * u + v * v < r * r
                          : kind == 2 ? std::max(std::abs(u), std::abs(v)) < 0.85 * r
                                      : u * u + 2 * v * v < 1.5 * r * r;
      if (!inside) continue;
      truth[static_cast<std::size_t>(i)] = kind;
      grey[static_cast<std::size_t>(i)] = kind == 3 ? (static_cast<int>(std::floor(u / 1.5)) % 2 == 0 ? 1 : 0)
                                          : kind == 2 ? 1 - shade
                                                      : shade;
    }
  }
  std::normal_distribution<double> normal(0, noise);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const std::size_t i = static_cast<std::size_t>(y * side + x);
      bool known = uniform(0, 1) < annotated;
      for (int b = std::max(y - 1, 0); b <= std::min(y + 1, side - 1); ++b)
        for (int a = std::max(x - 1, 0); a <= std::min(x + 1, side - 1); ++a)
          known = known && truth[static_cast<std::size_t>(b * side + a)] == truth[i];
      constexpr std::array<std::int32_t, 4> rubbish{-1, 255, std::numeric_limits<std::int32_t>::min(),
                                                    std::numeric_limits<std::int32_t>::max()};
      to.grey.push_back(static_cast<float>(grey[i] + normal(random)));
      to.truth.push_back(truth[i]);
      to.labels.push_back(known ? truth[i] : rubbish[i % rubbish.size()]);
    }
}

} // namespace segmentation
