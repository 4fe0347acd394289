// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Own convolution kernels: fp32, NCHW, sums in an order that extents alone decide.
#pragma once
#include "emu2.hpp"
__host__ __device__ constexpr int up(int a, int b) { return (a + b - 1) / b; }
// a row stride in floats whose rows fall on different banks, for 16-byte reads
__host__ __device__ constexpr int odd_quads(int n) { return (up(n, 4) | 1) * 4; }

// ---- out[split][A][B] = sum over images and pixels of a[n][i][p] b[n][j][p]
struct nt_args {
  const float *a, *b;
  float* out;
  int A, B, P, images, splits, tiles_a, tiles_b;
  bool quads; // rows start at 16 bytes
};
template <int TA, int TB, int MA, int MB, int SI, int BP, int STAGES> __global__ void __launch_bounds__(
    TA / MA * (TB / MB) * SI) wgrad_1x1(const nt_args g) {
  constexpr int NA = TA / MA, NB = TB / MB, R = odd_quads(BP), threads = NA * NB * SI, stage = (TA + TB) * R,
                quads = BP / 4;
  DYNAMIC_SHARED(float, sh);
  const int t = static_cast<int>(threadIdx.x), si = t / (NA * NB), tb = t % NB, ta = t / NB % NA;
  int at = static_cast<int>(blockIdx.x);
  const int b0 = at % g.tiles_b * TB;
  at /= g.tiles_b;
  const int a0 = at % g.tiles_a * TA, split = at / g.tiles_a;
  const int chunks = up(g.P, BP), all = chunks * g.images;
  const int from = static_cast<int>(static_cast<u64>(all) * static_cast<u64>(split) /
                                    static_cast<u64>(g.splits)),
            to = static_cast<int>(static_cast<u64>(all) * static_cast<u64>(split + 1) /
                                  static_cast<u64>(g.splits));
  wait_for_last();
  const auto load = [&](int c, float* s) {
    const int image = c / chunks, p0 = c % chunks * BP;
    for (int i = t; i < (TA + TB) * quads; i += threads) {
      const int row = i / quads, q = i % quads * 4;
      const bool of_a = row < TA;
      const int r = of_a ? a0 + row : b0 + row - TA, p = p0 + q;
      const float* base = of_a ? g.a : g.b;
      const bool in = r < (of_a ? g.A : g.B);
      const float* from_row =
          base +
          (static_cast<u64>(image) * static_cast<u64>(of_a ? g.A : g.B) + static_cast<u64>(r)) *
              static_cast<u64>(g.P) +
          static_cast<u64>(p);
      float* d = s + row * R + q;
      if (g.quads) async16(d, in && p < g.P ? from_row : base, in && p < g.P);
      else
        for (int k = 0; k < 4; ++k) async4(d + k, in && p + k < g.P ? from_row + k : base, in && p + k < g.P);
    }
  };
  float acc[MA][MB];
#pragma unroll
  for (int i = 0; i < MA; ++i)
#pragma unroll
    for (int j = 0; j < MB; ++j) acc[i][j] = 0;
#pragma unroll
  for (int k = 0; k < STAGES - 1; ++k) {
    if (from + k < to) load(from + k, sh + k * stage);
    async_commit();
  }
  for (int c = from; c < to; ++c) {
    async_wait<STAGES - 2>();
    __syncthreads();
    if (c + STAGES - 1 < to) load(c + STAGES - 1, sh + (c - from + STAGES - 1) % STAGES * stage);
    async_commit();
    const float *pa = sh + (c - from) % STAGES * stage + ta * R,
                *pb = sh + (c - from) % STAGES * stage + (TA + tb) * R;
#pragma unroll 2
    for (int q = si; q < quads; q += SI) {
      float4 b[MB];
#pragma unroll
      for (int j = 0; j < MB; ++j) b[j] = *reinterpret_cast<const float4*>(pb + j * NB * R + q * 4);
#pragma unroll
      for (int i = 0; i < MA; ++i) {
        const float4 a = *reinterpret_cast<const float4*>(pa + i * NA * R + q * 4);
#pragma unroll
        for (int j = 0; j < MB; ++j) {
          acc[i][j] += a.x * b[j].x;
          acc[i][j] += a.y * b[j].y;
          acc[i][j] += a.z * b[j].z;
          acc[i][j] += a.w * b[j].w;
        }
      }
    }
  }
  async_wait<0>();
  float* const red = sh; // [si][i][j]
#pragma unroll
  for (int h = SI / 2; h > 0; h /= 2) {
    __syncthreads();
    if (si >= h && si < 2 * h)
#pragma unroll
      for (int i = 0; i < MA; ++i)
#pragma unroll
        for (int j = 0; j < MB; ++j) red[(si - h) * TA * TB + (ta + i * NA) * TB + tb + j * NB] = acc[i][j];
    __syncthreads();
    if (si < h)
#pragma unroll
      for (int i = 0; i < MA; ++i)
#pragma unroll
        for (int j = 0; j < MB; ++j) acc[i][j] += red[si * TA * TB + (ta + i * NA) * TB + tb + j * NB];
  }
  if (si == 0)
#pragma unroll
    for (int i = 0; i < MA; ++i)
#pragma unroll
      for (int j = 0; j < MB; ++j) {
        const int a = a0 + ta + i * NA, b = b0 + tb + j * NB;
        if (a < g.A && b < g.B)
          g.out[(static_cast<u64>(split) * static_cast<u64>(g.A) + static_cast<u64>(a)) *
                    static_cast<u64>(g.B) +
                static_cast<u64>(b)] = acc[i][j];
      }
}
template <int TA, int TB, int MA, int MB, int SI, int BP, int STAGES> int wgrad_1x1_bytes() {
  const int load = STAGES * (TA + TB) * odd_quads(BP), red = SI / 2 * TA * TB;
  return 4 * (load > red ? load : red);
}

