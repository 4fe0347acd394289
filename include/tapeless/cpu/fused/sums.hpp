// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The sums of a fused kernel over its outer axes: where their chains begin and end, and where those are kept.
#include <bit>
#include <limits>
#include <type_traits>

#include "../../plan/ir/instruction.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "lanes.hpp"

namespace tapeless::cpu {

// The reduction of no elements, and of two. A NaN is the maximum.
template <class T> constexpr T neutral(int f) {
  return f == detail::folding::max ? -std::numeric_limits<T>::infinity()
                                   : T(f == detail::folding::product ? 1 : 0);
}
template <class T> [[gnu::always_inline]] inline T joined(int f, T x, T y) {
  return f == detail::folding::max       ? (x >= y || x != x ? x : y)
         : f == detail::folding::product ? x * y
                                         : x + y;
}

struct fused_arguments {
  void* const* base; // of each slot; nullptr: the slots' own
  const frame_slot* slot;
  const index_t* loop;
  const index_t* extent;        // values of named extents that the code reads
  index_t sweep = 0;            // rows from one block of a sweep to the next
  index_t done = 0;             // sums over the outermost axis continue after so many indices
  void* const* carry = nullptr; // of each store that carries: its chains, then what its sums have lost
};

template <auto Code, class V> class fused_sums {
public:
  static constexpr int slots = Code.slots;
  // Call after the last run() for sums over the outermost axis, of a.done indices in all.
  static void finish(const fused_arguments& a) {
    unroll<Code.stores>([&](auto k) {
      constexpr auto y = out(k);
      if constexpr (y.carries && y.k == store_kind::total) {
        T* const q = static_cast<T*>(base_of(a, y.slot));
        *q = sum_of(*q, *static_cast<T*>(carry_of(k, a)));
      } else if constexpr (y.carries && reduces(k, 0)) {
        sums s;
        set_chains<k>(a, s);
        chains& l = s.of[k];
        if (l.level < 0) return;
        if (l.n > 0) l.end(0, true);
        end_sums<V>(l.all, l.high, l.low);
      }
    });
  }

protected:
  using T = typename V::value_type;
  static constexpr int axes = Code.axes;
  static constexpr detail::store out(int k) { return detail::store(Code.store[k]); }
  static constexpr T identity(int k) { return neutral<T>(out(k).f); }
  using position = index_t[slots];
  [[gnu::always_inline]] static void* base_of(const fused_arguments& a, int k) {
    return a.base == nullptr ? a.slot[k].data() : a.base[k];
  }

  static constexpr bool in_chains(int k) { return out(k).carries && out(k).k != store_kind::total; }
  static constexpr bool has_chains() {
    for (int k = 0; k < Code.stores; ++k)
      if (in_chains(k)) return true;
    return false;
  }
  static constexpr int first_reduced(int k) { return std::countr_zero(out(k).reduced); }
  static constexpr bool reduces(int k, int axis) { return (out(k).reduced >> axis & 1u) != 0; }
  // The sums of one store over outer axes. Chains of `every` indices of axis `level` are added to pairs of numbers.
  struct chains {
    T *high, *low, *chain;
    int level = -1;            // -1: each sum is one chain, kept in the result
    unsigned inner = 0;        // the reduced axes inside `level`
    index_t size = 1, all = 1; // of a chain; of all from the first reduced axis on
    index_t every = 0, n = 0;  // indices in the current chain
    index_t outer = 0;         // offset of the results at the current outer indices
    bool begun = false;        // a chain has been added to high and low
    [[gnu::always_inline]] bool is_first(unsigned moved) const { return n == 0 && (moved & inner) == 0; }
    void end(index_t at, bool first) {
      end_chains<V>(size, high + outer + at, low + at, chain + at, first && !begun);
      begun = true;
      n = 0;
    }
  };
  struct none {};
  // The sums of a call. `total`, for sums over all axes, are chains of `added` vectors.
  struct sums {
    V total[Code.stores], high[Code.stores], low[Code.stores];
    int added = 0;
    bool is_long = false;
    std::conditional_t<has_chains(), chains[Code.stores], none> of;
  };
  template <int K> static void set_chains(const fused_arguments& a, sums& s) {
    chains& l = s.of[K];
    constexpr int last = out(K).k == store_kind::row ? axes - 1 : axes;
    l.inner = out(K).reduced & ((1u << last) - 1u);
    const auto product_of = [&](bool reduced, int from) {
      index_t n = 1;
      for (int x = from; x < last; ++x)
        if (reduces(K, x) == reduced) n *= a.loop[x];
      return n;
    };
    const index_t terms = product_of(true, 0), most = chain_of(terms);
    if (terms <= short_sum) return;
    for (int x = last - 1; x >= 0; --x) {
      if (!reduces(K, x)) continue;
      const index_t each = product_of(true, x + 1);
      if (l.level >= 0 && 2 * each > most) break;
      l.level = x;
      l.every = most / each;
    }
    constexpr int first = first_reduced(K), slot = out(K).slot;
    l.inner &= ~((2u << l.level) - 1u);
    l.size = product_of(false, l.level + 1);
    l.all = product_of(false, first + 1);
    l.high = static_cast<T*>(base_of(a, slot));
    l.chain = static_cast<T*>(carry_of(K, a));
    l.low = l.chain + l.all;
    if (l.level == 0) {
      l.n = a.done % l.every;
      l.begun = a.done >= l.every;
    }
  }
  static void* carry_of(int k, const fused_arguments& a) {
    int n = 0;
    for (int i = 0; i < k; ++i) n += out(i).carries;
    return a.carry[n];
  }
  // Calls f(k, its chains) for the stores in chains that reduce axis A.
  template <int A, class F> [[gnu::always_inline]] static void each_in_chains(sums& s, F f) {
    unroll<Code.stores>([&](auto k) __attribute__((always_inline)) {
      if constexpr (in_chains(k))
        if constexpr (reduces(k, A))
          if (s.of[k].level >= 0) f(k, s.of[k]);
    });
  }
  template <int A> [[gnu::always_inline]] static void begin_axis(sums& s, position& p) {
    each_in_chains<A>(s, [&](auto k, chains& l) __attribute__((always_inline)) {
      if constexpr (first_reduced(k) == A) {
        l.outer = p[out(k).slot];
        p[out(k).slot] = 0;
      }
      if (A > 0 && l.level == A) {
        l.n = 0;
        l.begun = false;
      }
    });
  }
  template <int A> [[gnu::always_inline]] static void end_step(sums& s, const position& p, unsigned moved) {
    each_in_chains<A>(s, [&](auto k, chains& l) __attribute__((always_inline)) {
      if (l.level == A && ++l.n == l.every)
        l.end(p[out(k).slot], (moved & out(k).reduced & ((1u << A) - 1u)) == 0);
    });
  }
  // The outermost axis is not ended here: other calls may follow, see finish.
  template <int A> [[gnu::always_inline]] static void end_axis(sums& s, const position& p, unsigned moved) {
    if constexpr (A > 0)
      each_in_chains<A>(s, [&](auto k, chains& l) __attribute__((always_inline)) {
        if (l.level == A && l.n > 0) l.end(p[out(k).slot], (moved & out(k).reduced & ((1u << A) - 1u)) == 0);
        if constexpr (first_reduced(k) == A) end_sums<V>(l.all, l.high + l.outer, l.low);
      });
  }
  // Arguments for which sums along outer axes go to their chains.
  struct arguments_in_chains : fused_arguments {
    void* place[slots];
    arguments_in_chains(const fused_arguments& a, sums& s) : fused_arguments(a) {
      unroll<Code.stores>([&](auto k) {
        if constexpr (in_chains(k)) set_chains<k>(a, s);
      });
      for (int k = 0; k < slots; ++k) place[k] = base_of(a, k);
      unroll<Code.stores>([&](auto k) {
        if constexpr (in_chains(k))
          if (s.of[k].level >= 0) place[out(k).slot] = s.of[k].chain;
      });
      base = place;
    }
    arguments_in_chains(const arguments_in_chains&) = delete;
  };
};

} // namespace tapeless::cpu
