// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The kernels of a program are known without a device, and the device's compiler takes them: without a trap, loops of floats
// without spills and with 64 registers at most. full.kernels compiles those of the laws and the workloads.
#include <support/kernel_facts.hpp>
#include <support/noting_device.hpp>

#include <tapeless/cuda/program_kernels.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tl = tapeless;
namespace cuda = tapeless::cuda;

namespace {

using names = std::vector<std::string>;

void check_kernels(const names& all, int most_registers) {
  const cuda::nvrtc* const compiler = support::compiler_of_kernels();
  if (compiler == nullptr) {
    MESSAGE("skipped: there is no NVRTC");
    return;
  }
  int most = 0;
  for (const support::kernel_facts& f : support::facts_of(*compiler, all, "sm_90")) {
    CHECK(support::fault_of(f, most_registers) == "");
    most = std::max(most, f.registers);
  }
  std::printf("%zu kernels, at most %d registers\n", all.size(), most);
}

using tl::detail::op;
constexpr int number_of(op o) { return static_cast<int>(o); }
template <class... K> void name(names& to) { (to.push_back(cuda::kernel_name<K>()), ...); }
template <class T> void of_any_type(names& to) {
  name<cuda::pad_kernel<T>, cuda::concat_kernel<T>, cuda::flip_kernel<T>, cuda::gather_kernel<T>>(to);
}
template <class T> void of_numbers(names& to) {
  name<cuda::argmax_kernel<bool>, cuda::scatter_add_kernel<T>, cuda::argmax_kernel<T>,
       cuda::digit_counts_kernel<T>, cuda::of_each_segment_kernel<T>, cuda::range_counts_kernel<T, 0>,
       cuda::range_counts_kernel<T, 1>, cuda::positions_kernel<T, 0>, cuda::positions_kernel<T, 1>,
       cuda::scatter_argmax_kernel<T>, cuda::scan_kernel<T, number_of(op::cumsum)>,
       cuda::chunk_ends_kernel<T, number_of(op::cumsum)>, cuda::chunk_begins_kernel<T, number_of(op::cumsum)>,
       cuda::matmul_kernel<T, T>>(to);
}
template <class T, int Op> void of_scan(names& to) {
  name<cuda::scan_kernel<T, Op>, cuda::chunk_ends_kernel<T, Op>, cuda::chunk_begins_kernel<T, Op>>(to);
}
template <class T> void of_floats(names& to) {
  of_scan<T, number_of(op::cumprod)>(to);
  of_scan<T, number_of(op::cummax)>(to);
  of_scan<T, number_of(op::cumargmax)>(to);
  of_scan<T, number_of(op::linear_scan)>(to);
  name<cuda::combine_kernel<T, 0>, cuda::combine_kernel<T, 1>, cuda::combine_kernel<T, 2>,
       cuda::unfold_kernel<T>, cuda::fold_kernel<T>, cuda::window_max_kernel<T>,
       cuda::window_gather_kernel<T>, cuda::window_sum_kernel<T>, cuda::window_transposed_kernel<T>,
       cuda::conv_fprop_kernel<T, T>, cuda::conv_dgrad_kernel<T, T>, cuda::conv_wgrad_kernel<T, T>>(to);
}

// A program, its arguments' types and their extents
using weights = tl::tensor<float, 20, 30>;
using rows = tl::tensor<float, tl::dyn<'n'>, 20>;
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;
constexpr auto classifier = [](auto w, auto x, auto y) {
  return tl::mean(tl::softmax_cross_entropy(tanh(tl::matmul(x, w)), y));
};
constexpr auto hard = [](auto w, auto x, auto y) {
  const auto losses = tl::softmax_cross_entropy(tl::matmul(x, w), y);
  return tl::mean(tl::gather(losses, tl::where<'k'>(losses > 0.5f))) +
         tl::mean(tl::gather(losses, tl::top_k<tl::percent{25}, 'q'>(losses)));
};
constexpr auto network = [](auto w, auto x, auto y) {
  const auto h = tl::layer_norm<1>(tl::sigmoid(tl::matmul(x, w)), tl::sum<0>(w), tl::max<0>(w));
  return tl::mean(tl::softmax_cross_entropy(tl::softplus(h), y)) + 0.01f * tl::sum(tl::square(w));
};

// The text of a custom op is what the host compiles.
#define TEXT_OF(...) #__VA_ARGS__
#define SOFTPLUS                              \
  {                                           \
    const T e = exp(x < 0 ? x : -x);          \
    return (x < 0 ? T(0) : x) + log1p(e) * y; \
  }
#define TEXT(BODY) TEXT_OF(BODY)
struct scaled_softplus {
  template <class T> static T primal(T x, T y) {
    using std::exp, std::log1p;
    SOFTPLUS
  }
  static constexpr auto vjp(auto x, auto y, auto, auto z_bar) {
    return std::tuple{z_bar * tl::sigmoid(x), z_bar * y};
  }
  static constexpr const char* device = TEXT(SOFTPLUS);
};
struct cube {
  template <class T> static T primal(T x) { return x * x * x; }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * x; }
  static constexpr const char* device = "return x *\n x * x;";
};

