#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A parameter tree as a folder of .npy files, one for each leaf in the order of declaration: 00.npy, 01.npy, ... (three
// digits from 101 leaves on). NumPy can read each file. The names of the members are not stored.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "../core/tree.hpp"
#include "file.hpp"
#include "npy.hpp"

namespace tapeless {
namespace detail::npy {

template <class Leaf>
concept leaf_can_be_filled = !std::is_const_v<typename Leaf::element_type>;
template <class Leaf>
concept no_sparse_matrix = !is_pattern_v<Leaf>; // load_npz and load_matrix_market check patterns

// Leaf i of a tree of `count` leaves.
inline std::filesystem::path leaf_path(const std::filesystem::path& folder, std::size_t i,
                                       std::size_t count) {
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(count > 0 ? count - 1 : 0).size());
  std::string number = std::to_string(i);
  number.insert(0, digits - std::min(digits, number.size()), '0');
  return folder / (number + ".npy");
}
inline void require_no_further_leaf(const std::filesystem::path& folder, std::size_t count) {
  const std::filesystem::path next = leaf_path(folder, count, count);
  std::error_code error;
  const bool exists = std::filesystem::exists(next, error);
  if (error) throw io_error(next, "cannot be read: " + error.message());
  if (exists)
    throw io_error(next,
                   std::string("is in the folder, but the tree has ") + std::to_string(count) + " leaves");
}
// who: "save_npy(folder, tree)"
template <class Tree> void require_data_of_leaves(const Tree& tree, const std::string& who) {
  int i = 0;
  for_each_leaf(tree, [&](const auto& leaf) {
    require_data(leaf.data(), leaf.size() > 0, who + ": the data of leaf " + std::to_string(i++));
  });
}
template <class Leaf> std::vector<std::int64_t> shape_of_leaf(const Leaf& leaf) {
  std::vector<std::int64_t> result;
  for (int axis = 0; axis < leaf.rank(); ++axis) result.push_back(leaf.extent(axis));
  return result;
}

} // namespace detail::npy

// Writes the leaves into the folder and makes the folder where there is none. Each file is replaced as a whole. Where
// the disk refuses one, the files before it are new and those after it are old.
// Throws argument_error where a leaf is null. Throws io_error where the folder holds a tree of more leaves, both before
// it writes, and where the disk refuses a file.
template <detail::parameter_tree Tree> void save_npy(const std::filesystem::path& folder, const Tree& tree) {
  constexpr std::size_t count = detail::count_leaves<Tree>();
  static_assert(
      detail::tree_of_the_host<Tree>,
      "tapeless: save_npy(folder, tree): a tree of the host; of a device tl::copy(tree, here, stream) first");
  detail::npy::require_data_of_leaves(tree, "save_npy(folder, tree)");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw io_error(folder, std::string("cannot be made: ") + error.message());
  detail::npy::require_no_further_leaf(folder, count);
  std::size_t i = 0;
  detail::for_each_leaf(tree, [&](const auto& leaf) {
    using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
    static_assert(detail::npy::no_sparse_matrix<std::remove_cvref_t<decltype(leaf)>>,
                  "tapeless: save_npy(folder, tree): the tree holds no sparse matrix; save_npz writes one");
    npy_write<T>(detail::npy::leaf_path(folder, i++, count), leaf.data(), detail::npy::shape_of_leaf(leaf));
  });
}

// Fills the leaves from a folder that save_npy wrote, or that has files with these names from elsewhere. Elements are
// converted to the type of the leaf as by npy_read_into. Everything is read and checked before the first leaf is
// written, so the tree is unchanged after an exception. Memory: that of the files.
// Throws io_error where a file is missing, incomplete, of another shape or (strict) of another element type, holds an
// element that the leaf's type has no value for, or there is one file too many. Throws argument_error where a leaf is
// null.
template <detail::parameter_tree Tree>
void load_npy(const std::filesystem::path& folder, const Tree& tree, const read_options& options = {}) {
  constexpr std::size_t count = detail::count_leaves<Tree>();
  static_assert(
      detail::tree_of_the_host<Tree>,
      "tapeless: load_npy(folder, tree): a tree of the host; for a device tl::copy(here, tree, stream) afterwards");
  detail::npy::require_data_of_leaves(tree, "load_npy(folder, tree)");
  detail::npy::require_no_further_leaf(folder, count);
  std::vector<std::vector<std::byte>> bytes(count);
  std::vector<detail::npy::layout> how(count);
  std::size_t i = 0;
  detail::for_each_leaf(tree, [&](const auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    static_assert(detail::npy::no_sparse_matrix<Leaf>,
                  "tapeless: load_npy(folder, tree): the tree holds no sparse matrix; load_npz reads one");
    static_assert(detail::npy::leaf_can_be_filled<Leaf>,
                  "tapeless: load_npy(folder, tree): no leaf is const");
    using T = typename Leaf::value_type;
    const std::filesystem::path path = detail::npy::leaf_path(folder, i, count);
    detail::npy::opened opened = detail::npy::open_as<T>(path, detail::npy::shape_of_leaf(leaf), options);
    bytes[i] = detail::npy::elements_of(path, opened);
    how[i] = std::move(opened.how);
    detail::npy::require_fits<T>(path, how[i], bytes[i].data());
    ++i;
  });
  i = 0;
  detail::for_each_leaf(tree, [&](const auto& leaf) {
    detail::npy::store(how[i], bytes[i].data(), leaf.data());
    ++i;
  });
}

} // namespace tapeless
