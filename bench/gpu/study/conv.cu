// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Convolutions by cuDNN: the device's properties, the first plan of the heuristics against the best of all, steps as graphs.
//   conv SECONDS OUT.json     conv --json PROPERTIES.json: candidates alone, without a device
#define GPU_THROWS
#include "common.hpp"
#include "cudnn.hpp"
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
using namespace tapeless::cuda;
using u64 = unsigned long long;

struct shape_row { const char* name; conv_shape e; };
static conv_shape of(int n, int c, int h, int w, int k, int r, int stride, int pad, int dil, int groups) {
  const auto out = [&](int x) { return (x + 2 * pad - dil * (r - 1) - 1) / stride + 1; };
  return {n, c, h, w, k, r, r, out(h), out(w), stride, pad, dil, groups, false};
}
static const std::vector<shape_row> shapes = {
    {"conv-square-n1", of(1, 64, 160, 120, 64, 3, 1, 1, 1, 1)},
    {"distill-a 0", of(1, 64, 160, 120, 14, 1, 1, 0, 1, 1)},
    {"distill-a 1", of(1, 14, 160, 120, 15, 3, 1, 1, 1, 1)},
    {"distill-a 2", of(1, 15, 160, 120, 64, 1, 1, 0, 1, 1)},
    {"conv-small-s1", of(32, 32, 32, 32, 32, 3, 1, 1, 1, 1)},
    {"conv-tiny-s1", of(32, 32, 3, 3, 32, 3, 1, 0, 1, 1)},
    {"conv-tiny-7", of(32, 64, 7, 7, 64, 3, 1, 1, 1, 1)},
    {"conv-masked", of(128, 8, 28, 28, 32, 3, 1, 0, 1, 1)},
    {"conv-small-s2", of(32, 32, 32, 32, 32, 3, 2, 1, 1, 1)},
    {"conv-small-d2", of(32, 32, 32, 32, 32, 3, 1, 2, 2, 1)},
    {"conv-small-g4", of(32, 32, 32, 32, 32, 3, 1, 1, 1, 4)},
    {"conv-small-dw", of(32, 32, 32, 32, 32, 3, 1, 1, 1, 32)},
    {"distill-b 0", of(1, 256, 160, 120, 1, 1, 1, 0, 1, 1)},
    {"distill-b 1", of(1, 1, 160, 120, 128, 1, 1, 0, 1, 1)},
    {"distill-b-base", of(1, 256, 160, 120, 128, 1, 1, 0, 1, 1)},
    {"conv-square-n8", of(8, 64, 160, 120, 64, 3, 1, 1, 1, 1)},
};
static const char* const pass_name[] = {"fprop", "dgrad", "wgrad"};

