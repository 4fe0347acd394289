// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The step of a masked sparse least-squares problem as one graph: A x, r = (A x - b) mask, loss, A^T r by slices of a copy.
#define GPU_THROWS
#include "common.hpp"
#include "emu2.hpp"
#include <cstring>
#include <numeric>
#ifndef EMULATED
#include <cub/device/device_scan.cuh>
#include <cusparse.h>
#define SP_OK(x)                                                                                                       \
  do {                                                                                                                 \
    const cusparseStatus_t e_ = (x);                                                                                   \
    if (e_ != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(std::string(#x ": ") + cusparseGetErrorString(e_));     \
  } while (0)
#endif
using i32 = std::int32_t;
static cudaStream_t stream;
static int sms = 132, maximum_width = 57344;
static double copy_gbs = 1;
constexpr int piece_entries = 256, pad = 4;
static unsigned grid_of(u64 n) { return static_cast<unsigned>((n + 255) / 256); }

__host__ __device__ inline u64 hashed(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
// a warp a row: one column of each of L ranges of columns
__global__ void make_rows(const i32* rp, i32* col, float* val, int m, int n) {
  const int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (row >= m) return;
  const int b = rp[row], L = rp[row + 1] - b;
  for (int j = lane; j < L; j += 32) {
    const u64 h = hashed(static_cast<u64>(row) << 20 | static_cast<u64>(j));
    const u64 lo = static_cast<u64>(j) * static_cast<u64>(n) / static_cast<u64>(L), hi = static_cast<u64>(j + 1) * static_cast<u64>(n) / static_cast<u64>(L);
    col[b + j] = static_cast<i32>(lo + h % (hi > lo ? hi - lo : 1));
    val[b + j] = unit(h);
  }
}
__global__ void ref_rows(const i32* rp, const i32* col, const float* val, const float* x, const float* target, const float* mask, double* r, int m) {
  const int w = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (w >= m) return;
  double s = 0;
  for (int e = rp[w] + lane; e < rp[w + 1]; e += 32) s += static_cast<double>(val[e]) * static_cast<double>(x[col[e]]);
  for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (lane == 0) r[w] = (s - static_cast<double>(target[w])) * static_cast<double>(mask[w]);
}
__global__ void ref_columns(const i32* rp, const i32* col, const float* val, const double* r, double* g, int m) {
  const int w = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (w >= m || r[w] == 0) return;
  for (int e = rp[w] + lane; e < rp[w + 1]; e += 32) atomicAdd(&g[col[e]], static_cast<double>(val[e]) * r[w]);
}
// ---- slices of columns; in each the entries of a row, padded, in pieces of at most 256
__host__ __device__ inline int lower(const i32* col, int b, int e, int c) {
  while (b < e) {
    const int h = b + (e - b) / 2;
    if (col[h] < c) b = h + 1;
    else e = h;
  }
  return b;
}
__global__ void slice_counts(const i32* rp, const i32* col, i32* entries, i32* pieces, int m, int slices, int width) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= m) return;
  int b = rp[row];
  for (int s = 0; s < slices; ++s) {
    const int e = lower(col, b, rp[row + 1], (s + 1) * width), n = (e - b + pad - 1) / pad * pad;
    entries[static_cast<u64>(s) * static_cast<u64>(m) + static_cast<u64>(row)] = n;
    pieces[static_cast<u64>(s) * static_cast<u64>(m) + static_cast<u64>(row)] = (n + piece_entries - 1) / piece_entries;
    b = e;
  }
}
__global__ void slice_fill(const i32* rp, const i32* col, const float* val, const i32* at_entry, const i32* at_piece, float* v, std::uint16_t* c, i32* base, i32* row_of, int m, int slices, int width) {
  const int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = static_cast<int>(threadIdx.x % 32);
  if (row >= m) return;
  int b = rp[row];
  for (int s = 0; s < slices; ++s) {
    const int e = lower(col, b, rp[row + 1], (s + 1) * width);
    const u64 k = static_cast<u64>(s) * static_cast<u64>(m) + static_cast<u64>(row);
    const int at = at_entry[k];
    for (int i = b + lane; i < e; i += 32) {
      v[at + i - b] = val[i];
      c[at + i - b] = static_cast<std::uint16_t>(col[i] - s * width);
    }
    for (int p = at_piece[k] + lane; p < at_piece[k + 1]; p += 32) base[p] = at + (p - at_piece[k]) * piece_entries, row_of[p] = row;
    b = e;
  }
}
struct sliced {
  const i32 *base, *row_of, *first, *at_piece; // of pieces: entries, rows; first[block]; at_piece[slice * rows + row]
  const float* values;
  const std::uint16_t* columns;
  const float* x;
  float* partial; // of pieces
  const float* mask;
  int rows, columns_all, slices, width;
  i32 slice_first[24];
};
// Way: 0 all; 1 pieces of rows whose mask is 0 are not read; 2 values are read where one of the 4 x is not 0
template <int G, int U, int Way> __global__ void __launch_bounds__(1024, 1) sliced_pieces(const sliced a) {
  DYNAMIC_SHARED(float, xs);
  constexpr int per = 32 / G;
  const int warps = static_cast<int>(blockDim.x) / 32, warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % G, group = static_cast<int>(threadIdx.x) % 32 / G;
  int at = a.first[blockIdx.x];
  const int to = a.first[blockIdx.x + 1];
  int s = 0;
  wait_for_last();
  while (at < to) {
    while (a.slice_first[s + 1] <= at) ++s;
    const int end = to < a.slice_first[s + 1] ? to : a.slice_first[s + 1];
    const int first = s * a.width, many = a.columns_all - first < a.width ? a.columns_all - first : a.width;
    for (int i = static_cast<int>(threadIdx.x) * 4; i < many; i += static_cast<int>(blockDim.x) * 4) {
      if (i + 4 <= many) *reinterpret_cast<float4*>(xs + i) = *reinterpret_cast<const float4*>(a.x + first + i);
      else
        for (int k = i; k < many; ++k) xs[k] = a.x[first + k];
    }
    __syncthreads();
    for (int w = at + warp * per * U; w < end; w += warps * per * U) {
      int b[U], e[U];
      float sum[U];
      float4 v[U];
      ushort4 c[U];
      bool mine[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const int p = w + u * per + group;
        mine[u] = p < end;
        if (Way == 1) mine[u] = mine[u] && __ldg(a.mask + __ldg(a.row_of + p)) != 0;
        b[u] = mine[u] ? __ldg(a.base + p) + lane * 4 : 0;
        e[u] = mine[u] ? __ldg(a.base + p + 1) : 0;
        sum[u] = 0;
      }
      const auto dot = [&](float4 f, ushort4 k) { return f.x * xs[k.x] + f.y * xs[k.y] + f.z * xs[k.z] + f.w * xs[k.w]; };
      const auto lazy = [&](int i) {
        const ushort4 k = __ldcs(reinterpret_cast<const ushort4*>(a.columns + i));
        const float x0 = xs[k.x], x1 = xs[k.y], x2 = xs[k.z], x3 = xs[k.w];
        if (x0 == 0 && x1 == 0 && x2 == 0 && x3 == 0) return 0.0f;
        const float4 f = __ldcs(reinterpret_cast<const float4*>(a.values + i));
        return f.x * x0 + f.y * x1 + f.z * x2 + f.w * x3;
      };
      if constexpr (Way == 2) {
#pragma unroll
        for (int u = 0; u < U; ++u)
          for (int i = b[u]; i < e[u]; i += G * 4) sum[u] += lazy(i);
      } else {
#pragma unroll
        for (int u = 0; u < U; ++u)
          if (b[u] < e[u]) {
            v[u] = __ldcs(reinterpret_cast<const float4*>(a.values + b[u]));
            c[u] = __ldcs(reinterpret_cast<const ushort4*>(a.columns + b[u]));
          }
#pragma unroll
        for (int u = 0; u < U; ++u) {
          if (b[u] < e[u]) sum[u] = dot(v[u], c[u]);
          for (int i = b[u] + G * 4; i < e[u]; i += G * 4)
            sum[u] += dot(__ldcs(reinterpret_cast<const float4*>(a.values + i)), __ldcs(reinterpret_cast<const ushort4*>(a.columns + i)));
        }
      }
#pragma unroll
      for (int u = 0; u < U; ++u) {
#pragma unroll
        for (unsigned d = G / 2; d > 0; d /= 2) sum[u] += __shfl_xor_sync(0xffffffffu, sum[u], d);
        if (lane == 0 && mine[u]) a.partial[w + u * per + group] = sum[u];
      }
    }
    __syncthreads();
    at = end;
  }
}
__device__ inline float pieces_of(const sliced& a, int i) {
  float s = 0;
  for (int k = 0; k < a.slices; ++k) {
    const u64 at = static_cast<u64>(k) * static_cast<u64>(a.rows) + static_cast<u64>(i);
    const int e = a.at_piece[at + 1];
    for (int p = a.at_piece[at]; p < e; ++p) s += a.partial[p];
  }
  return s;
}
__device__ inline float block_total(float s) {
  SHARED float of_warp[8];
  for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i) s += of_warp[i];
  __syncthreads();
  return s;
}
__global__ void __launch_bounds__(256) residuals(const sliced a, const float* target, float* r, float* losses) {
  float loss = 0;
  wait_for_last();
  for (int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x); i < a.rows; i += static_cast<int>(gridDim.x) * 256) {
    const float k = a.mask[i], v = k != 0 ? (pieces_of(a, i) - target[i]) * k : 0;
    r[i] = v;
    loss += v * v;
  }
  loss = block_total(loss);
  if (threadIdx.x == 0) losses[blockIdx.x] = loss;
}
__global__ void __launch_bounds__(256) gradients(const sliced a, float* g, const float* losses, int many, float* loss) {
  wait_for_last();
  for (int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x); i < a.rows; i += static_cast<int>(gridDim.x) * 256) g[i] = pieces_of(a, i);
  if (blockIdx.x == 0) {
    float s = 0;
    for (int i = static_cast<int>(threadIdx.x); i < many; i += 256) s += losses[i];
    s = block_total(s);
    if (threadIdx.x == 0) *loss = s;
  }
}
struct csr {
  int m = 0, n = 0;
  u64 nnz = 0;
  i32 *rp = nullptr, *col = nullptr;
  float* val = nullptr;
  void free() { for (void* p : {static_cast<void*>(rp), static_cast<void*>(col), static_cast<void*>(val)}) GPU_OK(cudaFree(p)); }
};
static void scan(i32* count, i32* base, u64 n) { // count has n + 1, the last 0
#ifdef EMULATED
  base[0] = 0;
  for (u64 i = 0; i < n; ++i) base[i + 1] = base[i] + count[i];
#else
  std::size_t bytes = 0;
  GPU_OK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, count, base, n + 1, stream));
  void* w = device<char>(bytes);
  GPU_OK(cub::DeviceScan::ExclusiveSum(w, bytes, count, base, n + 1, stream));
  GPU_OK(cudaStreamSynchronize(stream));
  GPU_OK(cudaFree(w));
