// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Losses of selected rows of a product A B, A sparse: the gradient by B is that of loops over these rows, and the other rows
// of A are not visited: what is infinite there stays there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <support/random.hpp>
#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr int n = 37;
using A = tl::csr<double, tl::dyn<'m'>, n, tl::dyn<'e'>>;
template <int K> using X = tl::tensor<double, n, K>;

struct hardest_below { // of the rows whose loss is finite: the greatest of the k least
  constexpr auto operator()(auto x, auto a) const {
    const auto l = tl::mean<1>(tl::square(tl::matmul(a, x)));
    const auto rows = tl::bottom_k<40, 'k'>(l);
    return std::tuple{tl::sum(tl::gather(l, rows)), rows};
  }
};

template <int K> void check(int m, bool poisoned) {
  std::vector<std::int32_t> row_ptr{0}, columns;
  std::vector<double> values;
  const auto random = support::random_values<double>(static_cast<std::size_t>(m * n), 3);
  for (int i = 0; i < m; ++i) {
    const bool left_out = poisoned && i % 3 != 0;
    for (int j = i % 4; j < n; j += 2 + i % 5) {
      columns.push_back(j);
      values.push_back(left_out ? std::numeric_limits<double>::infinity() : random[values.size()]);
    }
    row_ptr.push_back(static_cast<std::int32_t>(columns.size()));
  }
  const A a = tl::csr_view<A>(m, n, row_ptr, columns, values);
  tl::owned<X<K>> x;
  const auto v = support::random_values<double>(n * K, 5);
  std::copy(v.begin(), v.end(), x.view().begin());
  constexpr auto f = tl::jit(tl::value_and_grad<0>(hardest_below{}));
  static_assert(f.template cost<X<K>, A>().densified == 0); // A^T reads rows of the list alone
  std::vector<double> before;
  for (const int members : {1, 2, 3}) {
    auto run = f.template bind<X<K>, A>(tl::dim<'m'>(m), tl::dim<'e'>(a.nnz()), tl::threads(members));
    const auto [out, gradient] = run(*x, a);
    const auto& rows = std::get<1>(out);
    REQUIRE(rows.size() == std::min(m, 40));
    std::vector<double> expected(n * K, 0.0);
    double value = 0;
    for (tl::extent_t r = 0; r < rows.size(); ++r) {
      const auto i = static_cast<std::size_t>(rows[r]);
      for (int k = 0; k < K; ++k) {
        double y = 0;
        for (auto e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
          y += values[static_cast<std::size_t>(e)] * (*x)[columns[static_cast<std::size_t>(e)] * K + k];
        value += y * y / K;
        for (auto e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
          expected[static_cast<std::size_t>(columns[static_cast<std::size_t>(e)] * K + k)] +=
              2 * y / K * values[static_cast<std::size_t>(e)];
      }
    }
    CHECK(std::get<0>(out)[0] == doctest::Approx(value).epsilon(1e-12));
    for (int j = 0; j < n * K; ++j)
      CHECK(std::abs(gradient[j] - expected[static_cast<std::size_t>(j)]) <= 1e-11); // also: none is NaN
    const std::vector<double> now(gradient.begin(), gradient.end());
    CHECK((before.empty() || now == before));
    before = now;
  }
}

} // namespace

TEST_CASE("rows of a product with a sparse matrix: those that are not selected are not visited") {
  check<5>(600, true);
  check<16>(600, true);
  check<5>(600, false);
  check<5>(1, false);
  check<5>(41, false);
}

TEST_CASE("sparse: a scatter_add of the user selects no rows of A") {
  constexpr auto f = [](auto x, auto a, auto all, auto c) {
    return tl::sum(tl::matmul(tl::transpose(a), tl::scatter_add<0, 2>(all, c)) * x);
  };
  using two_rows = tl::csr<double, 2, n, 2>;
  std::vector<std::int32_t> row_ptr{0, 1, 2}, columns{0, 1};
  std::vector<double> values{1.0, std::numeric_limits<double>::infinity()};
  const two_rows a = tl::csr_view<two_rows>(2, n, row_ptr, columns, values);
  tl::owned<X<3>> x;
  std::fill(x.view().begin(), x.view().end(), 1.0);
  std::vector<std::int32_t> rows{0, 1};
  std::vector<double> c{1, 2, 3, 0, 0, 0}; // 0 * inf is NaN
  auto run = tl::jit(f).bind<X<3>, two_rows, tl::tensor<std::int32_t, 2>, tl::tensor<double, 2, 3>>();
  CHECK(std::isnan(
      run(*x, a, tl::tensor<std::int32_t, 2>(rows.data()), tl::tensor<double, 2, 3>(c.data()))[0]));
}
