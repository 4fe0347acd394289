#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The laws of every op, run over a list of cases:
//   check_laws(cases<arguments<X...>, constants<C...>>(case, case, ...), {n, ..}, domains of X, fill for C)
// A case is an op as a function of the handles (x..., c...) and the same function of ref::arrays. All cases of one
// list are traced as one program, which has y, J v, J^T u, the derivative of J^T u along v (forward over reverse), and
// the cotangents of (x, u) -> J^T u (reverse over reverse). A cotangent u that is zero for all but one case singles
// that case out. Then, for each case:
//   y equals the reference                                        J^T u equals central finite differences
//   <u, J v> == <J^T u, v>                                        H v equals the finite difference of J^T u
//   H v by jvp of vjp == H v by vjp of vjp: <w, H v> symmetric    J v by jvp == J v by vjp of vjp
//   the flops that cost<...>() states == those counted in the reference
// The named extent 'n' takes each of the sizes.
//
// examine_laws(...) returns what check_laws checks, for the negative controls. check_values is the law of the value,
// in float; check_flops that of the flops alone, for programs of ops that stand in derivatives only.

#include <reference/array.hpp>
#include <reference/counted.hpp>
#include <reference/sparse.hpp>

#include <tapeless/tapeless.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace laws {

namespace tl = tapeless;
using flat = std::vector<double>;

template <class... X> using arguments = std::tuple<X...>;
template <class... C> using constants = std::tuple<C...>;

// What |y - reference| may be: roundings * eps * scale.
enum class scale {
  result, // |y|: one rounding of the result
  terms   // sum of |terms|: the reference of the absolute values
};

template <class Op, class Ref> struct law_case {
  using op_type = Op;
  using ref_type = Ref;
  const char* name;
  Op op;
  Ref ref;
  double roundings = 4;
  scale by = scale::result;
  std::int64_t (*counted)(std::int64_t n) = nullptr; // the rows of its selection, named 'k', 'l', 'm' or 'o'
};
template <class Op, class Ref, class... More> law_case(const char*, Op, Ref, More...) -> law_case<Op, Ref>;
// exp(x) of a handle is tapeless::exp, of a ref::array it is ref::exp: one function says both.
template <class Op> constexpr law_case<Op, Op> both(const char* name, Op op, double roundings = 4,
                                                    scale by = scale::result) {
  return {name, op, op, roundings, by};
}
template <class Op, class Ref> constexpr law_case<Op, Ref> pair(const char* name, Op op, Ref r,
                                                                double roundings = 4,
                                                                scale by = scale::result) {
  return {name, op, r, roundings, by};
}
// A case with a selection that has a name of its own: how many rows a run counts.
template <class Op, class Ref> constexpr law_case<Op, Ref> counting(std::int64_t (*rows)(std::int64_t n),
                                                                    law_case<Op, Ref> c) {
  c.counted = rows;
  return c;
}
// Elements that move are exact; an op that rounds once is off by half an eps of its result.
inline constexpr double exact = 0, rounds_once = 0.5;

// Cases that share their arguments and are traced as one program.
template <class X, class C, class... Case> struct law_cases {
  std::tuple<Case...> list;
};
template <class X, class C = constants<>, class... Case> constexpr law_cases<X, C, Case...> cases(Case... c) {
  return {{c...}};
}

// Leaves after each other; the elements of all leaves after each other.
struct blocks {
  std::vector<ref::dims> shape;
  std::vector<flat> data;
};

// One evaluation of the law program. u_k: only case k has a cotangent.
struct evaluation {
  std::vector<flat> y;    // by case
  std::vector<flat> jv;   // by case
  flat jtu, hv, hv_again; // over all x
  std::vector<flat> jv_again;
};

// The part of a law that knows no types.
struct case_info {
  std::string name;
  double roundings;
  scale by;
  double flops; // of the op, as its cost states them
  std::function<std::int64_t()> reference_flops;
  std::function<flat(const flat& x, bool absolute)> reference; // absolute: of |x|
};
struct law_run {
  std::vector<ref::dims> x_shape;
  std::vector<case_info> cases;
  std::vector<std::size_t> y_size; // by case
  std::function<evaluation(const flat& x, const flat& v, const std::vector<flat>& u)> evaluate;
  std::function<std::vector<flat>(const flat& x)> values; // y alone, by case
};

// Every input drawn from [lo, hi]; all distinct, and from 0, where separated.
struct domain {
  double lo = -1, hi = 1;
  bool separated = false;
};

