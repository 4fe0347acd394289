// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Limited-angle tomography: an image from the lengths that rays have in its pixels, A x = b, where a third of the
// angles and some detectors are missing (mask). Least squares alone smears the image along the angles that are there;
// a prior of small total variation mends most of it.
//   tomography [--threads N] [--out FILE.png]
// Prints the quality of both images and writes phantom, least squares and total variation side by side. Status: 0 where
// the prior gains at least 4 dB and reaches 24 dB.

#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <string>

#include "scanner.hpp"

namespace {

namespace tl = tapeless;

constexpr int side = 128, pixels = side * side, views = 90, detectors = 182;
constexpr double measured_angles = 120.0 / 180.0, dead_detectors = 0.05,
                 noise = 0.01; // of the mean measurement
constexpr int iterations = 300;

using picture = tl::tensor<float, side, side>;
using rays = tl::tensor<float, tl::dyn<'r'>>;
using lengths = tl::csr<float, tl::dyn<'r'>, pixels, tl::dyn<'e'>>;
using weight = tl::scalar<float>; // of the prior

// sum of sqrt(dx^2 + dy^2 + d^2) - d, the pseudo-Huber loss of slopes: the total variation, rounded off where they are below d
constexpr auto total_variation = [](auto x) {
  constexpr double d = 0.005;
  const auto inner = tl::slice<1, 0, side - 1>(tl::slice<0, 0, side - 1>(x));
  const auto dx = tl::slice<1, 1, side>(tl::slice<0, 0, side - 1>(x)) - inner;
  const auto dy = tl::slice<1, 0, side - 1>(tl::slice<0, 1, side>(x)) - inner;
  return tl::sum(tl::sqrt(tl::square(dx) + tl::square(dy) + d * d) - d);
};
// A row where the mask is 0 is not looked at: neither in the forward nor in the backward half.
constexpr auto loss = [](auto x, auto a, auto b, auto mask, auto prior) {
  const auto residual = tl::matmul(a, tl::reshape<pixels>(x)) - b;
  return 0.5 * tl::sum(mask * tl::square(residual)) + prior * total_variation(x);
};
constexpr auto descend = tl::jit(tl::value_and_grad<0>(loss));
constexpr auto curve = tl::jit([](auto x, auto a, auto b, auto mask, auto prior, auto d) {
  return tl::sum(d * tl::hvp<0>(loss)(x, a, b, mask, prior, d));
});

double dot(const picture& x, const picture& y) {
  double s = 0;
  for (int i = 0; i < pixels; ++i) s += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return s;
}

// Conjugate gradients of Polak and Ribiere; the step along a direction d is that of the local parabola, g d / d H d.
void reconstruct(const picture& x, const lengths& a, const rays& b, const rays& mask, float prior,
                 int threads, const char* title) {
  const tl::dim<'r'> r(a.rows());
  const tl::dim<'e'> e(a.nnz());
  auto step = descend.bind<picture, lengths, rays, rays, weight>(r, e, tl::threads(threads));
  auto curvature = curve.bind<picture, lengths, rays, rays, weight, picture>(r, e, tl::threads(threads));
  tl::owned<std::array<picture, 3>> memory;
  const auto& [d, g, trial] = *memory;
  const weight w(&prior);
  auto [value, gradient] = step(x, a, b, mask, w);
  double now = static_cast<double>(value[0]);
  std::copy(gradient.begin(), gradient.end(), g.begin());
  for (int i = 0; i < pixels; ++i) d[i] = -g[i];
  for (int k = 0; k < iterations; ++k) {
    if (k % 50 == 0) std::printf("%-16s iteration %3d  loss %.6g\n", title, k, now);
    const double bend = static_cast<double>(curvature(x, a, b, mask, w, d)[0]), slope = dot(g, d);
    if (!(bend > 0)) break;
    double length = -slope / bend, next = now;
    for (int halvings = 0; halvings < 20; ++halvings, length /= 2) {
      for (int i = 0; i < pixels; ++i) trial[i] = x[i] + static_cast<float>(length) * d[i];
      const auto there = step(trial, a, b, mask, w);
      next = static_cast<double>(std::get<0>(there)[0]);
      if (next <= now) break;
    }
    if (next > now) break;
    now = next;
    std::copy(trial.begin(), trial.end(), x.begin());
    const double before = dot(g, g);
    const picture& there = gradient; // of the last trial
    const double turn = std::max(0.0, (dot(there, there) - dot(there, g)) / before);
    std::copy(there.begin(), there.end(), g.begin());
    for (int i = 0; i < pixels; ++i) d[i] = static_cast<float>(turn) * d[i] - g[i];
    if (dot(g, d) >= 0)
      for (int i = 0; i < pixels; ++i) d[i] = -g[i];
  }
  std::printf("%-16s iteration %3d  loss %.6g\n", title, iterations, now);
}

// 10 log10(1 / mean squared error), for images from 0 to 1
double decibels(const picture& x, const std::vector<float>& truth) {
  double error = 0;
  for (int i = 0; i < pixels; ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(truth[static_cast<std::size_t>(i)]);
    error += d * d / pixels;
  }
  return -10 * std::log10(error);
}

void write_png(const std::string& path, std::initializer_list<const float*> images) {
  constexpr int gap = 8;
  const int width = static_cast<int>(images.size()) * (side + gap) - gap;
  std::vector<unsigned char> grey(static_cast<std::size_t>(width * side), 255);
  int left = 0;
  for (const float* image : images) {
    for (int i = 0; i < pixels; ++i)
      grey[static_cast<std::size_t>(i / side * width + left + i % side)] =
          static_cast<unsigned char>(255 * std::clamp(image[i], 0.0f, 1.0f) + 0.5f);
    left += side + gap;
  }
  if (stbi_write_png(path.c_str(), width, side, 1, grey.data(), width) == 0)
    throw std::runtime_error(path + ": cannot be written");
}

int run(int threads, const std::string& out) {
  tomography::ray_lengths matrix = tomography::scan(side, views, detectors);
  const auto a = tl::csr_view<lengths>(matrix.rays(), pixels, matrix.row_ptr, matrix.columns, matrix.values);
  const std::vector<float> truth = tomography::phantom(side);

  std::vector<float> measured(static_cast<std::size_t>(a.rows())), mask(measured.size());
  {
    auto project = tl::jit([](auto m, auto x) {
                     return tl::matmul(m, tl::reshape<pixels>(x));
                   }).bind<lengths, picture>(tl::dim<'r'>(a.rows()), tl::dim<'e'>(a.nnz()));
    tl::owned<picture> image;
    std::copy(truth.begin(), truth.end(), (*image).begin());
    const auto b = project(a, *image);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<double> uniform;
    double mean = 0;
    for (const float v : b) mean += static_cast<double>(v) / static_cast<double>(a.rows());
    std::vector<bool> dead(detectors);
    for (int k = 0; k < detectors; ++k) dead[static_cast<std::size_t>(k)] = uniform(random) < dead_detectors;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const bool seen = static_cast<double>(i / detectors) < measured_angles * views && !dead[i % detectors];
      measured[i] = seen ? b[static_cast<tl::extent_t>(i)] + static_cast<float>(noise * mean) * normal(random)
                         : std::nanf(""); // nobody knows, and nobody asks
      mask[i] = seen ? 1.0f : 0.0f;
    }
  }
  std::printf("%lld rays of %d pixels, %lld lengths; %lld rays measured\n", static_cast<long long>(a.rows()),
              pixels, static_cast<long long>(a.nnz()),
              static_cast<long long>(std::count(mask.begin(), mask.end(), 1.0f)));

