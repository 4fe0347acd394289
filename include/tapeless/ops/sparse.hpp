// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Sparse matrices as the user writes them: products, sums, scaling, and the sentences where there is none.
// The nodes are those of spmm.hpp and sparse_dense.hpp.
#pragma once
#include "../core/csr.hpp"
#include "index.hpp"
#include "sparse_dense.hpp"

namespace tapeless {
namespace detail {

// ---- one trace ------------------------------------------------------------------------------------------------

// The trace of the first operand that belongs to one: handles, matrices, numbers.
template <class... H> constexpr graph& trace_of(const H&... h) {
  graph* g = nullptr;
  const auto take = [&](const auto& x) {
    if constexpr (csr_matrix<decltype(x)>) {
      if (g == nullptr) g = x.columns().graph_ptr();
      if (g == nullptr) g = x.values().graph_ptr();
    } else if constexpr (handle<decltype(x)>) g = g == nullptr ? x.graph_ptr() : g;
  };
  (take(h), ...);
  if (g == nullptr) return graph_of(tensor<float>{}); // says that ops are traced
  return *g;
}
// h, or where it belongs to no trace or another one a new leaf of g: the rule is broken, and the trace goes on.
template <handle H> constexpr H in_trace(graph& g, const H& h) {
  constexpr const char* rule = "tapeless: sparse op(a, b): the operands belong to one trace";
  if (require(g, h.graph_ptr() == &g, rule)) return h;
  if (h.graph_ptr() != nullptr) require(*h.graph_ptr(), false, rule);
  if constexpr (typed_handle<H>) return H{&g, g.fresh(dtype_of<typename H::value_type>, H::extents)};
  else return H{&g, g.constant(0, dtype::f32)};
}
template <csr_matrix A> constexpr A in_trace(graph& g, const A& a) {
  return {trusted, in_trace(g, a.values()), in_trace(g, a.columns()), in_trace(g, a.row_end()),
          in_trace(g, a.width())};
}

// ---- rules for values -----------------------------------------------------------------------------------------

template <class A> struct transposed_csr {
  A a;
};
template <class X> inline constexpr bool is_transposed_csr_v = false;
template <class A> inline constexpr bool is_transposed_csr_v<transposed_csr<A>> = true;
template <class X>
concept sparse_operand = csr_matrix<X> || is_transposed_csr_v<std::remove_cvref_t<X>>;

template <sparse_operand A> constexpr const auto& csr_of(const A& a) {
  if constexpr (csr_matrix<A>) return a;
  else return a.a;
}
template <sparse_operand A> constexpr bool is_transposed(const A&) { return !csr_matrix<A>; }
// rows and columns, of the transpose where it is one
template <sparse_operand A> constexpr shape extents_of() {
  if constexpr (csr_matrix<A>) return A::extents;
  else return shape{2, {decltype(A::a)::extents.d[1], decltype(A::a)::extents.d[0]}};
}
template <shape B, extent_t N>
concept vector_or_matrix_of_rows = (B.rank == 1 || B.rank == 2) && B.d[0] == N;
template <shape B, extent_t N>
concept vector_or_matrix_of_columns = (B.rank == 1 || B.rank == 2) && B.d[B.rank > 0 ? B.rank - 1 : 0] == N;
template <shape S, shape A>
concept is_a_scalar_or_has_extents = S.rank == 0 || S == A;
template <bool Fits, shape L, shape R>
concept sampled_extents_agree = Fits;
template <shape S, extent_t N>
concept one_for_each = S == shape{1, {N}};
template <class RowEndOfA, class RowEndOfB, extent_t EntriesOfA, extent_t EntriesOfB, shape A, shape B>
concept may_have_one_pattern = A == B && EntriesOfA == EntriesOfB && std::is_same_v<RowEndOfA, RowEndOfB>;
template <class B>
concept is_sparse_too = csr_matrix<B>;
template <class A, class B>
concept one_is_a_tensor = handle<A> || handle<B>;

constexpr shape with_first(shape s, extent_t n) {
  s.d[0] = n;
  return s;
}
constexpr shape with_last(shape s, extent_t n) {
  s.d[s.rank - 1] = n;
  return s;
}
template <class A, class V> constexpr auto csr_with(const A& a, int values) {
  return a.with(V{a.values().graph_ptr(), values});
}
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
// s: a number, a scalar or a matrix of A's extents, of which the entries at the places of A's are read
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
template <class A>
concept is_a_tensor = handle<A>;
template <class A> constexpr A no_function(const A& a) {
  static_assert(is_a_tensor<A>,
                "tapeless: sparse f(a): write a.with(f(a.values())), which computes with the entries stored");
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
// A by the values that its pattern has for each row, or each column: a sampled product with ones
template <class A> constexpr auto scaled(const A& a, int s, bool by_rows) {
  using T = typename A::value_type;
  graph& g = graph_of(a.values());
  const int ones = factor(g, -1, dtype_of<T>, A::extents.d[by_rows ? 1 : 0]);
  const int factors = by_rows ? sddmm(g, pattern_of(g, a), s, ones) : sddmm(g, pattern_of(g, a), ones, s);
  return csr_with<A, tensor<T, A::values_type::extents.d[0]>>(a,
                                                              binary(g, op::mul, factors, a.values().id()));
}

} // namespace detail

// ---- what the user writes -------------------------------------------------------------------------------------
// A is a tl::csr<T, m, n, e>, T float or double. Errors: compile errors. Cost: that of the entries stored.

// transpose(A): A^T as an operand of matmul; nothing is moved
template <detail::csr_matrix A> constexpr auto transpose(const A& a) { return detail::transposed_csr<A>{a}; }
template <class A> constexpr A transpose(const detail::transposed_csr<A>& t) { return t.a; }

// matmul(A, b): (m, n) sparse, (n) or (n, k) -> (m) or (m, k); A may be a transpose(A)
// Errors: b has as many rows as A has columns, and its element type.
// Cost: 2 e k flops; the transpose adds up partial results of chunks of rows.
template <detail::sparse_operand A, detail::handle B> constexpr auto matmul(const A& a, const B& b) {
  using namespace detail;
  graph& g = trace_of(csr_of(a), b);
  const auto m = in_trace(g, csr_of(a));
  const B x = in_trace(g, b);
  using T = typename std::remove_cvref_t<decltype(m)>::value_type;
  constexpr shape s = extents_of<A>();
  if constexpr (any_var<B>) {
    const shape q = g[x.id()].s;
    require(g, (q.rank == 1 || q.rank == 2) && q.d[0] == s.d[1],
            "tapeless: matmul(a, b), a sparse: b is (n) or (n, k), n the columns of a", s, q);
    require(g, g[x.id()].t == dtype_of<T>, "tapeless: matmul(a, b): both are float or both are double");
    if (!g.sound()) return x;
    return var{&g, spmm(g, pattern_of(g, m), m.values().id(), x.id(), is_transposed(a))};
  } else {
    static_assert(floating_point<T> && same_element_type<T, typename B::value_type>,
                  "tapeless: matmul(a, b): both are float or both are double");
    static_assert(vector_or_matrix_of_rows<B::extents, s.d[1]>,
                  "tapeless: matmul(a, b), a sparse: b is (n) or (n, k), n the columns of a");
    if constexpr (vector_or_matrix_of_rows<B::extents, s.d[1]>)
      return wrap<T, with_first(B::extents, s.d[0])>(
          g, spmm(g, pattern_of(g, m), m.values().id(), x.id(), is_transposed(a)));
    else return x;
  }
}

// matmul(b, A): (m) or (k, m), (m, n) sparse -> (n) or (k, n); A may be a transpose(A)
// Errors: b has as many columns as A has rows, and its element type.
// Cost: 2 e k flops, and b and the result are transposed where they are matrices.
template <detail::handle B, detail::sparse_operand A> constexpr auto matmul(const B& b, const A& a) {
  using namespace detail;
  graph& g = trace_of(b, csr_of(a));
  const auto m = in_trace(g, csr_of(a));
  const B y = in_trace(g, b);
  using T = typename std::remove_cvref_t<decltype(m)>::value_type;
  constexpr shape s = extents_of<A>();
  const auto product_of = [&](int x) {
    const bool matrix = g[x].s.rank == 2;
    const int columns = matrix ? transpose(g, x, matrix_perm(2)) : x;
    const int c = spmm(g, pattern_of(g, m), m.values().id(), columns, !is_transposed(a));
    return matrix ? transpose(g, c, matrix_perm(2)) : c;
  };
  if constexpr (any_var<B>) {
    const shape x = g[y.id()].s;
    require(g, (x.rank == 1 || x.rank == 2) && x.d[x.rank > 0 ? x.rank - 1 : 0] == s.d[0],
            "tapeless: matmul(a, b), b sparse: a is (m) or (k, m), m the rows of b", x, s);
    require(g, g[y.id()].t == dtype_of<T>, "tapeless: matmul(a, b): both are float or both are double");
    if (!g.sound()) return y;
    return var{&g, product_of(y.id())};
  } else {
    static_assert(floating_point<T> && same_element_type<T, typename B::value_type>,
                  "tapeless: matmul(a, b): both are float or both are double");
    static_assert(vector_or_matrix_of_columns<B::extents, s.d[0]>,
                  "tapeless: matmul(a, b), b sparse: a is (m) or (k, m), m the rows of b");
    if constexpr (vector_or_matrix_of_columns<B::extents, s.d[0]>)
      return wrap<T, with_last(B::extents, s.d[1])>(g, product_of(y.id()));
    else return y;
  }
}

template <detail::sparse_operand A, detail::sparse_operand B>
constexpr auto matmul(const A& a, const B&) {
  static_assert(
      detail::one_is_a_tensor<A, B>,
      "tapeless: matmul(a, b): one of the two is sparse, the other a tensor; for two sparse ones there is sampled_matmul(c, a, b)");
  return detail::csr_of(a).values();
}

// sampled_matmul(A, l, r): the pattern of A with the values <l[i, :], r[j, :]>; those of A are not read
//   l: (m) or (m, k)   r: (n) or (n, k)
// Errors: l and r are both vectors or both matrices with these extents, and the element types. Cost: 2 e k flops (1 e of vectors).
template <detail::csr_matrix A, detail::handle L, detail::handle R>
constexpr auto sampled_matmul(const A& a, const L& l, const R& r) {
  using namespace detail;
  using T = typename A::value_type;
  graph& g = trace_of(a, l, r);
  const A m = in_trace(g, a);
  const L left = in_trace(g, l);
  const R right = in_trace(g, r);
  constexpr auto agree = [](const shape& x, const shape& y) {
    return (x.rank == 1 || (x.rank == 2 && x.d[1] == y.d[1])) && x.rank == y.rank &&
           x.d[0] == A::extents.d[0] && y.d[0] == A::extents.d[1];
  };
  if constexpr (any_var<L, R>) {
    const node &x = g[left.id()], &y = g[right.id()];
    require(g, agree(x.s, y.s),
            "tapeless: sampled_matmul(a, l, r): a is (m, n), l is (m) or (m, k), r is (n) or (n, k)", x.s,
            y.s);
    require(g, is_float(dtype_of<T>) && x.t == dtype_of<T> && y.t == dtype_of<T>,
            "tapeless: sampled_matmul(a, l, r): all are float or all are double");
    return g.sound() ? csr_with<A, tensor<T, A::values_type::extents.d[0]>>(
                           m, sddmm(g, pattern_of(g, m), left.id(), right.id()))
                     : m;
  } else {
    constexpr bool fits = agree(L::extents, R::extents);
    static_assert(sampled_extents_agree<fits, L::extents, R::extents>,
                  "tapeless: sampled_matmul(a, l, r): a is (m, n), l is (m) or (m, k), r is (n) or (n, k)");
    static_assert(floating_point<T> && same_element_type<T, typename L::value_type> &&
                      same_element_type<T, typename R::value_type>,
                  "tapeless: sampled_matmul(a, l, r): all are float or all are double");
    if constexpr (fits)
      return csr_with<A, tensor<T, A::values_type::extents.d[0]>>(
          m, sddmm(g, pattern_of(g, m), left.id(), right.id()));
    else return m;
  }
}

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
      "tapeless: reduction<axes...>(a): the element type is float or double; of a mask it is that of cast<float>(mask)");
  if constexpr (sizeof...(Axes) == 1 && axes_exist<2, Axes...>) {
    constexpr bool columns = (axis_of(Axes, 2) + ...) == 0;
    graph& g = trace_of(a);
    const A m = in_trace(g, a);
    const int ones = factor(g, -1, dtype_of<typename A::value_type>, A::extents.d[columns ? 0 : 1]);
    return wrap<typename A::value_type, shape{1, {A::extents.d[columns ? 1 : 0]}}>(
        g, spmm(g, pattern_of(g, m), m.values().id(), ones, columns));
  } else return sum(a.values());
}

// A + B, A - B, A * B (entry by entry): both of one pattern, as A and A.with(values) are; the result has it too
// A * s, s * A, A / s, -A: s is a number, a scalar or an (m, n) matrix, read where A has entries
// f(A) for any elementwise f: A.with(f(A.values()))
// Errors: the patterns are one; s is no vector. Cost: e flops; a gradient by an (m, n) matrix is one, of mostly zeros.
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

// What is written in another way.
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
template <detail::csr_matrix A> constexpr auto square(const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A> constexpr auto sqrt(const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A> constexpr auto exp(const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A> constexpr auto log(const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A> constexpr auto tanh(const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A> constexpr auto erf(const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A> constexpr auto sigmoid(const A& a) { return detail::no_function(a); }
template <detail::csr_matrix A> constexpr auto relu(const A& a) { return detail::no_function(a); }
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
