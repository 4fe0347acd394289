// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The boundary between a program and the caller's data. Every run-time mistake is found here, before the first step.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include "../core/error.hpp"
#include "../core/tree.hpp"
#include "../expr/handle.hpp"
#include "../ops/index.hpp"
#include "../plan/analysis/known_extents.hpp"
#include "../plan/ir/step.hpp"
#include "memory.hpp"

namespace tapeless { namespace detail {

inline void check_extent(const extent_limit& limit, extent_t n) {
  if (limit.is_int32 && n > std::numeric_limits<std::int32_t>::max())
    refuse(
        "tapeless: run: an extent, or a product of extents, is %lld, but int32 counts its elements: at most 2147483647",
        static_cast<long long>(n));
  if (!limit.is_int32 && n == 0)
    refuse("tapeless: run: max and argmax need at least one element, but an extent is 0");
}

// Appends the element types (without const) and the extents of the leaves of X, in order.
template <class X> constexpr void leaf_types(vec<dtype>& t, vec<shape>& s) {
  X x{};
  for_each_leaf(x, [&](auto& leaf) {
    using H = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (typed_handle<H>) {
      t.push_back(dtype_of<typename H::value_type>);
      s.push_back(H::extents);
      if constexpr (is_tiled_pattern_v<H>) { // tells it from a matrix in rows
        t.push_back(dtype::boolean);
        s.push_back(shape{});
      }
    } else {
      t.push_back(dtype_of<H>);
      s.push_back(shape{});
    }
  });
}
// Do the leaves of X and A have the same element types (but for const) and extents, in order?
template <class X, class A> constexpr bool leaves_match_impl() {
  if constexpr (std::is_same_v<X, A>) return true;
  else if constexpr (number<X> && number<A>) return true;
  else if constexpr (number<X> || !(parameter_tree<X> || number<X>)) return false;
  else {
    vec<dtype> tx, ta;
    vec<shape> sx, sa;
    leaf_types<X>(tx, sx);
    leaf_types<A>(ta, sa);
    if (tx.size() != ta.size()) return false;
    for (int i = 0; i < tx.size(); ++i)
      if (tx[i] != ta[i] || !(sx[i] == sa[i])) return false;
    return true;
  }
}
template <class X, class A>
concept leaves_match = leaves_match_impl<std::remove_cvref_t<X>, std::remove_cvref_t<A>>();

template <class X> constexpr bool all_extents_static() {
  bool all = true;
  X x{};
  for_each_leaf(x, [&](auto& leaf) {
    using H = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (typed_handle<H>) all = all && H::names.count == 0;
  });
  return all;
}

template <std::size_t N, std::size_t M>
concept as_many_arguments = N == M;

template <class Out>
concept no_leaf_is_const = !has_const_leaf<Out>();

// May X be passed for A? A floating-point number is not rounded to an integer.
template <class X, class A>
concept number_without_fraction =
    !number<X> || !number<A> || !std::is_floating_point_v<std::remove_cvref_t<X>> ||
    std::is_floating_point_v<std::remove_cvref_t<A>>;

// May X be the first argument of a program?
template <class X, class A, class... Rest> constexpr bool first_matches() {
  return leaves_match<X, A> && number_without_fraction<X, A>;
}
template <class X> constexpr bool first_matches() { return false; }

// x as a B. Floating-point numbers are rounded. Throws argument_error where x is beyond the range of B.
template <class B, class X> B number_as(X x, int argument) {
  using limits = std::numeric_limits<B>;
  bool in_range = true;
  if constexpr (std::is_floating_point_v<X>) in_range = !std::isfinite(x) || std::abs(x) <= limits::max();
  else if constexpr (std::is_integral_v<B> && std::is_signed_v<X>)
    in_range = static_cast<long long>(x) >= static_cast<long long>(limits::min()) &&
               static_cast<long long>(x) <= static_cast<long long>(limits::max());
  else if constexpr (std::is_integral_v<B>)
    in_range = static_cast<unsigned long long>(x) <= static_cast<unsigned long long>(limits::max());
  if (!in_range)
    refuse("tapeless: run: argument %d is a number beyond the range of %s", argument, name_of(dtype_of<B>));
  return static_cast<B>(x);
}

// Is every named extent of R one of an argument?
template <class R, class... A> constexpr bool names_are_of_arguments() {
  constexpr name_values v = names_of_arguments<A...>(), r = names_of_arguments<R>();
  for (int i = 0; i < r.count; ++i)
    if (v.find(r.name[static_cast<std::size_t>(i)]) < 0) return false;
  return true;
}
template <class R, class... A>
concept extents_known_before_a_run = names_are_of_arguments<R, A...>();

struct byte_range {
  const std::byte *begin, *end;
};
inline bool overlap(const byte_range& a, const byte_range& b) { return a.begin < b.end && b.begin < a.end; }

// How messages name a leaf: "argument 2", or "argument 2, leaf 1" where the argument is a tree.
struct leaf_name {
  char text[48];
};
[[gnu::cold, gnu::noinline]] inline leaf_name name_of_leaf(int argument, int leaf, int leaves) {
  leaf_name r{};
  if (leaves > 1) std::snprintf(r.text, sizeof r.text, "argument %d, leaf %d", argument, leaf);
  else std::snprintf(r.text, sizeof r.text, "argument %d", argument);
  return r;
}
struct leaves_of_arguments {
  const int* count; // of each argument
  [[gnu::cold, gnu::noinline]] leaf_name name(int k) const {
    int argument = 0;
    for (; k >= count[argument]; ++argument) k -= count[argument];
    return name_of_leaf(argument, k, count[argument]);
  }
};

// Reads the pointers and the named extents of arguments and outputs. The values of one name must agree. No leaf may
// overlap the program's own arena.
class argument_reader {
  name_values capacity_, values_;
  byte_range arena_;
  bool known_[max_program_names]{};
  int from_[max_program_names]{}; // the argument that gave the value
  int argument_ = 0;

