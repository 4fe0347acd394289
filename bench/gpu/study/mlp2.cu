// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Top-k on the device, and the backward pass of ohem-mlp (63-256-256-256-3) on chosen rows, their count in device memory.
#define GPU_THROWS
#include "common.hpp"
#include "emu2.hpp"
#include <cstring>
#include <functional>
#include <numeric>
#ifndef EMULATED
#include "lt.hpp"
#endif
__host__ __device__ constexpr int up(int a, int b) { return (a + b - 1) / b; }
static cudaStream_t stream, side;
static int sms = 132;

// ---- the k largest of n floats; ties by index; positions in order. Keys: larger float, larger key
__device__ inline u32 key_of(float f) {
  const u32 u = __float_as_uint(f);
  return (u & 0x80000000u) != 0 ? ~u : u | 0x80000000u;
}
// of the block: the sum of the threads before; total in *all
__device__ inline int before(int v, int* of_warp, int* all) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  int s = v;
  for (unsigned d = 1; d < 32; d *= 2) {
    const int o = __shfl_up_sync(0xffffffffu, s, d);
    if (lane >= static_cast<int>(d)) s += o;
  }
  if (lane == 31) of_warp[warp] = s;
  __syncthreads();
  int at = 0, total = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp) at += of_warp[w];
    total += of_warp[w];
  }
  __syncthreads();
  *all = total;
  return at + s - v;
}
// the bin in which the `left`-th largest lies, counts in bins[BINS]; by all threads: found[0] bin, found[1] how many of it
template <int BINS> __device__ inline void pick(const int* bins, int left, int* found, int* of_warp) {
  constexpr int PER = BINS / 256;
  const int t = static_cast<int>(threadIdx.x);
  int mine[PER], s = 0, all = 0;
  if (t < 256)
#pragma unroll
    for (int k = 0; k < PER; ++k) mine[k] = bins[BINS - 1 - (t * PER + k)], s += mine[k];
  int at = before(t < 256 ? s : 0, of_warp, &all);
  if (t < 256)
#pragma unroll
    for (int k = 0; k < PER; ++k) {
      if (at < left && left <= at + mine[k]) found[0] = BINS - 1 - (t * PER + k), found[1] = left - at;
      at += mine[k];
    }
  __syncthreads();
}
template <int BITS, int T> __global__ void __launch_bounds__(T) top_one_block(const float* x, int n, int k, int* out, int* count) {
  constexpr int BINS = 1 << BITS, PER = 4;
  SHARED int bins[BINS], of_warp[32], found[2];
  wait_for_last();
  const int t = static_cast<int>(threadIdx.x);
  u32 chosen = 0, mask = 0;
  int left = k;
  u32 key[PER]; // where n <= T * PER they stay in registers
  const bool few = n <= T * PER;
  if (few)
    for (int j = 0; j < PER; ++j) key[j] = t * PER + j < n ? key_of(x[t * PER + j]) : 0;
  for (int shift = 32 - BITS; shift > -BITS; shift -= BITS) {
    const int low = shift > 0 ? shift : 0;
    for (int i = t; i < BINS; i += T) bins[i] = 0;
    __syncthreads();
    const u32 part = shift >= 0 ? BINS - 1u : (BINS - 1u) >> -shift;
    const auto add = [&](u32 q) {
      if ((q & mask) == chosen) atomicAdd(&bins[q >> low & part], 1);
    };
    if (few) {
      for (int j = 0; j < PER; ++j)
        if (t * PER + j < n) add(key[j]);
    } else
      for (int i = t; i < n; i += T) add(key_of(x[i]));
    __syncthreads();
    pick<BINS>(bins, left, found, of_warp);
    chosen |= static_cast<u32>(found[0]) << low;
    mask |= part << low;
    left = found[1];
    __syncthreads();
  }
  // `left` of those equal to `chosen`, the first ones
  int equal = 0, written = 0;
  for (int i0 = 0; i0 < n; i0 += T * PER) {
    u32 q[PER];
    bool in[PER];
    int e = 0, all = 0;
    for (int j = 0; j < PER; ++j) {
      const int i = i0 + t * PER + j;
      in[j] = i < n;
      q[j] = !in[j] ? 0 : few ? key[j] : key_of(x[i]);
      e += in[j] && q[j] == chosen;
    }
    int at = equal + before(e, of_warp, &all), w = 0, all_w = 0;
    equal += all;
    bool take[PER];
    for (int j = 0; j < PER; ++j) {
      take[j] = in[j] && (q[j] > chosen || (q[j] == chosen && at < left));
      at += in[j] && q[j] == chosen;
      w += take[j];
    }
    int to = written + before(w, of_warp, &all_w);
    written += all_w;
    for (int j = 0; j < PER; ++j)
      if (take[j]) out[to++] = i0 + t * PER + j;
  }
  if (t == 0) *count = k;
}
// several blocks: a histogram a pass (each starts by picking from the one before), then counts a block, then the writing
struct top_state { int* bins; int* of_block; }; // bins[4][256]; of_block[2][blocks]: larger, equal
template <int N> __device__ inline void picked(const top_state& s, int k, u32& chosen, u32& mask, int& left, int* found, int* of_warp) {
  chosen = mask = 0, left = k;
  for (int p = 0; p < N; ++p) {
    pick<256>(s.bins + p * 256, left, found, of_warp);
    chosen |= static_cast<u32>(found[0]) << (24 - 8 * p);
    mask |= 255u << (24 - 8 * p);
    left = found[1];
    __syncthreads();
  }
}
__global__ void __launch_bounds__(1024) top_clear(top_state s) {
  wait_for_last();
  s.bins[threadIdx.x] = 0;
}
template <int PASS> __global__ void __launch_bounds__(256) top_bins(const float* x, int n, int k, top_state s) {
  SHARED int bins[256], of_warp[32], found[2];
  const int t = static_cast<int>(threadIdx.x), per = up(up(n, static_cast<int>(gridDim.x)), 256) * 256, lo = static_cast<int>(blockIdx.x) * per, hi = lo + per < n ? lo + per : n;
  bins[t] = 0;
  wait_for_last();
  __syncthreads();
  u32 chosen, mask;
  int left;
  picked<PASS>(s, k, chosen, mask, left, found, of_warp);
  for (int i = lo + t; i < hi; i += 256) {
    const u32 q = key_of(x[i]);
    if ((q & mask) == chosen) atomicAdd(&bins[q >> (24 - 8 * PASS) & 255u], 1);
  }
  __syncthreads();
  if (bins[t] != 0) atomicAdd(s.bins + PASS * 256 + t, bins[t]);
}
__global__ void __launch_bounds__(256) top_counts(const float* x, int n, int k, top_state s) {
  SHARED int of_warp[32], found[2];
  const int t = static_cast<int>(threadIdx.x), per = up(up(n, static_cast<int>(gridDim.x)), 256) * 256, lo = static_cast<int>(blockIdx.x) * per, hi = lo + per < n ? lo + per : n;
  wait_for_last();
  u32 chosen, mask;
  int left, larger = 0, equal = 0, a = 0, b = 0;
  picked<4>(s, k, chosen, mask, left, found, of_warp);
  for (int i = lo + t; i < hi; i += 256) {
    const u32 q = key_of(x[i]);
    larger += q > chosen, equal += q == chosen;
  }
  before(larger, of_warp, &a);
  before(equal, of_warp, &b);
  if (t == 0) s.of_block[blockIdx.x] = a, s.of_block[gridDim.x + blockIdx.x] = b;
}
__global__ void __launch_bounds__(256) top_write(const float* x, int n, int k, int* out, int* count, top_state s) {
  SHARED int of_warp[32], found[2];
  const int t = static_cast<int>(threadIdx.x), blocks = static_cast<int>(gridDim.x), mine = static_cast<int>(blockIdx.x), per = up(up(n, blocks), 256) * 256, lo = mine * per, hi = lo + per < n ? lo + per : n;
  wait_for_last();
  u32 chosen, mask;
  int left, a = 0, b = 0, larger = 0, equal = 0;
  picked<4>(s, k, chosen, mask, left, found, of_warp);
  for (int i = t; i < mine; i += 256) a += s.of_block[i], b += s.of_block[blocks + i];
  before(a, of_warp, &larger);
  before(b, of_warp, &equal);
  int written = larger + (equal < left ? equal : left);
  for (int i0 = lo; i0 < hi; i0 += 256) {
    const int i = i0 + t;
    const bool in = i < hi;
    const u32 q = in ? key_of(x[i]) : 0;
    int all = 0, all_w = 0;
    const int at = equal + before(in && q == chosen, of_warp, &all);
    const bool take = in && (q > chosen || (q == chosen && at < left));
    const int to = written + before(take, of_warp, &all_w);
    if (take) out[to] = i;
    equal += all;
    written += all_w;
  }
  if (t == 0 && mine == 0) *count = k;
}

