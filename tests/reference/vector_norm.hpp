#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// norm(x, axes, p) = (sum |x|^p)^(1/p), p infinite: max |x|
// variance(x, axes, unbiased) = mean((x - mean(x))^2), of n or of n - 1 elements; std_dev, its root
// Flops, n elements in m vectors: norm 2 n + 2 m (p = 2), 2 n (p = 1, infinity), 2 n + 2 m (other p); variance 5 n + 6 m (as the
// library computes it: what corrects the rounding of a mean is counted), unbiased m more; a root 2 m.

#include "array.hpp"
#include "elementwise.hpp"
#include "functions.hpp"
#include "reduce.hpp"

#include <cmath>

namespace ref {

// sqrt, in two flops
template <class T>
array<T> root(const array<T>& a) {
  return map<T>(a, [](T x) {
    using std::sqrt;
    return x == T(0) ? T(0) : sqrt(x);
  });
}
template <class T>
array<T> norm(const array<T>& x, const dims& over, double p = 2, bool keep = false) {
  if (p == 2) return root(sum(square(x), over, keep));
  const array<T> size = abs(x);
  if (p == 1) return sum(size, over, keep);
  if (std::isinf(p)) return max(size, over, keep);
  const array<T> total = sum(pow(size, array<T>({}, T(p))), over, keep);
  return map<T>(total, [p](T y) {
    using std::pow;
    return y == T(0) ? T(0) : pow(y, T(1 / p));
  });
}

// The mean is corrected by that of what is left, which a rounding has left over.
template <class T>
array<T> variance(const array<T>& x, const dims& over, bool unbiased = false, bool keep = false) {
  const array<T> centred = x - mean(x, over, true);
  const array<T> v = mean(square(centred), over, keep) - square(mean(centred, over, keep));
  const array<T> biased = map<T>(v, [](T y) { return larger(y, T(0)); });
  if (!unbiased) return biased;
  const auto n = static_cast<double>(reduced_count(x.shape, over));
  return map<T>(biased, [n](T y) { return y * T(n / (n - 1)); });
}

} // namespace ref
