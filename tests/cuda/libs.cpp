// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The libraries of a device: their plans, which need none. Where there is a device, what they compute is what the kernels do.
#include "conv_cases.hpp"
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/kernels/conv.hpp>
#include <tapeless/cuda/kernels/matmul.hpp>
#include <tapeless/cuda/libs/cublaslt.hpp>
#if TAPELESS_CUDNN
#include <tapeless/cuda/libs/cudnn_conv.hpp>
#endif
#if TAPELESS_CUSPARSE
#include <tapeless/cuda/kernels/sparse.hpp>
#include <tapeless/cuda/libs/cusparse.hpp>
#endif

#include <support/driver_for_plans.hpp>
#include <support/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tl = tapeless;
using namespace tapeless::cuda;
using tapeless::conv_extents, tapeless::matmul_extents;

namespace {

bool has_device() {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess && n > 0;
}
constexpr conv_pass passes[] = {conv_pass::fprop, conv_pass::dgrad, conv_pass::wgrad};

// ---- products

using product = lt_products::key;
constexpr matmul_extents a_product{
    .batch = 3, .m = 5, .n = 7, .k = 11, .ta = true, .a_batched = true, .b_batched = false};

struct layout_facts {
  std::uint64_t rows = 0, columns = 0;
  std::int64_t next = 0, next_matrix = 0;
  std::int32_t matrices = 0;
  bool operator==(const layout_facts&) const = default;
};
template <class Layout> layout_facts facts_of(const Layout& l) {
  layout_facts f;
  const auto get = [&](cublasLtMatrixLayoutAttribute_t name, auto& value) {
    REQUIRE(cublasLtMatrixLayoutGetAttribute(l.get(), name, &value, sizeof value, nullptr) ==
            CUBLAS_STATUS_SUCCESS);
  };
  get(CUBLASLT_MATRIX_LAYOUT_ROWS, f.rows);
  get(CUBLASLT_MATRIX_LAYOUT_COLS, f.columns);
  get(CUBLASLT_MATRIX_LAYOUT_LD, f.next);
  get(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, f.next_matrix);
  get(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, f.matrices);
  return f;
}
template <class T> T attribute_of(const lt_products::plan& p, cublasLtMatmulDescAttributes_t name) {
  T value{};
  REQUIRE(cublasLtMatmulDescGetAttribute(p.product.get(), name, &value, sizeof value, nullptr) ==
          CUBLAS_STATUS_SUCCESS);
  return value;
}

// A batch whose B is shared is one product, unless A is transposed.
static_assert(with_merged_batch({.batch = 3, .m = 5, .n = 7, .k = 2, .b_batched = false}) ==
              matmul_extents{.batch = 1, .m = 15, .n = 7, .k = 2, .a_batched = false, .b_batched = false});
static_assert(with_merged_batch(a_product) == a_product);
static_assert(with_merged_batch({.batch = 3, .m = 5, .n = 7, .k = 2}).batch == 3);
static_assert(lt_can_state({.batch = 1ll << 31, .m = 1, .n = 1, .k = 1, .b_batched = false}) &&
              !lt_can_state({.batch = 1ll << 31, .m = 1, .n = 1, .k = 1}));

} // namespace

