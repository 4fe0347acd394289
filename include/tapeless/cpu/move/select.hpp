// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Kernels that choose rows: the positions, ascending, at which a mask is set or a value is among the k most extreme.
//   select_nonzero           { i : mask[i] != 0 }
//   select_extreme           the first k positions of (v, i), sorted by descending (least: ascending) v, then i
//   select_extreme_of_each   the same within { i : segment[i] == s }, for each s
// The order of values: -0 == +0; a NaN is greater than everything else and equal to every NaN. One thread, no
// allocation. No branch per element depends on the data, unless segments are sorted.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include "../../core/dtype.hpp"
#include "../../ops/select.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/operand.hpp"
#include "../base/team.hpp"

namespace tapeless::cpu {

// key_of(a) < key_of(b) exactly where a < b in the order above
template <class T> [[gnu::always_inline]] inline auto key_of(T v) {
  using U = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int top = 8 * static_cast<int>(sizeof(T)) - 1;
  constexpr U half = U(1) << top;
  const U bits = std::bit_cast<U>(v);
  if constexpr (std::is_integral_v<T>) return static_cast<U>(bits ^ half);
  else {
    constexpr U infinity = std::bit_cast<U>(std::numeric_limits<T>::infinity());
    const U size = bits & ~half, negative = U(0) - (bits >> top); // all ones or 0
    return size > infinity ? ~U(0) : static_cast<U>(half + ((size ^ negative) - negative));
  }
}
template <class T> using key_type = decltype(key_of(T()));

// Key x is selected if (x & known) > digits. Of those with (x & known) == digits, the first `ties` are.
template <class U> struct selection_cut {
  U known, digits;
  index_t ties;
};

// Calls f(keys, lo, m) for blocks [lo, lo + m) of keys, which compilers vectorise. false ends it.
inline constexpr index_t keys_per_block = 128;
template <class T, class F> [[gnu::always_inline]] inline void each_block(key_type<T> flip, index_t n,
                                                                          const T* v, F f) {
  constexpr index_t block = keys_per_block;
  key_type<T> key[block];
  for (index_t lo = 0; lo < n; lo += block) {
    const index_t m = std::min(block, n - lo);
    if (m == block)
      for (index_t c = 0; c < block; ++c) key[c] = key_of(v[lo + c]) ^ flip;
    else
      for (index_t c = 0; c < m; ++c) key[c] = key_of(v[lo + c]) ^ flip;
    if (!f(key, lo, m)) return;
  }
}

// Finds the cut of the k greatest keys, digit by digit from the highest.   @pre 0 < k < n
template <class T> selection_cut<key_type<T>> cut_of_greatest(key_type<T> flip, index_t n, index_t k,
                                                              const T* v) {
  using U = key_type<T>;
  constexpr int digit = 11, few = 64;
  selection_cut<U> cut{0, 0, k};
  index_t among = n; // keys that agree with the digits of the cut
  for (int shift = 8 * static_cast<int>(sizeof(U)); shift > 0 && cut.ties < among;) {
    if (among <= few) {
      U key[few + 1] = {};
      index_t found = 0;
      each_block(flip, n, v, [&](const U* x, index_t, index_t m) {
        for (index_t c = 0; c < m; ++c) {
          key[found] = x[c];
          found += (x[c] & cut.known) == cut.digits;
        }
        return true;
      });
      std::nth_element(key, key + cut.ties - 1, key + found, [](U x, U y) { return x > y; });
      cut.digits = key[cut.ties - 1];
      cut.known = ~U(0);
      cut.ties -= std::count_if(key, key + found, [&](U x) { return x > cut.digits; });
      break;
    }
    const int low = std::max(shift - digit, 0);
    const U values = (U(1) << (shift - low)) - 1;
    std::uint32_t seen[2][1 << digit] = {}; // two counters: equal keys in a row do not wait for each other
    each_block(flip, n, v, [&](const U* x, index_t, index_t m) {
      for (index_t c = 0; c < m; ++c) seen[c & 1][(x[c] >> low) & values] += (x[c] & cut.known) == cut.digits;
      return true;
    });
    U d = values;
    for (;; --d) {
      among = index_t(seen[0][d]) + seen[1][d];
      if (cut.ties <= among) break;
      cut.ties -= among;
    }
    cut.known |= values << low;
    cut.digits |= d << low;
    shift = low;
  }
  return cut;
}

/// Positions, ascending, at which the mask is not 0; returns their number. A NaN is set, and so is every byte of a
/// bool but 0.
/// rows: room for n.   @pre n < 2^31
template <class T> index_t select_nonzero(index_t n, const T* mask, std::int32_t* rows) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, detail::mask_byte>)
    return select_nonzero(n, reinterpret_cast<const std::uint8_t*>(mask), rows);
  else {
    index_t count = 0;
    for (index_t i = 0; i < n; ++i) { // count <= i
      rows[count] = static_cast<std::int32_t>(i);
      count += mask[i] != T(0) ? 1 : 0;
    }
    return count;
  }
}