  void take(char name, extent_t n, bool output) {
    const auto k = static_cast<std::size_t>(values_.find(name));
    if (n < 0 || (known_[k] && values_.value[k] != n) || n > capacity_.of(name))
      refuse_extent(name, n, output);
    values_.value[k] = n;
    known_[k] = true;
    from_[k] = argument_;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_extent(char name, extent_t n, bool output) const {
    char who[32] = "the output";
    if (!output) std::snprintf(who, sizeof who, "argument %d", argument_);
    const auto k = static_cast<std::size_t>(values_.find(name));
    if (n < 0) refuse("tapeless: run: %s has %c = %lld: an extent is not negative", who, name, wide(n));
    if (const extent_t known = values_.value[k]; known_[k] && known != n)
      refuse("tapeless: run: %s has %c = %lld, but argument %d has %c = %lld", who, name, wide(n), from_[k],
             name, wide(known));
    refuse("tapeless: run: %s has %c = %lld, but the capacity at bind is %c = %lld", who, name, wide(n), name,
           wide(capacity_.of(name)));
  }
  [[noreturn, gnu::cold]] void refuse_null(bool output, int leaf) const {
    if (output) refuse("tapeless: run: the output has a leaf whose data is null (leaf %d of it)", leaf);
    refuse("tapeless: run: argument %d has a leaf whose data is null (leaf %d of it)", argument_, leaf);
  }
  [[noreturn, gnu::cold]] void refuse_own(bool output, int leaf, int leaves) const {
    if (output)
      refuse(
          "tapeless: run.into(out)(x...): leaf %d of out lies in the program's own arena, which the run writes: give "
          "it memory of yours",
          leaf);
    refuse("tapeless: run: %s lies in the program's own arena, as its results do: copy it first",
           name_of_leaf(argument_, leaf, leaves).text);
  }

public:
  argument_reader(const name_values& capacity, const byte_range& arena)
      : capacity_(capacity), values_(capacity), arena_(arena) {}

  // Sets to[at++] = data of each leaf.
  template <class X> void read(const X& x, void** to, int& at, bool output = false) {
    const int first = at;
    for_each_leaf(x, [&](const auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      if constexpr (typed_handle<H>) {
        for (int i = 0; i < H::names.count; ++i) {
          const char name = H::names.name[static_cast<std::size_t>(i)];
          const auto k = static_cast<std::size_t>(values_.find(name));
          if (!known_[k] || values_.value[k] != leaf.name_value(i)) take(name, leaf.name_value(i), output);
        }
        const extent_t bytes = leaf.size() * static_cast<extent_t>(sizeof(typename H::value_type));
        const auto* const p = reinterpret_cast<const std::byte*>(leaf.data());
        if (p == nullptr && bytes > 0) refuse_null(output, at - first);
        if (overlap({p, p + bytes}, arena_)) refuse_own(output, at - first, count_leaves<X>());
        to[at++] = const_cast<void*>(static_cast<const void*>(leaf.data()));
      } else {
        to[at++] = const_cast<void*>(static_cast<const void*>(&leaf));
      }
    });
    ++argument_;
  }
  const name_values& values() const { return values_; }
};

// May the program read x as an index? It reads an int64 as an int32.
constexpr bool is_index_within(extent_t x, extent_t end, extent_t passes) {
  return (x >= 0 && x < end) || (x == passes && passes != no_index);
}
constexpr extent_t end_of_indices(extent_t bound) { return std::min(bound, extent_t{1} << 31); }
// Throws argument_error where an index is outside [0, bound) and is not `passes`.
template <class I> void check_indices(const I* index, extent_t n, extent_t bound, extent_t passes,
                                      const leaves_of_arguments& all, int leaf) {
  const extent_t end = end_of_indices(bound);
  for (extent_t i = 0; i < n; ++i)
    if (const extent_t x = index[i]; !is_index_within(x, end, passes))
      refuse("tapeless: run: %s: index %lld at position %lld is outside [0, %lld)", all.name(leaf).text,
             wide(x), wide(i), wide(end));
}
// The same for one number: an index, or how many rows are selected.
inline void check_number(extent_t x, extent_t bound, extent_t passes, const leaves_of_arguments& all,
                         int leaf) {
  bound = end_of_indices(bound);
  if (!is_index_within(x, bound, passes))
    refuse("tapeless: run: %s: %lld, an index or how many rows are selected, is outside [0, %lld)",
           all.name(leaf).text, wide(x), wide(bound));
}

// The same for a leaf of integers, or a number, that is input `at` of a plan.
template <class Leaf, class Plan> void check_indices_in(const Leaf& leaf, const Plan& p,
                                                        const name_values& values,
                                                        const leaves_of_arguments& all, int at) {
  for (int k = 0; k < p.checks; ++k) {
    if (p.check[k].input != at) continue;
    const extent_t bound = eval(p.check[k].bound, values), passes = p.check[k].passes;
    if constexpr (number<Leaf>) check_number(leaf, bound, passes, all, at);
    else if constexpr (Leaf::extents.rank == 0) check_number(leaf[0], bound, passes, all, at);
    else check_indices(leaf.data(), leaf.size(), bound, passes, all, at);
  }
}

}} // namespace tapeless::detail
