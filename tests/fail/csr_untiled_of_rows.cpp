// expect: tapeless: csr_untiled(t): t is tiled; this one is in rows already
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_tiled.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11>;
#else
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#endif
void join(const matrix& t) { static_cast<void>(tl::csr_untiled(t)); }
