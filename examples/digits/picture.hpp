#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A contact sheet of small grey images as a PNG: each upscaled 8 times in a coloured frame, "truth >
// prediction" under it. Needs stb_image_write (Debian: libstb-dev); one translation unit of the program
// defines STB_IMAGE_WRITE_IMPLEMENTATION before it includes this header.

#include <stb/stb_image_write.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace digits {

struct colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

inline constexpr colour paper{250, 250, 248};
inline constexpr colour ink{40, 44, 52};
inline constexpr colour frame_right{46, 160, 67};
inline constexpr colour frame_wrong{207, 34, 46};

struct tile {
  std::span<const float> image; // height x width, from 0 (paper) to 1 (ink); outside it is clamped
  int predicted = 0;            // 0 .. 9
  int truth = 0;                // 0 .. 9
  bool is_right() const { return predicted == truth; }
};

// An RGB canvas; what is drawn outside it is cut off.
class canvas {
public:
  canvas(std::size_t width, std::size_t height) : width_(width), height_(height), rgb_(3 * width * height) {
    fill(0, 0, width, height, paper);
  }

  void fill(std::size_t x, std::size_t y, std::size_t width, std::size_t height, colour c) {
    for (std::size_t row = y; row < std::min(y + height, height_); ++row)
      for (std::size_t column = x; column < std::min(x + width, width_); ++column) {
        std::uint8_t* pixel = &rgb_[3 * (row * width_ + column)];
        pixel[0] = c.red;
        pixel[1] = c.green;
        pixel[2] = c.blue;
      }
  }

  // One digit (or '>') of 3 x 5 squares of this size.
  void glyph(std::size_t x, std::size_t y, std::size_t size, char character, colour c) {
    // rows of three bits, top first
    static constexpr std::array<std::string_view, 11> font = {
        "111101101101111", "010110010010111", "111001111100111", "111001111001111",
        "101101111001001", "111100111001111", "111100111101111", "111001010010010",
        "111101111101111", "111101111001111", "100010001010100"}; // '>'
    const std::size_t index = character == '>' ? 10 : static_cast<std::size_t>(character - '0');
    if (index >= font.size()) throw std::invalid_argument("canvas: no glyph for this character");
    for (std::size_t i = 0; i < 15; ++i)
      if (font[index][i] == '1') fill(x + i % 3 * size, y + i / 3 * size, size, size, c);
  }

  // Throws std::runtime_error where the file cannot be written.
  void save(const std::string& path) const {
    const int done = stbi_write_png(path.c_str(), static_cast<int>(width_), static_cast<int>(height_), 3,
                                    rgb_.data(), static_cast<int>(3 * width_));
    if (done == 0) throw std::runtime_error(path + ": cannot be written");
  }

private:
  std::size_t width_, height_;
  std::vector<std::uint8_t> rgb_;
};

// Tiles row by row, framed green where prediction and truth agree and red elsewhere.
// Throws std::invalid_argument where an image has another size or a digit another value,
// std::runtime_error where the file cannot be written.
inline void write_contact_sheet(const std::string& path, std::span<const tile> tiles,
                                std::size_t image_height, std::size_t image_width, std::size_t columns = 10) {
  constexpr std::size_t scale = 8; // screen pixels per image pixel
  constexpr std::size_t frame = 3;
  constexpr std::size_t gap = 10;
  constexpr std::size_t dot = 3; // screen pixels per square of a glyph
  constexpr std::size_t label = 5 * dot + 8;
  if (tiles.empty() || columns == 0)
    throw std::invalid_argument("write_contact_sheet: no tiles or no columns");
  columns = std::min(columns, tiles.size());
  const std::size_t rows = (tiles.size() + columns - 1) / columns;
  const std::size_t tile_width = image_width * scale + 2 * frame;
  const std::size_t tile_height = image_height * scale + 2 * frame;
  canvas sheet(gap + columns * (tile_width + gap), gap + rows * (tile_height + label + gap));

  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const tile& t = tiles[i];
    if (t.image.size() != image_height * image_width)
      throw std::invalid_argument("write_contact_sheet: image size");
    if (t.predicted < 0 || t.predicted > 9 || t.truth < 0 || t.truth > 9)
      throw std::invalid_argument("write_contact_sheet: a digit beyond 0 .. 9");
    const std::size_t x = gap + i % columns * (tile_width + gap);
    const std::size_t y = gap + i / columns * (tile_height + label + gap);
    const colour verdict = t.is_right() ? frame_right : frame_wrong;
    sheet.fill(x, y, tile_width, tile_height, verdict);
    for (std::size_t p = 0; p < t.image.size(); ++p) {
      const float clamped = t.image[p] > 0 ? std::min(t.image[p], 1.0f) : 0.0f; // a NaN is paper
      const std::uint8_t grey = static_cast<std::uint8_t>(255 - 255 * clamped);
      sheet.fill(x + frame + p % image_width * scale, y + frame + p / image_width * scale, scale, scale,
                 {grey, grey, grey});
    }
    const std::size_t text_x = x + (tile_width - std::min(tile_width, 13 * dot)) / 2;
    const std::size_t text_y = y + tile_height + 6;
    sheet.glyph(text_x, text_y, dot, static_cast<char>('0' + t.truth), ink);
    sheet.glyph(text_x + 5 * dot, text_y, dot, '>', ink);
    sheet.glyph(text_x + 10 * dot, text_y, dot, static_cast<char>('0' + t.predicted), verdict);
  }
  sheet.save(path);
}

} // namespace digits
