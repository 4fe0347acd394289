// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What bind and run refuse, what the message says, and that nothing has been written then.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "support/random.hpp"
#include "support/refusal.hpp"
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using rows = tl::tensor<float, tl::dyn<'n'>, 3>;
using const_rows = tl::tensor<const float, tl::dyn<'n'>, 3>;
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;
using weights = tl::tensor<float, 3, 4>;

constexpr auto loss = [](auto w, auto x, auto label) {
  return tl::mean(tl::softmax_cross_entropy(tl::matmul(x, w), label));
};
constexpr auto twice = tl::jit([](auto x) { return x * 2.0f; });
constexpr auto twice_second = tl::jit([](auto, auto s) { return s * 2.0f; });
constexpr auto pairs = tl::jit([](auto a, auto b) { return tl::sum(tl::cast<float>(a && b)); });
constexpr auto twice_and_next = [](auto x) { return std::tuple{x * 2.0f, x + 1.0f}; };

constexpr float* no_floats = nullptr;
constexpr std::int32_t* no_labels = nullptr;

// The message of the argument_error that f throws; empty where it throws none.
using support::refusal;

struct data {
  std::vector<float> x = support::random_values<float>(8 * 3, 1), w = support::random_values<float>(3 * 4, 2);
  std::vector<std::int32_t> y = support::random_integers(8, 3, 0, 4);

  rows x_of(int n) { return rows{x.data(), n}; }
  labels y_of(int n) { return labels{y.data(), n}; }
  weights w_of() { return weights{w.data()}; }
};

auto bind_loss() { return tl::jit(tl::value_and_grad<0>(loss)).bind<weights, rows, labels>(tl::dim<'n'>(8)); }

} // namespace

TEST_CASE("bind: every named extent has a capacity of at least 1, and no other name has one") {
  constexpr auto step = tl::jit(tl::value_and_grad<0>(loss));
  CHECK(refusal([&] { step.bind<weights, rows, labels>(); }) ==
        "tapeless: bind: give the capacity of n, as in bind<...>(tl::dim<'n'>(64))");
  CHECK(refusal([&] { step.bind<weights, rows, labels>(tl::dim<'n'>(8), tl::dim<'m'>(2)); }) ==
        "tapeless: bind: no argument has an extent named m");
  CHECK(refusal([&] { step.bind<weights, rows, labels>(tl::dim<'n'>(0)); }) ==
        "tapeless: bind: the capacity of n is at least 1");
  CHECK(refusal([&] { step.bind<weights, rows, labels>(tl::dim<'n'>(1)); }) == "");
}

TEST_CASE("bind: the names are those of the arguments, also where no result reads the argument") {
  using others = tl::tensor<float, tl::dyn<'m'>>;
  using column = tl::tensor<float, tl::dyn<'n'>>;
  data d;
  constexpr auto first = tl::jit([](auto x, auto) { return tl::sum(x); });
  CHECK(refusal([&] { first.bind<column, others>(tl::dim<'n'>(8)); }) ==
        "tapeless: bind: give the capacity of m, as in bind<...>(tl::dim<'m'>(64))");
  auto run = first.bind<column, others>(tl::dim<'n'>(8), tl::dim<'m'>(4));
  CHECK(refusal([&] { run(column{d.x.data(), 6}, others{d.w.data(), 4}); }) == "");
  CHECK(refusal([&] { run(column{d.x.data(), 6}, others{d.w.data(), 5}); }) ==
        "tapeless: run: argument 1 has m = 5, but the capacity at bind is m = 4");
  auto same = first.bind<column, column>(tl::dim<'n'>(8));
  CHECK(refusal([&] { same(column{d.x.data(), 6}, column{d.w.data(), 7}); }) ==
        "tapeless: run: argument 1 has n = 7, but argument 0 has n = 6");

  // the gradient needs n and none of x
  auto slope = tl::jit(tl::grad<0>([](auto x) { return tl::sum(x) * 2.0f; })).bind<column>(tl::dim<'n'>(8));
  const column gradient = slope(column{d.x.data(), 7});
  CHECK(gradient.size() == 7);
  for (const float g : gradient) CHECK(g == 2);
}