static void top_k() {
#ifdef EMULATED
  const std::vector<int> sizes = {1, 37, 1500};
#else
  const std::vector<int> sizes = {4096, 65536, 1 << 20};
#endif
  for (const int n : sizes)
    for (const int kind : {0, 1}) { // distinct, many ties
      const int k = std::max(1, n / 4);
      std::vector<float> x(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) {
        const float u = unit(static_cast<u64>(i) + 1000003u * static_cast<u64>(kind));
        x[static_cast<std::size_t>(i)] = kind == 0 ? u * u : std::floor(u * 5);
      }
      std::vector<int> want(static_cast<std::size_t>(n));
      std::iota(want.begin(), want.end(), 0);
      std::stable_sort(want.begin(), want.end(), [&](int a, int b) { return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)]; });
      want.resize(static_cast<std::size_t>(k));
      std::sort(want.begin(), want.end());
      float* d = device<float>(static_cast<u64>(n));
      int *out = device<int>(static_cast<u64>(n)), *count = device<int>(1);
      GPU_OK(cudaMemcpy(d, x.data(), x.size() * 4, cudaMemcpyHostToDevice));
      top_state s{device<int>(1024), device<int>(2048)};
      const auto report = [&](const std::string& way, auto&& f) {
        try {
          GPU_OK(cudaMemsetAsync(out, 0xff, static_cast<u64>(n) * 4, stream));
          f(false)(stream);
          GPU_OK(cudaGetLastError());
          GPU_OK(cudaDeviceSynchronize());
          std::vector<int> got(static_cast<std::size_t>(k));
          GPU_OK(cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDeviceToHost));
          const bool right = got == want;
          const graph_times a = graphed(stream, f(false)), b = graphed(stream, f(true));
          GPU_OK(cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDeviceToHost));
          line("top k").put("n", n).put("k", k).put("values", kind == 0 ? "distinct" : "ties").put("way", way).put("right", right && got == want).put("us", a.in_chain).put("us_programmatic", b.in_chain).put("us_alone", a.each);
        } catch (const std::exception& e) { line("top k").put("way", way).put("error", e.what()); }
      };
      report("one block, 4 passes of 8 bits", [&](bool pdl) { return [&, pdl](cudaStream_t q) { launched(pdl, top_one_block<8, 1024>, 1, 1024, 0, q, static_cast<const float*>(d), n, k, out, count); }; });
      report("one block, 3 passes of 11 bits", [&](bool pdl) { return [&, pdl](cudaStream_t q) { launched(pdl, top_one_block<11, 1024>, 1, 1024, 0, q, static_cast<const float*>(d), n, k, out, count); }; });
      const int blocks = std::min(sms, up(n, 256));
      report(std::to_string(blocks) + " blocks, 7 kernels", [&](bool pdl) {
        return [&, pdl](cudaStream_t q) {
          const float* c = d;
          launched(pdl, top_clear, 1, 1024, 0, q, s);
          launched(pdl, top_bins<0>, blocks, 256, 0, q, c, n, k, s);
          launched(pdl, top_bins<1>, blocks, 256, 0, q, c, n, k, s);
          launched(pdl, top_bins<2>, blocks, 256, 0, q, c, n, k, s);
          launched(pdl, top_bins<3>, blocks, 256, 0, q, c, n, k, s);
          launched(pdl, top_counts, blocks, 256, 0, q, c, n, k, s);
          launched(pdl, top_write, blocks, 256, 0, q, c, n, k, out, count, s);
        };
      });
      for (void* p : {static_cast<void*>(d), static_cast<void*>(out), static_cast<void*>(count), static_cast<void*>(s.bins), static_cast<void*>(s.of_block)}) GPU_OK(cudaFree(p));
    }
}

