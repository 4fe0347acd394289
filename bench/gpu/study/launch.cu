// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What launches cost, and a whole step of small-mlp (64-64-64-1, one row) as one block, one cluster, five kernels.
#include "common.hpp"
#include "emu.hpp"
#include <cstring>
#ifndef EMULATED
#include <cooperative_groups.h>
#include <cublasLt.h>
namespace cg = cooperative_groups;
#endif

constexpr int D = 64;
struct net { // inputs, then what is written
  const float *x, *t, *w1, *b1, *w2, *b2, *w3, *b3;
  float *loss, *gw1, *gb1, *gw2, *gb2, *gw3, *gb3;
  float *h1, *h2, *d1, *d2; // of the five kernels
};
template <int P> __device__ inline float over(float s) {
#pragma unroll
  for (unsigned d = P / 2; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  return s;
}

template <int T> __global__ void __launch_bounds__(T) one_block(const net a) {
  constexpr int P = T / D, R = D + 1;
  SHARED float w1[D * R], w2[D * R], w3[D], x[D], h1[D], h2[D], d1[D];
  const int t = static_cast<int>(threadIdx.x), o = t / P, q = t % P, lane = t % 32;
  for (int i = t; i < D * D / 4; i += T) {
    const float4 u = reinterpret_cast<const float4*>(a.w1)[i], v = reinterpret_cast<const float4*>(a.w2)[i];
    const int at = i / 16 * R + i % 16 * 4;
    w1[at] = u.x, w1[at + 1] = u.y, w1[at + 2] = u.z, w1[at + 3] = u.w;
    w2[at] = v.x, w2[at + 1] = v.y, w2[at + 2] = v.z, w2[at + 3] = v.w;
  }
  if (t < D) x[t] = a.x[t];
  else if (t < 2 * D) w3[t - D] = a.w3[t - D];
  const float c1 = a.b1[o], c2 = a.b2[o], c3 = a.b3[0], target = a.t[0];
  __syncthreads();
  float s = 0;
#pragma unroll
  for (int i = q; i < D; i += P) s += x[i] * w1[i * R + o];
  s = over<P>(s) + c1;
  if (q == 0) h1[o] = s <= 0 ? 0 : s;
  __syncthreads();
  s = 0;
#pragma unroll
  for (int i = q; i < D; i += P) s += h1[i] * w2[i * R + o];
  s = over<P>(s) + c2;
  if (q == 0) h2[o] = s <= 0 ? 0 : s;
  __syncthreads();
  const float e = over<32>(h2[lane] * w3[lane] + h2[lane + 32] * w3[lane + 32]) + c3 - target, dy = 2 * e;
  const auto d2 = [&](int j) { return h2[j] > 0 ? dy * w3[j] : 0.0f; };
  s = 0;
#pragma unroll
  for (int j = q; j < D; j += P) s += w2[o * R + j] * d2(j);
  s = over<P>(s);
  if (q == 0) d1[o] = h1[o] > 0 ? s : 0;
  for (int i = t; i < D * D / 4; i += T) {
    const int r = i / 16, j = i % 16 * 4;
    reinterpret_cast<float4*>(a.gw2)[i] = make_float4(h1[r] * d2(j), h1[r] * d2(j + 1), h1[r] * d2(j + 2), h1[r] * d2(j + 3));
  }
  if (t < D) a.gb2[t] = d2(t), a.gw3[t] = dy * h2[t];
  if (t == 0) a.gb3[0] = dy, a.loss[0] = e * e;
  __syncthreads();
  for (int i = t; i < D * D / 4; i += T) {
    const int r = i / 16, j = i % 16 * 4;
    reinterpret_cast<float4*>(a.gw1)[i] = make_float4(x[r] * d1[j], x[r] * d1[j + 1], x[r] * d1[j + 2], x[r] * d1[j + 3]);
  }
  if (t < D) a.gb1[t] = d1[t];
}

// ---- five kernels: a warp an output
__device__ inline void wait_for_last() {
#ifndef EMULATED
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}
__global__ void __launch_bounds__(256) layer(const float* x, const float* w, const float* b, float* y) {
  const int o = static_cast<int>(blockIdx.x * 8 + threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const float u = w[lane * D + o], v = w[(lane + 32) * D + o], c = b[o]; // weights: not of the last kernel
  wait_for_last();
  const float s = over<32>(x[lane] * u + x[lane + 32] * v) + c;
  if (lane == 0) y[o] = s <= 0 ? 0 : s;
}
__global__ void __launch_bounds__(64) head(const net a) {
  const int t = static_cast<int>(threadIdx.x), lane = t % 32;
  const float u = a.w3[lane], v = a.w3[lane + 32], c = a.b3[0] - a.t[0], w = a.w3[t];
  wait_for_last();
  const float e = over<32>(a.h2[lane] * u + a.h2[lane + 32] * v) + c, dy = 2 * e;
  const float d = a.h2[t] > 0 ? dy * w : 0;
  a.d2[t] = d, a.gb2[t] = d, a.gw3[t] = dy * a.h2[t];
  if (t == 0) a.gb3[0] = dy, a.loss[0] = e * e;
}
__global__ void __launch_bounds__(256) back(const net a) {
  const int r = static_cast<int>(blockIdx.x * 8 + threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const float u = a.w2[r * D + lane], v = a.w2[r * D + lane + 32];
  wait_for_last();
  const float h = a.h1[r], p = a.d2[lane], q = a.d2[lane + 32], s = over<32>(u * p + v * q);
  a.gw2[r * D + lane] = h * p, a.gw2[r * D + lane + 32] = h * q;
  if (lane == 0) a.d1[r] = a.gb1[r] = h > 0 ? s : 0;
}
__global__ void __launch_bounds__(256) outer(const net a) {
  const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
  const float x = a.x[i / D];
  wait_for_last();
  a.gw1[i] = x * a.d1[i % D];
}

static net here; // device pointers
static std::vector<std::vector<double>> expected;
static std::vector<std::pair<float*, int>> outputs;
static cudaStream_t stream;
static void make_net() {
  std::vector<std::vector<float>> in;
  unsigned h = 1;
  for (const int n : {D, 1, D * D, D, D * D, D, D, 1}) {
    auto& v = in.emplace_back(static_cast<std::size_t>(n));
    for (float& f : v) {
      h = h * 1664525u + 1013904223u;
      f = (static_cast<float>(h >> 8) / 8388608.0f - 1) * (n == D * D ? 0.3f : 1.0f);
    }
  }
  const float** const to[] = {&here.x, &here.t, &here.w1, &here.b1, &here.w2, &here.b2, &here.w3, &here.b3};
  for (int k = 0; k < 8; ++k) {
    void* p = nullptr;
    GPU_OK(cudaMalloc(&p, in[static_cast<std::size_t>(k)].size() * 4));
    GPU_OK(cudaMemcpy(p, in[static_cast<std::size_t>(k)].data(), in[static_cast<std::size_t>(k)].size() * 4, cudaMemcpyHostToDevice));
    *to[k] = static_cast<const float*>(p);
  }
  float** const out[] = {&here.loss, &here.gw1, &here.gb1, &here.gw2, &here.gb2, &here.gw3, &here.gb3, &here.h1, &here.h2, &here.d1, &here.d2};
  const int n[] = {1, D * D, D, D * D, D, D, 1, D, D, D, D};
  for (int k = 0; k < 11; ++k) {
    void* p = nullptr;
    GPU_OK(cudaMalloc(&p, static_cast<std::size_t>(n[k]) * 4));
    *out[k] = static_cast<float*>(p);
    if (k < 7) outputs.push_back({*out[k], n[k]});
  }
  // the reference
  const auto &x = in[0], &w1 = in[2], &b1 = in[3], &w2 = in[4], &b2 = in[5], &w3 = in[6];
  std::vector<double> h1(D), h2(D), d1(D), d2(D), g1(D * D), g2(D * D), g3(D);
  double y = in[7][0];
  for (std::size_t o = 0; o < D; ++o) {
    h1[o] = b1[o];
    for (std::size_t i = 0; i < D; ++i) h1[o] += static_cast<double>(x[i]) * w1[i * D + o];
    h1[o] = std::max(0.0, h1[o]);
  }
  for (std::size_t o = 0; o < D; ++o) {
    h2[o] = b2[o];
    for (std::size_t i = 0; i < D; ++i) h2[o] += h1[i] * w2[i * D + o];
    h2[o] = std::max(0.0, h2[o]);
    y += h2[o] * w3[o];
  }
  const double e = y - in[1][0], dy = 2 * e;
  for (std::size_t o = 0; o < D; ++o) d2[o] = h2[o] > 0 ? dy * w3[o] : 0, g3[o] = dy * h2[o];
  for (std::size_t i = 0; i < D; ++i) {
    for (std::size_t j = 0; j < D; ++j) d1[i] += w2[i * D + j] * d2[j], g2[i * D + j] = h1[i] * d2[j];
    if (h1[i] <= 0) d1[i] = 0;
  }
  for (std::size_t i = 0; i < D * D; ++i) g1[i] = x[i / D] * d1[i % D];
  expected = {{e * e}, g1, d1, g2, d2, g3, {dy}};
}
static double net_error() { // and poisons the outputs
  double worst = 0;
  GPU_OK(cudaDeviceSynchronize());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    std::vector<float> v(expected[k].size());
    GPU_OK(cudaMemcpy(v.data(), outputs[k].first, v.size() * 4, cudaMemcpyDeviceToHost));
    double d = 0, s = 1e-30;
    for (std::size_t i = 0; i < v.size(); ++i) d = std::max(d, std::isnan(v[i]) ? 1e9 : std::fabs(static_cast<double>(v[i]) - expected[k][i])), s = std::max(s, std::fabs(expected[k][i]));
    worst = std::max(worst, d / s);
    GPU_OK(cudaMemset(outputs[k].first, 0xff, v.size() * 4));
  }
  GPU_OK(cudaDeviceSynchronize());
  return worst;
}

#ifdef EMULATED
template <class F> void time_net(const char* way, F&& f) {
  f(stream);
  const double e = net_error();
  line("small-mlp").put("way", way).put("right", e < 1e-5).put("error", e);
}
template <class K, class... A> void launched(bool, K k, int grid, int block, cudaStream_t, A... a) { emu::launch(dim3(static_cast<unsigned>(grid)), dim3(static_cast<unsigned>(block)), [=] { k(a...); }); }
#else
template <class F> void time_net(const char* way, F&& f) {
  net_error();
  const cudaGraphExec_t g = captured(stream, f);
  GPU_OK(cudaGraphLaunch(g, stream));
  const double e1 = net_error();
  const auto go = [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); };
  const times each = timed(stream, go, 50, 5), many = timed(stream, go, 10, 2, 50);
  const times plain = timed(stream, f, 10, 2, 50);
  const double e2 = net_error();
  GPU_OK(cudaDeviceSynchronize());
  std::vector<double> wall;
  for (int k = 0; k < 50; ++k) {
    const double t0 = now();
    go(stream);
    GPU_OK(cudaStreamSynchronize(stream));
    wall.push_back((now() - t0) * 1e6);
  }
  line("small-mlp").put("way", way).put("right", e1 < 1e-5 && e2 < 1e-5).put("error", std::max(e1, e2)).put("graph_each_min_us", each.min_us).put("graph_each_median_us", each.median_us)
      .put("graph_batch50_us", many.median_us).put("eager_batch50_us", plain.median_us).put("launch_to_synchronized_wall_us", of(wall).median_us);
}
// a kernel, with or without a programmatic edge to the one before it
template <class... P, class... A> void launched(bool pdl, void (*k)(P...), int grid, int block, cudaStream_t s, A... a) {
  cudaLaunchConfig_t c{};
  c.gridDim = dim3(static_cast<unsigned>(grid));
  c.blockDim = dim3(static_cast<unsigned>(block));
  c.stream = s;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  at[0].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = at;
  c.numAttrs = pdl ? 1 : 0;
  GPU_OK(cudaLaunchKernelEx(&c, k, static_cast<P>(a)...));
}

// ---- a cluster of 8 blocks of 128 threads: 16 threads an output, 8 outputs of each layer a block
__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(128) one_cluster(const net a) {
  __shared__ float h1[D], h2[D];
  const cg::cluster_group cluster = cg::this_cluster();
  const int r = static_cast<int>(cluster.block_rank()), t = static_cast<int>(threadIdx.x), o = r * 8 + t / 16, q = t % 16, lane = t % 32;
  float x[4], u[4], v[4], w[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int i = q + 16 * k;
    x[k] = a.x[i], u[k] = a.w1[i * D + o], v[k] = a.w2[i * D + o], w[k] = a.w2[o * D + i];
  }
  const float c1 = a.b1[o], c2 = a.b2[o], c3 = a.b3[0] - a.t[0], p3 = a.w3[lane], q3 = a.w3[lane + 32];
  float w3[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) w3[k] = a.w3[q + 16 * k];
  cluster.sync(); // all have started
  float s = over<16>(x[0] * u[0] + x[1] * u[1] + x[2] * u[2] + x[3] * u[3]) + c1;
  if (q < 8) cluster.map_shared_rank(h1, static_cast<unsigned>(q))[o] = s <= 0 ? 0 : s;
  cluster.sync();
  s = over<16>(h1[q] * v[0] + h1[q + 16] * v[1] + h1[q + 32] * v[2] + h1[q + 48] * v[3]) + c2;
  if (q < 8) cluster.map_shared_rank(h2, static_cast<unsigned>(q))[o] = s <= 0 ? 0 : s;
  cluster.sync();
  const float e = over<32>(h2[lane] * p3 + h2[lane + 32] * q3) + c3, dy = 2 * e;
  float d2[4];
  s = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) d2[k] = h2[q + 16 * k] > 0 ? dy * w3[k] : 0, s += w[k] * d2[k];
  s = over<16>(s);
  const float d1 = h1[o] > 0 ? s : 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int i = q + 16 * k;
    a.gw2[o * D + i] = h1[o] * d2[k];
    a.gw1[i * D + o] = x[k] * d1;
  }
  if (q == 0) a.gb1[o] = d1;
  if (r == 0 && t < 16) {
#pragma unroll
    for (int k = 0; k < 4; ++k) a.gb2[t + 16 * k] = d2[k], a.gw3[t + 16 * k] = dy * h2[t + 16 * k];
    if (t == 0) a.gb3[0] = dy, a.loss[0] = e * e;
  }
}

