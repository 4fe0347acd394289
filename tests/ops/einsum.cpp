// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What einsum is made of: the steps of a matmul where it is one, no copies where a transposed operand can be read in place.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>

namespace tl = tapeless;
namespace detail = tl::detail;

namespace {

using A = tl::tensor<float, 8, 16>;
using B = tl::tensor<float, 16, 32>;
using C = tl::tensor<float, 32, 16>;
using Q = tl::tensor<float, tl::dyn<'b'>, 4, 8, 16>; // batch, heads, positions, features
using K = tl::tensor<float, tl::dyn<'b'>, 4, 32, 16>;

template <auto F, class... X> constexpr int number_of(detail::op o) {
  int n = 0;
  for (const detail::node& v : detail::traced<std::remove_const_t<decltype(F)>, X...>::value.nodes)
    n += v.o == o;
  return n;
}
template <auto F, class... X> constexpr bool is_one_matmul =
    number_of<F, X...>(detail::op::matmul) == 1 && number_of<F, X...>(detail::op::copy) == 0 &&
    number_of<F, X...>(detail::op::mul) == 0 && number_of<F, X...>(detail::op::sum) == 0;
template <detail::subscripts S> constexpr auto of = [](auto... a) { return tl::einsum<S>(a...); };

template <detail::subscripts S> constexpr detail::parsed_subscripts letters_of = detail::parsed(S);

} // namespace

TEST_CASE("einsum: a contraction is one matmul, and a transposed operand is read in place") {
  static_assert(is_one_matmul<of<"ij,jk->ik">, A, B>);
  static_assert(is_one_matmul<of<"ij,kj->ik">, A, C>);
  static_assert(is_one_matmul<of<"ji,jk->ik">, A, tl::tensor<float, 8, 4>>);
  static_assert(is_one_matmul<of<"ji,kj->ik">, A, tl::tensor<float, 4, 8>>);
  static_assert(is_one_matmul<of<"ij,j->i">, A, tl::tensor<float, 16>>);
  static_assert(is_one_matmul<of<"bhqd,bhkd->bhqk">, Q, K>);
  static_assert(is_one_matmul<of<"...qd,...kd->...qk">, Q, K>);
  static_assert(is_one_matmul<of<"bhqd,kd->bhqk">, Q, C>);
  static_assert(is_one_matmul<of<"ij,jk->ki">, A, B>); // of the exchanged operands
  static_assert(number_of<of<"ij,ij->i">, A, A>(detail::op::matmul) == 0);
  static_assert(number_of<of<"i,j->ij">, tl::tensor<float, 4>, tl::tensor<float, 5>>(detail::op::matmul) ==
                0);
}
TEST_CASE("einsum: attention costs what the matmuls cost") {
  constexpr auto by_letters = [](auto q, auto k) {
    return tl::einsum<"bhqk,bhkd->bhqd">(tl::softmax(tl::einsum<"bhqd,bhkd->bhqk">(q, k)), k);
  };
  constexpr auto by_hand = [](auto q, auto k) {
    return tl::matmul(tl::softmax(tl::matmul(q, tl::transpose<0, 1, 3, 2>(k))), k);
  };
  constexpr tl::cost x = tl::jit(by_letters).cost<Q, K>(), y = tl::jit(by_hand).cost<Q, K>();
  CHECK(x.flops().at(tl::dim<'b'>(3)) == y.flops().at(tl::dim<'b'>(3)));
  CHECK(x.primal.bytes.at(tl::dim<'b'>(3)) == y.primal.bytes.at(tl::dim<'b'>(3)));
}
TEST_CASE("einsum: subscripts are read at compile time") {
  static_assert(letters_of<" i j , j k -> i k ">.well_formed &&
                letters_of<" i j , j k -> i k ">.operands == 2);
  static_assert(letters_of<"ba">.result.letters.equals(
      letters_of<"ab->ab">.result.letters)); // in the order of the alphabet
  static_assert(letters_of<"ij,jk">.result.letters.equals(letters_of<"ij,jk->ik">.result.letters));
  static_assert(letters_of<"i...,...k">.result.dots == 0 && letters_of<"ij,jk">.result.dots == -1);
  static_assert(letters_of<"ii">.result.letters.n == 0 && letters_of<"">.well_formed);
  for (const bool wrong :
       {letters_of<"i;j">.well_formed, letters_of<"i..j">.well_formed, letters_of<"i......j">.well_formed,
        letters_of<"i->j->k">.well_formed, letters_of<"i->j,k">.well_formed, letters_of<"i-j">.well_formed,
        letters_of<"i,i,i,i,i,i,i,i,i">.well_formed, letters_of<"i->ii">.result_is_of_operands,
        letters_of<"i->j">.result_is_of_operands})
    CHECK(!wrong);
}
TEST_CASE("einsum: of vars, of scalars, of named extents, of axes of extent 1 that broadcast") {
  using S = tl::tensor<float>;
  using N = tl::tensor<float, tl::dyn<'n'>, 1, 3>;
  using M = tl::tensor<float, 2, 3>;
  constexpr auto f = [](auto s, auto x, auto y) {
    const tl::var v = x;
    return std::tuple{tl::einsum<",...i->i...">(s, x), tl::einsum<"...i,...i->...">(x, y),
                      tl::einsum<"...i,...i->...">(v, y).template as<float, tl::dyn<'n'>, 2>(),
                      tl::einsum<"nji,ki->nk">(x, y)};
  };
  auto run = tl::jit(f).bind<S, N, M>(tl::dim<'n'>(2));
  float s[] = {2}, x[] = {1, 2, 3, 4, 5, 6}, y[] = {1, 0, 0, 1, 1, 1};
  const auto& [a, b, c, d] = run(S(s), N(x, 2), M(y));
  CHECK(a.rank() == 3);
  const float scaled[] = {2, 8, 4, 10, 6, 12}, sums[] = {1, 6, 4, 15};
  for (int i = 0; i < 6; ++i) CHECK(a[i] == scaled[i]);
  for (int i = 0; i < 4; ++i) {
    CHECK(b[i] == sums[i]);
    CHECK(c[i] == sums[i]);
    CHECK(d[i] == sums[i]);
  }
}
