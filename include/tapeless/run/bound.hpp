// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// bound: a program with its arena. Calling it reads the arguments, checks them and runs the steps one after the
// other: no allocation, no dispatch. One thread uses a bound object at a time; many objects run concurrently.
#pragma once
#include "../core/config.hpp"
#include "../core/error.hpp"
#include "../core/placed.hpp"
#include "../core/run_watch.hpp"
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "../plan/backend.hpp"
#include "../plan/ir/step.hpp"
#include "../plan/pipeline.hpp"
#include "../trace/trace.hpp"
#include "arguments.hpp"
#include "capacities.hpp"
#include "memory.hpp"
#include "options.hpp" // IWYU pragma: export
#include "outputs.hpp"
#include "run_steps.hpp"

namespace tapeless { namespace detail {

// Results are views into the bound object, so they are asked of one that stays.
template <class Self>
concept bound_object_with_a_name = std::is_lvalue_reference_v<Self>;

template <class Backend, class P, class F, class... A> class loaded; // loaded.hpp

template <class Team>
concept has_memory_of_its_own = requires(Team& team, extent_t bytes) { team.allocate(bytes); };

template <class Backend, bool Load, class F, class... A> class bound {
  using trace = traced<F, A...>;
  using result_type = typename result_of<typename trace::result, A...>::type;
  using team_type = typename Backend::team_type;
  // On a device: the arena, and what each run reads but the state, is in its memory.
  static constexpr bool apart_ = has_memory_of_its_own<team_type>;
  static constexpr int numbers_ = apart_ ? (0 + ... + (number<A> ? 1 : 0)) : 0;
  static constexpr const auto& plan_ = planned_for<Load, Backend, F, A...>::value;
  static constexpr int leaves = (count_leaves<A>() + ... + 0), outputs = trace::value.output_count;
  static constexpr int leaf_count_[] = {count_leaves<A>()..., 0};
  static constexpr leaves_of_arguments leaves_{leaf_count_};

  // What a run reads, at the head of the block: it stays in place when the bound object moves.
  struct state {
    void* input[leaves > 0 ? leaves : 1];
    void* result[outputs > 0 ? outputs : 1];
    void* own[outputs > 0 ? outputs : 1]; // the results' places in the arena
    byte_range arena;
    std::byte* numbers; // on a device: the arguments that are numbers
    int busy;           // is a run on?
    run_context context;
    typename Backend::template frame_type<plan_> frame;
  };

  block memory_;
  watched watch_; // of checked builds
  team_type team_;
  name_values capacity_ = names_of_arguments<A...>();

  template <char Name> void set(dim<Name> d) { set_capacity(capacity_, Name, d.value); }
  template <class Option> static void set(const Option&) {} // of the team
  template <char Name> static int team_of(dim<Name>, int n) { return n; }
  static int team_of(threads t, int) {
    if (t.count < 1) refuse("tapeless: bind: threads(%d): a team has at least 1", t.count);
    return t.count;
  }
  template <class Option> static int team_of(const Option&, int n) { return n; }

  void check_sizes() const {
    const auto check = [&](const auto& argument) {
      for_each_leaf(argument, [&](const auto& leaf) {
        using H = std::remove_cvref_t<decltype(leaf)>;
        if constexpr (typed_handle<H>) check_size(H::extents, sizeof(typename H::value_type), capacity_);
      });
    };
    (check(A{}), ...);
    for (int i = 0; i < plan_.steps; ++i) check_size(plan_.step_[i], capacity_);
  }

  void allocate() {
    require_capacities(capacity_);
    for (int k = 0; k < plan_.counted; ++k) add_counted(capacity_, plan_.count[k]);
    check_sizes();
    constexpr auto scratch = Backend::template scratch<plan_>();
    const extent_t head = padded_bytes(1, sizeof(state), "bind");
    extent_t unit[max_parts]{}, part[max_parts]{}, bytes = padded_bytes(numbers_, sizeof(double), "bind");
    for (int k = 0; k < plan_.parts; ++k) {
      unit[k] = checked_eval(extent_t{1} | (plan_.part_names[k] << name_shift), capacity_, "bind");
      // A place is a multiple of 8 units: libraries of a device read what is aligned to a block.
      if (apart_ && plan_.part_names[k] != 0) unit[k] = checked_sum(unit[k], 7, "bind") / 8 * 8;
      part[k] = padded_bytes(unit[k], static_cast<std::size_t>(plan_.part_size[k]), "bind");
      bytes = checked_sum(bytes, part[k], "bind");
    }
    bytes = checked_sum(bytes, scratch.shared + scratch.packed + scratch.each * team_.size(), "bind");
    const extent_t here = apart_ ? head : checked_sum(head, bytes, "bind");
    memory_ = block(static_cast<std::size_t>(here));
    state& s = *new (memory_.data()) state{};
    std::byte* at = memory_.data() + head;
    s.arena = {memory_.data(), memory_.data() + memory_.size()};
    if constexpr (apart_) {
      at = team_.allocate(bytes);
      s.arena = {at, at + bytes};
      s.numbers = at;
      at += padded_bytes(numbers_, sizeof(double), "bind");
    }
    if constexpr (reads_are_checked) watch_.begin();
    run_context& c = s.context;
    for (int k = 0; k < plan_.parts; ++k) {
      c.part[k] = at;
      c.part_unit[k] = unit[k];
      at += part[k];
    }
    c.shared = at;
    c.packed = at + scratch.shared;
    c.scratch = c.packed + scratch.packed;
    c.input = s.input;
    c.result = s.result;
    c.names = capacity_;
    for (int k = 0; k < outputs; ++k) {
      const location& l = plan_.result[k].at;
      s.own[k] = returns_argument(k) ? nullptr : c.part[l.index] + l.offset * unit[l.index];
    }
    s.frame.fill(c);
    if constexpr (requires { Backend::template prepare<plan_, numbers_>(team_, s.frame); })
      Backend::template prepare<plan_, numbers_>(team_, s.frame);
    start_team("bind"); // threads start now, not in the first run
  }

  void start_team(const char* who) const {
    if (!team_.start())
      refuse("tapeless: %s: %d threads cannot be started; ask for fewer, as in bind<...>(tl::threads(1))",
             who, static_cast<int>(team_.size()));
  }

  // The pattern of a matrix: the result's leaf is that of the argument.
  static constexpr bool returns_argument(int k) { return plan_.result[k].at.where == place::input; }

  // @pre not moved from
  state& at_head() { return *std::launder(reinterpret_cast<state*>(memory_.data())); }

  // A number is converted to the type it was bound for; everything else is read where it is.
  template <class B, class X> static decltype(auto) keep(const X& x, int argument) {
    if constexpr (number<X>) return number_as<std::remove_cvref_t<B>>(x, argument);
    else return (x);
  }

  // out: the caller's output buffers, whose pointers then go to `result`; or in_arena
  struct in_arena {
    using places = in_arena;
    explicit in_arena(void* const*) {}
  };
  template <class Out> struct in_buffers {
    using places = output_places<plan_, leaves>;
    const Out& out;
  };
  template <class Out, class... X> name_values execute(const Out& out, const X&... x) {
    static_assert(as_many_arguments<sizeof...(X), sizeof...(A)>,
                  "tapeless: run(x...): as many arguments as the program was bound for");
    if constexpr (as_many_arguments<sizeof...(X), sizeof...(A)>) {
      static_assert(
          (lives_where<X, A> && ...),
          "tapeless: run(x...): each argument lives where it was bound for: on a device as cuda::on<tree>, of an owner p as *p, or on the host");
      static_assert(
          (leaves_match<X, A> && ...),
          "tapeless: run(x...): each argument has the element types and extents it was bound for, as *p of an owned p, X(v.data(), n) of a vector v");
      static_assert((number_without_fraction<X, A> && ...),
                    "tapeless: run(x...): an argument of int32 or bool is no floating-point number");
      if constexpr ((lives_where<X, A> && ...) && (leaves_match<X, A> && ...) &&
                    (number_without_fraction<X, A> && ...))
        return [&]<int... I>(std::integer_sequence<int, I...>) {
          return execute_kept(out, keep<A>(x, I)...);
        }(std::make_integer_sequence<int, sizeof...(X)>{});
    }
    return capacity_;
  }
  template <class Out, class... X> name_values execute_kept(const Out& out, const X&... x) {
    constexpr bool user_output = !std::is_same_v<Out, in_arena>;
    void* input[leaves > 0 ? leaves : 1];
    void* result[outputs > 0 ? outputs : 1];
    if (memory_.data() == nullptr) refuse("tapeless: run: the bound object has been moved from");
    start_team("run"); // where this thread is not that of bind
    state& s = at_head();
    const use alone(s.busy);
    for (int k = 0; k < outputs; ++k) result[k] = s.own[k];
    argument_reader reader(capacity_, at_head().arena);
    int at = 0;
    (reader.read(x, input, at), ...);
    for (int k = 0; k < outputs; ++k)
      if (returns_argument(k)) result[k] = input[plan_.result[k].at.index];
    void* given[outputs > 0 ? outputs : 1];
    if constexpr (user_output) reader.read(out.out, given, at = 0, true);
    typename Out::places places(given);
    name_values values = reader.values();
    for (int k = 0; k < plan_.counted; ++k) {
      const auto i = static_cast<std::size_t>(values.find(plan_.count[k].name));
      // until it is counted again, as in the run before; where the host does not count, as many as there may be
      if constexpr (rules_of<Backend>().host_counts) values.value[i] = s.context.names.value[i];
      else values.value[i] = std::min(plan_.count[k].most, eval(plan_.count[k].rows, values));
    }
    for (int k = 0; k < plan_.limits; ++k) check_extent(plan_.limit[k], eval(plan_.limit[k].of, values));
    if constexpr (user_output) places.check(result, values);
    // What is in the memory of a device is not looked at: its kernels leave out what an index beyond asks for.
    if constexpr (plan_.checks > 0 || user_output) {
      at = 0;
      (check(x, input, places, values, at), ...);
    }
    if constexpr (user_output) places.place(result, s.own);
    for (int k = 0; k < leaves; ++k) s.input[k] = input[k];
    for (int k = 0; k < outputs; ++k) s.result[k] = result[k];
    if constexpr (numbers_ > 0) store_numbers(s, at = 0, x...);
    next_run();
    if (values.value != s.context.names.value) {
      s.context.names = values;
      s.frame.fill(s.context);
    }
    const auto steps = [&] {
      run_steps<Backend, plan_, false, 0, plan_.steps>(team_, s.frame);
      if constexpr (user_output) places.end(s.own, team_);
    };
    if constexpr (requires { team_.run_or_replay(s.context, leaves, result, outputs, steps); })
      team_.run_or_replay(s.context, leaves, user_output ? given : result, outputs, steps);
    else steps();
    return s.context.names;
  }

  // Numbers are copied to the device, where steps find them.
  template <class... X> void store_numbers(state& s, int leaf, const X&... x) const {
    int n = 0;
    const auto store = [&](const auto& argument) {
      for_each_leaf(argument, [&](const auto& value) {
        if constexpr (number<decltype(value)>) {
          s.input[leaf] = s.numbers + static_cast<std::ptrdiff_t>(sizeof(double)) * n++;
          team_.store(s.input[leaf], value);
        }
        ++leaf;
      });
    };
    (store(x), ...);
  }

  template <class Places, class X>
  static void check(const X& x, void* const* input, Places& places, const name_values& values, int& at) {
    for_each_leaf(x, [&](const auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      if constexpr (typed_handle<H>) {
        using T = typename H::value_type;
        if constexpr (!std::is_same_v<Places, in_arena>) {
          const auto* p = static_cast<const std::byte*>(input[at]);
          places.meet_argument(at, {p, p + leaf.size() * static_cast<extent_t>(sizeof(T))}, leaves_);
        }
        if constexpr (!apart_ && is_index(dtype_of<T>)) {
          check_indices_in(leaf, plan_, values, leaves_, at);
        }
      } else if constexpr (std::is_same_v<H, std::int32_t>) {
        check_indices_in(leaf, plan_, values, leaves_, at);
      }
      ++at;
    });
  }

  result_type views(void* const* result, const name_values& values) const {
    result_type r{};
    int k = 0;
    for_each_leaf(r, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      leaf = make_view<H>(static_cast<typename H::value_type*>(result[k]), values);
      if constexpr (reads_are_checked)
        if (!returns_argument(k) && watch_.get() != nullptr) leaf.set_watch(watch_.get());
      ++k;
    });
    return r;
  }

