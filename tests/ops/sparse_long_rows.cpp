// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows that hold a share of all entries are cut into pieces: every op that passes over rows against loops over the
// entries, whatever stands around the long rows and whether a mask keeps them, and bit by bit for any number of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/allocations.hpp>
#include <support/compare.hpp>
#include <support/random.hpp>
#include <tapeless/cpu/sparse/csr.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t m = tl::dyn<'m'>, n = tl::dyn<'n'>, e = tl::dyn<'e'>;
template <class T> using matrix = tl::csr<T, m, n, e>;
template <class T> using by_rows = tl::tensor<T, m>;
template <class T> using by_columns = tl::tensor<T, n>;

// Multiples of 1/2 in [-2, 2]: a product is a multiple of 1/4 up to 4, so that every sum of fewer than 2^19 products is
// exact in float, in any order.
template <class T> std::vector<T> halves(std::size_t size, std::uint64_t seed) {
  std::vector<T> x;
  for (const std::int32_t i : support::random_integers(size, seed, -4, 5))
    x.push_back(static_cast<T>(i) / T(2));
  return x;
}

template <class T> struct problem {
  std::string name;
  std::vector<std::int32_t> end, column;
  std::int64_t cols;
  std::vector<T> a, x, y, mask;

  // length(i): entries of row i, in columns i, i + step, ..: all of them where it is cols
  template <class Length> problem(std::string title, std::int64_t rows, std::int64_t columns, Length length)
      : name(std::move(title)), cols(columns) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t count = std::min<std::int64_t>(length(i), cols),
                         step = count == 0 ? 1 : cols / count;
      for (std::int64_t k = 0; k < count; ++k)
        column.push_back(static_cast<std::int32_t>(k * step + i % step));
      end.push_back(static_cast<std::int32_t>(column.size()));
    }
    a = halves<T>(column.size(), 1);
    x = halves<T>(static_cast<std::size_t>(cols), 2);
    y = halves<T>(end.size(), 3);
    mask.assign(end.size(), T(1));
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(end.size()); }
  std::int64_t nnz() const { return static_cast<std::int64_t>(column.size()); }
  matrix<T> A() {
    static bool nothing[1];
    using M = matrix<T>;
    return {tl::trusted, typename M::values_type(a.data(), nnz()),
            typename M::columns_type(column.data(), nnz()), typename M::row_end_type(end.data(), rows()),
            typename M::width_type(&nothing[0], cols)};
  }
  template <class F> void each(F f) const { // f(entry, row, column)
    std::size_t k = 0;
    for (std::size_t i = 0; i < end.size(); ++i)
      for (; k < static_cast<std::size_t>(end[i]); ++k) f(k, i, static_cast<std::size_t>(column[k]));
  }
  std::vector<std::int64_t> long_rows() const {
    tapeless::cpu::index_t row[tapeless::cpu::most_long_rows];
    const auto count = tapeless::cpu::find_long_rows(end.data(), rows(), nnz(), row);
    return {row, row + count};
  }
};

using lengths = std::vector<std::int64_t>;
constexpr std::int64_t full = 40009, few = 16381; // columns: x and its sums alternate, or they do not
static_assert(full * 4 > tl::cpu::short_vector && few * 8 <= tl::cpu::short_vector);
template <class T> std::vector<problem<T>> problems() {
  return {{"one dense row", 3001, full, [](auto i) { return i == 1700 ? full : i % 7; }},
          {"the first row", 500, full, [](auto i) { return i == 0 ? full : 3; }},
          {"the last row, and empty ones", 500, full, [](auto i) { return i == 499 ? full : 0; }},
          {"neighbours", 500, full, [](auto i) { return i == 7 || i == 8 || i == 9 ? full : 5; }},
          {"a row alone", 1, full, [](auto) { return full; }},
          {"many long rows", 17, full, [](auto) { return full; }},
          {"thousands of rows behind a long one", 30011, full, [](auto i) { return i == 2 ? full : 2; }},
          {"a row alone, of few columns", 1, few, [](auto) { return few; }},
          {"neighbours of few columns", 500, few, [](auto i) { return i > 6 && i < 10 ? few : 5; }},
          {"none", 3001, 53, [](auto i) { return i % 31; }}};
}

