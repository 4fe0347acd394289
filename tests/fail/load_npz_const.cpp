// expect: tapeless: load_npz(path, tree): no leaf is const
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/io/npz_arrays.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using leaf = tl::tensor<const float, 5, 7>;
#else
using leaf = tl::tensor<float, 5, 7>;
#endif
void use(const leaf& w) { tl::load_npz("x.npz", w, {"w"}); }
