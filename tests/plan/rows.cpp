// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows of lists and of selections.
#include "weighted_rows.hpp"

using namespace weighted_rows;

TEST_CASE("rows of rows: the greatest losses of a list, of which alone the forward is computed") {
  constexpr tl::cost c = cost_of<top_of_listed, double, n, vector, 0>;
  static_assert(c.densified == 0);
  static_assert(c.primal.flops.at(tl::dim<'s'>(0), tl::dim<'k'>(0)) <= 4 * n);   // no product of all rows
  static_assert(c.adjoint.flops.at(tl::dim<'s'>(n), tl::dim<'k'>(0)) <= 40 * n); // nor of all of the list
  batch<double> b;
  tl::owned<vector> m;
  auto run = program<top_of_listed, vector, 0>();
  const flat all = loops(b, flat(n, 0.0)).loss;
  for (const int which : {2, 1, 2}) {
    const flat weights = mask_of(which, n);
    std::vector<int> among;
    for (int i = 0; i < n; ++i)
      if (((*m)[i] = weights[static_cast<std::size_t>(i)]) != 0) among.push_back(i);
    batch<double> poisoned;
    for (int i = 0; i < n; ++i)
      if ((*m)[i] == 0) poisoned.poison(i);
    const auto [value, gradient] = run(*poisoned.p, *poisoned.x, *poisoned.t, *m);
    check_rows(b, greatest(all, among, 6), value, gradient);
    CHECK(support::allocations_of(
              [&] { static_cast<void>(run(*poisoned.p, *poisoned.x, *poisoned.t, *m)); }) == 0);
  }
}

