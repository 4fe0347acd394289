// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Prints the table of reference/ops.md from the rule tables. "CPU: yes" means: a program with the op ran, its sample or one
// of those below. CUDA says what the same programs asked of a device, for which the host ran the text of the kernels.
#include <tapeless/cuda/backend.hpp>
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/rtc/kernel_name.hpp>
#include <tapeless/tapeless.hpp>

#include "../../tests/laws/op_samples.hpp"
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

namespace tl = tapeless;
using tl::detail::op;
using tl::detail::op_count;

namespace {

bool has_run[op_count] = {};

// What the steps of an op ask of a device.
enum class asks { nothing, kernel, product, convolution, users };
asks asked[op_count] = {};
bool is_in_loop[op_count] = {}, lacks_text[op_count] = {}, by_lines[op_count] = {};
op now = op::count_; // the op of the step that runs; count_: a loop

struct watcher : tl::cuda::emulated_device {
  static void note(asks what) {
    if (now != op::count_) asked[static_cast<int>(now)] = what;
  }
  template <class Kernel> void launch(const Kernel& k, tl::cuda::count_t n, int lanes = 1) const {
    if (!tl::cuda::has_device_text<Kernel>) lacks_text[static_cast<int>(op::custom_elementwise)] = true;
    note(asks::kernel);
    emulated_device::launch(k, n, lanes);
  }
  template <class T, class X> void matmul(const tl::matmul_extents& e, const X* a, const X* b, T* c) const {
    tl::cuda::multiply(*this, e, a, b, c);
    note(asks::product);
  }
  template <tl::cuda::conv_pass Pass, class T, class X> void conv(const tl::conv_extents& e, const X* first, const X* second, T* result) const {
    tl::cuda::convolve<Pass>(*this, e, first, second, result);
    note(asks::convolution);
  }
  template <class T> bool line_products(const tl::cuda::line_extents&, const tl::cuda::sparse_lines&, const T*, const T*, T*) const { return asks_lines(); }
  template <class T> bool line_samples(const tl::cuda::line_extents&, const tl::cuda::sparse_lines&, const T*, const T*, T*) const { return asks_lines(); }
  static bool asks_lines() {
    if (now != op::count_) by_lines[static_cast<int>(now)] = true;
    return false;
  }
  template <class Put> void enqueue(Put&& put) const {
    emulated_device::enqueue(put);
    note(asks::users);
  }
};
struct watched : tl::cuda::backend<watcher> {
  template <const auto& P, int I> static void run_step(const watcher& device, tl::cuda::frame<P>& f) {
    now = P.step_[I].fused ? op::count_ : P.step_[I].o;
    backend::run_step<P, I>(device, f);
  }
};

// Runs f on zeros, n = 2, and marks the ops of its program.
template <class A> constexpr bool is_named = false;
template <class T, tl::shape S> constexpr bool is_named<tl::basic_tensor<T, S>> = tl::basic_tensor<T, S>::names.count > 0;
template <class... A, class F> void cover(F f) {
  constexpr bool named = (is_named<A> || ...);
  tl::owned<std::tuple<A...>> in = [] {
    if constexpr (named) return tl::owned<std::tuple<A...>>(tl::dim<'n'>(2));
    else return tl::owned<std::tuple<A...>>();
  }();
  auto run = [] {
    if constexpr (named) return tl::jit(F{}).template bind<A...>(tl::dim<'n'>(2));
    else return tl::jit(F{}).template bind<A...>();
  }();
  static_cast<void>(f);
  auto on_device = [] {
    if constexpr (named) return tl::detail::bound<watched, false, F, A...>(tl::dim<'n'>(2));
    else return tl::detail::bound<watched, false, F, A...>();
  }();
  std::apply([&](const auto&... a) { run(a...), on_device(a...); }, *in);
  for (const tl::detail::node& v : tl::detail::traced<F, A...>::value.nodes) {
    has_run[static_cast<int>(v.o)] = true;
    is_in_loop[static_cast<int>(v.o)] = tl::detail::rule(v.o).k != tl::detail::kind::kernel;
  }
}

struct energy {
  static constexpr tl::shape result(tl::shape) { return {}; }
  static void primal(auto y, auto x) {
    y[0] = 0;
    for (const auto e : x) y[0] += e * e;
  }
  static void launch(auto, auto y, auto x) { primal(y, x); }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * (2.0 * x); }
};

template <class F, class... A> void cover_sample(op_samples::sample<F, A...>) { cover<A...>(F{}); }
template <class One, class... More> void cover_sample(op_samples::samples<One, More...>) { cover_sample(One{}); }
void cover_sample(op_samples::nothing) {} // see below