  tl::owned<picture> plain, smooth;
  const rays b(measured.data(), a.rows()), m(mask.data(), a.rows());
  reconstruct(*plain, a, b, m, 0.0f, threads, "least squares");
  reconstruct(*smooth, a, b, m, 0.05f, threads, "total variation");
  const double before = decibels(*plain, truth), after = decibels(*smooth, truth);
  std::printf("least squares %.1f dB, total variation %.1f dB\n", before, after);
  write_png(out, {truth.data(), (*plain).data(), (*smooth).data()});
  std::printf("%s: phantom, least squares, total variation\n", out.c_str());
  return after >= before + 4 && after >= 24 ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  int threads = 1;
  std::string out = "tomography.png";
  for (int i = 1; i < count; ++i) {
    const char* const value = i + 1 < count ? arguments[i + 1] : "";
    const char* const end = value + std::strlen(value);
    if (std::strcmp(arguments[i], "--out") == 0 && *value != 0) out = value;
    else if (std::strcmp(arguments[i], "--threads") != 0 || std::from_chars(value, end, threads).ptr != end ||
             threads < 1 || threads > 256) {
      std::fputs("usage: tomography [--threads 1..256] [--out FILE.png]\n", stderr);
      return 2;
    }
    ++i;
  }
  try {
    return run(threads, out);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tomography: %s\n", e.what());
    return 1;
  }
}
