// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

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

// Within one step, what is written is not what is read.
template <class P> constexpr bool no_step_writes_where_it_reads(const P& p) {
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
  static_assert(no_step_writes_where_it_reads(p));
  CHECK(no_step_writes_where_it_reads(p));
}
TEST_CASE(
    "plan: residuals keep their places until the adjoint reads them: one program agrees with layer by layer") {
  using rows = tensor<double, 3, 4>;
  using weights = tensor<double, 4, 4>;
  struct net {
    std::array<weights, 5> w;
  };
  constexpr auto one = [](auto x, auto w) { return tanh(matmul(x, w)); };
  constexpr auto all = [](const auto& p, auto x, auto seed) {
    var h = x;
    for (const auto& w : p.w) h = tanh(matmul(h, var(w)));
    return sum(h.template as<double, 3, 4>() * seed);
  };
  owned<net> p;
  owned<rows> x, seed;
  double next = 0.3;
  const auto fill = [&](auto leaf) {
    for (double& v : leaf) v = next = 3.7 * next * (1 - next) - 0.1 * next; // chaotic, within (0, 1)
  };
  for_each_leaf(*p, fill);
  fill(*x);
  fill(*seed);
  auto gradient = jit(grad<0>(all)).bind<net, rows, rows>();
  const auto bar = gradient(*p, *x, *seed);

  auto forward = jit(one).bind<rows, weights>();
  auto backward = jit(vjp<0, 1>(one)).bind<rows, weights, rows>();
  std::array<owned<rows>, 6> h;
  const auto assign = [](auto to, const auto& from) { std::copy(from.begin(), from.end(), to.begin()); };
  assign(*h[0], *x);
  for (std::size_t i = 0; i < 5; ++i) assign(*h[i + 1], forward(*h[i], p->w[i]));
  owned<rows> h_bar;
  assign(*h_bar, *seed);
  for (std::size_t i = 5; i-- > 0;) {
    const auto [below, w_bar] = backward(*h[i], p->w[i], *h_bar);
    for (int k = 0; k < 16; ++k) CHECK(bar.w[i][k] == doctest::Approx(w_bar[k]).epsilon(1e-13));
    assign(*h_bar, below);
  }
}
TEST_CASE("cost: bytes of a slice are those of the elements it reads") {
  constexpr auto f = [](auto x) { return slice<0, 0, 1>(x) + 1.0f; };
  constexpr polynomial bytes = jit(f).cost<tensor<float, 1000, 64>>().primal.bytes;
  static_assert(bytes == 2 * 64 * 4);
  CHECK(bytes.at() == 512);
}
TEST_CASE("plan: a loop holds at most max_group_nodes ops, also where three long chains meet") {
  constexpr auto f = [](auto x) {
    auto a = x, b = x, c = x;
    for (int i = 1; i <= 13; ++i) a = exp(a), b = tanh(b), c = sqrt(c);
    return where(a > 0.0, b, c);
  };
  constexpr const auto& p = plan_of<std::remove_const_t<decltype(f)>, tensor<double, 64>>;
  int ops = 0;
  for (int i = 0; i < p.steps; ++i) {
    int here = 0;
    for (int k = 0; k < p.step_[i].codes; ++k) {
      const op o = instruction(p.code[p.step_[i].code0 + k]).o;
      here += o != op::input && o != op::constant;
    }
    CHECK(here <= max_group_nodes);
    ops += here;
  }
  CHECK(ops == 41); // 3 * 13, the comparison and the selection, each once
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
TEST_CASE("polynomial: the flops of an attention product have five named factors") {
  using q_t = tensor<float, dyn<'b'>, dyn<'h'>, dyn<'s'>, dyn<'d'>>;
  using k_t = tensor<float, dyn<'b'>, dyn<'h'>, dyn<'d'>, dyn<'s'>>;
  constexpr polynomial f = jit([](auto q, auto k) { return matmul(q, k); }).cost<q_t, k_t>().primal.flops;
  static_assert(f.at(dim<'b'>(2), dim<'h'>(3), dim<'s'>(5), dim<'d'>(7)) == 2 * 2 * 3 * 5 * 7 * 5);
  static_assert(f.at(dim<'x'>(9), dim<'b'>(2), dim<'h'>(3), dim<'s'>(5), dim<'d'>(7)) ==
                2100); // x is not in f
  static_assert(f <= 1.1 * f && !(1.1 * f <= f));
  CHECK(to_string(f) == "2*b*d*h*s*s");
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
TEST_CASE("cost: conditions of a single row, or of a vector, add no loop over a matrix") {
  constexpr auto by_rows = [](auto x, auto w, auto v) { return sum(square(matmul(relu(matmul(x, w)), v))); };
  constexpr auto by_columns = [](auto x, auto w, auto v) {
    return sum(square(matmul(v, relu(matmul(w, x)))));
  };
  constexpr auto leaky = [](auto x, auto w, auto v) {
    const auto h = matmul(x, w);
    return sum(square(matmul(relu(h) - 0.1f * relu(-h), v)));
  };
  constexpr auto of_condition = [](auto x, auto w, auto v, auto used) {
    return sum(where(used, sum<1>(square(matmul(relu(matmul(x, w)), v))), 0.0f));
  };
  using row = tensor<float, 1, 64>;
  using vector = tensor<float, 64>;
  using matrix = tensor<float, 64, 64>;
  using condition = tensor<bool, 1>;
  constexpr auto matrices = [](const cost& c) { return c.adjoint.bytes.at() / (4 * 64 * 64); };
  // v is read, two gradients are written
  static_assert(matrices(jit(value_and_grad<1, 2>(by_rows)).cost<row, matrix, matrix>()) < 3.3);
  static_assert(matrices(jit(value_and_grad<1, 2>(by_columns)).cost<vector, matrix, matrix>()) < 3.3);
  static_assert(matrices(jit(value_and_grad<1, 2>(leaky)).cost<row, matrix, matrix>()) < 3.3);
  static_assert(matrices(jit(value_and_grad<1, 2>(of_condition)).cost<row, matrix, matrix, condition>()) <
                3.3);
}
TEST_CASE("plan: x less a sum of it is computed where it is read, and never stored") {
  constexpr auto f = [](auto x) {
    auto c = x - sum<0>(x);
    return std::tuple{sum(c * c) * c, sum(c)};
  };
  using X = tensor<float, 512, 128>;
  constexpr const auto& p = plan_of<std::remove_const_t<decltype(f)>, X>;
  static_assert(jit(f).cost<X>().arena.at() < 4 * 512 * 128 + (1 << 16)); // the result, and partial sums
  constexpr polynomial flops = jit(f).cost<X>().flops();
  static_assert(flops.at() >= 512 * 128 * (1 + 2 * 1 + 3 + 1) && flops.at() < 512 * 128 * 8);
  // rows of a few elements are slower than one loop: stored
  constexpr const auto& q = plan_of<std::remove_const_t<decltype(f)>, tensor<float, 8192, 8>>;
  static_assert(q.part_size[0] >= 2 * 4 * 8192 * 8);
  // a product is stored: a sum behind it may be rounded once
  constexpr auto g = [](auto x) {
    auto c = x * sum<0>(x);
    return std::tuple{sum(c * c) * c, sum(c)};
  };
  static_assert(plan_of<std::remove_const_t<decltype(g)>, X>.part_size[0] >= 2 * 4 * 512 * 128);
  CHECK(p.steps == 3);
}
TEST_CASE("plan: each named extent is that of an argument, or counted by a step ahead of what reads it") {
  constexpr auto f = [](auto x, auto s) {
    const auto rows = where<'k'>(sum<1>(x) > 1.0f);
    return sum(broadcast_to<dyn<'k'>>(s)) + sum(gather(x, rows));
  };
  using F = std::remove_const_t<decltype(f)>;
  constexpr const auto& p = plan_of<F, x_t, tensor<float>>;
  constexpr name_values names = names_of_arguments<x_t, tensor<float>>();
  static_assert(extents_are_known(p, names));
  static_assert(!extents_are_known(p, name_values{})); // n is of no argument
  int selects = 0;
  while (selects < p.steps && (p.step_[selects].fused || p.step_[selects].o != op::select)) ++selects;
  REQUIRE((selects > 0 && selects < p.steps));
  auto uncounted = p, too_early = p;
  uncounted.step_[selects].o = op::copy;
  too_early.slot_[p.step_[0].slot0].s = shape{1, {dyn<'k'>}}; // the first step reads the count
  CHECK_FALSE(extents_are_known(uncounted, names));
  CHECK_FALSE(extents_are_known(too_early, names));
}
