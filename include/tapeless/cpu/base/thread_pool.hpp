// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// thread_pool: the workers of one thread, and how they share the chunks of a job.
//
// A member never waits for a thread that the system does not run. Members claim chunks one by one. Each first takes
// those of its own share, which is contiguous, so that a member finds again what it wrote in the step before. Then it
// takes the last chunks of the others. A worker that comes too late finds nothing to do. The caller waits only for
// chunks that a worker has begun. Whoever waits spins for some microseconds and then sleeps, so that a team beside
// busy processes takes no more time than one thread.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "simd/index.hpp"

namespace tapeless::cpu {

// One member's share of the chunks, in units: the low half of `units` is its begin, the high half its end.
struct alignas(64) share_of_member {
  std::uint64_t units = 0;
  struct thread_pool* pool = nullptr;
  int member = 0;
  int sleeps = 0; // until `wake`
  pthread_cond_t wake;

  void set(index_t begin, index_t end) {
    __atomic_store_n(&units, static_cast<std::uint64_t>(end) << 32 | static_cast<std::uint64_t>(begin),
                     __ATOMIC_RELAXED);
  }
  // @return the first (Front) or the last unit of the share, -1 where there is none
  template <bool Front> index_t take() {
    std::uint64_t now = __atomic_load_n(&units, __ATOMIC_RELAXED);
    for (;;) {
      const index_t begin = static_cast<index_t>(now & 0xffffffffu), end = static_cast<index_t>(now >> 32);
      if (begin >= end) return -1;
      const std::uint64_t then = Front ? now + 1 : now - (std::uint64_t{1} << 32);
      if (__atomic_compare_exchange_n(&units, &now, then, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return Front ? begin : end - 1;
    }
  }
};

// Threads that this process may use.
inline int available_threads() {
#if defined(__linux__) && defined(CPU_COUNT)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1 : static_cast<int>(online);
}

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
// @return whether done() is true now, or becomes true within so many microseconds
template <class Done> bool spin(Done done, long microseconds) {
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
  };
  if (done()) return true;
  if (microseconds == 0) return false;
  for (const auto end = now() + microseconds; now() < end;)
    for (int i = 0; i < 16; ++i) {
      relax();
      if (done()) return true;
    }
  return false;
}

// Workers 1 .. size - 1 of the thread that made it. `ticket` says what they do:
//   bit 0 open: a job may be joined   bits 1..15 how many workers have joined   bits 16..31 members of the job
//   bits 32..63 the job's number
// A worker joins by one compare-and-exchange of an open ticket. So it finds the job as it was published, and the
// caller, which closes the ticket, knows how many workers it waits for.
struct thread_pool {
  static constexpr std::uint64_t open = 1, one_worker = 2, workers_mask = 0x7fff;
  static constexpr int members_shift = 16, number_shift = 32, most = workers_mask;
  static constexpr long worker_spins = 60, caller_spins = 20; // microseconds

  std::uint64_t ticket = 0;
  alignas(64) std::uint64_t left = 0; // workers that are done with the job
  int stop = 0, caller_sleeps = 0;
  // the job
  alignas(64) void (*call)(void*, index_t, int) = nullptr;
  void* body = nullptr;
  index_t chunks = 0, unit = 1;
  bool at_work = false; // of the caller: a job within a job runs on one thread

  int size = 1;         // the caller and the workers that could be made
  const int processors; // members of a larger job would spin in each other's way
  share_of_member* share;
  pthread_t* thread;
  pthread_mutex_t mutex;
  pthread_cond_t done;

