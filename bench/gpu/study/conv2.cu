// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Own convolution kernels beside cuDNN and cublasLt; steps as graphs.   conv2 [A] [B]
#define GPU_THROWS
#include "common.hpp"
#include "conv_own.hpp"
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#ifndef EMULATED
#include "cudnn.hpp"
#include "lt.hpp"
#endif
struct shape { const char* name; int n, c, h, w, k, r, stride, pad, dil, groups; double cudnn[3]; int p = 0, q = 0; };
static std::vector<shape> shapes = {
    {"conv-square-n1", 1, 64, 160, 120, 64, 3, 1, 1, 1, 1, {62.6, 69.2, 43.0}},
    {"distill-a 0", 1, 64, 160, 120, 14, 1, 1, 0, 1, 1, {7.78, 9.32, 69.5}},
    {"distill-a 1", 1, 14, 160, 120, 15, 3, 1, 1, 1, 1, {11.8, 14.0, 35.2}},
    {"distill-a 2", 1, 15, 160, 120, 64, 1, 1, 0, 1, 1, {6.68, 8.51, 70.0}},
    {"conv-small-s1", 32, 32, 32, 32, 32, 3, 1, 1, 1, 1, {25.9, 31.0, 54.3}},
    {"conv-tiny-s1", 32, 32, 3, 3, 32, 3, 1, 0, 1, 1, {12.8, 8.88, 5.71}},
    {"conv-tiny-7", 32, 64, 7, 7, 64, 3, 1, 1, 1, 1, {16.5, 16.6, 12.6}},
    {"conv-masked", 128, 8, 28, 28, 32, 3, 1, 0, 1, 1, {24.1, 39.8, 58.1}},
    {"conv-small-s2", 32, 32, 32, 32, 32, 3, 2, 1, 1, 1, {11.1, 31.0, 147.6}},
    {"conv-small-d2", 32, 32, 32, 32, 32, 3, 1, 2, 2, 1, {25.7, 30.8, 228.6}},
    {"conv-small-g4", 32, 32, 32, 32, 32, 3, 1, 1, 1, 4, {35.3, 81.1, 83.9}},
    {"conv-small-dw", 32, 32, 32, 32, 32, 3, 1, 1, 1, 32, {7.19, 15.0, 23.0}},
    {"distill-b 0", 1, 256, 160, 120, 1, 1, 1, 0, 1, 1, {19.3, 14.0, 69.6}},
    {"distill-b 1", 1, 1, 160, 120, 128, 1, 1, 0, 1, 1, {9.22, 12.5, 69.4}},
    {"distill-b-base", 1, 256, 160, 120, 128, 1, 1, 0, 1, 1, {51.9, 69.4, 345.6}},
    {"conv-square-n8", 8, 64, 160, 120, 64, 3, 1, 1, 1, 1, {355.3, 483.9, 437.4}},
};
static const char* const pass_name[] = {"fprop", "dgrad", "wgrad"};
static u64 size_of(const shape& e, int which) { // x, w, y
  const auto m = [](auto... v) { return (static_cast<u64>(v) * ...); };
  return which == 0 ? m(e.n, e.c, e.h, e.w) : which == 1 ? m(e.k, e.c / e.groups, e.r, e.r) : m(e.n, e.k, e.p, e.q);
}
// ---- references in double
struct ext { int n, c, h, w, k, r, p, q, stride, pad, dil, groups; };
__host__ __device__ inline u64 at(int a, int b, int h, int w, int B, int H, int W) { return ((static_cast<u64>(a) * B + b) * H + h) * W + w; }
__global__ void ref_fprop(ext e, const float* x, const float* w, double* y) {
  const u64 all = static_cast<u64>(e.n) * e.k * e.p * e.q;
  const int cg = e.c / e.groups, kg = e.k / e.groups;
  for (u64 t = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; t < all; t += static_cast<u64>(gridDim.x) * blockDim.x) {
    const int q = static_cast<int>(t % e.q), p = static_cast<int>(t / e.q % e.p), k = static_cast<int>(t / e.q / e.p % e.k), n = static_cast<int>(t / e.q / e.p / e.k);
    double s = 0;
    for (int c = 0; c < cg; ++c)
      for (int r = 0; r < e.r; ++r)
        for (int v = 0; v < e.r; ++v) {
          const int h = p * e.stride - e.pad + r * e.dil, u = q * e.stride - e.pad + v * e.dil;
          if (h < 0 || h >= e.h || u < 0 || u >= e.w) continue;
          s += static_cast<double>(x[at(n, k / kg * cg + c, h, u, e.c, e.h, e.w)]) * static_cast<double>(w[at(k, c, r, v, cg, e.r, e.r)]);
        }
    y[at(n, k, p, q, e.k, e.p, e.q)] = s;
  }
}
__global__ void ref_dgrad(ext e, const float* dy, const float* w, double* dx) {
  const u64 all = static_cast<u64>(e.n) * e.c * e.h * e.w;
  const int cg = e.c / e.groups, kg = e.k / e.groups;
  for (u64 t = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; t < all; t += static_cast<u64>(gridDim.x) * blockDim.x) {
    const int u = static_cast<int>(t % e.w), h = static_cast<int>(t / e.w % e.h), c = static_cast<int>(t / e.w / e.h % e.c), n = static_cast<int>(t / e.w / e.h / e.c);
    double s = 0;
    for (int k = c / cg * kg; k < (c / cg + 1) * kg; ++k)
      for (int r = 0; r < e.r; ++r)
        for (int v = 0; v < e.r; ++v) {
          const int a = h + e.pad - r * e.dil, b = u + e.pad - v * e.dil;
          if (a < 0 || b < 0 || a % e.stride != 0 || b % e.stride != 0 || a / e.stride >= e.p || b / e.stride >= e.q) continue;
          s += static_cast<double>(dy[at(n, k, a / e.stride, b / e.stride, e.k, e.p, e.q)]) * static_cast<double>(w[at(k, c % cg, r, v, cg, e.r, e.r)]);
        }
    dx[at(n, c, h, u, e.c, e.h, e.w)] = s;
  }
}
__device__ inline double block_sum(double s) {
  SHARED double of_warp[8];
  for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i) s += of_warp[i];
  __syncthreads();
  return s;
}
__global__ void __launch_bounds__(256) ref_wgrad(ext e, const float* x, const float* dy, double* dw) { // a block an element
  const int cg = e.c / e.groups, kg = e.k / e.groups, b = static_cast<int>(blockIdx.x);
  const int v = b % e.r, r = b / e.r % e.r, c = b / e.r / e.r % cg, k = b / e.r / e.r / cg;
  const int all = e.n * e.p * e.q;
  double s = 0;
  for (int t = static_cast<int>(threadIdx.x); t < all; t += 256) {
    const int q = t % e.q, p = t / e.q % e.p, n = t / e.q / e.p;
    const int h = p * e.stride - e.pad + r * e.dil, u = q * e.stride - e.pad + v * e.dil;
    if (h < 0 || h >= e.h || u < 0 || u >= e.w) continue;
    s += static_cast<double>(x[at(n, k / kg * cg + c, h, u, e.c, e.h, e.w)]) * static_cast<double>(dy[at(n, k, p, q, e.k, e.p, e.q)]);
  }
  s = block_sum(s);
  if (threadIdx.x == 0) dw[at(k, c, r, v, cg, e.r, e.r)] = s;
}
__global__ void __launch_bounds__(1024) bias_gradient(const float* dy, float* db, int pixels) { // one image, a block a channel
  SHARED float of_warp[32];
  float s = 0;
  wait_for_last();
  for (int i = static_cast<int>(threadIdx.x); i < pixels; i += 1024) s += dy[static_cast<int>(blockIdx.x) * pixels + i];
  for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = of_warp[threadIdx.x];
    for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (threadIdx.x == 0) db[blockIdx.x] = s;
  }
}
__global__ void __launch_bounds__(256) add_bias(float* y, const float* b, int channels, int pixels) {
  wait_for_last();
  for (int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x); i < channels * pixels; i += static_cast<int>(gridDim.x) * 256) y[i] += b[i / pixels % channels];
}

