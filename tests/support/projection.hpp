#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// <u, J v> == <J^T u, v> for one random u and v: a jvp and a vjp belong to the same J.
// Tolerance: the products are summed in double, so only the rounding of J v and of J^T u counts. Either is
// off by about roundings * eps of its norm; roundings is the length of the chain behind one element (for a
// sum the square root of its terms, as errors of random sign cancel). By Cauchy-Schwarz the sides move by
//   roundings * eps(T) * (|u| |J v| + |J^T u| |v|).

#include <cmath>
#include <cstddef>
#include <limits>
#include <ostream>
#include <span>
#include <stdexcept>

namespace support {

struct projection {
  double left = 0;  // <u, J v>
  double right = 0; // <J^T u, v>
  double tolerance = 0;

  // False for NaN, and where the test could not fail because both sides are 0.
  explicit operator bool() const { return std::abs(left - right) <= tolerance && tolerance > 0; }

  friend std::ostream& operator<<(std::ostream& out, const projection& p) {
    return out << "<u, J v> = " << p.left << ", <J^T u, v> = " << p.right << ", difference "
               << p.left - p.right << ", tolerance " << p.tolerance;
  }
};

template <class T>
double dot(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) throw std::invalid_argument("projection: vectors of different length");
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// CHECK(project<float>(u, jv, jtu, v)) prints both sides where they differ.
template <class T>
projection project(std::span<const T> u, std::span<const T> jv, std::span<const T> jtu, std::span<const T> v,
                   double roundings = 8) {
  const auto norm = [](std::span<const T> a) { return std::sqrt(dot<T>(a, a)); };
  const double scale = norm(u) * norm(jv) + norm(jtu) * norm(v);
  return {dot<T>(u, jv), dot<T>(jtu, v), roundings * std::numeric_limits<T>::epsilon() * scale};
}

} // namespace support
