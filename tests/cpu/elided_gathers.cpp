// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <support/random.hpp>
#include <tapeless/tapeless.hpp>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

using element = double;
constexpr int n = 31, k = 24, width = 150; // k are too many for a list of few rows
using rows = tl::tensor<element, n, width>;
using some_rows = tl::tensor<element, k, width>;
using picks = tl::tensor<std::int32_t, k>;

template <class F, class... A> struct steps_of {
  static constexpr const auto& plan = tl::detail::planned_with<false, F, A...>::value;
  static constexpr int gathers() {
    int count = 0;
    for (int i = 0; i < plan.steps; ++i)
      count += !plan.step_[i].fused && plan.step_[i].o == tl::detail::op::gather ? 1 : 0;
    return count;
  }
  static constexpr int elided() {
    int count = 0;
    for (int i = 0; i < plan.steps; ++i) count += tl::cpu::is_elided<plan>(i) ? 1 : 0;
    return count;
  }
};

// f of rows s of what is computed for all rows, which a result needs too
template <class F> struct of_listed {
  constexpr auto operator()(auto x, auto s, auto t) const {
    const auto h = tl::relu(x) - 0.25;
    return std::tuple{F{}(tl::gather(h, s), t), tl::sum<1>(h)};
  }
};
template <class F> struct of_copied {
  constexpr auto operator()(auto x, auto t) const { return F{}(tl::relu(x) - 0.25, t); }
};

std::vector<element> flat(const auto& tensor) { return {tensor.begin(), tensor.end()}; }
bool close(const std::vector<element>& a, const std::vector<element>& b) {
  double largest = 0;
  for (const element x : b) largest = std::fmax(largest, std::fabs(x));
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= 1e-13 * (1 + largest))) return false;
  return true;
}

const std::vector<std::int32_t> lists[] = {
    {30, 0, 29, 1, 28, 2, 27, 3, 26, 4, 25, 5, 24, 6, 23, 7, 22, 8, 21, 9, 20, 10, 19, 11},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23},
    {7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
    {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30},
};

// Elided: the gathers that copy nothing.
template <int Elided, class F> void check(F) {
  using listed = of_listed<F>;
  using plan = steps_of<listed, rows, picks, some_rows>;
  CHECK(plan::gathers() == 1);
  CHECK(plan::elided() == Elided);
  auto x = support::random_values<element>(n * width, 1), t = support::random_values<element>(k * width, 2);
  for (const int members : {1, 2}) {
    auto run = tl::jit(listed{}).template bind<rows, picks, some_rows>(tl::threads(members));
    auto reference = tl::jit(of_copied<F>{}).template bind<some_rows, some_rows>(tl::threads(1));
    for (std::vector<std::int32_t> list : lists) {
      std::vector<element> copied;
      for (const std::int32_t i : list)
        copied.insert(copied.end(), x.begin() + i * width, x.begin() + (i + 1) * width);
      const auto [result, sums] = run(rows(x.data()), picks(list.data()), some_rows(t.data()));
      CHECK(close(flat(result), flat(reference(some_rows(copied.data()), some_rows(t.data())))));
    }
  }
}

constexpr auto product = [](auto y, auto t) { return tl::matmul(tl::transpose(y), t); };

// Of the rows that are valid those with the largest losses; what comes before their sum takes the places of what is over.
constexpr int hardest = 12, deep = 96;
template <bool Selects> struct hardest_of_valid {
  constexpr auto operator()(auto x, auto w, auto v, auto valid, auto t) const {
    const auto h = tl::matmul(x, w);
    const auto some = [&] {
      if constexpr (Selects) return tl::gather(h, tl::where<'s'>(valid));
      else return h;
    }();
    const auto l = tl::sum<1>(tl::square(tl::tanh(tl::matmul(some, v))));
    const auto rows_of_rows = tl::gather(some, tl::top_k<hardest, 'k'>(l));
    const auto next = [&](auto y) { return tl::tanh(tl::matmul(y, v)); };
    const auto weight = tl::sum<0>(next(next(next(t + tl::sum(l)))));
    return std::tuple{tl::sum(rows_of_rows * weight), tl::sum<1>(h), l};
  }
};