TEST_CASE("cuBLASLt: a product has the layouts of column-major C^T = op(B)^T op(A)^T") {
  const lt_products::plan p({a_product, CUDA_R_32F, CUDA_R_16BF}, {});
  CHECK(facts_of(p.a) == layout_facts{5, 11, 5, 55, 3}); // A is stored (k, m)
  CHECK(facts_of(p.b) == layout_facts{7, 11, 7, 0, 3});  // one for all
  CHECK(facts_of(p.c) == layout_facts{7, 5, 7, 35, 3});
  CHECK(attribute_of<cublasOperation_t>(p, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_N);
  CHECK(attribute_of<cublasOperation_t>(p, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T);
}
TEST_CASE("cuBLASLt: sums are of float for float and bf16, of double for double; TF32 if it is asked for") {
  const auto compute = [](cudaDataType_t result, cudaDataType_t operand, const options& may) {
    return attribute_of<cublasComputeType_t>(lt_products::plan({a_product, result, operand}, may),
                                             CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
  };
  CHECK(compute(CUDA_R_32F, CUDA_R_32F, {}) == CUBLAS_COMPUTE_32F);
  CHECK(compute(CUDA_R_32F, CUDA_R_16BF, {}) == CUBLAS_COMPUTE_32F);
  CHECK(compute(CUDA_R_64F, CUDA_R_64F, {.tf32 = true}) == CUBLAS_COMPUTE_64F);
  CHECK(compute(CUDA_R_32F, CUDA_R_32F, {.tf32 = true}) == CUBLAS_COMPUTE_32F_FAST_TF32);
}
TEST_CASE("cuBLASLt: plans are kept by extents, types and alignments") {
  const product p{a_product, CUDA_R_32F, CUDA_R_32F};
  const auto differs = [&](auto change) {
    product q = p;
    change(q);
    return !(q == p);
  };
  CHECK(p == product{a_product, CUDA_R_32F, CUDA_R_32F, lt_products::most_aligned, lt_products::most_aligned,
                     lt_products::most_aligned});
  CHECK(differs([](product& q) { q.extents.n = 8; }));
  CHECK(differs([](product& q) { q.extents.tb = true; }));
  CHECK(differs([](product& q) { q.operand = CUDA_R_16BF; }));
  CHECK(differs([](product& q) { q.align_b = 4; }));
  alignas(256) static const char at[512]{};
  CHECK(alignment_of(at, 256) == 256);
  CHECK(alignment_of(at + 4, 256) == 4);
  CHECK(alignment_of(at + 48, 256) == 16);
  CHECK(alignment_of(at, 16) == 16);
}
TEST_CASE("without a device an error says op, library and status") {
  if (has_device()) return;
  CHECK_THROWS_WITH_AS(lt_products{}, "tapeless: cuda: matmul: cuBLASLt: CUBLAS_STATUS_NOT_INITIALIZED",
                       error);
  void* p = nullptr;
  std::string text;
  try {
    check(cudaMalloc(&p, 4), "bind");
  } catch (const error& e) { text = e.what(); }
  CHECK(text.starts_with("tapeless: cuda: bind: CUDA runtime: "));
}

#if TAPELESS_CUSPARSE
TEST_CASE("cuSPARSE: without a device an error says so") {
  if (has_device()) return;
  std::string text;
  try {
    sparse_products{};
  } catch (const error& e) { text = e.what(); }
  CHECK(text == "tapeless: cuda: sparse matmul: cuSPARSE: CUSPARSE_STATUS_NOT_INITIALIZED");
}
#endif

#if TAPELESS_CUDNN
namespace {

// A device of sm_90, as cuDNN describes one
std::string h200() {
  std::ifstream file(TAPELESS_TEST_DATA "/h200.json");
  return {std::istreambuf_iterator<char>(file), {}};
}
constexpr conv_extents a_convolution{
    .c = 64, .h = 160, .w = 120, .k = 64, .r = 3, .s = 3, .p = 160, .q = 120, .pad_top = 1, .pad_left = 1};

// Convolutions of networks
constexpr conv_extents usual[] = {
    // n, c, h, w, k, r, s, p, q, stride_h, stride_w, pad_top, pad_left, dil_h, dil_w, groups
    {64, 3, 224, 224, 64, 7, 7, 112, 112, 2, 2, 3, 3, 1, 1, 1}, // the first of a ResNet
    {64, 64, 56, 56, 64, 1, 1, 56, 56, 1, 1, 0, 0, 1, 1, 1},    // pointwise
    {64, 128, 56, 56, 128, 3, 3, 28, 28, 2, 2, 1, 1, 1, 1, 1},  // stride 2
    {64, 512, 7, 7, 512, 3, 3, 7, 7, 1, 1, 1, 1, 1, 1, 1},      // few pixels
    {8, 64, 160, 120, 64, 3, 3, 160, 120, 1, 1, 1, 1, 1, 1, 1}, // a square
    {4, 32, 40, 40, 32, 3, 3, 40, 40, 1, 1, 2, 2, 2, 2, 1},     // dilation 2
    {4, 32, 40, 40, 64, 3, 3, 40, 40, 1, 1, 1, 1, 1, 1, 4},     // groups
    {4, 32, 40, 40, 32, 3, 3, 40, 40, 1, 1, 1, 1, 1, 1, 32},    // depthwise
    {4, 32, 40, 40, 128, 5, 5, 20, 20, 2, 2, 2, 2, 1, 1, 32},   // depthwise, four filters a channel
    {64, 1, 8, 8, 16, 3, 3, 8, 8, 1, 1, 1, 1, 1, 1, 1},         // one channel
    {3, 5, 13, 17, 7, 3, 3, 13, 17, 1, 1, 1, 1, 1, 1, 1},       // odd
    {16, 64, 1, 1000, 64, 1, 9, 1, 1000, 1, 1, 0, 8, 1, 1, 1},  // one axis, causal
    {2, 96, 32, 32, 96, 3, 3, 32, 32, 1, 1, 1, 1, 1, 1, 1, 0},  // no Winograd
    {2, 96, 32, 32, 96, 3, 3, 32, 32, 1, 1, 1, 1, 1, 1, 1, 4}}; // larger tiles

// cuDNN counts as many windows as there are, for each padding behind the image that gives so many.
constexpr bool paddings_give_the_windows() {
  for (std::int64_t extent = 1; extent <= 9; ++extent)
    for (std::int64_t taps = 1; taps <= 4; ++taps)
      for (std::int64_t stride = 1; stride <= 4; ++stride)
        for (std::int64_t dilation = 1; dilation <= 2; ++dilation)
          for (std::int64_t before = 0; before <= 3; ++before)
            for (std::int64_t behind = 0; behind <= 3; ++behind) {
              const std::int64_t room = extent + before + behind - (taps - 1) * dilation - 1;
              if (room < 0) continue;
              const axis_padding p(extent, taps, stride, before, dilation, room / stride + 1);
              const std::int64_t told = extent + p.before + p.after - (taps - 1) * dilation - 1;
              if (!p.possible || p.before != before || p.after < 0 || told / stride != room / stride)
                return false;
            }
  return true;
}
static_assert(paddings_give_the_windows());
static_assert(!axis_padding(9, 3, 1, 0, 1, 5).possible); // there is room for 7

constexpr auto tensor_cores = CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
               any_order = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, winograd = CUDNN_NUMERICAL_NOTE_WINOGRAD;
bool has(const conv_plan& p, cudnnBackendNumericalNote_t note) {
  const auto& notes = p.notes();
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

} // namespace

TEST_CASE("cuDNN: there is a plan for each form of each convolution of the laws, and of usual ones") {
  cudnn_convolutions convolutions(h200());
  const cudnn_device device(h200());
  int missing = 0;
  std::vector<conv_extents> all(std::begin(conv_cases), std::end(conv_cases));
  all.insert(all.end(), std::begin(usual), std::end(usual));
  for (conv_extents e : all)
    for (const bool nhwc : {false, true})
      for (const conv_pass pass : passes) {
        e.nhwc = nhwc;
        const bool f32 = convolutions.prepare<float>(pass, e).has_value(),
                   f64 = convolutions.prepare<double>(pass, e).has_value(),
                   b16 = !conv_plan::make(device, {pass, e, CUDNN_DATA_FLOAT, conv_operands::widened}, {},
                                          options{}.conv_workspace)
                              .empty();
        if (f32 && f64 && b16) continue;
        ++missing;
        MESSAGE("no plan for form ", static_cast<int>(pass), f32 ? "" : ", float", f64 ? "" : ", double",
                b16 ? "" : ", widened bf16", nhwc ? ", nhwc" : "", ": n ", e.n, " c ", e.c, " h ", e.h, " w ",
                e.w, " k ", e.k, " r ", e.r, " s ", e.s, " p ", e.p, " q ", e.q, " stride ", e.stride_h, " ",
                e.stride_w, " pad ", e.pad_top, " ", e.pad_left, " dilation ", e.dil_h, " ", e.dil_w,
                " groups ", e.groups);
      }
  CHECK(missing == 0);
}
TEST_CASE("cuDNN: float without tensor cores, deterministic, unless they are asked for") {
  const cudnn_device device(h200());
  const std::size_t room = options{}.conv_workspace;
  bool some_on_tensor_cores = false, short_on_tensor_cores = false;
  for (const conv_pass pass : passes) {
    const conv_key key{pass, a_convolution};
    const auto strict = conv_plan::make(device, key, {}, room),
               fast = conv_plan::make(device, key, {.tf32 = true, .nondeterministic = true}, room);
    REQUIRE(strict.size() == 1);
    REQUIRE(fast.size() == 1);
    CHECK_FALSE(has(strict[0], tensor_cores));
    CHECK_FALSE(has(strict[0], any_order));
    CHECK(strict[0].workspace() <= room);
    some_on_tensor_cores = some_on_tensor_cores || has(fast[0], tensor_cores);
    conv_key of_short = key;
    of_short.operands = conv_operands::widened;
    const auto exact = conv_plan::make(device, of_short, {}, room);
    REQUIRE(exact.size() == 1);
    CHECK_FALSE((has(exact[0], tensor_cores) && has(exact[0], winograd)));
    short_on_tensor_cores = short_on_tensor_cores || has(exact[0], tensor_cores);
  }
  const auto several = conv_plan::make(device, {conv_pass::fprop, a_convolution}, {}, room, 4);
  CHECK(several.size() == 4);
  for (const conv_plan& p : several) CHECK_FALSE(has(p, tensor_cores));
  CHECK(some_on_tensor_cores);
  CHECK(short_on_tensor_cores);
}
TEST_CASE("cuDNN: engines that round otherwise are passed over") {
  using notes = std::vector<cudnnBackendNumericalNote_t>;
  const auto accepts = [](const notes& n, std::int64_t tile, conv_operands operands = conv_operands::whole,
                          const options& may = {}) {
    conv_key k{conv_pass::fprop, a_convolution};
    k.extents.winograd = tile;
    k.operands = operands;
    return engine_filter(k, may).accepts(n);
  };
  CHECK(accepts({}, 0));
  CHECK_FALSE(accepts({tensor_cores}, 2));
  CHECK(accepts({tensor_cores}, 2, conv_operands::whole, {.tf32 = true}));
  CHECK(accepts({tensor_cores}, 2, conv_operands::widened));
  CHECK(accepts({tensor_cores}, 2, conv_operands::bf16));
  CHECK_FALSE(accepts({any_order}, 2));
  CHECK(accepts({any_order}, 2, conv_operands::whole, {.nondeterministic = true}));
  for (const auto never : {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_FFT,
                           CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION})
    CHECK_FALSE(accepts({never}, 4, conv_operands::bf16, {.tf32 = true, .nondeterministic = true}));
  const notes small{winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4},
      large{winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6},
      largest{winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13};
  CHECK_FALSE(accepts(small, 0));
  CHECK(accepts(small, 2));
  CHECK_FALSE(accepts(large, 2));
  CHECK(accepts(large, 4));
  CHECK_FALSE(accepts(largest, 4));
  CHECK_FALSE(accepts({winograd}, 4));
  CHECK_FALSE(
      accepts({tensor_cores, winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}, 2, conv_operands::widened));
}
TEST_CASE("cuDNN: a convolution of nothing needs no plan") {
  cudnn_convolutions convolutions(h200());
  conv_extents none = a_convolution;
  none.n = 0;
  for (const conv_pass pass : passes) CHECK(convolutions.prepare<float>(pass, none) == 0u);
}
TEST_CASE("cuDNN: what it cannot be told has no plan") {
  cudnn_convolutions convolutions(h200());
  conv_extents fewer = a_convolution;
  fewer.p = 20; // of 160 windows
  for (const conv_pass pass : passes) {
    CHECK_FALSE(convolutions.prepare<float>(pass, fewer));
    // It counts the windows itself.
    CHECK_THROWS_AS(conv_plan::make(cudnn_device(h200()), {pass, fewer}, {}, 0), error);
  }
}
TEST_CASE(
    "cuDNN: bf16 with its channels last has plans on tensor cores, for each form of dense convolutions") {
  const cudnn_device device(h200());
  const auto plans_of = [&](conv_pass pass, conv_extents e) {
    e.nhwc = true;
    return conv_plan::make(device, {pass, e, CUDNN_DATA_FLOAT, conv_operands::bf16}, {},
                           std::size_t{1} << 28);
  };
  int plans = 0;
  for (const conv_extents& e : usual) { // cuDNN compiles each: a few of them
    const bool is_dense = e.groups == 1 && e.c % 2 == 0 && e.k % 2 == 0;
    if (!is_dense || e.n > 4) continue;
    for (const conv_pass pass : passes) {
      const auto p = plans_of(pass, e);
      REQUIRE(p.size() == 1);
      CHECK(has(p[0], tensor_cores));
      CHECK_FALSE(has(p[0], any_order));
      ++plans;
    }
  }
  CHECK(plans == 9);
  const conv_extents &causal = usual[11], &depthwise = usual[7];
  CHECK(plans_of(conv_pass::fprop, causal).size() == 1); // padding ahead of the image alone
  CHECK(plans_of(conv_pass::fprop, depthwise).empty());
}
TEST_CASE("cuDNN: what is turned, or becomes float, is part of the workspace") {
  cudnn_convolutions convolutions(h200());
  const std::size_t images = 64 * 160 * 120, weights = 64 * 64 * 9;
  const auto bytes = [&](conv_pass pass, bool nhwc, std::int64_t filters) {
    conv_extents e = a_convolution;
    e.nhwc = nhwc;
    e.k = filters;
    return convolutions.prepare<tl::bf16>(pass, e).value();
  };
  CHECK(bytes(conv_pass::fprop, false, 64) == 2 * images + 2 * weights + 4 * images);
  CHECK(bytes(conv_pass::wgrad, false, 64) == 2 * images + 2 * images + 4 * weights);
  CHECK(bytes(conv_pass::fprop, true, 64) == 2 * weights); // cuDNN needs nothing for itself
  CHECK(bytes(conv_pass::wgrad, false, 63) >= 4 * images + 4 * images / 64 * 63); // widened
}
TEST_CASE("cuDNN: without a device an error says so") {
  if (has_device()) return;
  std::string text;
  try {
    cudnn_convolutions{};
  } catch (const error& e) { text = e.what(); }
  CHECK(text.starts_with("tapeless: cuda: convolution: cuDNN: CUDNN_STATUS_"));
}
#endif

// ---- On a device
namespace {

template <class T> class device_values {
  holder<void*, cudaFree> at_;
  std::size_t n_;

public:
  explicit device_values(const std::vector<T>& x) : n_(x.size()) {
    check(cudaMalloc(at_.put(), (n_ + 1) * sizeof(T)), "test");
    check(cudaMemcpy(at_.get(), x.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "test");
  }
  T* data() const { return static_cast<T*>(at_.get()); }
  std::vector<T> values() const {
    std::vector<T> x(n_);
    check(cudaDeviceSynchronize(), "test");
    check(cudaMemcpy(x.data(), at_.get(), n_ * sizeof(T), cudaMemcpyDeviceToHost), "test");
    return x;
  }
};
template <class X> std::vector<X> random_operand(std::int64_t n, std::uint64_t seed) {
  std::vector<X> x;
  for (const double v : support::random_values<double>(static_cast<std::size_t>(n), seed))
    x.push_back(X(static_cast<std::conditional_t<std::is_same_v<X, double>, double, float>>(v)));
  return x;
}
// Two orders of a sum of at most `terms` products of numbers in [-1, 1]
template <class T> void check_close(const std::vector<T>& x, const std::vector<T>& y, std::int64_t terms) {
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    most = std::isnan(d) ? HUGE_VAL : std::max(most, d);
  }
  CHECK(most <= 16 * static_cast<double>(terms) * static_cast<double>(std::numeric_limits<T>::epsilon()));
}
template <class T, class X> void check_product(lt_products& products, const matmul_extents& e) {
  const auto a = random_operand<X>((e.a_batched ? e.batch : 1) * e.m * e.k, 1),
             b = random_operand<X>((e.b_batched ? e.batch : 1) * e.k * e.n, 2);
  std::vector<T> c(static_cast<std::size_t>(e.batch * e.m * e.n), T(3));
  const device_values<X> on_a(a), on_b(b);
  const device_values<T> on_c(c);
  const std::size_t bytes = products.prepare<T, X>(e).value();
  const device_values<char> scratch{std::vector<char>(bytes)};
  REQUIRE(products.run<T, X>(e, on_a.data(), on_b.data(), on_c.data(), {scratch.data(), bytes}, nullptr));
  emulated_device{}.matmul<T, X>(e, a.data(), b.data(), c.data());
  check_close(on_c.values(), c, e.k);
}
// With a bias, a relu, or both, where the library has that. The relu of a NaN may be 0.
template <class T, class X> int check_product_behind(lt_products& products, const matmul_extents& e,
                                                     bool has_bias, bool relu) {
  const std::optional<std::size_t> bytes = products.prepare<T, X>(e, has_bias, relu);
  if (!bytes) return 0;
  const auto a = random_operand<X>((e.a_batched ? e.batch : 1) * e.m * e.k, 1),
             b = random_operand<X>((e.b_batched ? e.batch : 1) * e.k * e.n, 2);
  const auto bias = random_operand<T>(e.n, 3);
  std::vector<T> c(static_cast<std::size_t>(e.batch * e.m * e.n), T(3));
  const device_values<X> on_a(a), on_b(b);
  const device_values<T> on_c(c), on_bias(bias);
  const device_values<char> scratch{std::vector<char>(*bytes)};
  REQUIRE(products.run<T, X>(e, on_a.data(), on_b.data(), on_c.data(), {scratch.data(), *bytes}, nullptr,
                             has_bias ? on_bias.data() : nullptr, relu));
  emulated_device{}.matmul<T, X>(e, a.data(), b.data(), c.data());
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (has_bias) c[i] += bias[i % bias.size()];
    if (relu && c[i] < 0) c[i] = 0;
  }
  check_close(on_c.values(), c, e.k + 1);
  return 1;
}

} // namespace

TEST_CASE("on a device: cuBLASLt's products are those of the kernel") {
  if (!has_device()) return;
  lt_products products;
  for (const int transposed : {0, 1, 2, 3})
    for (const int batched : {0, 1, 2, 3})
      for (const std::int64_t k : {0, 1, 33}) {
        const matmul_extents e{.batch = batched == 0 ? 1 : 3,
                               .m = 17,
                               .n = 20,
                               .k = k,
                               .ta = (transposed & 1) != 0,
                               .tb = (transposed & 2) != 0,
                               .a_batched = (batched & 1) != 0,
                               .b_batched = (batched & 2) != 0};
        check_product<float, float>(products, e);
        check_product<double, double>(products, e);
        check_product<float, tl::bf16>(products, e);
      }
}
TEST_CASE("on a device: a bias and a relu behind cuBLASLt's products") {
  if (!has_device()) return;
  lt_products products({.fused_relu = true});
  int cases = 0;
  for (const int transposed : {0, 1, 2, 3})
    for (const int batched : {0, 1, 2, 3})
      for (const int behind : {1, 2, 3})
        for (const std::int64_t m : {1, 17})
          for (const std::int64_t n : {1, 20}) {
            const matmul_extents e{.batch = batched == 0 ? 1 : 3,
                                   .m = m,
                                   .n = n,
                                   .k = 33,
                                   .ta = (transposed & 1) != 0,
                                   .tb = (transposed & 2) != 0,
                                   .a_batched = (batched & 1) != 0,
                                   .b_batched = (batched & 2) != 0};
            const bool bias = (behind & 1) != 0, relu = (behind & 2) != 0;
            cases += check_product_behind<float, float>(products, e, bias, relu);
            cases += check_product_behind<double, double>(products, e, bias, relu);
            cases += check_product_behind<float, tl::bf16>(products, e, bias, relu);
          }
  MESSAGE(cases, " of 576 have a plan");
  CHECK(cases > 0);
}
TEST_CASE("on a device: the relu of a NaN in cuBLASLt's product") {
  if (!has_device()) return;
  lt_products products({.fused_relu = true});
  const matmul_extents e{.m = 16, .n = 16, .k = 16};
  const std::optional<std::size_t> bytes = products.prepare<float, float>(e, false, true);
  if (!bytes) return;
  const device_values<float> a(std::vector<float>(256, std::numeric_limits<float>::quiet_NaN())),
      c(std::vector<float>(256, 3.0f));
  const device_values<char> scratch{std::vector<char>(*bytes)};
  REQUIRE(products.run<float, float>(e, a.data(), a.data(), c.data(), {scratch.data(), *bytes}, nullptr,
                                     nullptr, true));
  const float of_nan = c.values()[0];
  MESSAGE("relu(NaN) is ", of_nan);
  CHECK((of_nan == 0 || std::isnan(of_nan)));
}
#if TAPELESS_CUDNN
namespace {

template <class T> struct convolution_of {
  cudnn_convolutions& convolutions;
  template <conv_pass Pass> void check_form(const conv_extents& e) const {
    constexpr conv_pass of_first = Pass == conv_pass::dgrad ? conv_pass::fprop : conv_pass::dgrad,
                        of_second = Pass == conv_pass::wgrad ? conv_pass::fprop : conv_pass::wgrad;
    const auto a = random_operand<T>(results_of(of_first, e), 1),
               b = random_operand<T>(results_of(of_second, e), 2);
    std::vector<T> c(static_cast<std::size_t>(results_of(Pass, e)), T(3));
    const device_values<T> on_a(a), on_b(b), on_c(c);
    const std::size_t bytes = convolutions.prepare<T>(Pass, e).value();
    const device_values<char> scratch{std::vector<char>(bytes)};
    REQUIRE(convolutions.run(emulated_device{}, Pass, e, on_a.data(), on_b.data(), on_c.data(),
                             {scratch.data(), bytes}, nullptr));
    emulated_device{}.conv<Pass, T, T>(e, a.data(), b.data(), c.data());
    check_close(on_c.values(), c, e.n * e.k * e.r * e.s * (e.p * e.q + e.c));
  }
};

} // namespace

TEST_CASE("on a device: cuDNN's convolutions are those of the kernels") {
  if (!has_device()) return;
  cudnn_convolutions convolutions;
  const auto check_all = [](const auto& of, const conv_extents& e) {
    of.template check_form<conv_pass::fprop>(e);
    of.template check_form<conv_pass::dgrad>(e);
    of.template check_form<conv_pass::wgrad>(e);
  };
  for (conv_extents e : conv_cases)
    for (const bool nhwc : {false, true}) {
      e.nhwc = nhwc;
      check_all(convolution_of<float>{convolutions}, e);
      check_all(convolution_of<double>{convolutions}, e);
    }
}
#endif