TEST_CASE("bind: capacities whose sizes overflow are refused: of an argument, a buffer, a loop") {
  using column = tl::tensor<float, tl::dyn<'n'>>;
  using row = tl::tensor<bool, 1, tl::dyn<'m'>>;
  using tall = tl::tensor<bool, tl::dyn<'n'>, 1>;
  const std::string message = "tapeless: bind: the extents are too large: a size exceeds 63 bits";
  constexpr tl::extent_t one = 1;
  CHECK(refusal([&] { twice.bind<column>(tl::dim<'n'>(one << 61)); }) == message);
  CHECK(refusal([&] { twice.bind<column>(tl::dim<'n'>((one << 62) + 16)); }) == message); // wraps to 64 bytes
  // an argument without a buffer
  CHECK(refusal([&] { twice_second.bind<column, float>(tl::dim<'n'>(one << 61)); }) == message);
  // two small arguments, one large loop
  CHECK(refusal([&] { pairs.bind<tall, row>(tl::dim<'n'>(one << 33), tl::dim<'m'>(one << 33)); }) == message);
  CHECK(refusal([&] { pairs.bind<tall, row>(tl::dim<'n'>(one << 20), tl::dim<'m'>(one << 20)); }) == "");
}

TEST_CASE("bind: a team has at least one member; without threads there is a default") {
  CHECK(refusal([&] { twice.bind<weights>(tl::threads(0)); }) ==
        "tapeless: bind: threads(0): a team has at least 1");
  CHECK(refusal([&] { twice.bind<weights>(tl::threads(-3)); }) ==
        "tapeless: bind: threads(-3): a team has at least 1");
  CHECK(refusal([&] { twice.bind<weights>(tl::threads(1)); }) == "");
  CHECK(refusal([&] { twice.bind<weights>(); }) == "");
}

TEST_CASE("run: a number of another type is taken where its value fits, and refused beyond the range") {
  const std::string beyond_int = "tapeless: run: argument 1 is a number beyond the range of int32";
  auto whole =
      tl::jit([](auto a, auto i) { return std::tuple{a * 1.0f, i + 0}; }).bind<float, std::int32_t>();
  CHECK(std::get<1>(whole(0.0f, -7))[0] == -7);
  CHECK(std::get<1>(whole(0.0f, 2147483647LL))[0] == 2147483647);
  CHECK(std::get<1>(whole(0.0f, -2147483648LL))[0] == -2147483647 - 1);
  CHECK(std::get<1>(whole(0.0f, std::uint8_t{200}))[0] == 200);
  CHECK(std::get<1>(whole(0.0f, true))[0] == 1);
  CHECK(refusal([&] { whole(0.0f, 5000000000LL); }) == beyond_int);
  CHECK(refusal([&] { whole(0.0f, 2147483648LL); }) == beyond_int);
  CHECK(refusal([&] { whole(0.0f, -2147483649LL); }) == beyond_int);
  CHECK(refusal([&] { whole(0.0f, 2147483648u); }) == beyond_int);
  CHECK(refusal([&] { whole(0.0f, ~std::uint64_t{0}); }) == beyond_int); // not -1

  constexpr double infinite = std::numeric_limits<double>::infinity();
  CHECK(std::get<0>(whole(0.1, 0))[0] == 0.1f); // rounds
  CHECK(std::get<0>(whole(7, 0))[0] == 7);
  CHECK(std::get<0>(whole(infinite, 0))[0] == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(std::get<0>(whole(std::nan(""), 0))[0]));
  CHECK(refusal([&] { whole(1e39, 0); }) ==
        "tapeless: run: argument 0 is a number beyond the range of float");
  CHECK(refusal([&] { whole(-1e39, 0); }) ==
        "tapeless: run: argument 0 is a number beyond the range of float");

  auto chosen = tl::jit([](auto c, auto x) { return tl::where(c, x, -x); }).bind<bool, float>();
  CHECK(chosen(1, 2.0f)[0] == 2);
  CHECK(chosen(false, 2.0f)[0] == -2);
  CHECK(refusal([&] { chosen(2, 2.0f); }) ==
        "tapeless: run: argument 0 is a number beyond the range of bool");
}

TEST_CASE("run: an index that is passed as a number is checked as an index in a tensor is") {
  data d;
  auto run =
      tl::jit([](auto x, auto i) { return tl::gather<0>(x, i); }).bind<rows, std::int32_t>(tl::dim<'n'>(8));
  CHECK(run(d.x_of(8), 7)[2] == d.x[23]);
  CHECK(refusal([&] { run(d.x_of(8), 1000); }) ==
        "tapeless: run: argument 1: 1000, an index or how many rows are selected, is outside [0, 8)");
  CHECK(refusal([&] { run(d.x_of(7), 7); }) ==
        "tapeless: run: argument 1: 7, an index or how many rows are selected, is outside [0, 7)");
  CHECK(refusal([&] { run(d.x_of(8), -1); }) ==
        "tapeless: run: argument 1: -1, an index or how many rows are selected, is outside [0, 8)");
}