// Those with the largest losses, or all images there are.
constexpr int few = 20;
constexpr auto losses_of_images = [](auto x, auto w1, auto w2) {
  constexpr tl::conv same{.padding = 1};
  return tl::sum<1, 2, 3>(tl::square(tl::conv2d<same>(tl::relu(tl::conv2d<same>(x, w1)), w2)));
};
constexpr auto by_weights_of_some = tl::value_and_grad<1, 2>([](auto x, auto w1, auto w2) {
  const auto l = losses_of_images(x, w1, w2);
  return tl::sum(tl::gather(l, tl::top_k<few>(l)));
});
constexpr auto by_weights_of_all =
    tl::value_and_grad<1, 2>([](auto x, auto w1, auto w2) { return tl::sum(losses_of_images(x, w1, w2)); });

} // namespace

TEST_CASE("elided gathers: loops that store, and sum over rows, over columns, over everything") {
  check<1>([](auto y, auto t) { return y * t; });
  check<1>([](auto y, auto t) { return tl::sum<0>(y * t); });
  check<1>([](auto y, auto t) { return tl::max<0>(y - t); });
  check<1>([](auto y, auto t) { return tl::sum<1>(y * t); });
  check<1>([](auto y, auto t) { return tl::sum(y * t); });
}
TEST_CASE("elided gathers: several loops, a sweep of them, rows read in another order") {
  check<1>([](auto y, auto t) { return tl::log_softmax<1>(y + t) * t; });
  check<0>([](auto y, auto t) { return tl::transpose(y) * tl::transpose(t); });
  check<1>([](auto y, auto t) { return tl::slice<1, 3, 77>(y) * tl::slice<1, 0, 74>(t); });
  check<1>([](auto y, auto t) {
    const auto a = tl::reshape<k, 10, 15>(y);
    const auto b = tl::reshape<k, 15, 10>(t);
    return tl::transpose<0, 2, 1>(a) * b;
  });
}
TEST_CASE("elided gathers: products read them on either side, others have them copied") {
  check<1>(product);
  check<1>([](auto y, auto t) { return product(t, y); });
  check<1>([](auto y, auto t) { return product(y * t, y) + product(y, t); });
  check<0>([](auto y, auto t) { return tl::matmul(y, tl::transpose(t)); });
  check<0>([](auto y, auto t) { return tl::matmul(tl::transpose(y), tl::matmul(y, tl::transpose(t))); });
}
TEST_CASE("elided gathers: a reshape gives a product other rows") {
  check<0>([](auto y, auto t) {
    return product(tl::reshape<2 * k, width / 2>(y), tl::reshape<2 * k, width / 2>(t));
  });
  check<0>([](auto y, auto t) {
    return product(tl::reshape<k / 2, 2 * width>(y), tl::reshape<k / 2, 2 * width>(t));
  });
  check<1>(
      [](auto y, auto t) { return tl::reshape<2 * k, width / 2>(y) * tl::reshape<2 * k, width / 2>(t); });
}
TEST_CASE("elided gathers: named columns of a product, one or two of them in a run") {
  using columns = tl::tensor<element, k, tl::dyn<'m'>>;
  constexpr auto f = [](auto x, auto s, auto t) { return product(tl::gather(x, s), t); };
  constexpr auto copied = [](auto y, auto t) { return product(y, t); };
  auto x = support::random_values<element>(n * width, 1), t = support::random_values<element>(k * 5, 2);
  std::vector<std::int32_t> list = lists[0];
  std::vector<element> y;
  for (const std::int32_t i : list) y.insert(y.end(), x.begin() + i * width, x.begin() + (i + 1) * width);
  for (const int m : {1, 2, 3, 5}) {
    auto run = tl::jit(f).bind<rows, picks, columns>(tl::dim<'m'>(m));
    auto reference = tl::jit(copied).bind<some_rows, columns>(tl::dim<'m'>(m));
    CHECK(close(flat(run(rows(x.data()), picks(list.data()), columns(t.data(), m))),
                flat(reference(some_rows(y.data()), columns(t.data(), m)))));
  }
}
TEST_CASE("elided gathers: rows of rows, where the first selection takes all of them") {
  constexpr int all = 64, wide = 40;
  using inputs = tl::tensor<element, all, wide>;
  using first = tl::tensor<element, wide, deep>;
  using second = tl::tensor<element, deep, deep>;
  using targets = tl::tensor<element, all, deep>;
  using flags = tl::tensor<bool, all>;
  auto x = support::random_values<element>(all * wide, 1),
       w = support::random_values<element>(wide * deep, 2),
       v = support::random_values<element>(deep * deep, 3),
       t = support::random_values<element>(all * deep, 4);
  for (element& e : v) e *= 0.1;
  bool valid[all];
  std::fill_n(valid, all, true);
  auto run = tl::jit(hardest_of_valid<true>{}).bind<inputs, first, second, flags, targets>();
  auto reference = tl::jit(hardest_of_valid<false>{}).bind<inputs, first, second, flags, targets>();
  const auto value = [&](auto& f) {
    const auto [y, sums, l] =
        f(inputs(x.data()), first(w.data()), second(v.data()), flags(valid), targets(t.data()));
    return y[0];
  };
  const element exact = value(reference);
  CHECK(std::fabs(value(run) - exact) <= 1e-10 * std::fabs(exact));
}
// Its scratch is less than what the partial results of chunks may take: nothing is taken for overwritten by it.
TEST_CASE("elided gathers: rows of rows, behind a selection for each segment") {
  using X = tl::tensor<const double, tl::dyn<'n'>>;
  using segments = tl::tensor<const std::int32_t, tl::dyn<'n'>>;
  using mask = tl::tensor<const bool, tl::dyn<'n'>>;
  constexpr auto f = [](auto x, auto segment, auto keep) {
    const auto s = tl::where<'s'>(keep);
    const auto kept = tl::gather(x, s);
    const auto greatest = tl::top_k_of_each<1, 2, 'k'>(kept, tl::gather(segment, s));
    return std::tuple{greatest, tl::gather(kept, greatest)};
  };
  const double x[] = {1, 4, 9, 16};
  const std::int32_t segment[] = {0, 1, 0, 1};
  const bool all[] = {true, true, true, true}, three[] = {true, false, true, true};
  auto run = tl::jit(f).bind<X, segments, mask>(tl::dim<'n'>(4));
  for (const bool* keep : {all, three}) {
    CAPTURE(keep == all);
    const auto [places, values] = run(X(x, 4), segments(segment, 4), mask(keep, 4));
    CHECK(std::vector<std::int32_t>(places.begin(), places.end()) ==
          (keep == all ? std::vector<std::int32_t>{2, 3} : std::vector<std::int32_t>{1, 2}));
    CHECK(flat(values) == std::vector<element>{9, 16});
  }
}

