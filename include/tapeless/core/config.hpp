// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What a compiler is asked for, and what a user may ask of the library.
//   TAPELESS_CHECKED   results of a run are checked when they are read: see run_watch.hpp
#pragma once

#if !defined(__cpp_exceptions) // then only this, and not whatever follows from it
#error "tapeless: -fno-exceptions: mistakes at run time are exceptions; compile this file with exceptions"
#include <with_exceptions>
#endif

// Of a parameter, or of *this behind a member function: the result looks at it, and clang warns where it outlives it.
#if defined(__clang__)
#define TAPELESS_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define TAPELESS_LIFETIMEBOUND
#endif

// Ahead of a function that differs in checked builds: it has a name of its own there.
#ifdef TAPELESS_CHECKED
#define TAPELESS_READS_RESULT [[gnu::abi_tag("checked")]]
#else
#define TAPELESS_READS_RESULT
#endif

namespace tapeless::detail {
#ifdef TAPELESS_CHECKED
inline constexpr bool reads_are_checked = true;
#else
inline constexpr bool reads_are_checked = false;
#endif
} // namespace tapeless::detail