// ---- dx[i][c] = sum over o of dy[i][o] w[c][o], where h[rows[i]][c] > 0. Rows beyond the count: no work
struct dg_args {
  const float *dy, *w, *h;
  float* dx;
  const int *rows, *count;
  int in, out; // of the layer
};
template <int TM, int TN, int MM, int MN, int SI, int BK> __global__ void __launch_bounds__(TM / MM * (TN / MN) * SI) dgrad_rows(const dg_args g) {
  constexpr int NM = TM / MM, NN = TN / MN, R = BK + 4, threads = NM * NN * SI, stage = (TM + TN) * R, quads = BK / 4, STAGES = 3;
  static_assert(BK % 32 == 0);
  DYNAMIC_SHARED(float, sh);
  const int t = static_cast<int>(threadIdx.x), si = t / (NM * NN), tn = t % NN, tm = t / NN % NM;
  const int tiles_n = up(g.in, TN), c0 = static_cast<int>(blockIdx.x) % tiles_n * TN, m0 = static_cast<int>(blockIdx.x) / tiles_n * TM;
  wait_for_last();
  const int count = *g.count;
  if (m0 >= count) return;
  const int parts = up(g.out, BK);
  const auto load = [&](int part, float* s) {
    for (int i = t; i < (TM + TN) * quads; i += threads) {
      const int row = i / quads, q = part * BK + i % quads * 4;
      const bool of_dy = row < TM;
      const int r = of_dy ? m0 + row : c0 + row - TM;
      const bool in = (of_dy ? r < count : r < g.in) && q < g.out;
      const float* base = of_dy ? g.dy : g.w;
      async16(s + row * R + i % quads * 4, in ? base + static_cast<u64>(r) * static_cast<u64>(g.out) + static_cast<u64>(q) : base, in);
    }
  };
  float acc[MM][MN];
#pragma unroll
  for (int i = 0; i < MM; ++i)
#pragma unroll
    for (int j = 0; j < MN; ++j) acc[i][j] = 0;
#pragma unroll
  for (int k = 0; k < STAGES - 1; ++k) {
    if (k < parts) load(k, sh + k * stage);
    async_commit();
  }
  for (int part = 0; part < parts; ++part) {
    async_wait<STAGES - 2>();
    __syncthreads();
    if (part + STAGES - 1 < parts) load(part + STAGES - 1, sh + (part + STAGES - 1) % STAGES * stage);
    async_commit();
    const float *pa = sh + part % STAGES * stage + tm * R, *pb = sh + part % STAGES * stage + (TM + tn) * R;
#pragma unroll 2
    for (int q = si; q < quads; q += SI) {
      float4 b[MN];
#pragma unroll
      for (int j = 0; j < MN; ++j) b[j] = *reinterpret_cast<const float4*>(pb + j * NN * R + q * 4);
#pragma unroll
      for (int i = 0; i < MM; ++i) {
        const float4 a = *reinterpret_cast<const float4*>(pa + i * NM * R + q * 4);
#pragma unroll
        for (int j = 0; j < MN; ++j) {
          acc[i][j] += a.x * b[j].x;
          acc[i][j] += a.y * b[j].y;
          acc[i][j] += a.z * b[j].z;
          acc[i][j] += a.w * b[j].w;
        }
      }
    }
  }
  async_wait<0>();
  float* const red = sh;
#pragma unroll
  for (int h = SI / 2; h > 0; h /= 2) {
    __syncthreads();
    if (si >= h && si < 2 * h)
#pragma unroll
      for (int i = 0; i < MM; ++i)
#pragma unroll
        for (int j = 0; j < MN; ++j) red[(si - h) * TM * TN + (tm + i * NM) * TN + tn + j * NN] = acc[i][j];
    __syncthreads();
    if (si < h)
#pragma unroll
      for (int i = 0; i < MM; ++i)
#pragma unroll
        for (int j = 0; j < MN; ++j) acc[i][j] += red[si * TM * TN + (tm + i * NM) * TN + tn + j * NN];
  }
  if (si == 0)
#pragma unroll
    for (int i = 0; i < MM; ++i) {
      const int m = m0 + tm + i * NM;
      if (m >= count) continue;
      const u64 row = static_cast<u64>(g.rows[m]) * static_cast<u64>(g.in);
#pragma unroll
      for (int j = 0; j < MN; ++j) {
        const int c = c0 + tn + j * NN;
        if (c < g.in) g.dx[static_cast<u64>(m) * static_cast<u64>(g.in) + static_cast<u64>(c)] = g.h[row + static_cast<u64>(c)] > 0 ? acc[i][j] : 0;
      }
    }
}
template <int TM, int TN, int SI, int BK> constexpr int dgrad_bytes() {
  const int load = 3 * (TM + TN) * (BK + 4), red = SI / 2 * TM * TN;
  return 4 * (load > red ? load : red);
}
// few outputs (the last layer): a thread 4 of a row
__global__ void __launch_bounds__(256) dgrad_few(const dg_args g) {
  const int quads = g.in / 4, t = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x), m = t / quads, c = t % quads * 4;
  wait_for_last();
  if (m >= *g.count) return;
  float s[4] = {0, 0, 0, 0};
  for (int o = 0; o < g.out; ++o) {
    const float d = g.dy[m * g.out + o];
    for (int j = 0; j < 4; ++j) s[j] += d * g.w[(c + j) * g.out + o];
  }
  const float4 h = *reinterpret_cast<const float4*>(g.h + static_cast<u64>(g.rows[m]) * static_cast<u64>(g.in) + static_cast<u64>(c));
  *reinterpret_cast<float4*>(g.dx + static_cast<u64>(m) * static_cast<u64>(g.in) + static_cast<u64>(c)) = make_float4(h.x > 0 ? s[0] : 0, h.y > 0 ? s[1] : 0, h.z > 0 ? s[2] : 0, h.w > 0 ? s[3] : 0);
}
// ---- part[split][(in + 1)][out]: rows 0..in-1: sum over i of h[rows[i]][a] dy[i][b]; row `in`: sums of dy
struct wg_args {
  const float *h, *dy;
  float* part;
  const int *rows, *count;
  int in, out, splits;
};
template <int TA, int TB, int MA, int MB, int SI, int BM> __global__ void __launch_bounds__(TA / MA * (TB / MB) * SI) wgrad_rows(const wg_args g) {
  constexpr int NA = TA / MA, NB = TB / MB, threads = NA * NB * SI, stage = BM * (TA + TB), STAGES = 3, VA = MA < 4 ? MA : 4, VB = MB < 4 ? MB : 4;
  static_assert(MA % VA == 0 && MB % VB == 0);
  DYNAMIC_SHARED(float, sh);
  const int t = static_cast<int>(threadIdx.x), si = t / (NA * NB), tb = t % NB, ta = t / NB % NA;
  const int tiles_a = up(g.in, TA), tiles_b = up(g.out, TB);
  int at = static_cast<int>(blockIdx.x);
  const int b0 = at % tiles_b * TB;
  at /= tiles_b;
  const int a0 = at % tiles_a * TA, split = at / tiles_a;
  wait_for_last();
  const int count = *g.count, all = up(count, BM);
  const int from = all * split / g.splits, to = all * (split + 1) / g.splits; // parts of BM rows: by the count alone
  const auto load = [&](int part, float* s) {
    const auto side_of = [&](const float* base, int first, int many, int T, bool gather, float* d) {
      if (many % 4 == 0)
        for (int i = t; i < BM * (T / 4); i += threads) {
          const int r = i / (T / 4), c = i % (T / 4) * 4, m = part * BM + r;
          const bool in = m < count && first + c < many;
          async16(d + r * T + c, in ? base + static_cast<u64>(gather ? g.rows[m] : m) * static_cast<u64>(many) + static_cast<u64>(first + c) : base, in);
        }
      else
        for (int i = t; i < BM * T; i += threads) {
          const int r = i / T, c = i % T, m = part * BM + r;
          const bool in = m < count && first + c < many;
          async4(d + r * T + c, in ? base + static_cast<u64>(gather ? g.rows[m] : m) * static_cast<u64>(many) + static_cast<u64>(first + c) : base, in);
        }
    };
    side_of(g.h, a0, g.in, TA, true, s);
    side_of(g.dy, b0, g.out, TB, false, s + BM * TA);
  };
  float acc[MA][MB], bias = 0;
#pragma unroll
  for (int i = 0; i < MA; ++i)
#pragma unroll
    for (int j = 0; j < MB; ++j) acc[i][j] = 0;
#pragma unroll
  for (int k = 0; k < STAGES - 1; ++k) {
    if (from + k < to) load(from + k, sh + k * stage);
    async_commit();
  }
  for (int part = from; part < to; ++part) {
    async_wait<STAGES - 2>();
    __syncthreads();
    if (part + STAGES - 1 < to) load(part + STAGES - 1, sh + (part - from + STAGES - 1) % STAGES * stage);
    async_commit();
    const float *pa = sh + (part - from) % STAGES * stage, *pb = pa + BM * TA;
#pragma unroll 4
    for (int r = si; r < BM; r += SI) {
      float a[MA], b[MB];
#pragma unroll
      for (int i = 0; i < MA; i += VA)
#pragma unroll
        for (int v = 0; v < VA; ++v) a[i + v] = pa[r * TA + i * NA + ta * VA + v];
#pragma unroll
      for (int j = 0; j < MB; j += VB)
#pragma unroll
        for (int v = 0; v < VB; ++v) b[j + v] = pb[r * TB + j * NB + tb * VB + v];
#pragma unroll
      for (int i = 0; i < MA; ++i)
#pragma unroll
        for (int j = 0; j < MB; ++j) acc[i][j] += a[i] * b[j];
    }
    if (a0 == 0 && t < TB)
      for (int r = 0; r < BM; ++r) bias += pb[r * TB + t];
  }
  async_wait<0>();
  const auto row_of = [&](int i) { return i / VA * VA * NA + ta * VA + i % VA; };
  const auto col_of = [&](int j) { return j / VB * VB * NB + tb * VB + j % VB; };
  float* const red = sh;
#pragma unroll
  for (int h = SI / 2; h > 0; h /= 2) {
    __syncthreads();
    if (si >= h && si < 2 * h)
#pragma unroll
      for (int i = 0; i < MA; ++i)
#pragma unroll
        for (int j = 0; j < MB; ++j) red[(si - h) * TA * TB + row_of(i) * TB + col_of(j)] = acc[i][j];
    __syncthreads();
    if (si < h)
#pragma unroll
      for (int i = 0; i < MA; ++i)
#pragma unroll
        for (int j = 0; j < MB; ++j) acc[i][j] += red[si * TA * TB + row_of(i) * TB + col_of(j)];
  }
  float* const y = g.part + static_cast<u64>(split) * static_cast<u64>(g.in + 1) * static_cast<u64>(g.out);
  if (si == 0)
#pragma unroll
    for (int i = 0; i < MA; ++i)
#pragma unroll
      for (int j = 0; j < MB; ++j) {
        const int a = a0 + row_of(i), b = b0 + col_of(j);
        if (a < g.in && b < g.out) y[static_cast<u64>(a) * static_cast<u64>(g.out) + static_cast<u64>(b)] = acc[i][j];
      }
  if (a0 == 0 && t < TB && b0 + t < g.out) y[static_cast<u64>(g.in) * static_cast<u64>(g.out) + static_cast<u64>(b0 + t)] = bias;
}
template <int TA, int TB, int SI, int BM> constexpr int wgrad_bytes() {
  const int load = 3 * BM * (TA + TB), red = SI / 2 * TA * TB;
  return 4 * (load > red ? load : red);
}
// ---- references in double, on device results of the layer above in double
__global__ void ref_dx(const double* dy, const float* w, const float* h, const int* rows, int count, int in, int out, double* dx) {
  for (int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); t < count * in; t += static_cast<int>(gridDim.x * blockDim.x)) {
    const int m = t / in, c = t % in;
    double s = 0;
    for (int o = 0; o < out; ++o) s += dy[m * out + o] * static_cast<double>(w[c * out + o]);
    dx[t] = h[rows[m] * in + c] > 0 ? s : 0;
  }
}
__global__ void ref_dw(const double* dy, const float* h, const int* rows, int count, int in, int out, double* dw) {
  for (int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); t < (in + 1) * out; t += static_cast<int>(gridDim.x * blockDim.x)) {
    const int a = t / out, b = t % out;
    double s = 0;
    for (int m = 0; m < count; ++m) s += (a == in ? 1 : static_cast<double>(h[rows[m] * in + a])) * dy[m * out + b];
    dw[t] = s;
  }
}
__global__ void widen(const float* a, double* b, int n) {
  for (int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); t < n; t += static_cast<int>(gridDim.x * blockDim.x)) b[t] = static_cast<double>(a[t]);
}
template <int TM, int TN, int MM, int MN, int SI, int BK> struct dg { static constexpr int m = TM, n = TN, threads = TM / MM * (TN / MN) * SI, bytes = dgrad_bytes<TM, TN, SI, BK>(); static constexpr auto kernel = dgrad_rows<TM, TN, MM, MN, SI, BK>; };
template <int TA, int TB, int MA, int MB, int SI, int BM> struct wg { static constexpr int a = TA, b = TB, threads = TA / MA * (TB / MB) * SI, bytes = wgrad_bytes<TA, TB, SI, BM>(); static constexpr auto kernel = wgrad_rows<TA, TB, MA, MB, SI, BM>; };

