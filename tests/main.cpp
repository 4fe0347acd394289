// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The main of every test program; compiled once.

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#define SUPPORT_REPLACES_ALLOCATION
#include "support/allocations.hpp"
