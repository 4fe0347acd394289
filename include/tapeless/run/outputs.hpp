// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The caller's buffers of run.into(out)(x...): none overlaps another one. One may be a leaf of an argument, which then holds
// the result: where the plan reads that leaf after it writes the result, the result goes to the arena, and is copied at the end.
#pragma once
#include <cstring>
#include "../core/dtype.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../core/shape.hpp"
#include "../plan/ir/in_place.hpp"
#include "../plan/ir/step.hpp"
#include "arguments.hpp"

namespace tapeless::detail {

// Places of the results of a run.
template <const auto& P, int Inputs> class output_places {
  static constexpr int outputs = P.results > 0 ? P.results : 1;
  static constexpr auto facts_ = facts_of_places<Inputs, P.results>(P);
  void* given_[outputs];
  byte_range range_[outputs]{};
  bool at_the_end_[outputs]{};

  // The pattern of a matrix: the result's leaf is that of the argument.
  static constexpr bool is_argument(int k) { return P.result[k].at.where == place::input; }

public:
  explicit output_places(void* const* given) {
    for (int k = 0; k < P.results; ++k) given_[k] = given[k];
  }
  // result: of what is no leaf of an argument, anything
  void check(void* const* result, const name_values& values) {
    for (int k = 0; k < P.results; ++k) {
      const auto* p = static_cast<const std::byte*>(given_[k]);
      range_[k] = {p, p + eval(numel(P.result[k].s), values) * size_of(P.result[k].t)};
    }
    for (int k = 0; k < P.results; ++k)
      if (is_argument(k) && given_[k] != result[k])
        refuse(
            "tapeless: run.into(out)(x...): leaf %d of out belongs to the pattern of a matrix: it is that of the argument",
            k);
    for (int k = 0; k < P.results; ++k)
      for (int j = 0; j < k; ++j)
        if (!is_argument(j) && !is_argument(k) && overlap(range_[j], range_[k]))
          refuse("tapeless: run.into(out)(x...): outputs %d and %d overlap", j, k);
  }
  // of_argument: the elements of leaf j of the arguments
  void meet_argument(int j, const byte_range& of_argument, const leaves_of_arguments& all) {
    for (int k = 0; k < P.results; ++k) {
      if (is_argument(k)) continue;
      const byte_range& mine = range_[k];
      if (!overlap(of_argument, mine)) continue;
      if (mine.begin != of_argument.begin || mine.end != of_argument.end)
        refuse("tapeless: run.into(out)(x...): output %d overlaps %s", k, all.name(j).text);
      if (!may_replace(P, facts_, j, k)) at_the_end_[k] = true;
    }
  }
  // result: where the steps write; own: the results' places in the arena
  void place(void** result, void* const* own) const {
    for (int k = 0; k < P.results; ++k) result[k] = at_the_end_[k] ? own[k] : given_[k];
  }
  // Copies what is copied at the end.
  template <class Team> void end(void* const* own, const Team& team) const {
    for (int k = 0; k < P.results; ++k)
      if (at_the_end_[k]) {
        const auto bytes = static_cast<std::size_t>(range_[k].end - range_[k].begin);
        if constexpr (requires { team.copy(given_[k], own[k], bytes); }) team.copy(given_[k], own[k], bytes);
        else std::memcpy(given_[k], own[k], bytes);
      }
  }
};

} // namespace tapeless::detail
