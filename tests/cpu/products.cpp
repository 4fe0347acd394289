// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "products.hpp"

using namespace products;

TEST_CASE_TEMPLATE("products: an element beyond its bound, one not written and one too many are noticed", T,
                   float, double) {
  const std::vector<T> a = values<T>(30, 1), b = values<T>(30, 2);
  exact_sums exact(4); // the last one has no terms
  for (index_t i = 0; i < 30; ++i) exact.add(i % 3, a[i], b[i]);
  const auto sums = [&](const auto&, T* y, T*, T*) {
    for (int i = 0; i < 4; ++i) y[i] = 0;
    for (int i = 0; i < 30; ++i) y[i % 3] += a[i] * b[i];
  };
  const std::vector<T> right = result_of<T>(4, 0, 0, sums);
  CHECK(exact.agree(right));
  CHECK_FALSE(exact.agree(result_of<T>(4, 0, 0, [](const auto&, T*, T*, T*) {})));
  CHECK_FALSE(exact.agree(result_of<T>(5, 0, 0, [&](const auto& team, T* y, T* each, T* all) {
    sums(team, y, each, all);
    y[4] = 0;
  })));
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<T> wrong = right;
    wrong[i] += static_cast<T>(25 * std::numeric_limits<T>::epsilon() * exact.size[i]);
    if (i == 3) wrong[i] = std::numeric_limits<T>::min();
    CHECK_FALSE(exact.agree(wrong));
    wrong[i] = static_cast<T>(exact.sum[i] + 25 * std::numeric_limits<T>::epsilon() *
                                                 *std::max_element(exact.size.begin(), exact.size.end()));
    CHECK_FALSE(exact.agree(wrong, 1));
  }
  // scratch is for each member, and NaN
  const auto scratch = result_of<T>(2, 1, 1, [](const auto& team, T* y, T* each, T* all) {
    y[0] = each[team.size() - 1] == each[0] ? T(1) : T(0);
    y[1] = all[0] == all[0] ? T(1) : T(0);
  });
  CHECK(scratch == std::vector<T>{0, 0});
}
