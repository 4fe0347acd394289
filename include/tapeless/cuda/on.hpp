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
#include "../core/rules.hpp"
#include "../core/tree.hpp"

namespace tapeless {

struct cuda_space;

namespace detail {
// What it returns converts to all, so that no other error comes first.
template <class... X> no_member refuse_element() {
  static_assert(
      never<X...>,
      "tapeless: cuda::on<tree>: the host reads no element of a device: copy(from, to, stream) brings them");
  return {};
}
} // namespace detail

namespace cuda {

// on{tree}   a tree of views of device memory, whoever owns it. x.tree is that tree: its pointers are for the device, the
//            host reads no element through it.
template <class Tree> struct on {
  using placed_in = cuda_space;
  using tree_type = Tree;
  Tree tree{};

  static_assert(
      detail::tree_member_is_no_number<Tree>,
      "tapeless: cuda::on<tree>: a number is an argument by value, as float, without on; of memory of the device it "
      "is on<tl::scalar<float>>");
  static_assert(
      detail::parameter_tree<Tree>,
      "tapeless: cuda::on<tree>: a leaf is a tensor; a node is a std::array, std::tuple or aggregate of trees");
  template <class... I> detail::no_member operator()(const I&...) const {
    return detail::refuse_element<I...>();
  }
  template <class I> detail::no_member operator[](const I&) const { return detail::refuse_element<I>(); }
  template <class X>
    requires detail::number<X>
  operator X() const {
    return detail::refuse_element<X>();
  }
  const float* begin() const { return detail::refuse_element<Tree>(); }
  const float* end() const { return nullptr; }
};
template <class Tree> on(Tree) -> on<Tree>;

template <class T, auto... N> using tensor = on<tapeless::tensor<T, N...>>;
template <class T> using scalar = on<tapeless::scalar<T>>;
template <element T, extent_t Rows, extent_t Cols, extent_t Nnz, class RowEnd = std::int32_t> using csr =
    on<tapeless::csr<T, Rows, Cols, Nnz, RowEnd>>;

} // namespace cuda

// The memory of the device.
struct cuda_space {
  template <class Tree> using on = cuda::on<Tree>;
};

} // namespace tapeless