TEST_CASE("run: how many rows are selected is 0 to the most that the program names") {
  std::vector<float> numbers{1, 5, 2, 4};
  const tl::tensor<float, 4> values(numbers.data());
  std::int32_t count = 0;
  constexpr auto largest = [](auto x, auto k) { return tl::top_k<3, 'k'>(x, k); };
  auto run = tl::jit(largest).bind<tl::tensor<float, 4>, std::int32_t>();
  auto run_of_tensor = tl::jit(largest).bind<tl::tensor<float, 4>, tl::tensor<std::int32_t>>();
  auto run_of_computed = tl::jit([](auto x, auto k) {
                           return tl::top_k<3, 'k'>(x, k + 1);
                         }).bind<tl::tensor<float, 4>, std::int32_t>();
  for (count = 0; count <= 3; ++count) {
    CHECK(run(values, count).size() == count);
    CHECK(run_of_tensor(values, tl::tensor<std::int32_t>(&count)).size() == count);
  }
  for (const std::int32_t wrong : {-1, 4}) {
    count = wrong;
    const std::string says = "tapeless: run: argument 1: " + std::to_string(wrong) +
                             ", an index or how many rows are selected, is outside [0, 4)";
    CHECK(refusal([&] { run(values, wrong); }) == says);
    CHECK(refusal([&] { run_of_tensor(values, tl::tensor<std::int32_t>(&count)); }) == says);
  }
  CHECK(run_of_computed(values, 4).size() == 3); // a computed one is clamped
  CHECK(run_of_computed(values, -4).size() == 0);
}

TEST_CASE("run: a leaf without data is refused, unless it has no elements") {
  data d;
  auto run = bind_loss();
  const std::string message = refusal([&] { run(d.w_of(), rows{no_floats, 4}, d.y_of(4)); });
  CHECK(message == "tapeless: run: argument 1 has a leaf whose data is null (leaf 0 of it)");
  CHECK(refusal([&] { run(weights{}, d.x_of(4), d.y_of(4)); }) ==
        "tapeless: run: argument 0 has a leaf whose data is null (leaf 0 of it)");
  CHECK(refusal([&] { run(d.w_of(), rows{no_floats, 0}, labels{no_labels, 0}); }) == "");
}

TEST_CASE("run: arguments agree about a named extent; the message names both") {
  data d;
  auto run = bind_loss();
  CHECK(refusal([&] { run(d.w_of(), d.x_of(4), d.y_of(5)); }) ==
        "tapeless: run: argument 2 has n = 5, but argument 1 has n = 4");
  CHECK(refusal([&] { run(d.w_of(), d.x_of(5), d.y_of(4)); }) ==
        "tapeless: run: argument 2 has n = 4, but argument 1 has n = 5");
  CHECK(
      refusal([&] { run(d.w_of(), d.x_of(4), d.y_of(8)); }) ==
      "tapeless: run: argument 2 has n = 8, but argument 1 has n = 4"); // 8 is the capacity: no default value
}

TEST_CASE("run: a named extent is 0 to the capacity") {
  data d;
  auto run = tl::jit(tl::value_and_grad<0>(loss)).bind<weights, rows, labels>(tl::dim<'n'>(6));
  CHECK(refusal([&] { run(d.w_of(), d.x_of(7), d.y_of(7)); }) ==
        "tapeless: run: argument 1 has n = 7, but the capacity at bind is n = 6");
  CHECK(refusal([&] { run(d.w_of(), d.x_of(-1), d.y_of(-1)); }) ==
        "tapeless: run: argument 1 has n = -1: an extent is not negative");
  CHECK(refusal([&] { run(d.w_of(), d.x_of(6), d.y_of(6)); }) == "");
  CHECK(refusal([&] { run(d.w_of(), d.x_of(0), d.y_of(0)); }) == "");
}

