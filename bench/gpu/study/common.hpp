// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// JSON lines, checked calls, times by events.
#pragma once
#include <cuda_runtime.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#ifdef GPU_THROWS
#include <stdexcept>
#define GPU_GIVE_UP(why) throw std::runtime_error(why)
#else
#define GPU_GIVE_UP(why) std::exit(3)
#endif
#ifdef EMULATED
#define GPU_OK(x) ((void)(x))
#else
#define GPU_OK(x)                                                \
  do {                                                           \
    const cudaError_t e_ = (x);                                  \
    if (e_ != cudaSuccess) {                                     \
      line("error")                                              \
          .put("where", __FILE__ ":" + std::to_string(__LINE__)) \
          .put("call", #x)                                       \
          .put("error", cudaGetErrorString(e_));                 \
      GPU_GIVE_UP(cudaGetErrorString(e_));                       \
    }                                                            \
  } while (0)
#endif

inline const char*& stage_name() {
  static const char* s = "?";
  return s;
}
// line("what").put("key", value)...;  written, flushed, when it ends
class line {
  std::string s_;
  static FILE* out() {
    static FILE* f = [] {
      const char* p = std::getenv("GPU_JSONL");
      return p != nullptr ? std::fopen(p, "a") : nullptr;
    }();
    return f;
  }
  static std::string quoted(const std::string& x) {
    std::string r = "\"";
    for (const char c : x) {
      if (c == '"' || c == '\\') (r += '\\') += c;
      else if (static_cast<unsigned char>(c) < 32) r += ' ';
      else r += c;
    }
    return r + '"';
  }
  line& raw(const char* k, const std::string& v) {
    s_ += ", " + quoted(k) + ": " + v;
    return *this;
  }

public:
  explicit line(const char* what)
      : s_("{\"what\": " + quoted(what) + ", \"stage\": " + quoted(stage_name())) {}
  line(const line&) = delete;
  line& put(const char* k, const std::string& v) { return raw(k, quoted(v)); }
  line& put(const char* k, const char* v) { return raw(k, quoted(v)); }
  line& put(const char* k, bool v) { return raw(k, v ? "true" : "false"); }
  line& put(const char* k, double v) {
    char b[40];
    std::snprintf(b, sizeof b, "%.6g", v);
    return raw(k, std::isfinite(v) ? b : "null");
  }
  line& put(const char* k, float v) { return put(k, static_cast<double>(v)); }
  template <class I>
    requires std::is_integral_v<I>
  line& put(const char* k, I v) {
    return raw(k, std::to_string(v));
  }
  ~line() {
    s_ += "}\n";
    if (out() != nullptr) {
      std::fputs(s_.c_str(), out());
      std::fflush(out());
    }
    std::fputs(s_.c_str(), stdout);
    std::fflush(stdout);
  }
};

// Ends the program, with rc 0, where there is no device.
inline void need_device(const char* stage) {
  stage_name() = stage;
  if (std::getenv("GPU_PROBE") != nullptr) std::exit(0); // it starts: all libraries are there
  int n = 0;
  const cudaError_t e = cudaGetDeviceCount(&n);
  if (e != cudaSuccess || n == 0) {
    line("no device").put("error", cudaGetErrorString(e));
    std::exit(0);
  }
}

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct times {
  double min_us = 0, median_us = 0;
};
inline times of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v.front(), v[v.size() / 2]};
}
// f(stream), `per` of it between two events, `repeats` times behind `warm`; us of one
template <class F> times timed(cudaStream_t s, F&& f, int repeats = 30, int warm = 5, int per = 1) {
  cudaEvent_t a, b;
  GPU_OK(cudaEventCreate(&a));
  GPU_OK(cudaEventCreate(&b));
  for (int i = 0; i < warm; ++i) f(s);
  GPU_OK(cudaStreamSynchronize(s));
  std::vector<double> v;
  for (int i = 0; i < repeats; ++i) {
    GPU_OK(cudaEventRecord(a, s));
    for (int k = 0; k < per; ++k) f(s);
    GPU_OK(cudaEventRecord(b, s));
    GPU_OK(cudaEventSynchronize(b));
    float ms = 0;
    GPU_OK(cudaEventElapsedTime(&ms, a, b));
    v.push_back(static_cast<double>(ms) * 1e3 / per);
  }
  GPU_OK(cudaEventDestroy(a));
  GPU_OK(cudaEventDestroy(b));
  return of(v);
}

// What f enqueues, as an executable graph.
template <class F> cudaGraphExec_t captured(cudaStream_t s, F&& f) {
  cudaGraph_t g;
  cudaGraphExec_t e;
  GPU_OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  f(s);
  GPU_OK(cudaStreamEndCapture(s, &g));
  GPU_OK(cudaGraphInstantiate(&e, g, 0));
  GPU_OK(cudaGraphDestroy(g));
  return e;
}
