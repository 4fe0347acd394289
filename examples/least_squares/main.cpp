// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sparse least squares: the x that minimises mean(mask * (A x - y)^2), by conjugate gradients. A is random, y = A x* for
// an x* that is drawn, plus noise; one row in five is masked out, and its y is nonsense.
//   least_squares [--rows M] [--cols N] [--per-row K] [--threads N]       (85000, 21000, 21, 1)
//   least_squares --full [--threads N]         850000 x 210000, 210 entries a row: 178.5 million, 1.4 GB
// An iteration is one pass over A: the product with the Hessian is a forward and a backward half over the same rows.
// Prints a table and draws a bar. Status: 0 where the gradient has fallen by 10^5 and x is within 1 % of x*.

#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

namespace tl = tapeless;

using matrix = tl::csr<float, tl::dyn<'m'>, tl::dyn<'n'>, tl::dyn<'e'>>;
using by_rows = tl::tensor<float, tl::dyn<'m'>>;
using by_columns = tl::tensor<float, tl::dyn<'n'>>;

constexpr auto loss = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(mask * tl::square(tl::matmul(a, x) - y));
};
constexpr auto value_and_gradient = tl::jit(tl::value_and_grad<0>(loss));
// d and H d: <d, H d> comes with it
constexpr auto along = tl::jit([](auto x, auto a, auto y, auto mask, auto d) {
  const auto h_d = tl::hvp<0>(loss)(x, a, y, mask, d);
  return std::tuple{h_d, tl::sum(d * h_d)};
});

struct sizes {
  std::int64_t rows = 85000, cols = 21000, per_row = 21;
  int threads = 1;
};

struct problem {
  std::vector<std::int32_t> row_ptr{0}, columns;
  std::vector<float> values, truth, y, mask;
};
problem draw(const sizes& s) {
  problem p;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  p.truth.resize(static_cast<std::size_t>(s.cols));
  for (float& v : p.truth) v = uniform(random);
  p.columns.reserve(static_cast<std::size_t>(s.rows * s.per_row));
  p.values.reserve(p.columns.capacity());
  std::vector<std::int32_t> row;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    row.clear();
    while (static_cast<std::int64_t>(row.size()) <
           s.per_row) { // draw, sort, unique, draw the missing ones again
      while (static_cast<std::int64_t>(row.size()) < s.per_row)
        row.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(s.cols)));
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
    }
    float z = 0;
    for (const std::int32_t j : row) {
      p.columns.push_back(j);
      p.values.push_back(uniform(random));
      z += p.values.back() * p.truth[static_cast<std::size_t>(j)];
    }
    p.row_ptr.push_back(static_cast<std::int32_t>(p.columns.size()));
    const bool kept = random() % 5 != 0;
    p.y.push_back(kept ? z + 0.001f * uniform(random) : 1e30f);
    p.mask.push_back(kept ? 1.0f : 0.0f);
  }
  return p;
}

double dot(std::span<const float> x, std::span<const float> y) {
  double s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return s;
}
std::span<float> span_of(const by_columns& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }

// How far the gradient has fallen, of the powers of ten that are wanted.
void draw_bar(double fallen, double wanted) {
  if (::isatty(STDOUT_FILENO) == 0) return;
  constexpr int cells = 30;
  const int full = static_cast<int>(cells * std::clamp(fallen / wanted, 0.0, 1.0));
  std::printf("\r[%.*s%.*s]", full, "##############################", cells - full,
              "------------------------------");
  std::fflush(stdout);
}