TEST_CASE("run: a label outside the classes is refused with leaf, value, position and range") {
  data d;
  auto run = bind_loss();
  d.y[5] = 4;
  CHECK(refusal([&] { run(d.w_of(), d.x_of(8), d.y_of(8)); }) ==
        "tapeless: run: argument 2: index 4 at position 5 is outside [0, 4)");
  d.y[2] = -1;
  CHECK(refusal([&] { run(d.w_of(), d.x_of(8), d.y_of(8)); }) ==
        "tapeless: run: argument 2: index -1 at position 2 is outside [0, 4)");
  CHECK(refusal([&] { run(d.w_of(), d.x_of(2), d.y_of(2)); }) == ""); // only the first n are read
}

TEST_CASE("run: of an argument that is a tree the message says which leaf, counted within it") {
  data d;
  using tree = std::tuple<rows, std::array<labels, 2>>;
  auto run = tl::jit([](auto s, auto p) {
               const auto& [x, y] = p;
               return tl::gather<0>(x, y[0]) * s + tl::gather<0>(x, y[1]);
             }).bind<float, tree>(tl::dim<'n'>(8));
  std::vector<std::int32_t> first{0, 1, 2, 3}, second{0, 1, 4, 3};
  const tree wrong{d.x_of(4), {labels{first.data(), 4}, labels{second.data(), 4}}};
  CHECK(refusal([&] { run(2.0f, wrong); }) ==
        "tapeless: run: argument 1, leaf 2: index 4 at position 2 is outside [0, 4)");
  CHECK(refusal([&] { run(2.0f, tree{d.x_of(0), {labels{no_labels, 0}, labels{no_labels, 0}}}); }) == "");
  CHECK(refusal([&] { run(2.0f, tree{d.x_of(4), {labels{first.data(), 4}, labels{no_labels, 4}}}); }) ==
        "tapeless: run: argument 1 has a leaf whose data is null (leaf 2 of it)");
  second[2] = 0;
  const auto result = run(2.0f, wrong);
  CHECK(
      refusal([&] { run(2.0f, tree{result, std::get<1>(wrong)}); }) ==
      "tapeless: run: argument 1, leaf 0 lies in the program's own arena, as its results do: copy it first");
  CHECK(refusal([&] { run.into(rows{std::get<0>(wrong).data() + 1, 4})(2.0f, wrong); }) ==
        "tapeless: run.into(out)(x...): output 0 overlaps argument 1, leaf 0");
}

TEST_CASE("run: the bound of an index may be a named extent: its value counts, not the capacity") {
  data d;
  using chosen = tl::tensor<std::int32_t, 2>;
  std::vector<std::int32_t> index{0, 4};
  auto run =
      tl::jit([](auto x, auto i) { return tl::gather<0>(x, i) * 2.0f; }).bind<rows, chosen>(tl::dim<'n'>(8));
  CHECK(refusal([&] { run(d.x_of(5), chosen{index.data()}); }) == "");
  CHECK(refusal([&] { run(d.x_of(4), chosen{index.data()}); }) ==
        "tapeless: run: argument 1: index 4 at position 1 is outside [0, 4)");
}

TEST_CASE("run: the maximum of nothing is refused, the sum of nothing is 0") {
  data d;
  auto largest = tl::jit([](auto x) { return tl::max<0>(x); }).bind<rows>(tl::dim<'n'>(8));
  CHECK(refusal([&] { largest(d.x_of(0)); }) ==
        "tapeless: run: max and argmax need at least one element, but an extent is 0");
  CHECK(refusal([&] { largest(d.x_of(1)); }) == "");
  auto total = tl::jit([](auto x) { return tl::sum<0>(x); }).bind<rows>(tl::dim<'n'>(8));
  total(d.x_of(3));
  for (const float value : total(d.x_of(0))) CHECK(value == 0);
}

