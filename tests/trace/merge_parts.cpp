// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Layers that are written in parts are traced as the whole layer: the same nodes, forward and adjoint.
#include <doctest/doctest.h>

#include <vector>

#include "support/compare.hpp"
#include "support/random.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;
using namespace tapeless::detail;

namespace {

using X = tl::tensor<float, tl::dyn<'n'>, 8, 9, 7>;
using W = tl::tensor<float, 10, 8, 3, 3>;
using B = tl::tensor<float, 10>;
constexpr tl::conv c{.stride = 2, .padding = 1};
constexpr tl::conv last{.stride = 2, .padding = 1, .layout = tl::layout::nhwc};

template <auto F> constexpr auto loss = [](auto w, auto x, auto... rest) {
  return tl::mean(tl::square(F(w, x, rest...)));
};
template <class F, class... A> constexpr const auto& program_of(F) { return traced<F, A...>::value; }
// Is node i of p node j of q, in whatever order they stand?   pair[i]: the node of q that i was found to be
template <class P, class Q> constexpr bool same_node(const P& p, int i, const Q& q, int j, vec<int>& pair) {
  if (pair[i] >= 0) return pair[i] == j;
  node v = p.nodes[i];
  const node w = q.nodes[j];
  for (int k = 0; k < 3; ++k) {
    if ((v.in[k] < 0) != (w.in[k] < 0)) return false;
    if (v.in[k] < 0 || same_node(p, v.in[k], q, w.in[k], pair)) continue;
    if (!commutes(v.o) || !same_node(p, v.in[k], q, w.in[1 - k], pair)) return false;
  }
  for (int k = 0; k < 3; ++k) v.in[k] = w.in[k];
  pair[i] = j;
  return equal(v, w);
}
template <class P, class Q> constexpr bool same_nodes(const P& p, const Q& q) {
  if (p.size != q.size || p.output_count != q.output_count) return false;
  vec<int> pair(p.size, -1);
  for (int k = 0; k < p.output_count; ++k)
    if (!same_node(p, p.outputs[k], q, q.outputs[k], pair)) return false;
  return true;
}
// whole and parts are one program, forward and adjoint
template <class... A, class F, class G> constexpr bool are_one(F whole, G parts) {
  return same_nodes(program_of<F, A...>(whole), program_of<G, A...>(parts)) &&
         same_nodes(traced<decltype(tl::value_and_grad<0, 1>(loss<F{}>)), A...>::value,
                    traced<decltype(tl::value_and_grad<0, 1>(loss<G{}>)), A...>::value);
}
template <class F, class... A> constexpr int count_nodes(op o) {
  int n = 0;
  for (int i = 0; i < traced<F, A...>::value.size; ++i) n += traced<F, A...>::value.nodes[i].o == o;
  return n;
}
template <int Axis, int From, int To> constexpr auto part = [](auto a) {
  return tl::slice<Axis, From, To>(a);
};
constexpr auto of = [](auto w, auto x, auto cut) { return tl::conv2d<c>(cut(x), cut(w)); };

} // namespace

TEST_CASE("a sum of convolutions of channel slices is the convolution") {
  constexpr auto whole = [](auto w, auto x) { return tl::conv2d<c>(x, w); };
  static_assert(
      are_one<W, X>(whole, [](auto w, auto x) { return of(w, x, part<1, 0, 4>) + of(w, x, part<1, 4, 8>); }));
  // unequal, many, in any order and grouping
  static_assert(are_one<W, X>(whole, [](auto w, auto x) {
    return of(w, x, part<1, 3, 8>) + (of(w, x, part<1, 1, 3>) + of(w, x, part<1, 0, 1>));
  }));
  static_assert(are_one<W, X>(whole, [](auto w, auto x) {
    return (of(w, x, part<1, 0, 2>) + of(w, x, part<1, 4, 6>)) +
           (of(w, x, part<1, 2, 4>) + of(w, x, part<1, 6, 8>));
  }));
  CHECK(true); // what is decided above
}

TEST_CASE(
    "a concatenation of convolutions of filter slices is the convolution, elementwise ops between them too") {
  constexpr auto whole = [](auto w, auto x) { return tl::conv2d<c>(x, w); };
  static_assert(are_one<W, X>(whole, [](auto w, auto x) {
    return tl::concat<1>(tl::conv2d<c>(x, part<0, 0, 5>(w)), tl::conv2d<c>(x, part<0, 5, 6>(w)),
                         tl::conv2d<c>(x, part<0, 6, 10>(w)));
  }));
  static_assert(are_one<W, X>(whole, [](auto w, auto x) { // images
    return tl::concat<1>(
        tl::conv2d<c>(x, part<0, 0, 5>(w)),
        tl::concat<1>(tl::conv2d<c>(x, part<0, 5, 6>(w)), tl::conv2d<c>(x, part<0, 6, 10>(w))));
  }));
  static_assert(are_one<W, X, B>(
      [](auto w, auto x, auto b) { return tl::relu(tl::conv2d<c>(x, w) + tl::channel(b)); },
      [](auto w, auto x, auto b) {
        const auto one = [&](auto cut) { return tl::relu(tl::conv2d<c>(x, cut(w)) + tl::channel(cut(b))); };
        return tl::concat<1>(one(part<0, 0, 3>), one(part<0, 3, 9>), one(part<0, 9, 10>));
      }));
  CHECK(true);
}

