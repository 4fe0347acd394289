// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What is thrown at run time: core/error.hpp.
#pragma once
#include "../core/error.hpp"