static int N = 4096, dims[5] = {63, 256, 256, 256, 3};
static float *act[4], *weight[4], *dy[4], *part[4], *dwb[4]; // act[l]: what goes into layer l; dy[l]: of layer l's outputs
static int *rows_, *count_;
static std::vector<double> rw[4]; // dW and db of layers
static double *wide[4], *ref_w;

template <class D, class Wg> double chain(const char* what, int splits, int count, bool pdl, bool forked) {
  double us = 0;
  try {
    cudaEvent_t fork, join;
    GPU_OK(cudaEventCreate(&fork));
    GPU_OK(cudaEventCreate(&join));
    const auto f = [&](cudaStream_t s) {
      std::vector<sum_job> jobs;
      const cudaStream_t u = forked ? side : s;
      for (int l = 3; l >= 0; --l) {
        const int in = dims[l], out = dims[l + 1];
#ifndef EMULATED
        if (forked) {
          GPU_OK(cudaEventRecord(fork, s));
          GPU_OK(cudaStreamWaitEvent(side, fork, 0));
        }
#endif
        const wg_args w{act[l], dy[l], part[l], rows_, count_, in, out, l == 3 ? 16 : splits};
        if (out < 16) launched(pdl, wgrad_rows<64, 4, 2, 2, 4, 32>, up(in, 64) * w.splits, 256, wgrad_bytes<64, 4, 4, 32>(), u, w);
        else launched(pdl, Wg::kernel, up(in, Wg::a) * up(out, Wg::b) * w.splits, Wg::threads, Wg::bytes, u, w);
        jobs.push_back({part[l], dwb[l], (in + 1) * out, w.splits});
        if (l == 0) break;
        const dg_args d{dy[l], weight[l], act[l], dy[l - 1], rows_, count_, in, out};
        if (out < 16) launched(pdl, dgrad_few, up(N * in / 4, 256), 256, 0, s, d);
        else launched(pdl, D::kernel, up(N, D::m) * up(in, D::n), D::threads, D::bytes, s, d);
      }
      sum(u, pdl, jobs);
#ifndef EMULATED
      if (forked) {
        GPU_OK(cudaEventRecord(join, side));
        GPU_OK(cudaStreamWaitEvent(s, join, 0));
      }
#endif
    };
    GPU_OK(cudaMemcpy(count_, &count, 4, cudaMemcpyHostToDevice));
    for (int l = 0; l < 4; ++l) {
      GPU_OK(cudaMemset(dwb[l], 0xff, static_cast<u64>(dims[l] + 1) * static_cast<u64>(dims[l + 1]) * 4));
      if (l < 3) GPU_OK(cudaMemset(dy[l], 0xff, static_cast<u64>(N) * static_cast<u64>(dims[l + 1]) * 4));
    }
    GPU_OK(cudaDeviceSynchronize());
    f(stream);
    GPU_OK(cudaGetLastError());
    const graph_times t = graphed(stream, f, 5, 15);
    GPU_OK(cudaDeviceSynchronize());
    double worst = 0;
    std::string of_layer;
    for (int l = 0; l < 4; ++l) {
      std::vector<float> v(rw[l].size());
      GPU_OK(cudaMemcpy(v.data(), dwb[l], v.size() * 4, cudaMemcpyDeviceToHost));
      double d = 0, s = 1e-300;
      for (std::size_t i = 0; i < v.size(); ++i) {
        const double e = static_cast<double>(v[i]) - rw[l][i];
        d += std::isnan(e) ? 1e30 : e * e, s += rw[l][i] * rw[l][i];
      }
      worst = std::max(worst, std::sqrt(d / s));
    }
    us = t.each;
    line("chosen rows").put("way", what).put("splits", splits).put("count", count).put("of", N).put("mode", forked ? "wgrad beside dgrad" : pdl ? "programmatic" : "in line").put("right", worst < 5e-6).put("error", worst)
        .put("us_alone", t.each).put("us_in_chain", t.in_chain);
  } catch (const std::exception& e) { line("chosen rows").put("way", what).put("error", e.what()); }
  return us;
}
template <class F> void both(F&& f) { f(false, false), f(true, false), f(false, true); }

