// expect: tapeless: extents...: a named extent is written dyn<'n'>; 'n' alone is a number
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
#ifdef TAPELESS_BAD
  tl::tensor<float, 'n', 5> w;
#else
  tl::tensor<float, tl::dyn<'n'>, 5> w;
#endif
};