__global__ void tiny(float* p) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = p[i] * 0.5f + 1;
}
__global__ void tiny_pdl(float* p) {
  wait_for_last();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = p[i] * 0.5f + 1;
}
static void chains() {
  float* p;
  GPU_OK(cudaMalloc(reinterpret_cast<void**>(&p), 132 * 256 * 4));
  const struct { int grid, block; } shapes[] = {{1, 64}, {132, 256}};
  for (const auto& sh : shapes)
    for (const bool pdl : {false, true}) {
      double first = 0, first_batch = 0;
      for (const int k : {1, 2, 4, 8, 16, 32}) {
        const auto f = [&](cudaStream_t s) { for (int i = 0; i < k; ++i) launched(pdl, pdl ? tiny_pdl : tiny, sh.grid, sh.block, s, p); };
        const double c0 = now();
        const cudaGraphExec_t g = captured(stream, f);
        const double c1 = now();
        GPU_OK(cudaMemset(p, 0, 132 * 256 * 4));
        GPU_OK(cudaDeviceSynchronize());
        GPU_OK(cudaGraphLaunch(g, stream));
        GPU_OK(cudaDeviceSynchronize());
        float last = 0;
        GPU_OK(cudaMemcpy(&last, p + sh.grid * sh.block - 1, 4, cudaMemcpyDeviceToHost));
        const double want = 2 * (1 - std::pow(0.5, k));
        const auto go = [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); };
        const times each = timed(stream, go, 50, 5), many = timed(stream, go, 10, 2, 50), plain = timed(stream, f, 10, 2, 20);
        if (k == 1) first = each.median_us, first_batch = many.median_us;
        GPU_OK(cudaDeviceSynchronize());
        const double h0 = now();
        for (int i = 0; i < 100; ++i) go(stream);
        const double h1 = now();
        GPU_OK(cudaDeviceSynchronize());
        line("chain").put("nodes", k).put("grid", sh.grid).put("block", sh.block).put("programmatic", pdl).put("right", std::fabs(static_cast<double>(last) - want) < 1e-5)
            .put("graph_each_min_us", each.min_us).put("graph_each_median_us", each.median_us).put("graph_batch50_us", many.median_us).put("eager_batch20_us", plain.median_us)
            .put("us_a_further_node", k > 1 ? (each.median_us - first) / (k - 1) : 0.0).put("us_a_further_node_batch", k > 1 ? (many.median_us - first_batch) / (k - 1) : 0.0)
            .put("host_us_a_graph_launch", (h1 - h0) * 1e4).put("capture_and_instantiate_us", (c1 - c0) * 1e6);
        GPU_OK(cudaGraphExecDestroy(g));
      }
    }
  { // host costs: launches, an update of an executable graph by a new capture
    GPU_OK(cudaDeviceSynchronize());
    double h0 = now();
    for (int i = 0; i < 200; ++i) tiny<<<1, 64, 0, stream>>>(p);
    double h1 = now();
    GPU_OK(cudaDeviceSynchronize());
    line("host").put("of", "kernel launch").put("us", (h1 - h0) * 5e3);
    const auto f = [&](cudaStream_t s) { for (int i = 0; i < 32; ++i) launched(false, tiny, 1, 64, s, p); };
    const cudaGraphExec_t e = captured(stream, f);
    std::vector<double> capture, update;
    for (int i = 0; i < 10; ++i) {
      cudaGraph_t g;
      h0 = now();
      GPU_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      f(stream);
      GPU_OK(cudaStreamEndCapture(stream, &g));
      h1 = now();
      cudaGraphExecUpdateResultInfo info{};
      GPU_OK(cudaGraphExecUpdate(e, g, &info));
      const double h2 = now();
      capture.push_back((h1 - h0) * 1e6);
      update.push_back((h2 - h1) * 1e6);
      GPU_OK(cudaGraphDestroy(g));
    }
    line("host").put("of", "capture of 32 nodes").put("us", of(capture).median_us);
    line("host").put("of", "cudaGraphExecUpdate of 32 nodes").put("us", of(update).median_us);
    void* pinned;
    GPU_OK(cudaMallocHost(&pinned, 64));
    std::memset(pinned, 0, 64);
    const cudaGraphExec_t c = captured(stream, [&](cudaStream_t s) {
      GPU_OK(cudaMemcpyAsync(p, pinned, 8, cudaMemcpyHostToDevice, s));
      tiny<<<1, 64, 0, s>>>(p);
    });
    const auto go = [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(c, s)); };
    const times each = timed(stream, go, 50, 5), many = timed(stream, go, 10, 2, 50);
    line("chain with a copy").put("of", "8 bytes pinned to device, then 1 kernel").put("graph_each_median_us", each.median_us).put("graph_batch50_us", many.median_us);
  }
}

