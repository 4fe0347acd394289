// expect: tapeless: scale_rows(s, a), scale_columns(a, s): the rows' numbers stand on the left, those of the columns on the right
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
constexpr auto loss = [](auto a, auto s) {
#ifdef TAPELESS_BAD
  return tl::sum(tl::scale_rows(a, s));
#else
  return tl::sum(tl::scale_rows(s, a));
#endif
};
constexpr tl::cost cost = tl::jit(loss).cost<matrix, tl::tensor<float, 5>>();
