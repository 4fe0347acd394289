// expect: tapeless: scaling(s, a): both are float or both are double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using matrix = tl::csr<float, 5, 7, 11>;
#ifdef TAPELESS_BAD
using factors = tl::tensor<double, 5>;
#else
using factors = tl::tensor<float, 5>;
#endif
constexpr auto product = [](auto s, auto a) { return tl::scale_rows(s, a); };
constexpr tl::cost cost = tl::jit(product).cost<factors, matrix>();