TEST_CASE("run.into: an output may be a leaf of an argument, which then holds the result") {
  // In the loop that reads it, after it was read, before it is read: then it is copied at the end.
  using square = tl::tensor<float, 3, 3>;
  const auto p = support::random_values<float>(9, 1), x = support::random_values<float>(9, 2);
  const auto f = [](auto w, auto y) {
    const auto z = tl::matmul(w, y);
    return std::tuple{w - tl::exp(w) * z, tl::transpose<1, 0>(w) * 2.0f, tl::matmul(z + w, w)};
  };
  auto run = tl::jit(f).bind<square, square>();
  std::vector<float> a = p, b = x;
  const auto [first, second, third] = run(square{a.data()}, square{b.data()});
  const std::vector<float> expected[3] = {
      {first.begin(), first.end()}, {second.begin(), second.end()}, {third.begin(), third.end()}};
  for (int which = 0; which < 3; ++which) {
    a = p;
    std::vector<float> c(9), d(9);
    float* to[3] = {c.data(), d.data(), d.data()};
    to[(which + 1) % 3] = c.data();
    to[(which + 2) % 3] = d.data();
    to[which] = a.data();
    run.into(std::tuple{square{to[0]}, square{to[1]}, square{to[2]}})(square{a.data()}, square{b.data()});
    for (int k = 0; k < 3; ++k)
      for (std::size_t i = 0; i < 9; ++i) CHECK(to[k][i] == expected[k][i]);
  }
  // Two results in two arguments, exchanged
  a = p, b = x;
  auto swapped =
      tl::jit([](auto w, auto y) { return std::tuple{y * 1.0f, w * 1.0f}; }).bind<square, square>();
  swapped.into(std::tuple{square{a.data()}, square{b.data()}})(square{a.data()}, square{b.data()});
  CHECK(a == x);
  CHECK(b == p);
}

TEST_CASE("run.into: a leaf whose rows were gathered may hold a result, though nobody has copied the rows") {
  using table = tl::tensor<float, 3, 128>;
  using rows_of = tl::tensor<std::int32_t, 3>;
  const auto f = [](auto x, auto i) { // the second result is written before the third is computed
    const auto g = tl::gather(x, i);
    const auto sums = tl::sum<1>(g * 0.5f);
    return std::tuple{-g, tl::matmul(tl::transpose(g), g), sums};
  };
  const auto x = support::random_values<float>(3 * 128, 5);
  std::vector<std::int32_t> i{2, 0, 1};
  auto run = tl::jit(f).bind<table, rows_of>();
  std::vector<float> a = x;
  const auto [negative, products, sums] = run(table{a.data()}, rows_of{i.data()});
  const std::vector<float> first(negative.begin(), negative.end()), third(sums.begin(), sums.end());
  std::vector<float> p(128 * 128), s(3);
  run.into(std::tuple{table{a.data()}, tl::tensor<float, 128, 128>{p.data()},
                      tl::tensor<float, 3>{s.data()}})(table{a.data()}, rows_of{i.data()});
  CHECK(a == first);
  CHECK(s == third);
  auto alone = tl::jit([](auto y, auto k) { return -tl::gather(y, k); }).bind<table, rows_of>();
  a = x;
  alone.into(table{a.data()})(table{a.data()}, rows_of{i.data()});
  CHECK(a == first);
}

TEST_CASE("run.into: an output that overlaps an argument or another output is refused, also in part") {
  std::vector<float> x = support::random_values<float>(4 * 3, 4), memory(3 * 12, -7);
  using outputs = std::tuple<rows, rows>;
  auto run = tl::jit(twice_and_next).bind<rows>(tl::dim<'n'>(4));
  const auto at = [&](int i) { return rows{memory.data() + i, 4}; };
  const rows apart{x.data(), 4};

  CHECK(refusal([&] { run.into(outputs{at(0), at(11)})(apart); }) ==
        "tapeless: run.into(out)(x...): outputs 0 and 1 overlap");
  CHECK(refusal([&] { run.into(outputs{at(0), at(0)})(apart); }) ==
        "tapeless: run.into(out)(x...): outputs 0 and 1 overlap");
  CHECK(refusal([&] { run.into(outputs{at(0), at(12)})(at(23)); }) ==
        "tapeless: run.into(out)(x...): output 1 overlaps argument 0");
  CHECK(refusal([&] { run.into(outputs{rows{x.data() + 1, 4}, at(12)})(apart); }) ==
        "tapeless: run.into(out)(x...): output 0 overlaps argument 0");
  for (const float value : memory) CHECK(value == -7);

  CHECK(refusal([&] { run.into(outputs{at(0), at(12)})(apart); }) == ""); // they touch, and do not overlap
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(memory[i] == x[i] * 2);
    CHECK(memory[12 + i] == x[i] + 1);
  }
}

