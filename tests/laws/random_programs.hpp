#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Random programs: program<Seed, Length> is a function of six tensors, Length ops drawn in constant evaluation, with shapes that
// change as ops change them: elementwise ops, reductions, products, masks of computed values, numbers beside tensors, rows that
// a selection keeps. The leading extent is a name, a prime, 1 or 0. Values stay of order 1, so that finite differences are
// exact enough.
//   check_programs<First, Count, Length>(): for each seed, and for each value of a named extent,
//     f(x) == the same ops by the loops of ref::, <gradient, v> == the finite difference of these along a random v,
//     and value and gradient are those of the program bound with tl::plain

#include <reference/elementwise.hpp>
#include <reference/index.hpp>
#include <reference/matmul.hpp>
#include <reference/norm.hpp>
#include <reference/reduce.hpp>
#include <reference/select.hpp>
#include <reference/shape.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>
#include <support/fd.hpp>
#include <support/random.hpp>
#include <support/same_results.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace laws {

namespace tl = tapeless;

class drawer {
  std::uint64_t state_;

public:
  constexpr explicit drawer(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  constexpr int below(int n) { // splitmix64
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(n));
  }
};

// ---- what is drawn

// (p, q), (q, r), (p), (q), (2, p, 1) and a number
struct extents {
  tl::extent_t p, q, r;
  bool may_be_empty; // p: of nothing there is no maximum
};
constexpr extents extents_of(std::uint64_t seed) {
  constexpr tl::extent_t n = tl::dyn<'n'>, leading[] = {n, n, n, n, 13, 7, 3, 1, 0},
                         others[] = {4, 3, 5, 2, 1, 7};
  drawer draw(seed + 77);
  const tl::extent_t p = leading[draw.below(9)];
  return {p, others[draw.below(6)], others[draw.below(6)], p == 0 || (p == n && draw.below(2) == 0)};
}
inline constexpr int arguments = 6;
constexpr std::array<tl::shape, arguments> shapes_of(const extents& e) {
  return {{{2, {e.p, e.q}}, {2, {e.q, e.r}}, {1, {e.p}}, {1, {e.q}}, {3, {2, e.p, 1}}, {}}};
}

enum class act {
  same,
  flat,
  tanh,
  sigmoid,
  exp,
  log,
  sqrt,
  relu,
  scale,
  pow,
  add,
  sub,
  mul,
  div,
  max,
  min,
  less,
  average_first,
  sum_last,
  average_both,
  max_first,
  logsumexp_last,
  softmax_last,
  transpose,
  slice_first,
  slice_last,
  pad,
  concat,
  product_of_rows,
  product_with_itself,
  product,
  turn,
  gather_argmax,
  // beside a number, which is the last argument, or a constant
  times_number,
  min_number,
  max_number,
  where_below_number,
  number_where_positive,
  number_or_other,
  number_of_mask,
  masked,
  masked_by_cast,
  relu_above_number,
  min_constant,
  max_constant,
  number_beside,
  masked_by_both,
  // of selected rows
  rows_where,
  rows_above_number,
  rows_of_greatest,
  rows_of_least,
  repeated_number,
  rows_put_back,
  positions_of_rows,
  count_
};
inline constexpr int act_count = static_cast<int>(act::count_);
struct instruction { // value k of the program is what is done with the values a and b
  act what = act::same;
  int a = 0, b = 0;
  char name = 0; // of its selection
};
inline constexpr char names_of_selections[] = "abcdefgh";

