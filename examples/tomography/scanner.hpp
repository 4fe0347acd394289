#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A parallel-beam scanner and what it looks at: the lengths that rays have in the pixels of an image, and the
// Shepp-Logan phantom.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace tomography {

// A matrix in compressed rows: row_ptr has an element more than there are rows.
struct ray_lengths {
  std::vector<std::int32_t> row_ptr{0}, columns;
  std::vector<float> values;
  std::int64_t rays() const { return static_cast<std::int64_t>(row_ptr.size()) - 1; }
};

// Adds the ray that is `offset` pixels from the middle of a side x side image, at `angle`: pixel by pixel the length
// of the ray within it (Siddon, Medical Physics 12, 1985: between two crossings of grid lines the ray is in one pixel).
inline void add_ray(ray_lengths& a, int side, double angle, double offset) {
  const double half = 0.5 * side, along_x = -std::sin(angle), along_y = std::cos(angle);
  const double x0 = offset * std::cos(angle), y0 = offset * std::sin(angle);
  std::vector<double> crossings;
  const auto cross = [&](double origin, double direction) {
    if (std::abs(direction) < 1e-12) return;
    for (int k = 0; k <= side; ++k) crossings.push_back((k - half - origin) / direction);
  };
  cross(x0, along_x);
  cross(y0, along_y);
  std::sort(crossings.begin(), crossings.end());
  std::vector<std::pair<std::int32_t, float>> pixels;
  for (std::size_t k = 1; k < crossings.size(); ++k) {
    const double length = crossings[k] - crossings[k - 1], middle = 0.5 * (crossings[k] + crossings[k - 1]);
    const double x = std::floor(x0 + middle * along_x + half), y = std::floor(y0 + middle * along_y + half);
    if (length < 1e-9 || x < 0 || y < 0 || x >= side || y >= side) continue;
    pixels.emplace_back(static_cast<std::int32_t>(y) * side + static_cast<std::int32_t>(x),
                        static_cast<float>(length));
  }
  std::sort(pixels.begin(), pixels.end());
  for (std::size_t k = 0; k < pixels.size(); ++k)
    if (k > 0 && pixels[k].first == pixels[k - 1].first) a.values.back() += pixels[k].second;
    else {
      a.columns.push_back(pixels[k].first);
      a.values.push_back(pixels[k].second);
    }
  a.row_ptr.push_back(static_cast<std::int32_t>(a.columns.size()));
}

// `views` angles over half a turn, `detectors` rays a pixel apart in each.
inline ray_lengths scan(int side, int views, int detectors) {
  ray_lengths a;
  for (int view = 0; view < views; ++view)
    for (int k = 0; k < detectors; ++k)
      add_ray(a, side, std::numbers::pi * view / views, k - 0.5 * (detectors - 1));
  return a;
}

// Ten ellipses (Shepp and Logan, IEEE Trans. Nuclear Science 21, 1974; contrasts of Toft, 1996), each pixel the mean
// of 4 x 4 points.
inline std::vector<float> phantom(int side) {
  struct ellipse {
    double value, a, b, x, y, degrees;
  };
  constexpr ellipse parts[] = {
      {1, .69, .92, 0, 0, 0},          {-.8, .6624, .874, 0, -.0184, 0}, {-.2, .11, .31, .22, 0, -18},
      {-.2, .16, .41, -.22, 0, 18},    {.1, .21, .25, 0, .35, 0},        {.1, .046, .046, 0, .1, 0},
      {.1, .046, .046, 0, -.1, 0},     {.1, .046, .023, -.08, -.605, 0}, {.1, .023, .023, 0, -.606, 0},
      {.1, .023, .046, .06, -.605, 0},
  };
  constexpr int points = 4;
  std::vector<float> image(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  for (int row = 0; row < side * points; ++row)
    for (int column = 0; column < side * points; ++column) {
      const double x = 2 * (column + 0.5) / (side * points) - 1, y = 1 - 2 * (row + 0.5) / (side * points);
      double value = 0;
      for (const ellipse& e : parts) {
        const double turn = e.degrees * std::numbers::pi / 180;
        const double u = ((x - e.x) * std::cos(turn) + (y - e.y) * std::sin(turn)) / e.a;
        const double v = ((y - e.y) * std::cos(turn) - (x - e.x) * std::sin(turn)) / e.b;
        if (u * u + v * v <= 1) value += e.value;
      }
      image[static_cast<std::size_t>((row / points) * side + column / points)] +=
          static_cast<float>(value / (points * points));
    }
  return image;
}

} // namespace tomography
