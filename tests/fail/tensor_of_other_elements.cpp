// expect: tapeless: tensor<T, extents...>(elements, n...): the elements are of type T, and const only where T is
// extents: elements_of_this_type
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <array>
#include <vector>
namespace tl = tapeless;

void use(std::vector<bool>& bits, std::array<bool, 8>& flags) {
#ifdef TAPELESS_BAD
  const tl::tensor<bool, 8> mask(bits);
#else
  const tl::tensor<bool, 8> mask(flags);
#endif
  mask[0] = !bits[0];
}