// ---- device code: data, references in double, biases
__host__ __device__ inline float unit(u64 x) {
  x = (x + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  x ^= x >> 31;
  return static_cast<float>(static_cast<int>(x >> 40) - (1 << 23)) / (1 << 23);
}
__global__ void fill(float* x, u64 n, u64 seed) {
  for (u64 i = blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; i < n; i += static_cast<u64>(gridDim.x) * blockDim.x) x[i] = unit(i ^ (seed << 40));
}
struct ext { int n, c, h, w, k, r, p, q, stride, pad, dil, groups, last; };
__host__ __device__ inline u64 at(int last, int a, int b, int h, int w, int B, int H, int W) {
  return last ? ((static_cast<u64>(a) * H + h) * W + w) * B + b : ((static_cast<u64>(a) * B + b) * H + h) * W + w;
}
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
          s += static_cast<double>(x[at(e.last, n, k / kg * cg + c, h, u, e.c, e.h, e.w)]) * static_cast<double>(w[at(e.last, k, c, r, v, cg, e.r, e.r)]);
        }
    y[at(e.last, n, k, p, q, e.k, e.p, e.q)] = s;
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
          s += static_cast<double>(dy[at(e.last, n, k, a / e.stride, b / e.stride, e.k, e.p, e.q)]) * static_cast<double>(w[at(e.last, k, c % cg, r, v, cg, e.r, e.r)]);
        }
    dx[at(e.last, n, c, h, u, e.c, e.h, e.w)] = s;
  }
}
__device__ inline double block_sum(double s) {
  __shared__ double of_warp[8];
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
    s += static_cast<double>(x[at(e.last, n, k / kg * cg + c, h, u, e.c, e.h, e.w)]) * static_cast<double>(dy[at(e.last, n, k, p, q, e.k, e.p, e.q)]);
  }
  s = block_sum(s);
  if (threadIdx.x == 0) dw[at(e.last, k, c, r, v, cg, e.r, e.r)] = s;
}
__global__ void __launch_bounds__(256) compare(const float* a, const double* b, u64 n, double* two) {
  double d = 0, s = 0;
  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) {
    const double f = static_cast<double>(a[i]) - b[i];
    d += f * f;
    s += b[i] * b[i];
  }
  d = block_sum(d);
  s = block_sum(s);
  if (threadIdx.x == 0) atomicAdd(&two[0], d), atomicAdd(&two[1], s);
}
// NCHW
__global__ void __launch_bounds__(256) add_bias(float4* y, const float* b, int channels, int quads) {
  for (int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x); i < channels * quads; i += static_cast<int>(gridDim.x) * 256) {
    const float c = b[i / quads % channels];
    float4 v = y[i];
    v.x += c, v.y += c, v.z += c, v.w += c;
    y[i] = v;
  }
}
__global__ void __launch_bounds__(1024) bias_gradient(const float4* dy, float* db, int quads) { // one image
  __shared__ float of_warp[32];
  float s = 0;
  for (int i = static_cast<int>(threadIdx.x); i < quads; i += 1024) {
    const float4 v = dy[static_cast<int>(blockIdx.x) * quads + i];
    s += v.x + v.y + (v.z + v.w);
  }
  for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = of_warp[threadIdx.x];
    for (unsigned d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (threadIdx.x == 0) db[blockIdx.x] = s;
  }
}

// ---- candidates
struct candidate {
  descriptor config;
  std::string name;
  bool tensor_core = false, by_chance = false, rtc = false;
};
static std::vector<candidate> candidates(const descriptor& graph, cudnnBackendHeurMode_t mode, const descriptor* device) {
  descriptor h(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  h.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, {mode});
  if (device != nullptr) h.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  h = h.end();
  std::vector<candidate> r;
  for (descriptor& c : h.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)) {
    candidate k{std::move(c), {}};
    const descriptor engine = k.config.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    k.name = "eng" + std::to_string(engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1).at(0));
    for (const auto n : engine.get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT)) {
      if (n == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) k.tensor_core = true;
      if (n == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) k.by_chance = true;
      if (n == CUDNN_NUMERICAL_NOTE_FFT) k.name += ":fft";
      if (n == CUDNN_NUMERICAL_NOTE_WINOGRAD) k.name += ":winograd";
    }
    for (const auto n : engine.get<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT))
      if (n == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) k.rtc = true, k.name += ":rtc";
    try {
      for (const descriptor& choice : get_some(k.config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS))
        k.name += ":k" + std::to_string(static_cast<int>(choice.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 1).at(0))) + "=" +
                  std::to_string(choice.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 1).at(0));
    } catch (const std::exception&) { k.name += ":knobs?"; }
    r.push_back(std::move(k));
  }
  return r;
}
struct plan {
  descriptor p{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  std::string name;
  std::int64_t workspace = 0;
  double finalize_ms = 0, us = 0, single_us = 0, error = 0;
  bool failed = false, from_a = false;
  void run(cudnnHandle_t h, void* x, void* w, void* y, void* ws) const {
    const descriptor v = descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
                             .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {std::int64_t{'x'}, std::int64_t{'w'}, std::int64_t{'y'}})
                             .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, {x, w, y})
                             .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {ws})
                             .end();
    check(cudnnBackendExecute(h, p.get(), v.get()), "conv");
  }
};
static std::unique_ptr<plan> planned(const candidate& c, cudnnHandle_t handle, const descriptor* device) {
  auto r = std::make_unique<plan>();
  const double t0 = now();
  if (handle != nullptr) r->p.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, {handle});
  r->p.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, c.config);
  if (device != nullptr) r->p.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device);
  if (cudnnBackendFinalize(r->p.get()) != CUDNN_STATUS_SUCCESS) return nullptr;
  r->finalize_ms = (now() - t0) * 1e3;
  r->workspace = r->p.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0);
  r->name = c.name;
  return r;
}