// ---- 3x3: out[split][K][C / groups][9]
struct w3_args {
  const float *x, *dy;
  float* out;
  int images, C, H, W, K, P, Q, pad, groups;
  int RB, QB;                   // rows and columns of a tile of pixels of dy; QB % 4 == 0
  int tiles_k, tiles_c, splits; // of a group's channels
  int DS, XS, XR, XW;           // of the tiles in shared memory: strides of channels, rows, columns of x
  bool quads;
};
template <int TK, int TC, int MK, int SI, int ST, int DIL, int LEAST> __global__ void __launch_bounds__(
    TK / MK * TC * SI, LEAST) wgrad_3x3(const w3_args g) {
  constexpr int NK = TK / MK, threads = NK * TC * SI, NV = up(3 * ST + 2 * DIL + 1, 4);
  DYNAMIC_SHARED(float, sh);
  const int t = static_cast<int>(threadIdx.x), si = t / (NK * TC), tk = t % NK, tc = t / NK % TC,
            warp = t / 32, lane = t % 32;
  const int cg = g.C / g.groups, kg = g.K / g.groups;
  int at = static_cast<int>(blockIdx.x);
  const int c0 = at % g.tiles_c * TC;
  at /= g.tiles_c;
  const int k0 = at % g.tiles_k * TK;
  at /= g.tiles_k;
  const int group = at % g.groups, split = at / g.groups;
  const int across = up(g.Q, g.QB), down = up(g.P, g.RB), all = g.images * across * down;
  const int from = static_cast<int>(static_cast<u64>(all) * static_cast<u64>(split) /
                                    static_cast<u64>(g.splits)),
            to = static_cast<int>(static_cast<u64>(all) * static_cast<u64>(split + 1) /
                                  static_cast<u64>(g.splits));
  const int stage = TK * g.DS + TC * g.XS, q_all = g.QB / 4;
  wait_for_last();
  const auto load = [&](int tile, float* s) {
    const int q0 = tile % across * g.QB, p0 = tile / across % down * g.RB, image = tile / across / down;
    {                                                            // dy: a line of QB a row and channel
      const int per = threads / q_all > 0 ? threads / q_all : 1; // lines at once
      for (int line = t / q_all; line < TK * g.RB && t / q_all < per; line += per) {
        const int k = line / g.RB, r = line % g.RB, q = t % q_all * 4;
        const bool in = k0 + k < kg && p0 + r < g.P;
        const float* f =
            g.dy +
            ((static_cast<u64>(image) * static_cast<u64>(g.K) + static_cast<u64>(group * kg + k0 + k)) *
                 static_cast<u64>(g.P) +
             static_cast<u64>(p0 + r)) *
                static_cast<u64>(g.Q) +
            static_cast<u64>(q0 + q);
        float* d = s + k * g.DS + r * g.QB + q;
        if (g.quads) async16(d, in && q0 + q < g.Q ? f : g.dy, in && q0 + q < g.Q);
        else
          for (int j = 0; j < 4; ++j)
            async4(d + j, in && q0 + q + j < g.Q ? f + j : g.dy, in && q0 + q + j < g.Q);
      }
    }
    float* const xs = s + TK * g.DS;
    constexpr int warps = threads / 32;
    const int h0 = p0 * ST - g.pad, w0 = q0 * ST - g.pad;
    int c = warp / g.XR, r = warp % g.XR; // lines of a channel's rows, a warp each
    while (c < TC) {
      const int h = h0 + r;
      const bool in = c0 + c < cg && h >= 0 && h < g.H;
      const float* f =
          g.x +
          ((static_cast<u64>(image) * static_cast<u64>(g.C) + static_cast<u64>(group * cg + c0 + c)) *
           static_cast<u64>(g.H)) *
              static_cast<u64>(g.W) +
          static_cast<long>(h) * g.W;
      for (int w = lane; w < g.XW; w += 32) {
        const bool here = in && w0 + w >= 0 && w0 + w < g.W;
        async4(xs + c * g.XS + r * g.XW + w, here ? f + w0 + w : g.x, here);
      }
      r += warps;
      while (r >= g.XR) r -= g.XR, ++c;
    }
  };
  float acc[MK][9];
#pragma unroll
  for (int i = 0; i < MK; ++i)
#pragma unroll
    for (int j = 0; j < 9; ++j) acc[i][j] = 0;
  if (from < to) load(from, sh);
  async_commit();
  for (int tile = from; tile < to; ++tile) {
    if (tile + 1 < to) load(tile + 1, sh + (tile + 1 - from) % 2 * stage);
    async_commit();
    async_wait<1>();
    __syncthreads();
    const float *ds = sh + (tile - from) % 2 * stage + tk * g.DS,
                *xs = sh + (tile - from) % 2 * stage + TK * g.DS + tc * g.XS;
    int row = si / q_all, q = si % q_all;
    while (row < g.RB) {
      float4 d[MK];
#pragma unroll
      for (int i = 0; i < MK; ++i)
        d[i] = *reinterpret_cast<const float4*>(ds + i * NK * g.DS + row * g.QB + q * 4);
#pragma unroll
      for (int r = 0; r < 3; ++r) {
        float v[4 * NV];
#pragma unroll
        for (int k = 0; k < NV; ++k) {
          const float4 x =
              *reinterpret_cast<const float4*>(xs + (row * ST + r * DIL) * g.XW + q * 4 * ST + k * 4);
          v[4 * k] = x.x, v[4 * k + 1] = x.y, v[4 * k + 2] = x.z, v[4 * k + 3] = x.w;
        }
#pragma unroll
        for (int s = 0; s < 3; ++s)
#pragma unroll
          for (int i = 0; i < MK; ++i) {
            float& a = acc[i][r * 3 + s];
            a += d[i].x * v[s * DIL];
            a += d[i].y * v[ST + s * DIL];
            a += d[i].z * v[2 * ST + s * DIL];
            a += d[i].w * v[3 * ST + s * DIL];
          }
      }
      q += SI;
      while (q >= q_all) q -= q_all, ++row;
    }
    __syncthreads();
  }
  async_wait<0>();
  float* const red = sh;
  const auto place = [&](int i, int j) { return ((tk + i * NK) * TC + tc) * 9 + j; };
#pragma unroll 1
  for (int h = SI / 2; h > 0; h /= 2) {
    if (si >= h && si < 2 * h)
#pragma unroll
      for (int i = 0; i < MK; ++i)
#pragma unroll
        for (int j = 0; j < 9; ++j) red[(si - h) * TK * TC * 9 + place(i, j)] = acc[i][j];
    __syncthreads();
    if (si < h)
#pragma unroll
      for (int i = 0; i < MK; ++i)
#pragma unroll
        for (int j = 0; j < 9; ++j) acc[i][j] += red[si * TK * TC * 9 + place(i, j)];
    __syncthreads();
  }
  if (si == 0)
#pragma unroll
    for (int i = 0; i < MK; ++i)
#pragma unroll
      for (int j = 0; j < 9; ++j) red[place(i, j)] = acc[i][j];
  __syncthreads();
  const int many = (cg - c0 < TC ? cg - c0 : TC) * 9;
  for (int i = t; i < TK * TC * 9; i += threads) {
    const int k = i / (TC * 9), c = i % (TC * 9);
    if (k0 + k < kg && c < many)
      g.out[((static_cast<u64>(split) * static_cast<u64>(g.K) + static_cast<u64>(group * kg + k0 + k)) *
                 static_cast<u64>(cg) +
             static_cast<u64>(c0)) *
                9 +
            static_cast<u64>(c)] = red[i];
  }
}
// what follows from RB and QB; returns bytes of shared memory
template <int TK, int TC, int MK, int SI, int ST, int DIL> int wgrad_3x3_layout(w3_args& g) {
  g.XR = (g.RB - 1) * ST + 2 * DIL + 1;
  g.XW = ST * (g.QB - 4) + 4 * up(3 * ST + 2 * DIL + 1, 4);
  g.DS = odd_quads(g.RB * g.QB);
  g.XS = odd_quads(g.XR * g.XW);
  g.tiles_k = up(g.K / g.groups, TK), g.tiles_c = up(g.C / g.groups, TC);
  g.quads = g.Q % 4 == 0;
  const int load = 2 * (TK * g.DS + TC * g.XS), red = (SI > 2 ? SI / 2 : 1) * TK * TC * 9;
  return 4 * (load > red ? load : red);
}

