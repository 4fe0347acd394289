// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cuda::on<tree>: a parameter tree whose leaves are views of device memory. The tree is the user's own type: one struct
// serves the host and the device.
//   auto run = step.bind<tl::cuda::on<params>, tl::cuda::on<images>>(tl::dim<'n'>(64));
//   auto [value, gradient] = run(p, x);      // tl::cuda::on<tl::scalar<float>>, tl::cuda::on<params>
#pragma once
#include "../core/csr.hpp"
#include "../core/extent.hpp"
#include "../core/tensor.hpp"

namespace tapeless {

struct cuda_space;

namespace cuda {

// on{tree}   a tree of views of device memory, whoever owns it. x.tree is that tree: its pointers are for the device, the
//            host reads no element through it.
template <class Tree> struct on {
  using placed_in = cuda_space;
  using tree_type = Tree;
  Tree tree{};
};
template <class Tree> on(Tree) -> on<Tree>;

template <class T, extent_t... N> using tensor = on<tapeless::tensor<T, N...>>;
template <class T> using scalar = on<tapeless::scalar<T>>;
template <element T, extent_t Rows, extent_t Cols, extent_t Nnz, class RowEnd = std::int32_t> using csr =
    on<tapeless::csr<T, Rows, Cols, Nnz, RowEnd>>;

} // namespace cuda

// The memory of the device.
struct cuda_space {
  template <class Tree> using on = cuda::on<Tree>;
};

} // namespace tapeless
