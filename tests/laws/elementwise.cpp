// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/elementwise.hpp>

#include <cstdint>
#include <string>
#include <tuple>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<std::int64_t> sizes{0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 64, 100};

// The comparisons: ref has them under other names.
template <class A, class B> constexpr auto less(const A& a, const B& b) { return a < b; }
template <class A, class B> constexpr auto less_equal(const A& a, const B& b) { return a <= b; }
template <class A, class B> constexpr auto greater(const A& a, const B& b) { return a > b; }
template <class A, class B> constexpr auto greater_equal(const A& a, const B& b) { return a >= b; }
template <class A, class B> constexpr auto equal(const A& a, const B& b) { return a == b; }
template <class A, class B> constexpr auto not_equal(const A& a, const B& b) { return a != b; }

template <class T> using one_operand_arguments = arguments<tl::tensor<T, n>, tl::tensor<T, n>>;
constexpr auto one_operand = cases<one_operand_arguments<double>>(
    both("neg", [](const auto& x, const auto&) { return -x; }), //
    both("square", [](const auto& x, const auto&) { return square(x); }),
    both("sqrt", [](const auto&, const auto& p) { return sqrt(p); }), //
    both("exp", [](const auto& x, const auto&) { return exp(x); }),
    both("log", [](const auto&, const auto& p) { return log(p); }), //
    both("tanh", [](const auto& x, const auto&) { return tanh(x); }),
    both("erf", [](const auto& x, const auto&) { return erf(x); }),
    both("sigmoid", [](const auto& x, const auto&) { return sigmoid(x); }),
    both("relu", [](const auto& x, const auto&) { return relu(x); }),
    both("copy", [](const auto& x, const auto&) { return x; }));
const std::vector<domain> anywhere_and_positive{{-1, 1, true}, {0.3, 2}};

// a, b anywhere; p positive
template <class T> using two_operand_arguments =
    arguments<tl::tensor<T, n>, tl::tensor<T, n>, tl::tensor<T, n>>;
constexpr auto two_operands = cases<two_operand_arguments<double>>(
    both("add", [](const auto& a, const auto& b, const auto&) { return a + b; }),
    both("sub", [](const auto& a, const auto& b, const auto&) { return a - b; }),
    both("mul", [](const auto& a, const auto& b, const auto&) { return a * b; }),
    both("div", [](const auto& a, const auto&, const auto& p) { return a / p; }),
    both("pow", [](const auto& a, const auto&, const auto& p) { return pow(p, a); }),
    both("max", [](const auto& a, const auto& b, const auto&) { return max(a, b); }),
    both("min", [](const auto& a, const auto& b, const auto&) { return min(a, b); }),
    // second derivatives through ops that have none of their own
    both("add, sub, neg, relu",
         [](const auto& a, const auto& b, const auto&) { return relu(a + b) * -(a - b); }),
    both("max, min",
         [](const auto& a, const auto& b, const auto& p) { return square(max(a, b)) * min(a, p); }));
