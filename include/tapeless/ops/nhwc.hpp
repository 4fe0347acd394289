// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// layout::nhwc of a convolution or pool: the op itself takes (N, C, H, W), between two views.
#pragma once
#include "views.hpp"
#include "window.hpp"

namespace tapeless::detail {

// Attributes as for (N, C, H, W); and f, which takes (N, C, H, W), on an x that is (N, H, W, C). That adds two views,
// which a plan with NHWC images reads through.
template <auto Attributes> inline constexpr auto of_planes = [] {
  auto a = Attributes;
  a.layout = layout::nchw;
  return a;
}();
template <class X, class F> constexpr auto as_nhwc(const X& x, const F& f) {
  if constexpr (any_var<X>) {
    graph& g = graph_of(x);
    require(g, g[x.id()].s.rank == 4, "tapeless: layout::nhwc: x is (N, H, W, C)", g[x.id()].s);
    if (!g.sound()) return var{&g, x.id()};
    return var{transpose<0, 2, 3, 1>(f(transpose<0, 3, 1, 2>(x)))};
  } else {
    static_assert(has_four_axes<X::extents.rank>, "tapeless: layout::nhwc: x is (N, H, W, C)");
    if constexpr (has_four_axes<X::extents.rank>) return transpose<0, 2, 3, 1>(f(transpose<0, 3, 1, 2>(x)));
    else return x;
  }
}

} // namespace tapeless::detail
