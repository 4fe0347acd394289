// expect: tapeless: csr_tiled(a): a is in rows; this one is tiled already
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_tiled.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
void cut(const matrix& a) { static_cast<void>(tl::csr_tiled(a)); }