static cudaStream_t stream, side;
static float *X, *W, *Y, *O, *partial;
static double* ref;
static constexpr u64 partial_floats = 64u << 20;
static int sms = 132;
// what can be put into a step: main(stream, programmatic, first, second, out). wgrad: out has `splits` parts
struct own {
  std::string way;
  int splits = 0;
  u64 outputs = 0;
  std::function<void(cudaStream_t, bool, const float*, const float*, float*)> main;
  double us = 1e30;
};
static std::map<std::string, own> best; // by "workload pass"

static void measure(const shape& e, int pass, const own& o) {
  const u64 n = size_of(e, pass == 0 ? 2 : pass == 1 ? 0 : 1);
  const float *a = pass == 1 ? Y : X, *b = pass == 2 ? Y : W;
  const auto f = [&](bool pdl) {
    return [&, pdl](cudaStream_t s) {
      if (o.splits > 1) {
        o.main(s, pdl, a, b, partial);
        sum(s, pdl, {{partial, O, static_cast<int>(n), o.splits}});
      } else o.main(s, pdl, a, b, O);
    };
  };
  try {
    GPU_OK(cudaMemsetAsync(O, 0xff, n * 4, stream));
    GPU_OK(cudaMemsetAsync(partial, 0xff, partial_floats < n * static_cast<u64>(o.splits) + 1 ? partial_floats : (n * static_cast<u64>(o.splits) + 1) * 4, stream));
    f(false)(stream);
    GPU_OK(cudaGetLastError());
    const double error = norm_error(O, ref, n);
    std::vector<float> u(n), v(n);
    GPU_OK(cudaMemcpy(u.data(), O, n * 4, cudaMemcpyDeviceToHost));
    GPU_OK(cudaMemsetAsync(O, 0xff, n * 4, stream));
    f(true)(stream);
    f(true)(stream);
    GPU_OK(cudaDeviceSynchronize());
    GPU_OK(cudaMemcpy(v.data(), O, n * 4, cudaMemcpyDeviceToHost));
    const bool same = std::memcmp(u.data(), v.data(), n * 4) == 0;
    const graph_times plain = graphed(stream, f(false)), pdl = graphed(stream, f(true));
    const double flops = 2.0 * static_cast<double>(size_of(e, 2)) * e.c / e.groups * e.r * e.r, bytes = 4.0 * static_cast<double>(size_of(e, 0) + size_of(e, 1) + size_of(e, 2));
    line("own").put("workload", e.name).put("pass", pass_name[pass]).put("way", o.way).put("splits", o.splits).put("right", error < 3e-6).put("error", error).put("same_twice", same)
        .put("us", plain.in_chain).put("us_programmatic", pdl.in_chain).put("us_alone", plain.each).put("us_alone_programmatic", pdl.each).put("cudnn_us", e.cudnn[pass])
        .put("flop_floor_us", flops / 67e6).put("byte_floor_us", bytes / 4.2e6);
    own& k = best[std::string(e.name) + " " + pass_name[pass]];
    const double us = plain.in_chain;
    if (error < 3e-6 && same && us < k.us) k = o, k.us = us, k.outputs = n;
  } catch (const std::exception& x) {
    line("own failed").put("workload", e.name).put("pass", pass_name[pass]).put("way", o.way).put("error", x.what());
    cudaGetLastError();
  }
}
template <int TA, int TB, int MA, int MB, int SI, int BP, int STAGES> void one_by_one(const shape& e, int blocks) {
  nt_args g{};
  g.A = e.k, g.B = e.c, g.P = e.p * e.q, g.images = e.n, g.tiles_a = up(e.k, TA), g.tiles_b = up(e.c, TB), g.quads = g.P % 4 == 0;
  const int tiles = g.tiles_a * g.tiles_b, chunks = up(g.P, BP) * e.n;
  g.splits = std::max(1, std::min({blocks / tiles, chunks, static_cast<int>(partial_floats / size_of(e, 1))}));
  own o;
  char b[96];
  std::snprintf(b, sizeof b, "tile %dx%d a thread %dx%d groups %d pixels %d stages %d, %d blocks", TA, TB, MA, MB, SI, BP, STAGES, tiles * g.splits);
  o.way = b, o.splits = g.splits;
  o.main = [g, tiles](cudaStream_t s, bool pdl, const float* x, const float* dy, float* out) {
    nt_args h = g;
    h.a = dy, h.b = x, h.out = out;
    launched(pdl, wgrad_1x1<TA, TB, MA, MB, SI, BP, STAGES>, tiles * h.splits, TA / MA * (TB / MB) * SI, wgrad_1x1_bytes<TA, TB, MA, MB, SI, BP, STAGES>(), s, h);
  };
  measure(e, 2, o);
}
template <int TK, int TC, int MK, int SI, int ST, int DIL, int LEAST = 1> void three_by_three(const shape& e, int RB, int QB, int blocks) {
  w3_args g{};
  g.images = e.n, g.C = e.c, g.H = e.h, g.W = e.w, g.K = e.k, g.P = e.p, g.Q = e.q, g.pad = e.pad, g.groups = e.groups;
  g.RB = std::min(RB, e.p), g.QB = std::min(QB, up(e.q, 4) * 4);
  const int bytes = wgrad_3x3_layout<TK, TC, MK, SI, ST, DIL>(g);
  const int tiles = g.tiles_k * g.tiles_c * g.groups, all = e.n * up(e.q, g.QB) * up(e.p, g.RB);
  if (bytes > 227 << 10) {
    line("own failed").put("workload", e.name).put("bytes", bytes).put("error", "shared memory");
    return;
  }
  g.splits = std::max(1, std::min({blocks / tiles, all, static_cast<int>(partial_floats / size_of(e, 1))}));
  own o;
  char b[128];
  std::snprintf(b, sizeof b, "tile %dx%dx9 a thread %dx9 groups %d, %d x %d pixels, %d blocks of %d, %d kB", TK, TC, MK, SI, g.RB, g.QB, tiles * g.splits, TK / MK * TC * SI, bytes >> 10);
  o.way = b, o.splits = g.splits;
  o.main = [g, tiles, bytes](cudaStream_t s, bool pdl, const float* x, const float* dy, float* out) {
    w3_args h = g;
    h.x = x, h.dy = dy, h.out = out;
    launched(pdl, wgrad_3x3<TK, TC, MK, SI, ST, DIL, LEAST>, tiles * h.splits, TK / MK * TC * SI, bytes, s, h);
  };
  measure(e, 2, o);
}
template <int KT, int PX, int CS, int LP> void point(const shape& e, int pass) {
  pw_args g{};
  g.I = pass == 0 ? e.c : e.k, g.O = pass == 0 ? e.k : e.c, g.P = e.p * e.q, g.images = e.n, g.wo = pass == 0 ? e.c : 1, g.wi = pass == 0 ? 1 : e.c;
  if (g.P % PX != 0) return;
  g.tiles_o = up(g.O, KT), g.tiles_p = up(g.P, LP * PX);
  own o;
  char b[96];
  std::snprintf(b, sizeof b, "a thread %d channels %d pixels, groups %d, %d blocks of %d", KT, PX, CS, g.tiles_o * g.tiles_p * e.n, CS * LP);
  o.way = b;
  o.main = [g](cudaStream_t s, bool pdl, const float* x, const float* w, float* y) {
    pw_args h = g;
    h.x = x, h.w = w, h.y = y;
    launched(pdl, pointwise<KT, PX, CS, LP>, h.tiles_o * h.tiles_p * h.images, CS * LP, pointwise_bytes<KT, PX, CS, LP>(h.I), s, h);
  };
  measure(e, pass, o);
}
static const float* bias_of_next = nullptr; // for the step
template <int KT, int NK, int SI, int MOST> void direct(const shape& e, int pass, int TH, int TW, int CB) {
  d3_args g{};
  g.I = pass == 0 ? e.c : e.k, g.O = pass == 0 ? e.k : e.c, g.H = e.h, g.W = e.w, g.images = e.n;
  g.wo = pass == 0 ? e.c * 9 : 9, g.wi = pass == 0 ? 9 : e.c * 9, g.flip = pass == 1;
  g.TH = TH, g.TW = TW, g.CB = std::min(CB, up(g.I, SI) * SI);
  const int bytes = direct_3x3_layout<KT, NK, SI>(g), threads = NK * SI * TH * TW / 4, grid = g.images * g.tiles_h * g.tiles_w * g.tiles_o;
  if (bytes > 227 << 10 || threads > MOST || threads % 32 != 0) {
    line("own failed").put("workload", e.name).put("bytes", bytes).put("threads", threads).put("error", "too large");
    return;
  }
  own o;
  char b[128];
  std::snprintf(b, sizeof b, "a thread %d channels 4 pixels, %d x %d pixels, groups %d, %d blocks of %d, %d kB", KT, TH, TW, SI, grid, threads, bytes >> 10);
  o.way = b;
  const bool takes_bias = pass == 0;
  o.main = [=](cudaStream_t s, bool pdl, const float* x, const float* w, float* y) {
    d3_args h = g;
    h.x = x, h.w = w, h.y = y, h.b = takes_bias ? bias_of_next : nullptr;
    launched(pdl, direct_3x3<KT, NK, SI, MOST>, grid, threads, bytes, s, h);
  };
  measure(e, pass, o);
}
static void reference(const shape& e, int pass) {
  const ext x{e.n, e.c, e.h, e.w, e.k, e.r, e.p, e.q, e.stride, e.pad, e.dil, e.groups};
  const int grid = sms * 8;
  if (pass == 0) LAUNCH(ref_fprop, static_cast<unsigned>(grid), 256, 0, stream, x, X, W, ref);
  else if (pass == 1) LAUNCH(ref_dgrad, static_cast<unsigned>(grid), 256, 0, stream, x, Y, W, ref);
  else LAUNCH(ref_wgrad, static_cast<unsigned>(size_of(e, 1)), 256, 0, stream, x, X, Y, ref);
  GPU_OK(cudaGetLastError());
  GPU_OK(cudaDeviceSynchronize());
}
#ifndef EMULATED
static lt_products* lt = nullptr;
static void by_lt(const shape& e, int pass) { // images one by one: n = 1 here
  const int P = e.p * e.q;
  const u64 n = size_of(e, pass == 0 ? 2 : pass == 1 ? 0 : 1);
  const lt_problem p = pass == 0 ? lt_problem{P, e.k, e.c, false, false, P, e.c, P, X, W, O} : pass == 1 ? lt_problem{P, e.c, e.k, false, true, P, e.c, P, Y, W, O} : lt_problem{e.c, e.k, P, true, false, P, P, e.c, X, Y, O};
  double first = 0, best_us = 1e30, error = 0;
  int many = 0;
  std::string what;
  lt->each(p, 8, [&](int k, const std::string& name, auto&& f) {
    GPU_OK(cudaMemsetAsync(O, 0xff, n * 4, stream));
    f(stream);
    const double wrong = norm_error(O, ref, n);
    const double us = graphed(stream, f, 5, 7).in_chain;
    if (k == 0) first = us;
    if (us < best_us && wrong < 1e-5) best_us = us, error = wrong, what = name;
    ++many;
  });
  line("lt").put("workload", e.name).put("pass", pass_name[pass]).put("algorithms", many).put("first_us", first).put("best_us", best_us).put("best", what).put("error", error).put("cudnn_us", e.cudnn[pass]);
}
#else
static void by_lt(const shape&, int) {}
#endif
static const shape& named(const char* name) {
  for (const shape& e : shapes)
    if (std::strcmp(e.name, name) == 0) return e;
  throw std::runtime_error(name);
}

