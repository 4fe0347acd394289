// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// sparse --list; sparse NAME...      the sparse rows of bench/workloads.def on the device: A is (m, n), per_row entries a row
//   fwd           A x          bwd     A^T r
//   step          mean(mask * (A x - y)^2) and its gradient by x
//   step_loaded   the same of a matrix that has been loaded: the lines of A^T are made once
// With B of k columns: fwd A B, bwd A^T R, values <R[i, :], B[j, :]> of the entries; by cuSPARSE, and once more by the library's own
// kernels, the peer tapeless-gpu-own.
// Each is compared with the sums in double on the host, then timed as in workloads.cpp. The columns of a row are one in each
// of per_row equal ranges, as the matrix of peer.py. Also {"what": "limit", "limit": "copy_GBs"}: what the device reads
// and writes when it copies; GBs of a step counts two reads of A.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <vector>

#include <tapeless/run/csr.hpp>

#include "kernels.hpp"

namespace {

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

#if defined(GPU_SMALL)
constexpr int repeats = 2, warm = 2;
#else
constexpr int repeats = 30, warm = 3;
#endif

struct sparse_row {
  std::int64_t m, n, per_row;
  bool skewed = false;
};

struct spmm_row {
  std::int64_t m, n, per_row, k;
};

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
float unit(std::uint64_t k) {
  return static_cast<float>(mixed(k * 0x9e3779b97f4a7c15u) >> 40) * 0x1p-23f - 1.0f;
}

struct pattern {
  std::vector<std::int32_t> row_ptr, columns;
  std::vector<float> values;
  pattern(std::int64_t m, std::int64_t n, std::int64_t per_row) {
    const std::int64_t nnz = m * per_row, width = n / per_row;
    for (std::int64_t e = 0; e < nnz; ++e) {
      const auto k = static_cast<std::uint64_t>(e);
      columns.push_back(static_cast<std::int32_t>(e % per_row * width +
                                                  static_cast<std::int64_t>(mixed(k + 7) >> 33) % width));
      values.push_back(unit(k));
    }
    for (std::int64_t i = 0; i <= m; ++i) row_ptr.push_back(static_cast<std::int32_t>(i * per_row));
  }
};

constexpr auto product = [](auto a, auto x) { return tl::matmul(a, x); };
constexpr auto transposed = [](auto a, auto r) { return tl::matmul(tl::transpose(a), r); };
constexpr auto samples = [](auto a, auto x, auto r) { return tl::sampled_matmul(a, r, x).values(); };
constexpr auto loss = [](auto a, auto x, auto y, auto mask) {
  return tl::mean(mask * tl::square(tl::matmul(a, x) - y));
};

// The largest difference, as a part of the largest element
double error_of(const std::vector<double>& expected, const float* got) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = std::abs(expected[i] - static_cast<double>(got[i]));
    worst = e <= worst ? worst : std::isnan(e) ? HUGE_VAL : e;
    largest = std::max(largest, std::abs(expected[i]));
  }
  return largest > 0 ? worst / largest : worst;
}

class bench {
  const char* name_;
  double bytes_; // of A
  const cuda::stream& s_;

public:
  bool right = true;
  bench(const char* name, double bytes, const cuda::stream& s) : name_(name), bytes_(bytes), s_(s) {}

  // what(): one run.   parts: of A that it reads
  template <class What>
  void time(const char* phase, double parts, const What& what, bool own = false) const {
    for (const bool eager : {true, false}) {
      support::how_programs_run().eager = eager;
      const times t = timed(s_.get(), [&](cudaStream_t) { what(); }, repeats, warm);
      line("time")
          .put("workload", name_)
          .put("phase", phase)
          .put("peer", own     ? eager ? "tapeless-gpu-own-eager" : "tapeless-gpu-own-graph"
                       : eager ? "tapeless-gpu-eager"
                               : "tapeless-gpu-graph")
          .put("min_ms", t.min_us / 1e3)
          .put("median_ms", t.median_us / 1e3)
          .put("GBs", parts * bytes_ / t.median_us / 1e3);
    }
    support::how_programs_run().eager = false;
  }
  void check(const char* phase, double error, double limit) {
    line("check")
        .put("check", name_)
        .put("phase", phase)
        .put("max_rel_err", error)
        .put("holds", error <= limit);
    right = right && error <= limit;
  }
};

