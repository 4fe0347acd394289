// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// cudnn_convolutions tells cuDNN the convolution that is meant. The functions of this file stand before the library's: they
// note what it is told and pass it on, and what would run on a device runs here, as the notes say.
#include <tapeless/cuda/kernels/conv.hpp>
#include <tapeless/cuda/libs/check.hpp>

#include <doctest/doctest.h>

#if TAPELESS_CUDNN
#include "conv_cases.hpp"
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/libs/cudnn_conv.hpp>

#include <support/random.hpp>

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace tl = tapeless;
using namespace tapeless::cuda;
using tapeless::conv_extents;

namespace {

// What cuDNN was told last.
struct tensor_note {
  std::array<std::int64_t, 4> extent{}, stride{};
  cudnnDataType_t type{};
  void* data = nullptr;
  template <class T> T& at(std::int64_t a, std::int64_t b, std::int64_t i, std::int64_t j) const {
    if (a >= extent[0] || b >= extent[1] || i >= extent[2] || j >= extent[3]) FAIL("outside of a tensor");
    return static_cast<T*>(data)[a * stride[0] + b * stride[1] + i * stride[2] + j * stride[3]];
  }
};
struct notes {
  tensor_note tensor; // that is being described
  std::map<std::int64_t, tensor_note> tensors;
  std::array<std::int64_t, 2> before{}, after{}, dilation{}, stride{};
  conv_pass pass{};
  cudnnDataType_t type{};
  double alpha = 0, beta = 1;
  std::array<std::int64_t, 3> ids{};
  int runs = 0;
} told;

template <class To> void note(To& to, std::int64_t n, const void* values) {
  REQUIRE(sizeof to == static_cast<std::size_t>(n) * (sizeof to / to.size()));
  std::memcpy(to.data(), values, sizeof to);
}
template <class T> void compute() {
  const tensor_note &x = told.tensors.at('x'), &w = told.tensors.at('w'), &y = told.tensors.at('y');
  const std::int64_t groups = x.extent[1] / w.extent[1], filters = w.extent[0] / groups;
  const tensor_note& result = told.pass == conv_pass::fprop ? y : told.pass == conv_pass::dgrad ? x : w;
  const auto over = [](const tensor_note& t, auto&& f) {
    for (std::int64_t a = 0; a < t.extent[0]; ++a)
      for (std::int64_t b = 0; b < t.extent[1]; ++b)
        for (std::int64_t i = 0; i < t.extent[2]; ++i)
          for (std::int64_t j = 0; j < t.extent[3]; ++j) f(a, b, i, j);
  };
  over(result, [&](auto... at) { result.at<T>(at...) = T(0); });
  over(y, [&](std::int64_t n, std::int64_t k, std::int64_t p, std::int64_t q) {
    for (std::int64_t c = 0; c < w.extent[1]; ++c)
      for (std::int64_t r = 0; r < w.extent[2]; ++r)
        for (std::int64_t s = 0; s < w.extent[3]; ++s) {
          const std::int64_t i = p * told.stride[0] - told.before[0] + r * told.dilation[0],
                             j = q * told.stride[1] - told.before[1] + s * told.dilation[1];
          if (i < 0 || i >= x.extent[2] || j < 0 || j >= x.extent[3]) continue;
          T &of_x = x.at<T>(n, k / filters * w.extent[1] + c, i, j), &of_w = w.at<T>(k, c, r, s),
            &of_y = y.at<T>(n, k, p, q);
          if (told.pass == conv_pass::fprop) of_y += of_x * of_w;
          else if (told.pass == conv_pass::dgrad) of_x += of_y * of_w;
          else of_w += of_x * of_y;
        }
  });
}

} // namespace

extern "C" {
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void* values) {
  static const auto library =
      reinterpret_cast<decltype(&cudnnBackendSetAttribute)>(dlsym(RTLD_NEXT, "cudnnBackendSetAttribute"));
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  if (is(CUDNN_ATTR_TENSOR_DATA_TYPE)) told.tensor.type = *static_cast<const cudnnDataType_t*>(values);
  if (is(CUDNN_ATTR_TENSOR_DIMENSIONS)) note(told.tensor.extent, n, values);
  if (is(CUDNN_ATTR_TENSOR_STRIDES)) note(told.tensor.stride, n, values);
  if (is(CUDNN_ATTR_TENSOR_UNIQUE_ID)) told.tensors[*static_cast<const std::int64_t*>(values)] = told.tensor;
  if (is(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)) note(told.before, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)) note(told.after, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_DILATIONS)) note(told.dilation, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)) note(told.stride, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_COMP_TYPE)) told.type = *static_cast<const cudnnDataType_t*>(values);
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X)) told.pass = conv_pass::fprop;
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX)) told.pass = conv_pass::dgrad;
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X)) told.pass = conv_pass::wgrad;
  const auto number = [&] {
    return type == CUDNN_TYPE_DOUBLE ? *static_cast<const double*>(values)
                                     : static_cast<double>(*static_cast<const float*>(values));
  };
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA))
    told.alpha = number();
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA))
    told.beta = number();
  if (is(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)) note(told.ids, n, values);
  if (is(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS))
    for (std::size_t k = 0; k < told.ids.size(); ++k)
      told.tensors.at(told.ids[k]).data = static_cast<void* const*>(values)[k];
  return library(d, name, type, n, values);
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  REQUIRE((told.alpha == 1 && told.beta == 0));
  for (const auto& [id, t] : told.tensors) REQUIRE(t.type == told.type);
  if (told.type == CUDNN_DATA_DOUBLE) compute<double>();
  else compute<float>();
  ++told.runs;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t) {
  std::memset(p, value, n);
  return cudaSuccess;
}
}