TEST_CASE("where: a condition that leaves out, of fewer axes than the result") {
  using V = tl::tensor<double, 4>;
  using B = tl::tensor<double, 4, 1>;
  constexpr auto f = [](auto v, auto b) {
    return tl::where(tl::broadcast_to<4, 3>(tl::reshape<4, 1>(v)) > 0.0, 0.0, b);
  };
  auto run = tl::jit(f).bind<V, B>();
  double v[] = {1, -1, 0, 2}, b[] = {1, 2, 3, 4};
  const auto y = run(V(v), B(b));
  REQUIRE(y.size() == 12);
  for (int i = 0; i < 12; ++i) CHECK(y[i] == (v[i / 3] > 0 ? 0 : b[i / 3]));
}
TEST_CASE("rows of an argument, which may repeat") {
  using list = tl::tensor<std::int32_t, n / 2>;
  static_assert(cost_of<listed, double, n, list, 0>.flops() <=
                0.6 * cost_of<mean_of_products, double, n, vector, 0, 3>.flops());
  auto run = program<listed, list, 0>();
  batch<double> b;
  tl::owned<list> rows;
  for (const int spread : {n, 3, 1}) {
    flat c(n, 0.0);
    for (int i = 0; i < n / 2; ++i) {
      (*rows)[i] = (i * 7 + 5) % spread;
      c[static_cast<std::size_t>((*rows)[i])] += 2.0 / n;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value, gradient);
  }
}
TEST_CASE("rows: the greatest of each segment") {
  auto run = program<of_each_segment, integers, 0>();
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  for (const int segments :
       {3, 1, 5, 0}) { // segment 2 may have one row, or none; segments 3, 4 and -1 are none
    tl::owned<integers> segment;
    flat c(n, 0.0);
    int kept = 0;
    std::vector<int> members[3];
    for (int i = 0; i < n; ++i) {
      (*segment)[i] = segments == 0 ? -1 : i % segments;
      if (segments > 0 && i % segments < 3) members[i % segments].push_back(i);
    }
    for (const auto& rows : members) {
      const flat some = greatest(loss, rows, 2);
      for (std::size_t i = 0; i < c.size(); ++i)
        if (some[i] != 0) c[i] = 1, ++kept;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *segment);
    if (kept > 0) check_rows(b, divided(c, kept), value, gradient);
    else CHECK((std::isnan(value[0]) && elements(gradient) == flat(elements(gradient).size(), 0.0)));
  }
}
TEST_CASE("rows: the greatest of few segments of many rows") {
  constexpr int many = 20000;
  using V = tl::tensor<double, many>;
  using S = tl::tensor<std::int32_t, many>;
  auto run = tl::jit(tl::value_and_grad<0>([](auto x, auto segment) {
               return tl::sum(tl::gather(x, tl::top_k_of_each<1, 2, 'k'>(x, segment)));
             })).bind<V, S>();
  tl::owned<V> x;
  tl::owned<S> segment;
  flat expected(many, 0.0);
  for (int i = 0; i < many; ++i) {
    (*x)[i] = (i * 7919) % many;
    (*segment)[i] = i % 3;
  }
  for (int s = 0; s < 2; ++s) {
    int best = s;
    for (int i = s; i < many; i += 3)
      if ((*x)[i] > (*x)[best]) best = i;
    expected[static_cast<std::size_t>(best)] = 1;
  }
  CHECK(elements(std::get<1>(run(*x, *segment))) == expected);
}
TEST_CASE(
    "rows: none in one run, some in the next: maxima of them, and indices into them, which are clamped") {
  using S = tl::tensor<double>;
  using I = tl::tensor<std::int32_t, 2>;
  auto run = tl::jit([](auto x, auto limit, auto i) {
               const auto rows = tl::gather(x, tl::where<'k'>(x > limit));
               return std::tuple{tl::max(rows), tl::gather(rows, i)};
             }).bind<vector, S, I>();
  tl::owned<vector> x;
  tl::owned<S> limit;
  tl::owned<I> i;
  for (int k = 0; k < n; ++k) (*x)[k] = k;
  (*i)[0] = 1, (*i)[1] = 5;
  for (const int above : {n - 3, 2, n, n - 9, n}) {
    (*limit)[0] = above;
    const auto [greatest_one, picked] = run(*x, *limit, *i);
    CHECK(greatest_one[0] == (above < n ? n - 1 : -infinity));
    if (above < n) CHECK((picked[0] == above + 2 && picked[1] == std::min(above + 6, n - 1)));
  }
}
TEST_CASE("rows: no more memory than the rows that there are, whatever k") {
  using V = tl::tensor<double, named>;
  auto run = tl::jit(tl::value_and_grad<0>([](auto x) {
               return tl::sum(tl::square(tl::gather(tl::tanh(x), tl::top_k<(1 << 30), 'k'>(x))));
             })).bind<V>(tl::dim<'n'>(n));
  auto each = tl::jit(tl::value_and_grad<0>([](auto x, auto segment) {
                return tl::sum(tl::square(
                    tl::gather(tl::tanh(x), tl::top_k_of_each<(1 << 30), (1 << 10), 'k'>(x, segment))));
              })).bind<V, tl::tensor<std::int32_t, named>>(tl::dim<'n'>(n));
  CHECK((run.arena_bytes() < 40000 && each.arena_bytes() < 40000));
  tl::owned<V> x(tl::dim<'n'>{n});
  tl::owned<tl::tensor<std::int32_t, named>> segment(tl::dim<'n'>{n});
  flat expected;
  for (int i = 0; i < n; ++i) {
    (*x)[i] = (i - 7) / 8.0;
    (*segment)[i] = i * 40;
    const double y = std::tanh((*x)[i]);
    expected.push_back(2 * y * (1 - y * y));
  }
  CHECK(largest_difference(elements(std::get<1>(run(*x))), expected) < 1e-12);
  CHECK(largest_difference(elements(std::get<1>(each(*x, *segment))), expected) < 1e-12);
}
TEST_CASE("rows: a function of selected rows is differentiated by them, twice, and called again") {
  using V = tl::tensor<double, n>;
  auto run = tl::jit(derivatives_of_rows{}).bind<V, V>();
  tl::owned<V> x, v;
  flat h, d;
  double value = 0, tangent = 0;
  for (int i = 0; i < n; ++i) {
    const double e = (*x)[i] = (i * 5 % 11 - 4) / 4.0, along = (*v)[i] = i - 10;
    const bool in = e > 0;
    value += in ? 9 * std::pow(e, 4) : 0;
    d.push_back(in ? 36 * std::pow(e, 3) : 0);
    h.push_back(in ? 108 * e * e * along : 0);
    tangent += d.back() * along;
  }
  const auto [hv, gradient, y, y_dot] = run(*x, *v);
  CHECK(largest_difference(elements(hv), h) < 1e-10);
  CHECK(largest_difference(elements(gradient), d) < 1e-10);
  CHECK(y[0] == doctest::Approx(value));
  CHECK(y_dot[0] == doctest::Approx(tangent));
}
TEST_CASE("rows: as many as the run says, none and all of them too") {
  auto run = program<as_many, tl::tensor<std::int32_t>, 0>();
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  tl::owned<tl::tensor<std::int32_t>> k;
  for (const std::int32_t count : {5, 0, n, 1, -3, n + 9, std::numeric_limits<std::int32_t>::min(), 2}) {
    CAPTURE(count);
    (*k)[0] = count;
    if (count < 0 || count > n) {
      CHECK_THROWS_AS(run(*b.p, *b.x, *b.t, *k), tl::argument_error);
      continue;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *k);
    CHECK(support::allocations_of([&] { static_cast<void>(run(*b.p, *b.x, *b.t, *k)); }) == 0);
    if (count > 0)
      check_rows(b, greatest(loss, all_rows(), static_cast<std::size_t>(count)), value, gradient);
    else CHECK((std::isnan(value[0]) && elements(gradient) == flat(elements(gradient).size(), 0.0)));
  }
}
TEST_CASE("rows: two lists of few rows in one loss") {
  using list = tl::tensor<std::int32_t, 4>;
  constexpr tl::cost of_two = cost_of<hard_and_listed, double, n, list, 0>;
  constexpr tl::cost of_all = cost_of<mean_of_products, double, n, vector, 0, 3>;
  static_assert(of_two.densified == 0 && of_two.adjoint.flops <= 0.55 * of_all.adjoint.flops);
  static_assert(cost_of<hard_and_easy, double, n, list, 0>.densified == 0);
  static_assert(cost_of<three_selections, double, n, list, 0>.densified > 0);
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  const flat hardest = greatest(loss, all_rows(), 6);
  flat negated = loss;
  for (double& e : negated) e = -e;
  const flat easiest = greatest(negated, all_rows(), 3);
  tl::owned<list> rows;
  auto run = program<hard_and_listed, list, 0>();
  auto with_easy = program<hard_and_easy, list, 0>();
  auto of_three = program<three_selections, list, 0>();
  auto two = tl::jit(tl::value_and_grad<0>(hard_and_listed{}))
                 .bind<parameters<double>, data<double, n>, targets<double, n>, list>(tl::threads(2));
  auto hessian =
      tl::jit(tl::hvp<0>(hard_and_listed{}))
          .bind<parameters<double>, data<double, n>, targets<double, n>, list, parameters<double>>();
  auto of_squares =
      tl::jit(tl::hvp<0>(hard_and_listed_squares{}))
          .bind<parameters<double>, data<double, n>, targets<double, n>, vector, parameters<double>>();
  for (const int spread : {n, 5, 1}) { // they are rows of the other list too, and one row several times
    flat c = hardest;
    for (int i = 0; i < 4; ++i) {
      (*rows)[i] = (i * 7 + 5) % spread;
      c[static_cast<std::size_t>((*rows)[i])] += 0.25;
    }
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value, gradient);
    CHECK(support::allocations_of([&] { static_cast<void>(run(*b.p, *b.x, *b.t, *rows)); }) == 0);
    const auto [value2, gradient2] = two(*b.p, *b.x, *b.t, *rows);
    CHECK((value2[0] == value[0] && elements(gradient2) == elements(gradient)));
    tl::owned<vector> v;
    for (int i = 0; i < n; ++i) (*v)[i] = std::sqrt(c[static_cast<std::size_t>(i)]);
    CHECK(largest_difference(elements(hessian(*b.p, *b.x, *b.t, *rows, *b.p)),
                             elements(of_squares(*b.p, *b.x, *b.t, *v, *b.p))) < 1e-11);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] += easiest[i];
    const auto [value3, gradient3] = of_three(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value3, gradient3);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = 3 * hardest[i] + easiest[i];
    const auto [value4, gradient4] = with_easy(*b.p, *b.x, *b.t, *rows);
    check_rows(b, c, value4, gradient4);
  }
}
TEST_CASE("rows: two selections in one loss, one of them counted") {
  static_assert(cost_of<two_selections, double, n, tl::tensor<double>, 0>.densified > 0);
  auto run = program<two_selections, tl::tensor<double>, 0>();
  batch<double> b;
  const flat loss = loops(b, flat(n, 0.0)).loss;
  flat sorted = loss;
  std::sort(sorted.begin(), sorted.end());
  for (const std::size_t below : {3, 20, n - 1}) {
    tl::owned<tl::tensor<double>> limit;
    (*limit)[0] = sorted[below];
    flat c = greatest(loss, all_rows(), 6);
    for (std::size_t i = 0; i < c.size(); ++i)
      if (loss[i] < sorted[below]) c[i] += 1 / static_cast<double>(below);
    const auto [value, gradient] = run(*b.p, *b.x, *b.t, *limit);
    check_rows(b, c, value, gradient);
  }
}
TEST_CASE("rows: computed again, they need less memory") {
  constexpr int rows = 96;
  using P = std::array<tl::tensor<double, 32, 32>, 5>;
  using X = tl::tensor<double, rows, 32>;
  constexpr tl::cost again = tl::jit(tl::value_and_grad<0>(deep<true>{})).cost<P, X, X>();
  constexpr tl::cost kept = tl::jit(tl::value_and_grad<0>(deep<false>{})).cost<P, X, X>();
  static_assert(again.arena <= 0.75 * kept.arena && again.flops() >= kept.flops());
  tl::owned<P> p;
  tl::owned<X> x, t;
  std::uint64_t seed = support::draw(*p, 3);
  seed = support::draw(*x, seed);
  support::draw(*t, seed);
  auto run = tl::jit(tl::value_and_grad<0>(deep<true>{})).bind<P, X, X>();
  auto without = tl::jit(tl::value_and_grad<0>(deep<false>{})).bind<P, X, X>();
  const auto [value, gradient] = run(*p, *x, *t);
  const auto [expected, of_kept] = without(*p, *x, *t);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-14));
  CHECK(largest_difference(elements(gradient), elements(of_kept)) < 1e-12);
}
