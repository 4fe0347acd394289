// budget: 15 s, 500 MB
// instantiations: 7733
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "residual.hpp"

float run() { return residual::run_arrays<20>(); }
