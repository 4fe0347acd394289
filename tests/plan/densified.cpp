// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// cost.densified counts what explain marks: cotangents of few rows that got all of them and go on. The gradient of a table
// that rows are looked up in is none.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

constexpr int n = 64;
using W = tl::tensor<double, 8, 4>;
using X = tl::tensor<double, n, 8>;
using V = tl::tensor<double, n>;
using list = tl::tensor<std::int32_t, 16>;

template <bool Mixes> constexpr auto losses(auto w, auto x) {
  const auto y = tl::tanh(tl::matmul(x, w));
  if constexpr (Mixes) return tl::mean<1>(tl::square(y - tl::mean<0>(y)));
  else return tl::mean<1>(tl::square(y));
}

// selections of the losses
template <bool Mixes> struct hardest {
  constexpr auto operator()(auto w, auto x, auto, auto) const {
    const auto l = losses<Mixes>(w, x);
    return tl::mean(tl::gather(l, tl::top_k<16>(l)));
  }
};
template <bool Mixes> struct listed {
  constexpr auto operator()(auto w, auto x, auto, auto rows) const {
    return tl::mean(tl::gather(losses<Mixes>(w, x), rows));
  }
};
template <bool Mixes> struct hardest_of_listed {
  constexpr auto operator()(auto w, auto x, auto, auto rows) const {
    const auto l = tl::gather(losses<Mixes>(w, x), rows);
    return tl::mean(tl::gather(l, tl::top_k<4>(l)));
  }
};
template <bool Mixes> struct hardest_of_valid {
  constexpr auto operator()(auto w, auto x, auto v, auto) const {
    const auto l = tl::gather(losses<Mixes>(w, x), tl::where<'s'>(v > 0.0));
    return tl::mean(tl::gather(l, tl::top_k<4, 'k'>(l)));
  }
};

// lookups in a table, by which is differentiated
struct looked_up {
  constexpr auto operator()(auto w, auto x, auto, auto rows) const {
    return tl::mean(tl::square(tl::matmul(tl::gather(x, rows), w)));
  }
};
struct two_lookups {
  constexpr auto operator()(auto w, auto x, auto v, auto rows) const {
    const auto a = tl::gather(x, rows);
    const auto b = tl::gather(x, tl::top_k<8>(v));
    return tl::sum(tl::square(tl::matmul(a, w))) + tl::sum(tl::square(b)) + tl::mean(tl::square(x));
  }
};
struct norm_of_gradient { // reads all of it
  constexpr auto operator()(auto w, auto x, auto v, auto rows) const {
    return tl::sum(tl::square(tl::grad<1>(looked_up{})(w, x, v, rows)));
  }
};

template <class F> int marks(F f) {
  const std::string text = tl::jit(f).template explain<W, X, V, list>();
  int found = 0;
  for (const char* mark : {", all rows of", ", added to all rows of"})
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) ++found;
  return found;
}
template <auto Gradient> constexpr int densified = tl::jit(Gradient).template cost<W, X, V, list>().densified;
template <auto Gradient> void check(int least, int most) {
  CHECK(densified<Gradient> >= least);
  CHECK(densified<Gradient> <= most);
  CHECK(marks(Gradient) == densified<Gradient>);
}

} // namespace

TEST_CASE("densified: rows of a list, of a selection, and of a selection of either") {
  check<tl::grad<0>(hardest<false>{})>(0, 0);
  check<tl::grad<0>(listed<false>{})>(0, 0);
  check<tl::grad<0>(hardest_of_listed<false>{})>(0, 0);
  check<tl::grad<0>(hardest_of_valid<false>{})>(0, 0);
  check<tl::grad<0>(hardest<true>{})>(1, 1);
  check<tl::grad<0>(listed<true>{})>(1, 1);
  check<tl::grad<0>(hardest_of_listed<true>{})>(1, 1);
  check<tl::grad<0>(hardest_of_valid<true>{})>(1, 1);
}
TEST_CASE("densified: not the gradient of a table, but what reads all of it") {
  check<tl::grad<1>(looked_up{})>(0, 0);
  check<tl::grad<1>(two_lookups{})>(0, 0);
  check<norm_of_gradient{}>(1, 1);
}