  explicit thread_pool(int members)
      : processors(available_threads()),
        share(new share_of_member[static_cast<std::size_t>(members)]),
        thread(new pthread_t[static_cast<std::size_t>(members)]) {
    pthread_mutex_init(&mutex, nullptr);
    pthread_cond_init(&done, nullptr);
    sigset_t all, before; // signals are for the threads of the user
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
      sigdelset(&all, fault); // these go to the thread that causes them
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; size < members; ++size) {
      share[size].pool = this;
      share[size].member = size;
      pthread_cond_init(&share[size].wake, nullptr);
      if (pthread_create(
              &thread[size], nullptr,
              [](void* s) -> void* {
                auto& mine = *static_cast<share_of_member*>(s);
                mine.pool->serve(mine.member);
                return nullptr;
              },
              &share[size]) != 0) {
        pthread_cond_destroy(&share[size].wake);
        break;
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  thread_pool(const thread_pool&) = delete;
  ~thread_pool() {
    pthread_mutex_lock(&mutex);
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (int i = 1; i < size; ++i) pthread_cond_signal(&share[i].wake);
    pthread_mutex_unlock(&mutex);
    for (int i = 1; i < size; ++i) {
      pthread_join(thread[i], nullptr);
      pthread_cond_destroy(&share[i].wake);
    }
    pthread_cond_destroy(&done);
    pthread_mutex_destroy(&mutex);
    delete[] thread;
    delete[] share;
  }

  static int members_of(std::uint64_t t) { return static_cast<int>(t >> members_shift & 0xffff); }
  std::uint64_t read() const { return __atomic_load_n(&ticket, __ATOMIC_SEQ_CST); }
  bool ended() const { return __atomic_load_n(&stop, __ATOMIC_SEQ_CST) != 0; }

  void work(int member, int members) {
    for (int k = 0; k < members; ++k) {
      share_of_member& s = share[member + k < members ? member + k : member + k - members];
      for (index_t u = 0; (u = k == 0 ? s.take<true>() : s.take<false>()) >= 0;) {
        const index_t end = (u + 1) * unit < chunks ? (u + 1) * unit : chunks;
        for (index_t c = u * unit; c < end; ++c) call(body, c, member);
      }
    }
  }

  // ---- a worker
  void serve(int member) {
    share_of_member& mine = share[member];
    std::uint64_t seen = 0; // the number of the job that it has joined or missed
    int members = 0;        // of that
    for (;;) {
      const auto called = [&] {
        const std::uint64_t t = read();
        return ((t & open) != 0 && t >> number_shift != seen && member < members_of(t)) || ended();
      };
      if (!spin(called, members <= processors ? worker_spins : 0)) {
        pthread_mutex_lock(&mutex);
        __atomic_store_n(&mine.sleeps, 1, __ATOMIC_SEQ_CST);
        while (!called()) pthread_cond_wait(&mine.wake, &mutex);
        __atomic_store_n(&mine.sleeps, 0, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&mutex);
      }
      if (ended()) return;
      std::uint64_t t = read();
      seen = t >> number_shift;
      members = members_of(t);
      while ((t & open) != 0 && t >> number_shift == seen &&
             member < members_of(t)) // still the job that called this worker?
        if (__atomic_compare_exchange_n(&ticket, &t, t + one_worker, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
          work(member, members_of(t));
          __atomic_add_fetch(&left, 1, __ATOMIC_SEQ_CST);
          if (__atomic_load_n(&caller_sleeps, __ATOMIC_SEQ_CST) != 0) {
            pthread_mutex_lock(&mutex);
            pthread_cond_signal(&done);
            pthread_mutex_unlock(&mutex);
          }
          break;
        }
    }
  }
  // ---- the caller
  // @pre 1 < members <= size
  void run(int members, index_t n, void (*f)(void*, index_t, int), void* object) {
    call = f;
    body = object;
    chunks = n;
    constexpr index_t most_units = index_t{1} << 31;
    unit = (n + most_units - 1) / most_units;
    const index_t units = (n + unit - 1) / unit;
    for (int m = 0; m < members; ++m) share[m].set(units * m / members, units * (m + 1) / members);
    __atomic_store_n(&left, 0, __ATOMIC_RELAXED);
    const std::uint64_t number = (read() >> number_shift) + 1;
    __atomic_store_n(&ticket,
                     number << number_shift | static_cast<std::uint64_t>(members) << members_shift | open,
                     __ATOMIC_SEQ_CST);
    int asleep = 1;
    while (asleep < members && __atomic_load_n(&share[asleep].sleeps, __ATOMIC_SEQ_CST) == 0) ++asleep;
    if (asleep < members) {
      pthread_mutex_lock(&mutex);
      for (int m = asleep; m < members; ++m)
        if (share[m].sleeps != 0) pthread_cond_signal(&share[m].wake);
      pthread_mutex_unlock(&mutex);
    }
    at_work = true;
    work(0, members);
    at_work = false;
    const std::uint64_t joined = (__atomic_fetch_and(&ticket, ~open, __ATOMIC_SEQ_CST) >> 1) & workers_mask;
    const auto all_left = [&] { return __atomic_load_n(&left, __ATOMIC_SEQ_CST) == joined; };
    if (spin(all_left, members <= processors ? caller_spins : 0)) return;
    pthread_mutex_lock(&mutex);
    __atomic_store_n(&caller_sleeps, 1, __ATOMIC_SEQ_CST);
    while (!all_left()) pthread_cond_wait(&done, &mutex);
    __atomic_store_n(&caller_sleeps, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&mutex);
  }
};

} // namespace tapeless::cpu
