// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Running ops along an axis: operands and y (before, n, after); to_end: they begin at the end. running_of<op> says what is kept from
// one element to the next. Neighbours after the axis are lanes, a block of them walks down together. Where nothing stands after the
// axis, lines are lanes, by transposes of blocks; of few lines the running sum cuts each one into parts, which are lanes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include "../../expr/op.hpp"
#include "../base/long_sums.hpp"
#include "../base/math/arithmetic.hpp"
#include "../base/operand.hpp"
#include "../base/simd.hpp"
#include "../base/transpose.hpp"
#include "argmax.hpp"

namespace tapeless::cpu {

// V: a vector, or a number. next(a, b): y of the next element, of operands a and b
template <detail::op O, class V> struct running_of;

template <class V> [[gnu::always_inline]] inline V number_of(double x) {
  if constexpr (std::is_arithmetic_v<V>) return static_cast<V>(x);
  else return V(static_cast<typename V::value_type>(x));
}

// A pair of numbers, high + low, so that rounding errors do not add up.
template <class V> struct running_of<detail::op::cumsum, V> {
  V high = zero_of<V>(), low = zero_of<V>();
  [[gnu::always_inline]] V next(const V& x, const V&) {
    two_sum(high, low, x);
    return sum_of(high, low);
  }
};
template <> struct running_of<detail::op::cumsum, std::int32_t> {
  std::uint32_t sum = 0; // wraps around as + does
  std::int32_t next(std::int32_t x, std::int32_t) {
    sum += static_cast<std::uint32_t>(x);
    return static_cast<std::int32_t>(sum);
  }
};
template <class V> struct running_of<detail::op::cumprod, V> {
  V y = number_of<V>(1);
  [[gnu::always_inline]] V next(const V& x, const V&) { return y = y * x; }
};
// 0 times a coefficient is 0, whatever that is: the first one is not read, and what no result reads gets no NaN from behind it.
template <class V> struct running_of<detail::op::linear_scan, V> {
  V y = zero_of<V>(), ahead = y; // from the end: the coefficient of the next element
  [[gnu::always_inline]] V next(const V& a, const V& b) {
    if constexpr (std::is_arithmetic_v<V>) return y = y == 0 ? b : fma_scalar(a, y, b);
    else return y = select(y == zero_of<V>(), b, fma(a, y, b));
  }
};
// A NaN, once met, stays.
template <class V> struct running_of<detail::op::cummax, V> {
  V y = number_of<V>(-std::numeric_limits<double>::infinity());
  [[gnu::always_inline]] V next(const V& x, const V&) {
    if constexpr (std::is_arithmetic_v<V>) return y = y >= x || y != y ? y : x;
    else return y = select((y >= x) | !(y == y), y, x);
  }
};
// The place of the first maximum; of lanes its bits.
template <class V> struct running_of<detail::op::cumargmax, V> {
  V y = number_of<V>(0), at = y;
  bit_lane<V> count = 0;
  V next(const V& x, const V&) {
    const V here = from_bits<V>(bit_lanes<V>{} + count);
    const auto is = is_better_in(x, y);
    y = count == 0 ? x : select(is, x, y);
    at = count == 0 ? here : select(is, here, at);
    ++count;
    return at;
  }
};
template <class T>
  requires std::is_arithmetic_v<T>
struct running_of<detail::op::cumargmax, T> {
  T y{};
  std::int32_t at = 0, count = 0;
  std::int32_t next(T x, T) {
    if (count == 0 || is_better(x, y)) y = x, at = count;
    ++count;
    return at;
  }
};

// y of the next element, of operands a and b. linear_scan: the coefficient from i + 1 to i is that of i + 1
template <detail::op O, class V>
[[gnu::always_inline]] inline auto next_of(running_of<O, V>& r, bool to_end, bool first, const V& a,
                                           const V& b) {
  if constexpr (O == detail::op::linear_scan) {
    const V of = to_end || first ? r.ahead : a;
    if (to_end) r.ahead = a;
    return r.next(of, b);
  } else return r.next(a, b);
}

template <class V, class T> [[gnu::always_inline]] inline void put(T* to, const V& v) {
  if constexpr (std::is_same_v<T, typename V::value_type>) store(to, v);
  else { // positions
    bit_lane<V> lane[V::size];
    std::memcpy(lane, &v, sizeof lane);
    for (std::size_t l = 0; l < V::size; ++l) to[l] = static_cast<T>(lane[l]);
  }
}

// One column. a, b and y are at the first element; the next one is `step` further.
template <detail::op O, class T, class Y>
void scan_column(index_t n, index_t step, bool to_end, const T* a, const T* b, Y* y) {
  running_of<O, T> r;
  for (index_t i = 0, at = 0; i < n; ++i, at += step)
    y[at] = next_of<O>(r, to_end, i == 0, a[at], O == detail::op::linear_scan ? b[at] : a[at]);
}
// Columns that walk down together: a page of a row, so that memory is read in runs, and their state stays near.
template <class T> inline constexpr index_t columns_together = 4096 / static_cast<index_t>(sizeof(T));
// `vectors` of columns, at most Most: row by row
template <detail::op O, class V, int Most, class T, class Y>
void scan_vectors(index_t n, index_t step, bool to_end, index_t vectors, const T* a, const T* b, Y* y) {
  constexpr index_t W = static_cast<index_t>(V::size), line = 64 / static_cast<index_t>(sizeof(T));
  const index_t ahead = 8192 / static_cast<index_t>(sizeof(V)) / vectors; // rows whose memory is asked for
  running_of<O, V> r[Most];
  for (index_t i = 0; i < n; ++i) {
    const index_t at = i * step, later = i + ahead < n ? at + ahead * step : at;
    for (index_t k = 0; k < (Most == 1 ? 1 : vectors); ++k) {
      const index_t j = at + k * W;
      if (Most > 1 && k * W % line == 0) {
        __builtin_prefetch(a + later + k * W);
        if constexpr (O == detail::op::linear_scan) __builtin_prefetch(b + later + k * W);
        __builtin_prefetch(y + later + k * W, 1);
      }
      const V x = load<V>(a + j);
      put(y + j, next_of<O>(r[k], to_end, i == 0, x, O == detail::op::linear_scan ? load<V>(b + j) : x));
    }
  }
}

// Columns [from, from + count) of m lines, n apart: v[i] becomes column i, a line a lane. Lanes beyond m repeat the last line.
template <bool Whole, class V, class T = typename V::value_type>
[[gnu::always_inline]] inline void load_columns(index_t m, index_t count, index_t n, const T* x,
                                                V (&v)[V::size]) {
  const first_lanes<V> some(Whole ? 0 : count);
  unroll<V::size>([&](auto r) __attribute__((always_inline)) {
    const T* const p = x + std::min<index_t>(r, m - 1) * n;
    v[r] = Whole ? load<V>(p) : some.load(p);
  });
  transpose_lanes(v);
}
template <bool Whole, class V, class Y>
[[gnu::always_inline]] inline void store_columns(index_t m, index_t count, index_t n, Y* y, V (&v)[V::size]) {
  const first_lanes<V> some(Whole ? 0 : count);
  transpose_lanes(v);
  unroll<V::size>([&](auto r) __attribute__((always_inline)) {
    if (r >= m) return;
    Y* const p = y + r * n;
    if constexpr (Whole) put(p, v[r]);
    else if constexpr (std::is_same_v<Y, typename V::value_type>) some.store(p, v[r]);
    else {
      Y lane[V::size];
      put(lane, v[r]);
      std::copy_n(lane, count, p);
    }
  });
}
// m lines of n elements beside one another                          @pre 0 < m <= W
template <detail::op O, class V, class T, class Y>
void scan_lines(index_t m, index_t n, bool to_end, const T* a, const T* b, Y* y) {
  constexpr index_t W = static_cast<index_t>(V::size);
  constexpr bool is_linear = O == detail::op::linear_scan;
  running_of<O, V> r;
  bool first = true;
  const auto block = [&](auto whole, index_t at, index_t count) __attribute__((always_inline)) {
    V u[V::size], v[V::size];
    load_columns<whole>(m, count, n, a + at, u);
    if constexpr (is_linear) load_columns<whole>(m, count, n, b + at, v);
    const auto next = [&](auto end, auto i) __attribute__((always_inline)) {
      v[i] = next_of<O>(r, end, first, u[i], is_linear ? v[i] : u[i]);
      first = false;
    };
    if constexpr (!whole && !is_linear) std::copy_n(u, W, v); // what is not computed is not stored
    if constexpr (!whole)
      for (index_t i = 0; i < count; ++i) next(to_end, to_end ? count - 1 - i : i);
    else if (to_end)
      unroll<W>([&](auto i) __attribute__((always_inline)) {
        next(std::true_type{}, std::integral_constant<int, W - 1 - i>{});
      });
    else unroll<W>([&](auto i) __attribute__((always_inline)) { next(std::false_type{}, i); });
    store_columns<whole>(m, count, n, y + at, v);
  };
  const index_t rest = n % W, end = n - rest;
  if (to_end && rest > 0) block(std::false_type{}, end, rest);
  for (index_t i = 0; i < end; i += W) block(std::true_type{}, to_end ? end - W - i : i, W);
  if (!to_end && rest > 0) block(std::false_type{}, end, rest);
}

// The running sum of one line. A block is cut into W parts, which are lanes: their sums, what each one begins with, their running sums.
// Where a number of them is infinite or NaN, the block is summed in order instead, as is what does not fill a block.
template <class V, class T = typename V::value_type>
void sum_line(index_t n, bool to_end, const T* x, T* y) {
  constexpr index_t W = static_cast<index_t>(V::size), part = 128, block = W * part;
  running_of<detail::op::cumsum, T> carry;
  const auto in_order = [&](index_t from, index_t count) {
    for (index_t i = 0; i < count; ++i) {
      const index_t at = to_end ? from + count - 1 - i : from + i;
      y[at] = carry.next(x[at], T(0));
    }
  };
  const index_t rest = n % block, end = n - rest;
  if (to_end) in_order(end, rest);
  for (index_t done = 0; done < end; done += block) {
    const index_t from = to_end ? end - block - done : done;
    V columns[part], v[V::size];
    running_of<detail::op::cumsum, V> sum, odd;
    for (index_t c = 0; c < part; c += W) {
      load_columns<true>(W, W, part, x + from + c, v);
      unroll<V::size>([&](auto i) __attribute__((always_inline)) {
        columns[c + i] = v[i];
        auto& s = i % 2 == 0 ? sum : odd;
        two_sum(s.high, s.low, v[i]);
      });
    }
    two_sum(sum.high, sum.low, odd.high);
    alignas(64) T high[V::size], low[V::size];
    sum.high.store_aligned(high);
    (sum.low + odd.low).store_aligned(low);
    auto begin = carry;
    for (index_t i = 0; i < W; ++i) {
      const index_t l = to_end ? W - 1 - i : i;
      const T h = high[l], rest_of = low[l];
      high[l] = begin.high, low[l] = begin.low;
      two_sum(begin.high, begin.low, h);
      begin.low += rest_of;
    }
    sum.high = V::load_aligned(high);
    sum.low = V::load_aligned(low);
    for (index_t i = 0; i < part; ++i) {
      V& c = columns[to_end ? part - 1 - i : i];
      c = sum.next(c, c);
    }
    if (!xsimd::all(sum.low == sum.low)) {
      in_order(from, block);
      continue;
    }
    for (index_t c = 0; c < part; c += W) {
      unroll<V::size>([&](auto i) __attribute__((always_inline)) { v[i] = columns[c + i]; });
      store_columns<true>(W, W, part, y + from + c, v);
    }
    sum.high.store_aligned(high);
    sum.low.store_aligned(low);
    carry.high = high[to_end ? 0 : W - 1];
    carry.low = low[to_end ? 0 : W - 1];
  }
  if (!to_end) in_order(end, rest);
}

template <detail::op O, class T, class Y, class Team>
void scan_axis(const Team& team, index_t before, index_t n, index_t after, bool to_end, const T* a,
               const std::type_identity_t<T>* b, Y* y) {
  if (before * n * after == 0) return;
  constexpr bool of_lanes = std::is_floating_point_v<T>;
  const auto further = [=](const T* p, index_t by) {
    return O == detail::op::linear_scan ? p + by : nullptr;
  };
  if (after == 1) {
    constexpr index_t W = of_lanes ? width<T> : 1;
    const bool is_cut = O == detail::op::cumsum && 4 * before <= W;
    const index_t lines = is_cut ? 1 : W;
    return team.run((before + lines - 1) / lines, [=](index_t chunk, int) {
      const index_t m = std::min(lines, before - chunk * lines), at = chunk * lines * n;
      if constexpr (of_lanes) {
        if constexpr (O == detail::op::cumsum)
          if (is_cut) return sum_line<simd<T>>(n, to_end, a + at, y + at);
        if (m > 1) return scan_lines<O, simd<T>>(m, n, to_end, a + at, further(b, at), y + at);
      }
      const index_t first = to_end ? at + n - 1 : at;
      scan_column<O>(n, to_end ? -1 : 1, to_end, a + first, further(b, first), y + first);
    });
  }
  // columns of a chunk
  constexpr index_t together = columns_together<T>;
  const index_t block =
      before * ((after + together - 1) / together) < 4 * team.size() ? together / 4 : together;
  const index_t blocks = (after + block - 1) / block;
  team.run(before * blocks, [=](index_t chunk, int) {
    const index_t first = chunk / blocks * n * after + (to_end ? (n - 1) * after : 0),
                  step = to_end ? -after : after, hi = std::min(after, (chunk % blocks + 1) * block);
    index_t j = chunk % blocks * block;
    if constexpr (of_lanes) {
      using V = simd<T>;
      for (constexpr index_t W = width<T>; j + W <= hi;) {
        const index_t at = first + j, vectors = hi - j < 4 * W ? 1 : (hi - j) / W;
        if (vectors == 1) scan_vectors<O, V, 1>(n, step, to_end, 1, a + at, further(b, at), y + at);
        else scan_vectors<O, V, together / W>(n, step, to_end, vectors, a + at, further(b, at), y + at);
        j += vectors * W;
      }
    }
    for (; j < hi; ++j) scan_column<O>(n, step, to_end, a + first + j, further(b, first + j), y + first + j);
  });
}

template <detail::op O>
  requires(detail::is_scan(O))
struct kernel_for<O> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    using Y = std::conditional_t<O == detail::op::cumargmax, std::int32_t, T>;
    const shape& x = c.operand(0);
    scan_axis<O>(team, c.before_axis(x), x.d[c.axis()], c.after_axis(x), c.step.attr2 != 0, c.in(0),
                 O == detail::op::linear_scan ? c.in(1) : nullptr, c.template out<Y>());
  }
};
} // namespace tapeless::cpu