/// Positions, ascending, of the min(k, n) greatest (least) values; of equal values the first. Returns their number.
/// rows: room for min(k, n).   @pre n < 2^31
template <class T> index_t select_extreme(bool least, index_t n, index_t k, const T* v, std::int32_t* rows) {
  k = std::min(k, n);
  if (k <= 0) return 0;
  if (k == n) {
    for (index_t i = 0; i < n; ++i) rows[i] = static_cast<std::int32_t>(i);
    return n;
  }
  using U = key_type<T>;
  const U flip = least ? ~U(0) : U(0);
  const auto cut = cut_of_greatest(flip, n, k, v);
  const U first = cut.digits, last = first | ~cut.known; // ties are the keys in [first, last]
  index_t ties = cut.ties, count = 0;
  each_block(flip, n, v, [&](const U* x, index_t lo, index_t m) {
    const auto is_tie = [=](U key) { return static_cast<U>(key - first) <= static_cast<U>(last - first); };
    const auto emit = [&](index_t c, index_t end, U least_key) { // rows[k] is never written
      for (; c < end && count < k; ++c) {
        rows[count] = static_cast<std::int32_t>(lo + c);
        count += x[c] >= least_key;
      }
    };
    index_t here = 0;
    for (index_t c = 0; c < m; ++c) here += is_tie(x[c]);
    if (here <= ties) {
      emit(0, m, first);
      ties -= here;
    } else {
      index_t c = 0;
      for (; ties > 0; ++c) ties -= is_tie(x[c]);
      emit(0, c, first);
      emit(c, m, last + 1); // if this is 0, no key is greater, and count is k
    }
    return count < k;
  });
  return k;
}

/// Positions, ascending, of the at most k greatest (least) values of each segment; of equal values the first. Returns
/// their number. A row whose segment is not in [0, segments) belongs to none.
/// rows: room for n; start: for segments + 1; both are scratch, too.   @pre n < 2^31
template <class T>
index_t select_extreme_of_each(bool least, index_t n, index_t k, index_t segments, const T* v,
                               const std::int32_t* segment, std::int32_t* rows, std::int32_t* start) {
  if (n <= 0 || k <= 0) return 0;
  using U = key_type<T>;
  const U flip = least ? ~U(0) : U(0);
  const auto before = [=](std::int32_t a, std::int32_t b) {
    const U x = key_of(v[a]) ^ flip, y = key_of(v[b]) ^ flip;
    return static_cast<bool>(int(x > y) | (int(x == y) & int(a < b)));
  };
  const auto segment_of = [=](index_t i) { // `segments` is that of rows without one
    const index_t s = segment[i];
    return s >= 0 && s < segments ? s : segments;
  };

  // sorted by segment: rows of s are [end of s - 1, end of s)
  for (index_t s = 0; s <= segments; ++s) start[s] = 0;
  for (index_t i = 0; i < n; ++i) ++start[segment_of(i)];
  for (std::int32_t s = 0, sum = 0; s <= segments; ++s) {
    const std::int32_t rows_of_s = start[s];
    start[s] = sum;
    sum += rows_of_s;
  }
  for (index_t i = 0; i < n; ++i) rows[start[segment_of(i)]++] = static_cast<std::int32_t>(i);

  // start[s]: the last row, in the order of values, that s selects
  std::int32_t begin = 0;
  for (index_t s = 0; s < segments; ++s) {
    std::int32_t *const first = rows + begin, *const end = rows + start[s];
    begin = start[s];
    if (first == end) continue; // nobody looks at start[s]
    if (end - first <= k) start[s] = *std::max_element(first, end, before);
    else {
      std::nth_element(first, first + k - 1, end, before);
      start[s] = first[k - 1];
    }
  }
  start[segments] = 0;

  index_t count = 0;
  for (index_t i = 0; i < n; ++i) {
    const index_t s = segment_of(i);
    const auto row = static_cast<std::int32_t>(i);
    rows[count] = row;
    count += int(s < segments) & int(!before(start[s], row));
  }
  return count;
}

// ---- steps
// Returns the number of chosen rows.
template <class T> index_t run_select(const detail::step& s, const frame_step& f) {
  const detail::select_attributes q = detail::attributes_of_select(s);
  const index_t n = f.slot[0].s.d[0];
  const T* const x = static_cast<const T*>(f.slot[0].data());
  const auto* const second = s.loads > 1 ? static_cast<const std::int32_t*>(f.slot[1].data()) : nullptr;
  const auto rows = static_cast<std::int32_t*>(f.slot[s.loads].data());
  if constexpr (std::is_same_v<T, detail::mask_byte>) return select_nonzero(n, x, rows);
  else {
    if (!q.by_order()) return select_nonzero(n, x, rows);
    if (q.segments > 0) { // sorts all rows in scratch: the result may have no room for all
      const auto scratch = [&](int k) { return static_cast<std::int32_t*>(f.slot[s.loads + k].data()); };
      const index_t count =
          select_extreme_of_each(q.least(), n, q.k, q.segments, x, second, scratch(2), scratch(1));
      std::copy_n(scratch(2), count, rows);
      return count;
    }
    const index_t most = q.most_of(n);
    return select_extreme(q.least(), n, second == nullptr ? most : std::min<index_t>(most, *second), x, rows);
  }
}

} // namespace tapeless::cpu
