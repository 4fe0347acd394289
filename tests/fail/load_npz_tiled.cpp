// expect: tapeless: load_npz<A>(path): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/io/npz.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<float, 5, 7, 11, tl::tiled>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
void load() { static_cast<void>(tl::load_npz<matrix>("a.npz")); }
