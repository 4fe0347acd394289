// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Sparse matrices on the emulated device compute what they do on the CPU. The laws of their ops run there among the slow
// checks; here are the lines that products read: made at a load, or in each run, of matrices of many shapes.
#include <support/both_back_ends.hpp>

#include <tapeless/run/csr_tiled.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

namespace {

using cuda_tests::both_back_ends, cuda_tests::device, cuda_tests::difference_of, cuda_tests::fill;

constexpr tl::extent_t m = tl::dyn<'m'>, n = tl::dyn<'n'>, e = tl::dyn<'e'>;
using A = tl::csr<float, m, n, e>;
using in_columns = tl::tensor<float, n>;
using in_rows = tl::tensor<float, m>;

// The entries of row i are those of (i, j) with is_entry(i, j).
template <class Matrix, class Is> std::int64_t set_pattern(const Matrix& a, Is is_entry) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j)
      if (is_entry(i, j)) a.columns()[at++] = static_cast<std::int32_t>(j);
    a.row_end()[i] = static_cast<std::int32_t>(at);
  }
  return at;
}
template <class Is> std::int64_t entries(std::int64_t rows, std::int64_t cols, Is is_entry) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) at += is_entry(i, j) ? 1 : 0;
  return at;
}
// Some rows and columns have no entry, one row and one column have all.
struct mixed {
  std::int64_t step;
  bool operator()(std::int64_t i, std::int64_t j) const {
    if (i % 7 == 3 || j % 5 == 2) return false;
    return i == 1 || j == 0 || (i * 31 + j * 17) % step == 0;
  }
};
template <class X = in_columns, class R = in_rows, class F, class Is>
double difference(F, std::int64_t rows, std::int64_t cols, Is is_entry, double where_r_is_0 = 0) {
  const std::int64_t nnz = entries(rows, cols, is_entry);
  const tl::dim<'m'> of_m{rows};
  const tl::dim<'n'> of_n{cols};
  const tl::dim<'e'> of_e{nnz};
  tl::owned<A> a(of_m, of_n, of_e);
  tl::owned<X> x(of_n);
  tl::owned<R> r(of_m);
  set_pattern(*a, is_entry);
  fill(a->values(), 1);
  fill(*x, 2);
  fill(*r, 3);
  for (std::int64_t i = 1; i < rows; i += 4)
    if constexpr (R::rank() == 1) {
      (*r)[i] = 0;
      if (where_r_is_0 != 0)
        for (std::int64_t k = a->row_end()[i - 1]; k < a->row_end()[i]; ++k)
          a->values()[k] = static_cast<float>(where_r_is_0);
    }
  both_back_ends<F, A, X, R> both(tl::dim<'m'>{std::max<std::int64_t>(rows, 1)},
                                  tl::dim<'n'>{std::max<std::int64_t>(cols, 1)},
                                  tl::dim<'e'>{std::max<std::int64_t>(nnz, 1)});
  return both.difference(*a, *x, *r);
}

template <class F, class Is> double square_difference(F, std::int64_t size, Is is_entry) {
  using square = tl::csr<float, n, n, e>;
  const std::int64_t nnz = entries(size, size, is_entry);
  tl::owned<square> a(tl::dim<'n'>{size}, tl::dim<'e'>{nnz});
  tl::owned<in_columns> x(tl::dim<'n'>{size}), r(tl::dim<'n'>{size});
  set_pattern(*a, is_entry);
  fill(a->values(), 1);
  fill(*x, 2);
  fill(*r, 3);
  both_back_ends<F, square, in_columns, in_columns> both(tl::dim<'n'>{size}, tl::dim<'e'>{nnz});
  return both.difference(*a, *x, *r);
}