// One law of one case: it holds, or `why` says how it does not.
struct finding {
  std::string name, law;
  bool holds = true;
  std::string why;
};
using findings = std::vector<finding>;
// Laws of value and derivative, in double.
findings examine(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed);
// Law of value, in float.
findings examine_float(const law_run& run, const std::vector<domain>& domains, std::uint64_t seed);
finding examine_flops(const char* name, double flops, std::int64_t counted);
void check(const findings& found);

// ---- from types to blocks ---------------------------------------------------------------------------------------

template <class Leaf> ref::dims shape_of(const Leaf& leaf) {
  ref::dims s;
  for (int i = 0; i < leaf.rank(); ++i) s.push_back(leaf.extent(i));
  return s;
}
template <class Tree> std::vector<flat> copy_out(const Tree& tree) {
  std::vector<flat> r;
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) { r.emplace_back(leaf.begin(), leaf.end()); });
  return r;
}
inline flat joined(const std::vector<flat>& parts) {
  flat r;
  for (const flat& p : parts) r.insert(r.end(), p.begin(), p.end());
  return r;
}
template <class Tree> void copy_in(const Tree& tree, const flat& from) {
  std::size_t at = 0;
  tl::detail::for_each_leaf(tree, [&](const auto& leaf) {
    for (auto& e : leaf) e = static_cast<std::remove_cvref_t<decltype(e)>>(from[at++]);
  });
}

template <class... Case> struct all_of {
  constexpr auto operator()(const auto&... x) const { return std::tuple{typename Case::op_type{}(x...)...}; }
};
template <class F> struct of_tuples {
  constexpr auto operator()(const auto& x, const auto& c) const {
    return std::apply(
        [&](const auto&... a) { return std::apply([&](const auto&... b) { return F{}(a..., b...); }, c); },
        x);
  }
};
template <class F> struct law_function {
  constexpr auto operator()(const auto& x, const auto& c, const auto& v, const auto& u) const {
    constexpr of_tuples<F> f{};
    constexpr auto pull = tl::vjp<0>(f); // (x, c, u) -> J^T u
    const auto second = tl::vjp<0, 2>(pull)(x, c, u, v);
    return std::tuple{f(x, c),
                      tl::jvp<0>(f)(x, c, v),
                      pull(x, c, u),
                      tl::jvp<0>(pull)(x, c, u, v),
                      std::get<0>(second),
                      std::get<1>(second)};
  }
};

template <class... Tree> constexpr bool has_names = [] {
  bool any = false;
  const auto see = [&]<class H>(const H&) { any = any || H::names.count > 0; };
  (tl::detail::for_each_leaf(*std::array{Tree{}}.begin(), see), ...);
  return any;
}();
template <class F, class... A, class... Option> auto bind(std::int64_t capacity, Option... option) {
  if constexpr (has_names<A...>) return tl::jit(F{}).template bind<A...>(tl::dim<'n'>(capacity), option...);
  else return tl::jit(F{}).template bind<A...>(option...);
}

template <class T> struct reference_type {
  using type = T;
};
template <> struct reference_type<bool> {
  using type = ref::boolean;
};
template <class R, class Leaf> auto reference_array(const Leaf& leaf) {
  using T = typename Leaf::value_type;
  using E = std::conditional_t<std::is_floating_point_v<T>, R, typename reference_type<T>::type>;
  ref::array<E> a(shape_of(leaf));
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>)
      a.data[i] = E(static_cast<double>(leaf[static_cast<std::int64_t>(i)]));
    else a.data[i] = static_cast<E>(leaf[static_cast<std::int64_t>(i)]);
  }
  return a;
}
// The members of a tuple as ref::arrays, floating-point ones as R, and as ref::csr<R> where they are sparse matrices.
template <class R, class... X> auto reference_arrays(const std::tuple<X...>& tree) {
  const auto one = [](const auto& x) {
    using X0 = std::remove_cvref_t<decltype(x)>;
    if constexpr (tl::detail::is_tiled_v<X0>) { // one tile, whose entries stand by rows
      ref::pattern p{x.rows(), x.cols(), {}, std::vector<std::int32_t>(static_cast<std::size_t>(x.rows()))};
      const std::int32_t* const tile = x.columns().data();
      tl::detail::each_segment(tile, x.nnz(), [&](std::int64_t row, std::int64_t, auto place) {
        p.columns.push_back(tl::detail::number_in_tile(tile, place(0)));
        for (auto i = static_cast<std::size_t>(row); i < p.row_end.size(); ++i) ++p.row_end[i];
      });
      return ref::csr<R>{p, reference_array<R>(x.values())};
    } else if constexpr (tl::detail::is_csr_v<X0>)
      return ref::csr<R>{{x.rows(),
                          x.cols(),
                          {x.columns().begin(), x.columns().end()},
                          {x.row_end().begin(), x.row_end().end()}},
                         reference_array<R>(x.values())};
    else return reference_array<R>(x);
  };
  return std::apply([&](const X&... x) { return std::tuple{one(x)...}; }, tree);
}

