#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// SciPy's files of sparse matrices, scipy.sparse.save_npz: a zip archive of .npy members.
//   csr, csc: format.npy '|S3', shape.npy (2), indptr.npy, indices.npy, data.npy
//   coo:      format.npy '|S3', shape.npy (2), row.npy, col.npy, data.npy
//   bsr:      as csr of blocks (R, C): data.npy (blocks, R, C), shape.npy (rows, cols) in elements
//   dia:      format.npy '|S3', shape.npy (2), offsets.npy (D), data.npy (D, L): data[d, j] is in row
//             j - offsets[d] and column j
// Members with other names are not read. npz_arrays.hpp reads and writes arrays of NumPy.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../core/csr.hpp"
#include "../core/extent.hpp"
#include "../run/csr.hpp"
#include "../run/csr_build.hpp"
#include "../run/memory.hpp"
#include "file.hpp"
#include "npy.hpp"
#include "npz_array.hpp"
#include "npz_arrays.hpp"
#include "zip.hpp"

namespace tapeless {
namespace detail::npz {

// The first n elements: SciPy allows unused room after the last entry.
template <class X> array_argument<X> first(const array& from, const array_argument<X>& x, extent_t n) {
  if (x.size < n) from.fail("has ", x.size, " elements, expected ", n);
  return {x.data, n};
}

// The elements of the diagonals that are inside the matrix and not zero, as in SciPy.
template <class A>
owned<A> from_diagonals(const char* who, const array& offset_member, extent_t rows, extent_t cols,
                        const std::vector<std::int64_t>& offsets, extent_t length,
                        const typename A::value_type* data, memory_limit& memory) {
  using T = typename A::value_type;
  std::vector<std::int64_t> sorted = offsets;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    offset_member.fail("offset ", *twice, " stands twice");
  const std::uint64_t most = offsets.size() * static_cast<std::uint64_t>(length); // elements of data
  memory.take(offset_member.place(), most, sizeof(triplet<T>), "entries");
  std::vector<triplet<T>> all;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const std::int64_t offset = offsets[d];
    if (offset <= -rows || offset >= cols) continue; // no element of it is in the matrix
    const extent_t first_col = std::max<extent_t>(0, offset), end = std::min({length, cols, rows + offset});
    for (extent_t j = first_col; j < end; ++j)
      if (const T x = data[static_cast<extent_t>(d) * length + j]; x != T{})
        all.push_back({static_cast<std::int32_t>(j - offset), static_cast<std::int32_t>(j), x});
  }
  return csr_from_entries<A>(
      who, "entry", rows, cols, static_cast<extent_t>(all.size()),
      [t = all.data()](extent_t k) { return extent_t{t[k].row}; },
      [t = all.data()](extent_t k) { return extent_t{t[k].col}; },
      [t = all.data()](extent_t k) { return t[k].value; });
}

// Every element of a block is an entry.
//   ptr: (rows / height + 1)     columns: (ptr[rows / height]), those of blocks     data: (blocks, height, width)
template <class A>
owned<A> from_blocks(const char* who, extent_t rows, extent_t cols, extent_t height, extent_t width,
                     const std::vector<row_end_of<A>>& ptr, const std::int32_t* columns,
                     const typename A::value_type* data, const file_place& place, memory_limit& memory) {
  const extent_t lines = rows / height, blocks = ptr.back(), entries = blocks * height * width;
  check_line_ends(who, "row of blocks", lines, ptr.data() + 1, blocks);
  memory.take(place, static_cast<std::uint64_t>(blocks), sizeof(std::int32_t), "blocks");
  std::vector<std::int32_t> line(static_cast<std::size_t>(blocks)); // that of each block
  for (extent_t i = 0; i < lines; ++i)
    std::fill(line.begin() + ptr[static_cast<std::size_t>(i)],
              line.begin() + ptr[static_cast<std::size_t>(i) + 1], static_cast<std::int32_t>(i));
  const extent_t area = height * width;
  return csr_from_entries<A>(
      who, "entry", rows, cols, entries,
      [&](extent_t k) { return line[static_cast<std::size_t>(k / area)] * height + k % area / width; },
      [&](extent_t k) { return columns[k / area] * width + k % width; }, [&](extent_t k) { return data[k]; });
}

template <class A> owned<A> parse(const std::filesystem::path& path, std::string_view bytes,
                                  const read_options& options) {
  constexpr const char* who = "load_npz(path)";
  using T = typename A::value_type;
  const zip::archive archive(path, bytes);
  memory_limit memory(options, bytes.size());
  const auto member = [&](const char* name) { return array(archive, path, name, memory, options.strict); };
  const array kind = member("format.npy"), extents = member("shape.npy");
  const std::string format = kind.text();
  const bool by_blocks = format == "bsr", by_diagonals = format == "dia";
  if (format != "csr" && format != "csc" && format != "coo" &&
      (options.strict || (!by_blocks && !by_diagonals)))
    kind.fail("format '", format.substr(0, 16), "': csr, csc",
              options.strict ? " and coo" : ", coo, bsr and dia", " are read");
  const std::vector<std::int64_t> shape = extents.integers<std::int64_t>(1, memory);
  if (shape.size() != 2) extents.fail("a matrix has 2 axes, this one ", shape.size());
  const extent_t rows = shape[0], cols = shape[1];
  csr_names names(who);
  names.take_rows_and_cols<A>(rows, cols);

  std::unique_ptr<T[]> owner;
  const array data = member("data.npy");
  const std::span<T> all = data.values<T>(by_blocks ? 3 : by_diagonals ? 2 : 1, owner, memory);
  const array_argument<T> values{all.data(), static_cast<extent_t>(all.size())};
  take_matrix<A>(extents.place(), memory, rows, values.size, 0);
  const auto indices_of = [&](const array& from) { return from.integers<std::int32_t>(1, memory); };
  if (format == "coo") {
    const std::vector<std::int32_t> row = indices_of(member("row.npy")), col = indices_of(member("col.npy"));
    array_of(row).require(who, "row", values.size);
    array_of(col).require(who, "col", values.size);
    return csr_from_entries<A>(
        who, "entry", rows, cols, values.size, [p = row.data()](extent_t k) { return extent_t{p[k]}; },
        [p = col.data()](extent_t k) { return extent_t{p[k]}; },
        [p = values.data](extent_t k) { return p[k]; });
  }
  if (by_diagonals) {
    const array offset_member = member("offsets.npy");
    const std::vector<std::int64_t> offsets = offset_member.integers<std::int64_t>(1, memory);
    const extent_t diagonals = data.shape()[0], length = data.shape()[1];
    if (static_cast<extent_t>(offsets.size()) != diagonals)
      offset_member.fail("has ", offsets.size(), " elements, expected ", diagonals);
    return from_diagonals<A>(who, offset_member, rows, cols, offsets, length, values.data, memory);
  }
  const array index_member = member("indices.npy"), ptr_member = member("indptr.npy");
  const std::vector<row_end_of<A>> ptr = ptr_member.integers<row_end_of<A>>(1, memory);
  const std::vector<std::int32_t> index = indices_of(index_member);
  if (by_blocks) {
    const extent_t height = data.shape()[1], width = data.shape()[2];
    if (height < 1 || width < 1 || rows % height != 0 || cols % width != 0)
      data.fail("blocks of ", npy::to_string(std::vector<std::int64_t>{height, width}),
                " do not divide a matrix of ", npy::to_string(shape));
    const extent_t blocks = check_line_ptr(who, "indptr", array_of(ptr), rows / height);
    const std::int32_t* const columns = first(index_member, array_of(index), blocks).data;
    if (data.shape()[0] < blocks) data.fail("has ", data.shape()[0], " blocks, expected ", blocks);
    return from_blocks<A>(who, rows, cols, height, width, ptr, columns, values.data, data.place(), memory);
  }
  const bool by_row = format == "csr";
  const extent_t lines = by_row ? rows : cols;
  const extent_t nnz = check_line_ptr(who, "indptr", array_of(ptr), lines);
  const std::int32_t* const indices = first(index_member, array_of(index), nnz).data;
  const T* const elements = first(data, values, nnz).data;
  if (by_row) return csr_from_row_lines<A>(who, names, rows, cols, nnz, ptr.data() + 1, indices, elements);
  return csr_from_column_lines<A>(who, names, rows, cols, nnz, ptr.data() + 1, indices, elements);
}

} // namespace detail::npz

