#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The gradient of some rows of a table: gradient[i] belongs to row rows[i]. Where a row occurs several times, its
// gradients are summed. merged_rows visits each row once, with its sum.

#include "../core/error.hpp"
#include "../expr/handle.hpp"
#include "../plan/explain.hpp"
#include "../run/memory.hpp"
#include "../run/spans.hpp"
#include "state.hpp"

namespace tapeless::detail {

template <class X>
concept list_of_rows =
    typed_handle<X> && X::extents.rank == 1 && std::is_same_v<typename X::value_type, std::int32_t>;

// Is it a table (n, ...) with rows (k) and a gradient (k, ...)? The axes after the first are equal.
template <class Table, class Rows, class Gradient> constexpr bool rows_match() {
  using list = std::remove_cvref_t<Rows>;
  using slopes = std::remove_cvref_t<Gradient>;
  if constexpr (trainable<Table> && list_of_rows<list> && typed_handle<slopes>) {
    if (!std::is_same_v<typename slopes::value_type, typename Table::value_type>) return false;
    shape expected = Table::extents;
    if (expected.rank == 0) return false;
    expected.d[0] = list::extents.d[0];
    return slopes::extents == expected;
  } else return false;
}

// The operands of a step of some rows.
struct rows_to_step {
  leaf_span table, gradient;
  const std::int32_t* rows;
  extent_t count, n, width; // n: rows of the table
};
// Throws argument_error where they do not fit: see adam.step_rows.
template <class Table, class Rows, class Gradient>
rows_to_step checked_rows(const Table& p, const Rows& rows, const Gradient& gradient, const char* who) {
  rows_to_step r{spans_of(p, who)[0], spans_of(gradient, who)[0], nullptr, 0, 0, 0};
  const leaf_span list = spans_of(rows, who)[0];
  r.rows = static_cast<const std::int32_t*>(list.data);
  r.count = list.size;
  r.n = r.table.s.d[0];
  r.width = r.n > 0 ? r.table.size / r.n : 0;
  shape expected = r.table.s;
  expected.d[0] = r.count;
  if (!(r.gradient.s == expected))
    refuse("tapeless: %s: the gradient has the extents %s, expected %s", who, text_of(r.gradient.s).c_str(),
           text_of(expected).c_str());
  for (extent_t i = 0; i < r.count; ++i)
    if (r.rows[i] < 0 || r.rows[i] >= r.n)
      refuse("tapeless: %s: row %d at position %lld is outside [0, %lld)", who, static_cast<int>(r.rows[i]),
             wide(i), wide(r.n));
  return r;
}

// The first n elements of an array, which grows where it has fewer. New elements are `value`.
template <class X> X* grown(block& array, extent_t n, X value) {
  const extent_t old = static_cast<extent_t>(array.size() / sizeof(X));
  if (n > old) {
    block larger(static_cast<std::size_t>(n) * sizeof(X));
    X *const from = reinterpret_cast<X*>(array.data()), *const to = reinterpret_cast<X*>(larger.data());
    for (extent_t i = 0; i < n; ++i) to[i] = i < old ? from[i] : value;
    array = std::move(larger);
  }
  return reinterpret_cast<X*>(array.data());
}

template <class T> class merged_rows {
  block first_; // for each row: its first occurrence that has not been visited, or -1
  block next_;  // for each occurrence: the next one of its row, or -1
  block sum_;

public:
  // Calls f(row, gradient of that row) once for each row that occurs, in the order of first occurrences. Gradients of
  // one row are added in their order. Allocates where the table or the list is larger than any before.
  template <class F> void for_each(const rows_to_step& q, F f) {
    const T* const gradient = static_cast<const T*>(q.gradient.data);
    std::int32_t *const first = grown(first_, q.n, std::int32_t(-1)), *const next = grown(next_, q.count,
                                                                                          std::int32_t(-1));
    T* const sum = grown(sum_, q.width, T(0));
    for (extent_t i = q.count; i-- > 0;) {
      next[i] = first[q.rows[i]];
      first[q.rows[i]] = static_cast<std::int32_t>(i);
    }
    for (extent_t i = 0; i < q.count; ++i) {
      if (first[q.rows[i]] != i) continue; // it was visited with an earlier occurrence
      first[q.rows[i]] = -1;
      const T* slope = gradient + i * q.width;
      if (std::int32_t j = next[i]; j >= 0) {
        for (extent_t e = 0; e < q.width; ++e) sum[e] = slope[e];
        for (; j >= 0; j = next[j])
          for (extent_t e = 0; e < q.width; ++e) sum[e] += gradient[j * q.width + e];
        slope = sum;
      }
      f(extent_t{q.rows[i]}, slope);
    }
  }
};

} // namespace tapeless::detail
