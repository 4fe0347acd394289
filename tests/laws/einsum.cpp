// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// einsum (ops/einsum.hpp): what becomes a product of matrices, what stays a product of elements, diagonals, ellipses.
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/arrange.hpp>
#include <reference/einsum.hpp>
#include <reference/elementwise.hpp>
#include <reference/reduce.hpp>
#include <reference/shape.hpp>

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<domain> anywhere{{-1, 1}, {-1, 1}, {-1, 1}};
template <class T>
using operands = arguments<tl::tensor<T, n, 3>, tl::tensor<T, 3, 4>, tl::tensor<T, n, 3, 4>>;
template <class Op, class Ref> constexpr auto composed(const char* name, Op op, Ref r) {
  return pair(name, op, r, 64, scale::terms);
}
// of (a, b), (a, c) and so on
template <tl::detail::subscripts S> constexpr auto of_ab(const char* naive = S.text) {
  return composed(
      S.text, [](const auto& a, const auto& b, const auto&) { return tl::einsum<S>(a, b); },
      [=](const auto& a, const auto& b, const auto&) { return ref::einsum(naive, std::vector{a, b}); });
}
template <tl::detail::subscripts S> constexpr auto of_ac(const char* naive = S.text) {
  return composed(
      S.text, [](const auto& a, const auto&, const auto& c) { return tl::einsum<S>(a, c); },
      [=](const auto& a, const auto&, const auto& c) { return ref::einsum(naive, std::vector{a, c}); });
}
template <tl::detail::subscripts S> constexpr auto of_cb(const char* naive = S.text) {
  return composed(
      S.text, [](const auto&, const auto& b, const auto& c) { return tl::einsum<S>(c, b); },
      [=](const auto&, const auto& b, const auto& c) { return ref::einsum(naive, std::vector{c, b}); });
}
template <tl::detail::subscripts S> constexpr auto of_cc(const char* naive = S.text) {
  return composed(
      S.text, [](const auto&, const auto&, const auto& c) { return tl::einsum<S>(c, c); },
      [=](const auto&, const auto&, const auto& c) { return ref::einsum(naive, std::vector{c, c}); });
}
template <tl::detail::subscripts S> constexpr auto square_of_c(const char* naive = S.text) {
  return composed(
      S.text, [](const auto&, const auto&, const auto& c) { return tl::square(tl::einsum<S>(c)); },
      [=](const auto&, const auto&, const auto& c) {
        return ref::square(ref::einsum(naive, std::vector{c}));
      });
}

constexpr auto products = cases<operands<double>>(
    of_ab<"ij,jk->ik">(), of_ab<"ij,jk->ki">(), of_ab<" ij, jk ">("ij,jk->ik"), of_ac<"ni,nij->ij">(),
    of_ac<"ij,ijk->jk">(), of_ac<"bi,bij->bj">(), of_ac<"bi,bij->jb">(), of_ac<"bi,bjk->jik">(),
    of_cb<"nij,ij->n">(), of_cb<"nij,kj->nik">(), of_cb<"...ij,kj->...ik">("nij,kj->nik"),
    of_cb<"nij,kj->kin">(), of_cc<"bij,bik->bjk">(), of_cc<"bij,bkj->bki">(), of_cc<"nij,mij->nm">());
constexpr auto elements = cases<operands<double>>(
    of_ab<"ij,jk->ijk">(), of_ab<"ij,kl->klij">(), of_ac<"ni,nij->nij">(), of_cb<"nij,ij->jni">(),
    of_cb<"nij,...j">("nij,kj->kin"), of_cc<"nij,nij->n">(), of_cc<"nij,nij->">(), square_of_c<"nij->jn">(),
    square_of_c<"nij->i">(), square_of_c<"...i->...">("nji->nj"), square_of_c<"i...->">("nji->"));
// several operands, from left to right; letters of one operand alone are summed first
constexpr auto chains = cases<operands<double>>(
    composed(
        "ni,ij,nkj->nk",
        [](const auto& a, const auto& b, const auto& c) { return tl::einsum<"ni,ij,nkj->nk">(a, b, c); },
        [](const auto& a, const auto& b, const auto& c) {
          return ref::einsum("nj,nkj->nk", std::vector{ref::einsum("ni,ij->nj", std::vector{a, b}), c});
        }),
    composed(
        "ni,jk->k", [](const auto& a, const auto& b, const auto&) { return tl::einsum<"ni,jk->k">(a, b); },
        [](const auto& a, const auto& b, const auto&) { return ref::sum(a) * ref::sum(b, {0}); }));
template <class T> using cube = arguments<tl::tensor<T, 3, 4, 3>, tl::tensor<T, 3>>;
constexpr auto diagonals = cases<cube<double>>(
    composed(
        "iji->ij", [](const auto& x, const auto&) { return tl::square(tl::einsum<"iji->ij">(x)); },
        [](const auto& x, const auto&) {
          return ref::square(ref::transpose(ref::diagonal(ref::transpose(x, {1, 0, 2}), 0), {1, 0}));
        }),
    composed(
        "iji", [](const auto& x, const auto&) { return tl::square(tl::einsum<"iji">(x)); },
        [](const auto& x, const auto&) {
          return ref::square(ref::sum(ref::diagonal(ref::transpose(x, {1, 0, 2}), 0), {1}));
        }),
    composed(
        "iji,i->j", [](const auto& x, const auto& y) { return tl::einsum<"iji,i->j">(x, y); },
        [](const auto& x, const auto& y) {
          return ref::einsum("ji,i->j", std::vector{ref::diagonal(ref::transpose(x, {1, 0, 2}), 0), y});
        }));

} // namespace

TEST_CASE("einsum: the laws hold for products of matrices") { check_laws(products, {0, 1, 2, 5}, anywhere); }
TEST_CASE("einsum: the laws hold for products of elements") { check_laws(elements, {0, 1, 2, 5}, anywhere); }
TEST_CASE("einsum: the laws hold for several operands, and diagonals") {
  check_laws(chains, {1, 5}, anywhere);
  check_laws(diagonals, no_names, anywhere);
}
TEST_CASE("einsum: float equals the reference") {
  check_values(with<operands<float>>(products), {1, 17}, anywhere);
  check_values(with<operands<float>>(elements), {1, 17}, anywhere);
}
