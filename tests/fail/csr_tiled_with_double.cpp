// expect: tapeless: a.with(values): a tiled matrix keeps its element type; csr_untiled(a) takes any
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 4, 8, 5, tl::tiled>;
#ifdef TAPELESS_BAD
using number = double;
#else
using number = float;
#endif

auto use(const matrix& t, tl::tensor<number, 5> values) { return t.with(values); }
