// expect: tapeless: adam<params>: params lives on the host: on a device a step is a part of the program, adam_update
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/on.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
#ifdef TAPELESS_BAD
using P = tl::cuda::on<X>;
#else
using P = X;
#endif
tl::adam<P> opt;
