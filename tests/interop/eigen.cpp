// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/interop/eigen.hpp>
#include <tapeless/run/csr_dense.hpp>

#if __has_include(<Eigen/SparseCore>)
#include <Eigen/SparseCore>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/refusal.hpp"

namespace tl = tapeless;
using support::refusal;

namespace {

template <class T> using table = tl::csr<T, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
using by_rows = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using by_columns = Eigen::SparseMatrix<double, Eigen::ColMajor>;
using wide = Eigen::SparseMatrix<double, Eigen::ColMajor, std::int64_t>;

// About a third of the elements, by rows; the first and the last row are empty where there are more than two.
by_rows random_matrix(int rows, int cols) {
  std::mt19937 engine(3);
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      if (engine() % 3 == 0 && (rows < 3 || (i > 0 && i + 1 < rows)))
        entries.emplace_back(i, j, static_cast<double>(engine() % 100) - 50);
  by_rows m(rows, cols);
  m.setFromTriplets(entries.begin(), entries.end());
  return m;
}
template <class A, class M> bool same(const A& a, const M& m) {
  tl::csr_check(a);
  if (a.rows() != m.rows() || a.cols() != m.cols() || a.nnz() != m.nonZeros()) return false;
  const auto dense = tl::to_dense(a);
  for (int i = 0; i < m.rows(); ++i)
    for (int j = 0; j < m.cols(); ++j)
      if ((*dense)[i * m.cols() + j] != m.coeff(i, j)) return false;
  return true;
}

} // namespace

TEST_CASE("eigen: views share its arrays, copies of every kind and back are the matrix") {
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 3}, {3, 0}, {1, 1}, {13, 7}, {2, 31}}) {
    CAPTURE(rows);
    CAPTURE(cols);
    by_rows m = random_matrix(rows, cols);
    const by_columns t = m;
    const wide w = t.cast<double>();
    const auto view = tl::eigen_view<table<double>>(m);
    CHECK(same(view, m));
    if (m.nonZeros() > 0) CHECK(view.values().data() == m.valuePtr());
    CHECK(same(tl::eigen_view<table<const double>>(std::as_const(m)), m));
    CHECK(same(*tl::csr_from_eigen<table<double>>(m), m));
    CHECK(same(*tl::csr_from_eigen<table<double>>(t), m));
    CHECK(same(*tl::csr_from_eigen<table<double>>(w), m));
    using long_rows = tl::csr<double, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>, std::int64_t>;
    CHECK(same(*tl::csr_from_eigen<long_rows>(m), m));
    const auto owned = tl::csr_from_eigen<long_rows>(w);
    CHECK(same(*owned, m));
    CHECK(same(*owned, tl::to_eigen<by_rows>(*owned)));
    CHECK(same(*owned, tl::to_eigen<Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>>(*owned)));
    const by_rows back = tl::to_eigen<by_rows>(view);
    CHECK(back.isCompressed());
    CHECK(same(view, back));
  }
}

TEST_CASE("eigen: a matrix that is not compressed is refused by the view, and copied") {
  by_rows m(3, 4);
  m.insert(1, 2) = 5;
  m.insert(1, 0) = 7;
  REQUIRE(!m.isCompressed());
  CHECK(refusal([&] { tl::eigen_view<table<double>>(m); }) ==
        "tapeless: eigen_view(m): m is not compressed: m.makeCompressed()");
  CHECK(same(*tl::csr_from_eigen<table<double>>(m), m));
  m.makeCompressed();
  CHECK(same(tl::eigen_view<tl::csr<double, 3, 4, 2>>(m), m));
  CHECK(refusal([&] { tl::eigen_view<tl::csr<double, 3, 5, 2>>(m); }) ==
        "tapeless: csr_view(rows, cols, row_ptr, columns, values): cols = 4, but the matrix type has 5");
}
#endif