// ---- 1x1: y[n][o][p] = sum of w(o, i) x[n][i][p]
struct pw_args {
  const float *x, *w;
  float* y;
  int I, O, P, images, wo, wi, tiles_o, tiles_p;
};
template <int PX> struct pixels;
template <> struct pixels<1> {
  using type = float;
};
template <> struct pixels<2> {
  using type = float2;
};
template <> struct pixels<4> {
  using type = float4;
};
template <int KT, int PX, int CS, int LP> __global__ void __launch_bounds__(CS* LP)
    pointwise(const pw_args g) {
  using V = typename pixels<PX>::type;
  DYNAMIC_SHARED(float, sh); // [I][KT], then [CS / 2][KT][LP * PX]
  const int t = static_cast<int>(threadIdx.x), cs = t / LP, lane = t % LP;
  int at = static_cast<int>(blockIdx.x);
  const int o0 = at % g.tiles_o * KT;
  at /= g.tiles_o;
  const int p = (at % g.tiles_p * LP + lane) * PX, image = at / g.tiles_p;
  for (int i = t; i < g.I * KT; i += CS * LP) {
    const int k = i % KT, c = i / KT;
    sh[i] = o0 + k < g.O ? g.w[(o0 + k) * g.wo + c * g.wi] : 0;
  }
  wait_for_last();
  __syncthreads();
  float acc[KT][PX];
#pragma unroll
  for (int k = 0; k < KT; ++k)
#pragma unroll
    for (int j = 0; j < PX; ++j) acc[k][j] = 0;
  if (p < g.P) {
    const float* x =
        g.x + static_cast<u64>(image) * static_cast<u64>(g.I) * static_cast<u64>(g.P) + static_cast<u64>(p);
#pragma unroll 8
    for (int c = cs; c < g.I; c += CS) {
      const V f = *reinterpret_cast<const V*>(x + static_cast<u64>(c) * static_cast<u64>(g.P));
      float v[PX];
      __builtin_memcpy(v, &f, sizeof f);
#pragma unroll
      for (int k = 0; k < KT; ++k) {
        const float w = sh[c * KT + k];
#pragma unroll
        for (int j = 0; j < PX; ++j) acc[k][j] += w * v[j];
      }
    }
  }
  float* const red = sh + g.I * KT;
#pragma unroll
  for (int h = CS / 2; h > 0; h /= 2) {
    if (cs >= h && cs < 2 * h)
#pragma unroll
      for (int k = 0; k < KT; ++k)
#pragma unroll
        for (int j = 0; j < PX; ++j) red[((cs - h) * KT + k) * LP * PX + j * LP + lane] = acc[k][j];
    __syncthreads();
    if (cs < h)
#pragma unroll
      for (int k = 0; k < KT; ++k)
#pragma unroll
        for (int j = 0; j < PX; ++j) acc[k][j] += red[(cs * KT + k) * LP * PX + j * LP + lane];
    __syncthreads();
  }
  if (cs == 0 && p < g.P)
#pragma unroll
    for (int k = 0; k < KT; ++k)
      if (o0 + k < g.O) {
        V f;
        __builtin_memcpy(&f, acc[k], sizeof f);
        *reinterpret_cast<V*>(g.y +
                              (static_cast<u64>(image) * static_cast<u64>(g.O) + static_cast<u64>(o0 + k)) *
                                  static_cast<u64>(g.P) +
                              static_cast<u64>(p)) = f;
      }
}
template <int KT, int PX, int CS, int LP> int pointwise_bytes(int I) {
  return 4 * (I * KT + CS / 2 * KT * LP * PX);
}

