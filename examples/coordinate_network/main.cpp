// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A photograph as a network: where a pixel is -> its colour, 63 -> 256 -> 256 -> 256 -> 3, trained by hard examples. Each
// step draws 4,096 pixels and computes all their losses; the gradient is that of the hardest quarter, and its adjoint is
// computed for that quarter alone.
//   coordinate_network [--full] [--steps N] [--threads N] [--data DIR] [--out DIR]     (120 steps; --full: 3,000)
// Writes photograph, network and hard pixels side by side, ten times on the way. Status: 0 where the quality rises to 21 dB.

#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "photograph.hpp"

#include <tapeless/optim/adam.hpp>
#include <tapeless/tapeless.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace tl = tapeless;
using namespace coordinate_network;

constexpr int batch = 4096, width = 256;
static_assert(pixels % batch == 0);                 // four steps see each pixel once
constexpr double learning_rate = 4e-3, wanted = 21; // dB

template <int In, int Out> struct layer {
  tl::tensor<float, In, Out> w;
  tl::tensor<float, Out> b;
};
using params = std::tuple<layer<features, width>, layer<width, width>, layer<width, width>, layer<width, 3>>;
using places = tl::tensor<const float, pixels, features>;
using colours = tl::tensor<const float, pixels, 3>;
using drawn = tl::tensor<const std::int32_t, batch>;

constexpr auto dense = [](auto x, const auto& l) { return tl::matmul(x, l.w) + l.b; };
constexpr auto network = [](const auto& p, auto x) { // (n, 63)
  const auto a = tl::relu(dense(x, std::get<0>(p))); // (n, 256)
  const auto b = tl::relu(dense(a, std::get<1>(p))); // (n, 256)
  const auto c = tl::relu(dense(b, std::get<2>(p))); // (n, 256)
  return tl::sigmoid(dense(c, std::get<3>(p)));      // (n, 3)
};
// The loss of the hardest quarter, that of all, and which pixels were hard. Only the first is differentiated.
constexpr auto hard_loss = [](const auto& p, auto place, auto colour, auto pixel) {
  const auto error = network(p, tl::gather(place, pixel)) - tl::gather(colour, pixel); // (4096, 3)
  const auto losses = tl::mean<1>(tl::square(error));                                  // (4096)
  const auto rows = tl::top_k<tl::percent{25}>(losses);                                // (1024)
  return std::tuple{tl::mean(tl::gather(losses, rows)), tl::mean(losses), tl::gather(pixel, rows)};
};
constexpr auto training = tl::jit(tl::value_and_grad<0>(hard_loss));
constexpr auto drawing = tl::jit(network);

// The same with all rows, for its cost.
constexpr auto loss_of_all = [](const auto& p, auto place, auto colour, auto pixel) {
  return tl::mean(tl::square(network(p, tl::gather(place, pixel)) - tl::gather(colour, pixel)));
};
constexpr tl::cost cost = training.cost<params, places, colours, drawn>();
constexpr tl::cost cost_of_all =
    tl::jit(tl::value_and_grad<0>(loss_of_all)).cost<params, places, colours, drawn>();
static_assert(cost.adjoint.flops <= 0.26 * cost_of_all.adjoint.flops);

// 10 log10(1 / mean squared error)
double decibels(std::span<const float> x, std::span<const float> truth) {
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    error += std::pow(static_cast<double>(x[i]) - static_cast<double>(truth[i]), 2) /
             static_cast<double>(x.size());
  return -10 * std::log10(error);
}

struct options {
  int steps = 120, threads = 1;
  std::string data = "examples/data", out = "coordinate_network_out";
};

int run(const options& o) {
  const std::vector<float> photograph = load(o.data + "/astronaut.ppm"), place = waves();
  std::filesystem::create_directories(o.out);
  tl::owned<params> p;
  std::mt19937 random(1);
  tl::for_each_layer(p.view(), [&](const auto& l) { // He et al., ICCV 2015
    std::normal_distribution<float> normal(0, std::sqrt(2 / static_cast<float>(l.w.extent(0))));
    for (float& w : l.w) w = normal(random);
  });

  auto step = training.bind<params, places, colours, drawn>(tl::threads(o.threads));
  auto draw = drawing.bind<params, places>(tl::threads(o.threads));
  tl::adam<params> optimizer(learning_rate);
  const places where(place.data());
  const colours truth(photograph.data());
  std::vector<std::int32_t> order(pixels);
  std::iota(order.begin(), order.end(), 0);
  std::vector<float> hard(3 * pixels); // white: among the hardest quarter when it was last drawn

  std::printf("a step: %.2f Gflop primal, %.2f Gflop adjoint; that of all rows: %.2f Gflop\n",
              cost.primal.flops.at() * 1e-9, cost.adjoint.flops.at() * 1e-9,
              cost_of_all.adjoint.flops.at() * 1e-9);
  std::printf("  step  hard loss       loss     PSNR  ms a step\n");
  double first = 0, last = 0;
  using clock = std::chrono::steady_clock;
  clock::duration taken{};
  for (int k = 1; k <= o.steps; ++k) {
    const int part = (k - 1) % (pixels / batch);
    if (part == 0) std::shuffle(order.begin(), order.end(), random);
    const drawn now(order.data() + part * batch);
    const clock::time_point start = clock::now();
    const auto [values, gradient] = step(*p, where, truth, now);
    const auto& [hard_value, value, hardest] = values;
    optimizer.set_learning_rate(learning_rate * (1 + std::cos(std::numbers::pi * k / o.steps)) / 2);
    optimizer.step(*p, gradient);
    taken += clock::now() - start;
    const auto paint = [&](auto some, float shade) {
      for (const std::int32_t i : some) std::fill_n(hard.begin() + 3 * i, 3, shade);
    };
    paint(now, 0);
    paint(hardest, 1);

    const int tenth = std::max(o.steps / 10, 1);
    if (k != 1 && k % tenth != 0) continue;
    const auto picture = draw(*p, where);
    const std::span<const float> seen(picture.data(), 3 * pixels);
    last = decibels(seen, photograph);
    if (k == 1) first = last;
    std::printf("%6d  %9.5f  %9.5f  %4.1f dB  %9.1f\n", k, static_cast<double>(hard_value[0]),
                static_cast<double>(value[0]), last,
                std::chrono::duration<double, std::milli>(taken).count() / k);
    std::fflush(stdout);
    char name[32];
    std::snprintf(name, sizeof name, "/step_%05d.png", k);
    write_png(o.out + name, {photograph, seen, hard});
  }
  std::printf("%s: photograph, network, hard pixels\n", o.out.c_str());
  return last > first && last >= wanted ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  options o;
  for (int i = 1; i < count; ++i) {
    const std::string option = arguments[i];
    if (option == "--full") {
      o.steps = 3000;
      continue;
    }
    const char* const value = i + 1 < count ? arguments[++i] : "";
    const char* const end = value + std::strlen(value);
    const auto number = [&](int& to, int most) {
      return std::from_chars(value, end, to).ptr == end && value != end && to >= 1 && to <= most;
    };
    if (option == "--data" && value != end) o.data = value;
    else if (option == "--out" && value != end) o.out = value;
    else if (!(option == "--steps" && number(o.steps, 1000000)) &&
             !(option == "--threads" && number(o.threads, 256))) {
      std::fputs(
          "usage: coordinate_network [--full] [--steps N] [--threads 1..256] [--data DIR] [--out DIR]\n",
          stderr);
      return 2;
    }
  }
  try {
    return run(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "coordinate_network: %s\n", e.what());
    return 1;
  }
}
