// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// bound: a program with its arena. Calling it reads the arguments, checks them and runs the steps one after the
// other: no allocation, no dispatch. One thread uses a bound object at a time; many objects run concurrently.
#pragma once
#include "../plan/backend.hpp"
#include "arguments.hpp"

namespace tapeless {

// bind<...>(threads(2)): how many members the team has. Results do not depend on it.
struct threads {
  int count;
  constexpr explicit threads(int n) : count(n) {}
};

namespace detail {

// In chunks: clang folds at most 256 operands, and short packs keep symbol names short.
template <class Backend, const auto& P, int First, class Team, class Frame, int... I>
[[gnu::always_inline]] inline void run_chunk(const Team& team, const Frame& f,
                                             std::integer_sequence<int, I...>) {
  (Backend::template run_step<P, First + I>(team, f), ...);
}
template <class Backend, const auto& P, int First, int Count, class Team, class Frame> void run_steps(
    const Team& team, const Frame& f) {
  if constexpr (Count <= 64) run_chunk<Backend, P, First>(team, f, std::make_integer_sequence<int, Count>{});
  else {
    run_steps<Backend, P, First, Count / 2>(team, f);
    run_steps<Backend, P, First + Count / 2, Count - Count / 2>(team, f);
  }
}

template <class F, class... A> struct planned {
  using trace = traced<F, A...>;
  static constexpr auto value = make_plan(trace::value);
};

template <class Backend, class F, class... A> class bound {
  using trace = traced<F, A...>;
  using result_type = typename trace::result;
  using team_type = typename Backend::team_type;
  static constexpr const auto& plan_ = planned<F, A...>::value;
  static constexpr int leaves = (count_leaves<A>() + ... + 0), outputs = trace::size.outputs;

  // What a run reads, at the head of the block: it stays in place when the bound object moves.
  struct state {
    void* input[leaves > 0 ? leaves : 1];
    void* result[outputs > 0 ? outputs : 1];
    void* own[outputs > 0 ? outputs : 1]; // the results' places in the arena
    run_context context;
    typename Backend::template frame_type<plan_> frame;
  };

  block memory_;
  team_type team_;
  name_values capacity_ = plan_.names;
  state* state_ = nullptr;

  template <char Name> void set(dim<Name> d) {
    const int i = capacity_.find(Name);
    if (i < 0) throw argument_error(joined("tapeless: bind: no argument has an extent named ", Name));
    if (d.value < 1) throw argument_error(joined("tapeless: bind: the capacity of ", Name, " is at least 1"));
    capacity_.value[static_cast<std::size_t>(i)] = d.value;
  }
  static constexpr void set(threads) {}
  template <char Name> static int team_of(dim<Name>, int n) { return n; }
  static int team_of(threads t, int) { return t.count; }

  void allocate() {
    for (int i = 0; i < capacity_.count; ++i)
      if (capacity_.value[static_cast<std::size_t>(i)] < 1)
        throw argument_error(
            joined("tapeless: bind: give the capacity of ", capacity_.name[static_cast<std::size_t>(i)],
                   ", as in bind<...>(tl::dim<'", capacity_.name[static_cast<std::size_t>(i)], "'>(64))"));
    constexpr auto scratch = Backend::template scratch<plan_>();
    extent_t unit[max_parts]{};
    std::size_t bytes = padded_bytes(1, sizeof(state));
    for (int k = 0; k < plan_.parts; ++k) {
      unit[k] = eval(extent_t{1} | (plan_.part_names[k] << name_shift), capacity_);
      bytes += padded_bytes(plan_.part_size[k] * unit[k], 1);
    }
    bytes += static_cast<std::size_t>(scratch.shared + scratch.each * team_.size());
    memory_ = block(bytes);
    state_ = new (memory_.data()) state{};
    run_context& c = state_->context;
    std::byte* at = memory_.data() + padded_bytes(1, sizeof(state));
    for (int k = 0; k < plan_.parts; ++k) {
      c.part[k] = at;
      c.part_unit[k] = unit[k];
      at += padded_bytes(plan_.part_size[k] * unit[k], 1);
    }
    c.shared = at;
    c.scratch = at + scratch.shared;
    c.input = state_->input;
    c.result = state_->result;
    c.names = capacity_;
    for (int k = 0; k < outputs; ++k) {
      const location& l = plan_.result[k].at;
      state_->own[k] = c.part[l.index] + l.offset * unit[l.index];
    }
    state_->frame.fill(c);
    team_.run(team_.size(), [](extent_t, int) {}); // threads start now, not in the first run
  }

  // A number is converted to the type it was bound for; everything else is read where it is.
  template <class X, class B> using kept = std::conditional_t<number<X>, std::remove_cvref_t<B>, const X&>;

  // out: nullptr, or the caller's output buffers, whose pointers then go to `result`
  template <class Out, class... X> name_values execute(const Out* out, const X&... x) {
    static_assert(as_many_arguments<sizeof...(X), sizeof...(A)>,
                  "tapeless: run(x...): as many arguments as the program was bound for");
    if constexpr (as_many_arguments<sizeof...(X), sizeof...(A)>) {
      static_assert((leaves_match<X, A> && ...),
                    "tapeless: run(x...): each argument has the element types and extents it was bound for");
      if constexpr ((leaves_match<X, A> && ...)) {
        void* input[leaves > 0 ? leaves : 1];
        void* result[outputs > 0 ? outputs : 1];
        for (int k = 0; k < outputs; ++k) result[k] = state_->own[k];
        const std::tuple<kept<X, A>...> held{static_cast<kept<X, A>>(x)...};
        argument_reader reader(capacity_);
        int at = 0;
        std::apply([&](const auto&... k) { (reader.read(k, input, at), ...); }, held);
        const byte_range arena{memory_.data(), memory_.data() + memory_.size()};
        for (int k = 0; k < at; ++k)
          if (const auto* p = static_cast<const std::byte*>(input[k]);
              p != nullptr && overlap({p, p + 1}, arena))
            throw argument_error(joined(
                "tapeless: run: leaf ", k,
                " of the arguments lies in the program's own arena, as its results do: copy it first"));
        if (out != nullptr) reader.read(*out, result, at = 0, true);
        const name_values& values = reader.values();
        for (int k = 0; k < plan_.nonempty; ++k)
          if (eval(plan_.not_empty[k], values) == 0)
            throw argument_error(
                "tapeless: run: max and argmax need at least one element, but an extent is 0");
        if (out != nullptr)
          for (int k = 0; k < outputs; ++k)
            for (int j = 0; j < k; ++j)
              if (overlap(output_range(j, result, values), output_range(k, result, values)))
                throw argument_error(
                    joined("tapeless: run.into(out)(x...): outputs ", j, " and ", k, " overlap"));
        if (plan_.checks > 0 || out != nullptr) {
          at = 0;
          std::apply([&](const auto&... k) { (check(k, input, result, out != nullptr, values, at), ...); },
                     held);
        }
        for (int k = 0; k < leaves; ++k) state_->input[k] = input[k];
        for (int k = 0; k < outputs; ++k) state_->result[k] = result[k];
        if (values.value != state_->context.names.value) {
          state_->context.names = values;
          state_->frame.fill(state_->context);
        }
        run_steps<Backend, plan_, 0, plan_.steps>(team_, state_->frame);
        return values;
      }
    }
    return capacity_;
  }

  static byte_range output_range(int k, void* const* result, const name_values& values) {
    const auto* p = static_cast<const std::byte*>(result[k]);
    return {p, p + eval(numel(plan_.result[k].s), values) * size_of(plan_.result[k].t)};
  }
  template <class X> static void check(const X& x, void* const* input, void* const* result, bool user_output,
                                       const name_values& values, int& at) {
    for_each_leaf(x, [&](const auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      if constexpr (typed_handle<H>) {
        using T = typename H::value_type;
        const auto* p = static_cast<const std::byte*>(input[at]);
        const byte_range mine{p, p + leaf.size() * static_cast<extent_t>(sizeof(T))};
        for (int k = 0; user_output && k < outputs; ++k)
          if (overlap(mine, output_range(k, result, values)))
            throw argument_error(joined("tapeless: run.into(out)(x...): output ", k, " overlaps leaf ", at,
                                        " of the arguments"));
        if constexpr (std::is_same_v<T, std::int32_t>)
          for (int k = 0; k < plan_.checks; ++k)
            if (plan_.check[k].input == at)
              check_indices(leaf.data(), leaf.size(), eval(plan_.check[k].bound, values), at);
      }
      ++at;
    });
  }

  static result_type views(void* const* result, const name_values& values) {
    result_type r{};
    int k = 0;
    for_each_leaf(r, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      leaf = make_view<H>(static_cast<typename H::value_type*>(result[k++]), values);
    });
    return r;
  }