static cudaStream_t stream, side;
static cudnnHandle_t handle;
static constexpr std::int64_t most_workspace = 256ll << 20;
static float *X, *W, *Y, *O; // inputs and the output
static double *ref, *two;
static void* workspace;
static std::string true_json;
static double deadline = 1e30;
// (shape, layout, pass) -> plans
struct chosen { std::shared_ptr<plan> first, best; };
static std::map<std::string, chosen> table;

static ext extents(const conv_shape& e) {
  const auto i = [](std::int64_t v) { return static_cast<int>(v); };
  return {i(e.n), i(e.c), i(e.h), i(e.w), i(e.k), i(e.r), i(e.p), i(e.q), i(e.stride), i(e.pad), i(e.dil), i(e.groups), e.channels_last};
}
static u64 sizes(const conv_shape& e, int which) { // x, w, y
  return static_cast<u64>(which == 0 ? e.n * e.c * e.h * e.w : which == 1 ? e.k * (e.c / e.groups) * e.r * e.s : e.n * e.k * e.p * e.q);
}
static void problem(const shape_row& row, bool last, int pass) {
  conv_shape e = row.e;
  e.channels_last = last;
  const char* layout = last ? "NHWC" : "NCHW";
  const double started = now();
  const descriptor graph = conv_plan::graph_of(static_cast<conv_pass>(pass), e, CUDNN_DATA_FLOAT, handle);
  std::vector<candidate> all[2];
  double ms[2];
  for (int m = 0; m < 2; ++m) {
    const double t0 = now();
    try {
      all[m] = candidates(graph, m == 0 ? CUDNN_HEUR_MODE_A : CUDNN_HEUR_MODE_B, nullptr);
    } catch (const std::exception& x) {
      line("conv error").put("workload", row.name).put("layout", layout).put("pass", pass_name[pass]).put("mode", m == 0 ? "A" : "B").put("error", x.what());
    }
    ms[m] = (now() - t0) * 1e3;
  }
  bool json_same = false;
  if (!true_json.empty()) try {
      const descriptor device = descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR).set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::string_view(true_json)).end();
      const descriptor g = conv_plan::graph_of(static_cast<conv_pass>(pass), e, CUDNN_DATA_FLOAT, nullptr);
      const auto c = candidates(g, CUDNN_HEUR_MODE_A, &device);
      json_same = c.size() == all[0].size();
      for (std::size_t i = 0; i < c.size() && json_same; ++i) json_same = c[i].name == all[0][i].name;
    } catch (const std::exception&) {}
  int tf32 = 0, chance = 0;
  for (const candidate& c : all[0]) tf32 += c.tensor_core, chance += !c.tensor_core && c.by_chance;
  // the reference
  void* const in[3] = {X, W, Y};
  const u64 n = sizes(e, pass == 0 ? 2 : pass == 1 ? 0 : 1);
  const ext x = extents(e);
  if (pass == 0) ref_fprop<<<1056, 256, 0, stream>>>(x, X, W, ref);
  else if (pass == 1) ref_dgrad<<<1056, 256, 0, stream>>>(x, Y, W, ref);
  else ref_wgrad<<<static_cast<unsigned>(n), 256, 0, stream>>>(x, X, Y, ref);
  GPU_OK(cudaGetLastError());
  GPU_OK(cudaStreamSynchronize(stream));

  std::vector<std::shared_ptr<plan>> tried;
  std::shared_ptr<plan> first[2];
  int failed_to_finalize = 0;
  const auto run = [&](const plan& p, cudaStream_t s) {
    cudnnSetStream(handle, s);
    p.run(handle, pass == 1 ? O : in[0], pass == 2 ? O : in[1], pass == 0 ? O : in[2], workspace);
  };
  double best_us = 1e30;
  const auto measure = [&](plan& p) {
    try {
      GPU_OK(cudaMemsetAsync(O, 0xff, n * 4, stream));
      GPU_OK(cudaMemsetAsync(two, 0, 16, stream));
      run(p, stream);
      compare<<<264, 256, 0, stream>>>(O, ref, n, two);
      double h[2];
      GPU_OK(cudaMemcpyAsync(h, two, 16, cudaMemcpyDeviceToHost, stream));
      GPU_OK(cudaStreamSynchronize(stream));
      p.error = std::sqrt(h[0] / h[1]);
      p.single_us = timed(stream, [&](cudaStream_t s) { run(p, s); }, 3, 1).min_us;
      p.us = p.single_us;
      if (p.single_us < 4 * best_us + 30) {
        const int reps = 5;
        const cudaGraphExec_t g = captured(stream, [&](cudaStream_t s) { for (int i = 0; i < reps; ++i) run(p, s); });
        p.us = timed(stream, [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); }, 7, 1).median_us / reps;
        GPU_OK(cudaGraphExecDestroy(g));
      }
      best_us = std::min(best_us, p.us);
    } catch (const std::exception& x) {
      p.failed = true;
      cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
      if (cudaStreamIsCapturing(stream, &state) == cudaSuccess && state != cudaStreamCaptureStatusNone) {
        cudaGraph_t g = nullptr;
        cudaStreamEndCapture(stream, &g);
        if (g != nullptr) cudaGraphDestroy(g);
      }
      cudaGetLastError();
      line("conv candidate failed").put("workload", row.name).put("layout", layout).put("pass", pass_name[pass]).put("engine", p.name).put("error", x.what());
    }
  };
  constexpr std::size_t most = 12;
  for (int m = 0; m < 2; ++m)
    for (const candidate& c : all[m]) {
      if (c.tensor_core || c.by_chance) continue;
      std::shared_ptr<plan> p;
      for (const auto& t : tried)
        if (t->name == c.name) p = t;
      if (p == nullptr) {
        if (tried.size() >= (m == 0 ? 8 : most) && first[m] != nullptr) continue;
        if (now() - started > 2.5 && first[m] != nullptr) continue;
        p = planned(c, handle, nullptr);
        if (p == nullptr) {
          ++failed_to_finalize;
          continue;
        }
        if (p->workspace > most_workspace) continue;
        p->from_a = m == 0;
        tried.push_back(p);
        measure(*p);
      }
      if (first[m] == nullptr && !p->failed) first[m] = p;
    }
  std::shared_ptr<plan> best;
  std::string list;
  double finalize = 0;
  for (const auto& t : tried) {
    finalize += t->finalize_ms;
    char b[64];
    std::snprintf(b, sizeof b, t->failed ? "%s (failed)" : "%s %.1f", t->name.substr(0, 40).c_str(), t->us);
    list += (list.empty() ? "" : ", ") + std::string(b);
    if (!t->failed && (best == nullptr || t->us < best->us)) best = t;
  }
  line l("conv");
  l.put("workload", row.name).put("layout", layout).put("pass", pass_name[pass]);
  if (best == nullptr) {
    l.put("error", "no plan").put("candidates_a", all[0].size()).put("tensor_core_a", tf32);
    return;
  }
  for (int m = 0; m < 2; ++m)
    if (first[m] != nullptr) {
      const std::string k = m == 0 ? "first_a" : "first_b";
      l.put((k + "_us").c_str(), first[m]->us).put((k + "_over_best").c_str(), first[m]->us / best->us).put((k + "_engine").c_str(), first[m]->name).put((k + "_workspace").c_str(), first[m]->workspace).put((k + "_error").c_str(), first[m]->error);
    }
  l.put("best_us", best->us).put("best_engine", best->name).put("best_workspace", best->workspace).put("best_error", best->error).put("candidates_a", all[0].size()).put("candidates_b", all[1].size())
      .put("tensor_core_a", tf32).put("nondeterministic_a", chance).put("tried", tried.size()).put("not_finalized", failed_to_finalize).put("heuristics_a_ms", ms[0]).put("heuristics_b_ms", ms[1])
      .put("finalize_ms_a_plan", finalize / static_cast<double>(tried.size())).put("whole_problem_ms", (now() - started) * 1e3).put("json_same", json_same).put("all", list);
  if (first[0] != nullptr) table[std::string(row.name) + layout + pass_name[pass]] = {first[0], best};
}