using V = tl::tensor<float, tl::dyn<'n'>>;
using M = tl::tensor<float, 4, 4>;
using A = tl::csr<float, 4, 4, 6>;

void cover_all() {
  [&]<int... O>(std::integer_sequence<int, O...>) {
    (cover_sample(op_samples::samples_of<static_cast<op>(O)>), ...);
  }(std::make_integer_sequence<int, op_count>{});
  cover<V>([](auto a) { return std::tuple{tl::mean(a), tl::cast<float>(tl::iota<0>(a)) * a}; });
  cover<tl::tensor<float, 4>>([](auto x) { return tl::gather(x, tl::top_k<2>(x)); });
  cover<M>([](auto a) { return tl::polygamma<1>(a); });
  cover<M>([](auto a) { return tl::custom<energy>(a); });
  cover<A, M>(tl::grad<0, 1>([](auto a, auto b) { return tl::sum(square(tl::matmul(a, tl::solve_triangular(a, b)))) + tl::sum(tl::sampled_matmul(a, a, a)); }));
  cover<tl::csr<float, 4, 4, 6, tl::tiled>, M>([](auto a, auto b) { return tl::matmul(a, b); });
  cover<A, M>(tl::grad<0, 1>([](auto a, auto d) { return tl::sum(a * d); }));
}

const char* name_of(tl::detail::kind k) {
  switch (k) {
    case tl::detail::kind::leaf: return "leaf";
    case tl::detail::kind::elementwise: return "elementwise";
    case tl::detail::kind::reduction: return "reduction";
    case tl::detail::kind::view: return "view";
    default: return "whole-tensor";
  }
}
std::string flops_of(const tl::detail::op_rule& r) {
  if (r.flops == tl::detail::no_flops) return "0";
  if (r.flops == tl::detail::per_input<1>) return "1 an operand";
  if (r.k == tl::detail::kind::kernel || r.o == op::custom_elementwise) return "its page";
  tl::detail::node v; // rank 0: one element
  const tl::shape operand{};
  return std::to_string(std::lround(r.flops(v, &operand).c)) + " a result";
}
const char* cuda_of(const tl::detail::op_rule& r) {
  const int o = static_cast<int>(r.o);
  switch (asked[o]) {
    case asks::kernel: return by_lines[o] ? "cuSPARSE, kernel" : "kernel";
    case asks::product: return "cuBLASLt, kernel";
    case asks::convolution: return "cuDNN, kernel";
    case asks::users: return "its launch";
    default: break;
  }
  if (r.o == op::argument) return "not in a plan";
  if (!is_in_loop[o]) return "NO";
  if (r.k == tl::detail::kind::view || r.k == tl::detail::kind::leaf) return "yes";
  return lacks_text[o] ? "loop, with its text" : "loop";
}
template <int N> void rows(const char* family, const tl::detail::op_rule (&table)[N]) {
  for (const tl::detail::op_rule& r : table) {
    const char* const cpu = has_run[static_cast<int>(r.o)] ? "yes" : r.o == op::argument ? "not in a plan" : "NO";
    std::printf("| %s | [%s](%s.md) | %s | %s | %s | %s | %s |\n", r.name, family, family, name_of(r.k), r.vjp != nullptr ? "yes" : "-", flops_of(r).c_str(), cpu, cuda_of(r));
  }
}

} // namespace

int main() {
  cover_all();
  std::printf("| op | family | kind | vjp | flops, each element | CPU | CUDA |\n|---|---|---|---|---|---|---|\n");
  rows("index", tl::detail::index_rules);
  rows("select", tl::detail::select_rules);
  rows("elementwise", tl::detail::elementwise_rules);
  rows("functions", tl::detail::function_rules);
  rows("integer", tl::detail::integer_rules);
  rows("bf16", tl::detail::bf16_rules);
  rows("reduce", tl::detail::reduce_rules);
  rows("scan", tl::detail::scan_rules);
  rows("along_axis", tl::detail::along_axis_rules);
  rows("shape", tl::detail::shape_rules);
  rows("matmul", tl::detail::matmul_rules);
  rows("sparse", tl::detail::sparse_rules);
  rows("sparse", tl::detail::sparse_solve_rules);
  rows("sparse", tl::detail::spgemm_rules);
  rows("sparse", tl::detail::sparse_dense_rules);
  rows("conv", tl::detail::conv_rules);
  rows("conv", tl::detail::unfold_rules);
  rows("pool", tl::detail::pool_rules);
  rows("custom", tl::detail::custom_rules);
}