static void stage_a() {
  for (const char* name : {"distill-a 0", "distill-a 2", "distill-b 0", "distill-b 1", "distill-b-base"}) {
    const shape& e = named(name);
    reference(e, 2);
    const int s = sms;
    if (std::strcmp(name, "distill-a 0") == 0) {
      one_by_one<16, 64, 4, 4, 4, 32, 4>(e, s);
      one_by_one<16, 64, 4, 4, 4, 32, 4>(e, 2 * s);
      one_by_one<16, 32, 4, 4, 8, 32, 4>(e, 2 * s);
      one_by_one<16, 64, 2, 4, 2, 64, 3>(e, s);
      one_by_one<16, 64, 4, 4, 8, 128, 2>(e, s + 18);
    } else if (std::strcmp(name, "distill-a 2") == 0) {
      one_by_one<64, 16, 4, 4, 4, 32, 4>(e, s);
      one_by_one<64, 16, 4, 4, 4, 32, 4>(e, 2 * s);
      one_by_one<32, 16, 4, 4, 8, 32, 4>(e, 2 * s);
      one_by_one<64, 16, 4, 4, 8, 128, 2>(e, s + 18);
    } else if (std::strcmp(name, "distill-b 0") == 0) {
      one_by_one<1, 64, 1, 2, 8, 32, 6>(e, 4 * s);
      one_by_one<1, 64, 1, 2, 8, 64, 4>(e, 2 * s);
      one_by_one<1, 256, 1, 8, 8, 32, 3>(e, 2 * s);
    } else if (std::strcmp(name, "distill-b 1") == 0) {
      one_by_one<64, 1, 2, 1, 8, 32, 6>(e, 4 * s);
      one_by_one<64, 1, 2, 1, 8, 64, 4>(e, 2 * s);
      one_by_one<128, 1, 4, 1, 8, 32, 3>(e, 2 * s);
    } else {
      one_by_one<128, 128, 8, 8, 1, 32, 3>(e, s);
      one_by_one<128, 128, 8, 8, 2, 32, 4>(e, s);
      one_by_one<64, 64, 8, 8, 4, 32, 3>(e, 2 * s);
      one_by_one<64, 64, 4, 4, 1, 32, 3>(e, 4 * s);
      one_by_one<64, 64, 8, 8, 2, 32, 4>(e, 3 * s);
      one_by_one<128, 64, 8, 8, 2, 32, 3>(e, 2 * s);
    }
    by_lt(e, 2);
  }
  for (const char* name : {"conv-square-n1", "distill-a 1", "conv-small-s1", "conv-small-s2", "conv-small-d2", "conv-small-g4", "conv-small-dw", "conv-masked", "conv-tiny-7", "conv-tiny-s1", "conv-square-n8"}) {
    const shape& e = named(name);
    reference(e, 2);
    const int s = sms;
    const std::string is = name;
    if (is == "conv-square-n1" || is == "conv-square-n8") {
      three_by_three<64, 16, 8, 2, 1, 1>(e, 2, 60, s);
      three_by_three<64, 16, 8, 2, 1, 1, 2>(e, 2, 40, 2 * s);
      three_by_three<64, 16, 8, 4, 1, 1>(e, 2, 60, s);
      three_by_three<64, 16, 8, 4, 1, 1>(e, 1, 120, s);
      three_by_three<64, 16, 4, 2, 1, 1>(e, 2, 60, s);
      three_by_three<64, 32, 8, 2, 1, 1>(e, 1, 120, s);
      three_by_three<32, 16, 8, 4, 1, 1, 2>(e, 2, 60, 2 * s);
    } else if (is == "distill-a 1") {
      three_by_three<16, 16, 8, 8, 1, 1>(e, 4, 40, s);
      three_by_three<16, 16, 8, 8, 1, 1, 2>(e, 4, 20, 2 * s);
      three_by_three<16, 16, 8, 4, 1, 1>(e, 4, 20, 2 * s);
      three_by_three<16, 16, 4, 8, 1, 1>(e, 4, 40, s);
    } else if (is == "conv-small-s1") {
      three_by_three<32, 32, 8, 2, 1, 1, 2>(e, 4, 32, 2 * s);
      three_by_three<32, 32, 8, 4, 1, 1>(e, 4, 32, s);
      three_by_three<32, 16, 8, 4, 1, 1, 2>(e, 4, 32, 2 * s);
      three_by_three<32, 8, 8, 8, 1, 1, 2>(e, 4, 32, 2 * s);
    } else if (is == "conv-small-s2") {
      three_by_three<32, 32, 8, 2, 2, 1, 1>(e, 2, 16, 2 * s);
      three_by_three<32, 16, 8, 4, 2, 1, 1>(e, 4, 16, 2 * s);
      three_by_three<32, 16, 8, 2, 2, 1, 1>(e, 4, 16, 2 * s);
    } else if (is == "conv-small-d2") {
      three_by_three<32, 32, 8, 2, 1, 2, 2>(e, 4, 32, 2 * s);
      three_by_three<32, 16, 8, 4, 1, 2, 2>(e, 4, 32, 2 * s);
    } else if (is == "conv-small-g4") {
      three_by_three<8, 8, 8, 16, 1, 1, 2>(e, 8, 32, 4 * s);
      three_by_three<8, 8, 4, 8, 1, 1, 2>(e, 8, 32, 4 * s);
      three_by_three<8, 8, 8, 32, 1, 1, 2>(e, 16, 32, 2 * s);
    } else if (is == "conv-small-dw") {
      three_by_three<1, 1, 1, 128, 1, 1, 2>(e, 32, 32, 4 * s);
      three_by_three<1, 1, 1, 128, 1, 1, 2>(e, 32, 32, 8 * s);
    } else if (is == "conv-masked") {
      three_by_three<32, 8, 8, 8, 1, 1, 2>(e, 4, 28, 2 * s);
      three_by_three<32, 8, 8, 8, 1, 1, 2>(e, 26, 28, s);
      three_by_three<32, 8, 4, 4, 1, 1, 2>(e, 4, 28, 2 * s);
    } else {
      three_by_three<64, 16, 8, 2, 1, 1>(e, 7, 8, s);
      three_by_three<64, 16, 4, 2, 1, 1>(e, 7, 8, s);
      three_by_three<32, 16, 8, 2, 1, 1, 2>(e, 7, 8, 2 * s);
    }
  }
}

