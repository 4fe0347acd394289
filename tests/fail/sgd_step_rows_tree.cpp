// expect: tapeless: sgd.step_rows(p, rows, gradient): params is one tensor, and p has its extents
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using table = tl::tensor<float, 10, 4>;
using list = tl::tensor<std::int32_t, 3>;
using some = tl::tensor<float, 3, 4>;
#ifdef TAPELESS_BAD
using other = tl::tensor<float, 11, 4>;
#else
using other = table;
#endif
void step(tl::sgd<table>& opt, const other& p, const list& rows, const some& gradient) {
  opt.step_rows(p, rows, gradient);
}