constexpr auto comparisons = cases<two_operand_arguments<double>>(
    both("lt, where",
         [](const auto& a, const auto& b, const auto& p) { return where(less(a, b), a * p, b); }),
    both("le", [](const auto& a, const auto& b, const auto& p) { return where(less_equal(a, b), a * p, p); }),
    both("gt", [](const auto& a, const auto& b, const auto& p) { return where(greater(a, b), a, p); }),
    both("ge",
         [](const auto& a, const auto& b, const auto& p) { return where(greater_equal(a, b), a, b * p); }),
    both("eq", [](const auto& a, const auto& b, const auto& p) { return where(equal(a, b), a, b * p); }),
    both("ne", [](const auto& a, const auto& b, const auto& p) { return where(not_equal(a, b), a * p, b); }),
    pair(
        "not, and, or",
        [](const auto& a, const auto& b, const auto& p) {
          return where(!(a < b) && (a < p || b < p), a * p, b);
        },
        [](const auto& a, const auto& b, const auto& p) {
          using T = typename std::remove_cvref_t<decltype(a)>::value_type;
          const auto c = less(a, b), d = less(a, p), e = less(b, p);
          ref::array<ref::boolean> m(c.shape);
          for (std::size_t i = 0; i < m.data.size(); ++i) m.data[i] = !c.data[i] && (d.data[i] || e.data[i]);
          return where(m, a * p, ref::array<T>(b));
        }),
    pair(
        "cast", [](const auto& a, const auto& b, const auto& p) { return tl::cast<double>(a < b) * p; },
        [](const auto& a, const auto& b, const auto& p) {
          return ref::cast<typename std::remove_cvref_t<decltype(p)>::value_type>(less(a, b)) * p;
        }),
    pair(
        "convert", // differences of floats would say nothing of a derivative; ops/casts.cpp has those
        [](const auto& a, const auto& b, const auto& p) {
          return tl::cast<double>(tl::cast<float>(a < b)) * p;
        },
        [](const auto& a, const auto& b, const auto& p) {
          return ref::cast<typename std::remove_cvref_t<decltype(p)>::value_type>(less(a, b)) * p;
        }),
    // Finite differences do not stop: a is inside as a sign, which is constant nearby. The test below sees the stop.
    pair(
        "stop_gradient",
        [](const auto& a, const auto&, const auto& p) {
          return tl::stop_gradient(tl::cast<double>(a > 0.0)) * p;
        },
        [](const auto& a, const auto&, const auto& p) {
          using T = typename std::remove_cvref_t<decltype(p)>::value_type;
          return ref::cast<T>(greater(a, ref::constant(T(0)))) * p;
        }));
const std::vector<domain> two_and_positive{{-1, 1, true}, {-1, 1, true}, {0.3, 2}};

// NumPy's patterns: row, column, scalar, middle axis, both sides, another rank
template <class T>
using broadcast_arguments = arguments<tl::tensor<T, 3, 5, 7>, tl::tensor<T, 7>, tl::tensor<T, 5, 1>,
                                      tl::tensor<T>, tl::tensor<T, 3, 1, 7>, tl::tensor<T, 1, 5, 1>>;
constexpr auto broadcasting = cases<broadcast_arguments<double>>(
    both("row", [](const auto& x, const auto& row, const auto&, const auto&, const auto&,
                   const auto&) { return x * row; }),
    both(
        "column",
        [](const auto& x, const auto&, const auto& col, const auto&, const auto&, const auto&) {
          return col / (x * x + col * col);
        },
        8),
    both("scalar", [](const auto& x, const auto&, const auto&, const auto& s, const auto&,
                      const auto&) { return s * x; }),
    both("middle axis", [](const auto& x, const auto&, const auto&, const auto&, const auto& mid,
                           const auto&) { return max(mid, x); }),
    both("both sides", [](const auto&, const auto& row, const auto& col, const auto&, const auto&,
                          const auto&) { return row * col; }),
    both("three at once", [](const auto&, const auto&, const auto& col, const auto& s, const auto& mid,
                             const auto&) { return where(less(mid, col), s * mid, col); }),
    both("another rank", [](const auto&, const auto& row, const auto&, const auto&, const auto&,
                            const auto& one) { return row - one; }),
    both("scalar and scalar", [](const auto&, const auto&, const auto&, const auto& s, const auto&,
                                 const auto&) { return exp(s); }));

template <class T>
using named_broadcast_arguments = arguments<tl::tensor<T, n, 5>, tl::tensor<T, 5>, tl::tensor<T, n, 1>,
                                            tl::tensor<T, 1, 5>, tl::tensor<T, n>>;
constexpr auto named_broadcasting = cases<named_broadcast_arguments<double>>(
    both("named row",
         [](const auto& x, const auto& row, const auto&, const auto&, const auto&) { return x * row; }),
    both("named column",
         [](const auto& x, const auto&, const auto& col, const auto&, const auto&) { return x * col; }),
    both("named outer product",
         [](const auto&, const auto&, const auto& col, const auto& one, const auto&) { return col * one; }),
    both("two named axes",
         [](const auto&, const auto&, const auto& col, const auto&, const auto& v) { return col * v; }));

