// expect: tapeless: adam.step_rows(p, rows, gradient): rows is int32 with one axis, and gradient has p's extents with that of rows in the first place
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using table = tl::tensor<float, 10, 4>;
using list = tl::tensor<std::int32_t, 3>;
#ifdef TAPELESS_BAD
using some = tl::tensor<float, 3, 5>;
#else
using some = tl::tensor<float, 3, 4>;
#endif
void step(tl::adam<table>& opt, const table& p, const list& rows, const some& gradient) {
  opt.step_rows(p, rows, gradient);
}