#define LT_OK(x)                                                                                                       \
  do {                                                                                                                 \
    const cublasStatus_t e_ = (x);                                                                                     \
    if (e_ != CUBLAS_STATUS_SUCCESS) {                                                                                 \
      line("error").put("call", #x).put("error", cublasLtGetStatusName(e_));                                           \
      return;                                                                                                          \
    }                                                                                                                  \
  } while (0)
// chains of 16 products (rows x 64)(64 x 64)
static void products(int rows) {
  cublasLtHandle_t lt;
  LT_OK(cublasLtCreate(&lt));
  cublasLtMatmulDesc_t d;
  LT_OK(cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasLtMatrixLayout_t lw, lx;
  LT_OK(cublasLtMatrixLayoutCreate(&lw, CUDA_R_32F, D, D, D));
  LT_OK(cublasLtMatrixLayoutCreate(&lx, CUDA_R_32F, D, static_cast<std::uint64_t>(rows), D));
  cublasLtMatmulPreference_t pref;
  LT_OK(cublasLtMatmulPreferenceCreate(&pref));
  const std::size_t bytes = 32 << 20;
  LT_OK(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
  void* w;
  GPU_OK(cudaMalloc(&w, bytes));
  float *a, *b;
  const std::size_t n = static_cast<std::size_t>(rows) * D * 4;
  GPU_OK(cudaMalloc(reinterpret_cast<void**>(&a), n));
  GPU_OK(cudaMalloc(reinterpret_cast<void**>(&b), n));
  GPU_OK(cudaMemset(a, 0, n));
  GPU_OK(cudaMemset(b, 0, n));
  std::vector<float> x(static_cast<std::size_t>(rows) * D);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) * 0.1f - 0.3f;
  cublasLtMatmulHeuristicResult_t found[8];
  int many = 0;
  const double t0 = now();
  LT_OK(cublasLtMatmulAlgoGetHeuristic(lt, d, lw, lx, lx, lx, pref, 8, found, &many));
  const double t1 = now();
  const float one = 1, zero = 0;
  const int chain = 16;
  double best = 1e9, first = 0;
  int which = 0;
  for (int k = 0; k < many; ++k) {
    const auto f = [&](cudaStream_t s) {
      for (int i = 0; i < chain; ++i) cublasLtMatmul(lt, d, &one, here.w1, lw, i % 2 ? b : a, lx, &zero, i % 2 ? a : b, lx, i % 2 ? a : b, lx, &found[k].algo, w, bytes, s);
    };
    const cudaGraphExec_t g = captured(stream, f);
    GPU_OK(cudaMemcpy(a, x.data(), n, cudaMemcpyHostToDevice));
    GPU_OK(cudaDeviceSynchronize());
    const times t = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); }, 20, 3);
    if (k == 0) first = t.median_us / chain;
    if (t.median_us / chain < best) best = t.median_us / chain, which = k;
    GPU_OK(cudaGraphExecDestroy(g));
  }
  double epilogue = 0;
  {
    cublasLtMatmulDesc_t r;
    LT_OK(cublasLtMatmulDescCreate(&r, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasLtEpilogue_t ep = CUBLASLT_EPILOGUE_RELU_BIAS;
    LT_OK(cublasLtMatmulDescSetAttribute(r, CUBLASLT_MATMUL_DESC_EPILOGUE, &ep, sizeof ep));
    const void* bias = here.b1;
    LT_OK(cublasLtMatmulDescSetAttribute(r, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    cublasLtMatmulHeuristicResult_t e[1];
    int m = 0;
    if (cublasLtMatmulAlgoGetHeuristic(lt, r, lw, lx, lx, lx, pref, 1, e, &m) == CUBLAS_STATUS_SUCCESS && m > 0) {
      const cudaGraphExec_t g = captured(stream, [&](cudaStream_t s) {
        for (int i = 0; i < chain; ++i) cublasLtMatmul(lt, r, &one, here.w1, lw, i % 2 ? b : a, lx, &zero, i % 2 ? a : b, lx, i % 2 ? a : b, lx, &e[0].algo, w, bytes, s);
      });
      epilogue = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); }, 20, 3).median_us / chain;
      GPU_OK(cudaGraphExecDestroy(g));
    }
  }
  line("product node").put("rows", rows).put("way", "cublasLt").put("algorithms", many).put("first_us", first).put("best_us", best).put("best_is", which).put("relu_bias_epilogue_us", epilogue).put("heuristics_host_us", (t1 - t0) * 1e6);
  if (rows == 1)
    for (const bool pdl : {false, true}) {
      const cudaGraphExec_t g = captured(stream, [&](cudaStream_t s) {
        for (int i = 0; i < chain; ++i) launched(pdl, layer, 8, 256, s, static_cast<const float*>(i % 2 ? b : a), here.w1, here.b1, i % 2 ? a : b);
      });
      const times t = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); }, 20, 3);
      line("product node").put("rows", rows).put("way", pdl ? "a warp an output, with bias and relu, programmatic" : "a warp an output, with bias and relu").put("first_us", t.median_us / chain);
      GPU_OK(cudaGraphExecDestroy(g));
    }
  cudaFree(w);
  cudaFree(a);
  cudaFree(b);
  cublasLtDestroy(lt);
}
#endif

