#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A whole file in memory, and zlib's inflate on it: gzip files and the deflated members of zip archives. zlib is used
// where TAPELESS_WITH_ZLIB is defined, as by the CMake target tapeless::zlib; compressed data is an io_error without.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "npy.hpp"

#ifdef TAPELESS_WITH_ZLIB
#include <zlib.h>
#endif

namespace tapeless::detail {

// f(), whose argument_error speaks of the file's content
template <class F> auto as_io_error(const std::filesystem::path& path, F&& f) {
  constexpr std::string_view prefix = "tapeless: ";
  try {
    return f();
  } catch (const argument_error& e) {
    const std::string_view message = e.what();
    throw io_error(path, std::string(message.substr(message.starts_with(prefix) ? prefix.size() : 0)));
  } catch (const std::bad_alloc&) {
    throw io_error(path, "needs more memory than there is");
  } catch (const std::length_error&) { throw io_error(path, "needs more memory than there is"); }
}

inline std::string whole_file(const std::filesystem::path& path) {
  std::error_code error; // the size first: opening a pipe would wait
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw io_error(path, joined("cannot be read: ", error.message()));
  errno = 0;
  const npy::file_handle file(std::fopen(path.string().c_str(), "rb"));
  if (!file) throw io_error(path, joined("cannot be read: ", npy::reason(errno)));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  npy::read_exactly(path, file.get(), bytes.data(), bytes.size());
  return bytes;
}

enum class deflated { gzip, raw };

#ifdef TAPELESS_WITH_ZLIB
// @pre for raw: size is the number of bytes that come out; gzip: size is ignored, all members come out
inline std::string inflated(const std::filesystem::path& path, std::string_view from, deflated kind,
                            std::size_t size) {
  struct stream : z_stream {
    stream() : z_stream{} {}
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream() { ::inflateEnd(this); }
  } s;
  if (::inflateInit2(&s, kind == deflated::gzip ? 15 + 16 : -15) != Z_OK) throw std::bad_alloc();
  const std::size_t limit = kind == deflated::raw ? size : std::numeric_limits<std::size_t>::max();
  std::string out;
  char buffer[1 << 15];
  for (;;) {
    if (s.avail_in == 0) { // zlib counts in 32 bits
      const std::size_t n = std::min(from.size(), std::size_t{1} << 30);
      s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
      s.avail_in = static_cast<uInt>(n);
      from.remove_prefix(n);
    }
    s.next_out = reinterpret_cast<Bytef*>(buffer);
    s.avail_out = sizeof buffer;
    const int result = ::inflate(&s, Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - s.avail_out);
    if (out.size() > limit) throw io_error(path, "corrupt: a member is longer than its directory says");
    if (result == Z_STREAM_END) {
      const bool more = s.avail_in > 0 || !from.empty();
      if (!more) break;
      if (kind == deflated::raw || ::inflateReset(&s) != Z_OK)
        throw io_error(path, "corrupt: bytes behind the end of the compressed data");
    } else if (result == Z_BUF_ERROR ||
               (result == Z_OK && s.avail_in == 0 && from.empty() && s.avail_out > 0)) {
      throw io_error(path, "truncated: the compressed data has no end");
    } else if (result != Z_OK) {
      throw io_error(path, joined("corrupt: ", s.msg != nullptr ? s.msg : "the compressed data"));
    }
  }
  if (kind == deflated::raw && out.size() != size)
    throw io_error(path, "corrupt: a member is shorter than its directory says");
  return out;
}
#else
inline std::string inflated(const std::filesystem::path& path, std::string_view, deflated, std::size_t) {
  throw io_error(path, "is compressed: define TAPELESS_WITH_ZLIB and link zlib, or link tapeless::zlib");
}
#endif

} // namespace tapeless::detail
