// expect: tapeless: tensor<T, extents...>(elements, n...): the elements are of type T, and const only where T is
// extents: elements_of_this_type
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <vector>
namespace tl = tapeless;

float use(const std::vector<float>& elements) {
#ifdef TAPELESS_BAD
  const tl::tensor<float, tl::dyn<'n'>, 3> x(elements, 8);
#else
  const tl::tensor<const float, tl::dyn<'n'>, 3> x(elements, 8);
#endif
  return x[0];
}
