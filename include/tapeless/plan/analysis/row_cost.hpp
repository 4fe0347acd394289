// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The cost of a program that selects rows, in ns of the back end. It serves to choose among programs with the same
// results. A named extent of an argument counts as assumed_extent. Masks and thresholds are taken to keep 3 rows in 4,
// top_k and bottom_k as many as they can. Counted are
//   the flops of products, elementwise ops and reductions
//   the elements of rows that are moved or added to others
//   the bytes of stored values, written and read, if more of them are alive at one time than the caches hold
#pragma once
#include "../../expr/program.hpp"
#include "../../ops/all.hpp"
#include "densify.hpp" // IWYU pragma: export

namespace tapeless::detail {

// Numbers for the named extents of a program.
class assumed_extents {
  name_values names_;

  // How many of n values a selection keeps.
  static constexpr double kept(const node& v, double n) {
    const select_attributes q = attributes_of_select(v);
    if (!q.by_order()) return n * 3 / 4;
    if (q.percentage > 0) return n * q.percentage / 100;
    const auto most = static_cast<double>(most_of_select(v));
    return n < most ? n : most;
  }

public:
  constexpr explicit assumed_extents(const raw_program& p) {
    for (const node& v : p.nodes)
      if (has_data_dependent_rows(v)) {
        const double n = kept(v, number(count(1, p.nodes[v.in[0]].s)));
        names_.value[static_cast<std::size_t>(names_.add(name_of(detail::names(v.s.d[0]))))] =
            static_cast<extent_t>(n < 1e15 ? n : 1e15);
      }
  }
  constexpr double number(const count& c) const {
    double x = c.c;
    for (extent_t packed = c.names; packed != 0; packed >>= name_bits) {
      const char n = name_of(packed & 63);
      x *= names_.find(n) >= 0 ? static_cast<double>(names_.of(n)) : assumed_extent;
    }
    return x;
  }
};

// Bytes of the values that kernels make or read and reductions make: in all, and the most that are alive at one time.
struct stored_bytes {
  double all = 0, alive = 0;
};
constexpr stored_bytes bytes_stored(const raw_program& p, const assumed_extents& extents) {
  const int n = p.nodes.size();
  vec<int> last(n, no_node);
  vec<char> in_memory(n, 0);
  vec<double> gone(n + 1, 0.0);
  const auto root = [&](int x) {
    while (rule(p.nodes[x].o).k == kind::view) x = p.nodes[x].in[0];
    return x;
  };
  for (int i = 0; i < n; ++i) {
    const kind k = rule(p.nodes[i].o).k;
    if (k == kind::view || k == kind::leaf) continue;
    if (k != kind::elementwise) in_memory[i] = 1;
    for (const int x : p.nodes[i].in)
      if (x >= 0) {
        last[root(x)] = i;
        if (k == kind::kernel) in_memory[root(x)] = 1;
      }
  }
  stored_bytes r;
  double now = 0;
  for (int i = 0; i < n; ++i) {
    const node& v = p.nodes[i];
    if (in_memory[i] != 0 && rule(v.o).k != kind::leaf) {
      const double bytes = extents.number(count(static_cast<double>(size_of(v.t)), v.s));
      r.all += bytes;
      now += bytes;
      gone[last[i] < i ? n : last[i]] += bytes; // n: a result
      if (now > r.alive) r.alive = now;
    }
    now -= gone[i];
  }
  return r;
}

template <class Cost> constexpr bool fits_into_cache(const raw_program& p) {
  return bytes_stored(p, assumed_extents(p)).alive <= Cost::cache_bytes;
}
// The cost of products and convolutions alone.
template <class Cost> constexpr double cost_of_products(const raw_program& p,
                                                        const assumed_extents& extents) {
  double sum = 0;
  for (const node& v : p.nodes) {
    if (!is_heavy(v.o)) continue;
    const operand_shapes s(p, v);
    sum += Cost::product_ns(extents.number(rule(v.o).flops(v, s)));
  }
  return sum;
}
template <class Cost> constexpr double cost_of_rows(const raw_program& p) {
  const assumed_extents extents(p);
  double sum = cost_of_products<Cost>(p, extents);
  for (const node& v : p.nodes) {
    const operand_shapes s(p, v);
    const kind k = rule(v.o).k;
    if (k == kind::elementwise || k == kind::reduction)
      sum += Cost::elementwise_ns(extents.number(rule(v.o).flops(v, s)));
    if (v.o == op::gather) sum += Cost::move_ns(extents.number(count(1, v.s)));
    if (v.o == op::scatter_add) sum += Cost::move_ns(extents.number(count(1, s[0])));
  }
  const stored_bytes stored = bytes_stored(p, extents);
  if (stored.alive > Cost::cache_bytes) sum += Cost::memory_ns(2 * stored.all);
  return sum;
}

} // namespace tapeless::detail