// ---- 3x3, stride 1, pad 1: y[n][o] = sum of w(o, i, r, s) x[n][i]; a thread 4 pixels, KT channels
struct d3_args {
  const float *x, *w, *b;
  float* y;
  int I, O, H, W, images, wo, wi; // w(o, i, t) = w[o * wo + i * wi + t]
  int TH, TW, CB;                 // pixels of a block, channels of x at once
  int tiles_o, tiles_h, tiles_w, XS;
  bool flip;
};
template <int KT, int NK, int SI, int MOST> __global__ void __launch_bounds__(MOST)
    direct_3x3(const d3_args g) {
  constexpr int TO = KT * NK, WS = TO + 4;
  DYNAMIC_SHARED(float, sh); // 2 of: x [CB][TH + 2][TW + 4], w [CB][9][TO + 4]
  const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x), q_all = g.TW / 4,
            quads = g.TH * q_all;
  const int quad = t % quads, nk = t / quads % NK, si = t / quads / NK;
  const int row = quad / q_all, q = quad % q_all;
  int at = static_cast<int>(blockIdx.x);
  const int o0 = at % g.tiles_o * TO;
  at /= g.tiles_o;
  const int w0 = at % g.tiles_w * g.TW;
  at /= g.tiles_w;
  const int h0 = at % g.tiles_h * g.TH, image = at / g.tiles_h;
  const int XW = g.TW + 4, stage = g.CB * (g.XS + 9 * WS), parts = up(g.I, g.CB);
  const auto load_w = [&](int part, float* s) {
    const int c0 = part * g.CB;
    for (int i = t; i < g.CB * 9 * TO; i += threads) {
      const int ct = i % (g.CB * 9), o = i / (g.CB * 9), c = ct / 9, k = ct % 9;
      const bool in = o0 + o < g.O && c0 + c < g.I;
      async4(s + g.CB * g.XS + ct * WS + o,
             in ? g.w + (o0 + o) * g.wo + (c0 + c) * g.wi + (g.flip ? 8 - k : k) : g.w, in);
    }
  };
  const auto load_x = [&](int part, float* s) {
    const int c0 = part * g.CB, lane = t % 32, warps = threads / 32, lines = g.CB * (g.TH + 2);
    for (int line = t / 32; line < lines; line += warps) {
      const int c = line / (g.TH + 2), r = line % (g.TH + 2), h = h0 - 1 + r;
      const bool in = c0 + c < g.I && h >= 0 && h < g.H;
      const float* f = g.x +
                       (static_cast<u64>(image) * static_cast<u64>(g.I) + static_cast<u64>(c0 + c)) *
                           static_cast<u64>(g.H) * static_cast<u64>(g.W) +
                       static_cast<long>(h) * g.W;
      for (int w = lane; w < XW; w += 32) {
        const bool here = in && w0 - 1 + w >= 0 && w0 - 1 + w < g.W;
        async4(s + c * g.XS + r * XW + w, here ? f + (w0 - 1 + w) : g.x, here);
      }
    }
  };
  float acc[KT][4];