  // No watch where a file without TAPELESS_CHECKED has bound the program.
  void next_run() const {
    if constexpr (reads_are_checked)
      if (watch_.get() != nullptr) watch_.get()->next_run();
  }

  // The first argument, and the steps that need no other.
  template <class P> void load_first(const P& p) {
    void* input[leaves > 0 ? leaves : 1];
    if (memory_.data() == nullptr) refuse("tapeless: run: the bound object has been moved from");
    start_team("run.load(p)");
    argument_reader reader(capacity_, at_head().arena);
    int at = 0;
    reader.read(p, input, at);
    const int count = at;
    in_arena no_outputs(nullptr);
    if constexpr (!apart_) check(p, input, no_outputs, capacity_, at = 0);
    state& s = at_head();
    const use alone(s.busy);
    next_run();
    for (int k = 0; k < count; ++k) s.input[k] = input[k];
    if constexpr (apart_ && number<P>) store_numbers(s, 0, p);
    run_steps<Backend, plan_, true, 0, plan_.steps>(team_, s.frame);
  }
  template <class, class, class, class...> friend class loaded;

public:
  template <class... Option> static team_type make_team(const Option&... option) {
    int n = 0;
    ((n = team_of(option, n)), ...);
    if constexpr (requires { team_type::with(option...); }) return team_type::with(option...);
    else if constexpr (std::is_constructible_v<team_type, int>) return n > 0 ? team_type(n) : team_type();
    else return team_type();
  }
  template <class... Option> explicit bound(const Option&... option) : team_(make_team(option...)) {
    (set(option), ...);
    allocate();
  }
  bound(const name_values& capacity, team_type&& team) : team_(std::move(team)), capacity_(capacity) {
    allocate();
  }
  // For a program beside this one.
  team_type another_team() const {
    if constexpr (requires { team_.another(); }) return team_.another();
    else return make_team(threads(static_cast<int>(team_.size())));
  }

