// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "sparse.hpp"

#include <doctest/doctest.h>

namespace tl = tapeless;
using namespace laws;
using namespace laws::sparse;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

// Rows, columns and entries of one extent: an operand may stand for a row and for a column, or be the entries too.
template <class T> using square_arguments = vector_arguments<T, n, n, n>;
constexpr auto square_matrix = cases<square_arguments<double>, pattern_constant<double, n, n, n>>(
    vectors(
        "A (A x)", [](const auto& g) { return matmul(g.a, matmul(g.a, g.x)); }, 64),
    vectors(
        "sampled_matmul(A, A x, A x)",
        [](const auto& g) {
          const auto z = matmul(g.a, g.x);
          return sampled_matmul(g.a, z, z).values();
        },
        64),
    vectors(
        "A(z)^T z, z = A x",
        [](const auto& g) {
          const auto z = matmul(g.a, g.x);
          return matmul(transpose(g.a.with(z)), z);
        },
        64),
    vectors(
        "A^T (A y) + A x",
        [](const auto& g) { return matmul(transpose(g.a), matmul(g.a, g.y)) + matmul(g.a, g.x); }, 64),
    vectors(
        "scale_columns(A, A x)", [](const auto& g) { return scale_columns(g.a, matmul(g.a, g.x)).values(); },
        64),
    vectors(
        "sum<0>(scale_rows(A x, A))", [](const auto& g) { return sum<0>(scale_rows(matmul(g.a, g.x), g.a)); },
        64));

// n entries in n rows: row i has 0, 3 or fewer, so that lengths vary; C columns, or n
template <std::int32_t C> struct fill_named {
  void operator()(const auto& c, std::int64_t count) const {
    const auto& a = std::get<0>(c);
    const auto cols = C > 0 ? C : static_cast<std::int32_t>(count);
    std::int64_t e = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t most = i + 1 == count ? count - e
                                               : std::int64_t{i % 3 == 0   ? 2
                                                              : i % 3 == 1 ? 0
                                                                           : 1};
      const auto length = static_cast<std::int32_t>(std::min({most, count - e, std::int64_t{cols}}));
      const auto first = static_cast<std::int32_t>(i % (cols - length + 1));
      for (std::int32_t k = 0; k < length; ++k) a.columns()[e++] = first + k;
      a.row_end()[i] = static_cast<std::int32_t>(e);
    }
    for (auto& v : a.values()) v = 0;
  }
};

const std::vector<domain> anywhere{{-1, 1}};

} // namespace

TEST_CASE("sparse: the laws hold along named extents") {
  check_laws(with<square_arguments<double>, pattern_constant<double, n, n, n>>(products), {0, 1, 2, 5, 17},
             anywhere, fill_named<0>{});
  check_laws(with<matrix_arguments<double, n, 7, n>, pattern_constant<double, n, 7, n>>(dense), {0, 1, 5, 17},
             anywhere, fill_named<7>{});
}
TEST_CASE("sparse: the laws hold where rows, columns and entries are one extent") {
  check_laws(square_matrix, {0, 1, 2, 5, 17}, anywhere, fill_named<0>{});
}
TEST_CASE("sparse: float equals the reference along named extents") {
  check_values(with<square_arguments<float>, pattern_constant<float, n, n, n>>(products), {0, 1, 17, 1000},
               anywhere, fill_named<0>{});
}
