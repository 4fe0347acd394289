// expect: tapeless: owned<tree>.mutable_view(): the tree has const elements by itself, so that no mutable tree is known
// extents: mutable_tree_is_known
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

template <class T> struct params {
  tl::tensor<T, 3> w;
};
struct const_params {
  tl::tensor<const float, 3> w;
};

void use() {
#ifdef TAPELESS_BAD
  tl::owned<const_params> p;
#else
  tl::owned<params<const float>> p;
#endif
  p.mutable_view().w[0] = 1;
}
