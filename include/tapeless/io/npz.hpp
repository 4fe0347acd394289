#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// SciPy's files of sparse matrices, scipy.sparse.save_npz: a zip archive of .npy members.
//   csr, csc: format.npy '|S3', shape.npy (2), indptr.npy, indices.npy, data.npy
//   coo:      format.npy '|S3', shape.npy (2), row.npy, col.npy, data.npy
// Indices are '<i4' or '<i8'; data has the element type of the matrix. Members by other names are not read.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../run/csr_build.hpp"
#include "zip.hpp"

namespace tapeless {
namespace detail::npz {

// A member as it stands in the archive: a .npy file of any element type.
class array {
public:
  array(const zip::archive& archive, const std::filesystem::path& path, std::string name)
      : path_(path), name_(std::move(name)), bytes_(archive.read(name_)) {
    try {
      const npy::literal_place literal = npy::find_literal(path, std::string_view(bytes_).substr(0, 12),
                                                           static_cast<std::uintmax_t>(bytes_.size()));
      elements_ = static_cast<std::size_t>(literal.begin + literal.length);
      npy_array header;
      npy::header_parser parser(path,
                                std::string_view(bytes_).substr(static_cast<std::size_t>(literal.begin),
                                                                static_cast<std::size_t>(literal.length)));
      parser.parse_any_type(header);
      descr_ = parser.descr();
      shape_ = header.shape;
      size_ = static_cast<std::uint64_t>(npy::byte_count(path, shape_, npy_type::b1)); // elements of one byte
    } catch (const io_error& e) { // it spoke of the archive
      const std::string prefix = joined("tapeless: ", path.string(), ": ");
      fail(std::string(e.what()).substr(prefix.size()));
    }
  }

  template <class... X> [[noreturn]] void fail(const X&... problem) const {
    throw io_error(path_, joined(name_, ": ", joined(problem...)));
  }

  std::string text() const { // '|S3', '<U3'
    const bool wide = descr_.starts_with("<U");
    if ((!wide && !descr_.starts_with("|S")) || !shape_.empty()) fail("is no text");
    const std::string_view raw = std::string_view(bytes_).substr(elements_);
    std::string result;
    for (std::size_t i = 0; i < raw.size(); i += wide ? 4 : 1)
      if (raw[i] != '\0') result += raw[i];
    return result;
  }
  // Of one axis. What exceeds an Index is refused.
  template <class Index = std::int32_t> std::vector<Index> indices() const {
    if constexpr (std::is_same_v<Index, std::int64_t>) return integers();
    else {
      if (descr_ == "<i4") return elements<std::int32_t>();
      const std::vector<std::int64_t> wide = integers();
      std::vector<std::int32_t> result(wide.size());
      for (std::size_t i = 0; i < wide.size(); ++i) {
        result[i] = static_cast<std::int32_t>(wide[i]);
        if (result[i] != wide[i]) fail("element ", i, " = ", wide[i], " exceeds an std::int32_t");
      }
      return result;
    }
  }
  std::vector<std::int64_t> integers() const {
    if (descr_ == "<i8") return elements<std::int64_t>();
    if (descr_ != "<i4") fail("wrong dtype: found '", descr_, "', expected '<i4' or '<i8'");
    const std::vector<std::int32_t> narrow = elements<std::int32_t>();
    std::vector<std::int64_t> result(narrow.size());
    for (std::size_t i = 0; i < narrow.size(); ++i) result[i] = narrow[i];
    return result;
  }
  template <class T> array_argument<T> values(std::unique_ptr<T[]>& owner) const {
    const std::string_view expected = npy::description(npy::type_of<T>());
    if (descr_ != expected) fail("wrong dtype: found '", descr_, "', expected '", std::string(expected), "'");
    const std::size_t n = require_elements(sizeof(T));
    owner.reset(new T[n]());
    if constexpr (std::is_same_v<T, bool>) // any byte but 0 is true
      for (std::size_t i = 0; i < n; ++i) owner[i] = bytes_[elements_ + i] != '\0';
    else if (n > 0) std::memcpy(owner.get(), bytes_.data() + elements_, n * sizeof(T));
    return {owner.get(), static_cast<extent_t>(n)};
  }

private:
  // @return how many; all of them are there
  std::size_t require_elements(std::size_t item) const {
    if (shape_.size() != 1) fail("has the shape ", npy::to_string(shape_), ", expected one axis");
    const std::size_t rest = bytes_.size() - elements_;
    if (size_ > rest || size_ * item != rest)
      fail(rest, " bytes of elements, ", size_, " of ", item, " expected");
    return static_cast<std::size_t>(size_);
  }
  template <class I> std::vector<I> elements() const {
    std::vector<I> result(require_elements(sizeof(I)));
    if (!result.empty()) std::memcpy(result.data(), bytes_.data() + elements_, result.size() * sizeof(I));
    return result;
  }

