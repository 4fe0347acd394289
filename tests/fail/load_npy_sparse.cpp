// expect: tapeless: load_npy(folder, tree): the tree holds no sparse matrix; load_npz reads one
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/io/tree.hpp>
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

struct params {
#ifdef TAPELESS_BAD
  tl::csr<float, 5, 7, 11> a;
#else
  tl::tensor<float, 5, 7> a;
#endif
};
void use(const params& p) { tl::load_npy("folder", p); }