int main() {
  need_device("mlp2");
  try {
    GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GPU_OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
#ifdef EMULATED
    sms = 3, N = 83;
    dims[1] = 72, dims[2] = 40, dims[3] = 68;
#endif
    top_k();
    for (int l = 0; l < 4; ++l) {
      const u64 n = static_cast<u64>(N), in = static_cast<u64>(dims[l]), out = static_cast<u64>(dims[l + 1]);
      act[l] = device<float>(n * in), weight[l] = device<float>(in * out), dy[l] = device<float>(n * out), part[l] = device<float>(32 * (in + 1) * out), dwb[l] = device<float>((in + 1) * out), wide[l] = device<double>(n * out);
      LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, act[l], n * in, 31ull + static_cast<u64>(l), 1.0f);
      LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, weight[l], in * out, 41ull + static_cast<u64>(l), 0.2f);
    }
    LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, dy[3], static_cast<u64>(N * dims[4]), 51ull, 1.0f);
    ref_w = device<double>(static_cast<u64>(257 * 256));
    rows_ = device<int>(static_cast<u64>(N)), count_ = device<int>(1);
    double us[2][3][8] = {};
    for (const int quarter : {1, 0}) {
      const int count = quarter != 0 ? N / 4 : N;
      std::vector<int> r(static_cast<std::size_t>(N), 0);
      for (int i = 0; i < count; ++i) r[static_cast<std::size_t>(i)] = quarter != 0 ? i * 4 + static_cast<int>((static_cast<u32>(i) * 2654435761u) >> 30) : i; // in order, irregular
      if (quarter != 0)
        for (int i = 0; i < count; ++i) r[static_cast<std::size_t>(i)] = std::min(r[static_cast<std::size_t>(i)], N - 1);
      GPU_OK(cudaMemcpy(rows_, r.data(), r.size() * 4, cudaMemcpyHostToDevice));
      GPU_OK(cudaDeviceSynchronize());
      LAUNCH(widen, static_cast<unsigned>(sms), 256, 0, stream, dy[3], wide[3], count * dims[4]);
      for (int l = 3; l >= 0; --l) {
        LAUNCH(ref_dw, 260, 256, 0, stream, wide[l], act[l], rows_, count, dims[l], dims[l + 1], ref_w);
        rw[l].resize(static_cast<std::size_t>((dims[l] + 1) * dims[l + 1]));
        GPU_OK(cudaDeviceSynchronize());
        GPU_OK(cudaMemcpy(rw[l].data(), ref_w, rw[l].size() * 8, cudaMemcpyDeviceToHost));
        if (l > 0) LAUNCH(ref_dx, static_cast<unsigned>(sms * 8), 256, 0, stream, wide[l], weight[l], act[l], rows_, count, dims[l], dims[l + 1], wide[l - 1]);
      }
      GPU_OK(cudaDeviceSynchronize());
      int mode = 0;
      both([&](bool pdl, bool forked) {
        double* u = us[quarter][mode++];
        u[0] = chain<dg<32, 64, 4, 4, 2, 32>, wg<64, 64, 8, 8, 4, 32>>("dgrad 32x64/4x4x2, wgrad 64x64/8x8x4", 8, count, pdl, forked);
        u[1] = chain<dg<64, 64, 8, 4, 2, 32>, wg<64, 64, 8, 8, 4, 32>>("dgrad 64x64/8x4x2, wgrad 64x64/8x8x4", 16, count, pdl, forked);
        u[2] = chain<dg<32, 64, 4, 4, 2, 32>, wg<64, 64, 4, 4, 1, 32>>("dgrad 32x64/4x4x2, wgrad 64x64/4x4", 16, count, pdl, forked);
        u[3] = chain<dg<32, 32, 4, 4, 4, 32>, wg<64, 64, 8, 8, 4, 32>>("dgrad 32x32/4x4x4, wgrad 64x64/8x8x4", 8, count, pdl, forked);
        u[4] = chain<dg<64, 64, 8, 8, 4, 32>, wg<64, 32, 8, 4, 4, 32>>("dgrad 64x64/8x8x4, wgrad 64x32/8x4x4", 8, count, pdl, forked);
      });
    }
    for (int m = 0; m < 3; ++m)
      for (int k = 0; k < 5; ++k)
        line("chosen rows ratio").put("way", k).put("mode", m == 0 ? "in line" : m == 1 ? "programmatic" : "wgrad beside dgrad").put("quarter_us", us[1][m][k]).put("full_us", us[0][m][k]).put("ratio", us[1][m][k] / us[0][m][k]);