  const std::filesystem::path& path_;
  std::string name_, bytes_, descr_;
  std::size_t elements_ = 0; // where they begin
  std::vector<std::int64_t> shape_;
  std::uint64_t size_ = 0;
};

// SciPy allows room behind the last entry.
template <class X> array_argument<X> first(const array& from, const array_argument<X>& x, extent_t n) {
  if (x.size < n) from.fail("has ", x.size, " elements, expected ", n);
  return {x.data, n};
}

template <class A> owned<A> parse(const std::filesystem::path& path, std::string_view bytes) {
  constexpr const char* who = "load_npz(path)";
  using T = typename A::value_type;
  const zip::archive archive(path, bytes);
  const auto member = [&](const char* name) { return array(archive, path, name); };
  const array kind = member("format.npy"), extents = member("shape.npy");
  const std::string format = kind.text();
  if (format != "csr" && format != "csc" && format != "coo")
    kind.fail("format '", format.substr(0, 16), "': csr, csc and coo are read");
  const std::vector<std::int64_t> shape = extents.integers();
  if (shape.size() != 2) extents.fail("a matrix has 2 axes, this one ", shape.size());
  const extent_t rows = shape[0], cols = shape[1];
  csr_names names(who);
  names.take_rows_and_cols<A>(rows, cols);

  std::unique_ptr<T[]> owner;
  const array data = member("data.npy");
  const array_argument<T> values = data.values<T>(owner);
  if (format == "coo") {
    const std::vector<std::int32_t> row = member("row.npy").indices(), col = member("col.npy").indices();
    array_of(row).require(who, "row", values.size);
    array_of(col).require(who, "col", values.size);
    return csr_from_entries<A>(
        who, "entry", rows, cols, values.size, [p = row.data()](extent_t k) { return extent_t{p[k]}; },
        [p = col.data()](extent_t k) { return extent_t{p[k]}; },
        [p = values.data](extent_t k) { return p[k]; });
  }
  const array index_member = member("indices.npy");
  const std::vector<row_end_of<A>> ptr = member("indptr.npy").template indices<row_end_of<A>>();
  const std::vector<std::int32_t> index = index_member.indices();
  const bool by_row = format == "csr";
  const extent_t lines = by_row ? rows : cols;
  const extent_t nnz = check_line_ptr(who, "indptr", array_of(ptr), lines);
  const std::int32_t* const indices = first(index_member, array_of(index), nnz).data;
  const T* const elements = first(data, values, nnz).data;
  if (by_row) return csr_from_row_lines<A>(who, names, rows, cols, nnz, ptr.data() + 1, indices, elements);
  return csr_from_column_lines<A>(who, names, rows, cols, nnz, ptr.data() + 1, indices, elements);
}

template <class X> std::string_view bytes_of(const X* data, extent_t n) {
  if (n == 0) return {};
  return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(n) * sizeof(X)};
}

} // namespace detail::npz

// load_npz<csr<float, dyn<'r'>, dyn<'c'>, dyn<'e'>>>(path): a matrix that SciPy has saved as csr, csc or coo. Indices
// that do not ascend are sorted, equal ones summed. Deflated members (compressed=True, which is SciPy's default) need
// zlib (see inflate.hpp). The element type is that of the file: nothing is rounded.
// Throws io_error where the archive is cut, corrupt (every member has a CRC-32), zip64 or of another format, a member
// is missing or of another type or shape, indices are outside of the matrix (the row is named), or extents disagree
// with the type. Memory: the file, its arrays once more, and the matrix.
template <detail::host_sparse_matrix A> owned<A> load_npz(const std::filesystem::path& path) {
  static_assert(
      detail::are_in_rows<A>,
      "tapeless: load_npz<A>(path): A is not tiled; csr_tiled(a) makes a tiled matrix of one in rows");
  return detail::as_io_error(path, [&] { return detail::npz::parse<A>(path, detail::whole_file(path)); });
}

// save_npz(path, a): csr, stored (not compressed), for scipy.sparse.load_npz. The file is replaced as a whole, as by
// npy_write. Throws argument_error, before a file is opened, where csr_check does, and io_error where the disk refuses
// or the archive would have 4 GB.
template <detail::host_sparse_matrix A> void save_npz(const std::filesystem::path& path, const A& a) {
  static_assert(detail::are_in_rows<A>,
                "tapeless: save_npz(path, a): a is not tiled; csr_untiled(a) has its entries by rows");
  using detail::npz::bytes_of;
  detail::check_csr("save_npz(path, a)", a);
  const std::int64_t shape[] = {a.rows(), a.cols()}, two[] = {2}, entries[] = {a.nnz()},
                     lines[] = {a.rows() + 1};
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
      path, {{"indices.npy", {headers[0], bytes_of(a.columns().data(), a.nnz())}},
             {"indptr.npy", {headers[1], bytes_of(&zero, 1), bytes_of(a.row_end().data(), a.rows())}},
             {"format.npy", {headers[2], "csr"}},
             {"shape.npy", {headers[3], bytes_of(shape, 2)}},
             {"data.npy",
              {headers[4],
               flags.empty() ? bytes_of(a.values().data(), a.nnz()) : bytes_of(flags.data(), a.nnz())}}});
}

} // namespace tapeless