TEST_CASE("channels and filters, masks, and layouts with channels last: parts are the whole") {
  constexpr auto whole = [](auto w, auto x) { return tl::conv2d<c>(x, w); };
  static_assert(are_one<W, X>(whole, [](auto w, auto x) {
    const auto one = [&](auto v) {
      return tl::conv2d<c>(part<1, 0, 3>(x), part<1, 0, 3>(v)) +
             tl::conv2d<c>(part<1, 3, 8>(x), part<1, 3, 8>(v));
    };
    return tl::concat<1>(one(part<0, 0, 6>(w)), one(part<0, 6, 10>(w)));
  }));
  static_assert(are_one<W, X>(whole, [](auto w, auto x) { // filters within channels
    const auto one = [&](auto cut) {
      return tl::concat<1>(tl::conv2d<c>(cut(x), cut(part<0, 0, 6>(w))),
                           tl::conv2d<c>(cut(x), cut(part<0, 6, 10>(w))));
    };
    return one(part<1, 0, 3>) + one(part<1, 3, 8>);
  }));
  static_assert(are_one<W, X, W>([](auto w, auto x, auto m) { return tl::conv2d<c>(x, w * m); },
                                 [](auto w, auto x, auto m) {
                                   const auto one = [&](auto cut) {
                                     return tl::conv2d<c>(cut(x), cut(w) * cut(m));
                                   };
                                   return one(part<1, 0, 3>) + one(part<1, 3, 8>);
                                 }));
  using Y = tl::tensor<float, tl::dyn<'n'>, 9, 7, 8>;
  static_assert(are_one<W, Y>([](auto w, auto x) { return tl::conv2d<last>(x, w); },
                              [](auto w, auto x) {
                                return tl::concat<3>(tl::conv2d<last>(x, part<0, 0, 6>(w)),
                                                     tl::conv2d<last>(x, part<0, 6, 10>(w)));
                              }));
  static_assert(are_one<W, Y>([](auto w, auto x) { return tl::conv2d<last>(x, w); },
                              [](auto w, auto x) {
                                return tl::conv2d<last>(part<3, 0, 2>(x), part<1, 0, 2>(w)) +
                                       tl::conv2d<last>(part<3, 2, 8>(x), part<1, 2, 8>(w));
                              }));
  CHECK(true);
}

TEST_CASE("matmul: parts of the inner axis, of rows and of columns are the whole product") {
  using A = tl::tensor<float, 12, 9>;
  using M = tl::tensor<float, 9, 7>;
  constexpr auto whole = [](auto a, auto m) { return tl::matmul(a, m); };
  static_assert(are_one<A, M>(whole, [](auto a, auto m) {
    return tl::matmul(part<1, 0, 4>(a), part<0, 0, 4>(m)) + tl::matmul(part<1, 4, 5>(a), part<0, 4, 5>(m)) +
           tl::matmul(part<1, 5, 9>(a), part<0, 5, 9>(m));
  }));
  static_assert(are_one<A, M>(whole, [](auto a, auto m) {
    return tl::concat<1>(tl::matmul(a, part<1, 0, 3>(m)), tl::matmul(a, part<1, 3, 7>(m)));
  }));
  static_assert(are_one<A, M>(whole, [](auto a, auto m) {
    return tl::concat<0>(tl::matmul(part<0, 0, 5>(a), m), tl::matmul(part<0, 5, 12>(a), m));
  }));
  using T = tl::tensor<float, 7, 9>;
  static_assert(are_one<A, T>([](auto a, auto m) { return tl::tanh(tl::matmul(a, tl::transpose(m))); },
                              [](auto a, auto m) {
                                return tl::concat<1>(
                                    tl::tanh(tl::matmul(a, tl::transpose(part<0, 0, 3>(m)))),
                                    tl::tanh(tl::matmul(a, tl::transpose(part<0, 3, 7>(m)))));
                              }));
  using S = tl::tensor<float, tl::dyn<'b'>, 5, 9>;
  static_assert(are_one<S, M>(whole, [](auto a, auto m) {
    return tl::concat<-1>(tl::matmul(a, part<1, 0, 3>(m)), tl::matmul(a, part<1, 3, 7>(m)));
  }));
  static_assert(are_one<S, M>(whole, [](auto a, auto m) {
    return tl::matmul(part<2, 0, 3>(a), part<0, 0, 3>(m)) + tl::matmul(part<2, 3, 9>(a), part<0, 3, 9>(m));
  }));
  CHECK(true);
}

