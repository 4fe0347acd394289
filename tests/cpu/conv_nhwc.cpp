// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The kernels of channels-last tensors; the cases stand in conv.cpp.
#include "conv_kernels.hpp"

namespace conv_kernels {
TAPELESS_CONV_CHECKS(template, last)
}