template <class R, class Ref, class XT, class CT> auto call_reference(const Ref& f, const XT& x,
                                                                      const CT& c) {
  return std::apply([&](const auto&... a) { return f(a...); },
                    std::tuple_cat(reference_arrays<R>(x), reference_arrays<R>(c)));
}

template <class X, class C, class... Case> struct law_types;
template <class... X, class... C, class... Case> struct law_types<std::tuple<X...>, std::tuple<C...>,
                                                                  Case...> {
  using F = all_of<Case...>;
  using Y = tl::detail::traced_result<F, X..., C...>;
  using xs = std::tuple<X...>;
  using cs = std::tuple<C...>;

  template <class One> static constexpr tl::cost cost_of =
      tl::jit(typename One::op_type{}).template cost<X..., C...>();
};

template <class L> struct law_data {
  tl::owned<typename L::xs> x, v;
  tl::owned<typename L::cs> c;
  tl::owned<typename L::Y> u;
  explicit law_data(std::int64_t n)
      : x(tl::dim<'n'>(n)), v(tl::dim<'n'>(n)), c(tl::dim<'n'>(n)), u(tl::dim<'n'>(n)) {}
};

// fill(tree of constants, n): labels, masks, indices
template <class L, class Fill, class... Case>
law_run describe(law_data<L>& d, std::int64_t n, const Fill& fill, const std::tuple<Case...>& list) {
  law_run r;
  tl::detail::for_each_leaf(*d.x, [&](const auto& leaf) { r.x_shape.push_back(shape_of(leaf)); });
  tl::detail::for_each_leaf(
      *d.u, [&](const auto& leaf) { r.y_size.push_back(static_cast<std::size_t>(leaf.size())); });
  fill(*d.c, n);
  const auto add = [&](const auto& one) {
    const auto* c = &one;
    const std::int64_t k = c->counted == nullptr ? 1 : c->counted(n);
    r.cases.push_back(
        {c->name, c->roundings, c->by,
         L::template cost_of<std::remove_cvref_t<decltype(one)>>.primal.flops.at(
             tl::dim<'n'>(n), tl::dim<'k'>(k), tl::dim<'l'>(k), tl::dim<'m'>(k), tl::dim<'o'>(k)),
         [&d, c] { return ref::flops_of([&] { (void)call_reference<ref::counted>(c->ref, *d.x, *d.c); }); },
         [&d, c](const flat& x, bool absolute) {
           flat q = x;
           if (absolute)
             for (double& e : q) e = e < 0 ? -e : e;
           copy_in(*d.x, q);
           return call_reference<double>(c->ref, *d.x, *d.c).data;
         }});
  };
  std::apply([&](const Case&... c) { (add(c), ...); }, list);
  return r;
}

struct no_constants {
  void operator()(const auto&, std::int64_t) const {}
};

template <class X, class C, class... Case, class Fill = no_constants>
findings examine_laws(const law_cases<X, C, Case...>& c, const std::vector<std::int64_t>& sizes,
                      const std::vector<domain>& domains, const Fill& fill = {}) {
  using L = law_types<X, C, Case...>;
  const std::int64_t capacity = *std::max_element(sizes.begin(), sizes.end());
  findings found;
  // thousands of runs of a few elements each: one thread; the values in float are those of the default team
  auto run = bind<law_function<typename L::F>, X, C, X, typename L::Y>(capacity, tl::threads(1));
  for (const std::int64_t n : sizes) {
    law_data<L> d(n);
    law_run r = describe(d, n, fill, c.list);
    r.evaluate = [&](const flat& x, const flat& v, const std::vector<flat>& u) {
      copy_in(*d.x, x);
      copy_in(*d.v, v);
      copy_in(*d.u, joined(u));
      const auto [y, jv, jtu, hv, hv_again, jv_again] = run(*d.x, *d.c, *d.v, *d.u);
      return evaluation{copy_out(y),
                        copy_out(jv),
                        joined(copy_out(jtu)),
                        joined(copy_out(hv)),
                        joined(copy_out(hv_again)),
                        copy_out(jv_again)};
    };
    for (finding& f : examine(r, domains, 7u + static_cast<std::uint64_t>(n))) found.push_back(std::move(f));
  }
  return found;
}
template <class X, class C, class... Case, class Fill = no_constants>
void check_laws(const law_cases<X, C, Case...>& c, const std::vector<std::int64_t>& sizes,
                const std::vector<domain>& domains, const Fill& fill = {}) {
  check(examine_laws(c, sizes, domains, fill));
}

