#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A network of two heads, each with a loss of its own for every row.

#include <tapeless/tapeless.hpp>

#include <tuple>

namespace support {
namespace tl = tapeless;

template <class T> using narrow = tl::tensor<T, 4, 2>; // a head that is too small for lists of its rows
template <class T> struct deep {                       // one that is not
  tl::tensor<T, 4, 64> a;
  tl::tensor<T, 64, 64> b;
  tl::tensor<T, 64, 2> c;
};
template <class T, template <class> class Head> using network =
    std::tuple<tl::tensor<T, 3, 4>, Head<T>, Head<T>>;

constexpr auto hidden(const auto& p, auto x) { return tl::tanh(tl::matmul(x, std::get<0>(p))); }
constexpr auto applied(const auto& head, auto h) {
  if constexpr (requires { head.c; })
    return tl::matmul(tl::tanh(tl::matmul(tl::tanh(tl::matmul(h, head.a)), head.b)), head.c);
  else return tl::matmul(h, head);
}
template <int Head> constexpr auto losses(const auto& p, auto x, auto t) { // of both heads, of one network
  return tl::mean<1>(tl::square(applied(std::get<Head>(p), hidden(p, x)) - t));
}

} // namespace support