#pragma unroll
  for (int k = 0; k < KT; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j) acc[k][j] = 0;
  load_w(0, sh);
  wait_for_last();
  load_x(0, sh);
  async_commit();
  for (int part = 0; part < parts; ++part) {
    if (part + 1 < parts)
      load_w(part + 1, sh + (part + 1) % 2 * stage), load_x(part + 1, sh + (part + 1) % 2 * stage);
    async_commit();
    async_wait<1>();
    __syncthreads();
    const float *xs = sh + part % 2 * stage, *ws = xs + g.CB * g.XS;
    for (int c = si; c < g.CB; c += SI)
#pragma unroll
      for (int r = 0; r < 3; ++r) {
        const float* px = xs + c * g.XS + (row + r) * XW + q * 4;
        const float4 a = *reinterpret_cast<const float4*>(px);
        const float2 b = *reinterpret_cast<const float2*>(px + 4);
        const float v[6] = {a.x, a.y, a.z, a.w, b.x, b.y};
#pragma unroll
        for (int s = 0; s < 3; ++s)
#pragma unroll
          for (int k = 0; k < KT; k += 4) {
            const float4 w = *reinterpret_cast<const float4*>(ws + (c * 9 + r * 3 + s) * WS + nk * KT + k);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              acc[k][j] += w.x * v[s + j];
              acc[k + 1][j] += w.y * v[s + j];
              acc[k + 2][j] += w.z * v[s + j];
              acc[k + 3][j] += w.w * v[s + j];
            }
          }
      }
    __syncthreads();
  }
  async_wait<0>();
  float* const red = sh;
