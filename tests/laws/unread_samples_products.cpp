// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The samples of products, convolutions, pools and sparse ops.
#include "unread_samples.hpp"

using namespace unread_samples;

TEST_CASE("unread: what no result reads passes nothing, behind samples of products, convolutions and pools") {
  CHECK(findings<op::matmul, op::count_>() == "");
}

namespace {

template <class F, class... X> std::string findings_of(sample<F, X...>) {
  std::string found;
  law<F, X...>::template check_all<false, 1>("a pool", false, found);
  return found;
}

} // namespace

// Channels that are left out are numbers like others (docs/explanation/subgradients.md).
TEST_CASE("unread: what is passed to channels that no result reads is noticed") {
  CHECK(findings_of(samples_of<op::window_sum>) == "a pool: axis 1 by slice; ");
}
