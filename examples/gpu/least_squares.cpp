// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sparse least squares, mean(mask * (A x - y)^2), by conjugate gradients: an iteration is one program, which writes its
// results in the place of its arguments.
#include "space.hpp"

#include <tapeless/run/csr_build.hpp>

#include <cstdint>
#include <tuple>

namespace {

constexpr int rows = 4000, columns = 600, entries_of_row = 8;
using matrix = tl::csr<float, rows, columns, rows * entries_of_row>;
using by_rows = tl::tensor<float, rows>;
using by_columns = tl::tensor<float, columns>;

constexpr auto error = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(mask * tl::square(tl::matmul(a, x) - y));
};
struct iterate {
  by_columns x, g, d; // g: the gradient; d: where to go
};
constexpr auto start = tl::jit([](auto i, auto a, auto y, auto mask) {
  i.g = tl::grad<0>(error)(i.x, a, y, mask);
  i.d = -i.g;
  return i;
});
constexpr auto iteration = tl::jit([](auto i, auto a, auto y, auto mask) {
  const auto h_d = tl::hvp<0>(error)(i.x, a, y, mask, i.d); // the Hessian times d
  const auto g_g = tl::sum(i.g * i.g);
  const auto length = g_g / tl::sum(i.d * h_d);
  i.x = i.x + length * i.d;
  i.g = i.g + length * h_d;
  i.d = tl::sum(i.g * i.g) / g_g * i.d - i.g;
  return std::tuple{error(i.x, a, y, mask), i};
});

struct least_squares {
  template <class Space> static std::vector<loss> run() {
    std::mt19937 random(1);
    std::vector<tl::triplet<float>> entries;
    tl::owned<by_rows> right, kept;
    for (int i = 0; i < rows; ++i) {
      const bool is_kept = random() % 5 != 0;
      float z = 0;
      for (int k = 0; k < entries_of_row; ++k) {
        const int j = static_cast<int>(random() % 75) * entries_of_row + k; // no two are equal
        entries.push_back({i, j, uniform(random)});
        z += entries.back().value * std::sin(static_cast<float>(j)); // x[j] is to be sin(j)
      }
      (*kept)(i) = is_kept ? 1 : 0;
      (*right)(i) = is_kept ? z + 0.1f * uniform(random) : 1e6f; // nonsense, where it is masked out
    }

    const auto a = Space::place(tl::csr_from_triplets<matrix>(rows, columns, entries));
    const auto y = Space::place(std::move(right));
    const auto mask = Space::place(std::move(kept));
    const auto i = Space::template zeros<iterate>();
    const auto value = Space::template zeros<tl::scalar<float>>();
    auto begin = Space::template bind<iterate, matrix, by_rows, by_rows>(start);
    auto step = Space::template bind<iterate, matrix, by_rows, by_rows>(iteration);
    begin.into (*i)(*i, *a, *y, *mask);
    std::vector<loss> losses;
    for (int k = 1; k <= 12; ++k) {
      step.into(std::tuple{*value, *i})(*i, *a, *y, *mask);
      if (k == 1 || k % 4 == 0) losses.push_back({k, Space::number(value)});
    }
    return losses;
  }
};

} // namespace

int main() { return show<least_squares>("mean square error of the rows that are not masked"); }