int main([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
  need_device("launch");
  GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  make_net();
  time_net("one block of 256", [](cudaStream_t s) { launched(false, one_block<256>, 1, 256, s, here); });
  time_net("one block of 512", [](cudaStream_t s) { launched(false, one_block<512>, 1, 512, s, here); });
  time_net("one block of 1024", [](cudaStream_t s) { launched(false, one_block<1024>, 1, 1024, s, here); });
  for (const bool pdl : {false, true})
    time_net(pdl ? "five kernels, programmatic" : "five kernels", [=](cudaStream_t s) {
      launched(pdl, layer, 8, 256, s, here.x, here.w1, here.b1, here.h1);
      launched(pdl, layer, 8, 256, s, static_cast<const float*>(here.h1), here.w2, here.b2, here.h2);
      launched(pdl, head, 1, 64, s, here);
      launched(pdl, back, 8, 256, s, here);
      launched(pdl, outer, 16, 256, s, here);
    });
#ifndef EMULATED
  time_net("one cluster of 8 blocks of 128", [](cudaStream_t s) { launched(false, one_cluster, 8, 128, s, here); });
  if (argc > 1 && std::strcmp(argv[1], "--quick") == 0) {
    line("stage ends");
    return 0;
  }
  chains();
  for (const int rows : {1, 32, 256}) products(rows);
#endif
  line("stage ends");
}
