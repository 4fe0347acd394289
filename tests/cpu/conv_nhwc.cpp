// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The kernels of NHWC tensors; the cases are in conv.cpp.
#include "conv_kernels.hpp"

namespace conv_kernels {
TAPELESS_CONV_CHECKS(template, nhwc)
}
