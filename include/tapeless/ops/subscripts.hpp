// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// subscripts "ij,jk->ik": the letters of the axes of operands and result, read at compile time. What einsum.hpp asks of them.
#pragma once
#include <cstddef>
#include "../core/shape.hpp"

namespace tapeless::detail {

// A string as a template argument
template <std::size_t N> struct subscripts {
  char text[N]{};
  constexpr subscripts(const char (&s)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = s[i];
  }
};

// Labels of axes in order. A letter is its own label; the axes that an ellipsis stands for are 1, 2, .. from the last one on.
inline constexpr int most_operands = 8, label_count = 128;
struct labels {
  int of[most_operands * max_rank]{};
  int n = 0;

  constexpr void add(int label) {
    if (n < most_operands * max_rank) of[n++] = label;
  }
  constexpr int position(int label) const {
    for (int i = 0; i < n; ++i)
      if (of[i] == label) return i;
    return -1;
  }
  constexpr bool has(int label) const { return position(label) >= 0; }
  // these, in their order, as far as they are, or are not, among others; these and then others
  constexpr labels among(const labels& others) const {
    labels r;
    for (int i = 0; i < n; ++i)
      if (others.has(of[i])) r.add(of[i]);
    return r;
  }
  constexpr labels without(const labels& others) const {
    labels r;
    for (int i = 0; i < n; ++i)
      if (!others.has(of[i])) r.add(of[i]);
    return r;
  }
  constexpr labels then(const labels& others) const {
    labels r = *this;
    for (int i = 0; i < others.n; ++i)
      if (!r.has(others.of[i])) r.add(others.of[i]);
    return r;
  }
  // not ==: the compiler would look at the == of all handles, too
  constexpr bool equals(const labels& o) const {
    if (n != o.n) return false;
    for (int i = 0; i < n; ++i)
      if (of[i] != o.of[i]) return false;
    return true;
  }
};

// Of one operand, or of the result: its letters, and how many of them stand ahead of the ellipsis; -1: it has none
struct subscript {
  labels letters;
  int dots = -1;
  constexpr int broadcast_axes(int rank) const { return dots < 0 ? 0 : rank - letters.n; }
  constexpr bool has_rank(int rank) const { return dots < 0 ? rank == letters.n : rank >= letters.n; }
  constexpr labels axes(int broadcast) const { // of so many axes behind the ellipsis
    labels r;
    for (int i = 0; i <= letters.n; ++i) {
      for (int k = i == dots ? broadcast : 0; k > 0; --k) r.add(k);
      if (i < letters.n) r.add(letters.of[i]);
    }
    return r;
  }
};
struct parsed_subscripts {
  subscript operand[most_operands], result;
  int operands = 1;
  bool well_formed = true;
  bool result_is_of_operands = true; // each letter of the result stands once in it, and in an operand
};

constexpr bool names_axis(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// Without ->, the result has the ellipsis and then each letter that stands once, in the order of the alphabet.
constexpr void imply_result(parsed_subscripts& p) {
  int times[label_count]{};
  for (int k = 0; k < p.operands; ++k) {
    for (int i = 0; i < p.operand[k].letters.n; ++i) ++times[p.operand[k].letters.of[i]];
    if (p.operand[k].dots >= 0) p.result.dots = 0;
  }
  for (int c = 0; c < label_count; ++c)
    if (times[c] == 1) p.result.letters.add(c);
}
constexpr bool is_of_operands(const parsed_subscripts& p) {
  const labels& r = p.result.letters;
  for (int i = 0; i < r.n; ++i) {
    bool found = false;
    for (int k = 0; k < p.operands; ++k) found = found || p.operand[k].letters.has(r.of[i]);
    if (!found || r.position(r.of[i]) != i) return false;
  }
  return true;
}
template <std::size_t N> constexpr parsed_subscripts parsed(const subscripts<N>& s) {
  parsed_subscripts p;
  bool arrow = false;
  for (std::size_t i = 0; i + 1 < N && p.well_formed; ++i) {
    subscript& at = arrow ? p.result : p.operand[p.operands - 1];
    const char c = s.text[i];
    if (c == ' ') continue;
    if (names_axis(c)) at.letters.add(c);
    else if (c == '.' && i + 3 < N && s.text[i + 1] == '.' && s.text[i + 2] == '.' && at.dots < 0) {
      at.dots = at.letters.n;
      i += 2;
    } else if (c == ',' && !arrow && p.operands < most_operands) ++p.operands;
    else if (c == '-' && !arrow && s.text[i + 1] == '>') {
      arrow = true;
      ++i;
    } else p.well_formed = false;
  }
  if (!arrow) imply_result(p);
  p.result_is_of_operands = is_of_operands(p);
  return p;
}

template <subscripts S> inline constexpr parsed_subscripts parsed_of = parsed(S);

// The extent of each label. Axes of ellipses broadcast, those of a letter are equal.
struct label_extents {
  extent_t of[label_count]{};
  bool agree = true;
};
constexpr label_extents extents_of_labels(const parsed_subscripts& p, const shape* s) {
  label_extents r;
  bool seen[label_count]{};
  for (int k = 0; k < p.operands; ++k) {
    const labels axes = p.operand[k].axes(p.operand[k].broadcast_axes(s[k].rank));
    for (int i = 0; i < axes.n; ++i) {
      const int c = axes.of[i];
      const bool repeats = seen[c] && c <= max_rank && (r.of[c] == 1 || s[k].d[i] == 1);
      if (seen[c] && !repeats && r.of[c] != s[k].d[i]) r.agree = false;
      if (!seen[c] || r.of[c] == 1) r.of[c] = s[k].d[i];
      seen[c] = true;
    }
  }
  return r;
}
constexpr bool ranks_fit(const parsed_subscripts& p, const shape* s) {
  for (int k = 0; k < p.operands; ++k)
    if (!p.operand[k].has_rank(s[k].rank)) return false;
  return true;
}
constexpr labels axes_of_operand(const parsed_subscripts& p, const shape* s, int k) {
  return p.operand[k].axes(p.operand[k].broadcast_axes(s[k].rank));
}
constexpr labels axes_of_result(const parsed_subscripts& p, const shape* s) {
  int broadcast = 0;
  for (int k = 0; k < p.operands; ++k) {
    const int own = p.operand[k].broadcast_axes(s[k].rank);
    broadcast = own > broadcast ? own : broadcast;
  }
  return p.result.axes(broadcast);
}
// The labels that operand k has more than one element of, as far as any operand does: along the others it is repeated
constexpr labels own_labels(const parsed_subscripts& p, const shape* s, int k, const label_extents& extents) {
  const labels axes = axes_of_operand(p, s, k);
  labels r;
  for (int i = 0; i < axes.n; ++i)
    if (s[k].d[i] == extents.of[axes.of[i]]) r.add(axes.of[i]);
  return r;
}
// What the product of the first k + 1 operands keeps: labels of the result, and those that later operands have
constexpr labels kept_behind(const parsed_subscripts& p, const shape* s, int k) {
  const label_extents extents = extents_of_labels(p, s);
  labels r = axes_of_result(p, s);
  for (int j = k + 1; j < p.operands; ++j) r = r.then(own_labels(p, s, j, extents));
  return r;
}
// Has each product of the first operands at most 6 axes?
constexpr bool products_fit(const parsed_subscripts& p, const shape* s) {
  const label_extents extents = extents_of_labels(p, s);
  labels so_far;
  for (int k = 0; k < p.operands; ++k) {
    so_far = so_far.then(own_labels(p, s, k, extents)).among(kept_behind(p, s, k));
    if (so_far.n > max_rank) return false;
  }
  return axes_of_result(p, s).n <= max_rank;
}

} // namespace tapeless::detail
