// expect: tapeless: opt.step(p, gradient): a step runs on a back end: include tapeless/tapeless.hpp
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/optim/adam.hpp>
#ifndef TAPELESS_BAD
#include <tapeless/tapeless.hpp>
#endif
namespace tl = tapeless;

using X = tl::tensor<float, 4>;

void use(tl::adam<X>& opt, const X& p, const X& gradient) { opt.step(p, gradient); }
