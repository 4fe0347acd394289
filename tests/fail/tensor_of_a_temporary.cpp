// expect: tapeless: tensor<T, extents...>(elements, n...): a view of a temporary: give what holds the elements a name
// extents: not_gone_at_once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <vector>
namespace tl = tapeless;

using rows = tl::tensor<float, tl::dyn<'n'>, 3>;

float use() {
#ifdef TAPELESS_BAD
  const rows x(std::vector<float>(24), 8);
#else
  std::vector<float> elements(24);
  const rows x(elements, 8);
#endif
  return x[0];
}
