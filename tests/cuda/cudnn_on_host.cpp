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

#include <support/driver_for_plans.hpp>
#include <support/random.hpp>

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tl = tapeless;
using namespace tapeless::cuda;
using tapeless::conv_extents;

namespace {

struct tensor_note {
  std::array<std::int64_t, 4> extent{}, stride{};
  cudnnDataType_t type{};
  std::int64_t id = 0, alignment = 0;
  bool only_passes = false; // it has no memory
  std::byte* data = nullptr;
  template <class T> T& at(std::int64_t a, std::int64_t b, std::int64_t i, std::int64_t j) const {
    if (a >= extent[0] || b >= extent[1] || i >= extent[2] || j >= extent[3]) FAIL("outside of a tensor");
    return reinterpret_cast<T*>(data)[a * stride[0] + b * stride[1] + i * stride[2] + j * stride[3]];
  }
  template <class T> T value(std::int64_t a, std::int64_t b, std::int64_t i, std::int64_t j) const {
    if (type == CUDNN_DATA_BFLOAT16) return static_cast<T>(static_cast<float>(at<tl::bf16>(a, b, i, j)));
    return at<T>(a, b, i, j);
  }
};
// What cuDNN was told last.
struct notes {
  std::map<void*, tensor_note> tensors; // by descriptor
  tensor_note x, w, y;                  // of the convolution
  bool identity = false;                // behind the convolution
  tensor_note sums, result;             // what it reads and writes
  std::array<std::int64_t, 2> before{}, after{}, dilation{}, stride{};
  conv_pass pass{};
  cudnnDataType_t type{};
  double alpha = 0, beta = 1;
  std::array<std::int64_t, 3> ids{};
  std::map<std::int64_t, std::byte*> data;
  int runs = 0, runs_of_bf16 = 0, errors_asked_for = 0;
  // Plans that cuDNN would compile kernels for: here nothing is compiled.
  std::set<void*> plans, not_compiled;
} told;

template <class To> void note(To& to, std::int64_t n, const void* values) {
  REQUIRE(sizeof to == static_cast<std::size_t>(n) * (sizeof to / to.size()));
  std::memcpy(to.data(), values, sizeof to);
}
template <class T> void compute() {
  const tensor_note &x = told.x, &w = told.w, &y = told.y;
  tensor_note r = told.pass == conv_pass::fprop ? y : told.pass == conv_pass::dgrad ? x : w;
  if (told.identity) {
    REQUIRE((r.id == told.sums.id && r.only_passes && r.type == told.type));
    REQUIRE((told.result.extent == r.extent && told.result.stride == r.stride));
    r = told.result;
  }
  REQUIRE((r.type == told.type && !r.only_passes));
  const std::int64_t groups = x.extent[1] / w.extent[1], filters = w.extent[0] / groups;
  const auto over = [](const tensor_note& t, auto&& f) {
    for (std::int64_t a = 0; a < t.extent[0]; ++a)
      for (std::int64_t b = 0; b < t.extent[1]; ++b)
        for (std::int64_t i = 0; i < t.extent[2]; ++i)
          for (std::int64_t j = 0; j < t.extent[3]; ++j) f(a, b, i, j);
  };
  over(r, [&](auto... at) { r.at<T>(at...) = T(0); });
  over(y, [&](std::int64_t n, std::int64_t k, std::int64_t p, std::int64_t q) {
    for (std::int64_t c = 0; c < w.extent[1]; ++c)
      for (std::int64_t i = 0; i < w.extent[2]; ++i)
        for (std::int64_t j = 0; j < w.extent[3]; ++j) {
          const std::int64_t h = p * told.stride[0] - told.before[0] + i * told.dilation[0],
                             v = q * told.stride[1] - told.before[1] + j * told.dilation[1],
                             d = k / filters * w.extent[1] + c;
          if (h < 0 || h >= x.extent[2] || v < 0 || v >= x.extent[3]) continue;
          if (told.pass == conv_pass::fprop)
            r.at<T>(n, k, p, q) += x.value<T>(n, d, h, v) * w.value<T>(k, c, i, j);
          else if (told.pass == conv_pass::dgrad)
            r.at<T>(n, d, h, v) += y.value<T>(n, k, p, q) * w.value<T>(k, c, i, j);
          else r.at<T>(k, c, i, j) += x.value<T>(n, d, h, v) * y.value<T>(n, k, p, q);
        }
  });
}
template <class F> F library(const char* name) { return reinterpret_cast<F>(dlsym(RTLD_NEXT, name)); }

} // namespace

