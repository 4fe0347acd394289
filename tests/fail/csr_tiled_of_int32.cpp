// expect: tapeless: csr_tiled(a): the entries of a are float or double
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/run/csr_tiled.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using matrix = tl::csr<std::int32_t, 5, 7, 11>;
#else
using matrix = tl::csr<float, 5, 7, 11>;
#endif
void cut(const matrix& a) { static_cast<void>(tl::csr_tiled(a)); }
