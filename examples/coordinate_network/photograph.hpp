#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A colour picture as a table of pixels, read from PPM (P6, 255) and written as PNG; and the waves by which a network
// is told where a pixel is.

#include <stb/stb_image_write.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace coordinate_network {

inline constexpr int side = 128, pixels = side * side;

// (pixels, 3), row by row, from 0 to 1. Throws std::runtime_error where the file is not such a picture of side x side.
inline std::vector<float> load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  std::string kind;
  int width = 0, height = 0, most = 0;
  file >> kind >> width >> height >> most;
  file.get(); // the one byte between heading and pixels
  std::vector<unsigned char> bytes(3 * pixels);
  if (kind != "P6" || width != side || height != side || most != 255)
    throw std::runtime_error(path + ": not a PPM file (P6) of " + std::to_string(side) + " x " +
                             std::to_string(side));
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    throw std::runtime_error(path + ": too short");
  std::vector<float> result(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) result[i] = static_cast<float>(bytes[i]) / 255;
  return result;
}

// Pictures of (pixels, 3) side by side.
inline void write_png(const std::string& path, std::initializer_list<std::span<const float>> pictures) {
  constexpr int gap = 8, scale = 2;
  const int width = static_cast<int>(pictures.size()) * (scale * side + gap) - gap, height = scale * side;
  std::vector<unsigned char> rgb(static_cast<std::size_t>(3 * width * height), 255);
  int left = 0;
  for (const std::span<const float> picture : pictures) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < scale * side; ++x)
        for (int c = 0; c < 3; ++c)
          rgb[static_cast<std::size_t>(3 * (y * width + left + x) + c)] = static_cast<unsigned char>(
              255 * std::clamp(picture[static_cast<std::size_t>(3 * (y / scale * side + x / scale) + c)],
                               0.0f, 1.0f) +
              0.5f);
    left += scale * side + gap;
  }
  if (stbi_write_png(path.c_str(), width, height, 3, rgb.data(), 3 * width) == 0)
    throw std::runtime_error(path + ": cannot be written");
}

// Where a pixel is, (pixels, 63): x, y and x y from -1 to 1; sine and cosine of 30 plane waves, 1 to 16 of them across the
// picture in six directions. From x and y alone such a network learns no detail (Tancik et al., "Fourier Features Let
// Networks Learn High Frequency Functions in Low Dimensional Domains", NeurIPS 2020).
inline constexpr int octaves = 5, directions = 6, features = 3 + 2 * octaves * directions;
inline std::vector<float> waves() {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(pixels * features));
  for (int i = 0; i < pixels; ++i) {
    const double x = 2 * (i % side + 0.5) / side - 1, y = 2 * (i / side + 0.5) / side - 1;
    for (const double v : {x, y, x * y}) result.push_back(static_cast<float>(v));
    for (int k = 0; k < octaves; ++k)
      for (int d = 0; d < directions; ++d) {
        const double turn = std::numbers::pi * d / directions;
        const double phase = std::numbers::pi * (1 << k) * (std::cos(turn) * x + std::sin(turn) * y);
        result.push_back(static_cast<float>(std::sin(phase)));
        result.push_back(static_cast<float>(std::cos(phase)));
      }
  }
  return result;
}

} // namespace coordinate_network
