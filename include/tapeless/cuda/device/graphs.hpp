// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// graph_cache: the graphs of a bound program. A graph has the pointers and the extents of its run built in, so these are its
// key. The first run of a key is eager, the second is captured, the others are one launch. The least recently used makes room.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapeless::cuda {

template <class Graph> class graph_cache {
public:
  static constexpr int most = 8;
  struct entry {
    std::vector<std::uint64_t> key;
    Graph graph{};
    bool is_captured = false;
    std::uint64_t used = 0;
  };
  // The entry of a key of n words; is_new: it was not there. Allocates for a new one alone.
  entry& find(const std::uint64_t* word, std::size_t n, bool& is_new) {
    entry* oldest = &entries_[0];
    for (entry& e : entries_) {
      if (e.used > 0 && e.key.size() == n && std::equal(e.key.begin(), e.key.end(), word)) {
        e.used = ++clock_;
        is_new = false;
        return e;
      }
      if (e.used < oldest->used) oldest = &e;
    }
    oldest->key.assign(word, word + n);
    oldest->graph = Graph{};
    oldest->is_captured = false;
    oldest->used = ++clock_;
    is_new = true;
    return *oldest;
  }

private:
  std::array<entry, most> entries_{};
  std::uint64_t clock_ = 0;
};

} // namespace tapeless::cuda
