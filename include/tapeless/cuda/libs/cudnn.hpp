// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Descriptors of cuDNN's backend API as values, set in one expression:
//   const descriptor x = descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR).set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w}).end();
#pragma once
#include <cudnn.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include "../rtc/error.hpp"

static_assert(CUDNN_MAJOR >= 9, "tapeless: cuda: convolutions need cuDNN 9 or newer, or -DTAPELESS_CUDNN=0");

namespace tapeless::cuda {

inline void check(cudnnStatus_t status, const char* op) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char why[256] = "", text[400];
  cudnnGetLastErrorString(why, sizeof why);
  std::snprintf(text, sizeof text, "%s: %s", cudnnGetErrorString(status), why);
  failed(op, "cuDNN", static_cast<int>(status), text);
}

// What cuDNN calls the type of an attribute's values.
template <class T> struct attribute_type;
template <cudnnBackendAttributeType_t Type> struct attribute_type_is {
  static constexpr cudnnBackendAttributeType_t value = Type;
};
template <> struct attribute_type<bool> : attribute_type_is<CUDNN_TYPE_BOOLEAN> {};
template <> struct attribute_type<char> : attribute_type_is<CUDNN_TYPE_CHAR> {};
template <> struct attribute_type<std::int64_t> : attribute_type_is<CUDNN_TYPE_INT64> {};
template <> struct attribute_type<float> : attribute_type_is<CUDNN_TYPE_FLOAT> {};
template <> struct attribute_type<double> : attribute_type_is<CUDNN_TYPE_DOUBLE> {};
template <> struct attribute_type<void*> : attribute_type_is<CUDNN_TYPE_VOID_PTR> {};
template <> struct attribute_type<cudnnHandle_t> : attribute_type_is<CUDNN_TYPE_HANDLE> {};
template <> struct attribute_type<cudnnDataType_t> : attribute_type_is<CUDNN_TYPE_DATA_TYPE> {};
template <> struct attribute_type<cudnnConvolutionMode_t> : attribute_type_is<CUDNN_TYPE_CONVOLUTION_MODE> {};
template <> struct attribute_type<cudnnBackendHeurMode_t> : attribute_type_is<CUDNN_TYPE_HEUR_MODE> {};
template <> struct attribute_type<cudnnPointwiseMode_t> : attribute_type_is<CUDNN_TYPE_POINTWISE_MODE> {};
template <>
struct attribute_type<cudnnBackendNumericalNote_t> : attribute_type_is<CUDNN_TYPE_NUMERICAL_NOTE> {};

class descriptor {
  cudnnBackendDescriptor_t d_ = nullptr;

public:
  explicit descriptor(cudnnBackendDescriptorType_t t) {
    check(cudnnBackendCreateDescriptor(t, &d_), "convolution");
  }
  descriptor(descriptor&& o) noexcept : d_(std::exchange(o.d_, nullptr)) {}
  descriptor& operator=(descriptor&& o) noexcept {
    std::swap(d_, o.d_);
    return *this;
  }
  ~descriptor() {
    if (d_ != nullptr) cudnnBackendDestroyDescriptor(d_);
  }
  cudnnBackendDescriptor_t get() const { return d_; }

  template <class T> descriptor& set(cudnnBackendAttributeName_t name, const T* values, std::size_t n) {
    check(cudnnBackendSetAttribute(d_, name, attribute_type<T>::value, static_cast<std::int64_t>(n),
                                   static_cast<const void*>(values)),
          "convolution");
    return *this;
  }
  template <class T> descriptor& set(cudnnBackendAttributeName_t name, std::initializer_list<T> values) {
    return set(name, values.begin(), values.size());
  }
  descriptor& set(cudnnBackendAttributeName_t name, std::string_view text) {
    return set(name, text.data(), text.size());
  }
  template <class... D>
    requires(std::is_same_v<D, descriptor> && ...)
  descriptor& set(cudnnBackendAttributeName_t name, const descriptor& value, const D&... more) {
    const cudnnBackendDescriptor_t all[] = {value.d_, more.d_...};
    check(cudnnBackendSetAttribute(d_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1 + sizeof...(D),
                                   static_cast<const void*>(all)),
          "convolution");
    return *this;
  }
  descriptor&& end() {
    check(try_end(), "convolution");
    return std::move(*this);
  }
  // For what may not be supported.
  cudnnStatus_t try_end() { return cudnnBackendFinalize(d_); }

  template <class T> std::vector<T> values(cudnnBackendAttributeName_t name, std::int64_t most) const {
    std::vector<T> v(static_cast<std::size_t>(most));
    std::int64_t n = 0;
    check(cudnnBackendGetAttribute(d_, name, attribute_type<T>::value, most, &n, v.data()), "convolution");
    v.resize(static_cast<std::size_t>(n < most ? n : most));
    return v;
  }
  // The descriptor of type t that the attribute holds.
  descriptor part(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t t) const {
    descriptor r(t);
    std::int64_t n = 0;
    check(cudnnBackendGetAttribute(d_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, static_cast<void*>(&r.d_)),
          "convolution");
    return r;
  }
  // The descriptors, of type t, that the attribute holds.
  std::vector<descriptor> parts(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t t) const {
    constexpr auto type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
    std::int64_t n = 0;
    check(cudnnBackendGetAttribute(d_, name, type, 0, &n, nullptr), "convolution");
    std::vector<descriptor> r;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t k = 0; k < n; ++k) raw.push_back(r.emplace_back(t).get());
    check(cudnnBackendGetAttribute(d_, name, type, n, &n, static_cast<void*>(raw.data())), "convolution");
    while (static_cast<std::int64_t>(r.size()) > n) r.pop_back();
    return r;
  }
};

} // namespace tapeless::cuda
