// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// plan_cache: plans of a library, each made once. Where extents change from run to run there are ever new ones: keep(n) leaves the
// n that were used last. A plan may own the code of its kernels. So whoever calls keep() has waited for them, and has dropped
// the graphs that have captured them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tapeless::cuda {

template <class Plan> class plan_cache {
  struct entry {
    std::unique_ptr<Plan> plan;
    std::uint64_t used;
  };
  std::vector<entry> all_;
  std::uint64_t clock_ = 0;

public:
  // The first one that is(plan) is true of; nullptr: there is none. It stays where it is until keep().
  template <class Is> Plan* find(Is&& is) {
    for (entry& e : all_)
      if (is(std::as_const(*e.plan))) {
        e.used = ++clock_;
        return e.plan.get();
      }
    return nullptr;
  }
  Plan& add(std::unique_ptr<Plan> p) { return *all_.emplace_back(std::move(p), ++clock_).plan; }
  std::size_t size() const { return all_.size(); }
  void keep(std::size_t n) {
    if (all_.size() <= n) return;
    std::sort(all_.begin(), all_.end(), [](const entry& a, const entry& b) { return a.used > b.used; });
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(n), all_.end());
  }
};

} // namespace tapeless::cuda