// extent 1 everywhere, and no elements
template <class T> using thin_arguments = arguments<tl::tensor<T, 1, 1, 1, 1>, tl::tensor<T, 13, 1>,
                                                    tl::tensor<T, 0, 3>, tl::tensor<T, 2, 3, 5, 7>>;
constexpr auto thin = cases<thin_arguments<double>>(
    both("one element", [](const auto& one, const auto&, const auto&, const auto&) { return one * one; }),
    both("one column", [](const auto& one, const auto& col, const auto&, const auto&) { return one * col; }),
    both("no elements",
         [](const auto& one, const auto&, const auto& empty, const auto&) { return one * empty; }),
    both("rank 4", [](const auto& one, const auto&, const auto&, const auto& four) { return four * one; }));

using tl::detail::elementwise_rules;
static_assert(covers(elementwise_rules, one_operand, two_operands, comparisons));
static_assert(counts(elementwise_rules, one_operand, two_operands, comparisons));
static_assert(!covers(elementwise_rules, one_operand, two_operands)); // the comparisons are missed
static_assert(!counts(elementwise_rules, one_operand, two_operands));

} // namespace

TEST_CASE("elementwise: the laws hold for one operand") {
  check_laws(one_operand, sizes, anywhere_and_positive);
}
TEST_CASE("elementwise: the laws hold for two operands") {
  check_laws(two_operands, sizes, two_and_positive);
}
TEST_CASE("elementwise: the laws hold through comparisons and selection") {
  check_laws(comparisons, {0, 1, 7, 31}, two_and_positive);
}
TEST_CASE("stop_gradient: d/dx of x stop(x) is x, of stop(x^2) is 0; without the stop both are 2 x") {
  using X = tl::tensor<double, 7>;
  constexpr auto kept = [](auto x) { return x * x; };
  constexpr auto half = [](auto x) { return x * tl::stop_gradient(x); };
  constexpr auto none = [](auto x) { return tl::stop_gradient(tl::square(x)); };
  tl::owned<X> x, v;
  for (int i = 0; i < 7; ++i) (*x)[i] = i - 2.5, (*v)[i] = 3 - i;
  // value, J^T 1 = J 1, J v, H v of sum f
  const auto check = [&](auto f, double factor, bool second) {
    auto run = tl::jit([](auto a, auto b) {
                 constexpr auto g = decltype(f){};
                 constexpr auto total = [](auto z) { return tl::sum(decltype(g){}(z)); };
                 return std::tuple{g(a), tl::grad(total)(a), tl::jvp<0>(g)(a, b), tl::hvp<0>(total)(a, b)};
               }).template bind<X, X>();
    const auto [y, gradient, tangent, hv] = run(*x, *v);
    for (int i = 0; i < 7; ++i) {
      CHECK(y[i] == (*x)[i] * (*x)[i]);
      CHECK(gradient[i] == factor * (*x)[i]);
      CHECK(tangent[i] == factor * (*x)[i] * (*v)[i]);
      CHECK(hv[i] == (second ? 2 * (*v)[i] : 0));
    }
  };
  check(kept, 2, true);
  check(half, 1, false);
  check(none, 0, false);
}
TEST_CASE("elementwise: the laws hold for broadcast operands") {
  check_laws(broadcasting, no_names, {{-1, 1, true}, {-1, 1, true}, {0.3, 1.5, true}, {-1, 1, true}});
}
TEST_CASE("elementwise: the laws hold for broadcast operands with a named extent") {
  check_laws(named_broadcasting, {0, 1, 2, 7, 17}, {{-1, 1}});
}
TEST_CASE("elementwise: the laws hold for axes of extent 1 and for no elements") {
  check_laws(thin, no_names, {{-1, 1}});
}
TEST_CASE("elementwise: float equals the reference") {
  check_values(with<one_operand_arguments<float>>(one_operand), sizes, anywhere_and_positive);
  check_values(with<two_operand_arguments<float>>(two_operands), sizes, two_and_positive);
}
