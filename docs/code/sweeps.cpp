// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdio>

namespace tl = tapeless;

// [loss]
using matrix = tl::csr<float, tl::dyn<'m'>, tl::dyn<'n'>, tl::dyn<'e'>>; // m rows, n columns, e entries
using rows = tl::tensor<float, tl::dyn<'m'>>;
using columns = tl::tensor<float, tl::dyn<'n'>>;
constexpr auto loss = [](auto x, auto a, auto y, auto mask) {
  return tl::mean(mask * tl::square(tl::matmul(a, x) - y));
};
constexpr auto step = tl::jit(tl::value_and_grad<0>(loss));
// value and gradient: the 8 bytes of an entry are read once
static_assert(step.cost<columns, matrix, rows, rows>().bytes().at(tl::dim<'m'>(0), tl::dim<'n'>(0), tl::dim<'e'>(1000)) <= 8000 + 16);
// [/loss]

int main() { std::fputs(step.explain<columns, matrix, rows, rows>().c_str(), stdout); }
