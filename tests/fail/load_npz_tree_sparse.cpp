// expect: tapeless: load_npz(path, tree): the tree holds no sparse matrix; load_npz<A>(path) reads one
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/io/npz_arrays.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
#ifdef TAPELESS_BAD
  tl::csr<float, 5, 7, 11> a;
#else
  tl::tensor<float, 5, 7> a;
#endif
};
void use(const params& p) { tl::load_npz("x.npz", p, {"a"}); }
