// expect: tapeless: extents...: a named extent is written dyn<'n'>; 'n' alone is a number
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 'r', 3, tl::dyn<'e'>>;
#else
using matrix = tl::csr<float, tl::dyn<'r'>, 3, tl::dyn<'e'>>;
#endif
void use(const matrix& a);