template <class F> names listed(const F&) { return cuda::program_kernels<F, weights, rows, labels>(); }
// What a run of n rows launches
template <class F> std::set<std::string> launched(const F&, int n) {
  using device = cuda::backend<support::noting_device>;
  support::noted_kernels& noted = support::noted_kernels::of_process();
  noted.are_noted = true;
  noted.take();
  tl::detail::bound<device, false, F, weights, rows, labels> run(tl::dim<'n'>{n});
  tl::owned<weights> w;
  tl::owned<rows> x(tl::dim<'n'>{n});
  tl::owned<labels> y(tl::dim<'n'>{n});
  std::fill(w->begin(), w->end(), 0.1f);
  run(*w, *x, *y);
  return noted.take();
}
bool is_for_any_size(const std::string& kernel) {
  return kernel.find("combine_kernel") != std::string::npos ||
         kernel.find("matmul_kernel") != std::string::npos;
}

} // namespace

TEST_CASE("the list of a program has what its runs launch, each once, whatever the extents are") {
  const auto check = [](const auto& f) {
    const names list = listed(f);
    const std::set<std::string> distinct(list.begin(), list.end());
    CHECK(distinct.size() == list.size());
    for (const int n : {1, 40, 3000}) {
      const std::set<std::string> run = launched(f, n);
      CHECK(run.size() > 2);
      for (const std::string& kernel : run)
        if (kernel.find("matmul_kernel") == std::string::npos) CHECK(distinct.count(kernel) == 1);
      for (const std::string& kernel : distinct)
        if (!is_for_any_size(kernel)) CHECK(run.count(kernel) == 1);
    }
  };
  check(tl::value_and_grad<0>(classifier));
  check(tl::value_and_grad<0>(hard));
  check(tl::value_and_grad<0>(network));
}
TEST_CASE("what a load runs is listed, too") {
  constexpr auto f = [](auto w, auto x, auto) { return tl::matmul(x, tl::exp(w)); };
  using listing = cuda::backend<cuda::kernel_list>;
  constexpr const auto& plan =
      tl::detail::planned_for<true, listing, decltype(f), weights, rows, labels>::value;
  CHECK(cuda::plan_kernels<plan>(tl::detail::names_of_arguments<weights, rows, labels>()) == listed(f));
}
TEST_CASE("every kernel of an op compiles") {
  names all;
  of_any_type<float>(all), of_any_type<double>(all), of_any_type<std::int32_t>(all), of_any_type<bool>(all),
      of_any_type<tl::bf16>(all), of_any_type<std::uint8_t>(all), of_any_type<std::int64_t>(all);
  of_numbers<float>(all), of_numbers<double>(all), of_numbers<std::int32_t>(all);
  of_floats<float>(all), of_floats<double>(all);
  name<cuda::line_offsets_kernel, cuda::entries_by_place_kernel<std::int32_t>,
       cuda::entries_by_place_kernel<float>,
       cuda::entries_by_place_kernel<double>>(all); // ahead of cuSPARSE
  name<cuda::range_counts_kernel<bool, 1>, cuda::positions_kernel<bool, 1>, cuda::group_counts_kernel,
       cuda::begin_cut_kernel<std::uint32_t>, cuda::begin_cut_kernel<std::uint64_t>,
       cuda::cut_kernel<std::uint32_t>, cuda::cut_kernel<std::uint64_t>, cuda::matmul_kernel<float, tl::bf16>,
       cuda::conv_fprop_kernel<float, tl::bf16>, cuda::conv_dgrad_kernel<float, tl::bf16>,
       cuda::conv_wgrad_kernel<float, tl::bf16>, cuda::widen_kernel, cuda::turn_kernel<tl::bf16>,
       cuda::turn_kernel<float>>(all);
  check_kernels(all, 0);
}
TEST_CASE("the loops of programs compile") {
  check_kernels(listed(tl::value_and_grad<0>(classifier)), 64);
  check_kernels(listed(tl::value_and_grad<0>(hard)), 64);
  check_kernels(listed(tl::value_and_grad<0>(network)), 64);
}
TEST_CASE("loops that cast uint8 and int64 compile") {
  const auto f = [](auto image, auto label) {
    const auto x = tl::cast<float>(image);
    return std::tuple{x * 0.5f,
                      tl::cast<std::uint8_t>(x + 1.0f),
                      tl::cast<std::int64_t>(x + 2.0f),
                      tl::cast<double>(tl::transpose(image)),
                      tl::cast<std::int32_t>(label),
                      tl::cast<std::uint8_t>(label),
                      tl::cast<double>(label),
                      tl::cast<std::int64_t>(tl::cast<double>(label) * 3.0),
                      tl::cast<bool>(label),
                      tl::stop_gradient(label)};
  };
  check_kernels(cuda::program_kernels<std::remove_const_t<decltype(f)>, tl::tensor<std::uint8_t, 20, 30>,
                                      tl::tensor<std::int64_t, 40>>(),
                64);
}
TEST_CASE("a custom op of elements is compiled from its text") {
  const auto f = [](auto w, auto x, auto y) {
    return tl::custom<scaled_softplus>(tl::custom<cube>(x), x) + tl::sum(w) + tl::sum(tl::cast<float>(y));
  };
  const names list = listed(f);
  const auto loop = std::find_if(list.begin(), list.end(), [](const std::string& name) {
    return name.find("custom_function<1,float>") != std::string::npos;
  });
  REQUIRE(loop != list.end());
  CHECK(loop->find('\n') == std::string::npos);
  CHECK(loop->find("{ using T = float; return x *  x * x; }") != std::string::npos);
  CHECK(loop->find("log1p(e) * y") != std::string::npos);
  check_kernels(list, 64);
  CHECK(launched(f, 40).count(*loop) == 1);
}
TEST_CASE("a trap, a warning, a stack and too many registers are seen") {
  const cuda::nvrtc* const compiler = support::compiler_of_kernels();
  if (compiler == nullptr) return;
  const std::string run = "tapeless::cuda::run_kernel<", text = cuda::whole_kernel_text() + R"(
    struct trap { template <class B> __device__ void operator()(const B&) const { __trap(); } };
    struct sign { int n; long long* y; template <class B> __device__ void operator()(const B&) const {
      *y = n > 0 ? blockIdx.x : -1; } };
    struct spill { int n; float* y; template <class B> __device__ void operator()(const B&) const {
      float x[400];
      for (int i = 0; i < 400; ++i) x[i] = y[i];
      for (int k = 0; k < n; ++k) for (int i = 0; i < 400; ++i) x[i] = x[i] * x[(i * 7 + 1) % 400];
      for (int i = 0; i < 400; ++i) y[i] = x[i]; } };)";
  const auto fault = [&](const std::string& kernel) {
    return support::fault_of(support::facts_of(*compiler, run + kernel + ">", "sm_90", text), 0);
  };
  CHECK(fault("trap") == run + "trap>: a trap;");
  CHECK(fault("sign").find(" a warning;") != std::string::npos);
  CHECK(fault("spill").find(" bytes of stack;") != std::string::npos);
  CHECK(fault("missing").find("the log is in ") != std::string::npos);
  support::kernel_facts wide;
  wide.name = run + "tapeless::cuda::loop_kernel<tapeless::cuda::words<0x201ull>,1>>";
  wide.registers = 65;
  wide.spilled_bytes = wide.stack_bytes = 0;
  wide.traps = wide.warns = false;
  CHECK(support::fault_of(wide, 64) != "");
  CHECK(support::fault_of(wide, 65) == "");
  CHECK(support::fault_of(wide, 0) == "");
  wide.spilled_bytes = 8;
  CHECK(support::fault_of(wide, 65) != "");
  wide.name = run + "tapeless::cuda::loop_kernel<tapeless::cuda::words<0x1000000000201ull>,1>>"; // of doubles
  CHECK(support::fault_of(wide, 64) == "");
}