int run(const sizes& s) {
  using clock = std::chrono::steady_clock;
  const auto ms_since = [](clock::time_point t) {
    return std::chrono::duration<double, std::milli>(clock::now() - t).count();
  };
  problem p = draw(s);
  const auto a = tl::csr_view<matrix>(s.rows, s.cols, p.row_ptr, p.columns, p.values);
  const by_rows y(p.y.data(), s.rows), mask(p.mask.data(), s.rows);
  const tl::dim<'m'> m(s.rows);
  const tl::dim<'n'> n(s.cols);
  const tl::dim<'e'> e(a.nnz());
  auto step = value_and_gradient.bind<by_columns, matrix, by_rows, by_rows>(m, n, e, tl::threads(s.threads));
  auto bend = along.bind<by_columns, matrix, by_rows, by_rows, by_columns>(m, n, e, tl::threads(s.threads));
  std::printf("%lld x %lld, %lld entries, %lld rows kept\n", static_cast<long long>(s.rows),
              static_cast<long long>(s.cols), static_cast<long long>(a.nnz()),
              static_cast<long long>(std::count(p.mask.begin(), p.mask.end(), 1.0f)));
  std::printf("iteration        loss  gradient  ms an iteration\n");

  tl::owned<std::array<by_columns, 3>> memory(n);
  const auto& [x, g, d] = *memory;
  const auto [first, gradient] = step(x, a, y, mask);
  double value = static_cast<double>(first[0]);
  std::copy(gradient.begin(), gradient.end(), g.begin());
  for (tl::extent_t j = 0; j < s.cols; ++j) d[j] = -g[j];
  const double g0 = std::sqrt(dot(span_of(g), span_of(g)));
  double gg = g0 * g0;
  constexpr double wanted = 5; // powers of ten
  constexpr int most = 500;
  int k = 0;
  std::printf("%9d  %10.4e  %8.2e\n", 0, value, g0);
  const clock::time_point start = clock::now();
  for (; k < most && gg > 1e-10 * g0 * g0; ++k) {
    const auto [h_d, d_h_d] = bend(x, a, y, mask, d);
    const double length = gg / static_cast<double>(d_h_d[0]);
    for (tl::extent_t j = 0; j < s.cols; ++j) {
      x[j] += static_cast<float>(length) * d[j];
      g[j] += static_cast<float>(length) * h_d[j];
    }
    const double before = gg;
    gg = dot(span_of(g), span_of(g));
    for (tl::extent_t j = 0; j < s.cols; ++j) d[j] = static_cast<float>(gg / before) * d[j] - g[j];
    draw_bar(std::log10(g0 / std::sqrt(gg)), wanted);
  }
  const double ms = ms_since(start) / std::max(k, 1);
  value = static_cast<double>(std::get<0>(step(x, a, y, mask))[0]);
  double error = 0;
  for (std::size_t j = 0; j < p.truth.size(); ++j) {
    const double off = static_cast<double>(x[static_cast<tl::extent_t>(j)]) - static_cast<double>(p.truth[j]);
    error += off * off;
  }
  error = std::sqrt(error / dot(p.truth, p.truth));
  std::printf("%s%9d  %10.4e  %8.2e  %15.2f\n", ::isatty(STDOUT_FILENO) != 0 ? "\r\033[K" : "", k, value,
              std::sqrt(gg), ms);
  std::printf("x is off by %.3f %%\n", 100 * error);
  return gg <= 1e-10 * g0 * g0 && error < 0.01 ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  sizes s;
  for (int i = 1; i < count; ++i) {
    const std::string option = arguments[i];
    if (option == "--full") {
      s.rows = 850000;
      s.cols = 210000;
      s.per_row = 210;
      continue;
    }
    std::int64_t number = 0;
    const char* const text = i + 1 < count ? arguments[++i] : "";
    const char* const end = text + std::strlen(text);
    const bool parsed = std::from_chars(text, end, number).ptr == end && text != end && number > 0;
    if (parsed && option == "--rows" && number < 10000000) s.rows = number;
    else if (parsed && option == "--cols" && number < 10000000) s.cols = number;
    else if (parsed && option == "--per-row" && number < 1000) s.per_row = number;
    else if (parsed && option == "--threads" && number <= 256) s.threads = static_cast<int>(number);
    else {
      std::fputs("usage: least_squares [--full] [--rows M] [--cols N] [--per-row K] [--threads N]\n", stderr);
      return 2;
    }
  }
  if (s.per_row > s.cols) {
    std::fputs("least_squares: a row has at most as many entries as there are columns\n", stderr);
    return 2;
  }
  try {
    return run(s);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "least_squares: %s\n", e.what());
    return 1;
  }
}
