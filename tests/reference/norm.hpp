#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y = (x - m) / sqrt(v + eps) * gamma + beta, m = mean(x), v = mean((x - m)^2), over some axes
// batch_norm: all axes but 1      instance_norm: axes 2 ..      x: (N, C, ..)   gamma, beta: (C)
// group_norm: axes 2 .. and the channels of a group             x: (N, C, ..)   gamma, beta: (C)
// layer_norm: the last k axes     rms_norm: the same, x / sqrt(mean(x^2) + eps) * gamma
// As the library computes it, for its flops count: of u = mean(x) with the rounding of its sum, and of (x - u) t, where t
// is 1 unless squares overflow. drift = mean((x - u) t).
// Flops, n elements, m means, p of (gamma over a deviation): batch and instance norm 12 n + 13 m + 2 p, without gamma and
// beta 11 n + 15 m; group_norm of N C = p channels 12 n + 2 m + 17 p, without 11 n + 2 m + 17 p; layer_norm
// 13 n + 15 m, without 11 n + 15 m; rms_norm 8 n + 7 m, without gamma 7 n + 7 m; batch_norm with given statistics
// 3 n + 3 p. batch_norm, whose count is known at run time, divides 1 by it: one more.

#include "array.hpp"
#include "elementwise.hpp"
#include "reduce.hpp"
#include "shape.hpp"