#pragma unroll 1
  for (int h = SI / 2; h > 0; h /= 2) {
    if (si >= h && si < 2 * h)
#pragma unroll
      for (int k = 0; k < KT; ++k)
#pragma unroll
        for (int j = 0; j < 4; ++j) red[((((si - h) * NK + nk) * KT + k) * 4 + j) * quads + quad] = acc[k][j];
    __syncthreads();
    if (si < h)
#pragma unroll
      for (int k = 0; k < KT; ++k)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[k][j] += red[(((si * NK + nk) * KT + k) * 4 + j) * quads + quad];
    __syncthreads();
  }
  const int h = h0 + row, w = w0 + q * 4;
  if (si == 0 && h < g.H)
#pragma unroll
    for (int k = 0; k < KT; ++k) {
      const int o = o0 + nk * KT + k;
      if (o < g.O) {
        const float b = g.b != nullptr ? g.b[o] : 0;
        float* y =
            g.y +
            ((static_cast<u64>(image) * static_cast<u64>(g.O) + static_cast<u64>(o)) * static_cast<u64>(g.H) +
             static_cast<u64>(h)) *
                static_cast<u64>(g.W) +
            static_cast<u64>(w);
        if (g.W % 4 == 0 && w < g.W)
          *reinterpret_cast<float4*>(y) =
              make_float4(acc[k][0] + b, acc[k][1] + b, acc[k][2] + b, acc[k][3] + b);
        else
          for (int j = 0; j < 4; ++j)
            if (w + j < g.W) y[j] = acc[k][j] + b;
      }
    }
}
template <int KT, int NK, int SI> int direct_3x3_layout(d3_args& g) {
  g.XS = odd_quads((g.TH + 2) * (g.TW + 4));
  g.tiles_o = up(g.O, KT * NK), g.tiles_h = up(g.H, g.TH), g.tiles_w = up(g.W, g.TW);
  const int stages = g.I > g.CB ? 2 : 1, load = stages * g.CB * (g.XS + 9 * (KT * NK + 4)),
            red = SI / 2 * KT * NK * 4 * (g.TH * g.TW / 4);
  return 4 * (load > red ? load : red);
}
