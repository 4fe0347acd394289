// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows that the program is given: those where a condition holds that is known before the network, and those whose losses
// an argument weighs. Left out is what else there is, also in networks that are too small for it to pay.
#include "known_rows.hpp"

namespace tl = tapeless;
using namespace known;

namespace {

constexpr auto losses_of_tokens(const auto& p, auto x, auto t) { // three sequences of four rows
  const auto h = tl::tanh(tl::matmul(tl::reshape<3, 4, inputs>(x), std::get<0>(p)));
  const auto e = tl::square(tl::matmul(h, std::get<1>(p)) - tl::reshape<3, 4, outputs>(t));
  return tl::reshape<n>(tl::mean<2>(e));
}

// f(p, x, t, mask): the value with the gradient; Alone: the value and the gradient alone, too
template <bool Alone = false>
void check_mask(const auto& f, const batch& b, const auto& mask, const std::vector<double>& reference) {
  using F = std::remove_cvref_t<decltype(f)>;
  using M = std::remove_cvref_t<decltype(mask)>;
  const auto bind = [](auto program) { return program.template bind<parameters, data, targets, M>(); };
  auto both = bind(tl::jit(tl::value_and_grad<0>(F{})));
  CHECK(agree(value_and_gradient(both, *b.p, *b.x, *b.t, mask), reference));
  if constexpr (Alone) {
    auto value = bind(tl::jit(F{}));
    auto gradient = bind(tl::jit(tl::grad<0>(F{})));
    CHECK(std::abs(value(*b.p, *b.x, *b.t, mask)[0] - reference.back()) <= 1e-13);
    std::vector<double> alone = support::elements(gradient(*b.p, *b.x, *b.t, mask));
    alone.push_back(reference.back());
    CHECK(agree(alone, reference));
  }
}

// A condition of a small loss beside weights of a large one: the weights leave out more.
using many = tl::tensor<double, 1024, 64>;
using layers = std::tuple<tl::tensor<double, 64, 64>, tl::tensor<double, 64, 64>, tl::tensor<double, 2, 2>>;
constexpr auto weights_and_condition = [](const auto& p, auto x, auto w, auto y, auto keep) {
  const auto h = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
  const auto aside = tl::sum<1>(tl::square(tl::matmul(y, std::get<2>(p))));
  return tl::sum(w * tl::sum<1>(tl::square(h))) + tl::sum(tl::where(keep, aside, 0.0));
};
static_assert(flops_of_all_rows(tl::jit(tl::value_and_grad<0>(weights_and_condition))
                                    .cost<layers, many, tl::tensor<double, 1024>, tl::tensor<double, 16, 2>,
                                          tl::tensor<bool, 16>>()
                                    .adjoint.flops) < 1024);

// Weights of losses, beside factors that are none: of 16 rows, 12 are counted as kept, or all are computed.
constexpr auto weights_of_losses = [](auto w, auto x, auto t, auto m) {
  return tl::mean(m * tl::square(tl::matmul(x, w) - t));
};
constexpr auto signs_of_outputs = [](auto w, auto x, auto t, auto sign) {
  return tl::mean(tl::log(1.0 + tl::exp(-(sign * (tl::matmul(x, w) + tl::mean(w)))))) + tl::mean(sign * t);
};
constexpr auto form = [](auto w, auto x, auto t, auto v) { return tl::sum(v * (tl::matmul(x, w) - t)); };
constexpr auto steps_of_two = [](auto w, auto x, auto t, auto v) {
  const auto e = tl::matmul(x, w) - t;
  return tl::sum(v * e * e);
};
template <class F> constexpr bool has_all_rows(F) {
  using vector = tl::tensor<double, 16>;
  const auto c = tl::jit(tl::value_and_grad<0>(F{}))
                     .template cost<tl::tensor<double, 4>, tl::tensor<double, 16, 4>, vector, vector>();
  return flops_of_all_rows(c.adjoint.flops) >= 2 * 16 * 4;
}
static_assert(!has_all_rows(weights_of_losses) && has_all_rows(signs_of_outputs));
static_assert(has_all_rows(form) &&
              !has_all_rows(steps_of_two)); // linear in what comes of the product, or not

} // namespace

