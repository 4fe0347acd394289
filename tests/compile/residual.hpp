#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A network of `Blocks` residual blocks h + relu(conv(h, w_i) + b_i), each with its own parameters: loss and the
// gradient of all of them. The parameters stand in arrays, or each one is an argument.

#include <tapeless/tapeless.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace residual {

namespace tl = tapeless;

using images = tl::tensor<float, 4, 16, 8, 8>;
using weights = tl::tensor<float, 16, 16, 3, 3>;
using bias = tl::tensor<float, 16>;

template <std::size_t Blocks> struct params {
  std::array<weights, Blocks> w;
  std::array<bias, Blocks> b;
};

constexpr auto block(auto h, auto w, auto b) {
  return h + tl::relu(tl::conv2d<tl::conv{.padding = 1}>(h, w) + tl::channel(b));
}

struct loss_of_arrays {
  constexpr auto operator()(const auto& p, auto x) const {
    for (std::size_t i = 0; i < p.w.size(); ++i) x = block(x, p.w[i], p.b[i]);
    return tl::mean(tl::square(x));
  }
};

template <std::size_t Blocks> float run_arrays() {
  auto step = tl::jit(tl::value_and_grad<0>(loss_of_arrays{})).template bind<params<Blocks>, images>();
  tl::owned<params<Blocks>> p;
  tl::owned<images> x;
  return std::get<0>(step(*p, *x))[0];
}

struct loss_of_arguments {
  template <class X> static constexpr X network(X h) { return h; }
  template <class X> static constexpr X network(X h, auto w, auto b, auto... rest) {
    return network(block(h, w, b), rest...);
  }
  constexpr auto operator()(auto x, auto... p) const { return tl::mean(tl::square(network(x, p...))); }
};

template <std::size_t I> using argument = std::conditional_t<I % 2 == 0, weights, bias>;

template <std::size_t... I> float run_arguments(std::index_sequence<I...>) {
  auto step = tl::jit(tl::value_and_grad<static_cast<int>(I + 1)...>(loss_of_arguments{}))
                  .template bind<images, argument<I>...>();
  tl::owned<images> x;
  tl::owned<std::tuple<argument<I>...>> p;
  return std::get<0>(step(*x, std::get<I>(*p)...))[0];
}

} // namespace residual
