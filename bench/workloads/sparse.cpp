// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// sparse: A is (m, n) with `per_row` entries a row, random columns; skewed: with a power law of row lengths. mask keeps
// four rows in five at random, quarter one in four.
//   fwd      mean(mask * (A x - y)^2)
//   bwd      A^T r for a given r
//   step     the loss of fwd and its gradient by x
//   fwd_all, step_all                   all rows, without a mask
//   fwd_quarter, step_quarter           one row in four
//   fwd_tiled, bwd_tiled, step_tiled    fwd_all, bwd and step_all with the matrix in tiles
// spmm: B is (n, k), C (m, k)
//   fwd      A B
//   bwd      A^T C
//   sddmm    <C[i, :], B[j, :]> on the pattern of A

#include "session.hpp"

#include <tapeless/run/csr_tiled.hpp>

#include <string>

namespace bench { namespace {

struct sparse_row {
  std::int64_t m, n, per_row;
  std::uint64_t seed = 7;
  bool skewed = false;
};
struct spmm_row {
  std::int64_t m, n, per_row;
  int k;
  std::uint64_t seed = 7;
};

struct splitmix {
  std::uint64_t s;
  std::uint64_t operator()() {
    std::uint64_t z = (s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>((static_cast<double>((*this)() >> 11) * 0x1p-53) *
                                     static_cast<double>(n));
  }
};
float unit(std::uint64_t r) { return static_cast<float>(r >> 40) * 0x1p-23f - 1.0f; }

using matrix = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
using tiled_matrix = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>, tl::tiled>;
using by_rows = tl::tensor<float, tl::dyn<'r'>>;
using by_columns = tl::tensor<float, tl::dyn<'c'>>;

struct problem {
  std::int64_t m, n;
  std::vector<std::int32_t> row_end, columns;
  std::vector<float> value, x, y, mask, quarter, all;

