// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/team.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

using namespace tapeless::cpu;

static_assert(team<serial_team>);
static_assert(!team<int>);

namespace {

// every chunk once, by a member in range; a member never in two calls at once
template <class Team> void check_law(const Team& members) {
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
    CHECK(outside == 0);
    CHECK(overlaps == 0);
    bool once = true;
    for (const auto& n : calls) once = once && n == 1;
    CHECK(once);
  }
}

} // namespace

TEST_CASE("team: a serial team takes every chunk once, in order") {
  check_law(serial_team{});
  index_t next = 0;
  serial_team::run(5, [&](index_t chunk, int member) {
    CHECK(chunk == next++);
    CHECK(member == 0);
  });
  CHECK(next == 5);
}

#ifdef TAPELESS_WITH_OPENMP
static_assert(team<openmp_team>);

TEST_CASE("team: an OpenMP team takes every chunk once, whatever its size") {
  for (int size : {1, 2, 3, 8}) {
    CHECK(openmp_team(size).size() == size);
    check_law(openmp_team(size));
  }
  CHECK(openmp_team(0).size() == 1);
}
#endif
