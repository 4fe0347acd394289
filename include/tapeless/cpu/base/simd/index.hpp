// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// index_t: every extent, stride and position in cpu/.
#include <cstdint>

namespace tapeless::cpu {

using index_t = std::int64_t;

} // namespace tapeless::cpu
