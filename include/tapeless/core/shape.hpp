// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// shape = (rank, extents)          numel(s) = product of the extents, row-major, last axis fastest
//
// Broadcasting is NumPy's: axes are aligned at the last one; an axis of extent 1 repeats.
#pragma once
#include "extent.hpp" // IWYU pragma: export

namespace tapeless {

inline constexpr int max_rank = 6;

// Structural: a shape is a template argument of a tensor.
struct shape {
  int rank = 0;
  extent_t d[max_rank]{};

  constexpr extent_t operator[](int i) const { return d[i]; }
  friend constexpr bool operator==(const shape& x, const shape& y) {
    static_assert(max_rank == 6);
    return x.rank == y.rank && (x.rank < 1 || x.d[0] == y.d[0]) && (x.rank < 2 || x.d[1] == y.d[1]) &&
           (x.rank < 3 || x.d[2] == y.d[2]) && (x.rank < 4 || x.d[3] == y.d[3]) &&
           (x.rank < 5 || x.d[4] == y.d[4]) &&
           (x.rank < 6 || x.d[5] == y.d[5]); // one statement: a step for the limit of clang
  }
};

namespace detail {
template <int Rank>
concept at_most_six_axes = Rank <= max_rank;
template <extent_t Extent>
concept extent_is_not_negative = Extent >= 0;
template <extent_t Extent>
concept number_or_product_of_names = Extent < 0 || is_extent(Extent);
template <extent_t... N> constexpr shape shape_with() {
  static_assert(at_most_six_axes<sizeof...(N)>, "tapeless: tensor<T, extents...>: at most 6 axes");
  static_assert((extent_is_not_negative<N> && ...),
                "tapeless: tensor<T, extents...>: an extent is at least 0");
  static_assert((number_or_product_of_names<N> && ...),
                "tapeless: tensor<T, extents...>: an extent is a number of at most 39 bits, a name, or an "
                "extent_product of such, which 24 * dyn<'b'> is not");
#if defined(__NVCC__) // whose front end writes the list {N...} without the dots
  shape s{};
  if constexpr (at_most_six_axes<sizeof...(N)>) ((s.d[s.rank++] = N), ...);
  return s;
#else
  if constexpr (at_most_six_axes<sizeof...(N)>) return {static_cast<int>(sizeof...(N)), {N...}};
  else return {};
#endif
}
// An extent as a template argument of tensor, reshape, broadcast_to, one_hot. Integers take the first overload; the others are for
// what would silently be one.
constexpr extent_t extent_of(extent_t n) { return n; }
template <int Letters = 0> constexpr extent_t extent_of(char name) {
  static_assert(Letters != 0,
                "tapeless: extents...: a named extent is written dyn<'n'>; 'n' alone is a number");
  return name;
}
template <int Reals = 0> constexpr extent_t extent_of(double n) {
  static_assert(Reals != 0, "tapeless: extents...: an extent is an integer, or a name as dyn<'n'>");
  return static_cast<extent_t>(n);
}
} // namespace detail

template <extent_t... N> inline constexpr shape shape_of = detail::shape_with<N...>();

namespace detail {

constexpr extent_t numel(const shape& s) {
  extent_t n = 1;
  for (int i = 0; i < s.rank; ++i) n = times(n, s.d[i]);
  return n;
}
// numel(s) has at most four names, and a coefficient of at most 39 bits
constexpr bool numel_representable(const shape& s) {
  int deg = 0;
  double c = 1;
  for (int i = 0; i < s.rank; ++i) {
    if (s.d[i] > coefficient_mask) deg += degree(s.d[i]);
    c *= static_cast<double>(s.d[i] & coefficient_mask);
  }
  return deg <= max_names && c <= static_cast<double>(coefficient_mask);
}

constexpr bool broadcastable(const shape& a, const shape& b) {
  if (a == b) return true;
  for (int i = 1; i <= a.rank && i <= b.rank; ++i) {
    const extent_t x = a.d[a.rank - i], y = b.d[b.rank - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}
// @pre broadcastable(a, b)
constexpr shape broadcast(const shape& a, const shape& b) {
  if (a == b) return a;
  shape r = a.rank >= b.rank ? a : b;
  const shape& q = a.rank >= b.rank ? b : a;
  for (int i = 1; i <= q.rank; ++i)
    if (r.d[r.rank - i] == 1) r.d[r.rank - i] = q.d[q.rank - i];
  return r;
}
constexpr bool broadcasts_onto(const shape& a, const shape& to) {
  return broadcastable(a, to) && broadcast(a, to) == to;
}
// s with the axes of the bit mask set to 1
constexpr shape keepdims(shape s, unsigned axes) {
  for (int i = 0; i < s.rank; ++i)
    if ((axes >> i) & 1u) s.d[i] = 1;
  return s;
}
// s without the axes of the bit mask
constexpr shape dropped(const shape& s, unsigned axes) {
  shape r;
  for (int i = 0; i < s.rank; ++i)
    if (!((axes >> i) & 1u)) r.d[r.rank++] = s.d[i];
  return r;
}
constexpr unsigned all_axes(const shape& s) { return (1u << s.rank) - 1u; }
// -1 counts from the end
constexpr int axis_of(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

// s without its axes of extent 1
constexpr shape squeezed(const shape& s) {
  shape r;
  for (int i = 0; i < s.rank; ++i)
    if (s.d[i] != 1) r.d[r.rank++] = s.d[i];
  return r;
}

// The first axis after the leading extents `group`, none of which is 1; -1 if s does not begin with them.
constexpr int end_of_group(const shape& s, const shape& group) {
  int k = 0;
  for (int i = 0; i < s.rank; ++i) {
    if (s.d[i] == 1) continue;
    if (!(s.d[i] == group.d[k])) return -1;
    if (++k == group.rank) return i + 1;
  }
  return -1;
}

// row-major strides of s; a stride is a monomial like an extent
constexpr void strides(const shape& s, extent_t (&out)[max_rank]) {
  extent_t k = 1;
  for (int i = s.rank - 1; i >= 0; --i) {
    out[i] = k;
    if (i > 0) k = times(k, s.d[i]);
  }
}

// the distinct names of a shape, in order of appearance
constexpr name_values names_of(const shape& s) {
  name_values v;
  for (int i = 0; i < s.rank; ++i)
    for (extent_t packed = names(s.d[i]); packed != 0; packed >>= name_bits) v.add(name_of(packed & 63));
  return v;
}

} // namespace detail
} // namespace tapeless
