// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Sums of n terms with an error of at most 4 eps log2(n) sum |x|.
// A term that passes k additions adds at most k eps / 2 of itself to the error. So a term may pass 8 log2(n)
// additions. Up to chain_of(n) terms are added one after the other: a chain. Chains are added to pairs of numbers high
// + low, where low holds what the rounding of high has lost (two_sum). At most 32 chains may be added in a chain of
// their own instead.
#pragma once
#include <algorithm>
#include "../../plan/ir/step.hpp"
#include "simd.hpp" // IWYU pragma: export

namespace tapeless::cpu {

using detail::short_sum;
/// The most terms of a sum of n that are added one after the other.
constexpr index_t chain_of(index_t n) { return n <= short_sum ? n : n < 1200 ? 32 : n < 300000 ? 64 : 128; }

template <class V> [[gnu::always_inline]] inline V zero_of() {
  if constexpr (std::is_floating_point_v<V>) return V(0);
  else return V(typename V::value_type(0));
}

/// high + low += x, almost exactly. V is a number or lanes. Once high is NaN or infinite, low is NaN.
template <class V> [[gnu::always_inline]] inline void two_sum(V& high, V& low, const V& x) {
  const V sum = high + x, from_x = sum - high;
  low += (high - (sum - from_x)) + (x - from_x);
  high = sum;
}
/// The number that high and low stand for.
template <class V> [[gnu::always_inline]] inline V sum_of(const V& high, const V& low) {
  if constexpr (std::is_floating_point_v<V>) return low == low ? high + low : high;
  else return high + select(low == low, low, zero_of<V>());
}

/// sum += x with compensation: `lost` is what the sum has too much, and the next term corrects it. So nothing is added
/// at the end.
template <class V> [[gnu::always_inline]] inline void add_compensated(V& sum, V& lost, const V& x) {
  const V y = x - lost, next = sum + y, too_much = (next - sum) - y;
  if constexpr (std::is_floating_point_v<V>) lost = too_much == too_much ? too_much : V(0);
  else lost = select(too_much == too_much, too_much, zero_of<V>());
  sum = next;
}
/// The same for n sums.
template <class V>
[[gnu::always_inline]] inline void add_compensated(index_t n, const typename V::value_type* x,
                                                   typename V::value_type* sum,
                                                   typename V::value_type* lost) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t i = 0;
  for (; i + W <= n; i += W) {
    V s = load<V>(sum + i), l = load<V>(lost + i);
    add_compensated(s, l, load<V>(x + i));
    store(sum + i, s);
    store(lost + i, l);
  }
  for (; i < n; ++i) add_compensated(sum[i], lost[i], x[i]);
}

/// high + low += chain, and the chain begins again at 0.
template <class V> [[gnu::noinline]] void end_chain(V& high, V& low, V& chain) {
  two_sum(high, low, chain);
  chain = zero_of<V>();
}

/// high[i] + low[i] += chain[i]. first: high and low are 0 so far
template <class V> [[gnu::noinline]] void end_chains(index_t n, typename V::value_type* high,
                                                     typename V::value_type* low,
                                                     const typename V::value_type* chain, bool first) {
  using T = typename V::value_type;
  constexpr index_t W = static_cast<index_t>(V::size);
  if (first) {
    std::copy_n(chain, n, high);
    std::fill_n(low, n, T(0));
    return;
  }
  index_t i = 0;
  for (; i + W <= n; i += W) {
    V h = load<V>(high + i), l = load<V>(low + i);
    two_sum(h, l, load<V>(chain + i));
    store(high + i, h);
    store(low + i, l);
  }
  for (; i < n; ++i) two_sum(high[i], low[i], chain[i]);
}
/// high[i] = high[i] + low[i]
template <class V>
[[gnu::noinline]] void end_sums(index_t n, typename V::value_type* high, const typename V::value_type* low) {
  constexpr index_t W = static_cast<index_t>(V::size);
  index_t i = 0;
  for (; i + W <= n; i += W) store(high + i, sum_of(load<V>(high + i), load<V>(low + i)));
  if (i < n) store_n(high + i, sum_of(load_n<V>(high + i, n - i), load_n<V>(low + i, n - i)), n - i);
}

} // namespace tapeless::cpu