namespace {

std::string h200() {
  std::ifstream file(TAPELESS_TEST_DATA "/h200.json");
  return {std::istreambuf_iterator<char>(file), {}};
}
template <class X> std::vector<X> operand(std::int64_t n, std::uint64_t seed) {
  std::vector<X> x;
  using number = std::conditional_t<std::is_same_v<X, double>, double, float>;
  for (const double v : support::random_values<double>(static_cast<std::size_t>(n), seed))
    x.push_back(X(static_cast<number>(v)));
  return x;
}
// The largest difference from the kernel, as a part of what rounding may make of a sum of that many terms
template <class X, conv_pass Pass> double difference(const conv_extents& e) {
  using T = std::conditional_t<std::is_same_v<X, double>, double, float>;
  constexpr conv_pass of_first = Pass == conv_pass::dgrad ? conv_pass::fprop : conv_pass::dgrad,
                      of_second = Pass == conv_pass::wgrad ? conv_pass::fprop : conv_pass::wgrad;
  const auto a = operand<X>(results_of(of_first, e), 1), b = operand<X>(results_of(of_second, e), 2);
  std::vector<T> c(static_cast<std::size_t>(results_of(Pass, e)), T(3)), expected = c;
  cudnn_convolutions convolutions(h200());
  const auto bytes = convolutions.prepare<X>(Pass, e);
  REQUIRE(bytes);
  std::vector<double> scratch(*bytes / sizeof(double) + 1); // it is aligned, too
  REQUIRE(convolutions.run(emulated_device{}, Pass, e, a.data(), b.data(), c.data(), {scratch.data(), *bytes},
                           nullptr));
  emulated_device{}.conv<Pass, T, X>(e, a.data(), b.data(), expected.data());
  const std::int64_t terms = Pass == conv_pass::fprop   ? e.c / e.groups * e.r * e.s
                             : Pass == conv_pass::dgrad ? e.k / e.groups * e.r * e.s
                                                        : e.n * e.p * e.q;
  double most = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    most = std::fmax(most, std::abs(static_cast<double>(c[i]) - static_cast<double>(expected[i])));
  return most / (static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(terms));
}
template <class X> double difference(const conv_extents& e) {
  return std::fmax(difference<X, conv_pass::fprop>(e),
                   std::fmax(difference<X, conv_pass::dgrad>(e), difference<X, conv_pass::wgrad>(e)));
}

} // namespace

TEST_CASE("cuDNN is told the convolution of the kernel, for all of the laws") {
  told.runs = 0;
  int cases = 0;
  for (conv_extents e : conv_cases)
    for (const bool nhwc : {false, true}) {
      e.nhwc = nhwc;
      CHECK(difference<float>(e) <= 2);
      CHECK(difference<double>(e) <= 2);
      CHECK(difference<tl::bf16>(e) <= 2);
      cases += 9;
    }
  CHECK(told.runs == cases);
}
TEST_CASE("cuDNN is told nothing of a convolution without elements, or of sums without terms") {
  told.runs = 0;
  for (const bool bf16 : {false, true}) {
    conv_extents e = conv_cases[0];
    e.n = 0;
    CHECK((bf16 ? difference<tl::bf16, conv_pass::fprop>(e) : difference<float, conv_pass::fprop>(e)) == 0);
    CHECK((bf16 ? difference<tl::bf16, conv_pass::dgrad>(e) : difference<float, conv_pass::dgrad>(e)) == 0);
    std::vector<float> x(1), w(static_cast<std::size_t>(results_of(conv_pass::wgrad, e)), 3.0f);
    cudnn_convolutions convolutions(h200());
    CHECK(
        convolutions.run(emulated_device{}, conv_pass::wgrad, e, x.data(), x.data(), w.data(), {}, nullptr));
    CHECK(w == std::vector<float>(w.size(), 0.0f));
  }
  CHECK(told.runs == 0);
}
TEST_CASE("cuDNN: nothing runs where the workspace is too small, or where there is no plan") {
  told.runs = 0;
  conv_extents e = conv_cases[0];
  std::vector<tl::bf16> x(4096);
  std::vector<float> y(4096);
  cudnn_convolutions convolutions(h200());
  CHECK_FALSE(
      convolutions.run(emulated_device{}, conv_pass::fprop, e, x.data(), x.data(), y.data(), {}, nullptr));
  e = {.h = 40, .w = 40, .r = 3, .s = 3, .p = 20, .q = 38};
  CHECK_FALSE(
      convolutions.run(emulated_device{}, conv_pass::fprop, e, y.data(), y.data(), y.data(), {}, nullptr));
  CHECK(told.runs == 0);
}
#endif
