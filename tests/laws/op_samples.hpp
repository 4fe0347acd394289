#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Samples of each op: programs of arguments X in which it stands once, or `nothing` where there are none.
#include <tapeless/tapeless.hpp>

#include <cstdint>
#include <tuple>
#include <type_traits>

namespace op_samples {

namespace tl = tapeless;
using namespace tl::detail;

template <class F, class... X> struct sample {};
template <class... Sample> struct samples {};
struct nothing {}; // may be said of it
template <class... X, class F> constexpr sample<F, X...> of(F) { return {}; }
template <class... S> constexpr samples<S...> all(S...) { return {}; }

using V = tl::tensor<double, 6>;
using M = tl::tensor<double, 6, 4>;
using N = tl::tensor<double, 4, 6>;
using T = tl::tensor<double, 6, 4, 2>;
using B = tl::tensor<bool, 6, 4>;
using I = tl::tensor<std::int32_t, 6, 4>;
using list = tl::tensor<std::int32_t, 3>;
using image = tl::tensor<double, 4, 4, 5, 5>;
using filter = tl::tensor<double, 6, 4, 3, 3>;
using windows = tl::tensor<double, 4, 4, 1, 1>;
using positions = tl::tensor<std::int32_t, 4, 4, 1, 1>;
using planes = tl::tensor<double, 4, 4, 2, 2>;
using volume = tl::tensor<double, 2, 3, 4, 3, 3>;

struct product {
  template <class E> static E primal(E a, E b) { return a * b; }
  static constexpr auto vjp(auto a, auto b, auto, auto y_bar) { return std::tuple{y_bar * b, y_bar * a}; }
};
constexpr axis_window depth{3, 1, 1, 1, 1};
constexpr window_attributes whole_plane{2, 0, 1};
// a node of a, and of positions where there are some
template <op O, class R> constexpr R window(const auto& a, int index = no_node) {
  graph& g = graph_of(a);
  return wrap<double, R::extents>(
      g, window_node(g, O, a.id(), index, pack(whole_plane), pack_kernel(2), R::extents));
}

template <op O> constexpr auto samples_of = 0; // an op without an entry: see below
template <> constexpr auto samples_of<op::input> = nothing{};
template <> constexpr auto samples_of<op::argument> = nothing{};
template <> constexpr auto samples_of<op::constant> = nothing{};
template <> constexpr auto samples_of<op::extent> = nothing{};
template <> constexpr auto samples_of<op::iota> = nothing{};
template <> constexpr auto samples_of<op::neg> = of<M>([](auto a) { return -a; });
template <> constexpr auto samples_of<op::square> = of<M>([](auto a) { return tl::square(a); });
template <> constexpr auto samples_of<op::sqrt> = of<M>([](auto a) { return tl::sqrt(a); });
template <> constexpr auto samples_of<op::exp> = of<M>([](auto a) { return tl::exp(a); });
template <> constexpr auto samples_of<op::log> = of<M>([](auto a) { return tl::log(a); });
template <> constexpr auto samples_of<op::tanh> = of<M>([](auto a) { return tl::tanh(a); });
template <> constexpr auto samples_of<op::erf> = of<M>([](auto a) { return tl::erf(a); });
template <> constexpr auto samples_of<op::sigmoid> = of<M>([](auto a) { return tl::sigmoid(a); });
template <> constexpr auto samples_of<op::relu> = of<M>([](auto a) { return tl::relu(a); });
template <> constexpr auto samples_of<op::abs> = of<M>([](auto a) { return tl::abs(a); });
template <> constexpr auto samples_of<op::sign> = of<M>([](auto a) { return tl::sign(a); });
template <> constexpr auto samples_of<op::sin> = of<M>([](auto a) { return tl::sin(a); });
template <> constexpr auto samples_of<op::cos> = of<M>([](auto a) { return tl::cos(a); });
template <> constexpr auto samples_of<op::tan> = of<M>([](auto a) { return tl::tan(a); });
template <> constexpr auto samples_of<op::asin> = of<M>([](auto a) { return tl::asin(a); });
template <> constexpr auto samples_of<op::acos> = of<M>([](auto a) { return tl::acos(a); });
template <> constexpr auto samples_of<op::atan> = of<M>([](auto a) { return tl::atan(a); });
template <> constexpr auto samples_of<op::sinh> = of<M>([](auto a) { return tl::sinh(a); });
template <> constexpr auto samples_of<op::cosh> = of<M>([](auto a) { return tl::cosh(a); });
template <> constexpr auto samples_of<op::asinh> = of<M>([](auto a) { return tl::asinh(a); });
template <> constexpr auto samples_of<op::acosh> = of<M>([](auto a) { return tl::acosh(a); });
template <> constexpr auto samples_of<op::atanh> = of<M>([](auto a) { return tl::atanh(a); });
template <> constexpr auto samples_of<op::exp2> = of<M>([](auto a) { return tl::exp2(a); });
template <> constexpr auto samples_of<op::expm1> = of<M>([](auto a) { return tl::expm1(a); });
template <> constexpr auto samples_of<op::log1p> = of<M>([](auto a) { return tl::log1p(a); });
template <> constexpr auto samples_of<op::log2> = of<M>([](auto a) { return tl::log2(a); });
template <> constexpr auto samples_of<op::log10> = of<M>([](auto a) { return tl::log10(a); });
template <> constexpr auto samples_of<op::rsqrt> = of<M>([](auto a) { return tl::rsqrt(a); });
template <> constexpr auto samples_of<op::cbrt> = of<M>([](auto a) { return tl::cbrt(a); });
template <> constexpr auto samples_of<op::floor> = of<M>([](auto a) { return tl::floor(a); });
template <> constexpr auto samples_of<op::ceil> = of<M>([](auto a) { return tl::ceil(a); });
template <> constexpr auto samples_of<op::round> = of<M>([](auto a) { return tl::round(a); });
template <> constexpr auto samples_of<op::softplus> = of<M>([](auto a) { return tl::softplus(a); });
template <> constexpr auto samples_of<op::erfc> = of<M>([](auto a) { return tl::erfc(a); });
template <> constexpr auto samples_of<op::erfinv> = of<M>([](auto a) { return tl::erfinv(a); });
template <> constexpr auto samples_of<op::lgamma> = of<M>([](auto a) { return tl::lgamma(a); });
template <> constexpr auto samples_of<op::digamma> = of<M>([](auto a) { return tl::digamma(a); });
template <> constexpr auto samples_of<op::logical_not> = of<B>([](auto a) { return !a; });
template <> constexpr auto samples_of<op::copy> = of<M>([](auto a) { return a; });
template <> constexpr auto samples_of<op::cast> =
    all(of<M>([](auto a) { return tl::cast<std::int32_t>(a); }),
        of<I>([](auto a) { return tl::cast<double>(a); }), of<B>([](auto a) { return tl::cast<double>(a); }),
        of<tl::tensor<std::uint8_t, 6, 4>>([](auto a) { return tl::cast<double>(a); }),
        of<tl::tensor<std::int64_t, 6, 4>>([](auto a) { return tl::cast<std::int32_t>(a); }),
        of<M>([](auto a) { return tl::cast<std::uint8_t>(a); }));
using float_matrix = tl::tensor<float, 6, 4>;
template <> constexpr auto samples_of<op::narrow> =
    of<float_matrix>([](auto a) { return tl::cast<tl::bf16>(a); });
template <> constexpr auto samples_of<op::widen> =
    of<tl::tensor<tl::bf16, 6, 4>>([](auto a) { return tl::cast<float>(a); });
template <> constexpr auto samples_of<op::convert> =
    all(of<M>([](auto a) { return tl::cast<float>(a); }),
        of<float_matrix>([](auto a) { return tl::cast<double>(a); }));
template <> constexpr auto samples_of<op::straight_through> = nothing{}; // in no program
template <> constexpr auto samples_of<op::stop_gradient> = of<M>([](auto a) { return tl::stop_gradient(a); });
template <> constexpr auto samples_of<op::add> =
    all(of<M, M>([](auto a, auto b) { return a + b; }),
        of<M, tl::tensor<double, 4>>([](auto a, auto b) { return a + b; }));
template <> constexpr auto samples_of<op::sub> =
    all(of<M, M>([](auto a, auto b) { return a - b; }),
        of<tl::tensor<double, 6, 1>, M>([](auto a, auto b) { return a - b; }));
template <> constexpr auto samples_of<op::mul> =
    all(of<M, M>([](auto a, auto b) { return a * b; }),
        of<M, tl::tensor<double, 6, 1>>([](auto a, auto b) { return a * b; }));
template <> constexpr auto samples_of<op::div> =
    all(of<M, M>([](auto a, auto b) { return a / b; }),
        of<M, tl::tensor<double>>([](auto a, auto b) { return a / b; }));
template <> constexpr auto samples_of<op::pow> = of<M, M>([](auto a, auto b) { return tl::pow(a, b); });
template <> constexpr auto samples_of<op::atan2> = of<M, M>([](auto a, auto b) { return tl::atan2(a, b); });
template <> constexpr auto samples_of<op::fmod> = of<M, M>([](auto a, auto b) { return tl::fmod(a, b); });
template <> constexpr auto samples_of<op::remainder> =
    of<M, M>([](auto a, auto b) { return tl::remainder(a, b); });
template <> constexpr auto samples_of<op::hypot> = of<M, M>([](auto a, auto b) { return tl::hypot(a, b); });
template <> constexpr auto samples_of<op::polygamma> = nothing{}; // its order is a constant
template <> constexpr auto samples_of<op::quotient> = of<I, I>([](auto a, auto b) { return a / b; });
template <> constexpr auto samples_of<op::modulo> = of<I, I>([](auto a, auto b) { return a % b; });
template <> constexpr auto samples_of<op::bit_and> = of<I, I>([](auto a, auto b) { return a & b; });
template <> constexpr auto samples_of<op::bit_or> = of<I, I>([](auto a, auto b) { return a | b; });
template <> constexpr auto samples_of<op::bit_xor> = of<I, I>([](auto a, auto b) { return a ^ b; });
template <> constexpr auto samples_of<op::shift_left> = of<I, I>([](auto a, auto b) { return a << b; });
template <> constexpr auto samples_of<op::shift_right> = of<I, I>([](auto a, auto b) { return a >> b; });
template <> constexpr auto samples_of<op::max> = of<M, M>([](auto a, auto b) { return tl::max(a, b); });
template <> constexpr auto samples_of<op::min> = of<M, M>([](auto a, auto b) { return tl::min(a, b); });
template <> constexpr auto samples_of<op::eq> = of<M, M>([](auto a, auto b) { return a == b; });
template <> constexpr auto samples_of<op::ne> = of<M, M>([](auto a, auto b) { return a != b; });
template <> constexpr auto samples_of<op::lt> = of<M, M>([](auto a, auto b) { return a < b; });
template <> constexpr auto samples_of<op::le> = of<M, M>([](auto a, auto b) { return a <= b; });
template <> constexpr auto samples_of<op::gt> = of<M, M>([](auto a, auto b) { return a > b; });
template <> constexpr auto samples_of<op::ge> = of<M, M>([](auto a, auto b) { return a >= b; });
template <> constexpr auto samples_of<op::logical_and> = of<B, B>([](auto a, auto b) { return a && b; });
template <> constexpr auto samples_of<op::logical_or> = of<B, B>([](auto a, auto b) { return a || b; });
template <> constexpr auto samples_of<op::where> =
    all(of<B, M, M>([](auto c, auto a, auto b) { return tl::where(c, a, b); }),
        of<tl::tensor<bool, 6, 1>, M, tl::tensor<double, 4>>(
            [](auto c, auto a, auto b) { return tl::where(c, a, b); }));
template <> constexpr auto samples_of<op::custom_elementwise> =
    of<M, M>([](auto a, auto b) { return tl::custom<product>(a, b); });
template <> constexpr auto samples_of<op::sum> =
    all(of<T>([](auto a) { return tl::sum<1>(a); }), of<T>([](auto a) { return tl::sum<0, 2>(a); }),
        of<T>([](auto a) { return tl::sum<2>(a); }));
template <> constexpr auto samples_of<op::max_reduce> =
    all(of<T>([](auto a) { return tl::max<1>(a); }), of<T>([](auto a) { return tl::max<0, 2>(a); }),
        of<T>([](auto a) { return tl::max<2>(a); }));
template <> constexpr auto samples_of<op::prod> =
    all(of<T>([](auto a) { return tl::prod<1>(a); }), of<T>([](auto a) { return tl::prod<0, 2>(a); }),
        of<T>([](auto a) { return tl::prod<2>(a); }));
// A view is read by a neg, which is linear and zero where it is.
template <> constexpr auto samples_of<op::expand> =
    all(of<tl::tensor<double, 4>>([](auto a) { return tl::broadcast_to<6, 4>(a); }),
        of<tl::tensor<double, 6, 1>>([](auto a) { return tl::broadcast_to<6, 4>(a); }));
template <> constexpr auto samples_of<op::transpose> =
    all(of<T>([](auto a) { return tl::transpose<2, 0, 1>(a); }),
        of<tl::tensor<double, 3, 4, 2, 5>>([](auto a) { return tl::transpose<0, 1, 3, 2>(a); }));
template <> constexpr auto samples_of<op::slice> = all(of<M>([](auto a) { return tl::slice<0, 1, 5>(a); }),
                                                       of<T>([](auto a) { return tl::slice<2, 1, 2>(a); }));
template <> constexpr auto samples_of<op::reshape> = all(
    of<T>([](auto a) { return -tl::reshape<24, 2>(a); }), of<T>([](auto a) { return -tl::reshape<6, 8>(a); }),
    of<T>([](auto a) { return -tl::reshape<2, 3, 8>(a); }));
template <> constexpr auto samples_of<op::checked_index> = nothing{};
template <> constexpr auto samples_of<op::pattern> = nothing{};
template <> constexpr auto samples_of<op::tiles> = nothing{};
template <> constexpr auto samples_of<op::three_patterns> = nothing{};
template <> constexpr auto samples_of<op::argmax> =
    all(of<T>([](auto a) { return tl::argmax<1>(a); }), of<T>([](auto a) { return tl::argmax<2>(a); }));
template <> constexpr auto samples_of<op::select> = nothing{};
template <> constexpr auto samples_of<op::pad> =
    all(of<M>([](auto a) { return tl::pad<0, 1, 2>(a); }), of<T>([](auto a) { return tl::pad<2, 1, 2>(a); }));
template <> constexpr auto samples_of<op::concat> =
    all(of<M, M>([](auto a, auto b) { return tl::concat<0>(a, b); }),
        of<M, M>([](auto a, auto b) { return tl::concat<1>(a, b); }),
        of<T, T>([](auto a, auto b) { return tl::concat<2>(a, b); }));
template <> constexpr auto samples_of<op::flip> =
    all(of<M>([](auto a) { return tl::flip<1>(a); }), of<M>([](auto a) { return tl::flip<0>(a); }),
        of<T>([](auto a) { return tl::flip<2>(a); }));
template <> constexpr auto samples_of<op::cumsum> =
    all(of<T>([](auto a) { return tl::cumsum<1>(a); }), of<M>([](auto a) { return tl::cumsum<0>(a); }),
        of<T>([](auto a) { return tl::cumsum<2>(a); }));
template <> constexpr auto samples_of<op::cumprod> =
    all(of<T>([](auto a) { return tl::cumprod<1>(a); }), of<M>([](auto a) { return tl::cumprod<0>(a); }),
        of<T>([](auto a) { return tl::cumprod<2>(a); }));
template <> constexpr auto samples_of<op::cummax> =
    all(of<T>([](auto a) { return tl::cummax<1>(a); }), of<M>([](auto a) { return tl::cummax<0>(a); }),
        of<T>([](auto a) { return tl::cummax<2>(a); }));
template <> constexpr auto samples_of<op::cumargmax> =
    all(of<T>([](auto a) { return tl::cumargmax<1>(a); }), of<T>([](auto a) { return tl::cumargmax<2>(a); }));
template <> constexpr auto samples_of<op::linear_scan> =
    all(of<T, T>([](auto a, auto b) { return tl::linear_scan<1>(a, b); }),
        of<M, M>([](auto a, auto b) { return tl::linear_scan<0>(a, b); }),
        of<tl::tensor<double, 2, 4, 6>, tl::tensor<double, 2, 4, 6>>(
            [](auto a, auto b) { return tl::linear_scan<2>(a, b); }));
template <> constexpr auto samples_of<op::gather> =
    all(of<M, list>([](auto a, auto i) { return tl::gather<0>(a, i); }),
        of<T, list>([](auto a, auto i) { return tl::gather<1>(a, i); }),
        of<tl::tensor<double, 2, 4, 6>, list>([](auto a, auto i) { return tl::gather<2>(a, i); }));
template <> constexpr auto samples_of<op::scatter_add> =
    all(of<tl::tensor<double, 3, 4>, list>([](auto a, auto i) { return tl::scatter_add<0, 6>(i, a); }),
        of<tl::tensor<double, 5, 4, 3>, list>([](auto a, auto i) { return tl::scatter_add<2, 6>(i, a); }),
        of<tl::tensor<double, 3, 4>, list, M>([](auto a, auto i, auto base) { // as programs of rows have it
          graph& g = graph_of(a);
          return wrap<double, M::extents>(
              g, scatter_add(g, a.id(), checked_index(g, i.id(), 6), 0, M::extents, base.id()));
        }));
template <> constexpr auto samples_of<op::scatter_argmax> =
    of<tl::tensor<double, 6>, list, tl::tensor<double, 3>>(
        [](auto a, auto i, auto d) { return tl::scatter_max_along_axis<0>(a, i, d); });
template <> constexpr auto samples_of<op::matmul> =
    all(of<M, N>([](auto a, auto b) { return tl::matmul(a, b); }),
        of<N, N>([](auto a, auto b) { return tl::matmul(tl::transpose(a), b); }),
        of<M, M>([](auto a, auto b) { return tl::matmul(a, tl::transpose(b)); }),
        of<tl::tensor<double, 5, 6, 4>, tl::tensor<double, 5, 4, 3>>(
            [](auto a, auto b) { return tl::matmul(a, b); }),
        of<tl::tensor<double, 5, 6, 4>, tl::tensor<double, 4, 3>>(
            [](auto a, auto b) { return tl::matmul(a, b); }));
constexpr auto convolution = [](auto x, auto w) { return tl::conv2d<tl::conv{.padding = 1}>(x, w); };
template <> constexpr auto samples_of<op::conv_fprop> = of<image, filter>(convolution);
template <> constexpr auto samples_of<op::conv_dgrad> = of<tl::tensor<double, 4, 6, 5, 5>, filter>(
    [](auto y, auto w) { return tl::conv_transpose2d<tl::conv_transpose{.padding = 1}>(y, w); });
template <> constexpr auto samples_of<op::conv_wgrad> =
    of<image, tl::tensor<double, 4, 6, 5, 5>>([](auto x, auto y_bar) {
      const auto w = tl::broadcast_to<6, 4, 3, 3>(tl::slice<0, 0, 1>(tl::reshape<400>(x)));
      return tl::vjp<1>(convolution)(x, w, y_bar);
    });
template <> constexpr auto samples_of<op::unfold> = of<volume>([](auto x) {
  graph& g = graph_of(x);
  return wrap<double, unfolded(volume::extents, depth)>(g, unfold(g, x.id(), depth));
});
template <> constexpr auto samples_of<op::fold> = of<tl::tensor<double, 8, 9, 3, 3>>([](auto y) {
  graph& g = graph_of(y);
  return wrap<double, volume::extents>(g, unfold_node(g, op::fold, y.id(), pack(depth), volume::extents));
});
template <> constexpr auto samples_of<op::window_max> =
    of<planes>([](auto x) { return window<op::window_max, windows>(x); });
template <> constexpr auto samples_of<op::window_argmax> = of<planes>([](auto x) {
  graph& g = graph_of(x);
  return wrap<std::int32_t, windows::extents>(
      g, window_node(g, op::window_argmax, x.id(), no_node, pack(whole_plane), pack_kernel(2),
                     windows::extents));
});
template <> constexpr auto samples_of<op::window_gather> =
    of<planes, positions>([](auto x, auto at) { return window<op::window_gather, windows>(x, at.id()); });
template <> constexpr auto samples_of<op::window_scatter> =
    of<windows, positions>([](auto y, auto at) { return window<op::window_scatter, planes>(y, at.id()); });
template <> constexpr auto samples_of<op::window_sum> =
    of<planes>([](auto x) { return window<op::window_sum, windows>(x); });
template <> constexpr auto samples_of<op::window_spread> =
    of<windows>([](auto y) { return window<op::window_spread, planes>(y); });
template <> constexpr auto samples_of<op::spmm> = nothing{};
template <> constexpr auto samples_of<op::sddmm> = nothing{};
template <> constexpr auto samples_of<op::sparse_solve> = nothing{};
template <> constexpr auto samples_of<op::spgemm> = nothing{};
template <> constexpr auto samples_of<op::entries_of> = nothing{};
template <> constexpr auto samples_of<op::dense_of> = nothing{};
template <> constexpr auto samples_of<op::custom_tensor> = nothing{};
template <op O>
concept has_entry = !std::is_same_v<decltype(samples_of<O>), const int>;

} // namespace op_samples