constexpr auto all_ops = [](auto x, auto a, auto y) {
  const auto z = tl::matmul(a, x);
  return std::tuple{z,
                    tl::matmul(tl::transpose(a), y),
                    tl::sampled_matmul(a, y, x).values(),
                    tl::sum<1>(a),
                    tl::sum<0>(a),
                    tl::matmul(tl::transpose(a), z * y),
                    tl::scale_rows(y, a).values(),
                    tl::scale_columns(a, x).values(),
                    tl::sum(z)};
};
constexpr auto masked = [](auto x, auto a, auto y, auto mask) {
  return tl::sum(mask * tl::square(tl::matmul(a, x) - y));
};

template <class T, class F, class... A> auto bind(F f, const problem<T>& p, int threads, std::tuple<A...>) {
  return tl::jit(f).template bind<A...>(tl::dim<'m'>(p.rows()), tl::dim<'n'>(p.cols), tl::dim<'e'>(p.nnz()),
                                        tl::threads(threads));
}
template <class T> std::vector<T> elements(const auto& t) { return {t.begin(), t.end()}; }

template <class T> void check_ops(problem<T>& p) {
  std::vector<double> z(p.end.size()), g(p.x.size()), gz(p.x.size()), of_rows(p.end.size()),
      of_columns(p.x.size());
  p.each([&](std::size_t k, std::size_t i, std::size_t j) {
    z[i] += double(p.a[k]) * double(p.x[j]);
    g[j] += double(p.a[k]) * double(p.y[i]);
    of_rows[i] += double(p.a[k]);
    of_columns[j] += double(p.a[k]);
  });
  p.each([&](std::size_t k, std::size_t i, std::size_t j) {
    gz[j] += double(p.a[k]) * double(T(z[i]) * p.y[i]);
  });
  auto run = bind(all_ops, p, 2, std::tuple<by_columns<T>, matrix<T>, by_rows<T>>{});
  const by_columns<T> x(p.x.data(), p.cols);
  const by_rows<T> y(p.y.data(), p.rows());
  const auto a = p.A();
  CHECK(support::allocations_of([&] { run(x, a, y); }) == 0);
  const auto [r0, r1, r2, r3, r4, r5, r6, r7, r8] = run(x, a, y);
  const auto equal = [&](const auto& got, const std::vector<double>& expected) {
    bool same = static_cast<std::size_t>(got.size()) == expected.size();
    for (std::size_t k = 0; same && k < expected.size(); ++k)
      same = double(got[static_cast<tl::extent_t>(k)]) == expected[k];
    return same;
  };
  CHECK(equal(r0, z));
  CHECK(equal(r1, g));
  CHECK(equal(r3, of_rows));
  CHECK(equal(r4, of_columns));
  CHECK(support::close(std::vector<double>(r5.begin(), r5.end()), gz, 1e-2, 1e-5));
  bool entries = true;
  p.each([&](std::size_t k, std::size_t i, std::size_t j) {
    const auto at = static_cast<tl::extent_t>(k);
    entries = entries && r2[at] == p.y[i] * p.x[j] && r6[at] == p.y[i] * p.a[k] && r7[at] == p.a[k] * p.x[j];
  });
  CHECK(entries);
  double sum = 0;
  for (const double q : z) sum += q;
  CHECK(double(r8[0]) == doctest::Approx(sum).epsilon(1e-4));
}

// value and both gradients of the masked loss, as bits are
template <class T> std::vector<T> step_of(problem<T>& p, int threads) {
  auto run = bind(tl::value_and_grad<0, 1>(masked), p, threads,
                  std::tuple<by_columns<T>, matrix<T>, by_rows<T>, by_rows<T>>{});
  const auto [l, x_bar, a_bar] = run(by_columns<T>(p.x.data(), p.cols), p.A(),
                                     by_rows<T>(p.y.data(), p.rows()), by_rows<T>(p.mask.data(), p.rows()));
  std::vector<T> all = elements<T>(l);
  for (const auto& t : {elements<T>(x_bar), elements<T>(a_bar.values())})
    all.insert(all.end(), t.begin(), t.end());
  return all;
}
void check_step(problem<double>& p) {
  std::vector<double> z(p.end.size()), expected(1 + p.x.size() + p.a.size());
  p.each([&](std::size_t k, std::size_t i, std::size_t j) { z[i] += p.a[k] * p.x[j]; });
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double d = p.mask[i] == 0 ? 0 : z[i] - p.y[i];
    expected[0] += p.mask[i] * d * d;
    z[i] = 2 * p.mask[i] * d;
  }
  p.each([&](std::size_t k, std::size_t i, std::size_t j) {
    if (p.mask[i] == 0) return;
    expected[1 + j] += p.a[k] * z[i];
    expected[1 + p.x.size() + k] = z[i] * p.x[j];
  });
  CHECK(support::close(step_of(p, 2), expected, 1e-9, 1e-12));
}

} // namespace