extern "C" {
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* d) {
  const auto status =
      library<decltype(&cudnnBackendCreateDescriptor)>("cudnnBackendCreateDescriptor")(type, d);
  told.not_compiled.erase(*d);
  if (type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) told.plans.insert(*d);
  else told.plans.erase(*d);
  return status;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
  if (told.identity && told.plans.contains(d)) {
    told.not_compiled.insert(d);
    return CUDNN_STATUS_SUCCESS;
  }
  return library<decltype(&cudnnBackendFinalize)>("cudnnBackendFinalize")(d);
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t* n,
                                       void* values) {
  if (told.not_compiled.contains(d)) {
    REQUIRE(name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    *static_cast<std::int64_t*>(values) = 0;
    *n = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  static const auto next = library<decltype(&cudnnBackendGetAttribute)>("cudnnBackendGetAttribute");
  return next(d, name, type, most, n, values);
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void* values) {
  static const auto next = library<decltype(&cudnnBackendSetAttribute)>("cudnnBackendSetAttribute");
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  const auto the_tensor = [&] { return told.tensors.at(*static_cast<void* const*>(values)); };
  tensor_note& tensor = told.tensors[d];
  if (is(CUDNN_ATTR_TENSOR_DATA_TYPE))
    tensor = {.type = *static_cast<const cudnnDataType_t*>(values)}; // the first that is set
  if (is(CUDNN_ATTR_TENSOR_DIMENSIONS)) note(tensor.extent, n, values);
  if (is(CUDNN_ATTR_TENSOR_STRIDES)) note(tensor.stride, n, values);
  if (is(CUDNN_ATTR_TENSOR_UNIQUE_ID)) tensor.id = *static_cast<const std::int64_t*>(values);
  if (is(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)) tensor.alignment = *static_cast<const std::int64_t*>(values);
  if (is(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) tensor.only_passes = *static_cast<const bool*>(values);
  if (is(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)) note(told.before, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)) note(told.after, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_DILATIONS)) note(told.dilation, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)) note(told.stride, n, values);
  if (is(CUDNN_ATTR_CONVOLUTION_COMP_TYPE)) told.type = *static_cast<const cudnnDataType_t*>(values);
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X)) told.pass = conv_pass::fprop;
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX)) told.pass = conv_pass::dgrad;
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X)) told.pass = conv_pass::wgrad;
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X)) {
    told.x = the_tensor();
    told.identity = false;
  }
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW))
    told.w = the_tensor();
  if (is(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY))
    told.y = the_tensor();
  if (is(CUDNN_ATTR_POINTWISE_MODE))
    told.identity = *static_cast<const cudnnPointwiseMode_t*>(values) == CUDNN_POINTWISE_IDENTITY;
  if (is(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)) told.sums = the_tensor();
  if (is(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)) told.result = the_tensor();
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
      told.data[told.ids[k]] = static_cast<std::byte* const*>(values)[k];
  return next(d, name, type, n, values);
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  REQUIRE((told.alpha == 1 && told.beta == 0));
  for (tensor_note* t : {&told.x, &told.w, &told.y, &told.result}) {
    if (t->only_passes || (t == &told.result && !told.identity)) continue;
    t->data = told.data.at(t->id);
    REQUIRE(reinterpret_cast<std::uintptr_t>(t->data) % static_cast<std::uintptr_t>(t->alignment) == 0);
    REQUIRE(t->type == (told.identity && t != &told.result ? CUDNN_DATA_BFLOAT16 : told.type));
  }
  if (told.type == CUDNN_DATA_DOUBLE) compute<double>();
  else compute<float>();
  ++told.runs;
  if (told.identity) ++told.runs_of_bf16;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
