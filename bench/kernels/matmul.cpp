// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// bench_matmul [--threads N] [--double | --bf16] [--blas LIBRARY]... [MxNxK[t|T|tT]]...
// matmul on each shape of a table
//
// MxNxK: (M, K) times (K, N); t: the first operand is stored transposed, T: the second. LIBRARY is a shared library with
// the C interface of BLAS (cblas_sgemm, cblas_dgemm); several may be named. JSON lines: the limit, and for each shape
// and peer {"matmul","peer","threads","min_ms","share"}, share of the FMA peak. A peer is timed only where its result
// is ours. Small products of the table are those of a program that knows their extents. --bf16: a further peer is our
// product of the same operands, rounded to bf16; its share may exceed 1.

#include <tapeless/cpu/matmul/matmul.hpp>
#include <tapeless/cpu/matmul/bf16.hpp>
#include <tapeless/cpu/matmul/small.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

#include "contest.hpp"
#include "workloads/limits.hpp"

namespace {

namespace cpu = tapeless::cpu;
using cpu::index_t;

struct shape {
  index_t m, n, k;
  bool ta = false, tb = false;
  constexpr bool operator==(const shape&) const = default;
  constexpr tapeless::matmul_extents extents() const {
    return {.batch = 1, .m = m, .n = n, .k = k, .ta = ta, .tb = tb};
  }
  std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + (ta ? "t" : "") +
           (tb ? "T" : "");
  }
};
constexpr shape table[] = {
    // squares
    {8, 8, 8},
    {16, 16, 16},
    {32, 32, 32},
    {48, 48, 48},
    {64, 64, 64},
    {64, 64, 64, true},
    {64, 64, 64, false, true},
    {96, 96, 96},
    {128, 128, 128},
    {192, 192, 192},
    {256, 256, 256},
    {384, 384, 384},
    {512, 512, 512},
    {512, 512, 512, true},
    {512, 512, 512, false, true},
    {768, 768, 768},
    {1024, 1024, 1024},
    {1536, 1536, 1536},
    {2048, 2048, 2048},
    {2048, 2048, 2048, true},
    {2048, 2048, 2048, false, true},
    {4096, 4096, 4096},
    // layers of a perceptron: forward, gradient of the data, gradient of the weights
    {4096, 256, 63},
    {4096, 63, 256, false, true},
    {63, 256, 4096, true},
    {4096, 256, 256},
    {4096, 256, 256, false, true},
    {256, 256, 4096, true},
    {4096, 3, 256},
    {4096, 256, 3, false, true},
    {256, 3, 4096, true},
    // skinny
    {100000, 16, 64},
    {64, 16, 100000, true},
    {16, 100000, 64},
    {2048, 8, 2048},
    {8, 2048, 2048},
    // shallow
    {1000, 1000, 4},
    {4096, 256, 16},
    {4096, 512, 64},
    // few rows
    {2, 256, 256},
    {4, 256, 256, false, true},
    {8, 256, 256},
    {8, 1024, 1024},
    {16, 300, 300},
    {16, 1024, 1024, false, true},
    {32, 1024, 1024},
    // one row
    {1, 64, 64},
    {1, 64, 64, false, true},
    {1, 256, 256},
    {1, 1024, 1024},
    {1, 1024, 1024, false, true},
    {1, 4096, 4096},
    {1, 4096, 4096, false, true},
    {64, 64, 1},
};

// Order and transpositions have these values in every C interface of BLAS.
enum : int { row_major = 101, as_it_is = 111, transposed = 112 };
template <class T> using gemm_type = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int,
                                              T, T*, int);

template <class T> struct blas {
  std::string name;
  gemm_type<T> gemm = nullptr;
};
template <class T> blas<T> open(const char* path, int threads) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "bench_matmul: %s\n", dlerror());
    return {};
  }
  for (const char* setter : {"openblas_set_num_threads", "MKL_Set_Num_Threads"})
    if (void* const f = dlsym(library, setter)) reinterpret_cast<void (*)(int)>(f)(threads);
  const char* const file = std::strrchr(path, '/');
  const std::string name = file ? file + 1 : path;
  return {name.substr(0, name.find('.')),
          reinterpret_cast<gemm_type<T>>(dlsym(library, sizeof(T) == 4 ? "cblas_sgemm" : "cblas_dgemm"))};
}

// The product of operands rounded to bf16.
struct bf16_product {
  tapeless::matmul_extents e;
  bench::aligned_vector<tapeless::bf16> a, b, scratch;
  bench::aligned_vector<float> c;

  template <class T>
  bf16_product(const tapeless::matmul_extents& extents, const bench::aligned_vector<T>& x,
               const bench::aligned_vector<T>& y, int members)
      : e(extents),
        scratch(static_cast<std::size_t>(cpu::matmul_bf16_scratch(e) * members)),
        c(static_cast<std::size_t>(e.m * e.n)) {
    for (const T v : x) a.push_back(tapeless::bf16(static_cast<float>(v)));
    for (const T v : y) b.push_back(tapeless::bf16(static_cast<float>(v)));
  }
  void operator()(const bench::team_type& team) {
    cpu::matmul_bf16(team, e, a.data(), b.data(), c.data(), scratch.data());
  }
};

// The kernel of a small product of the table; nullptr: it is none.
template <class T> using small_kernel = void (*)(const bench::team_type&, const tapeless::matmul_extents&,
                                                 const T*, const T*, T*, const T*);
