// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// unfold   y[n, o, c, t, :] = x[n, c, o * stride - front + t * dil, :], zero outside x      fold   its transpose
// A chunk of unfold is one (n, o), of fold one (n, c). V names the architecture.
#include <algorithm>

#include "../../core/bf16.hpp"
#include "../../expr/op.hpp"
#include "../../ops/unfold.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/long_sums.hpp"
#include "../base/operand.hpp"
#include "../base/team.hpp"

namespace tapeless::cpu {

template <class T, team Team, class V = simd<T>>
void unfold(const Team& team, const unfold_extents& e, const T* x, T* y) {
  team.run(e.n * e.out, [&](index_t chunk, int) {
    const index_t n = chunk / e.out, o = chunk % e.out;
    T* to = y + chunk * e.c * e.taps * e.area;
    for (index_t c = 0; c < e.c; ++c)
      for (index_t t = 0; t < e.taps; ++t, to += e.area) {
        const index_t at = o * e.stride - e.front + t * e.dil;
        if (at < 0 || at >= e.d) std::fill_n(to, e.area, T{});
        else std::copy_n(x + ((n * e.c + c) * e.d + at) * e.area, e.area, to);
      }
  });
}

/// dx is overwritten; elements of no window become zero.
template <class T, team Team, class V = simd<T>>
void fold(const Team& team, const unfold_extents& e, const T* dy, T* dx) {
  team.run(e.n * e.c, [&](index_t chunk, int) {
    const index_t n = chunk / e.c, c = chunk % e.c;
    T* const to = dx + chunk * e.d * e.area;
    const T* const windows =
        dy + (n * e.out * e.c + c) * e.taps * e.area; // of o: e.c * e.taps * e.area further
    if (e.taps > short_sum) {                         // sums of many terms
      for (index_t at = 0; at < e.d; ++at)
        for (index_t i = 0; i < e.area; ++i) {
          T sum(0), lost(0);
          for (index_t o = 0; o < e.out; ++o) {
            const index_t t = at + e.front - o * e.stride;
            if (t >= 0 && t % e.dil == 0 && t / e.dil < e.taps)
              add_compensated(sum, lost, windows[(o * e.c * e.taps + t / e.dil) * e.area + i]);
          }
          to[at * e.area + i] = sum;
        }
      return;
    }
    std::fill_n(to, e.d * e.area, T(0));
    for (index_t o = 0; o < e.out; ++o)
      for (index_t t = 0; t < e.taps; ++t) {
        const index_t at = o * e.stride - e.front + t * e.dil;
        if (at < 0 || at >= e.d) continue;
        const T* const from = windows + (o * e.c * e.taps + t) * e.area;
        T* const sum = to + at * e.area;
        for (index_t i = 0; i < e.area; ++i) sum[i] += from[i];
      }
  });
}

// ---- steps
template <> struct kernel_for<detail::op::unfold> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    using V = simd<std::conditional_t<std::is_same_v<T, bf16>, float, T>>;
    unfold<T, Team, V>(team, unfold_of(c.step, c.operand(0)), c.in(0), c.out());
  }
};
template <> struct kernel_for<detail::op::fold> {
  template <auto, class T, class Team> static void run(const Team& team, const kernel_call<T>& c) {
    fold<T>(team, unfold_of(c.step, c.result()), c.in(0), c.out());
  }
};

} // namespace tapeless::cpu
