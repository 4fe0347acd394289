// expect: tapeless: cuda::on<tree>: a number is an argument by value, as float, without on
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using number = decltype(tl::cuda::on<float>{}.tree);
#else
using number = decltype(tl::cuda::on<tl::scalar<float>>{}.tree);
#endif
void use(number x);
