// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A back end as plan/ and run/ see it: a class B with static members. backend<B> checks them.
#pragma once
#include <cstddef>
#include "../core/placed.hpp"
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "../expr/node.hpp"
#include "emit/make_plan.hpp" // IWYU pragma: export
#include "ir/step.hpp"

namespace tapeless {

// bind<...>(tl::plain): a plan for debugging. One step runs after another over whole tensors, without sweeps, epilogues
// or a choice of layouts. Its results differ only in the order of sums; any other difference is a fault. One exception:
// a CSR sweep skips rows whose factor is 0. The plain plan computes them, so infinite or NaN data in them shows.
struct plain_t {};
inline constexpr plain_t plain{};

namespace detail {

// The back end for tensors that live in Space: specialised by cpu/, cuda/.
template <class Space> struct backend_for;

// The rules of B: B::rules if it has them, else all.
template <class B> constexpr plan_rules rules_of() {
  if constexpr (requires { B::rules; }) return B::rules;
  else return {};
}

// B for tl::plain
constexpr plan_rules without_choices(plan_rules r) {
  r.layouts = r.sweeps = r.epilogues = false;
  return r;
}
template <class B> struct plain_backend : B {
  static constexpr plan_rules rules = without_choices(rules_of<B>());
};

// What a frame is filled from. The arrays stay where they are for the life of the bound object.
struct run_context {
  name_values names;  // values of the named extents in this run
  void* const* input; // leaf by leaf
  void* const* result;
  std::byte* part[max_parts];    // arena parts
  extent_t part_unit[max_parts]; // the value of each part's product of names at bind
  std::byte* scratch;            // of member 0; the next member's follows
  std::byte* shared;
  std::byte* packed; // what a load packs; what a run keeps from one step to the next
};

// Nanoseconds that the passes weigh against each other; only ratios count.
//   conv_ns            a convolution of operands with these shapes, in the layout that the node says
//   reorder_ns         a copy of n elements in another order; image_reorder_ns: of a few images at a time
//   product_ns, elementwise_ns   so many flops of products, of elementwise ops
//   move_ns            n elements of selected rows
//   memory_ns          bytes that the caches, of cache_bytes, do not hold
template <class M>
concept cost_model = requires(const node& v, const shape& s, double n) {
  M::conv_ns(v, s, s) + n;
  M::reorder_ns(n) + n;
  M::image_reorder_ns(n) + n;
  M::product_ns(n) + n;
  M::elementwise_ns(n) + n;
  M::move_ns(n) + n;
  M::memory_ns(n) + n;
  M::cache_bytes + n;
};

// A plan of one step, to ask back ends about.
inline constexpr plan<plan_counts{.steps = 1}> any_plan{};

//   space               where its tensors live
//   cost_model          see above
//   rules               plan_rules, unless it takes all
//   team_type           its size() members run a step; start(), before the first run, is false if it cannot have them
//   frame_type<P>       what it keeps for a bound program P; frame.fill(context) when the named extents have changed
//   scratch<P>()        bytes, constexpr: .each of a member, .shared of one step after another, .packed for all of them
//   run_step<P, I>(team, frame)    runs step I, unless a load does; load_step<P, I>: what a load does for step I
//   each_group<T>(n, body)         what optimizers ask for: see optim/optimizer.hpp
// A back end with memory of its own has besides:
//   prepare<P, Numbers>(team, frame)   at bind, after frame.fill; so many arguments are numbers
//   team_type::with(options...)    the team for the options of bind; team.another(): one like it, for run.load(p)
//   team.allocate(bytes)           the arena, which the team keeps; team.allocated(): bytes
//   team.store(place, number)      *place = an argument that is a number, ahead of the steps
//   team.copy(to, from, bytes)     within its memory, behind the steps
//   team.run_or_replay(context, inputs, result, outputs, steps)   runs steps(), or what it has kept of a run with these pointers and extents
#if defined(__NVCC__) // whose front end finds no member template in a requirement
template <class B>
concept backend = cost_model<typename B::cost_model> && requires { typename B::space; };
#else
template <class B>
concept backend = cost_model<typename B::cost_model> &&
                  requires(const typename B::team_type& team,
                           typename B::template frame_type<any_plan>& frame, run_context& context) {
                    typename B::space;
                    team.size() + extent_t{};
                    !team.start();
                    frame.fill(context);
                    B::template scratch<any_plan>().each + extent_t{};
                    B::template scratch<any_plan>().shared + extent_t{};
                    B::template scratch<any_plan>().packed + extent_t{};
                    B::template run_step<any_plan, 0>(team, frame);
                    B::template load_step<any_plan, 0>(team, frame);
                  };
#endif

// The space of a program's arguments, or of an optimizer's parameters, decides the back end. It is a template, so that
// backend_for is looked up where it is used, after a back end has been included.
template <class... A> struct program_space {
  using type = host;
};
template <class A, class... More>
  requires(placed<A> || (placed<More> || ...))
struct program_space<A, More...> : space_of<A, More...> {};
template <class... A> using backend_of = typename backend_for<typename program_space<A...>::type>::type;

} // namespace detail
} // namespace tapeless