// Value alone, in float.
template <class X, class C, class... Case, class Fill = no_constants>
void check_values(const law_cases<X, C, Case...>& c, const std::vector<std::int64_t>& sizes,
                  const std::vector<domain>& domains, const Fill& fill = {}) {
  using L = law_types<X, C, Case...>;
  const std::int64_t capacity = *std::max_element(sizes.begin(), sizes.end());
  auto run = bind<of_tuples<typename L::F>, X, C>(capacity);
  for (const std::int64_t n : sizes) {
    law_data<L> d(n);
    law_run r = describe(d, n, fill, c.list);
    r.values = [&](const flat& x) {
      copy_in(*d.x, x);
      return copy_out(run(*d.x, *d.c));
    };
    check(examine_float(r, domains, 11u + static_cast<std::uint64_t>(n)));
  }
}

// Flops alone, of both halves: for programs that hold derivatives.
template <class X, class C, class... Case>
void check_flops(const law_cases<X, C, Case...>& c, const std::vector<std::int64_t>& sizes = {1}) {
  using L = law_types<X, C, Case...>;
  for (const std::int64_t n : sizes) {
    const tl::owned<X> x(tl::dim<'n'>{n});
    const tl::owned<C> k(tl::dim<'n'>{n});
    const auto one = [&](const auto& d) {
      const auto stated = L::template cost_of<std::remove_cvref_t<decltype(d)>>.flops().at(tl::dim<'n'>(n));
      const auto counted = ref::flops_of([&] { (void)call_reference<ref::counted>(d.ref, *x, *k); });
      check({examine_flops(d.name, stated, counted)});
    };
    std::apply([&](const Case&... d) { (one(d), ...); }, c.list);
  }
}
// The same cases on other arguments.
template <class X, class C = constants<>, class X0, class C0, class... Case> constexpr law_cases<X, C,
                                                                                                 Case...>
with(const law_cases<X0, C0, Case...>& c) {
  return {c.list};
}

inline const std::vector<std::int64_t> no_names{1}; // a law without named extents

// ---- every op has a case ----------------------------------------------------------------------------------------

template <class Program> constexpr bool occurs(tl::detail::op o) {
  for (const tl::detail::node& v : Program::value.nodes)
    if (v.o == o) return true;
  return false;
}
template <class... Program, int N> constexpr bool all_occur(const tl::detail::op_rule (&family)[N]) {
  for (const tl::detail::op_rule& r : family)
    if (r.k != tl::detail::kind::leaf && !(occurs<Program>(r.o) || ...)) return false;
  return true;
}
template <class Cases> struct programs_of;
template <class... X, class... C,
          class... Case> struct programs_of<law_cases<std::tuple<X...>, std::tuple<C...>, Case...>> {
  using L = law_types<std::tuple<X...>, std::tuple<C...>, Case...>;
  using with_derivatives = tl::detail::traced<law_function<typename L::F>, typename L::xs, typename L::cs,
                                              typename L::xs, typename L::Y>;
  using value_only = tl::detail::traced<typename L::F, X..., C...>;
};
// A family is a table of rules. Do these cases, with their derivatives, make use of every op of it?
template <class... Cases, int N> constexpr bool covers(const tl::detail::op_rule (&family)[N],
                                                       const Cases&...) {
  return all_occur<typename programs_of<Cases>::with_derivatives...>(family);
}
// The same without the derivatives: are the flops of every op compared?
template <class... Cases, int N> constexpr bool counts(const tl::detail::op_rule (&family)[N],
                                                       const Cases&...) {
  return all_occur<typename programs_of<Cases>::value_only...>(family);
}

} // namespace laws