TEST_CASE("elided gathers: weights' gradients of convolutions read images") {
  constexpr int image = 3 * 12 * 12;
  using images = tl::tensor<element, n, 3, 12, 12>;
  using some_images = tl::tensor<element, few, 3, 12, 12>;
  using first = tl::tensor<element, 8, 3, 3, 3>;
  using second = tl::tensor<element, 4, 8, 3, 3>;
  using plan = steps_of<std::remove_const_t<decltype(by_weights_of_some)>, images, first, second>;
  CHECK(plan::elided() >= 2); // the images, and what the first layer makes of them
  auto x = support::random_values<element>(n * image, 1), w1 = support::random_values<element>(8 * 27, 2),
       w2 = support::random_values<element>(4 * 72, 3);
  auto losses_of_all = tl::jit(losses_of_images).bind<images, first, second>(tl::threads(1));
  const auto losses = losses_of_all(images(x.data()), first(w1.data()), second(w2.data()));
  std::vector<element> copied, sorted = flat(losses);
  std::sort(sorted.rbegin(), sorted.rend());
  for (int i = 0; i < n; ++i)
    if (losses[i] >= sorted[few - 1])
      copied.insert(copied.end(), x.begin() + i * image, x.begin() + (i + 1) * image);
  auto reference = tl::jit(by_weights_of_all).bind<some_images, first, second>(tl::threads(1));
  const auto [value, by_w1, by_w2] =
      reference(some_images(copied.data()), first(w1.data()), second(w2.data()));
  for (const int members : {1, 2}) {
    auto run = tl::jit(by_weights_of_some).bind<images, first, second>(tl::threads(members));
    const auto [v, g1, g2] = run(images(x.data()), first(w1.data()), second(w2.data()));
    CHECK(close(flat(v), flat(value)));
    CHECK(close(flat(g1), flat(by_w1)));
    CHECK(close(flat(g2), flat(by_w2)));
  }
}

TEST_CASE("elided gathers: a list of all rows in their order is none") {
  const std::int32_t list[] = {0, 1, 2, 3}, swapped[] = {0, 2, 1, 3};
  CHECK(tl::cpu::names_all_rows(list, 4, 4));
  CHECK(tl::cpu::names_all_rows(list, 0, 0));
  CHECK(!tl::cpu::names_all_rows(list, 3, 4));
  CHECK(!tl::cpu::names_all_rows(list, 4, 3));
  CHECK(!tl::cpu::names_all_rows(swapped, 4, 4));
}