TEST_CASE("parts that do not fit stay, and the others are merged; what is read elsewhere stays a part") {
  constexpr auto with_a_gap = [](auto w, auto x) {
    return of(w, x, part<1, 0, 2>) + of(w, x, part<1, 5, 8>) + of(w, x, part<1, 2, 4>);
  };
  CHECK(count_nodes<decltype(with_a_gap), W, X>(op::conv_fprop) == 2);
  constexpr auto other_attributes = [](auto w, auto x) {
    return of(w, x, part<1, 0, 4>) +
           tl::conv2d<tl::conv{.stride = 2, .padding = 2, .dilation = 2}>(part<1, 4, 8>(x), part<1, 4, 8>(w));
  };
  CHECK(count_nodes<decltype(other_attributes), W, X>(op::conv_fprop) == 2);
  constexpr auto first_is_a_result = [](auto w, auto x) {
    auto first = of(w, x, part<1, 0, 4>);
    return std::tuple{first, first + of(w, x, part<1, 4, 8>)};
  };
  CHECK(count_nodes<decltype(first_is_a_result), W, X>(op::conv_fprop) == 2);
  constexpr auto behind_a_relu = [](auto w, auto x) {
    auto first = tl::relu(tl::conv2d<c>(x, part<0, 0, 5>(w)));
    return std::tuple{first, tl::concat<1>(first, tl::relu(tl::conv2d<c>(x, part<0, 5, 10>(w))))};
  };
  CHECK(count_nodes<decltype(behind_a_relu), W, X>(op::conv_fprop) == 2);
  constexpr auto inside_a_relu = [](auto w, auto x) {
    return tl::relu(of(w, x, part<1, 0, 4>)) + of(w, x, part<1, 4, 8>);
  };
  CHECK(count_nodes<decltype(inside_a_relu), W, X>(op::conv_fprop) == 2);
  constexpr auto crossed = [](auto w, auto x) { // no part of the product
    return tl::conv2d<c>(part<1, 0, 4>(x), part<1, 0, 4>(w)) +
           tl::conv2d<c>(part<1, 4, 8>(x), part<1, 0, 4>(w));
  };
  CHECK(count_nodes<decltype(crossed), W, X>(op::conv_fprop) ==
        1); // of both slices' channels, with the filters twice
}

TEST_CASE(
    "a layer whose weights lie in several places: one convolution of their copy, gradients where they belong") {
  struct apart {
    tl::tensor<float, 10, 3, 3, 3> w1;
    tl::tensor<float, 10, 5, 3, 3> w2;
  };
  using I = tl::tensor<float, 2, 8, 9, 7>;
  constexpr auto parts = [](const auto& p, auto x) {
    return tl::mean(
        tl::square(tl::conv2d<c>(part<1, 0, 3>(x), p.w1) + tl::conv2d<c>(part<1, 3, 8>(x), p.w2)));
  };
  constexpr auto whole = [](auto w, auto x) { return tl::mean(tl::square(tl::conv2d<c>(x, w))); };
  CHECK(count_nodes<decltype(tl::value_and_grad<0, 1>(parts)), apart, I>(op::conv_fprop) == 1);
  CHECK(count_nodes<decltype(tl::value_and_grad<0, 1>(parts)), apart, I>(op::conv_wgrad) == 1);
  std::vector<float> w = ::support::random_values<float>(10 * 8 * 9, 1),
                     x = ::support::random_values<float>(2 * 8 * 63, 2);
  tl::owned<apart> p;
  for (int k = 0; k < 10; ++k)
    for (int i = 0; i < 8 * 9; ++i)
      (i < 27 ? p->w1.data()[k * 27 + i] : p->w2.data()[k * 45 + i - 27]) =
          w[static_cast<std::size_t>(k * 72 + i)];
  auto run = tl::jit(tl::value_and_grad<0, 1>(parts)).bind<apart, I>();
  auto other = tl::jit(tl::value_and_grad<0, 1>(whole)).bind<W, I>();
  const auto [v, dp, dx] = run(*p, I(x.data()));
  const auto [u, dw, dz] = other(W(w.data()), I(x.data()));
  CHECK(v[0] == u[0]);
  CHECK(::support::close(dx, dz, 0));
  for (int k = 0; k < 10; ++k)
    for (int i = 0; i < 8 * 9; ++i)
      CHECK((i < 27 ? dp.w1[k * 27 + i] : dp.w2[k * 45 + i - 27]) == dw[k * 72 + i]);
  // one row of data: to copy the weights would cost as much as the product
  struct halves {
    tl::tensor<float, 4, 7> a;
    tl::tensor<float, 4, 9> b;
  };
  constexpr auto row = [](const auto& q, auto z) {
    return tl::concat<-1>(tl::matmul(z, q.a), tl::matmul(z, q.b));
  };
  CHECK(count_nodes<decltype(row), halves, tl::tensor<float, 1, 4>>(op::matmul) == 2);
  CHECK(count_nodes<decltype(row), halves, tl::tensor<float, 64, 4>>(op::matmul) == 1);
}
