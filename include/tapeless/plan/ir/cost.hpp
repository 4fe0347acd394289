// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// polynomial = sum of coefficient * product of named extents        cost = what one run does
#pragma once
#include "../../ops/all.hpp"

namespace tapeless {

// A polynomial in the named extents. p <= q holds where it holds for every extent >= 1.
class polynomial {
public:
  static constexpr int capacity = 16;
  struct term {
    extent_t names = 0;
    double c = 0;
  };

  constexpr polynomial() = default;
  constexpr polynomial(double constant) { add(constant, 0); }

  // @pre at most `capacity` different products of names
  constexpr void add(double c, extent_t names) {
    if (c == 0) return;
    int i = 0;
    while (i < count_ && term_[i].names != names) ++i;
    if (i == count_) {
      detail::require(count_ < capacity, "tapeless: cost: at most 16 different products of named extents");
      term_[count_++].names = names;
    }
    term_[i].c += c;
  }
  constexpr double at() const { return evaluate({}); }
  // p.at(dim<'n'>(64), ...); names that p does not have are ignored, and missing ones are 1
  template <char... Name> constexpr double at(dim<Name>... d) const {
    detail::name_values v;
    const auto set = [&](char name, extent_t value) {
      if (holds(name)) v.value[static_cast<std::size_t>(v.add(name))] = value;
    };
    (set(Name, d.value), ...);
    return evaluate(v);
  }
  constexpr int size() const { return count_; }
  constexpr const term& operator[](int i) const { return term_[i]; }

  friend constexpr polynomial operator+(polynomial p, const polynomial& q) {
    for (int i = 0; i < q.count_; ++i) p.add(q.term_[i].c, q.term_[i].names);
    return p;
  }
  friend constexpr polynomial operator*(double k, polynomial p) {
    for (int i = 0; i < p.count_; ++i) p.term_[i].c *= k;
    return p;
  }
  friend constexpr polynomial operator*(const polynomial& p, double k) { return k * p; }
  friend constexpr polynomial operator-(const polynomial& p, const polynomial& q) { return p + (-1.0) * q; }
  // With x = 1 + t the difference q - p is a polynomial in t >= 0; no negative coefficient there means p <= q.
  // Exact for polynomials of first degree.
  friend constexpr bool operator<=(const polynomial& p, const polynomial& q) {
    detail::vec<term> shifted;
    const polynomial d = q - p;
    for (int i = 0; i < d.count_; ++i)
      for (int subset = 0; subset < 1 << detail::degree_of(d.term_[i].names); ++subset) {
        extent_t names = 0; // of the factors t in this product of 1 and t
        for (int k = 0; subset >> k != 0; ++k)
          if ((subset >> k) & 1)
            names = detail::names_product(names, (d.term_[i].names >> (detail::name_bits * k)) & 63);
        int at = 0;
        while (at < shifted.size() && shifted[at].names != names) ++at;
        if (at == shifted.size()) shifted.push_back({names, 0});
        shifted[at].c += d.term_[i].c;
      }
    for (int i = 0; i < shifted.size(); ++i)
      if (shifted[i].c < 0) return false;
    return true;
  }
  friend constexpr bool operator>=(const polynomial& p, const polynomial& q) { return q <= p; }
  friend constexpr bool operator==(const polynomial& p, const polynomial& q) { return p <= q && q <= p; }

private:
  constexpr bool holds(char name) const {
    for (int i = 0; i < count_; ++i)
      for (extent_t packed = term_[i].names; packed > 0; packed >>= detail::name_bits)
        if (detail::name_of(packed & 63) == name) return true;
    return false;
  }
  constexpr double evaluate(const detail::name_values& v) const {
    double s = 0;
    for (int i = 0; i < count_; ++i) {
      double product = term_[i].c;
      for (extent_t packed = term_[i].names; packed > 0; packed >>= detail::name_bits)
        if (const char n = detail::name_of(packed & 63); v.find(n) >= 0)
          product *= static_cast<double>(v.of(n));
      s += product;
    }
    return s;
  }

  term term_[capacity]{};
  int count_ = 0;
};

// One half of a program. flops: + - * / min max compare and elementary functions, one each;
// bytes: what its steps read and write in buffers and arguments, not what stays within a sweep; steps: kernel calls.
struct cost_part {
  polynomial flops, bytes;
  int steps = 0;
};
struct cost {
  cost_part primal, adjoint;
  polynomial arena; // bytes of the one allocation, without kernel scratch
  // Cotangents that were zero outside selected rows and got all rows, because an op of the adjoint mixes rows. A
  // gradient that is a sum of them and a result does not count.
  int densified = 0;
  constexpr polynomial flops() const { return primal.flops + adjoint.flops; }
  constexpr polynomial bytes() const { return primal.bytes + adjoint.bytes; }
  constexpr int steps() const { return primal.steps + adjoint.steps; }
};

} // namespace tapeless
