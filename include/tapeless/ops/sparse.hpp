// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Products with sparse matrices as the user writes them. Sums and scaling are in sparse_arithmetic.hpp.
// The nodes are those of spmm.hpp.
#pragma once
#include "../core/csr.hpp"
#include "index.hpp"

namespace tapeless {
namespace detail {

// ---- one trace ------------------------------------------------------------------------------------------------

// The trace of the first operand that has one; operands are handles, matrices, numbers.
template <class... H> constexpr graph& trace_of(const H&... h) {
  graph* g = nullptr;
  const auto take = [&](const auto& x) {
    if constexpr (csr_matrix<decltype(x)>) {
      if (g == nullptr) g = x.columns().graph_ptr();
      if (g == nullptr) g = x.values().graph_ptr();
    } else if constexpr (handle<decltype(x)>) g = g == nullptr ? x.graph_ptr() : g;
  };
  (take(h), ...);
  if (g == nullptr) return graph_of(tensor<float>{}); // its error says that ops are traced
  return *g;
}
// h; or a new leaf of g if h belongs to no trace or to another one: the rule is broken, and the trace goes on.
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
// rows and columns of A, or of its transpose if A is one
template <sparse_operand A> constexpr shape extents_of() {
  if constexpr (csr_matrix<A>) return A::extents;
  else return shape{2, {decltype(A::a)::extents.d[1], decltype(A::a)::extents.d[0]}};
}
template <shape B, extent_t N>
concept vector_or_matrix_of_rows = (B.rank == 1 || B.rank == 2) && B.d[0] == N;
template <shape B, extent_t N>
concept vector_or_matrix_of_columns = (B.rank == 1 || B.rank == 2) && B.d[B.rank > 0 ? B.rank - 1 : 0] == N;
template <bool Fits, shape L, shape R>
concept sampled_extents_agree = Fits;
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
} // namespace detail

// ---- what the user writes -------------------------------------------------------------------------------------
// A is a tl::csr<T, m, n, e>, T float or double. Errors: compile errors. Cost: proportional to the stored entries.

// transpose(A): A^T as an operand of matmul; nothing is copied
template <detail::csr_matrix A> constexpr auto transpose(const A& a) { return detail::transposed_csr<A>{a}; }
template <class A> constexpr A transpose(const detail::transposed_csr<A>& t) { return t.a; }

// matmul(A, b): (m, n) sparse, (n) or (n, k) -> (m) or (m, k); A may be a transpose(A)
// Errors: b has as many rows as A has columns, and its element type.
// Cost: 2 e k flops; with a transpose the partial results of chunks of rows are added.
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
// Cost: 2 e k flops; if b is a matrix, b and the result are transposed.
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
// Errors: l and r are both vectors or both matrices of these extents, with A's element type.
// Cost: 2 e k flops (1 e for vectors).
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

} // namespace tapeless
