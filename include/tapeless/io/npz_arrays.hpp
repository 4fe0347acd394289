#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// NumPy's files of several arrays, as numpy.savez and savez_compressed write them: a zip archive with a member
// <name>.npy for each array. Arrays without a name are arr_0, arr_1, ...
// A tree is read and written by names or in the order of its leaves. Deflated members (savez_compressed) need zlib (see
// inflate.hpp). npz.hpp reads and writes sparse matrices.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "../core/error.hpp"
#include "../core/text.hpp"
#include "../core/tree.hpp"
#include "file.hpp"
#include "npy.hpp"
#include "npz_array.hpp"
#include "tree.hpp"
#include "zip.hpp"

namespace tapeless {
namespace detail::npz {

template <class X> std::string_view bytes_of(const X* data, std::size_t n) {
  if (n == 0) return {};
  return {reinterpret_cast<const char*>(data), n * sizeof(X)};
}

inline std::string member_name(const std::string& name) { return name + ".npy"; }
// A name for each leaf: those given, or arr_0, arr_1, ...
inline std::vector<std::string> names_of_leaves(const std::string& who, std::size_t leaves,
                                                const std::vector<std::string>& given) {
  if (!given.empty() && given.size() != leaves)
    throw argument_error(joined("tapeless: ", who, ": ", given.size(), " names for ", leaves, " leaves"));
  std::vector<std::string> names = given;
  for (std::size_t i = names.size(); i < leaves; ++i) names.push_back(joined("arr_", i));
  return names;
}

template <class T>
npy_array read(const std::filesystem::path& path, const std::string& name, const read_options& options) {
  return as_io_error(path, [&] {
    const std::string bytes = whole_file(path);
    memory_limit memory(options, bytes.size());
    array found(zip::archive(path, bytes), path, member_name(name), memory, options.strict);
    const npy::layout& how = found.whole();
    memory.take(found.place(), how.elements(), 8, "elements");
    return npy::to_array<T>(found.place(), how, found.data());
  });
}

} // namespace detail::npz

// The names of the arrays of a file, in their order there and without ".npy". Other members are left out.
inline std::vector<std::string> npz_names(const std::filesystem::path& path) {
  return detail::as_io_error(path, [&] {
    const std::string bytes = detail::whole_file(path);
    std::vector<std::string> names;
    for (const std::string& member : detail::zip::archive(path, bytes).names())
      if (member.ends_with(".npy")) names.push_back(member.substr(0, member.size() - 4));
    return names;
  });
}

// npz_read(path, name), npz_read<T>(path, name): one array, as by npy_read. Throws io_error as npy_read does, and where
// the archive has no such array, is cut, corrupt or encrypted, or inflates beyond the limit.
inline npy_array npz_read(const std::filesystem::path& path, const std::string& name,
                          const read_options& options = {}) {
  return detail::npz::read<void>(path, name, options);
}
template <class T> npy_array npz_read(const std::filesystem::path& path, const std::string& name,
                                      const read_options& options = {}) {
  return detail::npz::read<T>(path, name, options);
}

// load_npz(path, tree, {"w", "b"}): fills the leaves, in the order of declaration, from the arrays of these names, or
// without names from arr_0, arr_1, ... Other arrays are not read. Elements are converted to the type of the leaf as by
// npy_read_into. Everything is read and checked before the first leaf is written. The limit on memory is raised by 8
// bytes for each element of the tree. Memory: the file and its arrays.
// Throws io_error as npz_read does, and where an array has another shape than its leaf. Throws argument_error where a
// leaf is null or there are more or fewer names than leaves.
template <detail::parameter_tree Tree>
  requires(!detail::is_csr_v<Tree>)
void load_npz(const std::filesystem::path& path, const Tree& tree, const std::vector<std::string>& names = {},
              const read_options& options = {}) {
  constexpr std::size_t count = detail::count_leaves<Tree>();
  detail::npy::require_data_of_leaves(tree, "load_npz(path, tree)");
  const std::vector<std::string> all =
      detail::npz::names_of_leaves("load_npz(path, tree, names)", count, names);
  detail::as_io_error(path, [&] {
    std::uint64_t known = 0;
    detail::for_each_leaf(tree,
                          [&](const auto& leaf) { known += 8 * static_cast<std::uint64_t>(leaf.size()); });
    const std::string bytes = detail::whole_file(path);
    detail::memory_limit memory(options, bytes.size(), known);
    const detail::zip::archive archive(path, bytes);
    std::vector<detail::npz::array> found;
    found.reserve(count);
    detail::for_each_leaf(tree, [&](const auto& leaf) {
      using Leaf = std::remove_cvref_t<decltype(leaf)>;
      static_assert(
          detail::npy::no_sparse_matrix<Leaf>,
          "tapeless: load_npz(path, tree): the tree holds no sparse matrix; load_npz<A>(path) reads one");
      static_assert(detail::npy::leaf_can_be_filled<Leaf>,
                    "tapeless: load_npz(path, tree): no leaf is const");
      using T = typename Leaf::value_type;
      auto& a = found.emplace_back(archive, path, detail::npz::member_name(all[found.size()]), memory,
                                   options.strict);
      const detail::npy::layout& how = a.whole();
      detail::npy::require_type<T>(a.place(), how);
      detail::npy::require_shape(a.place(), how.shape, detail::npy::shape_of_leaf(leaf));
      detail::npy::require_fits<T>(a.place(), how, a.data());
    });
    std::size_t i = 0;
    detail::for_each_leaf(tree, [&](const auto& leaf) {
      auto& a = found[i++];
      detail::npy::store(a.whole(), a.data(), leaf.data());
    });
  });
}

// save_npz(path, tree, {"w", "b"}): writes the leaves under these names, or without names as arr_0, arr_1, ..., for
// numpy.load, not compressed. The file is replaced as a whole, as by npy_write. Before a file is opened, throws
// argument_error where a leaf is null, there are more or fewer names than leaves, or a name is empty, occurs twice or
// is longer than 65531 bytes. Throws io_error where the disk refuses or the archive would have 4 GB or more.
template <detail::parameter_tree Tree>
  requires(!detail::is_csr_v<Tree>)
void save_npz(const std::filesystem::path& path, const Tree& tree,
              const std::vector<std::string>& names = {}) {
  constexpr std::size_t count = detail::count_leaves<Tree>();
  constexpr const char* who = "save_npz(path, tree, names)";
  detail::npy::require_data_of_leaves(tree, "save_npz(path, tree)");
  const std::vector<std::string> all = detail::npz::names_of_leaves(who, count, names);
  for (std::size_t i = 0; i < count; ++i)
    if (const std::string& name = all[i];
        name.empty() || name.size() > 65531 || std::count(all.begin(), all.end(), name) > 1)
      throw argument_error(detail::joined("tapeless: ", who, ": the name '", name.substr(0, 40),
                                          "' is empty, too long or stands twice"));
  std::vector<std::string> headers;
  headers.reserve(count);
  std::vector<std::vector<unsigned char>> flags;
  flags.reserve(count);
  std::vector<detail::zip::stored_member> members;
  detail::for_each_leaf(tree, [&](const auto& leaf) {
    using Leaf = std::remove_cvref_t<decltype(leaf)>;
    static_assert(
        detail::npy::no_sparse_matrix<Leaf>,
        "tapeless: save_npz(path, tree): the tree holds no sparse matrix; save_npz(path, a) writes one");
    using T = typename Leaf::value_type;
    const std::vector<std::int64_t> shape = detail::npy::shape_of_leaf(leaf);
    headers.push_back(detail::npy::header(path, detail::npy::description(detail::npy::type_of<T>()), shape));
    flags.push_back(detail::npy::flags_of(leaf.data(), leaf.size()));
    const auto n = static_cast<std::size_t>(leaf.size());
    members.push_back(
        {detail::npz::member_name(all[members.size()]),
         {headers.back(), flags.back().empty() ? detail::npz::bytes_of(leaf.data(), n)
                                               : detail::npz::bytes_of(flags.back().data(), n)}});
  });
  detail::zip::write_stored(path, members);
}

} // namespace tapeless
