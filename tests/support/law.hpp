#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// TAPELESS_LAW(title, f): f() holds in a constant evaluation, and again at run time, where coverage tools see it.

#include <doctest/doctest.h>

#define TAPELESS_LAW(title, f) \
  TEST_CASE(title) {           \
    static_assert(f());        \
    volatile bool now = f();   \
    CHECK(now);                \
  }
