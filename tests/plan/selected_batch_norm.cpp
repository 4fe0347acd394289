// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Gradients behind batch_norm of selected rows, for any number of rows and threads.
#include "selected_batch_norm.hpp"

using namespace selected_batch_norm;

TEST_CASE("batch_norm of selected rows: gradients, for any number of rows and threads, no allocation") {
  check_hardest<dense_layers>();
#ifndef TAPELESS_TEST_FLOAT_ONLY // the sanitizers' compiler
  check_hardest<two_layers>();
  check_hardest<of_images>();
#endif
}

TEST_CASE("batch_norm of selected rows: sums over the list, one pass over all rows, and the rows in place") {
  using net = dense_layers;
  constexpr auto f = tl::jit(tl::value_and_grad<0>(value_of_hardest<net>{}));
  constexpr tl::cost c = f.cost<net::parameters, net::data<n>, targets<n>>();
  static_assert(c.densified == 1);
  const std::string text = f.explain<net::parameters, net::data<n>, targets<n>>();
  CHECK(text.find("scatter_add, added to all rows of [23, 17]") != std::string::npos);
  int of_all = 0; // loops over all rows, from the adjoint's first step on
  for (std::size_t at = text.find("adjoint  "); at != std::string::npos;
       at = text.find("over [23, 17]", at + 1))
    of_all += text.compare(at, 13, "over [23, 17]") == 0;
  CHECK(of_all == 1);
}