  std::int64_t nnz() const { return static_cast<std::int64_t>(columns.size()); }
  std::int64_t begin(std::int64_t i) const { return i == 0 ? 0 : row_end[static_cast<std::size_t>(i - 1)]; }
  std::int64_t end(std::int64_t i) const { return row_end[static_cast<std::size_t>(i)]; }
  // a copy in memory of the library: in large pages, as arrays of NumPy are
  tl::owned<matrix> a() const {
    std::vector<std::int32_t> row_ptr{0};
    row_ptr.insert(row_ptr.end(), row_end.begin(), row_end.end());
    return tl::csr_from_csr<matrix>(m, n, row_ptr, columns, value);
  }
};
// One stream for each row. Of a skewed matrix row i has about per_row / (2 sqrt(u)) entries, u uniform in (0, 1].
problem random_problem(const sparse_row& row) {
  problem p;
  p.m = row.m;
  p.n = row.n;
  const auto size = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  for (std::vector<float>* v : {&p.y, &p.mask, &p.quarter}) v->resize(size(row.m));
  p.all.assign(size(row.m), 1.0f);
  p.x.resize(size(row.n));
  p.row_end.resize(size(row.m));
  std::vector<std::int32_t> chosen;
  for (std::int64_t i = 0; i < row.m; ++i) {
    splitmix g{row.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(i)};
    const double u = static_cast<double>((g() >> 11) + 1) * 0x1p-53;
    const auto count = size(std::min(
        row.n / 4, row.skewed
                       ? static_cast<std::int64_t>(static_cast<double>(row.per_row) / (2 * std::sqrt(u)))
                       : row.per_row));
    chosen.clear();
    while (chosen.size() < count) { // draw, sort, unique, draw the missing ones again
      while (chosen.size() < count) chosen.push_back(static_cast<std::int32_t>(g.below(row.n)));
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    }
    for (const std::int32_t j : chosen) {
      p.columns.push_back(j);
      p.value.push_back(unit(g()));
    }
    p.row_end[size(i)] = static_cast<std::int32_t>(p.columns.size());
    p.y[size(i)] = unit(g());
    p.mask[size(i)] = g.below(5) != 0 ? 1.0f : 0.0f;
    p.quarter[size(i)] = g.below(4) == 0 ? 1.0f : 0.0f;
  }
  fill(row.seed, p.x.data(), row.n);
  return p;
}

constexpr auto masked_loss = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(mask * tl::square(tl::matmul(a, x) - y));
};
constexpr auto loss = [](auto x, auto a, auto y) { return tl::mean(tl::square(tl::matmul(a, x) - y)); };
constexpr auto transposed_product = [](auto a, auto r) { return tl::matmul(tl::transpose(a), r); };

// the loss and its gradient
leaves reference(const problem& p, const std::vector<float>& mask) {
  leaves result{values(1), values(static_cast<std::size_t>(p.n))};
  const double m = static_cast<double>(p.m);
  for (std::int64_t i = 0; i < p.m; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (mask[row] == 0) continue;
    double z = -static_cast<double>(p.y[row]);
    for (auto e = static_cast<std::size_t>(p.begin(i)); e < static_cast<std::size_t>(p.end(i)); ++e)
      z += static_cast<double>(p.value[e]) * static_cast<double>(p.x[static_cast<std::size_t>(p.columns[e])]);
    result[0][0] += z * z / m;
    for (auto e = static_cast<std::size_t>(p.begin(i)); e < static_cast<std::size_t>(p.end(i)); ++e)
      result[1][static_cast<std::size_t>(p.columns[e])] += 2 * z / m * static_cast<double>(p.value[e]);
  }
  return result;
}

template <sparse_row R> void run(session& s) {
  problem p = random_problem(R);
  const tl::owned<matrix> owner = p.a();
  const matrix a = *owner;
  const by_columns x(p.x.data(), p.n);
  const by_rows y(p.y.data(), p.m), mask(p.mask.data(), p.m), quarter(p.quarter.data(), p.m);
  const tl::dim<'r'> rows(p.m);
  const tl::dim<'c'> columns(p.n);
  const tl::dim<'e'> entries(p.nnz());
  const double of_rows = static_cast<double>(R.m),
               of_columns = static_cast<double>(p.nnz()) / static_cast<double>(R.n);
  const auto value_of = [&](const std::vector<float>& of) { return leaves{reference(p, of)[0]}; };

  {
    auto program =
        tl::jit(masked_loss).bind<by_columns, matrix, by_rows, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("fwd", of_rows, [&] { return program(x, a, y, mask); }, [&] { return value_of(p.mask); });
    s.phase(
        "fwd_quarter", of_rows, [&] { return program(x, a, y, quarter); },
        [&] { return value_of(p.quarter); });
  }
  const auto transposed_product_of_y = [&] {
    values g(p.x.size());
    for (std::int64_t i = 0; i < p.m; ++i)
      for (auto e = static_cast<std::size_t>(p.begin(i)); e < static_cast<std::size_t>(p.end(i)); ++e)
        g[static_cast<std::size_t>(p.columns[e])] +=
            static_cast<double>(p.value[e]) * static_cast<double>(p.y[static_cast<std::size_t>(i)]);
    return leaves{g};
  };
  {
    auto program = tl::jit(transposed_product).bind<matrix, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("bwd", 4 * of_columns, [&] { return program(a, y); }, transposed_product_of_y);
  }
  {
    auto program = tl::jit(tl::value_and_grad<0>(masked_loss))
                       .bind<by_columns, matrix, by_rows, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("step", of_rows, [&] { return program(x, a, y, mask); }, [&] { return reference(p, p.mask); });
    s.phase(
        "step_quarter", of_rows, [&] { return program(x, a, y, quarter); },
        [&] { return reference(p, p.quarter); });
  }
  {
    auto program = tl::jit(loss).bind<by_columns, matrix, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("fwd_all", of_rows, [&] { return program(x, a, y); }, [&] { return value_of(p.all); });
  }
  {
    auto program = tl::jit(tl::value_and_grad<0>(loss))
                       .bind<by_columns, matrix, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("step_all", of_rows, [&] { return program(x, a, y); }, [&] { return reference(p, p.all); });
  }
  const auto t = tl::csr_tiled(a);
  {
    auto program = tl::jit(loss).bind<by_columns, tiled_matrix, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("fwd_tiled", of_rows, [&] { return program(x, *t, y); }, [&] { return value_of(p.all); });
  }
  {
    auto program =
        tl::jit(transposed_product).bind<tiled_matrix, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("bwd_tiled", 4 * of_columns, [&] { return program(*t, y); }, transposed_product_of_y);
  }
  {
    auto program = tl::jit(tl::value_and_grad<0>(loss))
                       .bind<by_columns, tiled_matrix, by_rows>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase("step_tiled", of_rows, [&] { return program(x, *t, y); }, [&] { return reference(p, p.all); });
  }
}

template <spmm_row R> void run_spmm(session& s) {
  const problem p = random_problem({R.m, R.n, R.per_row, R.seed});
  using rows_of_k = tl::tensor<float, tl::dyn<'r'>, R.k>;
  using columns_of_k = tl::tensor<float, tl::dyn<'c'>, R.k>;
  constexpr auto product = [](auto a, auto b) { return tl::matmul(a, b); };
  constexpr auto sampled = [](auto a, auto l, auto r) { return tl::sampled_matmul(a, l, r).values(); };
  const tl::dim<'r'> rows(p.m);
  const tl::dim<'c'> columns(p.n);
  const tl::dim<'e'> entries(p.nnz());
  constexpr auto k = static_cast<std::size_t>(R.k);
  std::vector<float> b(p.x.size() * k), c(p.y.size() * k);
  fill(1, b.data(), static_cast<std::int64_t>(b.size()));
  fill(2, c.data(), static_cast<std::int64_t>(c.size()));
  const tl::owned<matrix> owner = p.a();
  const matrix a = *owner;
  const columns_of_k right(b.data(), p.n);
  const rows_of_k left(c.data(), p.m);
  const auto each_entry = [&](const auto& f) { // f(e, row * k, column * k)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (auto e = static_cast<std::size_t>(p.begin(i)); e < static_cast<std::size_t>(p.end(i)); ++e)
        f(e, static_cast<std::size_t>(i) * k, static_cast<std::size_t>(p.columns[e]) * k);
  };

  {
    auto program = tl::jit(product).template bind<matrix, columns_of_k>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase(
        "fwd", static_cast<double>(R.per_row), [&] { return program(a, right); },
        [&] {
          values y(c.size());
          each_entry([&](std::size_t e, std::size_t i, std::size_t j) {
            for (std::size_t q = 0; q < k; ++q)
              y[i + q] += static_cast<double>(p.value[e]) * static_cast<double>(b[j + q]);
          });
          return leaves{y};
        });
  }
  {
    auto program =
        tl::jit(transposed_product).template bind<matrix, rows_of_k>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase(
        "bwd", static_cast<double>(R.m * R.per_row / R.n), [&] { return program(a, left); },
        [&] {
          values y(b.size());
          each_entry([&](std::size_t e, std::size_t i, std::size_t j) {
            for (std::size_t q = 0; q < k; ++q)
              y[j + q] += static_cast<double>(p.value[e]) * static_cast<double>(c[i + q]);
          });
          return leaves{y};
        });
  }
  {
    auto program =
        tl::jit(sampled).template bind<matrix, rows_of_k, columns_of_k>(rows, columns, entries, s.threads());
    s.plan(program);
    s.phase(
        "sddmm", R.k, [&] { return program(a, left, right); },
        [&] {
          values y(p.columns.size());
          each_entry([&](std::size_t e, std::size_t i, std::size_t j) {
            for (std::size_t q = 0; q < k; ++q)
              y[e] += static_cast<double>(c[i + q]) * static_cast<double>(b[j + q]);
          });
          return leaves{y};
        });
  }
}

const workload rows[] = {
#define TAPELESS_SPARSE(name, ...) {__LINE__, name, run<sparse_row{__VA_ARGS__}>},
#define TAPELESS_SPMM(name, ...) {__LINE__, name, run_spmm<spmm_row{__VA_ARGS__}>},
#include "workloads.def"
};
const bool listed = list(rows);

}} // namespace bench
