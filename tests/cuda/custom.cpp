// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Custom ops of tensors on the emulated device: their launch computes there what their primal does on the CPU.
#include <support/both_back_ends.hpp>

#include <tapeless/cuda/program_kernels.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

namespace {

using cuda_tests::both_back_ends, cuda_tests::difference_of, cuda_tests::fill;

constexpr tl::extent_t n = tl::dyn<'n'>, m = tl::dyn<'m'>;
int primals = 0, launches = 0;

template <class Stream> constexpr bool is_of_the_device = std::is_same_v<Stream, cuda::emulated_stream>;

// y_i = x_(i + By), i + By modulo the extent of the first axis
template <int By> struct rotated {
  static constexpr tl::shape result(tl::shape x) { return x; }
  static void primal(auto y, auto x) {
    ++primals;
    const tl::extent_t rows = x.extent(0);
    if (x.size() == 0) return;
    const tl::extent_t row = x.size() / rows;
    for (tl::extent_t i = 0; i < x.size(); ++i)
      y.data()[i] = x.data()[(i + ((By + rows) % rows) * row) % x.size()];
  }
  static void launch(auto stream, auto y, auto x) {
    static_assert(is_of_the_device<decltype(stream)>);
    ++launches;
    const tl::extent_t rows = x.extent(0), row = rows == 0 ? 0 : x.size() / rows;
    for (tl::extent_t r = 0; r < rows; ++r)
      for (tl::extent_t k = 0; k < row; ++k)
        y.data()[r * row + k] = x.data()[((r + By + rows) % rows) * row + k];
  }
  static constexpr auto vjp(auto, auto, auto y_bar) { return tl::custom<rotated<-By>>(y_bar); }
};
// y_ij = a_i b_j: two operands, another shape
struct outer {
  static constexpr tl::shape result(tl::shape a, tl::shape b) { return {2, {a[0], b[0]}}; }
  static void primal(auto y, auto a, auto b) {
    ++primals;
    for (tl::extent_t i = 0; i < a.extent(0); ++i)
      for (tl::extent_t j = 0; j < b.extent(0); ++j) y(i, j) = a[i] * b[j];
  }
  static void launch(auto, auto y, auto a, auto b) {
    ++launches;
    for (tl::extent_t j = 0; j < b.size(); ++j)
      for (tl::extent_t i = 0; i < a.size(); ++i) y.data()[i * b.size() + j] = b.data()[j] * a.data()[i];
  }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar) {
    return std::tuple{tl::matmul(y_bar, b), tl::matmul(a, y_bar)};
  }
};
// y_i = where mask_i: x at index_i, else 0. x has 4 elements: three operands of three types
struct picked {
  static constexpr tl::shape result(tl::shape, tl::shape index, tl::shape) { return index; }
  static void primal(auto y, auto x, auto index, auto mask) {
    ++primals;
    for (tl::extent_t i = 0; i < y.size(); ++i) y[i] = mask[i] ? x[index[i]] : x[0] - x[0];
  }
  static void launch(auto, auto y, auto x, auto index, auto mask) {
    ++launches;
    for (tl::extent_t i = y.size(); i-- > 0;) y[i] = mask[i] ? x[index[i]] : x[0] - x[0];
  }
  static constexpr auto vjp(auto, auto index, auto mask, auto, auto y_bar) {
    return std::tuple{tl::scatter_add<0, 4>(index, tl::where(mask, y_bar, 0.0f)), y_bar, y_bar};
  }
};

template <class T> using X = tl::tensor<T, n, 3>;
template <class T> using row = tl::tensor<T, n>;
template <class T> using other = tl::tensor<T, m>;

// Of arguments, of what is computed, of a view; the result of the program, and what others read
constexpr auto rotations = [](auto x) {
  const auto y = tl::custom<rotated<2>>(x), z = tl::custom<rotated<1>>(tl::square(x) + y);
  return std::tuple{y, tl::exp(z), tl::custom<rotated<1>>(tl::transpose(x))};
};
constexpr auto loss_of_rotations = [](auto x) {
  return tl::sum(tl::square(tl::custom<rotated<2>>(x)) * x + tl::custom<rotated<1>>(tl::sin(x)));
};
constexpr auto loss_of_outer = [](auto a, auto b) {
  return tl::sum(tl::square(tl::custom<outer>(a, tl::sin(b)))) + tl::sum(tl::custom<outer>(b, b));
};

template <class T> void check_rotations(double bound) {
  for (const tl::extent_t rows : {0, 1, 2, 3, 7, 101}) {
    const tl::dim<'n'> of_n{rows}, most{rows > 0 ? rows : 1};
    tl::owned<X<T>> x(of_n);
    fill(*x, 1);
    const auto difference = [&]<class F>(F) { return both_back_ends<F, X<T>>(most).difference(*x); };
    CHECK(difference(rotations) <= bound);
    CHECK(difference(tl::value_and_grad(loss_of_rotations)) <= bound);
    CHECK(difference([](auto v) { return tl::hvp(loss_of_rotations)(v, v); }) <= bound);
  }
}

} // namespace

TEST_CASE(
    "cuda: launch of a custom op computes what its primal does: values, gradients, second derivatives") {
  check_rotations<float>(1e-6);
  check_rotations<double>(1e-14);
}
TEST_CASE("cuda: a custom op of two operands, of another shape") {
  for (const tl::extent_t rows : {0, 1, 5, 17})
    for (const tl::extent_t columns : {0, 1, 11}) {
      tl::owned<row<double>> a(tl::dim<'n'>{rows});
      tl::owned<other<double>> b(tl::dim<'m'>{columns});
      fill(*a, 1);
      fill(*b, 2);
      using F = decltype(tl::value_and_grad<0, 1>(loss_of_outer));
      both_back_ends<F, row<double>, other<double>> both(tl::dim<'n'>{rows + 1}, tl::dim<'m'>{columns + 1});
      CHECK(both.difference(*a, *b) < 1e-14);
    }
}
TEST_CASE("cuda: the operands of a custom op may be of several types") {
  using index = tl::tensor<std::int32_t, 5>;
  using mask = tl::tensor<bool, 5>;
  using table = tl::tensor<float, 4>;
  tl::owned<table> x;
  tl::owned<index> at;
  tl::owned<mask> keep;
  fill(*x, 1);
  for (int i = 0; i < 5; ++i) {
    (*at)[i] = (3 * i) % 4;
    (*keep)[i] = i != 2;
  }
  const auto value = [](auto a, auto i, auto k) { return tl::sum(tl::square(tl::custom<picked>(a, i, k))); };
  using F = decltype(tl::value_and_grad<0>(value));
  CHECK(both_back_ends<F, table, index, mask>().difference(*x, *at, *keep) < 1e-6);
}
TEST_CASE(
    "cuda: a run calls launch once for each step, and no primal; its names are no kernels of the library") {
  using F = decltype(rotations);
  cuda_tests::bound_on<cuda_tests::device, F, X<float>> run(tl::dim<'n'>(4));
  tl::owned<X<float>> x(tl::dim<'n'>(4));
  primals = launches = 0;
  run(*x);
  CHECK((launches == 3 && primals == 0));
  for (const std::string& name : cuda::program_kernels<F, X<float>>())
    CHECK(name.find("rotated") == std::string::npos);
  CHECK(launches == 3); // kernels are listed without it
}