TEST_CASE(
    "known masks: where a condition does not hold, a row is zero whatever it has, in a small network too") {
  constexpr auto product = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::cast<double>(keep) * losses(p, x, t));
  };
  constexpr auto choice = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::where(keep, losses(p, x, t), 0.0));
  };
  constexpr auto of_numbers = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::where(!keep, 0.0, 1.0) * losses(p, x, t));
  };
  constexpr auto tokens = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::where(keep, losses_of_tokens(p, x, t), 0.0));
  };
  constexpr auto stopped = [](const auto& p, auto x, auto t, auto keep) {
    return tl::sum(tl::stop_gradient(tl::cast<double>(keep)) * losses(p, x, t));
  };
  constexpr auto with_lookup = [](const auto& p, auto x, auto t,
                                  auto keep) { // a list that has nothing to do with it
    const auto first = tl::gather(tl::slice<0, 0, 4>(std::get<1>(p)), tl::slice<0, 0, 3>(tl::iota<0>(keep)));
    return tl::sum(tl::where(keep, losses(p, x, t), 0.0)) + 0.0 * tl::sum(first);
  };
  constexpr auto of_weights = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::where(w != 0.0, w * losses(p, x, t), 0.0));
  };
  constexpr auto valid = [](const auto& p, auto x, auto t, auto label) {
    return tl::sum(tl::where(label != 255, losses(p, x, t), 0.0));
  };
  batch b;
  tl::owned<condition> keep;
  tl::owned<numbers> weight;
  tl::owned<labels> label;
  for (const int left_out : {0, 1, 5, n}) {
    std::vector<double> ones(n, 1.0), twos(n, 2.0);
    for (int i = 0; i < n; ++i) {
      (*keep)[i] = i >= left_out;
      (*weight)[i] = i >= left_out ? 2 : 0;
      (*label)[i] = i >= left_out ? i : 255;
      if (i < left_out) ones[static_cast<std::size_t>(i)] = twos[static_cast<std::size_t>(i)] = 0;
    }
    const auto once = expected(batch{}, ones), twice = expected(batch{}, twos);
    for (int i = 0; i < left_out; ++i) b.poison(i);
    const auto check = [&](const auto& f, const auto& mask, const std::vector<double>& reference) {
      check_mask(f, b, *mask, reference);
    };
    check_mask<true>(product, b, *keep, once);
    check(of_numbers, keep, once);
    check_mask<true>(choice, b, *keep, once);
    check(tokens, keep, once);
    check(with_lookup, keep, once);
    check(stopped, keep, once);
    check_mask<true>(of_weights, b, *weight, twice);
    check(valid, label, once);
  }
}

TEST_CASE("known masks: where a weight is zero, a row is zero whatever it has, in a small network too") {
  constexpr auto summed = [](const auto& p, auto x, auto t, auto w) { return tl::sum(w * losses(p, x, t)); };
  constexpr auto averaged = [](const auto& p, auto x, auto t, auto w) {
    return -static_cast<double>(n) * tl::mean(-losses(p, x, t) * w);
  };
  constexpr auto of_elements = [](const auto& p, auto x, auto t, auto w) {
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    return tl::sum(tl::sum<1>(tl::square(z - t) * tl::reshape<n, 1>(w)) / 2.0);
  };
  constexpr auto of_tokens = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(w * losses_of_tokens(p, x, t));
  };
  constexpr auto of_two = [](const auto& p, auto x, auto t, auto w) {
    const auto l = losses(p, x, t);
    return tl::sum(0.25 * w * l + 0.75 * l * w);
  };
  constexpr auto normalised = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(w / tl::sum(w) * losses(p, x, t));
  };
  constexpr auto negative = [](const auto& p, auto x, auto t, auto w) {
    return -tl::sum(-w * losses(p, x, t));
  };
  constexpr auto of_squares = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::square(w) / 64.0 * losses(p, x, t));
  };
  constexpr auto of_residuals = [](const auto& p, auto x, auto t, auto w) {
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    return tl::sum(tl::mean<1>(tl::square(tl::reshape<n, 1>(w) / 8.0 * (z - t))));
  };
  constexpr auto of_masked_outputs = [](const auto& p, auto x, auto t, auto w) {
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    const auto m = tl::reshape<n, 1>(w) / 8.0;
    return tl::sum(tl::mean<1>(tl::square(m * z - m * t)));
  };
  constexpr auto of_half_targets = [](const auto& p, auto x, auto t,
                                      auto w) { // a mask of no rows of the network
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    return tl::sum(w * tl::mean<1>(tl::square(z - (t / 2.0 + t * 0.5))));
  };
  constexpr auto of_branches = [](const auto& p, auto x, auto t, auto w) {
    const auto l = losses(p, x, t);
    return tl::sum(tl::where(l > 0.3, w * l, 1.0 * w * l));
  };
  constexpr auto with_condition = [](const auto& p, auto x, auto t, auto w) {
    const auto positive = tl::cast<double>(tl::iota<0>(w) >= 0); // a condition of every row
    return tl::sum(w * positive * losses(p, x, t));
  };
  constexpr auto guarded = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::where(w != 0.0, 2.0 * w * losses(p, x, t), 0.0)) / 2.0;
  };
  constexpr auto integral = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(tl::cast<double>(w) * losses(p, x, t));
  };
  constexpr auto beside_a_penalty = [](const auto& p, auto x, auto t, auto w) {
    return tl::sum(w * losses(p, x, t)) + 0.0 * tl::sum(tl::square(std::get<0>(p)));
  };
  batch b;
  tl::owned<numbers> weight;
  tl::owned<labels> whole;
  for (const int left_out : {0, 1, 5, n}) {
    std::vector<double> w(n), of_sum(n), square(n);
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      (*whole)[i] = i < left_out ? 0 : i - 3; // one more is 0, others are negative
      (*weight)[i] = w[static_cast<std::size_t>(i)] = (*whole)[i];
      sum += (*weight)[i];
    }
    for (int i = 0; i < n; ++i) of_sum[static_cast<std::size_t>(i)] = w[static_cast<std::size_t>(i)] / sum;
    for (int i = 0; i < n; ++i) square[static_cast<std::size_t>(i)] = (*weight)[i] * (*weight)[i] / 64;
    const auto all = expected(batch{}, w), squares = expected(batch{}, square);
    auto parts = expected(batch{}, of_sum);
    for (int i = 0; i < left_out; ++i) b.poison(i);
    const auto check = [&](const auto& f, const auto& mask, const std::vector<double>& reference) {
      check_mask(f, b, *mask, reference);
    };
    check_mask<true>(summed, b, *weight, all);
    check(averaged, weight, all);
    check(of_elements, weight, all);
    check_mask<true>(of_tokens, b, *weight, all);
    check(of_two, weight, all);
    check(beside_a_penalty, weight, all);
    check(negative, weight, all);
    check(of_squares, weight, squares);
    check(of_residuals, weight, squares);
    check(of_masked_outputs, weight, squares);
    check(of_half_targets, weight, all);
    check(of_branches, weight, all);
    check(with_condition, weight, all);
    check(guarded, weight, all);
    check(integral, whole, all);
    if (left_out == n) std::fill(parts.begin(), parts.end(), 0.0); // 0 / 0 in the dense form
    check_mask<true>(normalised, b, *weight, parts);
  }
}

