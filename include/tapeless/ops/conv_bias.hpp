// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Convolutions with a bias: y = convolution(x, w) + b; b has one number for each channel of y.
#pragma once
#include "conv.hpp"
#include "conv_nd.hpp"
#include "conv_transpose.hpp"
#include "elementwise.hpp"
#include "window.hpp"

namespace tapeless {
namespace detail {

template <shape B, extent_t Channels>
concept one_number_a_channel = B.rank == 1 && B.d[0] == Channels;
// (c) -> (c, 1, ...), aligned with axis `axis` of y
constexpr shape as_channels(const shape& b, int rank, int axis) {
  shape s{rank - axis, {}};
  for (int i = 1; i < s.rank; ++i) s.d[i] = 1;
  s.d[0] = b.d[0];
  return s;
}
// Channels: the axis of the channels in y
template <int Channels, class Y, class B> constexpr auto plus_bias(const Y& y, const B& b) {
  graph& g = graph_of(y, b);
  if constexpr (any_var<Y, B>) {
    const shape sy = g[y.id()].s, sb = g[b.id()].s;
    require(g, g[b.id()].t == g[y.id()].t,
            "tapeless: convolution(x, w, b): b has the element type of the result");
    require(g, sb.rank == 1 && sb.d[0] == sy.d[Channels],
            "tapeless: convolution(x, w, b): b has one axis, of the channels of the result", sy, sb);
    if (!g.sound() || sy.rank <= Channels) return var{&g, y.id()};
    return y + var{&g, reshape(g, b.id(), as_channels(sb, sy.rank, Channels))};
  } else {
    constexpr shape sy = Y::extents, sb = B::extents;
    constexpr bool alike = same_element_type<typename Y::value_type, typename B::value_type>;
    static_assert(alike, "tapeless: convolution(x, w, b): b has the element type of the result");
    static_assert(one_number_a_channel<sb, sy.d[Channels]>,
                  "tapeless: convolution(x, w, b): b has one axis, of the channels of the result");
    if constexpr (alike && one_number_a_channel<sb, sy.d[Channels]> && sy.rank > Channels) {
      constexpr shape to = as_channels(sb, sy.rank, Channels);
      return y + wrap<typename B::value_type, to>(g, reshape(g, b.id(), to));
    } else return y;
  }
}

template <class X> constexpr auto no_convolution(const X& x) {
  static_assert(
      never<X>,
      "tapeless: convolution(x, w, b): two or three tensors; stride, padding, dilation and groups are "
      "members of the template argument, as in conv2d<conv{.stride = 2}>(x, w)");
  return x;
}
template <class W, class A>
concept not_weights_and_bias = !(handle<W> && handle<A>);

} // namespace detail

// conv2d<conv{.padding = 1}>(x, w, b): conv2d(x, w) + b, as in PyTorch; the others likewise
//   b: (K), of a transposed convolution (C); all else as without b
// Errors: compile errors. b has one axis, its extent is that of the result's channels.
// Cost: as without b, plus an elementwise sum, which fuses with what follows.
// clang-format off
template <conv Attributes = conv{}, detail::handle X, detail::handle W, detail::handle B>
constexpr auto conv2d(const X& x, const W& w, const B& b) { return detail::plus_bias<Attributes.layout == layout::nhwc ? 3 : 1>(conv2d<Attributes>(x, w), b); }
template <conv1 Attributes = conv1{}, detail::handle X, detail::handle W, detail::handle B>
constexpr auto conv1d(const X& x, const W& w, const B& b) { return detail::plus_bias<1>(conv1d<Attributes>(x, w), b); }
template <conv3 Attributes = conv3{}, detail::handle X, detail::handle W, detail::handle B>
constexpr auto conv3d(const X& x, const W& w, const B& b) { return detail::plus_bias<1>(conv3d<Attributes>(x, w), b); }
template <conv_transpose Attributes = conv_transpose{}, detail::handle X, detail::handle W, detail::handle B>
constexpr auto conv_transpose2d(const X& x, const W& w, const B& b) { return detail::plus_bias<1>(conv_transpose2d<Attributes>(x, w), b); }
template <conv_transpose1 Attributes = conv_transpose1{}, detail::handle X, detail::handle W, detail::handle B>
constexpr auto conv_transpose1d(const X& x, const W& w, const B& b) { return detail::plus_bias<1>(conv_transpose1d<Attributes>(x, w), b); }
template <conv_transpose3 Attributes = conv_transpose3{}, detail::handle X, detail::handle W, detail::handle B>
constexpr auto conv_transpose3d(const X& x, const W& w, const B& b) { return detail::plus_bias<1>(conv_transpose3d<Attributes>(x, w), b); }

// All other calls give a message. A list in braces deduces no A and no B: it is taken for attributes.
template <conv Attributes = conv{}, detail::handle X, class W, class A = conv> requires detail::not_weights_and_bias<W, A>
constexpr auto conv2d(const X& x, const W&, const A&) { return detail::no_convolution(x); }
template <conv Attributes = conv{}, detail::handle X, class W, class B = conv, class A = conv, class... Rest>
constexpr auto conv2d(const X& x, const W&, const B&, const A&, const Rest&...) { return detail::no_convolution(x); }
template <conv1 Attributes = conv1{}, detail::handle X, class W, class A = conv1> requires detail::not_weights_and_bias<W, A>
constexpr auto conv1d(const X& x, const W&, const A&) { return detail::no_convolution(x); }
template <conv1 Attributes = conv1{}, detail::handle X, class W, class B = conv1, class A = conv1, class... Rest>
constexpr auto conv1d(const X& x, const W&, const B&, const A&, const Rest&...) { return detail::no_convolution(x); }
template <conv3 Attributes = conv3{}, detail::handle X, class W, class A = conv3> requires detail::not_weights_and_bias<W, A>
constexpr auto conv3d(const X& x, const W&, const A&) { return detail::no_convolution(x); }
template <conv3 Attributes = conv3{}, detail::handle X, class W, class B = conv3, class A = conv3, class... Rest>
constexpr auto conv3d(const X& x, const W&, const B&, const A&, const Rest&...) { return detail::no_convolution(x); }
template <conv_transpose Attributes = conv_transpose{}, detail::handle X, class W, class A = conv_transpose> requires detail::not_weights_and_bias<W, A>
constexpr auto conv_transpose2d(const X& x, const W&, const A&) { return detail::no_convolution(x); }
template <conv_transpose Attributes = conv_transpose{}, detail::handle X, class W, class B = conv_transpose, class A = conv_transpose, class... Rest>
constexpr auto conv_transpose2d(const X& x, const W&, const B&, const A&, const Rest&...) { return detail::no_convolution(x); }
template <conv_transpose1 Attributes = conv_transpose1{}, detail::handle X, class W, class A = conv_transpose1> requires detail::not_weights_and_bias<W, A>
constexpr auto conv_transpose1d(const X& x, const W&, const A&) { return detail::no_convolution(x); }
template <conv_transpose1 Attributes = conv_transpose1{}, detail::handle X, class W, class B = conv_transpose1, class A = conv_transpose1, class... Rest>
constexpr auto conv_transpose1d(const X& x, const W&, const B&, const A&, const Rest&...) { return detail::no_convolution(x); }
template <conv_transpose3 Attributes = conv_transpose3{}, detail::handle X, class W, class A = conv_transpose3> requires detail::not_weights_and_bias<W, A>
constexpr auto conv_transpose3d(const X& x, const W&, const A&) { return detail::no_convolution(x); }
template <conv_transpose3 Attributes = conv_transpose3{}, detail::handle X, class W, class B = conv_transpose3, class A = conv_transpose3, class... Rest>
constexpr auto conv_transpose3d(const X& x, const W&, const B&, const A&, const Rest&...) { return detail::no_convolution(x); }
// A number or a type in the place of the attributes.
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr auto conv2d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::same_as<conv> First, detail::handle X, class... More>
constexpr auto conv2d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr auto conv1d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::same_as<conv1> First, detail::handle X, class... More>
constexpr auto conv1d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr auto conv3d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::same_as<conv3> First, detail::handle X, class... More>
constexpr auto conv3d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr auto conv_transpose2d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::same_as<conv_transpose> First, detail::handle X, class... More>
constexpr auto conv_transpose2d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr auto conv_transpose1d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::same_as<conv_transpose1> First, detail::handle X, class... More>
constexpr auto conv_transpose1d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::integral auto First, auto... Rest, detail::handle X, class... More>
constexpr auto conv_transpose3d(const X& x, const More&...) { return detail::no_convolution(x); }
template <std::same_as<conv_transpose3> First, detail::handle X, class... More>
constexpr auto conv_transpose3d(const X& x, const More&...) { return detail::no_convolution(x); }
// clang-format on

} // namespace tapeless