TEST_CASE("long rows: a row of two shares is found, a row of less than one is not") {
  const auto of = [](const char* name) {
    for (const auto& p : problems<float>())
      if (p.name == name) return p.long_rows();
    return lengths{-1};
  };
  CHECK(of("one dense row") == lengths{1700});
  CHECK(of("the first row") == lengths{0});
  CHECK(of("the last row, and empty ones") == lengths{499});
  CHECK(of("neighbours") == lengths{7, 8, 9});
  CHECK(of("a row alone") == lengths{0});
  CHECK(of("a row alone, of few columns") == lengths{0});
  CHECK(!of("neighbours of few columns").empty());
  CHECK(of("thousands of rows behind a long one") == lengths{2});
  CHECK(of("none").empty());

  // row 1 of `rows` has `length` entries, the others one, or none
  const auto second_of = [](std::int32_t rows, std::int32_t length, std::int32_t others) {
    std::vector<std::int32_t> end;
    for (std::int32_t i = 0; i < rows; ++i)
      end.push_back((i == 0 ? 0 : end.back()) + (i == 1 ? length : others));
    tapeless::cpu::index_t row[tapeless::cpu::most_long_rows];
    const auto count = tapeless::cpu::find_long_rows(end.data(), rows, end.back(), row);
    return lengths(row, row + count);
  };
  CHECK(second_of(1'000'000, 143'000, 1) == lengths{1}); // shares of 71,437
  CHECK(second_of(1'000'000, 71'000, 1).empty());
  CHECK(second_of(900'000, 30'000, 0) == lengths{1}); // rows without entries do not count
  CHECK(second_of(900'000, 8'191, 0).empty());
  CHECK(second_of(3, 0, 0).empty());
}

TEST_CASE_TEMPLATE("long rows: products, sums, scalings equal loops, without allocation", T, float, double) {
  for (problem<T>& p : problems<T>()) {
    CAPTURE(p.name);
    check_ops(p);
  }
}

TEST_CASE("long rows: a masked loss and its gradients equal loops, whether or not the mask keeps the rows") {
  for (problem<double>& p : problems<double>()) {
    CAPTURE(p.name);
    check_step(p);
    for (std::size_t i = 0; i < p.mask.size(); i += 2) p.mask[i] = 0;
    check_step(p);
    for (std::size_t i = 0; i < p.mask.size(); ++i) p.mask[i] = i % 2 == 0 ? 0.5 : 0;
    check_step(p);
    std::fill(p.mask.begin(), p.mask.end(), 0.0);
    check_step(p);
  }
}

TEST_CASE("long rows: one that a mask leaves out counts as zero, whatever its entries are") {
  problem<double> p = std::move(problems<double>()[0]);
  p.mask[1700] = 0;
  for (auto k = static_cast<std::size_t>(p.end[1699]); k < static_cast<std::size_t>(p.end[1700]); ++k)
    p.a[k] = std::numeric_limits<double>::infinity();
  for (const double q : step_of(p, 2)) REQUIRE(q - q == 0);
}

TEST_CASE("long rows: results do not depend on the number of threads, bit for bit") {
  for (problem<float>& p : problems<float>()) {
    CAPTURE(p.name);
    p.a = support::random_values<float>(p.a.size(), 5);
    p.x = support::random_values<float>(p.x.size(), 6);
    const std::vector<float> one = step_of(p, 1);
    CHECK(one == step_of(p, 2));
    CHECK(one == step_of(p, 3));
    CHECK(one == step_of(p, 7));
  }
}