static void stage_b() {
  for (const char* name : {"distill-a 0", "distill-a 2", "distill-b 0", "distill-b 1", "distill-b-base"})
    for (int pass = 0; pass < 2; ++pass) {
      const shape& e = named(name);
      reference(e, pass);
      const int O_ = pass == 0 ? e.k : e.c, I = pass == 0 ? e.c : e.k;
      if (O_ == 1) {
        point<1, 4, 8, 32>(e, pass);
        point<1, 4, 16, 32>(e, pass);
        point<1, 1, 8, 32>(e, pass);
      } else if (I == 1) {
        point<16, 4, 1, 64>(e, pass);
        point<8, 4, 1, 128>(e, pass);
        point<4, 4, 1, 128>(e, pass);
      } else if (O_ <= 16) {
        point<16, 1, 4, 64>(e, pass);
        point<16, 2, 8, 32>(e, pass);
        point<16, 4, 8, 32>(e, pass);
        point<8, 4, 8, 32>(e, pass);
      } else {
        point<16, 4, 1, 64>(e, pass);
        point<16, 2, 1, 128>(e, pass);
        point<16, 1, 1, 128>(e, pass);
        point<8, 4, 1, 128>(e, pass);
        point<16, 4, 2, 64>(e, pass);
        point<32, 4, 2, 64>(e, pass);
      }
      by_lt(e, pass);
    }
  for (int pass = 0; pass < 2; ++pass) {
    const shape& e = named("distill-a 1");
    reference(e, pass);
    direct<8, 2, 4, 512>(e, pass, 4, 40, 16);
    direct<16, 1, 8, 512>(e, pass, 4, 40, 16);
    direct<4, 4, 2, 512>(e, pass, 4, 40, 16);
    direct<8, 2, 4, 512>(e, pass, 4, 24, 16);
    const shape& f = named("conv-square-n1");
    reference(f, pass);
    direct<8, 8, 2, 640>(f, pass, 4, 40, 8);
    direct<16, 4, 4, 640>(f, pass, 4, 40, 8);
    direct<16, 4, 2, 320>(f, pass, 4, 40, 8);
    direct<8, 4, 2, 320>(f, pass, 4, 40, 8);
    direct<8, 8, 1, 320>(f, pass, 4, 40, 8);
    const shape& k = named("conv-small-s1");
    reference(k, pass);
    direct<8, 4, 2, 256>(k, pass, 4, 32, 8);
    direct<8, 4, 1, 256>(k, pass, 8, 32, 8);
    direct<16, 2, 2, 256>(k, pass, 8, 32, 8);
  }
}

