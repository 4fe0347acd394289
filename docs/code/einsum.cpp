// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

namespace tl = tapeless;

// [signature]
// a: tensor<float, 2, 3>   b: tensor<float, 3, 4>   s: tensor<float, 3, 3>
constexpr auto letters = [](auto a, auto b, auto s) {
  auto c = tl::einsum<"ij,jk->ik">(a, b);        // (2, 4): matmul(a, b)
  auto d = tl::einsum<"ij,jk">(a, b);            // (2, 4): the same; without -> the letters that stand once
  auto e = tl::einsum<"ij,ij->i">(a, a);         // (2): products of elements, summed over j
  auto f = tl::einsum<"ii">(s);                  // (): the trace
  auto g = tl::einsum<"ij,jj,jk->k">(a, s, b);   // (4): from left to right, s on its diagonal
  auto h = tl::einsum<"...j,jk->...k">(a, b);    // (2, 4): any axes ahead of j
  return std::tuple{c, d, e, f, g, h};
};
// [/signature]
// [attention]
// q: tensor<float, tl::dyn<'b'>, 4, 8, 16>   k, v: tensor<float, tl::dyn<'b'>, 4, 32, 16>
constexpr auto attention = [](auto q, auto k, auto v) {
  auto scores = tl::softmax(tl::einsum<"bhqd,bhkd->bhqk">(q, k) * 0.25f);
  return tl::einsum<"bhqk,bhkd->bhqd">(scores, v);
};
// [/attention]

int main() {
  using A = tl::tensor<float, 2, 3>;
  using B = tl::tensor<float, 3, 4>;
  using S = tl::tensor<float, 3, 3>;
  tl::owned<std::tuple<A, B, S>> in;
  count_up(*in);
  auto run = tl::jit(letters).bind<A, B, S>();
  const auto [c, d, e, f, g, h] = run(std::get<0>(*in), std::get<1>(*in), std::get<2>(*in));
  show("c", c);
  show("d", d);
  show("e", e);
  show("f", f);
  show("g", g);
  show("h", h);

  using Q = tl::tensor<float, tl::dyn<'b'>, 4, 8, 16>;
  using K = tl::tensor<float, tl::dyn<'b'>, 4, 32, 16>;
  constexpr tl::cost cost = tl::jit(attention).cost<Q, K, K>();
  constexpr tl::cost by_matmul = tl::jit([](auto q, auto k, auto v) {
                                   return tl::matmul(tl::softmax(tl::matmul(q, tl::transpose(k)) * 0.25f), v);
                                 }).cost<Q, K, K>();
  std::printf("attention: %.0f flops for each b, by matmul %.0f\n", cost.flops().at(tl::dim<'b'>(1)),
              by_matmul.flops().at(tl::dim<'b'>(1)));
}