constexpr double elements(const tl::shape& s) { // a name stands for 13
  double n = 1;
  for (int i = 0; i < s.rank; ++i) {
    n *= static_cast<double>(tl::detail::coefficient(s.d[i]));
    for (int k = 0; k < tl::detail::degree(s.d[i]); ++k) n *= 13;
  }
  return n;
}
constexpr bool small(const tl::shape& s) {
  return tl::detail::numel_representable(s) && tl::detail::degree(tl::detail::numel(s)) <= 3 &&
         elements(s) <= 2500;
}
// Can a be done with values of these shapes?
constexpr bool fits(act what, const tl::shape& s, const tl::shape& t, bool may_be_empty, bool has_name) {
  using enum act;
  const int rank = s.rank;
  const auto known = [&](tl::extent_t e, tl::extent_t least) {
    return tl::detail::is_static(e) && e >= least;
  };
  const auto not_empty = [&](tl::extent_t e) {
    return known(e, 1) || (!may_be_empty && tl::detail::names(e) == tl::detail::names(tl::dyn<'n'>));
  };
  const bool together = tl::detail::broadcastable(s, t) && small(tl::detail::broadcast(s, t));
  const bool selects = has_name && rank == 1 && t.rank >= 1 && s[0] == t[0];
  switch (what) {
    case add:
    case sub:
    case mul:
    case div:
    case max:
    case min:
    case less:
    case number_or_other:
    case masked:
    case masked_by_cast:
    case masked_by_both: return together;
    case average_first:
    case sum_last:
    case flat: return rank >= 1;
    case average_both:
    case transpose: return rank >= 2;
    case max_first: return rank >= 1 && not_empty(s[0]);
    case logsumexp_last:
    case softmax_last: return rank >= 1 && not_empty(s[rank - 1]);
    case slice_first: return rank >= 1 && known(s[0], 2);
    case slice_last: return rank >= 1 && known(s[rank - 1], 3);
    case pad:
    case concat: return rank >= 1 && known(s[0], 0) && s[0] <= 6;
    case product_of_rows: return rank >= 2 && s == t && small(s);
    case product_with_itself: return rank == 2;
    case product: return rank == 2 && t.rank >= 1 && s[1] == (t.rank == 1 ? t[0] : t[t.rank - 2]);
    case turn: return rank == 3;
    case gather_argmax: return rank >= 1 && rank <= 2 && not_empty(s[0]) && elements(s) <= 200;
    case rows_where:
    case rows_above_number:
    case rows_of_greatest:
    case rows_of_least:
    case rows_put_back:
    case positions_of_rows: return selects;
    case repeated_number: return has_name && rank == 1;
    case same:
    case count_: return false;
    default: return true;
  }
}

// ---- in the library

