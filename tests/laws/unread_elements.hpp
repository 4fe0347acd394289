#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Elements that a condition, slice, gather, concatenation or selection leaves out, behind each elementwise op.
#include "unread.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace unread_elements {

namespace tl = tapeless;
using namespace unread;

struct softplus {
  static constexpr double flops = 3;
  template <class T> static T primal(T x) { return std::log(T(1) + std::exp(x)); }
  static constexpr auto vjp(auto x, auto, auto y_bar) { return y_bar * tl::sigmoid(x); }
};

inline constexpr auto all_ops = std::tuple{
    [](auto x) { return -x * x; },
    [](auto x) { return square(x) * x; },
    [](auto x) { return sqrt(x); },
    [](auto x) { return exp(x); },
    [](auto x) { return log(x); },
    [](auto x) { return tanh(x); },
    [](auto x) { return erf(x); },
    [](auto x) { return sigmoid(x); },
    [](auto x) { return relu(x) * x; },
    [](auto x) { return 1.0 / x; },
    [](auto x) { return sqrt(x) / (x + 1.0) - x; },
    [](auto x) { return pow(x, 2.5); },
    [](auto x) { return pow(x, x); },
    [](auto x) { return max(square(x), 0.5 * x); },
    [](auto x) { return min(log(x), sqrt(x) * x); },
    [](auto x) { return where(x > 0.5, sqrt(x), log(x)); },
    [](auto x) { return tl::custom<softplus>(x) * x; },
    [](auto x) { return x / tl::stop_gradient(x) * sqrt(x); },
};
inline constexpr auto some_ops = std::tuple{
    [](auto x) { return sqrt(x); },
    [](auto x) { return log(x) / x; },
    [](auto x) { return tanh(square(x)); },
};
using elements = tl::tensor<double, 6>;
using mask = tl::tensor<bool, 6>;
using list = tl::tensor<std::int32_t, 4>;
template <const auto& Ops> using operands =
    std::array<elements, std::tuple_size_v<std::remove_cvref_t<decltype(Ops)>>>;

template <const auto& Ops, const auto& Cut> constexpr auto cut_ops = [](auto xs, auto m, auto a, auto i) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return (Cut(std::get<K>(Ops)(xs[K]), m, a, i) + ...);
  }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Ops)>>>{});
};
// m: 0 2 3   a: 2 4   i: 0 3 3 5
template <const auto& Ops, const auto& Cut> void check_ops(const char* name,
                                                           std::initializer_list<std::size_t> unread) {
  using X = operands<Ops>;
  static bool m[] = {true, false, true, true, false, false}, a[] = {false, false, true, false, true, false};
  static std::int32_t i[] = {0, 3, 3, 5};
  constexpr std::size_t n = 6 * std::tuple_size_v<X>;
  static constexpr auto& f = cut_ops<Ops, Cut>;
  auto run = tl::jit(derivatives<f>).template bind<X, X, mask, mask, list>();
  flat v = spread(n, 1, -0.01);
  std::vector<bool> is_unread(n, false);
  for (std::size_t k = 0; k < n; k += 6)
    for (const std::size_t u : unread) is_unread[k + u] = true;
  const auto evaluate = [&](flat x) {
    X xs, vs;
    for (std::size_t k = 0; k < xs.size(); ++k) {
      xs[k] = elements(x.data() + 6 * k);
      vs[k] = elements(v.data() + 6 * k);
    }
    return joined(run(xs, vs, mask(m), mask(a), list(i)));
  };
  INFO(std::string(name));
  CHECK(difference(evaluate, spread(n, 0.2, 0.013), is_unread) == "");
}

inline constexpr auto by_where = [](auto y, auto m, auto, auto) { return sum(where(m, y, 0.0)); };
inline constexpr auto by_nested_where = [](auto y, auto m, auto a, auto) {
  return sum(where(m, where(a, y, 0.0), where(a, square(y), 3.0)));
};
inline constexpr auto by_two_conditions = [](auto y, auto m, auto a, auto) {
  return sum(where(m, y, 0.0)) + sum(where(a, square(y), 0.0) * 2.0);
};
inline constexpr auto by_three_pieces = [](auto y, auto m, auto a, auto) {
  const auto c = tl::cast<double>(m);
  return sum(where(c > 0.5, c, where(a, y, 2.0 * y - 1.0)));
};
inline constexpr auto by_slice = [](auto y, auto, auto, auto) { return sum(square(tl::slice<0, 1, 4>(y))); };
inline constexpr auto by_slices = [](auto y, auto, auto, auto) {
  return sum(tl::slice<0, 0, 2>(y)) + sum(square(tl::slice<0, 1, 4>(y)));
};
inline constexpr auto by_slice_and_where = [](auto y, auto m, auto, auto) {
  return sum(tl::slice<0, 0, 2>(y)) + sum(where(m, square(y), 0.0));
};
inline constexpr auto by_list = [](auto y, auto, auto, auto i) { return sum(square(tl::gather(y, i))); };
inline constexpr auto by_list_and_slice = [](auto y, auto, auto, auto i) {
  return sum(square(tl::gather(y, i))) + sum(tl::slice<0, 1, 2>(y));
};
inline constexpr auto by_concat = [](auto y, auto, auto, auto) {
  return sum(square(tl::slice<0, 4, 9>(tl::concat<0>(y, y * 2.0))));
};
inline constexpr auto by_concat_of_slices = [](auto y, auto, auto, auto) {
  return sum(square(tl::concat<0>(tl::slice<0, 5, 6>(y), tl::slice<0, 0, 2>(y))));
};
inline constexpr auto by_pad = [](auto y, auto, auto, auto) {
  return sum(square(tl::slice<0, 3, 6>(tl::pad<0, 1, 1>(y))));
};
inline constexpr auto by_matrix = [](auto y, auto m, auto, auto) {
  return sum(square(tl::slice<1, 0, 1>(tl::transpose(tl::reshape<2, 3>(where(m, y, 0.0))))));
};
inline constexpr auto by_max = [](auto y, auto m, auto a, auto) {
  return max(where(m, where(a, y, -10.0), -20.0));
};
inline constexpr auto by_scatter = [](auto y, auto, auto, auto i) {
  return sum(square(tl::slice<0, 1, 6>(tl::scatter_add<0, 6>(i, tl::slice<0, 0, 4>(y)))));
};
inline constexpr auto by_top = [](auto y, auto m, auto, auto) {
  return sum(square(tl::gather(y, tl::top_k<3>(tl::cast<double>(m)))));
};

} // namespace unread_elements
