#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The element types of the tests of large kernels. The sanitizer leg takes one of them: its compiler works for
// minutes on each kernel.
#ifdef TAPELESS_TEST_FLOAT_ONLY
#define TAPELESS_ELEMENTS float
#else
#define TAPELESS_ELEMENTS float, double
#endif