namespace ref {

template <class T>
struct moments {
  array<T> u, t, centred, drift, variance;
};
// t, of the sum of squares
template <class T>
array<T> scale_of(const array<T>& squares) {
  return map<T>(squares, [](T s) {
    const bool fits = s - s == T(0);
    return fits ? T(1) : T(0);
  });
}
// total(x), average(x): the sum and the mean of every element's set, which broadcast with x; share: 1 over its size
template <class T, class Sum, class Mean>
moments<T> moments_of(const array<T>& x, const array<T>& share, Sum total, Mean average) {
  const array<T> u = total(x * share);
  const array<T> t = scale_of(total(square(x)));
  const array<T> centred = x - u, c = centred * t, d = average(c), d2 = square(d);
  const array<T> v = average(square(c)) - d2;
  return {u, t, centred, d, v + max(d2 * constant(T(1.0 / (1 << 14))) - v, constant(T(0)))};
}
template <class T>
moments<T> moments_of(const array<T>& x, const dims& axes, const array<T>& share) {
  return moments_of(
      x, share, [&](const array<T>& a) { return sum(a, axes, true); },
      [&](const array<T>& a) { return mean(a, axes, true); });
}
template <class T>
array<T> share_of(std::int64_t n) {
  return constant(T(1.0 / static_cast<double>(n)));
}
template <class T>
array<T> deviation(const array<T>& variance, double eps) {
  return sqrt(variance + constant(T(eps)));
}
template <class T>
array<T> scaled(const moments<T>& q, const array<T>& scale) {
  return (q.centred - q.drift / q.t) * (q.t * scale);
}
template <class T>
array<T> scaled(const moments<T>& q, const array<T>& scale, const array<T>& shift) {
  return scaled(q, scale) + shift;
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
array<T> normalised(const moments<T>& q, double eps) {
  return scaled(q, constant(T(1)) / deviation(q.variance, eps));
}
template <class T>
array<T> normalised(const moments<T>& q, const array<T>& gamma, const array<T>& beta, double eps) {
  return scaled(q, gamma / deviation(q.variance, eps), beta);
}
template <class T>
moments<T> moments_of(const array<T>& x, const dims& axes) {
  return moments_of(x, axes, share_of<T>(reduced_count(x.shape, axes)));
}
template <class T>
moments<T> batch_moments(const array<T>& x) {
  const dims axes = batch_axes(x.rank());
  const auto n = static_cast<double>(reduced_count(x.shape, axes));
  return moments_of(x, axes, constant(T(1)) / constant(T(n)));
}

template <class T>
array<T> batch_norm(const array<T>& x, double eps = 1e-5) {
  return normalised(batch_moments(x), eps);
}
template <class T>
array<T> batch_norm(const array<T>& x, const array<T>& gamma, const array<T>& beta, double eps = 1e-5) {
  return normalised(batch_moments(x), along_channels(gamma, x.rank()), along_channels(beta, x.rank()), eps);
}
template <class T>
array<T> batch_norm(const array<T>& x, const array<T>& gamma, const array<T>& beta, const array<T>& mean,
                    const array<T>& variance, double eps = 1e-5) {
  const array<T> scale = along_channels(gamma / deviation(variance, eps), x.rank());
  return (x - along_channels(mean, x.rank())) * scale + along_channels(beta, x.rank());
}
template <class T>
array<T> batch_mean(const array<T>& x) {
  const dims axes = batch_axes(x.rank());
  const auto n = static_cast<double>(reduced_count(x.shape, axes));
  const array<T> u = sum(x * (constant(T(1)) / constant(T(n))), axes, true);
  const array<T> t = scale_of(sum(square(x), axes, true));
  const array<T> m = u + mean((x - u) * t, axes, true) / t;
  return reshape(m, {m.size()});
}
template <class T>
array<T> batch_variance(const array<T>& x) {
  const moments<T> q = batch_moments(x);
  const array<T> v = q.variance / q.t / q.t;
  return reshape(v, {v.size()});
}

template <class T>
array<T> instance_norm(const array<T>& x, double eps = 1e-5) {
  return normalised(moments_of(x, axes_from(2, x.rank())), eps);
}
template <class T>
array<T> instance_norm(const array<T>& x, const array<T>& gamma, const array<T>& beta, double eps = 1e-5) {
  return normalised(moments_of(x, axes_from(2, x.rank())), along_channels(gamma, x.rank()),
                    along_channels(beta, x.rank()), eps);
}

// (N, C, ..) -> (N, C, 1, ..): the sums of the channels, then of the groups, over `count` where there is one
template <class T>
array<T> group_sum(const array<T>& x, std::int64_t groups, std::int64_t count = 0) {
  const std::int64_t N = x.shape[0], C = x.shape[1], each = C / groups;
  array<T> s = x.rank() == 2 ? x : sum(x, axes_from(2, x.rank()));
  if (each > 1) s = sum(reshape(s, {N, groups, each}), {2});
  s = reshape(s, {N, groups, 1});
  if (count > 0) s = s / constant(T(static_cast<double>(count)));
  dims shape(x.rank(), 1);
  shape[0] = N;
  shape[1] = C;
  return reshape(broadcast_to(s, {N, groups, each}), shape);
}
template <class T>
moments<T> group_moments(const array<T>& x, std::int64_t groups) {
  const std::int64_t n = x.shape[1] / groups * element_count(dims(x.shape.begin() + 2, x.shape.end()));
  return moments_of(
      x, share_of<T>(n), [&](const array<T>& a) { return group_sum(a, groups); },
      [&](const array<T>& a) { return group_sum(a, groups, n); });
}
template <class T>
array<T> group_norm(const array<T>& x, std::int64_t groups, double eps = 1e-5) {
  return normalised(group_moments(x, groups), eps);
}
template <class T>
array<T> group_norm(const array<T>& x, std::int64_t groups, const array<T>& gamma, const array<T>& beta,
                    double eps = 1e-5) {
  return normalised(group_moments(x, groups), along_channels(gamma, x.rank()), along_channels(beta, x.rank()),
                    eps);
}
template <class T>
array<T> layer_norm(const array<T>& x, std::size_t k = 1, double eps = 1e-5) {
  return normalised(moments_of(x, axes_from(x.rank() - k, x.rank())), eps);
}
template <class T>
array<T> layer_norm(const array<T>& x, std::size_t k, const array<T>& gamma, const array<T>& beta,
                    double eps = 1e-5) {
  return layer_norm(x, k, eps) * gamma + beta;
}
template <class T>
array<T> rms_norm(const array<T>& x, std::size_t k = 1, double eps = 1e-5) {
  const dims axes = axes_from(x.rank() - k, x.rank());
  const array<T> squares = sum(square(x), axes, true), small = constant(T(0x1p-84));
  const array<T> low = sum(square(x * small + small), axes, true); // where the squares overflow
  const array<T> t = scale_of(squares);
  const array<T> n = constant(T(static_cast<double>(reduced_count(x.shape, axes))));
  return x * (t * (constant(T(1)) / deviation(squares / n, eps)));
}
template <class T>
array<T> rms_norm(const array<T>& x, std::size_t k, const array<T>& gamma, double eps = 1e-5) {
  return rms_norm(x, k, eps) * gamma;
}

} // namespace ref
