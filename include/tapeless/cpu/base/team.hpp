// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// team.run(chunks, f): f(chunk, member) for every chunk in [0, chunks), each exactly once, in any order;
// no two calls with the same member overlap, member in [0, team.size()). A member may have no chunk.
// team.start(): makes the team's threads now   @return are all there?
//
// Laws for kernels. A chunk writes what no other chunk touches. The terms of every sum and their order depend on
// extents alone, never on the size of the team. So do the chunks of a sum over chunks, which is taken in chunk order.
// Results then do not depend on the team. f must not throw: an exception cannot leave a parallel region.
#include <concepts>
#include <cstdint>

#ifdef TAPELESS_WITH_OPENMP
#include <omp.h>
#endif

#include "simd/index.hpp" // IWYU pragma: export

namespace tapeless::cpu {

template <class Team>
concept team = requires(const Team& t, index_t chunks, void (&f)(index_t, int)) {
  { t.size() } -> std::convertible_to<int>;
  { t.start() } -> std::same_as<bool>;
  t.run(chunks, f);
};

/// Scratch of a kernel, in elements (of a back end: in bytes): `packed` is written by its pack() and then only read,
/// `each` belongs to one member of the team, `shared` to one call.
struct scratch_need {
  index_t packed = 0, each = 0, shared = 0;
  constexpr bool operator==(const scratch_need&) const = default;
};
template <class T> struct scratch_of_kernel {
  T *packed, *each, *shared;
};

/// Numbers of the rows of a and b that a product a^T b multiplies, or of the images that a convolution's wgrad reads.
/// nullptr: the first ones.
struct row_lists {
  const std::int32_t *a = nullptr, *b = nullptr;
};

/// One member: the caller, who takes the chunks in order.
struct serial_team {
  static constexpr int size() { return 1; }
  static constexpr bool start() { return true; }
  template <class F> static void run(index_t chunks, F&& f) {
    for (index_t c = 0; c < chunks; ++c) f(c, 0);
  }
};

#ifdef TAPELESS_WITH_OPENMP
/// The first `size` threads of OpenMP's pool, each with a contiguous range of chunks.
class openmp_team {
public:
  explicit openmp_team(int size = omp_get_max_threads()) : size_(size < 1 ? 1 : size) {}
  int size() const { return size_; }
  bool start() const {
    run(size_, [](index_t, int) {});
    return true;
  }
  template <class F> void run(index_t chunks, F&& f) const {
    if (size_ == 1 || chunks <= 1) return serial_team::run(chunks, f);
#pragma omp parallel num_threads(size_)
    { // no `omp for`: libomp allocates there
      const index_t member = omp_get_thread_num(), members = omp_get_num_threads();
      const index_t end = chunks * (member + 1) / members;
      for (index_t c = chunks * member / members; c < end; ++c) f(c, static_cast<int>(member));
    }
  }

private:
  int size_;
};
#endif

/// team.run for chunks that differ much in work: a member takes the next chunk when it is done with one.
template <team Team, class F> void for_each_chunk_dynamic(const Team& team, index_t chunks, F&& f) {
  if (team.size() == 1 || chunks <= 1) return team.run(chunks, f);
  index_t next = 0; // no std::atomic: <atomic> would cost every program compile time
  const auto take = [&next] { return __atomic_fetch_add(&next, index_t{1}, __ATOMIC_RELAXED); };
  team.run(team.size() < chunks ? team.size() : chunks, [&](index_t, int member) {
    for (index_t c = take(); c < chunks; c = take()) f(c, member);
  });
}

} // namespace tapeless::cpu