template <class T, std::size_t I = 0> small_kernel<T> small_kernel_of(const shape& s) {
  if constexpr (I == std::size(table)) return nullptr;
  else {
    constexpr cpu::small_product S = cpu::small_product_of(table[I].extents(), sizeof(T));
    if constexpr (S.m > 0)
      if (s == table[I]) return cpu::matmul_small<S, T, bench::team_type>;
    return small_kernel_of<T, I + 1>(s);
  }
}

template <class T> bool run(const shape& s, const bench::team_type& team, double peak,
                            const std::vector<blas<T>>& peers, bool with_bf16) {
  const auto a = bench::random_values<T>(s.m * s.k, 1), b = bench::random_values<T>(s.k * s.n, 2);
  const tapeless::matmul_extents e = s.extents();
  const auto size = [](index_t n) { return static_cast<std::size_t>(n); };
  bench::aligned_vector<T> ours(size(s.m * s.n)), theirs(ours),
      scratch(size(cpu::matmul_scratch<T>(e) * team.size())), shared(size(cpu::matmul_shared<T>(e)));
  std::vector<bench::contestant> all{{"tapeless", [&, small = small_kernel_of<T>(s)] {
                                        if (small) small(team, e, a.data(), b.data(), ours.data(), nullptr);
                                        else
                                          cpu::matmul<T>(team, e, a.data(), b.data(), ours.data(),
                                                         scratch.data(), shared.data());
                                      }}};
  all[0].run();
  bool right = true;
  for (const blas<T>& p : peers) {
    const auto call = [&, gemm = p.gemm] {
      gemm(row_major, s.ta ? transposed : as_it_is, s.tb ? transposed : as_it_is, static_cast<int>(s.m),
           static_cast<int>(s.n), static_cast<int>(s.k), T(1), a.data(), static_cast<int>(s.ta ? s.m : s.k),
           b.data(), static_cast<int>(s.tb ? s.k : s.n), T(0), theirs.data(), static_cast<int>(s.n));
    };
    call();
    double error = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double d = std::abs(static_cast<double>(ours[i] - theirs[i]));
      error = d <= error ? error : d; // a NaN stays
    }
    if (error <= 1e-6 * static_cast<double>(s.k)) all.push_back({p.name, call});
    else {
      std::fprintf(stderr, "bench_matmul: %s %s: error %g\n", s.name().c_str(), p.name.c_str(), error);
      right = false;
    }
  }
  bf16_product narrow(e, a, b, team.size());
  if (with_bf16) {
    narrow(team);
    double error = 0;
    for (std::size_t i = 0; i < ours.size(); ++i)
      error = std::max(error, std::abs(static_cast<double>(ours[i] - narrow.c[i])));
    if (error <= 0x1p-7 * static_cast<double>(s.k)) all.push_back({"bf16", [&] { narrow(team); }});
    else right = false;
  }
  bench::time(all);
  for (const bench::contestant& c : all)
    std::printf("{\"matmul\":\"%s\",\"peer\":\"%s\",\"threads\":%d,\"min_ms\":%.5g,\"share\":%.3f}\n",
                s.name().c_str(), c.name.c_str(), team.size(), c.ms,
                2e-6 * static_cast<double>(s.m * s.n * s.k) / c.ms / peak);
  std::fflush(stdout);
  return right;
}

template <class T> int run_all(const std::vector<shape>& shapes, int threads,
                               const std::vector<const char*>& libraries, bool with_bf16) {
  std::vector<blas<T>> peers;
  for (const char* path : libraries)
    if (peers.push_back(open<T>(path, threads)); !peers.back().gemm) return 2;
  const double peak = bench::fma_gflops(threads) * sizeof(float) / sizeof(T);
  std::printf("{\"limit\":\"fma_gflops\",\"threads\":%d,\"value\":%.5g}\n", threads, peak);
  const bench::team_type team(threads);
  bool right = true;
  for (const shape& s : shapes) right = run<T>(s, team, peak, peers, with_bf16) && right;
  return right ? 0 : 1;
}

bool parse(std::string_view word, shape& s) {
  index_t* const to[] = {&s.m, &s.n, &s.k};
  const char *at = word.data(), *const end = at + word.size();
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != 'x')) return false;
    const auto r = std::from_chars(at, end, *to[i]);
    if (r.ec != std::errc{} || *to[i] < 1) return false;
    at = r.ptr;
  }
  if (at != end && *at == 't') s.ta = true, ++at;
  if (at != end && *at == 'T') s.tb = true, ++at;
  return at == end;
}

} // namespace

int main(int argc, char** argv) {
  int threads = 1;
  bool wide = false, with_bf16 = false;
  std::vector<const char*> libraries;
  std::vector<shape> shapes;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    shape s{};
    if (word == "--double") wide = true;
    else if (word == "--bf16") with_bf16 = true;
    else if (word == "--threads" && i + 1 < argc) threads = std::max(1, std::atoi(argv[++i]));
    else if (word == "--blas" && i + 1 < argc) libraries.push_back(argv[++i]);
    else if (parse(word, s)) shapes.push_back(s);
    else {
      std::fprintf(
          stderr,
          "usage: bench_matmul [--threads N] [--double | --bf16] [--blas LIBRARY]... [MxNxK[t|T|tT]]...\nnot understood: %s\n",
          argv[i]);
      return 2;
    }
  }
  if (shapes.empty()) shapes.assign(std::begin(table), std::end(table));
  return wide ? run_all<double>(shapes, threads, libraries, false)
              : run_all<float>(shapes, threads, libraries, with_bf16);
}
