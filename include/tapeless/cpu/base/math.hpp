// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// The elementary functions of all lanes. Each header says how exact its functions are.
#include "math/activation.hpp"            // IWYU pragma: export
#include "math/exponential.hpp"           // IWYU pragma: export
#include "math/gamma.hpp"                 // IWYU pragma: export
#include "math/hyperbolic.hpp"            // IWYU pragma: export
#include "math/inverse_trigonometric.hpp" // IWYU pragma: export
#include "math/logarithm.hpp"             // IWYU pragma: export
#include "math/root.hpp"                  // IWYU pragma: export
#include "math/rounding.hpp"              // IWYU pragma: export
#include "math/trigonometric.hpp"         // IWYU pragma: export
