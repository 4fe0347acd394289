// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Requirements on the compiler, and macros that a user may define.
//   TAPELESS_CHECKED   reading the result of a run checks that it is still valid: see run_watch.hpp
#pragma once

// If the library cannot be compiled, this is the only error: the missing header ends the compilation.
#if defined(_MSC_VER) && !defined(__clang__)
#error "tapeless: the library is not tested with MSVC: take g++ 12 or newer, or clang 16 or newer"
#include <tapeless_stops_here>
#elif defined(__clang__) && __clang_major__ < 16 && !defined(__apple_build_version__) // Apple counts its own
#error "tapeless: this clang is too old: take clang 16 or newer, or g++ 12 or newer"
#include <tapeless_stops_here>
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "tapeless: this g++ is too old: take g++ 12 or newer, or clang 16 or newer"
#include <tapeless_stops_here>
#elif __cplusplus < 202002L
#error "tapeless: the library is C++20: compile with -std=c++20"
#include <tapeless_stops_here>
#elif !defined(__cpp_exceptions)
#error "tapeless: -fno-exceptions: mistakes at run time are exceptions; compile this file with exceptions"
#include <tapeless_stops_here>
#elif defined(TAPELESS_INCLUDED)
#error "tapeless: a second copy of the library is included: take one header or the folder, not both"
#include <tapeless_stops_here>
#elif defined(TAPELESS_WITH_OPENMP) && defined(TAPELESS_WITHOUT_THREADS)
#error "tapeless: TAPELESS_WITH_OPENMP and TAPELESS_WITHOUT_THREADS: define one of them"
#include <tapeless_stops_here>
#elif defined(TAPELESS_WITH_OPENMP) && !defined(_OPENMP)
#error "tapeless: TAPELESS_WITH_OPENMP without OpenMP: compile and link with -fopenmp"
#include <tapeless_stops_here>
#endif
#define TAPELESS_INCLUDED

// On a parameter, or on *this after a member function: the result refers to it, and clang warns if the result outlives
// it.
#if defined(__clang__)
#define TAPELESS_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define TAPELESS_LIFETIMEBOUND
#endif

// Before a function that differs in checked builds: there it has another symbol name.
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