// A device whose memory is used up
cudaError_t cudaMalloc(void**, size_t) { return cudaErrorMemoryAllocation; }
cudaError_t cudaGetLastError() {
  ++told.errors_asked_for;
  return cudaErrorMemoryAllocation;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
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
// Elements before the operands and the result: these are less aligned then
struct elements_before {
  std::int64_t first = 0, second = 0, result = 0;
};
template <class X, conv_pass Pass> double difference(const conv_extents& e, const elements_before& n = {}) {
  using T = std::conditional_t<std::is_same_v<X, double>, double, float>;
  constexpr conv_pass of_first = Pass == conv_pass::dgrad ? conv_pass::fprop : conv_pass::dgrad,
                      of_second = Pass == conv_pass::wgrad ? conv_pass::fprop : conv_pass::wgrad;
  const auto a = operand<X>(results_of(of_first, e) + n.first, 1),
             b = operand<X>(results_of(of_second, e) + n.second, 2);
  std::vector<T> c(static_cast<std::size_t>(results_of(Pass, e) + n.result), T(3)), expected = c;
  cudnn_convolutions convolutions(h200());
  const auto bytes = convolutions.prepare<X>(Pass, e);
  REQUIRE(bytes);
  std::vector<double> scratch(*bytes / sizeof(double) + 1); // it is aligned, too
  const X *const first = a.data() + n.first, *const second = b.data() + n.second;
  REQUIRE(convolutions.run(emulated_device{}, Pass, e, first, second, c.data() + n.result,
                           {scratch.data(), *bytes}, nullptr));
  emulated_device{}.conv<Pass, T, X>(e, first, second, expected.data() + n.result);
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
  told.runs = told.runs_of_bf16 = 0;
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
  MESSAGE("bf16 with its channels last: ", told.runs_of_bf16, " of ", cases / 3);
  CHECK(told.runs_of_bf16 >= cases / 9); // the others are widened
}
TEST_CASE("cuDNN is told how operands of bf16 are aligned that it reads where they are") {
  told.runs_of_bf16 = 0;
  const conv_extents pointwise{.n = 2, .c = 4, .h = 5, .w = 6, .k = 8, .p = 5, .q = 6, .nhwc = true};
  for (const elements_before& n :
       {elements_before{.first = 2}, {.second = 4}, {.result = 1}, {.first = 8, .second = 8, .result = 8}}) {
    CHECK(difference<tl::bf16, conv_pass::fprop>(pointwise, n) <= 2);
    CHECK(difference<tl::bf16, conv_pass::dgrad>(pointwise, n) <= 2);
    CHECK(difference<tl::bf16, conv_pass::wgrad>(pointwise, n) <= 2);
  }
  CHECK(told.runs_of_bf16 >= 6);
}
TEST_CASE("cuDNN: operands of bf16 are widened where it cannot compile a kernel") {
  const conv_extents e{.n = 2, .c = 4, .h = 5, .w = 6, .k = 8, .p = 5, .q = 6};
  for (const bool has_driver : {false, true}) {
    has_driver_for_plans = has_driver;
    told.runs = told.runs_of_bf16 = 0;
    CHECK(difference<tl::bf16>(e) <= 2);
    CHECK((told.runs == 3 && (told.runs_of_bf16 > 0) == has_driver));
  }
}
TEST_CASE("cuDNN: of many plans those stay that were used last") {
  cudnn_convolutions convolutions(h200());
  const auto prepare = [&](std::int64_t n) {
    conv_extents e = conv_cases[0];
    e.n = n;
    convolutions.prepare<float>(conv_pass::fprop, e);
  };
  for (const std::int64_t n : {1, 2, 3, 1}) prepare(n);
  CHECK(convolutions.plans() == 3);
  convolutions.keep(2);
  CHECK(convolutions.plans() == 2);
  for (const std::int64_t n : {1, 3}) prepare(n); // they are there
  CHECK(convolutions.plans() == 2);
  prepare(2);
  CHECK(convolutions.plans() == 3);
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
TEST_CASE("cuDNN: where memory does not suffice to time plans, the first is taken, and no error stays") {
  const cudnn_device device(h200());
  const conv_key key{conv_pass::fprop, conv_cases[0]};
  const auto plans = conv_plan::make(device, key, {}, std::size_t{1} << 28, 3);
  REQUIRE(plans.size() > 1);
  told.errors_asked_for = 0;
  CHECK(fastest(device, key, plans) == 0);
  CHECK(told.errors_asked_for > 0);
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