constexpr tl::var selected(act what, tl::var a, tl::var s, char name) { // rows of the vector a
  using namespace tl::detail;
  graph& g = *a.g;
  const tl::extent_t count = tl::extent_t{1} | (name_code(name) << name_shift);
  const tl::var values = what == act::rows_above_number ? a - s : a;
  select_attributes q;
  if (what == act::rows_of_greatest || what == act::rows_of_least) {
    q.what = what == act::rows_of_greatest ? selection::top : selection::bottom;
    if (what == act::rows_of_least) q.percentage = 40;
    else q.k = 3;
    return {&g, select(g, values.id(), no_node, q, count)};
  }
  return {&g, select(g, (values > 0.1).id(), no_node, q, count)};
}
constexpr tl::var flattened(tl::var a) {
  return {a.g, tl::detail::reshape(*a.g, a.id(), tl::shape{1, {tl::detail::numel(a.dims())}})};
}
template <int... Axes> constexpr tl::var averaged(tl::var a) { // also of nothing
  return tl::sum<Axes...>(a, tl::keepdims) /
         (1.0 + tl::sum<Axes...>(tl::where(a == a, 1.0, 0.0), tl::keepdims));
}
constexpr tl::var dropped_first(tl::var a) {
  return {a.g, tl::detail::reshape(*a.g, a.id(), tl::detail::dropped(a.dims(), 1u))};
}
constexpr tl::var done(const instruction& i, tl::var a, tl::var b, tl::var s) {
  using enum act;
  namespace d = tl::detail;
  d::graph& g = *a.g;
  const tl::var mask = a > 0.1;
  const auto positive = [&] { return tl::cast<double>(mask); };
  switch (i.what) {
    case flat: return flattened(a);
    case act::tanh: return tl::tanh(a);
    case act::sigmoid: return tl::sigmoid(a);
    case act::exp: return tl::exp(tl::tanh(a));
    case act::log: return tl::log(1.5 + tl::square(a));
    case act::sqrt: return tl::sqrt(1.0 + tl::square(a));
    case act::relu: return tl::relu(a);
    case scale: return -a * 0.5;
    case act::pow: return tl::pow(1.0 + tl::square(tl::tanh(a)), 1.5);
    case add: return a + b;
    case sub: return a - b;
    case mul: return tl::tanh(a) * tl::tanh(b);
    case div: return a / (2.0 + tl::square(b));
    case act::max: return tl::max(a, b);
    case act::min: return tl::min(a, b);
    case less: return tl::where(a < b, tl::tanh(a), b * 0.7);
    case average_first: return dropped_first(averaged<0>(a));
    case sum_last: return tl::tanh(tl::sum<-1>(a));
    case average_both: return averaged<0, -1>(a);
    case max_first: return tl::max<0>(a);
    case logsumexp_last: return tl::logsumexp<-1>(a, tl::keepdims);
    case softmax_last: return tl::softmax<-1>(a);
    case transpose: return tl::transpose(a);
    case slice_first: return tl::slice<0, 0, 2>(a);
    case slice_last: return tl::slice<-1, 1, 3>(a);
    case act::pad: return tl::pad<0, 1, 0>(a);
    case act::concat: return tl::concat<0>(a, tl::tanh(a));
    case product_of_rows: return tl::tanh(tl::matmul(a, tl::transpose(b)));
    case product_with_itself: return tl::tanh(tl::matmul(tl::transpose(a), a));
    case product: return tl::tanh(tl::matmul(a, b));
    case turn: return tl::transpose<2, 0, 1>(a);
    case gather_argmax: return tl::gather<0>(a, tl::argmax<0>(a));
    case times_number: return a * s;
    case min_number: return tl::min(a, s);
    case max_number: return tl::max(s, a);
    case where_below_number: return tl::where(a < s, a, 0.0);
    case number_where_positive: return tl::where(mask, s, 0.0);
    case number_or_other: return tl::where(a > b, s, b * 0.5);
    case number_of_mask: return positive() * s;
    case masked: return tl::where(mask, b, 0.0);
    case masked_by_cast: return positive() * b;
    case relu_above_number: return tl::relu(a - s);
    case min_constant: return tl::min(a, 0.2);
    case max_constant: return tl::max(a, -0.1);
    case number_beside: return tl::where(mask, 0.0, s);
    case masked_by_both: return tl::where(mask && b < 0.3, b, 0.0);
    case rows_where:
    case rows_above_number:
    case rows_of_greatest:
    case rows_of_least: return {&g, d::gather(g, b.id(), selected(i.what, a, s, i.name).id(), 0)};
    case repeated_number: {
      const tl::shape rows = selected(rows_where, a, s, i.name).dims();
      return {&g, d::expand(g, s.id(), rows)};
    }
    case rows_put_back: {
      const int rows = selected(rows_where, a, s, i.name).id();
      const tl::var kept = tl::var{&g, d::gather(g, b.id(), rows, 0)} * 0.5;
      return {&g, d::scatter_add(g, kept.id(), rows, 0, b.dims())};
    }
    case positions_of_rows:
      return tl::tanh(tl::cast<double>(tl::var{&g, d::iota(g, selected(rows_where, a, s, i.name).dims())}) *
                      0.1) *
             s;
    case same:
    case count_: break;
  }
  return a;
}

// ---- in the reference

