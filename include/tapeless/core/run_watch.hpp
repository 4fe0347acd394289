// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// run_watch: the number of a program's current run. In builds with TAPELESS_CHECKED a result knows the run that made
// it, and reading it throws usage_error once its program has run again or is gone.
//
// Types have the same layout with and without the macro. If the files of a program disagree, it links and runs, but
// some reads are not checked.
#pragma once
#include <cstdint>
#include "config.hpp" // IWYU pragma: keep
#include "error.hpp"
#include "rules.hpp"

namespace tapeless::detail {

// Outlives its program, so that late readers find it. Later programs reuse it; it is never freed. Run numbers repeat
// after 2^32 runs.
struct run_watch : tensor_owner {
  std::uint32_t run = 0;
  run_watch* next = nullptr; // free watch

  std::uint32_t now() const { return __atomic_load_n(&run, __ATOMIC_ACQUIRE); }
  void next_run() { __atomic_add_fetch(&run, 1u, __ATOMIC_RELEASE); }
};

class free_watches {
  run_watch* first_ = nullptr;
  bool busy_ = false;

  template <class F> void alone(F f) {
    while (__atomic_test_and_set(&busy_, __ATOMIC_ACQUIRE)) {}
    f();
    __atomic_clear(&busy_, __ATOMIC_RELEASE);
  }

public:
  run_watch* take() {
    run_watch* w = nullptr;
    alone([&] {
      w = first_;
      if (w != nullptr) first_ = w->next;
    });
    return w != nullptr ? w : new run_watch;
  }
  void give_back(run_watch* w) {
    w->next_run();
    alone([&] {
      w->next = first_;
      first_ = w;
    });
  }
};
inline free_watches watches;

// The watch of one program; it moves with the program.
class watched {
  run_watch* watch_ = nullptr;

public:
  watched() = default;
  watched(watched&& o) noexcept : watch_(o.watch_) { o.watch_ = nullptr; }
  watched& operator=(watched&& o) noexcept {
    watched taken(static_cast<watched&&>(o)); // o is left empty
    run_watch* const mine = taken.watch_;
    taken.watch_ = watch_;
    watch_ = mine;
    return *this;
  }
  ~watched() {
    if (watch_ != nullptr) watches.give_back(watch_);
  }
  void begin() { watch_ = watches.take(); }
  run_watch* get() const { return watch_; }
};

// Throws if the result of run `run` is no longer valid.
inline void require_current(const tensor_owner* watch, std::uint32_t run) {
  if (static_cast<const run_watch*>(watch)->now() != run)
    misused(
        "tapeless: a result is read whose program has run again, or is gone: a result looks at the program's memory; "
        "tl::copy(result, mine) keeps one, run.into(mine)(x...) writes there");
}

} // namespace tapeless::detail
