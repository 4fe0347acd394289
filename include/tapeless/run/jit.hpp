// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// jit(f): f as a program for given argument types. Nothing runs; the program is a type.
//   jit(f).cost<A...>()      constexpr, polynomial in the named extents
//   jit(f).explain<A...>()   the plan as text; explain_passes<A...>(): the program after each pass
//   jit(f).bind<A...>(dim<'n'>(64), threads(2))   one allocation, then callable
//   jit(f).bind_for(x...)    the same for arguments of these types, with their extents as capacities
#pragma once
#include "../adjoint/transforms.hpp"
#include "../core/error.hpp"
#include "../core/placed.hpp"
#include "../core/tree.hpp"
#include "../core/tree_facts.hpp"
#include "../plan/backend.hpp"
#include "../plan/explain.hpp"
#include "../plan/explain_passes.hpp"
#include "../plan/ir/cost.hpp"
#include "../plan/pipeline.hpp"
#include "../trace/misuse.hpp"
#include "../trace/trace.hpp"
#include "bound.hpp"
#include "copy.hpp"
#include "loaded.hpp" // IWYU pragma: keep

namespace tapeless {
namespace detail {

template <class A>
concept names_a_tree = !on_a_device<A> || placed<A>;

template <class A> constexpr void check_tree() {
  static_assert(
      names_a_tree<A>,
      "tapeless: bind<...>: an argument on a device is a cuda::on<tree>, not the cuda::owned<tree> that owns it");
  static_assert(
      is_a_tree<facts_of<A>.tree>,
      "tapeless: parameter tree: a leaf is a tensor; a node is a std::array, std::tuple or aggregate of "
      "trees, without constructors, so no std::vector and no pointer");
  static_assert(no_number_inside<facts_of<A>.numbers_inside>,
                "tapeless: parameter tree: a number inside an aggregate is written tl::scalar<T>");
  static_assert(at_most_32_members<facts_of<A>.largest_aggregate>,
                "tapeless: parameter tree: an aggregate has at most 32 members");
  static_assert(
      lives_on_the_host<facts_of<A>.on_host>,
      "tapeless: jit(f): a whole argument lives on the host, or on a device as cuda::on<tree>, with tapeless/cuda.hpp included");
}

// The names of these arguments with their values, at least 1, as capacities.
template <class... X> name_values capacities_of(const X&... x) {
  name_values capacity = names_of_arguments<std::remove_cvref_t<X>...>();
  int from[max_program_names]{}, argument = 0;
  const auto take = [&](const auto& tree) {
    for_each_leaf(tree, [&](const auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      if constexpr (typed_handle<H>)
        for (int i = 0; i < H::names.count; ++i) {
          const char name = H::names.name[static_cast<std::size_t>(i)];
          const auto k = static_cast<std::size_t>(capacity.find(name));
          const extent_t n = leaf.name_value(i);
          if (n < 0)
            refuse("tapeless: bind_for(x...): argument %d has %c = %lld: an extent is not negative", argument,
                   name, wide(n));
          if (from[k] > 0 && capacity.value[k] != (n < 1 ? 1 : n))
            refuse("tapeless: bind_for(x...): argument %d has %c = %lld, but argument %d has another one",
                   argument, name, wide(n), from[k] - 1);
          capacity.value[k] = n < 1 ? 1 : n;
          from[k] = argument + 1;
        }
    });
    ++argument;
  };
  (take(x), ...);
  return capacity;
}

template <class... X>
concept arguments_of_a_bound_program = never<X...>; // a program that is not bound takes none

template <class F> struct jit_fn {
  template <class... A> static constexpr bool traceable() {
    constexpr bool trees =
        ((facts_of<A>.tree && no_number_inside<facts_of<A>.numbers_inside> &&
          at_most_32_members<facts_of<A>.largest_aggregate> && lives_on_the_host<facts_of<A>.on_host>) &&
         ...);
    (check_tree<A>(), ...);
    static_assert(
        arguments_in_one_space<A...>,
        "tapeless: jit(f): the arguments live in one space: each tree is a cuda::on<tree>, or none is");
    static_assert(
        stateless<F>,
        "tapeless: jit(f): f has no run-time captures; pass captured values as arguments, a plain function as "
        "tl::fn<&function>");
    if constexpr (stateless<F> && trees && arguments_in_one_space<A...>) {
      static_assert(takes_these_arguments<F, traced_argument_t<A>...>,
                    "tapeless: jit(f): f takes these arguments, numbers too as auto or tl::scalar<T>");
      if constexpr (takes_these_arguments<F, traced_argument_t<A>...>) {
        static_assert(
            result_is_a_tree_of_typed_handles<traced_result<F, A...>>,
            "tapeless: jit(f): f returns tensors, or a tuple or aggregate of tensors, so there is a return; a var is converted with as<T, extents...>()");
        if constexpr (result_is_a_tree_of_typed_handles<traced_result<F, A...>>) {
          static_assert(
              runs_while_compiling<F, A...>,
              "tapeless: jit(f): f is run by the compiler: it reads its arguments and constexpr variables and calls "
              "constexpr functions; what changes from run to run is passed as an argument; where the next error names a "
              "limit: -fconstexpr-ops-limit=4000000000 (g++), -fconstexpr-steps=2000000000 (clang)");
          using trace = traced<F, A...>;
          if constexpr (!trace::sound) report<trace, trace::broken.a, trace::broken.b>();
          return trace::sound;
        }
      }
    }
    return false;
  }

  // What one run costs.
  template <class... A> static constexpr struct cost cost() {
    if constexpr (traceable<A...>()) return planned<F, A...>::value.cost;
    else return {};
  }
  // The plan as text: steps, shapes, flops, bytes, buffers.
  template <class... A> static std::string explain() {
    if constexpr (traceable<A...>()) return explain_text(laid_out<F, A...>::value, planned<F, A...>::value);
    else return {};
  }
  // Of bind<A...>(tl::plain).
  template <class... A> static std::string explain(plain_t) {
    using B = plain_backend<backend_of<A...>>;
    if constexpr (traceable<A...>())
      return explain_text(laid_out_for<B, F, A...>::value, planned_for<false, B, F, A...>::value);
    else return {};
  }
  // The program after each pass: what the compiler of programs has made of f.
  template <class... A> static std::string explain_passes() {
    if constexpr (traceable<A...>()) return passes_text<pipeline<backend_of<A...>, F, A...>>();
    else return {};
  }
  // The program as a Graphviz graph.
  template <class... A> static std::string dot() {
    if constexpr (traceable<A...>()) return explain_dot(laid_out<F, A...>::value);
    else return {};
  }
  // A capacity for each named extent: dim<'n'>(64). One allocation.
  // Errors: argument_error where a capacity is missing, unknown, below 1 or so large that a size overflows.
  template <class... A, class... Option> static auto bind(const Option&... option) {
    static_assert(
        (option_of_bind<Option> && ...),
        "tapeless: bind<...>(options...): an option is tl::dim<'n'>(64) or tl::threads(2), on a device a "
        "tl::cuda::stream or tl::cuda::options");
    static_assert(
        (option_for<Option, A...> && ...),
        "tapeless: bind<...>(options...): a stream and cuda::options are for arguments on a device, "
        "cuda::on<tree>, tl::threads for arguments on the host");
    if constexpr (traceable<A...>() && (option_of_bind<Option> && ...) && (option_for<Option, A...> && ...)) {
      using backend = backend_of<A...>;
      if constexpr ((std::is_same_v<Option, plain_t> || ...))
        return bound<plain_backend<backend>, false, F, std::remove_cvref_t<A>...>(option...);
      else return bound<backend, false, F, std::remove_cvref_t<A>...>(option...);
    }
  }
  // bind<X...>() whose capacities are the extents of these arguments, for runs of as many elements, or fewer.
  // Errors: argument_error where extents of one name differ.
  // The options of a team come first: bind_for(threads(2), x...), bind_for(stream, x...).
  template <option_of_bind Option, class... X> static auto bind_for(const Option& option, const X&... x) {
    static_assert(
        option_of_a_team<Option>,
        "tapeless: bind_for(option, x...): the option is tl::threads, or a stream or cuda::options; the "
        "capacities are the extents of x, and tl::plain is an option of bind");
    static_assert(
        option_for<Option, X...>,
        "tapeless: bind_for(option, x...): a stream and cuda::options are for arguments on a device, "
        "cuda::on<tree>, tl::threads for arguments on the host");
    if constexpr (option_for<Option, X...>)
      if constexpr (traceable<std::remove_cvref_t<X>...>()) {
        using run = bound<backend_of<X...>, false, F, std::remove_cvref_t<X>...>;
        return run(capacities_of(x...), run::make_team(option));
      }
  }
  template <class... X> static auto bind_for(const X&... x) {
    static_assert((!option_of_bind<X> && ...), "tapeless: bind_for(option, x...): the option comes first");
    if constexpr (traceable<std::remove_cvref_t<X>...>()) {
      using run = bound<backend_of<X...>, false, F, std::remove_cvref_t<X>...>;
      return run(capacities_of(x...), run::make_team());
    }
  }
  template <class... X> auto operator()(const X&...) const {
    static_assert(arguments_of_a_bound_program<X...>,
                  "tapeless: jit(f)(x...): bind it to the types of its arguments first: auto run = "
                  "jit(f).bind<X...>(); run(x...)");
    return 0;
  }
};

} // namespace detail

// What program.bind<A...>() gives, as the type of a member: bound_t<step, params, images> run = step.bind<..>(..);
// A program in a header is inline constexpr: otherwise it is another one in each file, and so is the class.
template <auto Program, class... A> using bound_t = decltype(Program.template bind<A...>());

// Errors, at compile time: f has captures; f does not take the arguments; f returns something else than tensors.
template <class F> constexpr detail::jit_fn<F> jit(F) { return {}; }

} // namespace tapeless