constexpr auto products = [](auto a, auto x, auto r) {
  return std::tuple{matmul(a, x), matmul(transpose(a), r), matmul(transpose(a), square(matmul(a, x)) * r),
                    tl::sum<0>(a), tl::sum<1>(a)};
};
constexpr auto masked = [](auto a, auto x, auto r) {
  const auto z = matmul(a, x) - r;
  return tl::sum(tl::where(r > 0.0, square(z), 0.0f));
};
// of a function of A x and r, row by row
template <class F> struct loss_of {
  constexpr auto operator()(auto a, auto x, auto r) const { return tl::sum(F{}(matmul(a, x), r)); }
};
constexpr auto gradients = tl::value_and_grad<0, 1>(masked);

// tl::plain sorts, too
static_assert(tl::detail::plain_backend<device>::rules.sorts);

} // namespace

TEST_CASE("cuda: products with a sparse matrix and its transpose are those of the CPU, of any extents") {
  const auto none = [](std::int64_t, std::int64_t) { return false; };
  const auto all = [](std::int64_t, std::int64_t) { return true; };
  CHECK(difference(products, 37, 53, mixed{5}) < 1e-6);
  CHECK(difference(products, 1, 1, all) < 1e-6);
  CHECK(difference(products, 1, 101, all) < 1e-6);
  CHECK(difference(products, 101, 1, all) < 1e-6);
  CHECK(difference(products, 13, 11, none) == 0);
  CHECK(difference(products, 0, 11, none) == 0);
  CHECK(difference(products, 13, 0, none) == 0);
  CHECK(difference(products, 257, 300, mixed{3}) < 1e-6);    // two bytes of a column
  CHECK(difference(products, 3, 70001, mixed{11}) < 1e-6);   // three
  CHECK(difference(products, 1009, 1013, mixed{23}) < 1e-6); // many pieces
}
TEST_CASE("cuda: the gradients of masked least squares in x and in the matrix are those of the CPU") {
  CHECK(difference(gradients, 37, 53, mixed{5}) < 1e-6);
  CHECK(difference(gradients, 257, 300, mixed{3}) < 1e-6);
  CHECK(difference(gradients, 1, 1, mixed{1}) < 1e-6);
}
TEST_CASE("cuda: rows of A x that a mask leaves out are skipped, if nobody needs them") {
  constexpr auto masks = []<class F>(F) {
    constexpr const auto& plan = tl::detail::planned_for<false, device, F, A, in_columns, in_rows>::value;
    int count = 0;
    for (int i = 0; i < plan.steps; ++i) count += plan.step_[i].masks;
    return count;
  };
  const auto gradient_of = []<class F>(F) { return tl::value_and_grad<1>(loss_of<F>{}); };
  const auto chosen = gradient_of([](auto z, auto r) { return tl::where(r > 0.0, log(z), 0.0f); });
  const auto weighted = gradient_of([](auto z, auto r) { return r * (softplus(z) - z); });
  const auto poisson = gradient_of([](auto z, auto r) { return r * (exp(z) - z); });
  const auto infinite = gradient_of([](auto z, auto r) { return r * log(z); });
  const auto read = gradient_of([](auto z, auto r) { return r * z + z; });
  const auto negated = gradient_of([](auto z, auto r) { return tl::where(r == 0.0, square(z), 0.0f); });
  CHECK(masks(chosen) == 1);
  CHECK(masks(weighted) == 1);
  CHECK(masks(poisson) == 1);
  CHECK(masks(negated) == 1);
  CHECK(masks(infinite) == 0);
  CHECK(masks(read) == 0);
  CHECK(masks(products) == 0);
  const auto kept = gradient_of([](auto z, auto keep) { return tl::where(keep, square(z), 0.0f); });
  CHECK(difference<in_columns, tl::tensor<bool, m>>(kept, 37, 53, mixed{5}, 1e38) < 1e-6);
  CHECK(difference(negated, 37, 53, mixed{5}) < 1e-6);
  for (const double bad : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK(difference(weighted, 37, 53, mixed{5}, bad) < 1e-6);
    CHECK(difference(poisson, 37, 53, mixed{5}, bad) < 1e-6);
    CHECK(difference(chosen, 37, 53, mixed{5}, bad) < 1e-6);
  }
}
TEST_CASE("cuda: products of sparse and dense matrices, narrow and wide") {
  const auto f = [](auto a, auto x, auto r) {
    return std::tuple{matmul(a, x), matmul(transpose(a), r), tl::sampled_matmul(a, r, x).values()};
  };
  const auto of_width = [&]<tl::extent_t K>() {
    return difference<tl::tensor<float, n, K>, tl::tensor<float, m, K>>(f, 37, 53, mixed{5});
  };
  CHECK(of_width.operator()<1>() < 1e-6);
  CHECK(of_width.operator()<3>() < 1e-6);
  CHECK(of_width.operator()<8>() < 1e-6);
  CHECK(of_width.operator()<67>() < 1e-6);
}
TEST_CASE("cuda: triangular solves, and products of two sparse matrices, with gradients") {
  const auto near_diagonal = [](std::int64_t i, std::int64_t j) {
    return i == j || (i * 7 + j * 3) % 11 == 0;
  };
  const auto solves = tl::value_and_grad<0, 1>([](auto a, auto x, auto r) {
    const auto b = a.with(a.values() * 0.05f + 1.0f);
    const auto u = tl::solve_triangular(b, x) * r;
    return tl::sum(u * tl::solve_triangular<tl::triangle{.upper = true}>(tl::transpose(b), x)) +
           tl::sum(tl::solve_triangular<tl::triangle{.upper = true, .unit = true}>(b.with(a.values() * 0.01f),
                                                                                   u));
  });
  const auto squares = tl::value_and_grad<0>([](auto a, auto x, auto) {
    return tl::sum(square(matmul(tl::sampled_matmul(a, a, a.with(sin(a.values()))), x)));
  });
  CHECK(square_difference(solves, 43, near_diagonal) < 1e-5);
  CHECK(square_difference(solves, 1, near_diagonal) < 1e-5);
  CHECK(square_difference(squares, 43, near_diagonal) < 1e-5);
  CHECK(square_difference(squares, 37, mixed{5}) < 1e-5);
}
TEST_CASE("cuda: a pattern that changes in place between runs is read anew") {
  using fixed = tl::csr<float, 29, 31, 120>;
  using of_columns = tl::tensor<float, 31>;
  using of_rows = tl::tensor<float, 29>;
  tl::owned<fixed> a;
  tl::owned<of_columns> x;
  tl::owned<of_rows> r;
  fill(a->values(), 1);
  fill(*x, 2);
  fill(*r, 3);
  both_back_ends<decltype(gradients), fixed, of_columns, of_rows> both;
  for (std::int64_t shift = 0; shift < 4; ++shift) {
    std::int64_t left = 120;
    set_pattern(*a, [&](std::int64_t i, std::int64_t j) {
      return left > 0 && ((i * 5 + j * 3 + shift) % 7 == 0 || i * 31 + j + left >= 29 * 31) && left-- > 0;
    });
    CHECK(both.difference(*a, *x, *r) < 1e-6);
  }
}
TEST_CASE("cuda: a load makes the lines of a matrix, once for many runs") {
  using fixed = tl::csr<float, 29, 31, 120>;
  using of_columns = tl::tensor<float, 31>;
  using of_rows = tl::tensor<float, 29>;
  using F = decltype(gradients);
  constexpr const auto& plan = tl::detail::planned_for<true, device, F, fixed, of_columns, of_rows>::value;
  static_assert(plan.step_[0].o == tl::detail::op::pattern && plan.step_[0].at_load);
  constexpr const auto& in_runs =
      tl::detail::planned_for<false, device, F, fixed, of_columns, of_rows>::value;
  const auto count = [](const auto& p, tl::detail::op o) {
    int steps = 0;
    for (int i = 0; i < p.steps; ++i) steps += p.step_[i].o == o ? 1 : 0;
    return steps;
  };
  CHECK(count(plan, tl::detail::op::pattern) == 1);
  CHECK(count(plan, tl::detail::op::gather) == 1); // the values in the order of columns
  CHECK(plan.step_[1].at_load);
  CHECK(count(in_runs, tl::detail::op::pattern) == 1);
  CHECK(count(in_runs, tl::detail::op::gather) == 0);

  tl::owned<fixed> a;
  tl::owned<of_columns> x;
  tl::owned<of_rows> r;
  const auto pattern = [&](std::int64_t shift) {
    std::int64_t left = 120;
    set_pattern(*a, [&](std::int64_t i, std::int64_t j) {
      return left > 0 && ((i * 5 + j * 3 + shift) % 7 == 0 || i * 31 + j + left >= 29 * 31) && left-- > 0;
    });
    fill(a->values(), static_cast<std::uint64_t>(shift));
  };
  pattern(0);
  both_back_ends<F, fixed, of_columns, of_rows> both;
  auto loaded = both.on_device().load(*a);
  for (std::uint64_t k = 0; k < 6; ++k) {
    if (k == 3) { // another pattern in the same place
      pattern(1);
      loaded.load(*a);
    }
    fill(*x, 2 + k);
    fill(*r, 3 + k);
    auto& host = both.on_host();
    CHECK(difference_of(host(*a, *x, *r), loaded(*x, *r)) < 1e-6);
  }
}
TEST_CASE("cuda: a load makes the lines of a tiled matrix") {
  using rows = tl::csr<double, 29, 31, 120>;
  using tiles = tl::csr<double, 29, 31, 120, tl::tiled>;
  using of_columns = tl::tensor<double, 31>;
  using of_rows = tl::tensor<double, 29>;
  const auto f = [](auto a, auto x, auto r) {
    return std::tuple{matmul(a, x), matmul(transpose(a), r), tl::sampled_matmul(a, r, x).values()};
  };
  tl::owned<rows> a;
  tl::owned<of_columns> x;
  tl::owned<of_rows> r;
  std::int64_t left = 120;
  set_pattern(*a, [&](std::int64_t i, std::int64_t j) {
    return left > 0 && ((i * 5 + j * 3) % 7 == 0 || i * 31 + j + left >= 29 * 31) && left-- > 0;
  });
  fill(a->values(), 1);
  fill(*x, 2);
  fill(*r, 3);
  const auto tiled = tl::csr_tiled(*a);
  both_back_ends<decltype(f), tiles, of_columns, of_rows> both;
  auto loaded = both.on_device().load(*tiled);
  CHECK(difference_of(both.on_host()(*tiled, *x, *r), loaded(*x, *r)) < 1e-14);
}
TEST_CASE("cuda: a dense column is summed with small errors, in one order") {
  using fixed = tl::csr<float, 200000, 2, 200000>;
  tl::owned<fixed> a;
  tl::owned<tl::tensor<float, 200000>> r;
  for (std::int64_t i = 0; i < 200000; ++i) {
    a->columns()[i] = 1;
    a->row_end()[i] = static_cast<std::int32_t>(i + 1);
    a->values()[i] = 1.0f + static_cast<float>(i % 13) / 16;
    (*r)[i] = static_cast<float>(i % 7) / 8;
  }
  const auto f = [](auto b, auto y) { return matmul(transpose(b), y); };
  both_back_ends<decltype(f), fixed, tl::tensor<float, 200000>> both;
  double exact = 0;
  for (std::int64_t i = 0; i < 200000; ++i) exact += double{a->values()[i]} * double{(*r)[i]};
  const auto g = both.on_device()(*a, *r);
  CHECK(g[0] == 0);
  CHECK(std::fabs(g[1] - exact) < 1e-7 * exact);
  static_assert(cuda::parts_of_lines(200000, 2, 64) == 97 && cuda::parts_of_lines(200000, 1000, 32000) == 1 &&
                cuda::parts_of_lines(1 << 20, 2, 1 << 16) == 2 && cuda::parts_of_lines(0, 0, 0) == 1);
}
