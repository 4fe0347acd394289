// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Sums, scaling and arithmetic of sparse matrices, and the messages for what does not exist.
// The nodes are those of spmm.hpp and sparse_dense.hpp.
#pragma once
#include "../core/csr.hpp"
#include "index.hpp"
#include "sparse.hpp"
#include "sparse_dense.hpp"

namespace tapeless {
namespace detail {

template <shape S, shape A>
concept is_a_scalar_or_has_extents = S.rank == 0 || S == A;
template <shape S, extent_t N>
concept one_for_each = S == shape{1, {N}};
template <class RowEndOfA, class RowEndOfB, extent_t EntriesOfA, extent_t EntriesOfB, shape A, shape B>
concept may_have_one_pattern = A == B && EntriesOfA == EntriesOfB && std::is_same_v<RowEndOfA, RowEndOfB>;
template <class B>
concept is_sparse_too = csr_matrix<B>;

template <op O, class A, class B> constexpr auto sparse_with_sparse(const A& a, const B& b) {
  constexpr extent_t entries = A::values_type::extents.d[0], others = B::values_type::extents.d[0];
  using row_end = typename A::row_end_type::value_type;
  using other_end = typename B::row_end_type::value_type;
  static_assert(may_have_one_pattern<row_end, other_end, entries, others, A::extents, B::extents>,
                "tapeless: sparse op(a, b): both have one pattern, as a and a.with(values) have");
  if constexpr (may_have_one_pattern<row_end, other_end, entries, others, A::extents, B::extents>) {
    graph& g = trace_of(a, b);
    const A x = in_trace(g, a);
    const B y = in_trace(g, b);
    require(g, x.columns().id() == y.columns().id() && x.row_end().id() == y.row_end().id(),
            "tapeless: sparse op(a, b): both have one pattern, as a and a.with(values) have", A::extents,
            B::extents);
    return x.with(apply_arithmetic<O>(x.values(), y.values()));
  } else return a;
}
// s: a number, a scalar or a matrix of A's extents, which is read only where A has entries
template <op O, class A, class S> constexpr auto sparse_with_dense(const A& a, const S& s) {
  graph& g = trace_of(a, s);
  const A m = in_trace(g, a);
  if constexpr (any_var<S>) {
    const S x = in_trace(g, s);
    const bool is_matrix = g[x.id()].s == A::extents;
    const bool fits =
        require(g, is_matrix || g[x.id()].s.rank == 0,
                "tapeless: sparse op(a, s): s is a number, a scalar or a matrix with the extents of a; "
                "A x is matmul(a, x), rows and columns have scale_rows and scale_columns",
                A::extents, g[x.id()].s);
    const S y = fits && is_matrix && g.sound() ? S{&g, entries_of(g, pattern_of(g, m), x.id())} : x;
    const auto scaled = apply_real<O>(m.values(), y);
    return fits && g.sound() ? csr_with<A, typename A::values_type>(m, scaled.id()) : m;
  } else {
    constexpr shape of_s = shape_in_type<S>();
    static_assert(is_a_scalar_or_has_extents<of_s, A::extents>,
                  "tapeless: sparse op(a, s): s is a number, a scalar or a matrix with the extents of a; "
                  "A x is matmul(a, x), rows and columns have scale_rows and scale_columns");
    if constexpr (!is_a_scalar_or_has_extents<of_s, A::extents>) return m;
    else if constexpr (!handle<S>) return m.with(apply_real<O>(m.values(), s));
    else if constexpr (of_s.rank == 0) return m.with(apply_real<O>(m.values(), in_trace(g, s)));
    else
      return m.with(apply_real<O>(m.values(), wrap<typename S::value_type, A::values_type::extents>(
                                                  g, entries_of(g, pattern_of(g, m), in_trace(g, s).id()))));
  }
}
template <class A, class B> constexpr A no_sum(const A& a) {
  static_assert(
      is_sparse_too<B>,
      "tapeless: sparse a + b, a - b: both are sparse; a.with(f(a.values())) computes with the entries "
      "stored");
  return a;
}
template <class A> constexpr A no_quotient(const A& a) {
  static_assert(is_a_tensor<A>,
                "tapeless: sparse a / b: write a.with(a.values() / b.values()), which computes with the "
                "entries stored");
  return a;
}
template <class A> constexpr A no_operation(const transposed_csr<A>& t) {
  static_assert(
      is_a_tensor<A>,
      "tapeless: a transpose of a sparse a is an operand of matmul and solve_triangular; scale, sum "
      "and sample a itself");
  return t.a;
}
template <class A> constexpr A no_scaling(const A& a) {
  static_assert(is_a_tensor<A>,
                "tapeless: scale_rows(s, a), scale_columns(a, s): the rows' numbers stand on the left, those "
                "of the columns on the right");
  return a;
}
// A times the number of each row, or of each column: a sampled product with ones spreads them over the pattern
template <class A> constexpr auto scaled(const A& a, int s, bool by_rows) {
  using T = typename A::value_type;
  graph& g = graph_of(a.values());
  const int ones = factor(g, -1, dtype_of<T>, A::extents.d[by_rows ? 1 : 0]);
  const int factors = by_rows ? sddmm(g, pattern_of(g, a), s, ones) : sddmm(g, pattern_of(g, a), ones, s);
  return csr_with<A, tensor<T, A::values_type::extents.d[0]>>(a,
                                                              binary(g, op::mul, factors, a.values().id()));
}

} // namespace detail

// A is as in sparse.hpp. Errors: compile errors. Cost: proportional to the stored entries.

// scale_rows(s, A): s[i] a_ij     scale_columns(A, s): a_ij s[j]     s is a vector
// Errors: s has an element for each row, or each column, and A's element type. Cost: e flops.
template <detail::handle S, detail::csr_matrix A> constexpr auto scale_rows(const S& s, const A& a) {
  using namespace detail;
  using T = typename A::value_type;
  constexpr extent_t n = A::extents.d[0];
  graph& g = trace_of(a, s);
  const A m = in_trace(g, a);
  const S x = in_trace(g, s);
  if constexpr (any_var<S>) {
    require(g, g[x.id()].s == shape{1, {n}}, "tapeless: scale_rows(s, a): s is (m), m the rows of a",
            A::extents, g[x.id()].s);
    require(g, is_float(dtype_of<T>) && g[x.id()].t == dtype_of<T>,
            "tapeless: scaling(s, a): both are float or both are double");
    return g.sound() ? scaled(m, x.id(), true) : m;
  } else {
    static_assert(one_for_each<S::extents, n>, "tapeless: scale_rows(s, a): s is (m), m the rows of a");
    static_assert(floating_point<T> && same_element_type<T, typename S::value_type>,
                  "tapeless: scaling(s, a): both are float or both are double");
    if constexpr (one_for_each<S::extents, n>) return scaled(m, x.id(), true);
    else return m;
  }
}
template <detail::csr_matrix A, detail::handle S> constexpr auto scale_columns(const A& a, const S& s) {
  using namespace detail;
  using T = typename A::value_type;
  constexpr extent_t n = A::extents.d[1];
  graph& g = trace_of(a, s);
  const A m = in_trace(g, a);
  const S x = in_trace(g, s);
  if constexpr (any_var<S>) {
    require(g, g[x.id()].s == shape{1, {n}}, "tapeless: scale_columns(a, s): s is (n), n the columns of a",
            A::extents, g[x.id()].s);
    require(g, is_float(dtype_of<T>) && g[x.id()].t == dtype_of<T>,
            "tapeless: scaling(s, a): both are float or both are double");
    return g.sound() ? scaled(m, x.id(), false) : m;
  } else {
    static_assert(one_for_each<S::extents, n>, "tapeless: scale_columns(a, s): s is (n), n the columns of a");
    static_assert(floating_point<T> && same_element_type<T, typename S::value_type>,
                  "tapeless: scaling(s, a): both are float or both are double");
    if constexpr (one_for_each<S::extents, n>) return scaled(m, x.id(), false);
    else return m;
  }
}

// sum<1>(A): the sums of the rows, (m)     sum<0>(A): of the columns, (n)     sum(A): of all entries
// Errors: the axis is 0 or 1, or -1 or -2. Cost: e flops.
template <int... Axes, detail::csr_matrix A> constexpr auto sum(const A& a) {
  using namespace detail;
  static_assert(axes_exist<2, Axes...> && sizeof...(Axes) <= 1,
                "tapeless: sum<axis>(a), a sparse: the axis is 0 or 1, or none is named");
  static_assert(
      floating_point<typename A::value_type>,
      "tapeless: reduction<axes...>(a): the element type is float or double; of a mask or int32 it is that of cast<float>(a)");
  if constexpr (sizeof...(Axes) == 1 && axes_exist<2, Axes...>) {
    constexpr bool columns = (axis_of(Axes, 2) + ...) == 0;
    graph& g = trace_of(a);
    const A m = in_trace(g, a);
    const int ones = factor(g, -1, dtype_of<typename A::value_type>, A::extents.d[columns ? 0 : 1]);
    return wrap<typename A::value_type, shape{1, {A::extents.d[columns ? 1 : 0]}}>(
        g, spmm(g, pattern_of(g, m), m.values().id(), ones, columns));
  } else return sum(a.values());
}

// A + B, A - B, A * B (entry by entry): both have one pattern, as A and A.with(values); the result has it too
// A * s, s * A, A / s, -A: s is a number, a scalar or an (m, n) matrix, read where A has entries
// f(A) for any elementwise f: A.with(f(A.values()))
// Errors: the patterns are the same; s is not a vector. Cost: e flops; the gradient of an (m, n) matrix s is dense.
// clang-format off
template <detail::csr_matrix A, detail::csr_matrix B> constexpr auto operator+(const A& a, const B& b) { return detail::sparse_with_sparse<detail::op::add>(a, b); }
template <detail::csr_matrix A, detail::csr_matrix B> constexpr auto operator-(const A& a, const B& b) { return detail::sparse_with_sparse<detail::op::sub>(a, b); }
template <detail::csr_matrix A, detail::csr_matrix B> constexpr auto operator*(const A& a, const B& b) { return detail::sparse_with_sparse<detail::op::mul>(a, b); }
template <detail::csr_matrix A, detail::operand S> constexpr auto operator*(const A& a, const S& s) { return detail::sparse_with_dense<detail::op::mul>(a, s); }
template <detail::operand S, detail::csr_matrix A> constexpr auto operator*(const S& s, const A& a) { return detail::sparse_with_dense<detail::op::mul>(a, s); }
template <detail::csr_matrix A, detail::operand S> constexpr auto operator/(const A& a, const S& s) { return detail::sparse_with_dense<detail::op::div>(a, s); }
template <detail::csr_matrix A> constexpr auto operator-(const A& a) { return a.with(-a.values()); }
template <detail::csr_matrix A, detail::operand S> constexpr auto operator+(const A& a, const S&) { return detail::no_sum<A, S>(a); }
template <detail::operand S, detail::csr_matrix A> constexpr auto operator+(const S&, const A& a) { return detail::no_sum<A, S>(a); }
template <detail::csr_matrix A, detail::operand S> constexpr auto operator-(const A& a, const S&) { return detail::no_sum<A, S>(a); }
template <detail::operand S, detail::csr_matrix A> constexpr auto operator-(const S&, const A& a) { return detail::no_sum<A, S>(a); }

// Refused: a message says how it is written.
template <detail::csr_matrix A, detail::handle S> constexpr auto scale_rows(const A& a, const S&) { return detail::no_scaling(a); }
template <detail::handle S, detail::csr_matrix A> constexpr auto scale_columns(const S&, const A& a) { return detail::no_scaling(a); }
template <detail::handle S, class A> constexpr auto scale_rows(const S&, const detail::transposed_csr<A>& a) { return detail::no_operation(a); }
template <class A, detail::handle S> constexpr auto scale_columns(const detail::transposed_csr<A>& a, const S&) { return detail::no_operation(a); }
template <int... Axes, class A> constexpr auto sum(const detail::transposed_csr<A>& a) { return detail::no_operation(a); }
template <class A, class L, class R> constexpr auto sampled_matmul(const detail::transposed_csr<A>& a, const L&, const R&) { return detail::no_operation(a); }
template <detail::csr_matrix C, class A, detail::sparse_operand B> constexpr auto sampled_matmul(const C&, const detail::transposed_csr<A>& a, const B&) { return detail::no_operation(a); }
template <detail::csr_matrix C, detail::csr_matrix A, class B> constexpr auto sampled_matmul(const C&, const A&, const detail::transposed_csr<B>& b) { return detail::no_operation(b); }
template <detail::csr_matrix A, detail::csr_matrix B> constexpr auto operator/(const A& a, const B&) { return detail::no_quotient(a); }
template <detail::operand S, detail::csr_matrix A> constexpr auto operator/(const S&, const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A, class B> requires(detail::csr_matrix<B> || detail::operand<B>)
constexpr auto pow(const A& a, const B&) { return detail::no_function(a); }
template <detail::operand S, detail::csr_matrix A> constexpr auto pow(const S&, const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A, class B> requires(detail::csr_matrix<B> || detail::operand<B>)
constexpr auto max(const A& a, const B&) { return detail::no_function(a); }
template <detail::operand S, detail::csr_matrix A> constexpr auto max(const S&, const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A, class B> requires(detail::csr_matrix<B> || detail::operand<B>)
constexpr auto min(const A& a, const B&) { return detail::no_function(a); }
template <detail::operand S, detail::csr_matrix A> constexpr auto min(const S&, const A& a) { return detail::no_function(a); }
// clang-format on

} // namespace tapeless