#ifndef EMULATED
namespace tc = tapeless::cuda;
static cudnnHandle_t dnn = nullptr;
static void* dnn_workspace = nullptr;
static std::shared_ptr<tc::conv_plan> cudnn_plan(const shape& e, int pass) {
  tc::conv_shape c{e.n, e.c, e.h, e.w, e.k, e.r, e.r, e.p, e.q, e.stride, e.pad, e.dil, e.groups, false};
  auto p = std::make_shared<tc::conv_plan>(static_cast<tc::conv_pass>(pass), c, CUDNN_DATA_FLOAT, dnn, nullptr);
  if (p->workspace() > 256 << 20) throw std::runtime_error("workspace");
  return p;
}
#endif
// Forward, then all gradients from a given dy, as one graph; as peer.py's chain() and conv()
static void step(const char* name, const std::vector<const char*>& layers, bool bias, double peer_us) {
  const std::size_t n = layers.size();
  std::vector<float*> act(n + 1), grad(n + 1), w(n), dw(n), part(n);
  for (std::size_t i = 0; i < n; ++i) {
    const shape& e = named(layers[i]);
    if (i == 0) act[0] = device<float>(size_of(e, 0)), grad[0] = device<float>(size_of(e, 0)), LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, act[0], size_of(e, 0), 1ull, 1.0f);
    w[i] = device<float>(size_of(e, 1)), dw[i] = device<float>(size_of(e, 1)), act[i + 1] = device<float>(size_of(e, 2)), grad[i + 1] = device<float>(size_of(e, 2));
    LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, w[i], size_of(e, 1), 2ull + i, 0.3f);
    if (i + 1 == n) LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, grad[n], size_of(e, 2), 9ull, 1.0f);
    const own& o = best[std::string(layers[i]) + " wgrad"];
    part[i] = device<float>(size_of(e, 1) * static_cast<u64>(std::max(1, o.splits)));
  }
  const shape& top = named(layers[n - 1]);
  float *b = device<float>(static_cast<u64>(top.k)), *db = device<float>(static_cast<u64>(top.k));
  LAUNCH(fill_units, 1, 256, 0, stream, b, static_cast<u64>(top.k), 8ull, 1.0f);
  GPU_OK(cudaDeviceSynchronize());
  for (const bool cudnn : {false, true}) {
    std::map<std::string, std::function<void(cudaStream_t, bool, const float*, const float*, float*)>> use;
    std::map<std::string, int> splits;
    std::string ways;
    bool whole = true, own_bias = false;
    for (std::size_t i = 0; i < n; ++i)
      for (int pass = 0; pass < 3; ++pass) {
        const std::string key = std::string(layers[i]) + " " + pass_name[pass];
        const shape& e = named(layers[i]);
        const auto o = best.find(key);
        const bool ours = o != best.end() && o->second.main && (!cudnn || (pass == 2 && o->second.us < e.cudnn[pass]));
        if (ours) {
          use[key] = o->second.main, splits[key] = o->second.splits;
          if (pass == 0 && e.r == 3) own_bias = true;
        }
#ifndef EMULATED
        else
          try {
            auto p = cudnn_plan(e, pass);
            use[key] = [p, pass](cudaStream_t s, bool, const float* a, const float* c, float* out) { // a: x or dy, c: w or dy
              tc::check(cudnnSetStream(dnn, s), "conv");
              const auto v = [](const float* f) { return static_cast<void*>(const_cast<float*>(f)); };
              if (pass == 0) p->run(dnn, v(a), v(c), out, dnn_workspace);
              else if (pass == 1) p->run(dnn, out, v(c), v(a), dnn_workspace);
              else p->run(dnn, v(a), out, v(c), dnn_workspace);
            };
            splits[key] = 1;
          } catch (const std::exception& x) { whole = false, ways += x.what(); }
#else
        else whole = false;
#endif
        ways += ours ? 'o' : 'c';
      }
    if (!whole) {
      line("own step").put("workload", name).put("kernels", ways).put("error", "a plan is missing");
      continue;
    }
    for (const bool first_dgrad : {true, false})
      for (const int mode : {0, 1, 2}) { // in line, programmatic, wgrad beside dgrad
        const bool pdl = mode == 1, forked = mode == 2;
        cudaEvent_t fork, join;
        GPU_OK(cudaEventCreate(&fork));
        GPU_OK(cudaEventCreate(&join));
#ifndef EMULATED
        GPU_OK(cudaEventDestroy(fork));
        GPU_OK(cudaEventDestroy(join));
        GPU_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
        GPU_OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
#endif
        const auto f = [&](cudaStream_t s) {
          for (std::size_t i = 0; i < n; ++i) {
            bias_of_next = bias && i + 1 == n ? b : nullptr;
            use.at(std::string(layers[i]) + " fprop")(s, pdl, act[i], w[i], act[i + 1]);
            bias_of_next = nullptr;
          }
          if (bias && !own_bias) launched(pdl, add_bias, sms * 8, 256, 0, s, act[n], b, top.k, top.p * top.q);
          std::vector<sum_job> jobs;
          for (std::size_t i = n; i-- > 0;) {
            const cudaStream_t t = forked ? side : s;
#ifndef EMULATED
            if (forked) {
              GPU_OK(cudaEventRecord(fork, s));
              GPU_OK(cudaStreamWaitEvent(side, fork, 0));
            }
#endif
            const std::string key = std::string(layers[i]) + " wgrad";
            const bool parts = splits.at(key) > 1;
            use.at(key)(t, pdl, act[i], grad[i + 1], parts ? part[i] : dw[i]);
            if (parts) jobs.push_back({part[i], dw[i], static_cast<int>(size_of(named(layers[i]), 1)), splits.at(key)});
            if (bias && i + 1 == n) launched(pdl, bias_gradient, top.k, 1024, 0, t, static_cast<const float*>(grad[n]), db, top.p * top.q);
            if (i > 0 || first_dgrad) use.at(std::string(layers[i]) + " dgrad")(s, pdl, grad[i + 1], w[i], grad[i]);
          }
          if (!jobs.empty()) sum(forked ? side : s, pdl, jobs);
#ifndef EMULATED
          if (forked) {
            GPU_OK(cudaEventRecord(join, side));
            GPU_OK(cudaStreamWaitEvent(s, join, 0));
          }
#endif
        };
        try {
          // right: each layer's results from what went into it
          for (std::size_t i = 0; i < n; ++i) GPU_OK(cudaMemsetAsync(dw[i], 0xff, size_of(named(layers[i]), 1) * 4, stream));
          GPU_OK(cudaMemsetAsync(grad[0], 0xff, size_of(named(layers[0]), 0) * 4, stream));
          GPU_OK(cudaDeviceSynchronize());
#ifdef EMULATED
          f(stream);
          const graph_times t{};
          [[maybe_unused]] times many{};
#else
          f(stream);
          GPU_OK(cudaDeviceSynchronize());
          const cudaGraphExec_t g = captured(stream, f);
          for (int k = 0; k < 3; ++k) GPU_OK(cudaGraphLaunch(g, stream));
          GPU_OK(cudaDeviceSynchronize());
          const auto go = [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); };
          const times one = timed(stream, go, 50, 5), many = timed(stream, go, 10, 2, 10);
          const graph_times t{many.median_us, one.median_us, one.min_us};
#endif
          double worst = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const shape& e = named(layers[i]);
            const ext x{e.n, e.c, e.h, e.w, e.k, e.r, e.p, e.q, e.stride, e.pad, e.dil, e.groups};
            LAUNCH(ref_wgrad, static_cast<unsigned>(size_of(e, 1)), 256, 0, stream, x, act[i], grad[i + 1], ref);
            worst = std::max(worst, norm_error(dw[i], ref, size_of(e, 1)));
            if (i > 0 || first_dgrad) {
              LAUNCH(ref_dgrad, static_cast<unsigned>(sms * 8), 256, 0, stream, x, grad[i + 1], w[i], ref);
              worst = std::max(worst, norm_error(grad[i], ref, size_of(e, 0)));
            }
            if (!bias) {
              LAUNCH(ref_fprop, static_cast<unsigned>(sms * 8), 256, 0, stream, x, act[i], w[i], ref);
              worst = std::max(worst, norm_error(act[i + 1], ref, size_of(e, 2)));
            }
          }
          line("own step").put("workload", name).put("kernels", ways).put("dgrad_to_x", first_dgrad).put("mode", mode == 0 ? "in line" : mode == 1 ? "programmatic" : "wgrad beside dgrad").put("right", worst < 2e-5).put("error", worst)
              .put("graph_each_min_us", t.each_min).put("graph_each_median_us", t.each).put("graph_batch10_us", t.in_chain).put("peer_us", peer_us);
#ifndef EMULATED
          GPU_OK(cudaGraphExecDestroy(g));
#endif
        } catch (const std::exception& x) {
          line("own step").put("workload", name).put("kernels", ways).put("mode", mode).put("error", x.what());
#ifndef EMULATED
          cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
          if (cudaStreamIsCapturing(stream, &state) == cudaSuccess && state != cudaStreamCaptureStatusNone) {
            cudaGraph_t g = nullptr;
            cudaStreamEndCapture(stream, &g);
          }
          cudaGetLastError();
#endif
        }
      }
  }
}