TEST_CASE("known masks: several masks of one loss leave out what any of them does") {
  batch b;
  tl::owned<condition> keep;
  tl::owned<numbers> weight, other;
  std::vector<double> of_weights(n), of_all(n);
  for (int i = 0; i < n; ++i) {
    (*keep)[i] = i % 4 != 1;
    (*weight)[i] = i % 3;
    (*other)[i] = i % 5 == 2 ? 0 : 0.5;
    of_weights[static_cast<std::size_t>(i)] = (*weight)[i] * (*other)[i];
    of_all[static_cast<std::size_t>(i)] = (*keep)[i] ? (*weight)[i] * (*other)[i] : 0;
  }
  const auto two = expected(batch{}, of_weights), three = expected(batch{}, of_all);
  const auto check = [&]<bool Alone>(std::bool_constant<Alone>, const auto& f,
                                     const std::vector<double>& reference, const std::vector<double>& kept) {
    using F = std::remove_cvref_t<decltype(f)>;
    batch poisoned;
    for (int i = 0; i < n; ++i)
      if (kept[static_cast<std::size_t>(i)] == 0) poisoned.poison(i);
    const auto of = [&](auto&& run) {
      return run(*poisoned.p, *poisoned.x, *poisoned.t, *keep, *weight, *other);
    };
    const auto bind = [](auto program) {
      return program.template bind<parameters, data, targets, condition, numbers, numbers>();
    };
    auto both = bind(tl::jit(tl::value_and_grad<0>(F{})));
    CHECK(agree(value_and_gradient(both, *poisoned.p, *poisoned.x, *poisoned.t, *keep, *weight, *other),
                reference));
    if constexpr (Alone) {
      CHECK(std::abs(of(bind(tl::jit(F{})))[0] - reference.back()) <= 1e-13);
      auto gradient = bind(tl::jit(tl::grad<0>(F{})));
      std::vector<double> alone = support::elements(of(gradient));
      alone.push_back(reference.back());
      CHECK(agree(alone, reference));
    }
  };
  const auto check_two = [&](const auto& f) { check(std::false_type{}, f, two, of_weights); };
  const auto check_three = [&](const auto& f) { check(std::false_type{}, f, three, of_all); };
  const auto check_two_alone = [&](const auto& f) { check(std::true_type{}, f, two, of_weights); };
  const auto check_three_alone = [&](const auto& f) { check(std::true_type{}, f, three, of_all); };
  check_two_alone(
      [](const auto& p, auto x, auto t, auto, auto w, auto v) { return tl::sum(w * v * losses(p, x, t)); });
  check_two(
      [](const auto& p, auto x, auto t, auto, auto w, auto v) { return tl::sum(losses(p, x, t) * v * w); });
  check_two(
      [](const auto& p, auto x, auto t, auto, auto w, auto v) { return tl::sum(w * (v * losses(p, x, t))); });
  check_two([](const auto& p, auto x, auto t, auto, auto w, auto v) {
    return tl::sum(tl::where(w != 0.0, losses(p, x, t) * v * w, 0.0));
  });
  check_two([](const auto& p, auto x, auto t, auto, auto w, auto v) {
    return tl::sum(v * losses_of_tokens(p, x, t) * w);
  });
  check_three_alone([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    return tl::sum(tl::where(k, w * (losses(p, x, t) * v), 0.0));
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    return tl::sum(v * tl::where(k, losses(p, x, t), 0.0) * w);
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    return tl::sum(v * (tl::where(k, w, 0.0) * losses(p, x, t)));
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) {
    const auto e = tl::sum(w * v * tl::cast<double>(k) * losses(p, x, t));
    return e + 0.0 * tl::sum(tl::square(std::get<1>(p)));
  });
  check_three([](const auto& p, auto x, auto t, auto k, auto w, auto v) { // (n, outputs) until the last sum
    const auto z = tl::matmul(tl::tanh(tl::matmul(x, std::get<0>(p))), std::get<1>(p));
    const auto e = tl::square(z - t) * tl::reshape<n, 1>(w);
    return tl::sum(tl::where(k, tl::mean<1>(e), 0.0) * v);
  });
}

