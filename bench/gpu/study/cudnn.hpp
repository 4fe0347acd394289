// SPDX-License-Identifier: MIT
//
// cuDNN's backend API as values: descriptors that are set in one expression, and the plan of a convolution.
//   conv_plan plan(conv_pass::dgrad, extents, type, where);  plan.run(handle, x, w, y, workspace)
#pragma once
#include <cudnn.h>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapeless::cuda {

inline void check(cudnnStatus_t s, const char* op) {
  if (s == CUDNN_STATUS_SUCCESS) return;
  char why[512] = "";
  cudnnGetLastErrorString(why, sizeof why);
  throw std::runtime_error(std::string("tapeless: cuda: ") + op + ": cuDNN: " + cudnnGetErrorString(s) +
                           ": " + why);
}

template <class T> inline constexpr auto type_tag = CUDNN_TYPE_INT64;
template <> inline constexpr auto type_tag<bool> = CUDNN_TYPE_BOOLEAN;
template <> inline constexpr auto type_tag<char> = CUDNN_TYPE_CHAR;
template <> inline constexpr auto type_tag<float> = CUDNN_TYPE_FLOAT;
template <> inline constexpr auto type_tag<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <> inline constexpr auto type_tag<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <> inline constexpr auto type_tag<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <> inline constexpr auto type_tag<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <> inline constexpr auto type_tag<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <> inline constexpr auto type_tag<cudnnBackendKnobType_t> = CUDNN_TYPE_KNOB_TYPE;
template <> inline constexpr auto type_tag<cudnnBackendBehaviorNote_t> = CUDNN_TYPE_BEHAVIOR_NOTE;
template <> inline constexpr auto type_tag<std::int32_t> = CUDNN_TYPE_INT32;
template <> inline constexpr auto type_tag<void*> = CUDNN_TYPE_VOID_PTR;

class descriptor {
  cudnnBackendDescriptor_t d_ = nullptr;

public:
  explicit descriptor(cudnnBackendDescriptorType_t t) { check(cudnnBackendCreateDescriptor(t, &d_), "conv"); }
  descriptor(descriptor&& o) noexcept : d_(std::exchange(o.d_, nullptr)) {}
  descriptor& operator=(descriptor&& o) noexcept {
    std::swap(d_, o.d_);
    return *this;
  }
  ~descriptor() {
    if (d_ != nullptr) cudnnBackendDestroyDescriptor(d_);
  }
  cudnnBackendDescriptor_t get() const { return d_; }
  template <class T> descriptor& set(cudnnBackendAttributeName_t a, std::initializer_list<T> v) {
    check(cudnnBackendSetAttribute(d_, a, type_tag<T>, static_cast<std::int64_t>(v.size()), v.begin()),
          "conv");
    return *this;
  }
  descriptor& set(cudnnBackendAttributeName_t a, std::string_view v) {
    check(cudnnBackendSetAttribute(d_, a, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(v.size()), v.data()),
          "conv");
    return *this;
  }
  descriptor& set(cudnnBackendAttributeName_t a, const descriptor& v) {
    check(cudnnBackendSetAttribute(d_, a, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v.d_), "conv");
    return *this;
  }
  descriptor&& end() {
    check(cudnnBackendFinalize(d_), "conv");
    return std::move(*this);
  }
  template <class T> std::vector<T> get(cudnnBackendAttributeName_t a, std::int64_t most) const {
    std::vector<T> v(static_cast<std::size_t>(most));
    std::int64_t n = 0;
    check(cudnnBackendGetAttribute(d_, a, type_tag<T>, most, &n, v.data()), "conv");
    v.resize(static_cast<std::size_t>(n < most ? n : most));
    return v;
  }
  descriptor get_descriptor(cudnnBackendAttributeName_t a, cudnnBackendDescriptorType_t t) const {
    descriptor r(t);
    std::int64_t n = 0;
    check(cudnnBackendGetAttribute(d_, a, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &r.d_), "conv");
    return r;
  }
  std::vector<descriptor> get_all(cudnnBackendAttributeName_t a, cudnnBackendDescriptorType_t t) const {
    std::int64_t n = 0;
    check(cudnnBackendGetAttribute(d_, a, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, nullptr), "conv");
    std::vector<descriptor> r;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t k = 0; k < n; ++k) raw.push_back(r.emplace_back(t).get());
    check(cudnnBackendGetAttribute(d_, a, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, &n, raw.data()), "conv");
    while (static_cast<std::int64_t>(r.size()) > n) r.pop_back();
    return r;
  }
};

// At most `most` of them, where the count cannot be asked for.
inline std::vector<descriptor> get_some(const descriptor& d, cudnnBackendAttributeName_t a,
                                        cudnnBackendDescriptorType_t t, int most) {
  std::vector<descriptor> r;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int k = 0; k < most; ++k) raw.push_back(r.emplace_back(t).get());
  std::int64_t n = 0;
  check(cudnnBackendGetAttribute(d.get(), a, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &n, raw.data()), "conv");
  while (static_cast<std::int64_t>(r.size()) > n) r.pop_back();
  return r;
}
enum class conv_pass { fprop, dgrad, wgrad };
struct conv_shape { // as conv_extents of core/geometry.hpp
  std::int64_t n, c, h, w, k, r, s, p, q, stride = 1, pad = 0, dil = 1, groups = 1;
  bool channels_last = false;
};

