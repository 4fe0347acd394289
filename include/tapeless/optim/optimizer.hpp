#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What adam and sgd share: options, state, and a step with its checks. The back end B goes through the elements of a
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
#include "../run/arguments.hpp"
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

// The optimizer, the operands of a step, and a step of some rows as messages name them.
struct names_in_messages {
  const char *optimizer, *p, *gradient, *state, *of_rows;
};

// A rule says what is its own of an optimizer:
//   options, names, states   states: how many values it keeps for each parameter
//   check()                  throws argument_error where an option is out of range
//   keeps_state()            are the states stored?
//   count_step()             is called once in each step
//   descend<B>(e)            moves elements_to_step
template <class Params, class Rule> class optimizer {
  static constexpr std::size_t states = Rule::states;
  using options_type = decltype(Rule::options);

public:
  // Takes one dim for each named extent of Params where the rule stores states. Throws argument_error where one is
  // missing or an option is out of range.
  template <char... Name> explicit optimizer(dim<Name>... extents) : optimizer(options_type{}, extents...) {}
  template <class Rate, char... Name>
    requires std::is_arithmetic_v<Rate>
  explicit optimizer(Rate learning_rate, dim<Name>... extents)
      : optimizer(options_type{.learning_rate = static_cast<double>(learning_rate)}, extents...) {}
  template <char... Name> explicit optimizer(const options_type& options, dim<Name>... extents)
      : rule_{options} {
    set_learning_rate(options.learning_rate);
    rule_.check();
    if (rule_.keeps_state()) state_.emplace(extents...);
  }

  const options_type& options() const { return rule_.options; }
  void set_learning_rate(double rate) {
    if (!(rate >= 0 && std::isfinite(rate)))
      refuse("tapeless: %s: the learning rate is finite and not negative", Rule::names.optimizer);
    rule_.options.learning_rate = rate;
  }

protected:
  // May the optimizer write to a P, is a Gradient that of a P, and are they so of some rows?
  template <class P> static constexpr bool steps = parameters_like<viewed<P>, Params>;
  template <class Gradient> static constexpr bool steps_by = leaves_match<viewed<Gradient>, Params>;
  template <class P> static constexpr bool steps_rows = steps<P> && trainable<Params>;
  template <class Rows, class Gradient>
  static constexpr bool steps_rows_by = rows_match<Params, viewed<Rows>, viewed<Gradient>>();

  template <class P, class Gradient> void step_leaves(const P& parameters, const Gradient& slopes) {
    if constexpr (steps<P> && steps_by<Gradient>) {
      constexpr names_in_messages who = Rule::names;
      const leaves_to_step<Params, states> leaves{spans_of(view_of(parameters), who.p),
                                                  spans_of(view_of(slopes), who.gradient),
                                                  state_spans(who.state)};
      if (state_) require_same_extents(leaves.p, leaves.state[0], who.p);
      require_same_extents(leaves.gradient, leaves.p, who.gradient);
      rule_.count_step();
      using B = back_end_of<Params>;
      leaves.for_each([this](const auto& e) { rule_.template descend<B>(e); });
    }
  }
  template <class Table, class Rows, class Gradient>
  void step_some_rows(const Table& table, const Rows& rows, const Gradient& slopes) {
    if constexpr (steps_rows<Table> && steps_rows_by<Rows, Gradient>) {
      constexpr const char* who = Rule::names.of_rows;
      const rows_to_step q = checked_rows(view_of(table), view_of(rows), view_of(slopes), who);
      if (state_) require_same_extents(std::array{q.table}, state_spans(who)[0], who);
      rule_.count_step();
      using T = element_of_first<Params>;
      std::array<T*, states> state{};
      for (std::size_t k = 0; state_ && k < states; ++k) state[k] = (**state_)[k].data();
      rows_.for_each(q, [&](extent_t row, const T* gradient) {
        const extent_t at = row * q.width;
        elements_to_step<T, states> e{q.width, static_cast<T*>(q.table.data) + at, gradient, state};
        for (T*& s : e.state)
          if (s != nullptr) s += at;
        rule_.template descend<back_end_of<Params>>(e);
      });
    }
  }

private:
  // Without data where there is no state.
  auto state_spans(const char* who) const {
    using spans = std::array<leaf_spans<Params>, states>;
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return state_ ? spans{spans_of((**state_)[K], who)...} : spans{};
    }(std::make_index_sequence<states>{});
  }

  Rule rule_;
  std::optional<owned<std::array<Params, states>>> state_; // one array of trees
  merged_rows<element_of_first<Params>> rows_;             // of step_rows
};

} // namespace tapeless::detail