TEST_CASE("run.into: outputs agree with the arguments about a named extent, and have data") {
  std::vector<float> memory(2 * 12, -7);
  data d;
  using outputs = std::tuple<rows, rows>;
  auto run = tl::jit(twice_and_next).bind<rows>(tl::dim<'n'>(4));
  CHECK(refusal([&] { run.into(outputs{rows{memory.data(), 3}, rows{memory.data() + 12, 4}})(d.x_of(4)); }) ==
        "tapeless: run: the output has n = 3, but argument 0 has n = 4");
  CHECK(refusal([&] { run.into(outputs{rows{memory.data(), 4}, rows{no_floats, 4}})(d.x_of(4)); }) ==
        "tapeless: run: the output has a leaf whose data is null (leaf 1 of it)");
  for (const float value : memory) CHECK(value == -7);
}

TEST_CASE(
    "run: a result of the program is no argument of its next run: it lies in the arena that is written") {
  data d;
  auto run = tl::jit(twice_and_next).bind<rows>(tl::dim<'n'>(8));
  const auto [twofold, next] = run(d.x_of(8));
  CHECK(refusal([&] { run(twofold); }) ==
        "tapeless: run: argument 0 lies in the program's own arena, as its results do: copy it first");
  CHECK(next[0] == d.x[0] + 1);

  auto other = tl::jit(twice_and_next).bind<rows>(tl::dim<'n'>(8));
  CHECK(std::get<0>(other(twofold))[0] == d.x[0] * 4);
}

TEST_CASE("run.into: no output lies in the program's own arena, not even in part; nothing is computed then") {
  using square = tl::tensor<float, 16, 16>;
  constexpr auto program = [](auto x) {
    auto a = tl::tanh(x);
    return std::tuple{a + 1.0f, tl::matmul(a, tl::matmul(tl::transpose(a), a)) * 2.0f};
  };
  std::vector<float> x(256), first(256, -7), second(256, -7);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f * static_cast<float>(i % 37);
  const auto message = [](int leaf) {
    return "tapeless: run.into(out)(x...): leaf " + std::to_string(leaf) +
           " of out lies in the program's own arena, which the run writes: give it memory of yours";
  };
  const auto each_place = [&](auto& run, const float* result, auto&&... arguments) {
    // all of the arena, and outputs that reach into it from both sides, whatever the place of its first result
    const auto size = static_cast<std::ptrdiff_t>(run.arena_bytes() / sizeof(float));
    std::ptrdiff_t refused = 0;
    for (std::ptrdiff_t shift = -size; shift <= size; shift += 16) {
      float* const at = const_cast<float*>(result) + shift;
      const std::string text = refusal([&] { // the other output is refused at last: nothing runs
        run.into(std::tuple{square(at), square(static_cast<float*>(nullptr))})(arguments...);
      });
      if (text == message(0)) ++refused;
      else CHECK(text == "tapeless: run: the output has a leaf whose data is null (leaf 1 of it)");
    }
    CHECK(refused * 16 >= size); // all in it, and some at its edges
    CHECK(refused * 16 <= size + 2 * 256);
    CHECK(refusal([&] {
            run.into(std::tuple{square(first.data()), square(const_cast<float*>(result))})(arguments...);
          }) == message(1));
  };
  auto run = tl::jit(program).bind<square>();
  const std::tuple r = run(square(x.data()));
  const std::vector<float> right(std::get<1>(r).begin(), std::get<1>(r).end());
  each_place(run, std::get<0>(r).data(), square(x.data()));
  CHECK(std::vector<float>(std::get<1>(r).begin(), std::get<1>(r).end()) == right);
  for (const float f : first) CHECK(f == -7);
  run.into(std::tuple{square(first.data()), square(second.data())})(square(x.data()));
  CHECK(second == right);

  auto infer = run.load(square(x.data()));
  each_place(infer, std::get<0>(infer()).data());
}

TEST_CASE("run: an argument reaches into the program's arena at neither end") {
  data d;
  auto run = twice_second.bind<rows, rows>(tl::dim<'n'>(8));
  float* const result = run(d.x_of(8), d.x_of(8)).data();
  const auto is_own = [&](const rows& x) { // the second one is refused at last: nothing runs
    const std::string text = refusal([&] { run(x, rows{no_floats, static_cast<int>(x.extent(0))}); });
    const bool own = text ==
                     "tapeless: run: argument 0 lies in the program's own arena, as its "
                     "results do: copy it first";
    CHECK((own || text == "tapeless: run: argument 1 has a leaf whose data is null (leaf 0 of it)"));
    return own;
  };
  const auto size = static_cast<std::ptrdiff_t>(run.arena_bytes() / sizeof(float));
  std::ptrdiff_t first = 0; // of the arena, in elements from the result on
  while (first > -size && is_own(rows{result + first - 3, 1})) --first;
  CHECK(first > -size);
  CHECK(is_own(rows{result + first - 3, 2})); // its last elements are in it
  CHECK(is_own(rows{result + first + size - 1, 8}));
  CHECK(!is_own(rows{result + first + size, 8}));
  CHECK(!is_own(rows{result + first - 24, 8}));
}

