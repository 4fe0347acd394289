// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <tapeless/tapeless.hpp>

using namespace tapeless;
using namespace tapeless::detail;

namespace {

using x_t = tensor<float, dyn<'n'>, 64>;
using w_t = tensor<float, 64, 32>;
using b_t = tensor<float, 32>;

constexpr auto layer = [](auto x, auto w, auto b) { return relu(matmul(x, w) + b); };
constexpr auto loss = [](auto x, auto w, auto b) { return mean(square(relu(matmul(x, w) + b))); };

template <class F, class... A> inline constexpr const auto& plan_of = planned<F, A...>::value;
template <class P> constexpr int count_steps(const P& p, op o) {
  int n = 0;
  for (int i = 0; i < p.steps; ++i) n += !p.step_[i].fused && p.step_[i].o == o;
  return n;
}

// Buffers that live at the same time do not overlap: at every step, what it writes meets nothing that it or a
// later step reads before writing it.
template <class P> constexpr bool buffers_do_not_collide(const P& p) {
  for (int i = 0; i < p.steps; ++i) {
    const step& s = p.step_[i];
    for (int k = 0; k < s.loads; ++k)
      for (int j = 0; j < s.stores; ++j) {
        const slot &r = p.slot_[s.slot0 + k], &w = p.slot_[s.slot0 + s.loads + j];
        if (r.at.where == place::arena && r.at == w.at) return false;
      }
  }
  return true;
}

constexpr bool a_take_returns_disjoint_live_ranges() {
  arena_layout a(8);
  const int part = a.part_of(0);
  const extent_t p = a.take(part, 64, 1), q = a.take(part, 128, 3), r = a.take(part, 64, 0);
  if (p != 0 || q != 64 || r != 192) return false;
  a.expire(1);                                   // r is free
  if (a.take(part, 64, 5) != 192) return false;  // and taken again
  a.expire(2);                                   // p is free
  if (a.take(part, 128, 5) != 256) return false; // too large for p's place
  return a.take(part, 32, 5) == 0 && a.take(part, 32, 5) == 32 && a.parts[part].top == 384;
}

} // namespace

TEST_CASE("arena: first fit, freed ranges are used again") {
  static_assert(a_take_returns_disjoint_live_ranges());
  CHECK(a_take_returns_disjoint_live_ranges());
}
TEST_CASE("plan: a layer is a product and one fused epilogue") {
  constexpr const auto& p = plan_of<std::remove_const_t<decltype(layer)>, x_t, w_t, b_t>;
  static_assert(p.steps == 2 && count_steps(p, op::matmul) == 1);
  static_assert(p.step_[1].fused && p.step_[1].epilogue);
  CHECK(p.steps == 2);
}
TEST_CASE("plan: what is not asked for is not computed") {
  constexpr auto f = value_and_grad<1, 2>(loss); // no gradient of x
  constexpr const auto& p = plan_of<std::remove_const_t<decltype(f)>, x_t, w_t, b_t>;
  static_assert(count_steps(p, op::matmul) == 2); // forward and dW; no dX
  constexpr auto g = value_and_grad<0, 1, 2>(loss);
  static_assert(count_steps(plan_of<std::remove_const_t<decltype(g)>, x_t, w_t, b_t>, op::matmul) == 3);
  CHECK(count_steps(p, op::matmul) == 2);
}
TEST_CASE("plan: a step never writes where it reads") {
  constexpr auto f = value_and_grad<0, 1, 2>(loss);
  constexpr const auto& p = plan_of<std::remove_const_t<decltype(f)>, x_t, w_t, b_t>;
  static_assert(buffers_do_not_collide(p));
  CHECK(buffers_do_not_collide(p));
}
TEST_CASE("cost: a polynomial in the named extent; the adjoint of a layer costs twice its primal") {
  constexpr auto step = jit(value_and_grad<0, 1, 2>(loss));
  constexpr cost c = step.cost<x_t, w_t, b_t>();
  static_assert(c.primal.flops.at(dim<'n'>(10)) - c.primal.flops.at(dim<'n'>(9)) == 2 * 64 * 32 + 4 * 32);
  static_assert(c.adjoint.flops <= 2.1 * c.primal.flops);
  static_assert(!(c.adjoint.flops <= c.primal.flops));
  static_assert(c.steps() == c.primal.steps + c.adjoint.steps);
  CHECK(c.flops().at(dim<'n'>(1)) > 0);
}
TEST_CASE("polynomial: p <= q holds for every extent >= 1") {
  polynomial p, q;
  p.add(3, 0);               // 3
  q.add(3, names(dyn<'n'>)); // 3 n
  CHECK(p <= q);
  CHECK_FALSE(q <= p);
  p.add(1, 0); // 4: larger at n = 1
  CHECK_FALSE(p <= q);
  CHECK(polynomial(2.0) <= polynomial(2.0));
  CHECK(q.at(dim<'n'>(7)) == 21);
}
TEST_CASE("chunks: they cover the axis, and depend on extents alone") {
  for (const extent_t outer : {0, 1, 7, 64, 1000, 100000})
    for (const extent_t inner : {1, 3, 64, 20000}) {
      const chunking c = chunks_of(outer, inner, inner == 1);
      CHECK(c.count * c.size >= outer);
      CHECK((c.count - 1) * c.size < (outer > 0 ? outer : 1));
      CHECK(c.count <= max_chunks);
    }
}
TEST_CASE("explain: names every step and the cost") {
  const std::string s = jit(value_and_grad<1, 2>(loss)).explain<x_t, w_t, b_t>();
  CHECK(s.find("matmul a b") != std::string::npos);
  CHECK(s.find("matmul a^T b") != std::string::npos);
  CHECK(s.find("adjoint:") != std::string::npos);
  const std::string d = jit(layer).dot<x_t, w_t, b_t>();
  CHECK(d.find("digraph") == 0);
  CHECK(d.find("relu") != std::string::npos);
}