static float* device_floats(u64 n, u64 seed = 0) {
  void* p = nullptr;
  GPU_OK(cudaMalloc(&p, n * 4 + 256));
  if (seed != 0) fill<<<264, 256, 0, stream>>>(static_cast<float*>(p), n, seed);
  return static_cast<float*>(p);
}
// Forward, then all gradients from a given dy, as one graph. bias: one layer with a bias
static void step(const char* name, const std::vector<int>& layers, bool bias) {
  try {
    for (const bool best : {false, true})
      for (const bool forked : {false, true}) {
        const std::size_t n = layers.size();
        std::vector<float*> act(n + 1), grad(n + 1), w(n), dw(n);
        for (std::size_t i = 0; i < n; ++i) {
          const conv_shape& e = shapes[static_cast<std::size_t>(layers[i])].e;
          if (i == 0) act[0] = device_floats(sizes(e, 0), 1), grad[0] = device_floats(sizes(e, 0));
          w[i] = device_floats(sizes(e, 1), 2), dw[i] = device_floats(sizes(e, 1));
          act[i + 1] = device_floats(sizes(e, 2)), grad[i + 1] = device_floats(sizes(e, 2), 3);
        }
        const conv_shape& e = shapes[static_cast<std::size_t>(layers[n - 1])].e;
        float *b = device_floats(static_cast<u64>(e.k), 4), *db = device_floats(static_cast<u64>(e.k));
        void* second = device_floats(static_cast<u64>(most_workspace) / 4);
        const auto use = [&](std::size_t i, int pass, void* x, void* y, void* z, cudaStream_t s, void* ws) {
          const chosen& c = table.at(std::string(shapes[static_cast<std::size_t>(layers[i])].name) + "NCHW" + pass_name[pass]);
          check(cudnnSetStream(handle, s), "conv");
          (best ? c.best : c.first)->run(handle, x, y, z, ws);
        };
        cudaEvent_t fork, join;
        GPU_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
        GPU_OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
        const int quads = static_cast<int>(e.p * e.q / 4);
        const auto f = [&](cudaStream_t s) {
          for (std::size_t i = 0; i < n; ++i) use(i, 0, act[i], w[i], act[i + 1], s, workspace);
          if (bias) add_bias<<<1056, 256, 0, s>>>(reinterpret_cast<float4*>(act[n]), b, static_cast<int>(e.k), quads);
          for (std::size_t i = n; i-- > 0;) {
            if (forked) { // wgrad beside dgrad
              GPU_OK(cudaEventRecord(fork, s));
              GPU_OK(cudaStreamWaitEvent(side, fork, 0));
            }
            use(i, 2, act[i], dw[i], grad[i + 1], forked ? side : s, forked ? second : workspace);
            if (bias && i + 1 == n) bias_gradient<<<static_cast<unsigned>(e.k), 1024, 0, forked ? side : s>>>(reinterpret_cast<const float4*>(grad[n]), db, quads);
            use(i, 1, grad[i], w[i], grad[i + 1], s, workspace);
          }
          if (forked) {
            GPU_OK(cudaEventRecord(join, side));
            GPU_OK(cudaStreamWaitEvent(s, join, 0));
          }
        };
        f(stream);
        GPU_OK(cudaDeviceSynchronize());
        const cudaGraphExec_t g = captured(stream, f);
        const auto go = [&](cudaStream_t s) { GPU_OK(cudaGraphLaunch(g, s)); };
        const times each = timed(stream, go, 50, 5), many = timed(stream, go, 10, 2, 10);
        line("conv step").put("workload", name).put("plans", best ? "best" : "first of A").put("wgrad", forked ? "beside dgrad" : "in line").put("graph_each_min_us", each.min_us).put("graph_each_median_us", each.median_us).put("graph_batch10_us", many.median_us);
        GPU_OK(cudaGraphExecDestroy(g));
        for (auto* v : {&act, &grad, &w, &dw})
          for (float* p : *v) GPU_OK(cudaFree(p));
        GPU_OK(cudaFree(b));
        GPU_OK(cudaFree(db));
        GPU_OK(cudaFree(second));
      }
  } catch (const std::exception& x) { line("conv step").put("workload", name).put("error", x.what()); }
}