TEST_CASE("run: const arguments are accepted, also inside a tree") {
  data d;
  const std::vector<float>& x = d.x;
  auto run = tl::jit(twice_and_next).bind<rows>(tl::dim<'n'>(8));
  CHECK(std::get<0>(run(const_rows{x.data(), 8}))[5] == x[5] * 2);

  struct tree {
    weights a;
    rows b;
  };
  struct const_tree {
    tl::tensor<const float, 3, 4> a;
    const_rows b;
  };
  auto product =
      tl::jit([](const auto& t) { return tl::sum(tl::matmul(t.b, t.a)); }).bind<tree>(tl::dim<'n'>(8));
  const float expected = product(tree{d.w_of(), d.x_of(8)})[0];
  CHECK(product(const_tree{weights{d.w.data()}, const_rows{x.data(), 8}})[0] == expected);
}

TEST_CASE("run: cotangents and tangents of const elements are accepted") {
  data d;
  const std::vector<float>& x = d.x;
  constexpr auto squares = [](auto a) { return tl::square(a); };
  auto backward = tl::jit(tl::vjp<0>(squares)).bind<rows, const_rows>(tl::dim<'n'>(8));
  auto forward = tl::jit(tl::jvp<0>(squares)).bind<rows, const_rows>(tl::dim<'n'>(8));
  const const_rows v{x.data(), 8};
  for (int i = 0; i < 8; ++i) {
    CHECK(backward(d.x_of(8), v)[i] == 2 * x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)]);
    CHECK(forward(d.x_of(8), v)[i] == backward(d.x_of(8), v)[i]);
  }
}

TEST_CASE(
    "run: after an exception the same call gives the same result, bit for bit, and outputs were not touched") {
  data d;
  auto run = bind_loss();
  using outputs = std::tuple<tl::scalar<float>, weights>;
  float value = -7;
  std::vector<float> gradient(12, -7);
  const outputs out{tl::scalar<float>{&value}, weights{gradient.data()}};

  const auto [v, g] = run(d.w_of(), d.x_of(6), d.y_of(6));
  const float expected = v[0];
  const std::vector<float> expected_gradient(g.begin(), g.end());

  d.y[5] = 9;
  CHECK(refusal([&] { run.into(out)(d.w_of(), d.x_of(6), d.y_of(6)); }) != "");
  CHECK(refusal([&] { run.into(out)(d.w_of(), d.x_of(6), d.y_of(5)); }) != "");
  CHECK(refusal([&] { run(d.w_of(), d.x_of(3), labels{no_labels, 3}); }) != "");
  CHECK(value == -7);
  for (const float e : gradient) CHECK(e == -7);
  CHECK(v[0] == expected); // the last result is still there
  CHECK(std::vector<float>(g.begin(), g.end()) == expected_gradient);

  d.y = support::random_integers(8, 3, 0, 4);
  run.into(out)(d.w_of(), d.x_of(6), d.y_of(6));
  CHECK(value == expected);
  CHECK(gradient == expected_gradient);
}
TEST_CASE("along an axis: more elements than an int32 counts are an exception") {
  using X = tl::tensor<const std::uint8_t, tl::dyn<'n'>>;
  using I = tl::tensor<std::int32_t, 2>;
  constexpr std::int64_t many = (std::int64_t{1} << 31) + 10;
  auto run =
      tl::jit([](auto a, auto at) { return tl::take_along_axis<0>(a, at); }).bind<X, I>(tl::dim<'n'>{many});
  const std::uint8_t bytes[3] = {7, 8, 9}, *const first =
                                               bytes; // the exception comes before the rest is read
  tl::owned<I> at;
  CHECK_THROWS_WITH_AS(
      run(X(first, many), *at),
      "tapeless: run: an extent, or a product of extents, is 2147483658, but int32 counts its elements: at most 2147483647",
      tl::argument_error);
  CHECK(run(X(first, 3), *at)[0] == 7);
}
