// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The SIMD of cpu/: every other file sees xsimd only through these headers, but for the functions that xsimd has for
// batches.
#include "simd/convert.hpp" // IWYU pragma: export
#include "simd/memory.hpp"  // IWYU pragma: export
#include "simd/vector.hpp"  // IWYU pragma: export
