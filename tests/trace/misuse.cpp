// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The sentences that misuse.hpp reports are those of the ops: each rule is broken once, on vars.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <tapeless/adjoint/transforms.hpp>
#include <tapeless/optim/update.hpp>
#include <tapeless/trace/misuse.hpp>
#include <tapeless/trace/trace.hpp>

namespace tl = tapeless;
using tl::var;

namespace {

struct broken {
  std::string_view rule;
  tl::shape a, b;
};
using V = tl::tensor<float, 4>;
using D = tl::tensor<double, 4>;
using H = tl::tensor<tl::bf16, 4>;
using M = tl::tensor<float, 4, 6>;
using S = tl::tensor<float>;
using N = tl::tensor<float, tl::dyn<'n'>, 6>;
using E = tl::tensor<float, 0, 6>;
using none = tl::tensor<float, 0>;
using huge = tl::tensor<float, 2'147'483'648>;
using R6 = tl::tensor<float, 1, 1, 1, 1, 4, 4>;
using I = tl::tensor<std::int32_t, 4>;
using I2 = tl::tensor<std::int32_t, 2, 2>;
using I0 = tl::tensor<std::int32_t>;
using B = tl::tensor<bool, 4>;
using A = tl::csr<float, 4, 6, 9>;
using S6 = tl::tensor<float, 6>;
using Q = tl::csr<float, 4, 4, 9>;
using image = tl::tensor<float, 1, 4, 5, 5>;
using filter = tl::tensor<float, 6, 2, 3, 3>;
using large = tl::tensor<float, 6, 4, 7, 7>;
using named_image = tl::tensor<float, 1, 4, tl::dyn<'n'>, 5>;
using named_volume = tl::tensor<float, 1, 2, tl::dyn<'n'>, 4, 4>;
using column_filter = tl::tensor<float, 6, 2, 1, 5>;
using named_filter = tl::tensor<float, 6, 2, 3, tl::dyn<'m'>>;
using named_channels = tl::tensor<float, 1, tl::dyn<'c'>, 5, 5>;
using grouped_filter = tl::tensor<float, 6, tl::dyn<'c'>, 3, 3>;
using four_names = tl::tensor<float, tl::dyn<'a'>, tl::dyn<'b'>, tl::dyn<'c'>, tl::dyn<'d'>>;

struct wrong_rules {
  template <class T> static T primal(T x) { return x; }
  static constexpr auto vjp(auto, auto, auto y_bar) { return tl::slice<0, 0, 2>(y_bar); }
  static constexpr auto jvp(auto, auto, auto x_dot) { return tl::slice<0, 0, 2>(x_dot); }
};
struct sum_op {
  template <class T> static T primal(T x, T y) { return x + y; }
  static constexpr auto vjp(auto, auto, auto, auto y_bar) { return std::tuple{y_bar, y_bar}; }
};

// f on vars, or on handles where it takes no vars; the program goes on with whatever is at hand, and its result is not
// read.
template <class F> struct on_vars {
  template <class X, class... Y> constexpr X operator()(const X& x, const Y&... y) const {
    if constexpr (std::is_invocable_v<F, var, std::conditional_t<true, var, Y>...>)
      static_cast<void>(F{}(var(x), var(y)...));
    else static_cast<void>(F{}(x, y...));
    return x;
  }
};
template <class... X, class F> constexpr broken breaks(F) {
  const tl::detail::broken_rule r = tl::detail::trace<on_vars<F>, X...>().broken;
  return {r.rule, r.a, r.b};
}

// f as it is: what is found once the program is complete
template <class... X, class F> constexpr broken breaks_at_end(F) {
  const tl::detail::broken_rule r = tl::detail::trace<F, X...>().broken;
  return {r.rule, r.a, r.b};
}

constexpr auto twice = [](var x) { return x * 2.0; };
constexpr auto in_another_trace = [](var h) {
  tl::detail::graph other;
  return var(h + var{&other, other.input(0, tl::dtype::f32, tl::shape_of<4>)});
};

constexpr std::array<bool, 2> two{true, false};
constexpr broken found[] = {
    breaks<V>(in_another_trace),
    breaks<I>([](var h) { return h * 0.5; }),
    breaks<I>([](var h) { return h + 5000000000; }),
    breaks<S>([](var h) { return tl::broadcast_to<1 << 20, 1 << 20>(h); }),
    breaks<S>([](var h) { return tl::broadcast_to<tl::dyn<'n'>>(h); }),
    breaks<four_names, N>([](var h, var k) { return sum(h) + sum(k); }),
    breaks<N>([](N x) { return x.extent(0); }),
    breaks<V>([](V x) { return x + x[0]; }),
    breaks<N>([](N x) { return tl::where<'n'>(tl::sum<1>(x) > 0.0); }),
    breaks<V>([](V x) {
      return std::tuple{tl::where<'a'>(x > 0.0), tl::where<'b'>(x > 1.0), tl::where<'c'>(x > 2.0),
                        tl::where<'d'>(x > 3.0), tl::where<'e'>(x > 4.0), tl::where<'f'>(x > 5.0),
                        tl::where<'g'>(x > 6.0), tl::where<'h'>(x > 7.0), tl::where<'i'>(x > 8.0)};
    }),
    breaks_at_end<V>([](V x) { return std::tuple{tl::where<'k'>(x > 0.0), tl::where<'k'>(x > 1.0)}; }),
    breaks<V, S6>([](V x, S6 y) { return tl::gather(x, tl::top_k<2>(y)); }),
    breaks<V>([](var h) { return h.as<double, 4>(); }),
    breaks<V>([](var h) { return h.as<float, 5>(); }),
    breaks<V, M>([](var h, var k) { return h + k; }),
    breaks<image, V>([](var h, var b) { return h + b; }),
    breaks<V, D>([](var h, var k) { return h + k; }),
    breaks<B>([](var h) { return h + h; }),
    breaks<H>([](var h) { return h == h; }),
    breaks<H>([](var h) { return tl::cast<bool>(h); }),
    breaks<B>([](var h) { return -h; }),
    breaks<I>([](var h) { return pow(h, h); }),
    breaks<I>([](var h) { return exp(h); }),
    breaks<V>([](var h) { return h % h; }),
    breaks<V>([](var h) { return ~h; }),
    breaks<V>([](var h) { return h && h; }),
    breaks<V>([](var h) { return !h; }),
    breaks<V>([](var h) { return where(h, h, 0.0); }),
    breaks<B, M>([](var h, var k) { return where(h, k, 0.0); }),
    breaks<M>([](var h) { return tl::reshape<25>(h); }),
    breaks<V>([](var h) { return transpose(h); }),
    breaks<M>([](var h) { return tl::transpose<0, 0>(h); }),
    breaks<M>([](var h) { return tl::slice<2, 0, 1>(h); }),
    breaks<N>([](var h) { return tl::slice<0, 0, 1>(h); }),
    breaks<M>([](var h) { return tl::slice<0, 3, 5>(h); }),
    breaks<M>([](var h) { return tl::at<2>(h, 0); }),
    breaks<N>([](var h) { return tl::at<0>(h, 0); }),
    breaks<M>([](var h) { return tl::slice<0, 9>(h, 0); }),
    breaks<M>([](auto h) { return tl::at<0>(h, -1); }),
    breaks<M>([](var h) { return tl::keep<2, two>(h); }),
    breaks<M>([](var h) { return tl::keep<0, two>(h); }),
    breaks<M>([](var h) { return tl::max_pool2d<tl::pool{.layout = tl::layout::nhwc}>(h); }),
    breaks<M>([](var h) { return tl::pad<-3, 0, 1>(h); }),
    breaks<N>([](var h) { return tl::pad<0, 0, 1>(h); }),
    breaks<M, V>([](var h, var k) { return tl::concat<0>(h, k); }),
    breaks<M>([](var h) { return tl::flip<2>(h); }),
    breaks<M>([](var h) { return tl::broadcast_to<4, 7>(h); }),
    breaks<M>([](var h) { return channel(h); }),
    breaks<M>([](var h) { return tl::iota<2>(h); }),
    breaks<M>([](var h) { return tl::argmax<-3>(h); }),
    breaks<M>([](var h) { return tl::argmax<1, -1>(h); }),
    breaks<E>([](var h) { return tl::argmax<0>(h); }),
    breaks<M>([](var h) { return tl::cumsum<2>(h); }),
    breaks<M>([](var h) { return tl::cumsum<0>(h > 0.0); }),
    breaks<M>([](var h) { return tl::cumprod<2>(h); }),
    breaks<I>([](var h) { return tl::cummax<0>(h); }),
    breaks<V, S6>([](var h, var k) { return tl::linear_scan<0>(h, k); }),
    breaks<I>([](var h) { return tl::linear_scan<0>(h, 2); }),
    breaks<V>([](var h) { return tl::linear_scan<1>(h, h); }),
    breaks<V>([](var h) { return tl::take_along_axis<0>(h, h); }),
    breaks<M, I>([](var h, var k) { return tl::take_along_axis<0>(h, k); }),
    breaks<none, I>([](var h, var k) { return tl::take_along_axis<0>(h, k); }),
    breaks<huge, I>([](var h, var k) { return tl::take_along_axis<0>(h, k); }),
    breaks<V>([](var h) { return tl::scatter_add_along_axis<0>(h, h, h); }),
    breaks<V, I>([](var h, var k) { return tl::scatter_add_along_axis<0>(h, k, k); }),
    breaks<M, I>([](var h, var k) { return tl::scatter_max_along_axis<0>(h, k, h); }),
    breaks<V, I, S6>([](var h, var k, var l) { return tl::scatter_min_along_axis<0>(h, k, l); }),
    breaks<none, I, V>(
        [](var h, var k, var l) { return tl::scatter_add_along_axis<0>(h, k, tl::at<0>(l, 0)); }),
    breaks<huge, I>([](var h, var k) { return tl::scatter_add_along_axis<0>(h, k, tl::at<0>(h, 0)); }),
    breaks<M>([](var h) { return tl::gather<0>(h, h); }),
    breaks<M, I>([](var h, var k) { return tl::gather<2>(h, k); }),
    breaks<R6, I2>([](var h, var k) { return tl::gather<2>(h, k); }),
    breaks<E, I>([](var h, var k) { return tl::gather<0>(h, k); }),
    breaks<M>([](var h) { return tl::scatter_add<0, 9>(h, h); }),
    breaks<M, I>([](var h, var k) { return tl::scatter_add<1, 9>(k, h); }),
    breaks<R6, I0>([](var h, var k) { return tl::scatter_add<0, 9>(k, h); }),
    breaks<M, I>([](var h, var k) { return tl::scatter_add<0, 0>(k, h); }),
    breaks<I>([](var h) { return sum(h); }),
    breaks<M>([](var h) { return tl::mean<2>(h); }),
    breaks<M>([](var h) { return tl::sum<0, 0>(h); }),
    breaks<E>([](var h) { return tl::max<0>(h); }),
    breaks<V>([](var h) { return tl::any(h); }),
    breaks<V>([](var h) { return tl::sum(h, tl::over(h)); }),
    breaks<V, M>([](var h, var k) { return tl::mean(h, tl::over(k > 0.0)); }),
    breaks<M, S>([](var h, var k) { return matmul(h, k); }),
    breaks<V, D>([](var h, var k) { return matmul(h, k); }),
    breaks<D, A>([](D x, A a) { return matmul(var(x), a); }),
    breaks<M, V>([](var h, var k) { return matmul(h, k); }),
    breaks<image, tl::tensor<float, 100, 3>>([](var h, var k) { return matmul(h, k); }),
    breaks<tl::tensor<float, 2, 4, 4>, tl::tensor<float, 3, 4, 4>>([](var h, var k) { return matmul(h, k); }),
    breaks<V, D>([](var h, var k) { return tl::einsum<"i,i">(h, k); }),
    breaks<V, M>([](var h, var k) { return tl::einsum<"ij,ij">(h, k); }),
    breaks<V, M>([](var h, var k) { return tl::einsum<"j,ij">(h, k); }),
    breaks<image, filter>([](var h, var k) { return tl::einsum<"abcd,efgh">(h, k); }),
    breaks<S6, Q>([](S6 x, Q a) { return solve_triangular(a, var(x)); }),
    breaks<D, Q>([](D x, Q a) { return solve_triangular(a, var(x)); }),
    breaks<V, A>([](V x, A a) { return matmul(a, var(x)); }),
    breaks<S6, A>([](S6 x, A a) { return matmul(var(x), a); }),
    breaks<V, A, A>([](V, A a, A b) { return a + b; }),
    breaks<V, A>([](V x, A) { return matmul(x, A{}); }),
    breaks<V, A>([](V x, A a) { return a * var(x); }),
    breaks<V, S6, A>([](V x, S6 y, A a) { return sampled_matmul(a, y, var(x)); }),
    breaks<D, S6, A>([](D x, S6 y, A a) { return sampled_matmul(a, var(x), y); }),
    breaks<S6, A>([](S6 x, A a) { return scale_rows(var(x), a); }),
    breaks<V, A>([](V x, A a) { return scale_columns(a, var(x)); }),
    breaks<D, A>([](D x, A a) { return scale_rows(var(x), a); }),
    breaks<M, filter>([](var h, var k) { return conv2d<tl::conv{}>(h, k); }),
    breaks<image, tl::tensor<double, 6, 4, 3, 3>>([](var h, var k) { return conv2d<tl::conv{}>(h, k); }),
    breaks<image, named_filter>([](var h, var k) { return conv2d<tl::conv{.groups = 2}>(h, k); }),
    breaks<named_channels, grouped_filter>([](var h, var k) { return conv2d<tl::conv{.groups = 2}>(h, k); }),
    breaks<image, column_filter>([](var h, var k) {
      return conv2d<tl::conv{.padding = tl::same, .dilation = {1, 200}, .groups = 2}>(h, k);
    }),
    breaks<image, filter>([](var h, var k) { return conv2d<tl::conv{}>(h, k); }),
    breaks<image, tl::tensor<float, 5, 2, 3, 3>>(
        [](var h, var k) { return conv2d<tl::conv{.groups = 2}>(h, k); }),
    breaks<named_image, filter>([](var h, var k) { return conv2d<tl::conv{.groups = 2}>(h, k); }),
    breaks<image, large>([](var h, var k) { return conv2d<tl::conv{}>(h, k); }),
    breaks<image, V>([](var h, var b) {
      return conv2d<tl::conv{}>(h, reshape<4, 4, 1, 1>(broadcast_to<4, 4>(b)), pad<0, 0, 1>(b));
    }),
    breaks<image, tl::tensor<double, 4>>([](var h, var b) {
      return conv2d<tl::conv{.groups = 4}>(h, slice<0, 0, 4>(reshape<20, 1, 1, 5>(h)), b);
    }),
    breaks<image, filter>([](var h, var k) { return tl::conv1d(h, k); }),
    breaks<image, filter>([](var h, var k) { return tl::conv3d(h, k); }),
    breaks<named_volume, tl::tensor<float, 3, 2, 2, 2, 2>>([](var h, var k) { return tl::conv3d(h, k); }),
    breaks<M, filter>([](var h, var k) { return tl::conv_transpose2d(h, k); }),
    breaks<image, filter>([](var h, var k) { return tl::conv_transpose2d(h, k); }),
    breaks<image, tl::tensor<float, 4, 2, 1, 1>>(
        [](var h, var k) { return tl::conv_transpose2d<tl::conv_transpose{.padding = 3}>(h, k); }),
    breaks<image, filter>([](var h, var k) { return tl::conv_transpose1d(h, k); }),
    breaks<image, filter>([](var h, var k) { return tl::conv_transpose3d(h, k); }),
    breaks<M>([](var h) { return tl::max_pool2d<tl::pool{}>(h); }),
    breaks<named_image>([](var h) { return tl::max_pool2d<tl::pool{}>(h); }),
    breaks<image>([](var h) {
      return tl::max_pool2d<tl::pool{
          .kernel = {5, 1}, .stride = 1, .padding = tl::same, .dilation = {200, 1}}>(h);
    }),
    breaks<image>([](var h) { return tl::avg_pool2d<tl::pool{.kernel = 6}>(h); }),
    breaks<image>([](var h) { return tl::avg_pool2d<tl::pool{.padding = 2}>(h); }),
    breaks<M, I2>([](var h, var k) { return softmax_cross_entropy(h, k); }),
    breaks<M, V>([](var h, var k) { return softmax_cross_entropy(h, k); }),
    breaks<I2, tl::tensor<std::int32_t, 2>>([](var h, var k) { return softmax_cross_entropy(h, k); }),
    breaks<M, M>([](var h, var k) { return softmax_cross_entropy<tl::ignore_label{1}>(h, k); }),
    breaks<M, tl::tensor<double, 4, 6>>([](var h, var k) { return softmax_cross_entropy(h, k); }),
    breaks<M, I>([](var h, var k) { return softmax_cross_entropy(h, k, tl::class_weights(h)); }),
    breaks<M, I>([](var h, var k) { return softmax_cross_entropy(h, k, tl::label_smoothing(2)); }),
    breaks<V, S>([](var h, var k) { return mse_loss(h, k); }),
    breaks<V, M>(
        [](var h, var k) { return tl::binary_cross_entropy_with_logits(h, h, tl::positive_weight(k)); }),
    breaks<M>([](var h) { return tl::softmax<2>(h); }),
    breaks<I2>([](var h) { return tl::softmax(h); }),
    breaks<V, D>([](var h, var k) { return tl::layer_norm(h, k, k); }),
    breaks<V>([](var h) { return tl::batch_norm(h); }),
    breaks<M, V>([](var h, var k) { return tl::batch_norm(h, k, k); }),
    breaks<M>([](var h) { return tl::instance_norm(h); }),
    breaks<image, M>([](var h, var k) { return tl::instance_norm(h, k, k); }),
    breaks<image>([](var h) { return tl::group_norm<3>(h); }),
    breaks<image, M>([](var h, var k) { return tl::group_norm<2>(h, k, k); }),
    breaks<V>([](var h) { return tl::layer_norm<2>(h); }),
    breaks<M, V>([](var h, var k) { return tl::layer_norm(h, k, k); }),
    breaks<M>([](var h) { return tl::rms_norm<0>(h); }),
    breaks<M, V>([](var h, var k) { return tl::rms_norm(h, k); }),
    breaks<I>([](var h) { return tl::custom<wrong_rules>(h); }),
    breaks<V, D>([](var h, var k) { return tl::custom<sum_op>(h, k); }),
    breaks<V, M>([](var h, var k) { return tl::custom<sum_op>(h, k); }),
    breaks<V>([](var h) { return tl::grad([](var x) { return sum(tl::custom<wrong_rules>(x)); })(h); }),
    breaks<V>([](var h) { return tl::jvp([](var x) { return tl::custom<wrong_rules>(x); })(h, h); }),
    breaks<V>([](var h) { return tl::grad(twice)(h); }),
    breaks<H>([](var h) { return tl::grad([](var x) { return sum(tl::cast<float>(x)); })(h); }),
    breaks<I>([](var h) { return tl::vjp(twice)(h, h); }),
    breaks<V, M>([](var h, var k) { return tl::vjp(twice)(h, k); }),
    breaks<V, M>([](var h, var k) { return tl::jvp(twice)(h, k); }),
    breaks<V>([](var h) { return tl::norm(h, 0); }),
    breaks<V>(
        [](V h) { return tl::sgd_update(h, h, tl::sgd_state<V>{h}, 0.1f, tl::sgd_options{.momentum = 1}); }),
    breaks<V>([](V h) {
      return tl::adam_update(h, h, tl::adam_state<V>{h, h, tl::sum(h), tl::sum(h)},
                             tl::adam_options{.beta1 = 1});
    }),
    breaks<R6>([](var h) { return tl::expand_dims<0>(h); }),
    breaks<M>([](var h) { return tl::squeeze<1>(h); }),
    breaks<M>([](var h) { return tl::split<1, 4>(h)[0]; }),
    breaks<M>([](var h) { return tl::tile<2, 2>(h); }),
    breaks<M>([](var h) { return tl::repeat<2, 2>(h); }),
    breaks<N>([](var h) { return tl::roll<0, 1>(h); }),
    breaks<M>([](var h) { return tl::slice<1, 0, 7, 2>(h); }),
    breaks<M>([](var h) { return tl::pad<0, 4, 0>(h, tl::reflect); }),
    breaks<M>([](var h) { return tl::pad<0, 1, 0>(tl::cast<std::int32_t>(h), tl::fill_value(0.5)); }),
    breaks<V>([](var h) { return tl::tril(h); }),
    breaks<N>([](var h) { return tl::diagonal(h); }),
    breaks<V>([](var h) { return tl::eye_like(h); }),
    breaks<V>([](var h) { return tl::one_hot<float, 3>(h); }),
    breaks<R6>([](var h) { return tl::one_hot<float, 3>(tl::cast<std::int32_t>(h)); }),
    breaks<V, M>([](var h, var k) { return tl::outer(h, k); }),
};

// their lengths are counted once: clang takes a million steps in a constant evaluation
constexpr auto sentences = [] {
  std::array<std::string_view, std::size(tl::detail::reported_rules)> r;
  std::ranges::copy(tl::detail::reported_rules, r.begin());
  return r;
}();
constexpr bool reported(std::string_view rule) {
  return std::ranges::any_of(sentences, [&](std::string_view r) { return rule == r; });
}
constexpr bool broken_above(std::string_view rule) {
  return std::ranges::any_of(found, [&](const broken& f) { return f.rule == rule; });
}
constexpr bool sentences_differ() {
  for (std::size_t i = 0; i < std::size(found); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (found[i].rule == found[k].rule) return false;
  return true;
}

} // namespace

TEST_CASE("misuse: the sentence of every broken rule is reported") {
  static_assert(std::ranges::all_of(found, [](const broken& f) { return reported(f.rule); }));
  for (const broken& f : found) CHECK_MESSAGE(reported(f.rule), f.rule);
}
TEST_CASE("misuse: every sentence that is reported is an op's, of a rule broken here") {
  static_assert(
      std::ranges::all_of(tl::detail::reported_rules, [](const char* r) { return broken_above(r); }));
  for (const char* r : tl::detail::reported_rules) CHECK_MESSAGE(broken_above(r), r);
}
TEST_CASE("misuse: each rule is broken once, and a sentence with one other letter is none of them") {
  static_assert(sentences_differ() && std::size(found) == std::size(tl::detail::reported_rules));
  static_assert(reported("tapeless: iota<axis>(a): the axis exists"));
  static_assert(!reported("tapeless: iota<axis>(a): the axis exist") &&
                !broken_above("tapeless: iota<axis>(a): the axis exist"));
  static_assert(!reported("tapeless: iota<axis>(a): the axes exists"));
  static_assert(!reported(breaks<M>([](var h) { return h.as<float, 4, 6>(); }).rule)); // none broken
  CHECK((reported(found[0].rule) && !reported("")));
}
TEST_CASE("misuse: the shapes that broke the rule are kept, of the first rule only") {
  constexpr broken first = breaks<V, M>([](var h, var k) { return tl::sum<5>(h + k); });
  static_assert(first.rule == "tapeless: elementwise op(a, b): the shapes broadcast");
  static_assert(first.a == V::extents && first.b == M::extents);
  CHECK(first.rule.size() > 0);
}
