// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// run_steps: the steps of a plan, or of its load, one after another. use: who runs them, one thread at a time.
#pragma once
#include <utility>
#include "../core/error.hpp"

namespace tapeless::detail {

// In chunks: clang folds at most 256 operands, and short packs keep symbol names short.
template <class Backend, const auto& P, bool Load, int First, class Team, class Frame, int... I>
[[gnu::always_inline]] inline void run_chunk(const Team& team, Frame& f, std::integer_sequence<int, I...>) {
  if constexpr (Load) (Backend::template load_step<P, First + I>(team, f), ...);
  else (Backend::template run_step<P, First + I>(team, f), ...);
}
template <class Backend, const auto& P, bool Load, int First, int Count, class Team, class Frame>
void run_steps(const Team& team, Frame& f) {
  if constexpr (Count <= 64)
    run_chunk<Backend, P, Load, First>(team, f, std::make_integer_sequence<int, Count>{});
  else {
    run_steps<Backend, P, Load, First, Count / 2>(team, f);
    run_steps<Backend, P, Load, First + Count / 2, Count - Count / 2>(team, f);
  }
}

// What uses a bound object: one thread at a time.
class use {
  int& busy_;

public:
  explicit use(int& busy) : busy_(busy) {
    if (__atomic_exchange_n(&busy_, 1, __ATOMIC_ACQUIRE) != 0)
      misused(
          "tapeless: run: the bound object is in use by another thread: each thread binds its own, bind<...>(), or "
          "waits");
  }
  use(const use&) = delete;
  ~use() { __atomic_store_n(&busy_, 0, __ATOMIC_RELEASE); }
};

} // namespace tapeless::detail