// The user's device, run eagerly where that is asked for
template <class F, class... A> using on_device =
    tl::detail::bound<cuda::backend<support::device_of_tests>, false, F, cuda::on<A>...>;

template <sparse_row R> bool run(const char* name) {
  constexpr tl::extent_t m = R.m, n = R.n, nnz = R.m * R.per_row;
  using A = tl::csr<float, m, n, nnz>;
  using X = tl::tensor<float, n>;
  using Y = tl::tensor<float, m>;
  tl::owned<X> x;
  tl::owned<Y> y, mask;
  pattern of_a(R.m, R.n, R.per_row);
  auto& [row_ptr, columns, values] = of_a;
  for (std::int64_t j = 0; j < n; ++j) (*x)[j] = unit(static_cast<std::uint64_t>(j + 11 * nnz));
  for (std::int64_t i = 0; i < m; ++i) {
    (*y)[i] = unit(static_cast<std::uint64_t>(i + 13 * nnz));
    (*mask)[i] = unit(static_cast<std::uint64_t>(i + 17 * nnz)) > 0 ? 1.0f : 0.0f;
  }

  std::vector<double> ax(static_cast<std::size_t>(m)), aty(static_cast<std::size_t>(n)), value(1),
      gradient(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i) {
    const auto entries = [&](const auto& f) {
      for (std::int64_t e = i * R.per_row; e < (i + 1) * R.per_row; ++e)
        f(static_cast<std::size_t>(columns[static_cast<std::size_t>(e)]),
          static_cast<double>(values[static_cast<std::size_t>(e)]));
    };
    double sum = 0;
    entries(
        [&](std::size_t j, double v) { sum += v * static_cast<double>((*x)[static_cast<std::int64_t>(j)]); });
    const double yi = static_cast<double>((*y)[i]), z = static_cast<double>((*mask)[i]) * (sum - yi);
    ax[static_cast<std::size_t>(i)] = sum;
    value[0] += z * z / static_cast<double>(m);
    entries([&](std::size_t j, double v) {
      aty[j] += v * yi;
      gradient[j] += 2 * z / static_cast<double>(m) * v;
    });
  }

  const cuda::stream s;
  const cuda::owned<A> a(s, tl::csr_view<A>(m, n, row_ptr, columns, values));
  const cuda::owned<X> xs(s, x);
  const cuda::owned<Y> ys(s, y), masks(s, mask);
  // values and columns
  bench b(name, static_cast<double>(nnz) * 8, s);
  const double limit = 4 * std::sqrt(static_cast<double>(m)) * 0x1p-24;
  support::counted_rows no_counts;
  const support::notes_counts noted{&no_counts};
  cuda::pinned<X> of_columns;
  cuda::pinned<Y> of_rows;
  cuda::pinned<tl::scalar<float>> one;
  {
    on_device<decltype(product), A, X> program(s, noted);
    tl::copy(program(*a, *xs), of_rows, s);
    s.wait();
    b.check("fwd", error_of(ax, of_rows->data()), limit);
    b.time("fwd", 1, [&] { program(*a, *xs); });
  }
  {
    on_device<decltype(transposed), A, Y> program(s, noted);
    tl::copy(program(*a, *ys), of_columns, s);
    s.wait();
    b.check("bwd", error_of(aty, of_columns->data()), limit);
    b.time("bwd", 1, [&] { program(*a, *ys); });
  }
  constexpr auto step = tl::value_and_grad<1>(loss);
  const auto check_step = [&](const char* phase, const auto& result) {
    tl::copy(std::get<0>(result), one, s);
    tl::copy(std::get<1>(result), of_columns, s);
    s.wait();
    b.check(phase, std::max(error_of(value, one->data()), error_of(gradient, of_columns->data())), limit);
  };
  {
    on_device<std::remove_const_t<decltype(step)>, A, X, Y, Y> program(s, noted);
    check_step("step", program(*a, *xs, *ys, *masks));
    b.time("step", 2, [&] { program(*a, *xs, *ys, *masks); });
    auto loaded = program.load(*a);
    check_step("step_loaded", loaded(*xs, *ys, *masks));
    b.time("step_loaded", 2, [&] { loaded(*xs, *ys, *masks); });
  }
  return b.right;
}

