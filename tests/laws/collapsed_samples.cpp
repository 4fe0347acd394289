// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What facts.attr says is so. Where an op makes rows of its first two axes from the same rows of an operand, the two can be
// one axis: the op of the reshaped operands, with its attribute renumbered, is the reshaped result. Each op whose
// attribute names axes is met. And facts.make makes an op of the same operands again.
#include "op_samples.hpp"

#include <doctest/doctest.h>
#include <support/random.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tl = tapeless;

namespace {

using namespace op_samples;

constexpr tl::shape collapsed(const tl::shape& s) {
  tl::shape r{1, {s.d[0] * s.d[1]}};
  for (int a = 2; a < s.rank; ++a) r.d[r.rank++] = s.d[a];
  return r;
}
// Are its first two axes those of operand k?
constexpr bool has_axes(const graph& g, const node& v, int k) {
  tl::shape s[3];
  for (int j = 0; j < 3; ++j)
    if (v.in[j] >= 0) s[j] = g[v.in[j]].s;
  for (int a = 0; a < 2; ++a)
    if (v.in[k] < 0 || s[k].rank < 2 ||
        !where_rows_come_from(v, s, {a, 1}, v.s.d[a]).operand[k].equals({a, 1}))
      return false;
  return true;
}
// Where axis a is then; and a wrong answer, to see that it is noticed.
struct one_less {
  constexpr int operator()(int a) const { return a < 2 ? 0 : a - 1; }
};
struct to_first {
  constexpr int operator()(int) const { return 0; }
};
// The op of sample F with its first two axes collapsed; F itself if it is not the op alone or they cannot be.
template <class F, op O, class Axis> struct collapsed_sample {
  constexpr auto operator()(auto... x) const {
    const auto y = F{}(x...);
    graph& g = graph_of(y);
    node v = g[y.id()];
    if (v.o == op::reshape) v = g[v.in[0]]; // behind a reduction
    if (v.o != O || v.s.rank < 2 || !has_axes(g, v, 0)) return y;
    int in[3] = {no_node, no_node, no_node};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) in[k] = has_axes(g, v, k) ? reshape(g, v.in[k], collapsed(g[v.in[k]].s)) : v.in[k];
    std::copy(in, in + 3, v.in);
    v.attr = renumbered(v.attr, rule(O).facts.attr.names, v.s.rank, Axis{});
    v.s = collapsed(v.s);
    return wrap<typename decltype(y)::value_type, decltype(y)::extents>(
        g, reshape(g, g.intern(v), decltype(y)::extents));
  }
};
// The op of sample F made again by facts.make. change: of the node before that.
struct no_change {
  constexpr void operator()(node&) const {}
};
struct from_begin { // of a slice: a wrong one, to see that it is noticed
  constexpr void operator()(node& v) const { v.attr2 = 0; }
};
template <class F, op O, class Change> struct remade_sample {
  constexpr auto operator()(auto... x) const {
    const auto y = F{}(x...);
    graph& g = graph_of(y);
    node top = g[y.id()];
    node v = top.o == O ? top : g[top.in[0]]; // behind a reduction, before a neg
    g.require(v.o == O, "the sample is the op, or one op of it");
    Change{}(v);
    const int in[3] = {v.in[0], v.in[1], v.in[2]}, r = rule(O).facts.make.call(g, v, in, v.s);
    if (top.o != O) top.in[0] = r;
    return wrap<typename decltype(y)::value_type, decltype(y)::extents>(g, top.o == O ? r : g.intern(top));
  }
};
// Does the program with collapsed axes differ from that of the sample?
template <class F, class G, class... X> constexpr bool is_another() {
  return traced<F, X...>::value.size != traced<G, X...>::value.size;
}
template <class F, class... X> std::vector<double> values() {
  support::splitmix64 random(7);
  static auto run = tl::jit(F{}).template bind<X...>();
  std::tuple<tl::owned<X>...> a;
  const auto fill = [&](const auto& x) {
    for (auto& e : x) e = static_cast<std::remove_reference_t<decltype(e)>>(random.below(2));
    if constexpr (std::is_floating_point_v<typename std::remove_cvref_t<decltype(x)>::value_type>)
      for (auto& e : x)
        e = static_cast<std::remove_reference_t<decltype(e)>>(static_cast<double>(random.below(28) + 4) / 16);
  };
  std::apply([&](auto&... one) { (fill(*one), ...); }, a);
  const auto y = std::apply([&](auto&... one) { return run(*one...); }, a);
  std::vector<double> r;
  for (const auto& e : y) r.push_back(static_cast<double>(e));
  return r;
}
// The samples whose first two axes can be one, and those of them with the same values then.
struct tally {
  int met = 0, same = 0;
  tally operator+(const tally& o) const { return {met + o.met, same + o.same}; }
};
template <op O, class Axis, class F, class... X> tally compared(sample<F, X...>) {
  using G = collapsed_sample<F, O, Axis>;
  if constexpr (is_another<F, G, X...>()) return {1, values<F, X...>() == values<G, X...>() ? 1 : 0};
  else return {};
}
template <op O, class Axis, class... S> tally compared(samples<S...>) {
  return (compared<O, Axis>(S{}) + ... + tally{});
}
template <op O, class Axis> tally compared(nothing) { return {}; }
template <op O, class Change, class F, class... X> bool is_remade(sample<F, X...>) {
  return values<F, X...>() == values<remade_sample<F, O, Change>, X...>();
}
template <op O, class Change, class... S> bool is_remade(samples<S...>) {
  return (is_remade<O, Change>(S{}) && ...);
}
template <op O> void check_remade() {
  if constexpr (rule(O).facts.make.simplifies)
    CHECK_MESSAGE((is_remade<O, no_change>(samples_of<O>)), std::string(rule(O).name),
                  ": made again it has other values");
}
template <op O> void compare_all() {
  static_assert(has_entry<O>, "each op has samples, or nothing is said of it");
  if constexpr (rule(O).k != kind::elementwise && !is_heavy(O)) { // as the pass that collapses axes
    const tally found = compared<O, one_less>(samples_of<O>);
    CHECK_MESSAGE(found.same == found.met, std::string(rule(O).name),
                  ": with its first axes collapsed it has other values");
    if (rule(O).facts.attr.names != attr_names::nothing)
      CHECK_MESSAGE(found.met > 0, std::string(rule(O).name),
                    ": a sample has two axes before those of its attribute");
  }
}

} // namespace

TEST_CASE("collapsed samples: an op whose first axes are one axis has the same values") {
  []<int... O>(std::integer_sequence<int, O...>) {
    (compare_all<static_cast<op>(O)>(), ...);
  }(std::make_integer_sequence<int, op_count>{});
}
TEST_CASE("collapsed samples: a wrong axis is noticed") {
  const tally found = compared<op::cumsum, to_first>(samples_of<op::cumsum>);
  CHECK((found.met == 1 && found.same == 0));
}
TEST_CASE("collapsed samples: an op that is made again from the same operands has the same values") {
  []<int... O>(std::integer_sequence<int, O...>) {
    (check_remade<static_cast<op>(O)>(), ...);
  }(std::make_integer_sequence<int, op_count>{});
  CHECK_FALSE(is_remade<op::slice, from_begin>(samples_of<op::slice>));
}
