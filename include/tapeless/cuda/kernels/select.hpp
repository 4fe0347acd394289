// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The positions, ascending, of the k greatest (least) of n values; of equal values the first. The order of values: -0 == +0, a
// NaN is greater than everything else and equal to every NaN.
//   digits: a byte at a time, from the highest: digit_counts_kernel counts the bytes of the keys that agree with the cut,
//   cut_kernel makes the cut one byte longer. Then counts of each range of values, and the positions.
// Counts are integers: the order of threads does not matter.
#pragma once
#include "../base/block.hpp"

namespace tapeless::cuda {

template <bool Wide> struct key_bits {
  using type = std::uint32_t;
};
template <> struct key_bits<true> {
  using type = std::uint64_t;
};
template <class T> using key_type = typename key_bits<sizeof(T) == 8>::type; // 32 bits for a bool, too
// key_of(a) < key_of(b) exactly where a < b in the order above; least: the other way round
template <class T> TAPELESS_KERNEL key_type<T> key_of(T v, bool least) {
  using U = key_type<T>;
  constexpr U half = U(1) << (8 * sizeof(U) - 1);
  U key;
  if constexpr (sizeof(T) == 1) key = v;                                  // a bool
  else if constexpr (T(1) / T(2) == T(0)) key = static_cast<U>(v) ^ half; // an integer
  else {
    const U bits = __builtin_bit_cast(U, v), size = bits & ~half,
            negative = U(0) - (bits >> (8 * sizeof(T) - 1));
    key = v != v ? ~U(0) : static_cast<U>(half + ((size ^ negative) - negative));
  }
  return least ? ~key : key;
}

// Key x is selected if (x & known) > digits. Of those with (x & known) == digits, the first `ties` are.
template <class U> struct selection_cut {
  U known, digits;
  count_t ties;
  count_t count[256]; // of the byte that comes next
};
// Before the first byte: there is no cut, `most` are selected, or as many as are asked for. None of the rows is known.
template <class U> struct begin_cut_kernel {
  selection_cut<U>* cut;
  const std::int32_t* asked; // nullptr: most
  index_t* selected;         // their number; nullptr: nobody asks
  std::int32_t* rows;
  count_t most, room; // room: for rows, those that are not selected are -1
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(room < 256 ? 256 : room, [this](count_t i) {
      if (i < room) rows[i] = -1;
      if (i < 256) cut->count[i] = 0;
      if (i > 0) return;
      const count_t k = asked == nullptr || *asked >= static_cast<index_t>(most) ? most
                        : *asked < 0                                             ? 0
                                     : static_cast<count_t>(*asked);
      cut->known = 0;
      cut->digits = 0;
      cut->ties = k;
      if (selected != nullptr) *selected = k;
    });
  }
};
template <class T> struct digit_counts_kernel {
  using U = key_type<T>;
  const T* x;
  selection_cut<U>* cut;
  count_t n;
  int shift;
  bool least;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    const U known = cut->known, digits = cut->digits;
    block.each(n, [&, this](count_t i) {
      const U key = key_of(x[i], least);
      if ((key & known) == digits) block.add(cut->count + ((key >> shift) & 255), 1);
    });
  }
};
template <class U> struct cut_kernel {
  selection_cut<U>* cut;
  int shift;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(1, [this](count_t) {
      count_t ties = cut->ties;
      U d = 255;
      for (; d > 0 && cut->count[d] < ties; --d) ties -= cut->count[d];
      cut->ties = ties;
      cut->digits |= d << shift;
      cut->known |= U(255) << shift;
      for (count_t i = 0; i < 256; ++i) cut->count[i] = 0;
    });
  }
};

// The values in ranges, a thread each, and the ranges in groups. Of each: keys above the cut, and ties.
inline constexpr count_t ranges = 1u << 16, ranges_of_group = 256;
struct range_counts {
  count_t above[ranges], ties[ranges], above_in_group[ranges / ranges_of_group],
      ties_in_group[ranges / ranges_of_group];
};
// Of a mask those are above the cut that are not 0. Mask: 0 or 1; names of kernels have types and numbers.
template <class T, int Mask> struct values_in_ranges {
  const T* x;
  const selection_cut<key_type<T>>* cut;
  range_counts* counts;
  count_t n, each; // each: values of a range
  bool least;
  // act(position, is it above the cut?, is it a tie?) for the values of a range
  template <class Act> TAPELESS_KERNEL void of_range(count_t range, Act act) const {
    const std::uint64_t lo = std::uint64_t{range} * each, end = lo + each < n ? lo + each : n;
    for (std::uint64_t i = lo; i < end; ++i)
      if constexpr (Mask != 0) act(static_cast<count_t>(i), x[i] != T(0), false);
      else {
        const auto key = key_of(x[i], least) & cut->known;
        act(static_cast<count_t>(i), key > cut->digits, key == cut->digits);
      }
  }
};
template <class T, int Mask> struct range_counts_kernel : values_in_ranges<T, Mask> {
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(ranges, [this](count_t range) {
      count_t above = 0, ties = 0;
      this->of_range(range, [&](count_t, bool is_above, bool is_tie) { above += is_above, ties += is_tie; });
      this->counts->above[range] = above;
      this->counts->ties[range] = ties;
    });
  }
};
struct group_counts_kernel {
  range_counts* counts;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(ranges / ranges_of_group, [this](count_t group) {
      count_t above = 0, ties = 0;
      for (count_t r = group * ranges_of_group; r < (group + 1) * ranges_of_group; ++r)
        above += counts->above[r], ties += counts->ties[r];
      counts->above_in_group[group] = above;
      counts->ties_in_group[group] = ties;
    });
  }
};
template <class T, int Mask> struct positions_kernel : values_in_ranges<T, Mask> {
  std::int32_t* rows;
  index_t* selected; // of a mask: their number
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(ranges, [this](count_t range) {
      const range_counts& c = *this->counts;
      const count_t group = range / ranges_of_group;
      count_t most = 0, above = 0, ties = 0; // before the range, then before the value
      if constexpr (Mask == 0) most = this->cut->ties;
      for (count_t g = 0; g < group; ++g) above += c.above_in_group[g], ties += c.ties_in_group[g];
      for (count_t r = group * ranges_of_group; r < range; ++r) above += c.above[r], ties += c.ties[r];
      this->of_range(range, [&](count_t i, bool is_above, bool is_tie) {
        if (is_above || (is_tie && ties < most))
          rows[above + (ties < most ? ties : most)] = static_cast<std::int32_t>(i);
        above += is_above;
        ties += is_tie;
      });
      if (Mask != 0 && range == ranges - 1 && selected != nullptr) *selected = above;
    });
  }
};

// chosen[i] = is row i among the k first of its segment? A row whose segment is not in [0, segments) is not. Each row looks at
// the others of its segment until k are ahead of it.
template <class T> struct of_each_segment_kernel {
  const T* x;
  const std::int32_t* segment;
  std::int32_t* chosen;
  count_t n, k;
  std::int32_t segments;
  bool least;
  template <class Block> TAPELESS_KERNEL void operator()(const Block& block) const {
    block.each(n, [this](count_t i) {
      const std::int32_t mine = segment[i];
      const auto key = key_of(x[i], least);
      count_t ahead = mine >= 0 && mine < segments ? 0 : k;
      for (count_t j = 0; j < n && ahead < k; ++j)
        if (segment[j] == mine) {
          const auto other = key_of(x[j], least);
          ahead += other > key || (other == key && j < i) ? 1u : 0u;
        }
      chosen[i] = ahead < k ? 1 : 0;
    });
  }
};

} // namespace tapeless::cuda