using values = ref::array<double>;
inline values number(double x) { return ref::constant(x); }
inline ref::array<ref::boolean> mask_of(const values& a) { return ref::greater(a, number(0.1)); }
inline ref::array<std::int32_t> selected(act what, const values& a, const values& s) {
  ref::positions rows;
  if (what == act::rows_of_greatest) rows = ref::extreme(false, std::min<std::int64_t>(3, a.size()), a.data);
  else if (what == act::rows_of_least)
    rows = ref::extreme(true, a.size() == 0 ? 0 : std::max<std::int64_t>(1, a.size() * 40 / 100), a.data);
  else rows = ref::nonzero(mask_of(what == act::rows_above_number ? a - s : a).data);
  return {{static_cast<std::int64_t>(rows.size())}, rows};
}
inline values averaged(const values& a, const ref::dims& axes) {
  return ref::sum(a, axes, true) /
         (number(1) + number(static_cast<double>(ref::reduced_count(a.shape, axes))));
}
inline values done(const instruction& i, const values& a, const values& b, const values& s) {
  using enum act;
  const values zero = number(0);
  const auto mask = mask_of(a);
  switch (i.what) {
    case flat: return ref::reshape(a, {a.size()});
    case act::tanh: return ref::tanh(a);
    case act::sigmoid: return ref::sigmoid(a);
    case act::exp: return ref::exp(ref::tanh(a));
    case act::log: return ref::log(number(1.5) + ref::square(a));
    case act::sqrt: return ref::sqrt(number(1) + ref::square(a));
    case act::relu: return ref::relu(a);
    case scale: return -a * number(0.5);
    case act::pow: return ref::pow(number(1) + ref::square(ref::tanh(a)), number(1.5));
    case add: return a + b;
    case sub: return a - b;
    case mul: return ref::tanh(a) * ref::tanh(b);
    case div: return a / (number(2) + ref::square(b));
    case act::max: return ref::max(a, b);
    case act::min: return ref::min(a, b);
    case less: return ref::where(ref::less(a, b), ref::tanh(a), b * number(0.7));
    case average_first: {
      const values r = averaged(a, {0});
      return ref::reshape(r, ref::dims(r.shape.begin() + 1, r.shape.end()));
    }
    case sum_last: return ref::tanh(ref::sum(a, {-1}));
    case average_both: return averaged(a, {0, -1});
    case max_first: return ref::max(a, {0});
    case logsumexp_last: return ref::logsumexp(a, {-1}, true);
    case softmax_last: {
      const values e = ref::exp(a - ref::finite_max(a, {-1}));
      return e / ref::sum(e, {-1}, true);
    }
    case transpose: {
      ref::dims perm(a.rank());
      for (std::size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<std::int64_t>(k);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      return ref::transpose(a, perm);
    }
    case slice_first: return ref::slice(a, 0, 0, 2);
    case slice_last: return ref::slice(a, -1, 1, 3);
    case act::pad: return ref::pad(a, 0, 1, 0);
    case act::concat: return ref::concat<double>({a, ref::tanh(a)}, 0);
    case product_of_rows: return ref::tanh(ref::matmul(a, b, false, true));
    case product_with_itself: return ref::tanh(ref::matmul(a, a, true, false));
    case product: {
      if (b.rank() > 1) return ref::tanh(ref::matmul(a, b));
      const values y = ref::matmul(a, ref::reshape(b, {b.size(), 1}));
      return ref::tanh(ref::reshape(y, {y.size()}));
    }
    case turn: return ref::transpose(a, {2, 0, 1});
    case gather_argmax: return ref::take(a, ref::argmax(a, {0}), 0);
    case times_number: return a * s;
    case min_number: return ref::min(a, s);
    case max_number: return ref::max(s, a);
    case where_below_number: return ref::where(ref::less(a, s), a, zero);
    case number_where_positive: return ref::where(mask, s, zero);
    case number_or_other: return ref::where(ref::greater(a, b), s, b * number(0.5));
    case number_of_mask: return ref::cast<double>(mask) * s;
    case masked: return ref::where(mask, b, zero);
    case masked_by_cast: return ref::cast<double>(mask) * b;
    case relu_above_number: return ref::relu(a - s);
    case min_constant: return ref::min(a, number(0.2));
    case max_constant: return ref::max(a, number(-0.1));
    case number_beside: return ref::where(mask, zero, s);
    case masked_by_both: return ref::where(mask, ref::where(ref::less(b, number(0.3)), b, zero), zero * b);
    case rows_where:
    case rows_above_number:
    case rows_of_greatest:
    case rows_of_least: return ref::take(b, selected(i.what, a, s), 0);
    case repeated_number: return ref::broadcast_to(s, selected(rows_where, a, s).shape);
    case rows_put_back: {
      const auto rows = selected(rows_where, a, s);
      return ref::scatter_add(rows, ref::take(b, rows, 0) * number(0.5), 0, b.shape[0]);
    }
    case positions_of_rows:
      return ref::tanh(ref::cast<double>(ref::iota<double>(selected(rows_where, a, s).shape, 0)) *
                       number(0.1)) *
             s;
    case same:
    case count_: break;
  }
  return a;
}

// ---- the program

template <int Length> struct recipe {
  std::array<instruction, Length> list{};
};
// The values behind the arguments begin with a product and a number for each of its rows. The later half of the values is drawn
// more often.
template <int Length> constexpr recipe<Length> drawn(std::uint64_t seed) {
  const extents e = extents_of(seed);
  drawer draw(seed);
  tl::detail::graph g;
  std::array<tl::var, arguments + Length> pool{};
  int at = 0, names = 0;
  for (const tl::shape& s : shapes_of(e)) {
    pool[static_cast<std::size_t>(at)] = {&g, g.input(at, tl::dtype::f64, s)};
    ++at;
  }
  recipe<Length> r;
  for (int k = 0; k < Length; ++k, ++at) {
    instruction& i = r.list[static_cast<std::size_t>(k)];
    const auto shape = [&](int x) { return pool[static_cast<std::size_t>(x)].dims(); };
    if (k == 0) i = {act::product, 0, 1, 0};
    else if (k == 1) i = {act::sum_last, at - 1, at - 1, 0};
    else
      for (int tries = 0; tries < 40 && i.what == act::same; ++tries) {
        const int a = draw.below(2) == 0 ? at - 1 - draw.below(3) : draw.below(at), b = draw.below(at);
        const act what = shape(a).rank > 3 ? act::flat : static_cast<act>(draw.below(act_count));
        if (fits(what, shape(a), shape(b), e.may_be_empty, names < 8)) i = {what, a, b, 0};
      }
    if (i.what >= act::rows_where) i.name = names_of_selections[names++];
    const auto value = [&](int x) { return pool[static_cast<std::size_t>(x)]; };
    pool[static_cast<std::size_t>(at)] = done(i, value(i.a), value(i.b), value(arguments - 1));
  }
  return r;
}
template <std::uint64_t Seed, int Length> struct program {
  static constexpr recipe<Length> ops = drawn<Length>(Seed);
  constexpr auto operator()(const auto&... x) const {
    std::array<tl::var, arguments + Length> pool{tl::var(x)...};
    std::size_t at = arguments;
    for (const instruction& i : ops.list) {
      const auto of = [&](int k) { return pool[static_cast<std::size_t>(k)]; };
      pool[at++] = done(i, of(i.a), of(i.b), of(arguments - 1));
    }
    const auto averaged_last = [&](tl::var y) {
      const tl::var all = flattened(y);
      return tl::var{all.g, tl::detail::reshape(*all.g, averaged<0>(all).id(), tl::shape{})};
    };
    return (averaged_last(pool[at - 1]) + averaged_last(tl::square(pool[at - 2])) +
            averaged_last(tl::tanh(pool[at - 3])))
        .template as<double>();
  }
};
template <int Length> double reference_of(const recipe<Length>& ops, const std::vector<ref::dims>& shapes,
                                          const std::vector<double>& x) {
  std::vector<values> pool;
  std::size_t at = 0;
  for (const ref::dims& s : shapes) {
    values v(s);
    for (double& e : v.data) e = x[at++];
    pool.push_back(v);
  }
  for (const instruction& i : ops.list)
    pool.push_back(done(i, pool[static_cast<std::size_t>(i.a)], pool[static_cast<std::size_t>(i.b)],
                        pool[arguments - 1]));
  const auto averaged_last = [](const values& y) {
    return averaged(ref::reshape(y, {y.size()}), {0}).data[0];
  };
  const std::size_t last = pool.size() - 1;
  return averaged_last(pool[last]) + averaged_last(ref::square(pool[last - 1])) +
         averaged_last(ref::tanh(pool[last - 2]));
}

// ---- the comparison

struct program_values {
  double value;
  std::vector<double> gradient;
};
struct comparison {
  double value, expected;
  double along, scale; // <gradient, v>, and the sum of |terms| plus 1
  support::estimate estimate;
  bool equal_values() const { return std::abs(value - expected) <= 1e-11 * (1 + std::abs(expected)); }
  bool equal() const {
    return equal_values() && std::abs(along - estimate.value) <= 4 * estimate.error + 1e-9 * scale;
  }
  bool says_something() const { return estimate.error < 1e-3 * scale; }
};
// run(x) -> program_values, reference(x) -> double
template <class Run, class Reference>
comparison compare(std::uint64_t seed, std::size_t size, Run&& run, Reference&& reference) {
  const std::vector<double> x = support::random_values<double>(size, seed + 1000),
                            v = support::random_values<double>(size, seed + 2000);
  const program_values at = run(x);
  REQUIRE(at.gradient.size() == size);
  comparison c{at.value, reference(x), 0, 1, {}};
  for (std::size_t i = 0; i < size; ++i)
    c.along += at.gradient[i] * v[i], c.scale += std::abs(at.gradient[i] * v[i]);
  for (const double step : {1e-4, 1e-6}) { // a kink may be within the first
    c.estimate = support::finite_difference_directional(reference, x, v, step);
    if (c.equal()) break;
  }
  return c;
}

template <tl::shape S> using tensor_of = tl::basic_tensor<double, S>;
template <class X> X of_data(double* data, tl::extent_t n) {
  if constexpr (X::names.count == 0) return X(data);
  else return X(data, n);
}
template <std::uint64_t Seed, int Length, int... K>
void check_program(std::integer_sequence<int, K...>) {
  constexpr extents e = extents_of(Seed);
  constexpr std::array<tl::shape, arguments> shapes = shapes_of(e);
  [[maybe_unused]] constexpr auto f =
      tl::jit(tl::value_and_grad<K...>(program<Seed, Length>{})); // it has no state
  constexpr bool named = e.p == tl::dyn<'n'>;
  const auto bound = [&](auto... option) {
    if constexpr (named)
      return f.template bind<tensor_of<shapes_of(extents_of(Seed))[K]>...>(tl::dim<'n'>(17), option...);
    else return f.template bind<tensor_of<shapes_of(extents_of(Seed))[K]>...>(option...);
  };
  auto run = bound();
  auto plainly = bound(tl::plain);
  std::vector<tl::extent_t> sizes{e.p};
  if (named) sizes = {17, e.may_be_empty ? 0 : 2, 5, 1};
  for (const tl::extent_t n : sizes) {
    std::vector<ref::dims> dims;
    std::vector<std::size_t> begin{0};
    for (const tl::shape& s : shapes) {
      ref::dims q;
      for (int a = 0; a < s.rank; ++a) q.push_back(tl::detail::is_static(s.d[a]) ? s.d[a] : n);
      dims.push_back(q);
      begin.push_back(begin.back() + static_cast<std::size_t>(ref::element_count(q)));
    }
    const auto results_at = [&](auto& of, const std::vector<double>& x) {
      auto* const data = const_cast<double*>(x.data());
      return of(of_data<tensor_of<shapes_of(extents_of(Seed))[K]>>(data + begin[K], n)...);
    };
    const auto values_at = [&](const std::vector<double>& x) {
      const auto y = results_at(run, x);
      program_values r{std::get<0>(y)[0], {}};
      (r.gradient.insert(r.gradient.end(), std::get<K + 1>(y).begin(), std::get<K + 1>(y).end()), ...);
      return r;
    };
    const auto reference = [&](const std::vector<double>& x) {
      return reference_of(program<Seed, Length>::ops, dims, x);
    };
    comparison c{};
    for (std::uint64_t other = 0; other < 5; ++other) { // no jump of a mask is near
      c = compare(Seed + 10000 * other, begin.back(), values_at, reference);
      if (!c.equal_values() || c.says_something()) break;
    }
    const std::uint64_t seed = Seed;
    CAPTURE(seed);
    CAPTURE(n);
    CHECK_MESSAGE(c.equal_values(), "value ", c.value, ", reference ", c.expected);
    CHECK_MESSAGE(c.equal(), "<gradient, v> = ", c.along, ", finite difference ", c.estimate.value);
    CHECK(c.says_something());
    const std::vector<double> x = support::random_values<double>(begin.back(), Seed + 3000);
    CHECK(support::apart(support::leaves_of(results_at(plainly, x)),
                         support::leaves_of(results_at(run, x))) <= support::order_of_sums);
  }
}
template <std::uint64_t First, int Count, int Length> void check_programs() {
  [&]<int... K>(std::integer_sequence<int, K...>) {
    (check_program<First + K, Length>(std::make_integer_sequence<int, arguments>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
}

} // namespace laws
