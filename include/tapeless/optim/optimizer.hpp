#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What adam and sgd share: options, state, and the checks before a step. The back end B goes through the elements of a
// leaf, a group of lanes at a time:
//   B::lanes<T>                the values of a group; they have arithmetic, fma and sqrt
//   B::each_group<T>(n, body)  body(load, store) for each group of n elements; load(p) and store(p, v) read and write
//                              the group of the array p

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../core/tensor.hpp"
#include "../plan/backend.hpp"
#include "../run/memory.hpp"
#include "../run/spans.hpp"
#include "rows.hpp"
#include "state.hpp"

namespace tapeless::detail {

// The tree behind a tree or an owned one.
template <class X> using viewed = std::remove_cvref_t<decltype(view_of(std::declval<const X&>()))>;

template <class Params>
concept back_end_is_included = requires { typename backend_of<Params>; };
template <class Params> constexpr auto find_back_end() {
  static_assert(back_end_is_included<Params>,
                "tapeless: opt.step(p, gradient): a step runs on a back end: include tapeless/tapeless.hpp");
  if constexpr (back_end_is_included<Params>) return std::type_identity<backend_of<Params>>{};
}
template <class Params> using back_end_of = typename decltype(find_back_end<Params>())::type;

// The operands of a step as messages name them.
struct step_names {
  const char *p, *gradient, *state;
};

// States: how many values the optimizer keeps for each parameter.
template <class Params, class Options, std::size_t States> class optimizer {
public:
  const Options& options() const { return options_; }

protected:
  explicit optimizer(const Options& options) : options_(options) {}

  void set_rate(double rate, const char* problem) {
    if (!(rate >= 0 && std::isfinite(rate))) throw argument_error(problem);
    options_.learning_rate = rate;
  }
  template <char... Name> void make_state(dim<Name>... extents) { state_.emplace(extents...); }

  // Throws argument_error where a leaf has no data or other extents.
  template <class P, class Gradient>
  leaves_to_step<Params, States> checked(const P& p, const Gradient& gradient, const step_names& who) const {
    const leaves_to_step<Params, States> r{spans_of(p, who.p), spans_of(gradient, who.gradient),
                                           state_spans(who.state)};
    if (state_) require_same_extents(r.p, r.state[0], who.p);
    require_same_extents(r.gradient, r.p, who.gradient);
    return r;
  }

  // Throws argument_error where a row is none of the table's.
  template <class P, class Rows, class Gradient>
  rows_to_step checked_rows(const P& p, const Rows& rows, const Gradient& gradient, const char* who) const {
    const rows_to_step q = detail::checked_rows(p, rows, gradient, who);
    if (state_) require_same_extents(std::array{q.table}, state_spans(who)[0], who);
    return q;
  }
  // update(elements_to_step) for each row that occurs
  template <class F> void for_each_row(const rows_to_step& q, F&& update) {
    using T = element_of_first<Params>;
    std::array<T*, States> state{};
    for (std::size_t k = 0; state_ && k < States; ++k) state[k] = (**state_)[k].data();
    rows_.for_each(q, [&](extent_t row, const T* gradient) {
      const extent_t at = row * q.width;
      elements_to_step<T, States> e{q.width, static_cast<T*>(q.table.data) + at, gradient, state};
      for (T*& s : e.state)
        if (s != nullptr) s += at;
      update(e);
    });
  }

  Options options_;

private:
  // Without data where there is no state.
  auto state_spans(const char* who) const {
    using spans = std::array<leaf_spans<Params>, States>;
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return state_ ? spans{spans_of((**state_)[K], who)...} : spans{};
    }(std::make_index_sequence<States>{});
  }

  std::optional<owned<std::array<Params, States>>> state_; // one array of trees
  merged_rows<element_of_first<Params>> rows_;             // of step_rows
};

} // namespace tapeless::detail
