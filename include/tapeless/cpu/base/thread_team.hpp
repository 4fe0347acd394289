// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// thread_team: the calling thread and size - 1 workers of its own.
//
// Each thread that runs programs has one pool. It is made in bind or in the thread's first run, is as large as the
// largest team that asked, and ends with the thread. A child process makes its own pool after a fork.
#include <pthread.h>
#include <type_traits>

#include "team.hpp"
#include "thread_pool.hpp"

namespace tapeless::cpu {

// The pool of this thread.
class own_pool {
  thread_pool* pool_ = nullptr;
  int forks_ = 0;
  static inline int forks = 0; // between the process that loaded this code and this one

public:
  own_pool() = default;
  own_pool(const own_pool&) = delete;
  ~own_pool() {
    if (forks_ == forks) delete pool_;
    pool_ = nullptr;
    ended = true;
  }
  static inline thread_local bool ended = false; // after the thread's destructors a team is one member
  static own_pool& get() {
    static thread_local own_pool p;
    return p;
  }
  // @return the pool, with as many of `members` as could be made; null where the caller is alone or at work
  thread_pool* with(int members) {
    if (ended) return nullptr;
    if (forks_ != forks) pool_ = nullptr; // its threads are the parent's
    if (pool_ == nullptr || pool_->size < members) make(members);
    return pool_->size > 1 && !pool_->at_work ? pool_ : nullptr;
  }

private:
  [[gnu::noinline]] void make(int members) {
    static const bool watched = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
    (void)watched;
    if (pool_ != nullptr && pool_->at_work) return;
    delete pool_;
    pool_ = nullptr;
    forks_ = forks;
    pool_ = new thread_pool(members);
  }
};

/// The calling thread and size - 1 workers.
///   @pre of run: start() has returned true in this thread, or the team may be smaller
class thread_team {
public:
  explicit thread_team(int size = available_threads())
      : size_(size < 1                   ? 1
              : size > thread_pool::most ? thread_pool::most
                                         : size) {}
  int size() const { return size_; }
  // Makes the threads if this thread has not made them yet.   @return whether all are there
  bool start() const {
    if (size_ == 1 || own_pool::ended) return true;
    const thread_pool* pool = own_pool::get().with(size_);
    return pool != nullptr && pool->size >= size_;
  }
  template <class F> void run(index_t chunks, F&& f) const {
    if (size_ > 1 && chunks > 1)
      if (thread_pool* const pool = own_pool::get().with(size_); pool != nullptr) {
        using body = std::remove_reference_t<F>;
        const int members = pool->size < size_ ? pool->size : size_;
        return pool->run(
            members, chunks,
            [](void* b, index_t chunk, int member) { (*static_cast<body*>(b))(chunk, member); },
            const_cast<std::remove_const_t<body>*>(&f));
      }
    serial_team::run(chunks, f);
  }

private:
  int size_;
};

} // namespace tapeless::cpu