#ifndef EMULATED
    { // the five large products, no gather, no masks, no biases
      lt_products lt(stream);
      for (const int n : {1024, 4096}) {
        double total_first = 0, total_best = 0;
        for (int l = 2; l >= 0; --l)
          for (const bool wgrad : {true, false}) {
            if (!wgrad && l == 0) continue;
            const int in = dims[l], out = dims[l + 1];
            // dw[in][out] = h^T dy: column-major dw^T (out x in) = dy^T h;  dx[n][in]: dx^T (in x n) = w dy^T
            const lt_problem p = wgrad ? lt_problem{out, in, n, false, true, out, in, out, dy[l], act[l], dwb[l]} : lt_problem{in, n, out, true, false, out, out, in, weight[l], dy[l], dy[l - 1]};
            double first = 0, best = 1e30;
            std::string name;
            lt.each(p, 8, [&](int k, const std::string& s, auto&& f) {
              const double u = graphed(stream, f, 5, 7).in_chain;
              if (k == 0) first = u;
              if (u < best) best = u, name = s;
            });
            total_first += first, total_best += best;
            line("lt").put("workload", "ohem-mlp layer " + std::to_string(l)).put("pass", wgrad ? "wgrad" : "dgrad").put("rows", n).put("first_us", first).put("best_us", best).put("best", name);
          }
        line("lt chain").put("rows", n).put("products", 5).put("first_us", total_first).put("best_us", total_best);
      }
    }
#endif
    line("stage ends");
  } catch (const std::exception& e) { line("mlp2 error").put("error", e.what()); }
}