#endif
}
struct slices_of {
  sliced a{};
  std::vector<void*> memory;
  double stored = 0;
  explicit slices_of(const csr& p) {
    const auto keep = [&](auto* q) { memory.push_back(const_cast<void*>(static_cast<const void*>(q))); return q; };
    a.rows = p.m, a.columns_all = p.n;
    a.slices = (p.n + maximum_width - 1) / maximum_width;
    a.width = ((p.n + a.slices - 1) / a.slices + 3) / 4 * 4;
    if (a.slices > 23) throw std::runtime_error("slices");
    const u64 all = static_cast<u64>(p.m) * static_cast<u64>(a.slices);
    i32 *ce = device<i32>(all + 1), *cp = device<i32>(all + 1), *be = device<i32>(all + 1), *bp = keep(device<i32>(all + 1));
    GPU_OK(cudaMemsetAsync(ce, 0, (all + 1) * 4, stream));
    GPU_OK(cudaMemsetAsync(cp, 0, (all + 1) * 4, stream));
    LAUNCH(slice_counts, grid_of(static_cast<u64>(p.m)), 256, 0, stream, p.rp, p.col, ce, cp, p.m, a.slices, a.width);
    GPU_OK(cudaStreamSynchronize(stream));
    scan(ce, be, all);
    scan(cp, bp, all);
    i32 entries = 0, pieces = 0;
    GPU_OK(cudaMemcpy(&entries, be + all, 4, cudaMemcpyDeviceToHost));
    GPU_OK(cudaMemcpy(&pieces, bp + all, 4, cudaMemcpyDeviceToHost));
    const u64 n = static_cast<u64>(entries), np = static_cast<u64>(pieces);
    stored = static_cast<double>(n) / static_cast<double>(p.nnz);
    float* v = keep(device<float>(n));
    auto* c = keep(device<std::uint16_t>(n));
    i32 *base = keep(device<i32>(np + 1)), *row_of = keep(device<i32>(np + 1));
    GPU_OK(cudaMemsetAsync(v, 0, n * 4, stream));
    GPU_OK(cudaMemsetAsync(c, 0, n * 2, stream));
    LAUNCH(slice_fill, grid_of(static_cast<u64>(p.m) * 32), 256, 0, stream, p.rp, p.col, p.val, be, bp, v, c, base, row_of, p.m, a.slices, a.width);
    GPU_OK(cudaMemcpyAsync(base + np, &entries, 4, cudaMemcpyHostToDevice, stream));
    GPU_OK(cudaDeviceSynchronize());
    std::vector<i32> h(np + 1), first;
    GPU_OK(cudaMemcpy(h.data(), base, h.size() * 4, cudaMemcpyDeviceToHost));
    for (int b = 0; b < sms; ++b) first.push_back(static_cast<i32>(std::lower_bound(h.begin(), h.end() - 1, static_cast<i32>(static_cast<long>(entries) * b / sms)) - h.begin()));
    first.push_back(pieces);
    i32* f = keep(device<i32>(first.size()));
    GPU_OK(cudaMemcpy(f, first.data(), first.size() * 4, cudaMemcpyHostToDevice));
    for (int s = 0; s <= a.slices; ++s) GPU_OK(cudaMemcpy(a.slice_first + s, bp + static_cast<u64>(s) * static_cast<u64>(p.m), 4, cudaMemcpyDeviceToHost));
    a.base = base, a.row_of = row_of, a.first = f, a.at_piece = bp, a.values = v, a.columns = c, a.partial = keep(device<float>(np));
    for (void* q : {static_cast<void*>(ce), static_cast<void*>(cp), static_cast<void*>(be)}) GPU_OK(cudaFree(q));
  }
  slices_of(const slices_of&) = delete;
  ~slices_of() { for (void* p : memory) cudaFree(p); }
};
static csr made(const std::vector<i32>& rp, int n) {
  csr a{static_cast<int>(rp.size()) - 1, n, static_cast<u64>(rp.back()), device<i32>(rp.size()), device<i32>(static_cast<u64>(rp.back())), device<float>(static_cast<u64>(rp.back()))};
  GPU_OK(cudaMemcpy(a.rp, rp.data(), rp.size() * 4, cudaMemcpyHostToDevice));
  GPU_OK(cudaDeviceSynchronize());
  LAUNCH(make_rows, grid_of(static_cast<u64>(a.m) * 32), 256, 0, stream, a.rp, a.col, a.val, a.m, a.n);
  GPU_OK(cudaDeviceSynchronize());
  return a;
}
#ifdef EMULATED
static csr transposed(const csr& p) {
  csr t{p.n, p.m, p.nnz, device<i32>(static_cast<u64>(p.n) + 1), device<i32>(p.nnz), device<float>(p.nnz)};
  int at = 0;
  std::vector<std::vector<std::pair<int, float>>> by(static_cast<std::size_t>(p.n));
  for (int i = 0; i < p.m; ++i)
    for (int e = p.rp[i]; e < p.rp[i + 1]; ++e) by[static_cast<std::size_t>(p.col[e])].push_back({i, p.val[e]});
  for (int j = 0; j < p.n; ++j) {
    t.rp[j] = at;
    for (auto& [i, v] : by[static_cast<std::size_t>(j)]) t.col[at] = i, t.val[at++] = v;
  }
  t.rp[p.n] = at;
  return t;
}
#else
static cusparseHandle_t sp = nullptr;
static csr transposed(const csr& p) {
  csr t{p.n, p.m, p.nnz, device<i32>(static_cast<u64>(p.n) + 1), device<i32>(p.nnz), device<float>(p.nnz)};
  std::size_t bytes = 0;
  SP_OK(cusparseCsr2cscEx2_bufferSize(sp, p.m, p.n, static_cast<int>(p.nnz), p.val, p.rp, p.col, t.val, t.rp, t.col, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, &bytes));
  char* w = device<char>(bytes);
  SP_OK(cusparseCsr2cscEx2(sp, p.m, p.n, static_cast<int>(p.nnz), p.val, p.rp, p.col, t.val, t.rp, t.col, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, w));
  GPU_OK(cudaDeviceSynchronize());
  GPU_OK(cudaFree(w));
  return t;
}
static double spmv_ms(const csr& p, float* in, float* out) {
  cusparseSpMatDescr_t A;
  cusparseDnVecDescr_t x, y;
  SP_OK(cusparseCreateCsr(&A, p.m, p.n, static_cast<std::int64_t>(p.nnz), p.rp, p.col, p.val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  SP_OK(cusparseCreateDnVec(&x, p.n, in, CUDA_R_32F));
  SP_OK(cusparseCreateDnVec(&y, p.m, out, CUDA_R_32F));
  const float one = 1, zero = 0;
  std::size_t bytes = 0;
  SP_OK(cusparseSpMV_bufferSize(sp, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, x, &zero, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, &bytes));
  char* w = device<char>(bytes);
  SP_OK(cusparseSpMV_preprocess(sp, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, x, &zero, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, w));
  const times t = timed(stream, [&](cudaStream_t) { cusparseSpMV(sp, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A, x, &zero, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, w); }, 7, 2);
  cusparseDestroySpMat(A);
  cusparseDestroyDnVec(x);
  cusparseDestroyDnVec(y);
  GPU_OK(cudaFree(w));
  return t.median_us / 1e3;
}
#endif
template <int G, int U, int Way> void product(cudaStream_t s, bool pdl, const sliced& a) { launched(pdl, sliced_pieces<G, U, Way>, sms, 1024, a.width * 4, s, a); }

static void matrix(const char* name, const std::vector<i32>& rp, int n) {
  const int m = static_cast<int>(rp.size()) - 1;
  const csr A = made(rp, n), T = transposed(A);
  const u64 M = static_cast<u64>(m), Nn = static_cast<u64>(n);
  float *x = device<float>(Nn), *target = device<float>(M), *mask = device<float>(M), *r = device<float>(M), *g = device<float>(Nn), *losses = device<float>(4096), *loss = device<float>(1);
  double *rr = device<double>(M), *gg = device<double>(Nn);
  LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, x, Nn, 77ull, 1.0f);
  LAUNCH(fill_units, static_cast<unsigned>(sms), 256, 0, stream, target, M, 78ull, 1.0f);
  GPU_OK(cudaDeviceSynchronize());
  double t0 = now();
  slices_of sa(A);
  const double build_a = now() - t0;
  t0 = now();
  slices_of st(T);
  i32 longest = 0;
  for (std::size_t i = 1; i < rp.size(); ++i) longest = std::max(longest, rp[i] - rp[i - 1]);
  line("sparse slices 2").put("matrix", name).put("nnz", A.nnz).put("longest_row", longest)
      .put("stored", sa.stored).put("stored_copy", st.stored).put("build_ms", build_a * 1e3).put("build_copy_ms", (now() - t0) * 1e3);
  sa.a.x = x, sa.a.mask = mask, st.a.x = r, st.a.mask = mask;
#ifndef EMULATED
  try {
    line("sparse cusparse").put("matrix", name).put("a_x_ms", spmv_ms(A, x, r)).put("at_r_ms", spmv_ms(T, r, g));
  } catch (const std::exception& e) { line("sparse cusparse").put("matrix", name).put("error", e.what()); }
#endif
  for (const int percent : {100, 25, 10}) {
    std::vector<float> hm(M);
    std::vector<i32> kept_rp{0};
    u64 kept = 0;
    for (int i = 0; i < m; ++i) {
      const bool in = static_cast<int>(hashed(static_cast<u64>(i) ^ 0x7777000000ull) % 100) < percent;
      hm[static_cast<std::size_t>(i)] = in ? 1.0f : 0.0f;
      const i32 L = rp[static_cast<std::size_t>(i) + 1] - rp[static_cast<std::size_t>(i)];
      kept += in ? static_cast<u64>(L) : 0;
      kept_rp.push_back(kept_rp.back() + (in ? L : 0));
    }
    GPU_OK(cudaMemcpy(mask, hm.data(), hm.size() * 4, cudaMemcpyHostToDevice));
    GPU_OK(cudaDeviceSynchronize());
    LAUNCH(ref_rows, grid_of(M * 32), 256, 0, stream, A.rp, A.col, A.val, x, target, mask, rr, m);
    GPU_OK(cudaMemsetAsync(gg, 0, Nn * 8, stream));
    LAUNCH(ref_columns, grid_of(M * 32), 256, 0, stream, A.rp, A.col, A.val, rr, gg, m);
    GPU_OK(cudaDeviceSynchronize());
    std::vector<double> hr(M);
    GPU_OK(cudaMemcpy(hr.data(), rr, M * 8, cudaMemcpyDeviceToHost));
    double want = 0;
    for (const double v : hr) want += v * v;
    const int grid = static_cast<int>(std::min<u64>(grid_of(M), static_cast<u64>(sms) * 8)), grid_n = static_cast<int>(std::min<u64>(grid_of(Nn), static_cast<u64>(sms) * 8));
    const auto run = [&](const char* way, auto&& first, auto&& second, const sliced& copy, bool pdl) {
      try {
        const auto f = [&](cudaStream_t s) {
          first(s, pdl);
          launched(pdl, residuals, grid, 256, 0, s, sa.a, static_cast<const float*>(target), r, losses);
          second(s, pdl);
          launched(pdl, gradients, grid_n, 256, 0, s, copy, g, static_cast<const float*>(losses), grid, loss);
        };
        GPU_OK(cudaMemsetAsync(g, 0xff, Nn * 4, stream));
        GPU_OK(cudaMemsetAsync(r, 0xff, M * 4, stream));
        f(stream);
        GPU_OK(cudaGetLastError());
        const double error = norm_error(g, gg, Nn), error_r = norm_error(r, rr, M);
        float l = 0;
        GPU_OK(cudaMemcpy(&l, loss, 4, cudaMemcpyDeviceToHost));
        std::vector<float> u(Nn), v(Nn);
        GPU_OK(cudaMemcpy(u.data(), g, Nn * 4, cudaMemcpyDeviceToHost));
        f(stream);
        GPU_OK(cudaDeviceSynchronize());
        GPU_OK(cudaMemcpy(v.data(), g, Nn * 4, cudaMemcpyDeviceToHost));
#ifdef EMULATED
        const double ms = 1, p1 = 1, p2 = 1;
#else
        const double ms = graphed(stream, f, 1, 6).each / 1e3;
        const double p1 = timed(stream, [&](cudaStream_t s) { first(s, false); }, 7, 1).median_us / 1e3, p2 = timed(stream, [&](cudaStream_t s) { second(s, false); }, 7, 1).median_us / 1e3;
#endif
        line("sparse step").put("matrix", name).put("kept_percent", percent).put("way", way).put("programmatic", pdl).put("right", error < 1e-5 && error_r < 1e-5 && std::fabs(static_cast<double>(l) - want) < 1e-4 * want).put("error", error).put("error_r", error_r)
            .put("same_twice", std::memcmp(u.data(), v.data(), Nn * 4) == 0).put("graph_ms", ms).put("first_product_ms", p1).put("second_product_ms", p2)
            .put("percent_of_copy_all_entries", 16e-6 * static_cast<double>(A.nnz) / ms / copy_gbs * 100).put("percent_of_copy_kept_entries", 16e-6 * static_cast<double>(kept) / ms / copy_gbs * 100);
      } catch (const std::exception& e) { line("sparse step").put("matrix", name).put("way", way).put("error", e.what()); }
    };
    const auto a0 = [&](cudaStream_t s, bool p) { product<16, 2, 0>(s, p, sa.a); };
    const auto a1 = [&](cudaStream_t s, bool p) { product<16, 2, 1>(s, p, sa.a); };
    const auto t0_ = [&](cudaStream_t s, bool p) { product<16, 2, 0>(s, p, st.a); };
    const auto t2 = [&](cudaStream_t s, bool p) { product<16, 2, 2>(s, p, st.a); };
    if (percent == 100) {
      run("all read", a0, t0_, st.a, false);
      run("all read", a0, t0_, st.a, true);
      run("mask looked up", a1, t0_, st.a, false);
    } else {
      run("A: rows skipped; copy: all read", a1, t0_, st.a, false);
      run("A: rows skipped; copy: values skipped where 4 r are 0", a1, t2, st.a, false);
      const csr K = made(kept_rp, n), KT = transposed(K);
      slices_of sk(KT);
      sk.a.x = r, sk.a.mask = mask;
      const auto k0 = [&](cudaStream_t s, bool p) { product<16, 2, 0>(s, p, sk.a); };
      run("A: rows skipped; copy of the kept rows alone", a1, k0, sk.a, false);
      csr(K).free(), csr(KT).free();
    }
  }
  csr(A).free(), csr(T).free();
  for (void* p : {static_cast<void*>(x), static_cast<void*>(target), static_cast<void*>(mask), static_cast<void*>(r), static_cast<void*>(g), static_cast<void*>(losses), static_cast<void*>(loss), static_cast<void*>(rr), static_cast<void*>(gg)}) GPU_OK(cudaFree(p));
}

int main() {
  need_device("sparse2");
  try {
    GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef EMULATED
    sms = 3, maximum_width = 300;
    int m = 300, n = 350, per = 20, longest = 340;
#else
    int m = 850000, n = 210000, per = 210, longest = 52500;
    SP_OK(cusparseCreate(&sp));
    SP_OK(cusparseSetStream(sp, stream));
    {
      const u64 bytes = 1ull << 31;
      char *a = device<char>(bytes), *b = device<char>(bytes);
      GPU_OK(cudaMemset(a, 0, bytes));
      const times c = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, s)); }, 8, 2);
      copy_gbs = 2 * static_cast<double>(bytes) / c.median_us / 1e3;
      line("ceiling").put("copy_gbs_read_and_written", copy_gbs);
      GPU_OK(cudaFree(a));
      GPU_OK(cudaFree(b));
    }
#endif
    std::vector<i32> rp{0};
    for (int i = 0; i < m; ++i) rp.push_back(rp.back() + per);
    matrix("rows alike", rp, n);
    // a power law: lengths (i + 1)^-0.7, at most `longest`, rows mixed
    std::vector<double> w(static_cast<std::size_t>(m));
    for (int i = 0; i < m; ++i) w[static_cast<std::size_t>(i)] = std::pow(i + 1.0, -0.7);
    double scale = 1;
    const double nnz = static_cast<double>(m) * per;
    for (int k = 0; k < 30; ++k) {
      double s = 0;
      for (const double v : w) s += std::min(v * scale, static_cast<double>(longest));
      scale *= nnz / s;
    }
    std::vector<u32> order(w.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [](u32 a, u32 b) { return hashed(a) < hashed(b); });
    rp.assign(1, 0);
    for (const u32 o : order) rp.push_back(rp.back() + static_cast<i32>(std::min(w[o] * scale, static_cast<double>(longest)) + 0.5));
    matrix("power law", rp, n);
    line("stage ends");
  } catch (const std::exception& e) { line("sparse2 error").put("error", e.what()); }
}
