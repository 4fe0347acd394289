// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The names of the element types, alone; what they are stands in dtype.hpp.
#pragma once
#include <cstdint>

namespace tapeless {
enum class dtype : std::uint8_t { f32, f64, i32, boolean, i64, bf16, u8 };
} // namespace tapeless
