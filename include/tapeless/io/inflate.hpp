#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Inflates a file in memory with zlib: gzip files and the deflated members of zip archives. It needs
// TAPELESS_WITH_ZLIB, which the CMake target tapeless::zlib defines. Without it compressed data is an io_error.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

#include "file.hpp"

#ifdef TAPELESS_WITH_ZLIB
#include <zlib.h>
#endif

namespace tapeless::detail {

enum class deflated { gzip, raw };

#ifdef TAPELESS_WITH_ZLIB
// size: for raw, the bytes that come out; for gzip, the most bytes that may come out of all members together
inline std::string inflated(const file_place& place, std::string_view from, deflated kind,
                            std::uint64_t size) {
  struct stream : z_stream {
    stream() : z_stream{} {}
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream() { ::inflateEnd(this); }
  } s;
  if (::inflateInit2(&s, kind == deflated::gzip ? 15 + 16 : -15) != Z_OK) throw std::bad_alloc();
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
    if (out.size() > size) {
      if (kind == deflated::raw) place.fail("corrupt: a member is longer than its directory says");
      place.fail("inflates to more than ", size,
                 " bytes, the limit of this file; a larger tl::read_options::limit allows it");
    }
    if (result == Z_STREAM_END) {
      const bool more = s.avail_in > 0 || !from.empty();
      if (!more) break;
      if (kind == deflated::raw || ::inflateReset(&s) != Z_OK)
        place.fail("corrupt: bytes behind the end of the compressed data");
    } else if (result == Z_BUF_ERROR ||
               (result == Z_OK && s.avail_in == 0 && from.empty() && s.avail_out > 0)) {
      place.fail("truncated: the compressed data has no end");
    } else if (result != Z_OK) {
      place.fail("corrupt: ", s.msg != nullptr ? s.msg : "the compressed data");
    }
  }
  if (kind == deflated::raw && out.size() != size)
    place.fail("corrupt: a member is shorter than its directory says");
  return out;
}
#else
inline std::string inflated(const file_place& place, std::string_view, deflated, std::uint64_t) {
  place.fail("is compressed: define TAPELESS_WITH_ZLIB and link zlib, or link tapeless::zlib");
}
#endif

} // namespace tapeless::detail
