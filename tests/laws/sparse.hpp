// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The cases of sparse products: the pattern is that of a constant, its values are an argument.
#include "laws.hpp"

#include <reference/sparse.hpp>

namespace laws::sparse {

// What is a sparse matrix here is given back as its
// values: a pattern has no tangent.
template <class A, class X, class Y, class S> struct with_vectors {
  A a, b;
  X x; // (n)
  Y y; // (m)
  S s; // ()
};
template <class A, class X, class Y, class S> with_vectors(A, A, X, Y, S) -> with_vectors<A, X, Y, S>;
template <class F> struct on_vectors {
  constexpr auto operator()(const auto& v, const auto& w, const auto& x, const auto& y, const auto& s,
                            const auto& p) const {
    return F{}(with_vectors{p.with(v), p.with(w), x, y, s});
  }
};
template <class A, class... X> struct with_matrices;
template <class A, class X3, class X1, class X8, class Y3, class Y1, class Y8, class L3, class L8>
struct with_matrices<A, X3, X1, X8, Y3, Y1, Y8, L3, L8> {
  A a;
  X3 x3; // (n, 3)
  X1 x1; // (n, 1)
  X8 x8; // (n, 8)
  Y3 y3; // (m, 3)
  Y1 y1; // (m, 1)
  Y8 y8; // (m, 8)
  L3 l3; // (3, m)
  L8 l8; // (8, n)
};
template <class F> struct on_matrices {
  template <class V, class P, class... X> static constexpr auto call(const V& v, const P& p, const X&... x) {
    return F{}(with_matrices<std::remove_cvref_t<decltype(p.with(v))>, X...>{p.with(v), x...});
  }
  constexpr auto operator()(const auto& v, const auto& x3, const auto& x1, const auto& x8, const auto& y3,
                            const auto& y1, const auto& y8, const auto& l3, const auto& l8,
                            const auto& p) const {
    return call(v, p, x3, x1, x8, y3, y1, y8, l3, l8);
  }
};
template <class F> constexpr auto vectors(const char* name, F, double roundings = 16,
                                          scale by = scale::terms) {
  return both(name, on_vectors<F>{}, roundings, by);
}
template <class F> constexpr auto matrices(const char* name, F, double roundings = 16,
                                           scale by = scale::terms) {
  return both(name, on_matrices<F>{}, roundings, by);
}

// values, other values, (n), (m), a number
template <class T, tl::extent_t R, tl::extent_t C, tl::extent_t E> using vector_arguments =
    arguments<tl::tensor<T, E>, tl::tensor<T, E>, tl::tensor<T, C>, tl::tensor<T, R>, tl::tensor<T>>;
template <class T, tl::extent_t R, tl::extent_t C, tl::extent_t E> using pattern_constant =
    constants<tl::csr<T, R, C, E>>;

// Tolerances: a row and a column have at most 16 terms.
constexpr auto products = cases<vector_arguments<double, 5, 7, 11>, pattern_constant<double, 5, 7, 11>>(
    vectors("A x", [](const auto& g) { return matmul(g.a, g.x); }),
    vectors("A^T y", [](const auto& g) { return matmul(transpose(g.a), g.y); }),
    vectors("y A", [](const auto& g) { return matmul(g.y, g.a); }),
    vectors("x A^T", [](const auto& g) { return matmul(g.x, transpose(g.a)); }),
    vectors(
        "A^T (A x)^2", [](const auto& g) { return matmul(transpose(g.a), square(matmul(g.a, g.x))); }, 64),
    vectors(
        "A^T y^2 + B^T y",
        [](const auto& g) { return matmul(transpose(g.a), square(g.y)) + matmul(transpose(g.b), g.y); }, 32),
    vectors(
        "sampled_matmul(A, y, x)", [](const auto& g) { return sampled_matmul(g.a, g.y, g.x).values(); },
        rounds_once),
    vectors("sum<1>", [](const auto& g) { return sum<1>(g.a); }),
    vectors("sum<-2>", [](const auto& g) { return sum<-2>(g.a); }));
constexpr auto entries = cases<vector_arguments<double, 5, 7, 11>, pattern_constant<double, 5, 7, 11>>(
    vectors(
        "sum", [](const auto& g) { return sum(g.a); }, 32),
    vectors(
        "scale_rows", [](const auto& g) { return scale_rows(g.y, g.a).values(); }, rounds_once),
    vectors(
        "scale_columns", [](const auto& g) { return scale_columns(g.a, g.x).values(); }, rounds_once),
    vectors(
        "A + B", [](const auto& g) { return (g.a + g.b).values(); }, rounds_once, scale::result),
    vectors(
        "A - B", [](const auto& g) { return (g.a - g.b).values(); }, rounds_once, scale::result),
    vectors(
        "A * B", [](const auto& g) { return (g.a * g.b).values(); }, rounds_once),
    vectors(
        "A * s", [](const auto& g) { return (g.a * g.s).values(); }, rounds_once),
    vectors(
        "s * A", [](const auto& g) { return (g.s * g.a).values(); }, rounds_once),
    vectors(
        "A * 3", [](const auto& g) { return (g.a * 3.0).values(); }, rounds_once),
    vectors(
        "A / s", [](const auto& g) { return (g.a / g.s).values(); }, 1.5),
    vectors(
        "A / 3", [](const auto& g) { return (g.a / 3.0).values(); }, 1.5),
    vectors(
        "-A", [](const auto& g) { return (-g.a).values(); }, exact, scale::result),
    vectors(
        "x times the exp of the entries",
        [](const auto& g) { return matmul(g.a.with(exp(g.a.values())), g.x); }, 32, scale::terms));

template <class T, tl::extent_t R, tl::extent_t C, tl::extent_t E> using matrix_arguments =
    arguments<tl::tensor<T, E>, tl::tensor<T, C, 3>, tl::tensor<T, C, 1>, tl::tensor<T, C, 8>,
              tl::tensor<T, R, 3>, tl::tensor<T, R, 1>, tl::tensor<T, R, 8>, tl::tensor<T, 3, R>,
              tl::tensor<T, 8, C>>;
constexpr auto dense = cases<matrix_arguments<double, 5, 7, 11>, pattern_constant<double, 5, 7, 11>>(
    matrices("A (n, 3)", [](const auto& g) { return matmul(g.a, g.x3); }),
    matrices("A (n, 1)", [](const auto& g) { return matmul(g.a, g.x1); }),
    matrices("A (n, 8)", [](const auto& g) { return matmul(g.a, g.x8); }),
    matrices("A^T (m, 3)", [](const auto& g) { return matmul(transpose(g.a), g.y3); }),
    matrices("A^T (m, 1)", [](const auto& g) { return matmul(transpose(g.a), g.y1); }),
    matrices("A^T (m, 8)", [](const auto& g) { return matmul(transpose(g.a), g.y8); }),
    matrices("(3, m) A", [](const auto& g) { return matmul(g.l3, g.a); }),
    matrices("(8, n) A^T", [](const auto& g) { return matmul(g.l8, transpose(g.a)); }),
    matrices("sampled_matmul of (m, 3), (n, 3)",
             [](const auto& g) { return sampled_matmul(g.a, g.y3, g.x3).values(); }),
    matrices("sampled_matmul of (m, 1), (n, 1)",
             [](const auto& g) { return sampled_matmul(g.a, g.y1, g.x1).values(); }),
    matrices("sampled_matmul of (m, 8), (n, 8)",
             [](const auto& g) { return sampled_matmul(g.a, g.y8, g.x8).values(); }));

// Scaled entries are not made: vectors are scaled, in the reference too.
template <class Op, class Ref> constexpr auto scaled(const char* name, Op, Ref) {
  return pair(name, on_vectors<Op>{}, on_vectors<Ref>{}, 32, scale::terms);
}
constexpr auto scalings = cases<vector_arguments<double, 5, 7, 11>, pattern_constant<double, 5, 7, 11>>(
    scaled(
        "(A scaled by rows) x", [](const auto& g) { return matmul(scale_rows(g.y, g.a), g.x); },
        [](const auto& g) { return g.y * matmul(g.a, g.x); }),
    scaled(
        "sum<0>(A scaled by rows)", [](const auto& g) { return sum<0>(scale_rows(g.y, g.a)); },
        [](const auto& g) { return matmul(transpose(g.a), g.y); }),
    scaled(
        "(A scaled by rows and columns) x",
        [](const auto& g) { return matmul(scale_columns(scale_rows(g.y, g.a), g.x), g.x); },
        [](const auto& g) { return g.y * matmul(g.a, g.x * g.x); }),
    scaled(
        "y (s A scaled by rows and columns)",
        [](const auto& g) { return matmul(g.y, scale_columns(scale_rows(g.y, g.s * g.a), g.x)); },
        [](const auto& g) { return g.x * (g.s * matmul(g.y * g.y, g.a)); }));
// In one tile of fewer than 16 entries they stand by rows: the reference has them in this order.
template <class T, tl::extent_t R, tl::extent_t C, tl::extent_t E> using tiles_constant =
    constants<tl::csr<T, R, C, E, tl::tiled>>;
constexpr auto tiles = cases<vector_arguments<double, 5, 7, 11>, tiles_constant<double, 5, 7, 11>>(
    vectors("tiled A x", [](const auto& g) { return matmul(g.a, g.x); }),
    vectors("tiled y A", [](const auto& g) { return matmul(g.y, g.a); }),
    vectors(
        "tiled A^T (A x)^2", [](const auto& g) { return matmul(transpose(g.a), square(matmul(g.a, g.x))); },
        64),
    vectors(
        "tiled sampled_matmul(A, y, x)", [](const auto& g) { return sampled_matmul(g.a, g.y, g.x).values(); },
        rounds_once),
    vectors("tiled sum<1>", [](const auto& g) { return sum<1>(g.a); }));
constexpr auto tiles_by_dense = cases<matrix_arguments<double, 5, 7, 11>, tiles_constant<double, 5, 7, 11>>(
    matrices("tiled A (n, 3)", [](const auto& g) { return matmul(g.a, g.x3); }),
    matrices("tiled sampled_matmul of (m, 3), (n, 3)",
             [](const auto& g) { return sampled_matmul(g.a, g.y3, g.x3).values(); }));

// A dense matrix beside it
template <class A, class D> struct with_dense {
  A a;
  D d; // (m, n)
};
template <class A, class D> with_dense(A, D) -> with_dense<A, D>;
template <class F> struct beside_a_dense {
  constexpr auto operator()(const auto& v, const auto& d, const auto& p) const {
    return F{}(with_dense{p.with(v), d});
  }
};
template <class F> constexpr auto beside(const char* name, F, double roundings) {
  return both(name, beside_a_dense<F>{}, roundings, scale::terms);
}
template <class T, tl::extent_t R, tl::extent_t C, tl::extent_t E> using dense_arguments =
    arguments<tl::tensor<T, E>, tl::tensor<T, R, C>>;
constexpr auto by_entries = cases<dense_arguments<double, 5, 7, 11>, pattern_constant<double, 5, 7, 11>>(
    beside(
        "A * D", [](const auto& g) { return (g.a * g.d).values(); }, rounds_once),
    beside(
        "D * A", [](const auto& g) { return (g.d * g.a).values(); }, rounds_once),
    beside(
        "A / D", [](const auto& g) { return (g.a / g.d).values(); }, 1.5),
    beside("sum<0>(A * D^2)", [](const auto& g) { return sum<0>(g.a * square(g.d)); }, 16));
constexpr auto by_entries_in_tiles =
    cases<dense_arguments<double, 5, 7, 11>, tiles_constant<double, 5, 7, 11>>(
        beside("tiled A * D", [](const auto& g) { return (g.a * g.d).values(); }, rounds_once));

} // namespace laws::sparse
