#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y = (x - m) / sqrt(v + eps) * gamma + beta, m = mean(x), v = mean((x - m)^2), over some axes
// batch_norm: all axes but 1      instance_norm: axes 2 ..      x: (N, C, ..)   gamma, beta: (C)
// group_norm: axes 2 .. and the channels of a group             x: (N, C, ..)   gamma, beta: (C)
// layer_norm: the last k axes     rms_norm: the same, x / sqrt(mean(x^2) + eps) * gamma
// drift = m - m is 0: the library's tangent of the mean passes through it, and its flops count.
// Flops, n elements, m means, p of (gamma over a deviation): batch and instance norm 6 n + 7 m + 3 p, without gamma
// and beta 6 n + 9 m; group_norm of N C = p channels 6 n + 2 m + 10 p (9 p); layer_norm 8 n + 9 m, without 6 n + 9 m;
// rms_norm 4 n + 4 m, without gamma 3 n + 4 m; batch_norm with given statistics 3 n + 3 p.

#include "array.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"
#include "shape.hpp"

namespace ref {

template <class T>
struct moments {
  array<T> mean, variance, centred, drift;
};
// average(x): the mean of every element's set, which broadcasts with x
template <class T, class F>
moments<T> moments_of(const array<T>& x, F average) {
  const array<T> m = average(x), c = x - m, d = m - m;
  return {m, average(square(c)) - square(d), c, d};
}
template <class T>
moments<T> moments_of(const array<T>& x, const dims& axes) {
  return moments_of(x, [&](const array<T>& a) { return mean(a, axes, true); });
}
template <class T>
array<T> deviation(const array<T>& variance, double eps) {
  return sqrt(variance + constant(T(eps)));
}
template <class T>
array<T> scaled(const moments<T>& q, const array<T>& scale) {
  return q.centred * scale - q.drift * scale;
}
template <class T>
array<T> scaled(const moments<T>& q, const array<T>& scale, const array<T>& shift) {
  return q.centred * scale + (shift - q.drift * scale);
}

// (C) -> (C, 1, ..), to meet axis 1 of an array of this rank
template <class T>
array<T> along_channels(const array<T>& a, std::size_t rank) {
  dims s(rank - 1, 1);
  s[0] = a.size();
  return reshape(a, s);
}
inline dims axes_from(std::size_t first, std::size_t rank) {
  dims axes;
  for (std::size_t axis = first; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}
inline dims batch_axes(std::size_t rank) {
  dims axes = axes_from(2, rank);
  axes.push_back(0);
  return axes;
}

template <class T>
array<T> norm_over(const array<T>& x, const dims& axes, double eps) {
  const moments<T> q = moments_of(x, axes);
  return scaled(q, constant(T(1)) / deviation(q.variance, eps));
}
template <class T>
array<T> norm_over(const array<T>& x, const dims& axes, const array<T>& gamma, const array<T>& beta,
                   double eps) {
  const moments<T> q = moments_of(x, axes);
  return scaled(q, gamma / deviation(q.variance, eps), beta);
}

template <class T>
array<T> batch_norm(const array<T>& x, double eps = 1e-5) {
  return norm_over(x, batch_axes(x.rank()), eps);
}
template <class T>
array<T> batch_norm(const array<T>& x, const array<T>& gamma, const array<T>& beta, double eps = 1e-5) {
  return norm_over(x, batch_axes(x.rank()), along_channels(gamma, x.rank()), along_channels(beta, x.rank()),
                   eps);
}
template <class T>
array<T> batch_norm(const array<T>& x, const array<T>& gamma, const array<T>& beta, const array<T>& mean,
                    const array<T>& variance, double eps = 1e-5) {
  const array<T> scale = along_channels(gamma / deviation(variance, eps), x.rank());
  return (x - along_channels(mean, x.rank())) * scale + along_channels(beta, x.rank());
}
template <class T>
array<T> batch_mean(const array<T>& x) {
  return mean(x, batch_axes(x.rank()));
}
template <class T>
array<T> batch_variance(const array<T>& x) {
  const array<T> v = moments_of(x, batch_axes(x.rank())).variance;
  return reshape(v, {v.size()});
}

template <class T>
array<T> instance_norm(const array<T>& x, double eps = 1e-5) {
  return norm_over(x, axes_from(2, x.rank()), eps);
}
template <class T>
array<T> instance_norm(const array<T>& x, const array<T>& gamma, const array<T>& beta, double eps = 1e-5) {
  return norm_over(x, axes_from(2, x.rank()), along_channels(gamma, x.rank()), along_channels(beta, x.rank()),
                   eps);
}

// (N, C, ..) -> (N, C, 1, ..): the sums of the channels, then of the groups, over the number of elements
template <class T>
array<T> group_mean(const array<T>& x, std::int64_t groups) {
  const std::int64_t N = x.shape[0], C = x.shape[1], each = C / groups;
  const dims rest(x.shape.begin() + 2, x.shape.end());
  array<T> s = rest.empty() ? x : sum(x, axes_from(2, x.rank()));
  if (each > 1) s = sum(reshape(s, {N, groups, each}), {2});
  const array<T> m =
      reshape(s, {N, groups, 1}) / constant(T(static_cast<double>(each * element_count(rest))));
  dims shape(x.rank(), 1);
  shape[0] = N;
  shape[1] = C;
  return reshape(broadcast_to(m, {N, groups, each}), shape);
}
template <class T>
array<T> group_norm(const array<T>& x, std::int64_t groups, double eps = 1e-5) {
  const moments<T> q = moments_of(x, [&](const array<T>& a) { return group_mean(a, groups); });
  return scaled(q, constant(T(1)) / deviation(q.variance, eps));
}
template <class T>
array<T> group_norm(const array<T>& x, std::int64_t groups, const array<T>& gamma, const array<T>& beta,
                    double eps = 1e-5) {
  const moments<T> q = moments_of(x, [&](const array<T>& a) { return group_mean(a, groups); });
  return scaled(q, along_channels(gamma, x.rank()) / deviation(q.variance, eps),
                along_channels(beta, x.rank()));
}
template <class T>
array<T> layer_norm(const array<T>& x, std::size_t k = 1, double eps = 1e-5) {
  return norm_over(x, axes_from(x.rank() - k, x.rank()), eps);
}
template <class T>
array<T> layer_norm(const array<T>& x, std::size_t k, const array<T>& gamma, const array<T>& beta,
                    double eps = 1e-5) {
  return layer_norm(x, k, eps) * gamma + beta;
}
template <class T>
array<T> rms_norm(const array<T>& x, std::size_t k = 1, double eps = 1e-5) {
  const dims axes = axes_from(x.rank() - k, x.rank());
  return x * (constant(T(1)) / deviation(mean(square(x), axes, true), eps));
}
template <class T>
array<T> rms_norm(const array<T>& x, std::size_t k, const array<T>& gamma, double eps = 1e-5) {
  return rms_norm(x, k, eps) * gamma;
}

} // namespace ref