static std::string properties() {
  for (int way = 0; way < 2; ++way) try {
      descriptor d(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
      if (way == 0) d.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, {std::int32_t{0}});
      else d.set(CUDNN_ATTR_DEVICEPROP_HANDLE, {handle});
      d = d.end();
      const auto c = d.get<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, 65536);
      std::string s(c.begin(), c.end());
      while (!s.empty() && s.back() == '\0') s.pop_back();
      if (const auto z = s.find('\0'); z != std::string::npos) s.resize(z);
      if (!s.empty()) return s;
    } catch (const std::exception& x) { line("cudnn properties").put("way", way == 0 ? "device id" : "handle").put("error", x.what()); }
  return {};
}

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--json") == 0) {
    stage_name() = "conv --json";
    std::ifstream f(argv[2]);
    const std::string json((std::istreambuf_iterator<char>(f)), {});
    const descriptor device = descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR).set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::string_view(json)).end();
    for (const shape_row& r : shapes)
      for (int pass = 0; pass < 3; ++pass)
        for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B}) {
          line l("candidates");
          l.put("workload", r.name).put("pass", pass_name[pass]).put("mode", mode == CUDNN_HEUR_MODE_A ? "A" : "B");
          try {
            const descriptor g = conv_plan::graph_of(static_cast<conv_pass>(pass), r.e, CUDNN_DATA_FLOAT, nullptr);
            const auto c = candidates(g, mode, &device);
            int usable = 0;
            std::string first;
            double ms = 0;
            for (const candidate& k : c)
              if (!k.tensor_core && !k.by_chance) {
                ++usable;
                if (first.empty())
                  if (const auto p = planned(k, nullptr, &device)) first = k.name, ms = p->finalize_ms;
              }
            std::string names;
            for (const candidate& k : c) names += (k.tensor_core ? "T:" : "") + k.name + " ";
            l.put("names", names);
            l.put("candidates", c.size()).put("usable", usable).put("first", first).put("finalize_ms", ms);
          } catch (const std::exception& x) { l.put("error", x.what()); }
        }
    return 0;
  }
  need_device("conv");
  const double start = now();
  deadline = start + (argc > 1 ? std::atof(argv[1]) : 100);
  try {
    GPU_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GPU_OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    check(cudnnCreate(&handle), "conv");
    check(cudnnSetStream(handle, stream), "conv");
    true_json = properties();
    line("cudnn properties").put("version", cudnnGetVersion()).put("bytes", true_json.size()).put("json", true_json);
    if (argc > 2 && !true_json.empty()) std::ofstream(argv[2]) << true_json << "\n";
    u64 n[3] = {0, 0, 0};
    for (const shape_row& r : shapes)
      for (int k = 0; k < 3; ++k) n[k] = std::max(n[k], sizes(r.e, k));
    X = device_floats(n[0], 11), W = device_floats(n[1], 12), Y = device_floats(n[2], 13);
    const u64 most = std::max({n[0], n[1], n[2]});
    O = device_floats(most);
    ref = reinterpret_cast<double*>(device_floats(2 * most));
    two = reinterpret_cast<double*>(device_floats(4));
    workspace = device_floats(static_cast<u64>(most_workspace) / 4);
    GPU_OK(cudaDeviceSynchronize());
    int left_out = 0;
    for (const bool last : {false, true})
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        for (int pass = 0; pass < 3; ++pass) {
          if (now() > deadline) {
            ++left_out;
            continue;
          }
          try {
            problem(shapes[i], last, pass);
          } catch (const std::exception& x) {
            line("conv error").put("workload", shapes[i].name).put("layout", last ? "NHWC" : "NCHW").put("pass", pass_name[pass]).put("error", x.what());
          }
        }
        if (!last && i == 0) step("conv-square-n1", {0}, true);
        if (!last && i == 3) step("distill-a", {1, 2, 3}, false);
      }
    line("stage ends").put("problems_left_out", left_out).put("seconds", now() - start);
  } catch (const std::exception& x) { line("conv error").put("error", x.what()); }
}