int main(int argc, char** argv) {
  need_device("conv2");
  const auto wants = [&](const char* s) {
    for (int k = 1; k < argc; ++k)
      if (std::strcmp(argv[k], s) == 0) return true;
    return argc == 1;
  };
  try {
    GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef EMULATED
    sms = 5;
    for (shape& e : shapes) { // small, with edges
      e.n = std::min(e.n, 2);
      if (e.h > 100) e.h = 5, e.w = 44;
      else if (e.h == 32) e.h = 6, e.w = 12;
      else if (e.h == 28) e.h = 6, e.w = 28;
      if (e.c == 256) e.c = 70;
      if (e.k == 128) e.k = 67;
    }
#else
    GPU_OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    lt_products l(stream);
    lt = &l;
    if (cudnnCreate(&dnn) != CUDNN_STATUS_SUCCESS) line("error").put("call", "cudnnCreate"), dnn = nullptr;
    dnn_workspace = device<char>(256ull << 20);
#endif
    u64 most = 0, m[3] = {0, 0, 0};
    for (shape& e : shapes) {
      const auto out = [&](int x) { return (x + 2 * e.pad - e.dil * (e.r - 1) - 1) / e.stride + 1; };
      e.p = out(e.h), e.q = out(e.w);
      for (int k = 0; k < 3; ++k) m[k] = std::max(m[k], size_of(e, k)), most = std::max(most, m[k]);
    }
    X = device<float>(m[0]), W = device<float>(m[1]), Y = device<float>(m[2]), O = device<float>(most), ref = device<double>(most);
#ifdef EMULATED
    partial = device<float>(4u << 20);
#else
    partial = device<float>(partial_floats);
#endif
    LAUNCH(fill_units, static_cast<unsigned>(sms * 8), 256, 0, stream, X, m[0], 11ull, 1.0f);
    LAUNCH(fill_units, static_cast<unsigned>(sms * 8), 256, 0, stream, W, m[1], 12ull, 1.0f);
    LAUNCH(fill_units, static_cast<unsigned>(sms * 8), 256, 0, stream, Y, m[2], 13ull, 1.0f);
    GPU_OK(cudaDeviceSynchronize());
    const double t0 = now();
    if (argc > 1 && std::strcmp(argv[1], "steps") == 0) { // a kernel each, then the steps: to try them emulated
      for (const char* name : {"distill-a 0", "distill-a 2"})
        for (int pass = 0; pass < 3; ++pass) {
          const shape& e = named(name);
          reference(e, pass);
          if (pass == 2) one_by_one<16, 64, 4, 4, 4, 32, 4>(e, sms);
          else point<16, 4, 1, 64>(e, pass);
        }
      for (const char* name : {"distill-a 1", "conv-square-n1"})
        for (int pass = 0; pass < 3; ++pass) {
          const shape& e = named(name);
          reference(e, pass);
          if (pass == 2) three_by_three<16, 16, 8, 8, 1, 1>(e, 4, 40, 3 * sms);
          else direct<8, 2, 4, 512>(e, pass, 4, 40, 16);
        }
      step("distill-a", {"distill-a 0", "distill-a 1", "distill-a 2"}, false, 157);
      step("conv-square-n1", {"conv-square-n1"}, true, 193);
    }
    if (wants("A")) stage_a();
    line("part ends").put("part", "A").put("seconds", now() - t0);
    if (wants("B")) {
      stage_b();
      line("part ends").put("part", "B kernels").put("seconds", now() - t0);
      step("distill-a", {"distill-a 0", "distill-a 1", "distill-a 2"}, false, 157);
      step("conv-square-n1", {"conv-square-n1"}, true, 193);
      step("distill-b", {"distill-b 0", "distill-b 1"}, false, 0);
    }
    line("stage ends").put("seconds", now() - t0);
  } catch (const std::exception& x) { line("conv2 error").put("error", x.what()); }
}
