// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// An array of a .npz file: a member of the archive, which is a .npy file of any element type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include "../core/text.hpp"
#include "file.hpp"
#include "npy.hpp"
#include "zip.hpp"

namespace tapeless::detail::npz {

class array {
public:
  array(const zip::archive& archive, const std::filesystem::path& path, std::string name,
        memory_limit& memory, bool strict)
      : path_(path), name_(std::move(name)), bytes_(archive.read(name_, memory)) {
    const file_place here = place();
    const std::string_view bytes = bytes_;
    const npy::literal_place literal = npy::find_literal(here, bytes.substr(0, 12), bytes.size());
    const std::size_t begin = static_cast<std::size_t>(literal.begin),
                      length = static_cast<std::size_t>(literal.length);
    elements_ = begin + length;
    how_ = npy::header_parser(here, bytes.substr(begin, length), strict).parse();
    size_ = static_cast<std::uint64_t>(npy::byte_count(here, how_.shape, 1)); // elements: an item of 1 byte
  }

  file_place place() const { return {path_, name_}; }
  template <class... X> [[noreturn]] void fail(const X&... problem) const { place().fail(problem...); }
  const std::vector<std::int64_t>& shape() const { return how_.shape; }

  std::string text() const { // '|S3', '<U3'
    const std::string_view kind = std::string_view(how_.descr).substr(0, 2);
    const bool wide = kind == "<U" || kind == ">U";
    if ((!wide && kind != "|S") || !how_.shape.empty()) fail("is no text");
    std::string result;
    for (const char c : std::string_view(bytes_).substr(elements_))
      if (c != '\0') result += c;
    return result;
  }
  // Throws io_error where an element exceeds an Index. Strict: only '<i4' and '<i8' are read.
  template <class Index> std::vector<Index> integers(std::size_t axes, memory_limit& memory) const {
    npy::layout how = how_;
    const bool known = !how.strict || how.descr == "<i4" || how.descr == "<i8";
    how.strict = false;
    if (known) how.take_type(place());
    using enum npy_type;
    if (!known || how.type == f2 || how.type == f4 || how.type == f8 || how.type == b1)
      fail("wrong dtype: found '", how.descr, "', expected '<i4' or '<i8'");
    require_axes(axes);
    std::vector<Index> result(require_elements(how, sizeof(Index), memory));
    npy::require_fits<Index>(place(), how, data());
    npy::store(how, data(), result.data());
    return result;
  }
  // The elements, converted as by npy_read<T>. Strict: they must be of type T.
  template <class T>
  std::span<T> values(std::size_t axes, std::unique_ptr<T[]>& owner, memory_limit& memory) const {
    npy::layout how = how_;
    const std::string expected(npy::description(npy::type_of<T>()));
    if (how.strict && how.descr != expected)
      fail("wrong dtype: found '", how.descr, "', expected '", expected, "'");
    how.take_type(place());
    require_axes(axes);
    const std::size_t n = require_elements(how, sizeof(T), memory);
    npy::require_fits<T>(place(), how, data());
    owner.reset(new T[n]());
    npy::store(how, data(), owner.get());
    return {owner.get(), n};
  }

  // How all elements are stored. Throws io_error where one is missing.
  const npy::layout& whole() {
    how_.take_type(place());
    require_elements(how_);
    return how_;
  }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(bytes_.data()) + elements_; }

private:
  void require_axes(std::size_t axes) const {
    if (how_.shape.size() != axes)
      fail("has the shape ", npy::to_string(how_.shape), ", expected ",
           axes == 1 ? std::string("one axis") : joined(axes, " axes"));
  }
  void require_elements(const npy::layout& how) const {
    const std::size_t rest = bytes_.size() - elements_;
    const std::size_t item = static_cast<std::size_t>(npy::item_size(how.type));
    if (size_ > rest || size_ * item != rest)
      fail(rest, " bytes of elements, ", size_, " of ", item, " expected");
  }
  // @return their number
  std::size_t require_elements(const npy::layout& how, std::size_t bytes_each, memory_limit& memory) const {
    require_elements(how);
    memory.take(place(), size_, bytes_each, "elements");
    return static_cast<std::size_t>(size_);
  }

  const std::filesystem::path& path_;
  std::string name_, bytes_;
  npy::layout how_;
  std::size_t elements_ = 0; // where they begin
  std::uint64_t size_ = 0;   // their number
};

} // namespace tapeless::detail::npz
