// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Rows that a mask weighs.
#include "weighted_rows.hpp"

using namespace weighted_rows;

TEST_CASE("masks: the gradient of the weighted rows, whatever the others are") {
  check_mask<mean_of_products, double, n, vector>(1e-12);
  check_mask<mean_of_products, double, n, tl::tensor<bool, n>>(1e-12);
  check_mask<mean_of_products, double, n, integers>(1e-12);
  check_mask<mean_of_products, float, n, tl::tensor<float, n>>(1e-5);
  check_mask<mean_where, double, n, tl::tensor<bool, n>>(1e-12);
  check_mask<mean_without, double, n, tl::tensor<bool, n>>(1e-12);
  check_mask<weighted_mean, double, n, vector>(1e-12);
  check_mask<column, double, n, tl::tensor<double, n, 1>>(1e-12);
  check_mask<of_features, double, n, tl::tensor<bool, n>>(1e-12);
}
TEST_CASE("masks of several axes: of as many rows as elements") {
  check_mask<reshaped, double, n, tl::tensor<double, 4, 3, 2>>(1e-12);
  check_mask<grid, double, n, tl::tensor<double, 4, 3, 2>>(1e-12);
  check_mask<grid, double, n, tl::tensor<bool, 4, 3, 2>>(1e-12);
  check_mask<grid, float, n, tl::tensor<std::int32_t, 4, 3, 2>>(1e-5);
}
TEST_CASE("masks of a named extent") {
  check_mask<mean_where, double, named, tl::tensor<bool, named>>(1e-12);
  check_mask<weighted_mean, double, named, tl::tensor<double, named>>(1e-12);
}
TEST_CASE("masks: a product of two of them") {
  batch<double> b;
  tl::owned<vector> m;
  auto run = program<two_masks, vector, 0>();
  flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  for (const int i : {4, 5, 6, 23}) (*b.t)[i * outputs] = -3, c[static_cast<std::size_t>(i)] = 0;
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, of_ratio::weights(c), value, gradient);
}
TEST_CASE("masks: ones everywhere are no mask") {
  batch<double> b;
  tl::owned<vector> m;
  std::fill(m.view().begin(), m.view().end(), 1.0);
  auto run = program<mean_of_products, vector, 0>();
  auto without = tl::jit(tl::value_and_grad<0>(mean_of_all{}))
                     .bind<parameters<double>, data<double, n>, targets<double, n>>();
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  const auto [expected, of_all] = without(*b.p, *b.x, *b.t);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-14));
  CHECK(largest_difference(elements(gradient), elements(of_all)) < 1e-14);
}
TEST_CASE("masks: the losses of all rows besides are those of the program without the mask") {
  constexpr tl::cost of_losses =
      tl::jit(losses_of_all{}).cost<parameters<double>, data<double, n>, targets<double, n>>();
  static_assert(of_losses.primal.flops <= cost_of<with_losses, double, n, vector, 0>.primal.flops &&
                counts_rows(cost_of<with_losses, double, n, vector, 0>.adjoint.flops));
  batch<double> b;
  tl::owned<vector> m;
  auto run = program<with_losses, vector, 0>();
  auto without = tl::jit(losses_of_all{}).bind<parameters<double>, data<double, n>, targets<double, n>>();
  const flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  const auto [out, gradient] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, of_mean::weights(c), std::get<0>(out), gradient);
  CHECK(elements(std::get<1>(out)) == elements(without(*b.p, *b.x, *b.t)));
}
TEST_CASE("masks: differentiated by, or computed as a focal weight, they keep all rows") {
  static_assert(!counts_rows(cost_of<mean_of_products, double, n, vector, 0, 3>.flops()));
  static_assert(!counts_rows(cost_of<focal, double, n, vector, 0>.flops()));
  batch<double> b;
  tl::owned<vector> m;
  flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  auto run = program<mean_of_products, vector, 0, 3>();
  const auto [value, gradient, by_mask] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, of_mean::weights(c), value, gradient);
  const flat loss = loops(b, c).loss;
  CHECK(largest_difference(elements(by_mask), divided(loss, n)) < 1e-13);
  auto run_focal = program<focal, vector, 0>();
  const auto [value_focal, gradient_focal] = run_focal(*b.p, *b.x, *b.t, *m);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = std::pow(c[i] - std::exp(-loss[i]), 2) / n;
  check_rows(b, c, value_focal, gradient_focal);
}
TEST_CASE("masks: the greatest losses of the rows of a mask") {
  batch<double> b;
  tl::owned<vector> m;
  const flat c = mask_of(2, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  flat loss = loops(b, c).loss;
  for (std::size_t i = 0; i < c.size(); ++i) loss[i] *= c[i];
  auto run = program<masked_top, vector, 0>();
  const auto [value, gradient] = run(*b.p, *b.x, *b.t, *m);
  check_rows(b, greatest(loss, all_rows(), 6), value, gradient);
}
TEST_CASE("masks: H d is the difference of two gradients") {
  batch<double> b;
  tl::owned<vector> m;
  tl::owned<parameters<double>> d;
  const flat c = mask_of(3, n);
  for (int i = 0; i < n; ++i) (*m)[i] = c[static_cast<std::size_t>(i)];
  support::draw(*d, 40);
  const auto gradient_at = [&](double step) { // p + step d
    batch<double> moved;
    flat by = elements(*d);
    std::size_t at = 0;
    tl::for_each_leaf(*moved.p, [&](const auto& leaf) {
      for (double& e : leaf) e += step * by[at++];
    });
    return loops(moved, of_ratio::weights(c)).gradient;
  };
  const flat above = gradient_at(1e-5), below = gradient_at(-1e-5);
  flat difference(above.size());
  for (std::size_t i = 0; i < above.size(); ++i) difference[i] = (above[i] - below[i]) / 2e-5;
  for (int i = 0; i < n; ++i)
    if (c[static_cast<std::size_t>(i)] == 0) b.poison(i);
  auto run = tl::jit(tl::hvp<0>(weighted_mean{}))
                 .bind<parameters<double>, data<double, n>, targets<double, n>, vector, parameters<double>>();
  CHECK(largest_difference(elements(run(*b.p, *b.x, *b.t, *m, *d)), difference) < 1e-7);
}
TEST_CASE_TEMPLATE("masks: labels that are none", F, valid_labels, ignored_labels, ignored_pixels) {
  using P = parameters<double>;
  static_assert(counts_rows(
      tl::jit(tl::value_and_grad<0>(F{})).template cost<P, data<double, n>, integers>().adjoint.flops));
  auto run = tl::jit(tl::value_and_grad<0>(F{})).template bind<P, data<double, n>, integers>();
  auto rest = tl::jit(tl::value_and_grad<0>(labels_of_rows{}))
                  .bind<P, data<double, named>, tl::tensor<std::int32_t, named>>(tl::dim<'n'>(n));
  batch<double> b;
  tl::owned<integers> label;
  int valid = 0;
  for (int i = 0; i < n; ++i) valid += ((*label)[i] = i % 4 == 1 ? 255 : i % 3) != 255;
  batch<double, named> kept(valid);
  tl::owned<tl::tensor<std::int32_t, named>> kept_label(tl::dim<'n'>{valid});
  int at = 0;
  for (int i = 0; i < n; ++i) {
    if ((*label)[i] == 255) {
      b.poison(i);
      continue;
    }
    std::copy_n((*b.x).data() + i * inputs, inputs, (*kept.x).data() + at * inputs);
    (*kept_label)[at++] = (*label)[i];
  }
  const auto [value, gradient] = run(*b.p, *b.x, *label);
  const auto [expected, of_kept] = rest(*kept.p, *kept.x, *kept_label);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-12));
  CHECK(largest_difference(elements(gradient), elements(of_kept)) < 1e-12);
}

TEST_CASE("masks and selections: their positions are int32") {
  using support::refusal;
  constexpr auto selected = [](auto x) { return tl::sum(tl::gather(x, tl::top_k<3, 'k'>(x))); };
  using V = tl::tensor<double, named>;
  const std::string message =
      "tapeless: bind: a selection among 2147483648 values: at most 2147483647, positions are std::int32_t";
  CHECK(refusal([&] {
          static_cast<void>(tl::jit(selected).bind<V>(tl::dim<'n'>(extent_of_positions + 1)));
        }) == message);
  constexpr auto masked = tl::jit(tl::value_and_grad<0>(weighted_mean{}));
  CHECK(refusal([&] {
          static_cast<void>(masked.bind<parameters<double>, data<double, named>, targets<double, named>, V>(
              tl::dim<'n'>(extent_of_positions + 1)));
        }) == message);
}