class conv_plan {
public: // for the measurement
  descriptor plan_;
  std::int64_t workspace_ = 0;

  static descriptor tensor(std::int64_t id, cudnnDataType_t t, bool last, std::int64_t a, std::int64_t b,
                           std::int64_t h, std::int64_t w) {
    const std::int64_t c = last ? 1 : h * w, y = last ? w * b : w, x = last ? b : 1;
    return descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, {t})
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {a, b, h, w})
        .set(CUDNN_ATTR_TENSOR_STRIDES, {b * h * w, c, y, x})
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {std::int64_t{16}})
        .end();
  }
  static descriptor graph_of(conv_pass pass, const conv_shape& e, cudnnDataType_t t, cudnnHandle_t handle) {
    const descriptor x = tensor('x', t, e.channels_last, e.n, e.c, e.h, e.w),
                     w = tensor('w', t, e.channels_last, e.k, e.c / e.groups, e.r, e.s),
                     y = tensor('y', t, e.channels_last, e.n, e.k, e.p, e.q);
    const descriptor conv =
        descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
            .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, {t == CUDNN_DATA_DOUBLE ? t : CUDNN_DATA_FLOAT})
            .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, {CUDNN_CROSS_CORRELATION})
            .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {std::int64_t{2}})
            .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {e.pad, e.pad})
            .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {e.pad, e.pad})
            .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {e.dil, e.dil})
            .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {e.stride, e.stride})
            .end();
    using A = cudnnBackendAttributeName_t;
    struct names {
      cudnnBackendDescriptorType_t type;
      A x, w, y, conv, alpha, beta;
    };
    constexpr names of[] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
    const names& a = of[static_cast<int>(pass)];
    descriptor op(a.type);
    op.set(a.x, x).set(a.w, w).set(a.y, y).set(a.conv, conv);
    if (t == CUDNN_DATA_DOUBLE) {
      const double one = 1, zero = 0;
      check(cudnnBackendSetAttribute(op.get(), a.alpha, CUDNN_TYPE_DOUBLE, 1, &one), "conv");
      check(cudnnBackendSetAttribute(op.get(), a.beta, CUDNN_TYPE_DOUBLE, 1, &zero), "conv");
    } else op.set(a.alpha, {1.0f}).set(a.beta, {0.0f});
    check(cudnnBackendFinalize(op.get()), "conv");
    descriptor g(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (handle != nullptr) g.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, {handle});
    return g.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, op).end();
  }
  static bool has_note(const descriptor& config, cudnnBackendNumericalNote_t note) {
    const descriptor engine =
        config.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    for (const auto n : engine.get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                CUDNN_NUMERICAL_NOTE_TYPE_COUNT))
      if (n == note) return true;
    return false;
  }

public:
  int candidates = 0, tf32 = 0, by_chance = 0; // by_chance: engines whose sums are in any order
  // The first plan of the heuristics that can be made; fp32 without TF32 unless `fast`. device: properties, in place of a handle
  conv_plan(conv_pass pass, const conv_shape& e, cudnnDataType_t t, cudnnHandle_t handle,
            const descriptor* device, bool fast = false)
      : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const descriptor graph = graph_of(pass, e, t, handle);
    descriptor h(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    h.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, {CUDNN_HEUR_MODE_A});
    if (device != nullptr) h.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
    const auto all =
        std::move(h.end()).get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    candidates = static_cast<int>(all.size());
    std::string why = "no engine";
    for (const descriptor& c : all) {
      if (t == CUDNN_DATA_FLOAT && !fast && has_note(c, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) {
        ++tf32;
        continue;
      }
      if (!fast && has_note(c, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) {
        ++by_chance;
        continue;
      }
      try {
        descriptor p(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        if (handle != nullptr) p.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, {handle});
        p.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, c);
        if (device != nullptr) p.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device);
        check(cudnnBackendFinalize(p.get()), "conv");
        workspace_ = p.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1)[0];
        std::swap(plan_, p);
        return;
      } catch (const std::exception& x) { why = x.what(); }
    }
    throw std::runtime_error("tapeless: cuda: conv: cuDNN has no plan: " + why);
  }
  std::int64_t workspace() const { return workspace_; }
  void run(cudnnHandle_t handle, void* x, void* w, void* y, void* workspace) const {
    const descriptor v = descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
                             .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                  {std::int64_t{'x'}, std::int64_t{'w'}, std::int64_t{'y'}})
                             .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, {x, w, y})
                             .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {workspace})
                             .end();
    check(cudnnBackendExecute(handle, plan_.get(), v.get()), "conv");
  }
};

} // namespace tapeless::cuda
