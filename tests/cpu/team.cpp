// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/base/thread_team.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace tapeless::cpu;

static_assert(team<serial_team>);
static_assert(team<thread_team>);
static_assert(!team<int>);

namespace {

// every chunk once, by a member in range; a member never in two calls at once
template <class Team> bool takes_every_chunk_once(const Team& members) {
  for (index_t chunks : {0, 1, 2, 3, 17, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(chunks));
    std::vector<std::atomic<int>> busy(static_cast<std::size_t>(members.size()));
    std::atomic<int> outside = 0, overlaps = 0;
    members.run(chunks, [&](index_t chunk, int member) {
      if (member < 0 || member >= members.size()) {
        ++outside;
        return;
      }
      if (busy[static_cast<std::size_t>(member)]++ != 0) ++overlaps;
      ++calls[static_cast<std::size_t>(chunk)];
      --busy[static_cast<std::size_t>(member)];
    });
    if (outside != 0 || overlaps != 0) return false;
    for (const auto& n : calls)
      if (n != 1) return false;
  }
  return true;
}

// its chunks are dealt one by one
template <class Team> struct dealt {
  Team members;
  int size() const { return members.size(); }
  bool start() const { return members.start(); }
  template <class F> void run(index_t chunks, F&& f) const { for_each_chunk_dynamic(members, chunks, f); }
};

// each breaks one part of the law
struct bad_team {
  static constexpr int size() { return 2; }
};
struct leaves_one_out : bad_team {
  template <class F> void run(index_t chunks, F&& f) const {
    for (index_t i = 0; i + 1 < chunks; ++i) f(i, 0);
  }
};
struct takes_one_twice : bad_team {
  template <class F> void run(index_t chunks, F&& f) const {
    for (index_t i = 0; i < chunks; ++i) f(i, 0);
    if (chunks > 16) f(16, 1);
  }
};
struct has_a_third_member : bad_team {
  template <class F> void run(index_t chunks, F&& f) const {
    for (index_t i = 0; i < chunks; ++i) f(i, static_cast<int>(i % 3));
  }
};

} // namespace

TEST_CASE("team: a worker takes no part in a job that it is no member of") {
  const thread_team large(8), small(2);
  std::atomic<int> outside = 0;
  for (int run = 0; run < 20000; ++run) {
    large.run(2, [](index_t, int) {}); // over before most workers have come
    small.run(4, [&](index_t, int member) {
      if (member >= small.size()) ++outside;
      for (volatile int i = 0; i < 50;) i = i + 1;
    });
  }
  CHECK(outside == 0);
}
TEST_CASE("team: a serial team takes every chunk once, in order") {
  CHECK(takes_every_chunk_once(serial_team{}));
  index_t next = 0;
  serial_team::run(5, [&](index_t chunk, int member) {
    CHECK(chunk == next++);
    CHECK(member == 0);
  });
  CHECK(next == 5);
  CHECK(takes_every_chunk_once(dealt<serial_team>{}));
}

TEST_CASE("team: one that leaves a chunk out, takes one twice or has a member too many is noticed") {
  CHECK_FALSE(takes_every_chunk_once(leaves_one_out{}));
  CHECK_FALSE(takes_every_chunk_once(takes_one_twice{}));
  CHECK_FALSE(takes_every_chunk_once(has_a_third_member{}));
}

TEST_CASE("team: a team of threads takes every chunk once, whatever its size and whatever ran before") {
  for (int size : {1, 3, 2, 8, 2, 40}) {
    CHECK(thread_team(size).size() == size);
    CHECK(thread_team(size).start());
    for (int again = 0; again < 20; ++again) CHECK(takes_every_chunk_once(thread_team(size)));
    CHECK(takes_every_chunk_once(dealt<thread_team>{thread_team(size)}));
  }
  CHECK(thread_team(0).size() == 1);
  CHECK(thread_team().size() >= 1);
}

TEST_CASE("team: on another thread, within a chunk and in a child process every chunk is taken once, too") {
  const thread_team three(3);
  CHECK(takes_every_chunk_once(three));
  bool elsewhere = false;
  std::thread([&] { elsewhere = takes_every_chunk_once(three); }).join();
  CHECK(elsewhere);
  std::atomic<int> calls = 0;
  three.run(5, [&](index_t, int) { three.run(7, [&](index_t, int) { ++calls; }); });
  CHECK(calls == 35);
#ifndef __SANITIZE_THREAD__
  const pid_t child = fork();
  if (child == 0) _exit(takes_every_chunk_once(three) && takes_every_chunk_once(thread_team(5)) ? 0 : 1);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
#endif
  CHECK(takes_every_chunk_once(three));
}

TEST_CASE("team: a member that has one long chunk leaves the others to the rest") {
  std::atomic<int> done = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  thread_team(2).run(16,
                     [&](index_t chunk, int member) { // the worker is kept in its first chunk, if it has one
                       while (member == 1 && done != 15 && std::chrono::steady_clock::now() < until) {}
                       if (member == 1) CHECK(done == 15);
                       (void)chunk;
                       ++done;
                     });
  CHECK(done == 16);
}

TEST_CASE("team: members of a team of threads work at the same time") {
  std::atomic<int> there = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  thread_team(2).run(2, [&](index_t, int) {
    ++there;
    while (there != 2 && std::chrono::steady_clock::now() < until) {}
  });
  CHECK(there == 2);
}

#ifdef TAPELESS_WITH_OPENMP
static_assert(team<openmp_team>);

TEST_CASE("team: an OpenMP team takes every chunk once, whatever its size") {
  for (int size : {1, 2, 3, 8}) {
    CHECK(openmp_team(size).size() == size);
    CHECK(takes_every_chunk_once(openmp_team(size)));
    CHECK(takes_every_chunk_once(dealt<openmp_team>{openmp_team(size)}));
  }
  CHECK(openmp_team(0).size() == 1);
}

TEST_CASE("team: dealt chunks wait for no member that has a long one") {
  if (omp_get_thread_limit() < 2 || omp_get_dynamic() != 0) return; // one thread may be all there is
  std::atomic<int> done = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for_each_chunk_dynamic(openmp_team(2), 16, [&](index_t chunk, int) {
    while (chunk == 0 && done != 15 && std::chrono::steady_clock::now() < until) {}
    if (chunk == 0) CHECK(done == 15);
    ++done;
  });
  CHECK(done == 16);
}
#endif
