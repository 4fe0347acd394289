// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Prints the table of reference/ops.md from the rule tables. "CPU: yes" means: a program below holds the op, and it ran.
#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace tl = tapeless;
using tl::detail::op;
using tl::detail::op_count;

namespace {

bool has_run[op_count] = {};

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
  std::apply([&](const auto&... a) { run(a...); }, *in);
  for (const tl::detail::node& v : tl::detail::traced<F, A...>::value.nodes) has_run[static_cast<int>(v.o)] = true;
}

struct cube {
  template <class T> static T primal(T x) { return x * x * x; }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * (3.0 * square(x)); }
};
struct energy {
  static constexpr tl::shape result(tl::shape) { return {}; }
  static void primal(auto y, auto x) {
    y[0] = 0;
    for (const auto e : x) y[0] += e * e;
  }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * (2.0 * x); }
};

using V = tl::tensor<float, tl::dyn<'n'>>;
using M = tl::tensor<float, 4, 4>;
using I = tl::tensor<std::int32_t, 4>;
using image = tl::tensor<float, 1, 1, 4, 4>;
using filter = tl::tensor<float, 1, 1, 3, 3>;

void cover_all() {
  cover<V, V>([](auto a, auto b) {
    auto y = -a + square(a) - sqrt(a) * exp(a) / log(b) + tanh(a) + erf(a) + sigmoid(a) + relu(a) + tl::stop_gradient(a) + pow(a, b) + max(a, b) + min(a, b);
    auto mask = (!(a == b) && a != b) || a < b || a <= b || a > b || a >= b;
    return std::tuple{a, tl::where(mask, y, tl::custom<cube>(b)), tl::mean(a), tl::cast<float>(tl::iota<0>(a)) * a};
  });
  cover<V>([](auto a) {
    return abs(a) + sign(a) + sin(a) + cos(a) + tan(a) + asin(a) + acos(a) + atan(a) + atan2(a, a) + sinh(a) + cosh(a) + asinh(a) + acosh(a) + atanh(a) + exp2(a) + expm1(a) +
           log1p(a) + log2(a) + log10(a) + rsqrt(a) + cbrt(a) + floor(a) + ceil(a) + tl::round(a) + softplus(a);
  });
  cover<M>([](auto a) { return tl::cumsum<0>(a); });
  cover<M, I>([](auto a, auto i) {
    auto r = tl::pad<0, 1, 1>(tl::slice<0, 1, 3>(a)) * tl::custom<energy>(a);
    auto c = tl::concat<0>(tl::gather<0>(a, i), r);
    return std::tuple{tl::sum<0>(a), tl::max<1>(c), tl::transpose(a), tl::broadcast_to<4, 4>(tl::slice<0, 0, 1>(a)), tl::reshape<2, 2, 4>(a) * 2.0, tl::argmax<1>(a),
                      tl::scatter_add<0, 4>(i, a), tl::matmul(a, a)};
  });
  cover<M>([](auto a) { return tl::cast<float>(tl::cast<tl::bf16>(a)); });
  cover<image, filter>(tl::grad<0, 1>([](auto x, auto w) { return tl::sum(square(tl::conv2d<tl::conv{.padding = 1}>(x, w))); }));
  cover<tl::tensor<float, 1, 1, 2, 4, 4>, tl::tensor<float, 1, 1, 2, 3, 3>>(tl::grad<0>([](auto x, auto w) { return tl::sum(square(tl::conv3d(x, w))); }));
  cover<image>(tl::value_and_grad([](auto x) { return tl::sum(tl::max_pool2d<tl::pool{}>(x) * tl::avg_pool2d<tl::pool{}>(x)); }));
  cover<tl::csr<float, 4, 4, 6>, M>(tl::grad<0, 1>([](auto a, auto b) { return tl::sum(square(tl::matmul(a, tl::solve_triangular(a, b)))) + tl::sum(tl::sampled_matmul(a, a, a)); }));
  cover<tl::csr<float, 4, 4, 6, tl::tiled>, M>([](auto a, auto b) { return tl::matmul(a, b); });
  cover<tl::csr<float, 4, 4, 6>, M>(tl::grad<0, 1>([](auto a, auto d) { return tl::sum(a * d); }));
  cover<tl::tensor<float, 4>>([](auto x) { return tl::gather(x, tl::top_k<2>(x)); });
  cover<image>([](auto x) { return tl::jvp([](auto a) { return tl::max_pool2d<tl::pool{}>(a); })(x, x); });
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
template <int N> void rows(const char* family, const tl::detail::op_rule (&table)[N]) {
  for (const tl::detail::op_rule& r : table) {
    const char* const cpu = has_run[static_cast<int>(r.o)] ? "yes" : r.o == op::argument ? "not in a plan" : "NO";
    std::printf("| %s | [%s](%s.md) | %s | %s | %s | %s |\n", r.name, family, family, name_of(r.k), r.vjp != nullptr ? "yes" : "-", flops_of(r).c_str(), cpu);
  }
}

} // namespace

int main() {
  cover_all();
  std::printf("| op | family | kind | vjp | flops, each element | CPU |\n|---|---|---|---|---|---|\n");
  rows("index", tl::detail::index_rules);
  rows("select", tl::detail::select_rules);
  rows("elementwise", tl::detail::elementwise_rules);
  rows("functions", tl::detail::function_rules);
  rows("bf16", tl::detail::bf16_rules);
  rows("reduce", tl::detail::reduce_rules);
  rows("cumsum", tl::detail::cumsum_rules);
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