// load_npz<csr<float, dyn<'r'>, dyn<'c'>, dyn<'e'>>>(path): a matrix that SciPy has saved as csr, csc, coo, bsr or dia.
// Indices that do not ascend are sorted. Entries of equal row and column are summed. Zeros of dia make no entries;
// every element of a block of bsr is one. Elements are converted to the type of the matrix as by npy_read<T>. With
// read_options::strict they must be of that type, and only csr, csc and coo are read. Deflated members
// (compressed=True, SciPy's default) need zlib (see inflate.hpp).
// Throws io_error where the archive is cut, corrupt (every member has a CRC-32), zip64 or of another format, a member
// is missing or of another type or shape, an index is outside the matrix (the row is named), extents disagree with the
// type, or the limit of read_options on memory would be exceeded. Memory: the file, its arrays once or twice more, the
// matrix.
template <detail::host_sparse_matrix A> owned<A> load_npz(const std::filesystem::path& path,
                                                          const read_options& options = {}) {
  static_assert(
      detail::are_in_rows<A>,
      "tapeless: load_npz<A>(path): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows");
  return detail::as_io_error(path,
                             [&] { return detail::npz::parse<A>(path, detail::whole_file(path), options); });
}

// save_npz(path, a): writes csr for scipy.sparse.load_npz, not compressed. The file is replaced as a whole, as by
// npy_write. Throws argument_error where csr_check does, before a file is opened; io_error where the disk refuses or
// the archive would have 4 GB or more.
template <detail::host_sparse_matrix A> void save_npz(const std::filesystem::path& path, const A& a) {
  static_assert(detail::are_in_rows<A>,
                "tapeless: save_npz(path, a): a is not tiled; csr_untiled(a) has its entries by rows");
  using detail::npz::bytes_of;
  detail::check_csr("save_npz(path, a)", a);
  const std::int64_t shape[] = {a.rows(), a.cols()}, two[] = {2}, entries[] = {a.nnz()},
                     lines[] = {a.rows() + 1};
  const std::size_t entry_count = static_cast<std::size_t>(a.nnz());
  using row_end = detail::row_end_of<A>;
  const row_end zero = 0;
  const auto header = [&](std::string_view descr, std::span<const std::int64_t> extents) {
    return detail::npy::header(path, descr, extents);
  };
  const std::string headers[] = {
      header("<i4", entries), header(sizeof(row_end) == 4 ? "<i4" : "<i8", lines), header("|S3", {}),
      header("<i8", two),
      header(detail::npy::description(detail::npy::type_of<typename A::value_type>()), entries)};
  const auto flags = detail::npy::flags_of(a.values().data(), a.nnz());
  detail::zip::write_stored(
      path,
      {{"indices.npy", {headers[0], bytes_of(a.columns().data(), entry_count)}},
       {"indptr.npy",
        {headers[1], bytes_of(&zero, 1), bytes_of(a.row_end().data(), static_cast<std::size_t>(a.rows()))}},
       {"format.npy", {headers[2], "csr"}},
       {"shape.npy", {headers[3], bytes_of(shape, 2)}},
       {"data.npy",
        {headers[4],
         flags.empty() ? bytes_of(a.values().data(), entry_count) : bytes_of(flags.data(), entry_count)}}});
}

} // namespace tapeless
