// expect: tapeless: tensor<T, extents...>(elements, n...): a value for each named extent, as in tensor<float, dyn<'n'>>(v, n)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <vector>
namespace tl = tapeless;

using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;
labels f(std::vector<std::int32_t>& v) {
#ifdef TAPELESS_BAD
  return labels(v);
#else
  return labels(v, v.size());
#endif
}