  // Runs the program. The result's leaves are views into the arena, valid until the next run and no longer than
  // the bound object, which therefore is no temporary.
  // Errors: argument_error; nothing has been computed then.
  template <class... X> result_type operator()(const X&... x) & TAPELESS_LIFETIMEBOUND {
    const name_values values = execute(in_arena(nullptr), x...);
    return views(at_head().result, values);
  }
  template <class... X, class Self = bound> result_type operator()(const X&...) && {
    static_assert(
        bound_object_with_a_name<Self>,
        "tapeless: jit(f).bind<...>()(x...): the results die with the bound object; give it a name: auto "
        "run = jit(f).bind<...>(); run(x...)");
    return {};
  }

  // run.into(out)(x...): as run(x...), with the results in the caller's buffers, a tree like the result's.
  // A leaf of out may be a leaf of an argument of the same size, which then holds the result.
  // Errors: argument_error also where an output otherwise overlaps an argument, another output or the program's own arena.
  template <class Out> auto into(const Out& out) & TAPELESS_LIFETIMEBOUND {
    static_assert(lives_where<Out, result_type>,
                  "tapeless: run.into(out): out lives where the arguments do: on a device as cuda::on<tree>");
    static_assert(leaves_match<Out, result_type>,
                  "tapeless: run.into(out): out has the element types and extents of the result");
    if constexpr (leaves_match<Out, result_type> && lives_where<Out, result_type>)
      static_assert(no_leaf_is_const<Out>, "tapeless: run.into(out): no leaf of out is const");
    static_assert(
        extents_known_before_a_run<result_type, A...>,
        "tapeless: run.into(out): the extents of the results are known before the run; the rows of a "
        "selection that it counts are read from run(x...)");
    return [this, out](const auto&... x) -> Out {
      this->execute(in_buffers<Out>{out}, x...);
      return out;
    };
  }
  template <class Out, class Self = bound> auto into(const Out& out) && {
    static_assert(bound_object_with_a_name<Self>,
                  "tapeless: jit(f).bind<...>().into(out): give the bound object a name: auto run = "
                  "jit(f).bind<...>(); run.into(out)(x...)");
    return [out](const auto&...) -> Out { return out; };
  }

