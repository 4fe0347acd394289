// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Segmentation with an ignore mask: a class for each pixel, learned from pictures of which a quarter of the pixels have a
// label. The others' labels are rubbish: no per-pixel layer is computed for them, forward or adjoint. The convolutions
// mix pixels, and are computed for all.
//   segmentation [--steps N] [--plan] [--threads N] [--out FILE.png]     (120; --plan prints all steps of the program)
// Writes a row for each test picture: picture, labels with ignored pixels in grey, what the network says, truth. Status: 0
// where the network is right on 95 % of the labelled pixels of pictures that it has not seen, and on 90 % of all.

#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

#include <tapeless/optim/adam.hpp>
#include <tapeless/tapeless.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <numbers>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "shapes.hpp"

namespace {

namespace tl = tapeless;
using namespace segmentation;

constexpr int batch = 16, pixels = batch * area;
constexpr int channels = 16, hidden = 128;
constexpr double learning_rate = 5e-3, wanted = 0.95, wanted_everywhere = 0.9;

struct params {
  tl::tensor<float, channels, 1, 3, 3> near;
  tl::tensor<float, channels, channels, 3, 3> further, far;
  std::array<tl::tensor<float, channels>, 3> bias;
  tl::tensor<float, channels, hidden> w;
  tl::tensor<float, hidden> b;
  tl::tensor<float, hidden, classes> w_out;
  tl::tensor<float, classes> b_out;
};
using grey = tl::tensor<const float, batch, 1, side, side>;
using labels = tl::tensor<const std::int32_t, pixels>;

// (16, .., 40, 40) -> (16, 16, 40, 40)
template <int Reach> constexpr auto convolve = [](auto x, auto w, auto b) {
  return tl::relu(tl::conv2d<tl::conv{.padding = Reach, .dilation = Reach}>(x, w, b));
};
// A pixel's class depends on the 15 x 15 pixels around it: 1 + 2 + 4 to each side.
constexpr auto network = [](const auto& p, auto x) {
  const auto a = convolve<1>(x, p.near, p.bias[0]);
  const auto b = convolve<2>(a, p.further, p.bias[1]);
  const auto c = convolve<4>(b, p.far, p.bias[2]);
  const auto each = tl::reshape<pixels, channels>(tl::transpose<0, 2, 3, 1>(c)); // (25600, 16)
  const auto h = tl::relu(tl::matmul(each, p.w) + p.b);                          // (25600, 128)
  return tl::matmul(h, p.w_out) + p.b_out;                                       // (25600, 4)
};
// The mean over the pixels whose label is a class. k is how many there are: the run counts them.
constexpr auto loss = [](const auto& p, auto x, auto label) {
  const auto known = label >= 0 && label < classes;
  const auto some_class = tl::where(known, label, 0); // a label that is an argument must be a class
  const auto losses = tl::softmax_cross_entropy(network(p, x), some_class); // (25600)
  return tl::mean(tl::gather(losses, tl::where<'k'>(known)));
};
constexpr auto training = tl::jit(tl::value_and_grad<0>(loss));
constexpr auto reading = tl::jit([](const auto& p, auto x) { return tl::argmax<1>(network(p, x)); });
constexpr tl::cost cost = training.cost<params, grey, labels>();

struct options {
  int steps = 120, threads = 1;
  bool plan = false;
  std::string out = "segmentation.png";
};

// Picture, labels, answer and truth of the first pictures.
void write_png(const std::string& path, const pictures& of, const std::vector<std::int32_t>& answer) {
  constexpr int rows = 6, columns = 4, scale = 3, gap = 6, tile = scale * side + gap;
  constexpr int width = columns * tile - gap, height = rows * tile - gap;
  constexpr unsigned char colours[classes + 1][3] = {
      {245, 245, 240}, {214, 82, 58}, {52, 120, 190}, {236, 176, 50}, {128, 128, 128}};
  std::vector<unsigned char> rgb(std::size_t{3} * width * height, 255);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      for (int y = 0; y < scale * side; ++y)
        for (int x = 0; x < scale * side; ++x) {
          const std::size_t i = static_cast<std::size_t>(row * area + y / scale * side + x / scale);
          unsigned char* const to =
              &rgb[static_cast<std::size_t>(3 * ((row * tile + y) * width + column * tile + x))];
          if (column == 0) {
            std::fill_n(to, 3, static_cast<unsigned char>(255 * std::clamp(of.grey[i], 0.0f, 1.0f)));
            continue;
          }
          const std::int32_t c = column == 1 ? of.labels[i] : column == 2 ? answer[i] : of.truth[i];
          std::copy_n(colours[c >= 0 && c < classes ? c : classes], 3, to);
        }
  if (stbi_write_png(path.c_str(), width, height, 3, rgb.data(), 3 * width) == 0)
    throw std::runtime_error(path + ": cannot be written");
}

pictures draw_batch(std::mt19937& random) {
  pictures r;
  for (int i = 0; i < batch; ++i) draw(r, random);
  return r;
}
int known(const pictures& p) {
  return static_cast<int>(
      std::count_if(p.labels.begin(), p.labels.end(), [](std::int32_t c) { return c >= 0 && c < classes; }));
}

void print_cost(int kept) {
  const auto row = [&](const char* title, const tl::polynomial& p) {
    std::printf("  %-8s %-22s  %6.1f M;  %6.1f M\n", title, to_string(p).c_str(),
                p.at(tl::dim<'k'>(kept)) * 1e-6, p.at(tl::dim<'k'>(pixels)) * 1e-6);
  };
  std::printf("A step where k of %d pixels have a label: flops, and those of k = %d; of k = %d\n", pixels,
              kept, pixels);
  row("primal", cost.primal.flops);
  row("adjoint", cost.adjoint.flops);
  std::printf("Convolutions mix pixels. Cotangents that get all of them there: %d\n", cost.densified);
  std::istringstream plan(training.explain<params, grey, labels>());
  for (std::string line; std::getline(plan, line);)
    if (line.find("all rows of") != std::string::npos) std::printf("%s\n", line.c_str());
  std::printf("\n");
}

int run(const options& o) {
  if (o.plan) std::printf("%s\n", training.explain<params, grey, labels>().c_str());
  std::mt19937 random(1);
  tl::owned<params> p;
  const auto fill = [&](const auto& w, int fan_in) { // He et al., ICCV 2015
    std::normal_distribution<float> normal(0, std::sqrt(2 / static_cast<float>(fan_in)));
    for (float& v : w) v = normal(random);
  };
  fill(p->near, 9);
  fill(p->further, 9 * channels);
  fill(p->far, 9 * channels);
  fill(p->w, channels);
  fill(p->w_out, hidden);

  auto step = training.bind<params, grey, labels>(tl::threads(o.threads));
  auto read = reading.bind<params, grey>(tl::threads(o.threads));
  tl::adam<params> optimizer(learning_rate);
  const pictures test = draw_batch(random);
  print_cost(known(test));
  std::vector<std::int32_t> answer(pixels);
  int right = 0, right_of_known = 0;
  std::printf(
      "step     loss  pixels kept  accuracy on unseen pictures: where there is a label, everywhere\n");
  for (int k = 1; k <= o.steps; ++k) {
    const pictures now = draw_batch(random);
    const auto [value, gradient] = step(*p, grey(now.grey.data()), labels(now.labels.data()));
    optimizer.set_learning_rate(learning_rate * (1 + std::cos(std::numbers::pi * k / o.steps)) / 2);
    optimizer.step(*p, gradient);
    if (k != o.steps && k % std::max(o.steps / 8, 1) != 0) continue;
    const auto said = read(*p, grey(test.grey.data()));
    std::copy(said.begin(), said.end(), answer.begin());
    right = right_of_known = 0;
    for (std::size_t i = 0; i < answer.size(); ++i) {
      right += answer[i] == test.truth[i] ? 1 : 0;
      right_of_known += answer[i] == test.labels[i] ? 1 : 0;
    }
    std::printf("%4d  %7.4f  %11d  %28.1f %%  %19.1f %%\n", k, static_cast<double>(value[0]), known(now),
                100.0 * right_of_known / known(test), 100.0 * right / pixels);
    std::fflush(stdout);
  }
  write_png(o.out, test, answer);
  std::printf("%s: picture, labels (grey: ignored), answer, truth\n", o.out.c_str());
  return right_of_known >= wanted * known(test) && right >= wanted_everywhere * pixels ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  options o;
  for (int i = 1; i < count; ++i) {
    const std::string option = arguments[i];
    if (option == "--plan") {
      o.plan = true;
      continue;
    }
    const char* const value = i + 1 < count ? arguments[++i] : "";
    const char* const end = value + std::strlen(value);
    const auto number = [&](int& to, int most) {
      return std::from_chars(value, end, to).ptr == end && value != end && to >= 1 && to <= most;
    };
    if (option == "--out" && value != end) o.out = value;
    else if (!(option == "--steps" && number(o.steps, 1000000)) &&
             !(option == "--threads" && number(o.threads, 256))) {
      std::fputs("usage: segmentation [--steps N] [--plan] [--threads 1..256] [--out FILE.png]\n", stderr);
      return 2;
    }
  }
  try {
    return run(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "segmentation: %s\n", e.what());
    return 1;
  }
}
