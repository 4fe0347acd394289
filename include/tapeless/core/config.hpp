// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// What a compiler is asked for, and what a user may ask of the library.
//   TAPELESS_CHECKED   results of a run are checked when they are read: see run_watch.hpp
#pragma once

// The compilers that the library is tested with. Older ones and others stop at their first gap with messages that name
// none of this; Apple's clang counts its versions otherwise and is let pass.
#if defined(_MSC_VER) && !defined(__clang__)
#error "tapeless: MSVC cannot compile the library: take g++ 12 or newer, or clang 16 or newer"
#include <another_compiler>
#elif defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ < 16
#error "tapeless: this clang is too old: take clang 16 or newer, or g++ 12 or newer"
#include <another_compiler>
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "tapeless: this g++ is too old: take g++ 12 or newer, or clang 16 or newer"
#include <another_compiler>
#endif

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