  // auto infer = run.load(p); infer(x): f(p, x) with all that follows from p alone done once: weights are packed, and
  // steps that read nothing else have run. infer has a plan and an arena of its own and keeps views of p, whose
  // elements stay where and as they are until infer.load(p) is called again: changes are not looked for.
  // Errors: a compile error where the extents of p are not static; argument_error as for run(p, x).
  template <class P> auto load(const P& p) const {
    static_assert(sizeof...(A) >= 1 && first_matches<P, A...>(),
                  "tapeless: run.load(p): p has the element types and extents of the first argument");
    static_assert(
        lives_where<P, std::tuple_element_t<0, std::tuple<A..., void>>>,
        "tapeless: run.load(p): p lives where the first argument does: on a device as cuda::on<tree>");
    static_assert(all_extents_static<P>(), "tapeless: run.load(p): the extents of p are static");
    if constexpr (sizeof...(A) >= 1 && first_matches<P, A...>() && all_extents_static<P>()) {
      if (memory_.data() == nullptr) refuse("tapeless: run: the bound object has been moved from");
      using first = std::conditional_t<number<P>, std::tuple_element_t<0, std::tuple<A...>>, P>;
      return loaded<Backend, first, F, A...>(capacity_, another_team(), keep<first>(p, 0));
    }
  }
  // On a device: the next run is captured as a graph, though it is the first with its pointers and extents.
  void capture()
    requires requires(const team_type& t) { t.capture_next(); }
  {
    team_.capture_next();
  }
  // bytes of the one allocation; on a device also of what is there
  std::size_t arena_bytes() const {
    if constexpr (apart_) return memory_.size() + team_.allocated();
    else return memory_.size();
  }
};

}} // namespace tapeless::detail