// Some columns, and some entries, are compared.
template <spmm_row R> bool run_matrices(const char* name) {
  constexpr tl::extent_t m = R.m, n = R.n, nnz = R.m * R.per_row, k = R.k, compared = 2, every = 101;
  using A = tl::csr<float, m, n, nnz>;
  using X = tl::tensor<float, n, k>;
  using Y = tl::tensor<float, m, k>;
  using V = tl::tensor<float, nnz>;
  tl::owned<X> x;
  tl::owned<Y> y;
  pattern of_a(R.m, R.n, R.per_row);
  for (std::int64_t j = 0; j < x->size(); ++j) x->data()[j] = unit(static_cast<std::uint64_t>(j + 11 * nnz));
  for (std::int64_t i = 0; i < y->size(); ++i) y->data()[i] = unit(static_cast<std::uint64_t>(i + 13 * nnz));

  const auto at = [](const auto& t, std::int64_t i, std::int64_t c) {
    return static_cast<double>(t->data()[i * k + c]);
  };
  std::vector<double> ax(static_cast<std::size_t>(m * compared)), aty(static_cast<std::size_t>(n * compared)),
      some;
  for (std::int64_t e = 0; e < nnz; ++e) {
    const std::int64_t i = e / R.per_row, j = of_a.columns[static_cast<std::size_t>(e)];
    const auto v = static_cast<double>(of_a.values[static_cast<std::size_t>(e)]);
    for (std::int64_t c = 0; c < compared; ++c) {
      ax[static_cast<std::size_t>(i * compared + c)] += v * at(x, j, c);
      aty[static_cast<std::size_t>(j * compared + c)] += v * at(y, i, c);
    }
    if (e % every != 0) continue;
    some.push_back(0);
    for (std::int64_t c = 0; c < k; ++c) some.back() += at(y, i, c) * at(x, j, c);
  }
  const auto columns_of = [](const auto& t, std::int64_t rows) {
    std::vector<float> r;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t c = 0; c < compared; ++c) r.push_back(t->data()[i * k + c]);
    return r;
  };

  const cuda::stream s;
  const cuda::owned<A> a(s, tl::csr_view<A>(m, n, of_a.row_ptr, of_a.columns, of_a.values));
  const cuda::owned<X> xs(s, x);
  const cuda::owned<Y> ys(s, y);
  bench b(name, static_cast<double>(nnz) * 8, s);
  const double limit = 4 * std::sqrt(static_cast<double>(m)) * 0x1p-24;
  support::counted_rows no_counts;
  const support::notes_counts noted{&no_counts};
  cuda::pinned<X> of_columns;
  cuda::pinned<Y> of_rows;
  cuda::pinned<V> of_entries;
  for (const bool own : {false, true}) {
    const cuda::options may{.own_sparse = own};
    {
      on_device<decltype(product), A, X> program(s, noted, may);
      tl::copy(program(*a, *xs), of_rows, s);
      s.wait();
      b.check("fwd", error_of(ax, columns_of(of_rows, m).data()), limit);
      b.time("fwd", 1, [&] { program(*a, *xs); }, own);
    }
    {
      on_device<decltype(transposed), A, Y> program(s, noted, may);
      tl::copy(program(*a, *ys), of_columns, s);
      s.wait();
      b.check("bwd", error_of(aty, columns_of(of_columns, n).data()), limit);
      b.time("bwd", 1, [&] { program(*a, *ys); }, own);
    }
    {
      on_device<decltype(samples), A, X, Y> program(s, noted, may);
      tl::copy(program(*a, *xs, *ys), of_entries, s);
      s.wait();
      std::vector<float> got;
      for (std::int64_t e = 0; e < nnz; e += every) got.push_back(of_entries->data()[e]);
      b.check("values", error_of(some, got.data()), limit);
      b.time("values", 1, [&] { program(*a, *xs, *ys); }, own);
    }
  }
  return b.right;
}
template <spmm_row R> std::vector<std::string> kernels_of_matrices() {
  using A = tl::csr<float, R.m, R.n, R.m * R.per_row>;
  using X = tl::tensor<float, R.n, R.k>;
  using Y = tl::tensor<float, R.m, R.k>;
  std::vector<std::string> all = cuda::program_kernels<decltype(product), cuda::on<A>, cuda::on<X>>();
  for (const auto& more : {cuda::program_kernels<decltype(transposed), cuda::on<A>, cuda::on<Y>>(),
                           cuda::program_kernels<decltype(samples), cuda::on<A>, cuda::on<X>, cuda::on<Y>>()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

template <sparse_row R> std::vector<std::string> kernels() {
  using A = tl::csr<float, R.m, R.n, R.m * R.per_row>;
  using X = tl::tensor<float, R.n>;
  using Y = tl::tensor<float, R.m>;
  constexpr auto step = tl::value_and_grad<1>(loss);
  using S = std::remove_const_t<decltype(step)>;
  std::vector<std::string> all = cuda::program_kernels<decltype(product), cuda::on<A>, cuda::on<X>>();
  for (const auto& more :
       {cuda::program_kernels<decltype(transposed), cuda::on<A>, cuda::on<Y>>(),
        cuda::program_kernels<S, cuda::on<A>, cuda::on<X>, cuda::on<Y>, cuda::on<Y>>(),
        cuda::plan_kernels<tl::detail::planned_for<true, cuda::backend<cuda::kernel_list>, S, cuda::on<A>,
                                                   cuda::on<X>, cuda::on<Y>, cuda::on<Y>>::value>({})})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct row {
  const char* name = nullptr;
  bool (*run)(const char*) = nullptr;
  std::vector<std::string> (*kernels)() = nullptr;
};
// A row of a skewed matrix is left out: its rows have different numbers of entries.
template <sparse_row R> row row_of(const char* name) {
  if constexpr (R.skewed) return {};
  else return {name, run<R>, kernels<R>};
}
const row rows[] = {
#define TAPELESS_SPARSE(name, ...) row_of<sparse_row{__VA_ARGS__}>(name),
#define TAPELESS_SPMM(name, ...) \
  {name, run_matrices<spmm_row{__VA_ARGS__}>, kernels_of_matrices<spmm_row{__VA_ARGS__}>},
    TAPELESS_SPARSE("check-sparse", .m = 150, .n = 60, .per_row = 6)
        TAPELESS_SPMM("check-spmm", .m = 150, .n = 60, .per_row = 6, .k = 8)
#if !defined(GPU_SMALL)
#include "../workloads.def"
#endif
};

void print_limit() {
#if !defined(GPU_SMALL)
  const cuda::stream& s = cuda::stream::common();
  const std::size_t bytes = std::size_t{1} << 30;
  const cuda::device_memory from(bytes, s.get(), "limit"), to(bytes, s.get(), "limit");
  const times t = timed(
      s.get(), [&](cudaStream_t q) { cuda::copy_bytes(to.data(), from.data(), bytes, q, "limit"); }, 20, 3);
  line("limit").put("limit", "copy_GBs").put("value", 2 * static_cast<double>(bytes) / t.median_us / 1e3);
#endif
}

} // namespace

int main(int argc, char** argv) {
  for (const row& r : rows)
    if (r.name != nullptr) support::bound_programs().push_back(r.kernels);
  if (gpu::only_writes_kernels()) return 0;
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const row& r : rows)
      if (r.name != nullptr) std::puts(r.name);
    return 0;
  }
  gpu::need_device("sparse");
  bool right = true;
  try {
    print_limit();
    for (int i = 1; i < argc; ++i)
      for (const row& r : rows)
        if (r.name != nullptr && std::strcmp(r.name, argv[i]) == 0) right = r.run(r.name) && right;
  } catch (const std::exception& e) {
    line("error").put("error", e.what());
    return 1;
  }
  return right ? 0 : 1;
}
