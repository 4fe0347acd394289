// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What may be traced: lambdas, function objects, plain functions, with helpers, loops and vars inside. Programs are
// compared node by node, in a constant evaluation and again at run time.
#include <doctest/doctest.h>

#include <array>
#include <tuple>
#include <type_traits>

#include "support/law.hpp"
#include <tapeless/trace/trace.hpp>

namespace tl = tapeless;
using tl::var;

namespace {

using V = tl::tensor<float, 4>;
using M = tl::tensor<float, 4, 4>;
using three = std::array<M, 3>;

constexpr bool same(const tl::detail::raw_program& p, const tl::detail::raw_program& q) {
  if (p.nodes.size() != q.nodes.size() || p.outputs.size() != q.outputs.size()) return false;
  for (int i = 0; i < p.nodes.size(); ++i)
    if (!tl::detail::equal(p.nodes[i], q.nodes[i])) return false;
  for (int i = 0; i < p.outputs.size(); ++i)
    if (p.outputs[i] != q.outputs[i]) return false;
  return true;
}
// Do f and g, called with X..., make one program?
template <class... X, class F, class G> constexpr bool same_program(F, G) {
  return same(tl::detail::trace<F, X...>(), tl::detail::trace<G, X...>());
}

template <class X, class W> constexpr auto dense(const X& x, const W& w) { return tanh(tl::matmul(x, w)); }
constexpr V plain(const V& x, const M& w) { return dense(x, w); }
struct object {
  template <class X, class W> constexpr auto operator()(const X& x, const W& w) const { return dense(x, w); }
};
constexpr auto written_out = [](auto x, auto w) { return tanh(tl::matmul(x, w)); };

constexpr bool helpers_leave_no_trace() {
  return same_program<V, M>(written_out, [](auto x, auto w) { return dense(x, w); }) &&
         same_program<V, M>(written_out, object{}) && same_program<V, M>(written_out, tl::fn<plain>) &&
         same_program<V, M>(written_out, [](V x, M w) { return plain(x, w); }) &&
         !same_program<V, M>(written_out, [](auto x, auto w) { return tl::matmul(tanh(x), w); });
}
constexpr auto unrolled = [](auto x, auto w) { return dense(dense(dense(x, w[0]), w[1]), w[2]); };
constexpr bool a_loop_is_unrolled() {
  return same_program<V, three>(unrolled,
                                [](auto x, const auto& w) {
                                  for (const auto& layer : w) x = dense(x, layer);
                                  return x;
                                }) &&
         !same_program<V, three>(unrolled, [](auto x, const auto& w) {
           for (std::size_t i = w.size(); i-- > 0;) x = dense(x, w[i]);
           return x;
         });
}
constexpr bool inner_functions_may_capture_handles() {
  return same_program<V, M>(written_out, [](auto x, auto w) {
    const auto inner = [&](auto y) { return dense(y, w); };
    return inner(x);
  });
}

using growing = std::tuple<tl::tensor<float, 4, 6>, tl::tensor<float, 6, 5>, tl::tensor<float, 5, 2>>;
constexpr bool layers_of_different_extents() {
  return same_program<V, growing>(
      [](auto x, const auto& w) {
        return dense(dense(dense(x, std::get<0>(w)), std::get<1>(w)), std::get<2>(w));
      },
      [](auto x, const auto& w) {
        var h = x;
        tl::for_each_layer(w, [&](const auto& layer) { h = dense(h, layer); });
        return h.as<float, 2>();
      });
}
constexpr bool a_var_is_the_handle_it_was_made_from() {
  constexpr auto round_trip = [](auto x, auto w) {
    var h = x, v = w;
    h = dense(h, v);
    return h.as<float, 4>();
  };
  return same_program<V, M>(written_out, round_trip) &&
         same_program<V, M>([](auto x, auto) { return x; },
                            [](auto x, auto) { return var(var(x)).as<float, 4>(); });
}
constexpr bool a_var_knows_its_extents_and_type() {
  constexpr auto f = [](auto x, auto w) {
    var h = tl::matmul(var(x), w);
    const bool right = h.dims() == V::extents && h.type() == tl::dtype::f32 &&
                       (h > 0.0).type() == tl::dtype::boolean &&
                       tl::sum<0>(var(w), tl::keepdims).dims() == tl::shape_of<1, 4>;
    return right ? h.as<float, 4>() : x;
  };
  return !same_program<V, M>([](auto x, auto) { return x; }, f);
}
struct with_state {
  float factor;
  template <class X> constexpr auto operator()(const X& x) const { return x * factor; }
};

} // namespace

TAPELESS_LAW("trace: helpers, function objects and plain functions make the program that is written out",
             helpers_leave_no_trace)
TAPELESS_LAW("trace: a loop over layers makes the program that is written out", a_loop_is_unrolled)
TAPELESS_LAW("trace: an inner function may capture handles", inner_functions_may_capture_handles)
TAPELESS_LAW("trace: for_each_layer visits layers of different extents in order", layers_of_different_extents)
TAPELESS_LAW("trace: a var made from a handle and converted back is that handle",
             a_var_is_the_handle_it_was_made_from)
TAPELESS_LAW("trace: a var knows its extents and its element type", a_var_knows_its_extents_and_type)

TEST_CASE("trace: what holds a value at run time is refused, what holds none is not") {
  float factor = 2;
  const auto by_value = [factor](auto x) { return x * factor; };
  const auto by_reference = [&factor](auto x) { return x * factor; };
  const auto nothing = [](auto x) { return x * 2.0f; };
  using tl::detail::stateless;
  static_assert(!stateless<decltype(by_value)> && !stateless<decltype(by_reference)> &&
                !stateless<with_state>);
  static_assert(!stateless<V (*)(const V&, const M&)> && stateless<tl::fn_t<plain>>);
  static_assert(stateless<object> && stateless<std::remove_const_t<decltype(nothing)>>);
  CHECK((by_value(1.0f) == 2 && by_reference(1.0f) == 2 && nothing(1.0f) == 2));
}
TEST_CASE("trace: a function is asked whether it takes the arguments, not called") {
  using tl::detail::takes_these_arguments;
  constexpr bool one = takes_these_arguments<decltype(unrolled), V>,
                 two = takes_these_arguments<object, V, M>,
                 number = takes_these_arguments<tl::fn_t<plain>, V, V>;
  CHECK((!one && two && !number));
}
TEST_CASE("trace: the program that is a constant is the one that is traced at run time") {
  using F = std::remove_const_t<decltype(unrolled)>;
  constexpr const auto& p = tl::detail::traced<F, V, three>::value;
  const auto q = tl::detail::trace<F, V, three>();
  REQUIRE((q.nodes.size() == p.size && q.outputs.size() == p.output_count));
  for (int i = 0; i < p.size; ++i) CHECK(tl::detail::equal(p.nodes[i], q.nodes[i]));
  for (int i = 0; i < p.output_count; ++i) CHECK(p.outputs[i] == q.outputs[i]);
}