TEST_CASE("known masks: masks along different axes of one extent are not combined") {
  constexpr int m = 6; // rows and outputs
  using square_data = tl::tensor<double, m, 3>;
  using square_weights = tl::tensor<double, 3, m>;
  using square_targets = tl::tensor<double, m, m>;
  using vector = tl::tensor<double, m>;
  tl::owned<square_weights> p;
  tl::owned<square_data> x;
  tl::owned<square_targets> t;
  tl::owned<vector> a, b;
  std::uint64_t seed = support::draw(*p, 5);
  seed = support::draw(*x, seed);
  support::draw(*t, seed);
  for (int i = 0; i < m; ++i) {
    (*a)[i] = i % 3;
    (*b)[i] = i % 2 == 0 ? 0 : 0.5;
  }
  const auto check = [&](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    auto run = tl::jit(tl::value_and_grad<0>(F{}))
                   .template bind<square_weights, square_data, square_targets, vector, vector>();
    auto all = tl::jit(tl::value_and_grad<0, 3, 4>(F{}))
                   .template bind<square_weights, square_data, square_targets, vector, vector>();
    auto alone = tl::jit(F{}).template bind<square_weights, square_data, square_targets, vector, vector>();
    const auto [value, gradient] = run(*p, *x, *t, *a, *b);
    const auto [expected, of_p, of_a, of_b] = all(*p, *x, *t, *a, *b);
    CHECK(std::abs(value[0] - expected[0]) <= 1e-12);
    CHECK(std::abs(alone(*p, *x, *t, *a, *b)[0] - expected[0]) <= 1e-12);
    CHECK(support::largest_difference(support::elements(gradient), support::elements(of_p)) <= 1e-12);
  };
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    const auto l = tl::square(tl::tanh(tl::matmul(in, w)) - out);
    return tl::sum(tl::reshape<m, 1>(rows) * (tl::reshape<1, m>(columns) * l));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    const auto l = tl::square(tl::tanh(tl::matmul(in, w)) - out);
    return tl::sum(columns * (tl::reshape<m, 1>(rows) * l));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    return tl::sum(tl::square(tl::reshape<m, 1>(rows) * (tl::matmul(in, w) - out) * columns));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    const auto e = tl::reshape<m, 1>(rows) * tl::square(tl::matmul(in, w) - out);
    return tl::sum(tl::transpose<1, 0>(e) * tl::reshape<m, 1>(columns));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) {
    return tl::sum(
        tl::where(columns != 0.0, tl::reshape<m, 1>(rows) * tl::square(tl::matmul(in, w) - out), 0.0));
  });
  check([](auto w, auto in, auto out, auto rows, auto columns) { // of one axis
    const auto l = tl::square(tl::matmul(in, w) - out);
    return tl::sum(tl::reshape<m, 1>(columns) * (tl::reshape<m, 1>(rows) * l));
  });
}