  template <class... Option> static team_type make_team(const Option&... option) {
    int n = 0;
    ((n = team_of(option, n)), ...);
    if constexpr (std::is_constructible_v<team_type, int>) return n > 0 ? team_type(n) : team_type();
    else return team_type();
  }

public:
  template <class... Option> explicit bound(const Option&... option) : team_(make_team(option...)) {
    (set(option), ...);
    allocate();
  }

  // Runs the program. The result's leaves are views into the arena, valid until the next run.
  // Errors: argument_error; nothing has been computed then.
  template <class... X> result_type operator()(const X&... x) {
    const name_values values = execute(static_cast<const result_type*>(nullptr), x...);
    return views(state_->result, values);
  }

  // run.into(out)(x...): as run(x...), with the results in the caller's buffers, a tree like the result's.
  // Errors: argument_error also where an output overlaps an argument or another output.
  template <class Out> auto into(const Out& out) {
    static_assert(leaves_match<Out, result_type>,
                  "tapeless: run.into(out): out has the element types and extents of the result");
    return [this, out](const auto&... x) -> Out {
      this->execute(&out, x...);
      return out;
    };
  }
  // bytes of the one allocation
  std::size_t arena_bytes() const { return memory_.size(); }
};

} // namespace detail
} // namespace tapeless
