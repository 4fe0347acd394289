#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Zip archives below 4 GB, as NumPy's .npz files are: [local header, data]..., the central directory, the end record.
// Members are found by the directory alone. They are read stored or (with zlib) deflated, and written stored. Every
// offset and size is checked against the file before it is used. Every member's CRC-32 is checked before its bytes are
// returned.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../core/text.hpp"
#include "file.hpp"
#include "inflate.hpp"

namespace tapeless::detail::zip {

inline constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xedb88320u : 0u);
    table[i] = c;
  }
  return table;
}();
// crc32(b, crc32(a)) is the CRC-32 of a followed by b.
inline std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) {
  std::uint32_t c = ~before;
  for (const char byte : bytes) c = (c >> 8) ^ crc_table[(c ^ static_cast<unsigned char>(byte)) & 255];
  return ~c;
}

inline constexpr std::uint32_t local_signature = 0x04034b50, directory_signature = 0x02014b50,
                               end_signature = 0x06054b50, all_ones = 0xffffffff;
inline constexpr std::size_t local_size = 30, directory_size = 46, end_size = 22, longest_comment = 0xffff;

struct member {
  std::string_view name;
  std::uint32_t method = 0, crc = 0;
  std::size_t packed = 0, size = 0, offset = 0;
};

class archive {
public:
  // @pre bytes, the whole file, and path outlive the archive
  archive(const std::filesystem::path& path, std::string_view bytes) : path_(path), bytes_(bytes) {
    const std::size_t end = find_end();
    const std::size_t count = u16(end + 10), size = u32(end + 12);
    directory_ = u32(end + 16);
    if (count == 0xffff || size == all_ones || directory_ == all_ones)
      fail("a zip64 archive: only those below 4 GB are read");
    if (u16(end + 4) != 0 || u16(end + 6) != 0 || u16(end + 8) != count)
      fail("an archive of several parts is not read");
    if (directory_ > end || size > end - directory_)
      fail("truncated or corrupt: the directory is not in the file");
    std::size_t at = directory_;
    for (std::size_t i = 0; i < count; ++i) at = read_entry(at, directory_ + size);
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const member& m : members_) result.emplace_back(m.name);
    return result;
  }
  // "; it has a, b", for messages.
  std::string first_names() const {
    constexpr std::size_t most = 8;
    std::string result;
    for (std::size_t i = 0; i < members_.size() && i < most; ++i)
      result += (i == 0 ? "; it has " : ", ") + std::string(members_[i].name);
    return members_.size() > most ? result + ", ..." : result;
  }
  // The bytes of a member.
  std::string read(std::string_view name, memory_limit& memory) const {
    const member* const m = find(name);
    if (m == nullptr) fail("has no member ", std::string(name), first_names());
    const std::string who = joined(std::string(name), ": ");
    const std::size_t at = m->offset; // the local header is not read for sizes: it may lack them
    if (at > directory_ || directory_ - at < local_size || u32(at) != local_signature)
      fail(who, "corrupt: no local header");
    const std::size_t head = local_size + u16(at + 26) + u16(at + 28);
    if (head > directory_ - at || m->packed > directory_ - at - head)
      fail(who, "truncated or corrupt: its bytes are not in the file");
    if (bytes_.substr(at + local_size, u16(at + 26)) != m->name) fail(who, "corrupt: another name");
    const std::string_view packed = bytes_.substr(at + head, m->packed);
    std::string result;
    if (m->method == 0) {
      if (m->packed != m->size) fail(who, "corrupt: stored with two sizes");
      result = packed;
    } else if (m->method == 8) {
      if (m->size / 1032 > m->packed) fail(who, "corrupt: longer than its compressed bytes can be");
      memory.take({path_, name}, m->size, 1, "inflated bytes");
      result = inflated(path_, packed, deflated::raw, m->size);
    } else {
      fail(who, "compression method ", m->method, ": stored and deflated are read");
    }
    if (crc32(result) != m->crc) fail(who, "corrupt: its CRC-32 differs");
    return result;
  }

private:
  template <class... X> [[noreturn]] void fail(const X&... problem) const {
    throw io_error(path_, joined(problem...));
  }
  // @pre at + 2 (4) <= bytes_.size()
  std::uint32_t u16(std::size_t at) const {
    return static_cast<unsigned char>(bytes_[at]) | std::uint32_t{static_cast<unsigned char>(bytes_[at + 1])}
                                                        << 8;
  }
  std::uint32_t u32(std::size_t at) const { return u16(at) | u16(at + 2) << 16; }

  // The place of the end record. A comment of any length may follow it.
  std::size_t find_end() const {
    if (bytes_.size() >= 4 && u32(0) != local_signature && u32(0) != end_signature)
      fail("bad magic: no zip archive");
    for (std::size_t comment = 0; comment <= longest_comment && comment + end_size <= bytes_.size();
         ++comment) {
      const std::size_t at = bytes_.size() - end_size - comment;
      if (u32(at) == end_signature && u16(at + 20) == comment) return at;
    }
    fail("truncated: the archive has no end record");
  }
  std::size_t read_entry(std::size_t at, std::size_t end) {
    if (end - at < directory_size || u32(at) != directory_signature) fail("corrupt: the directory");
    const std::size_t name = u16(at + 28), length = directory_size + name + u16(at + 30) + u16(at + 32);
    if (end - at < length) fail("corrupt: the directory");
    const member m{bytes_.substr(at + directory_size, name),
                   u16(at + 10),
                   u32(at + 16),
                   u32(at + 20),
                   u32(at + 24),
                   u32(at + 42)};
    const std::string who = joined(std::string(m.name), ": ");
    if ((u16(at + 8) & 1) != 0) fail(who, "encrypted members are not read");
    if (m.packed == all_ones || m.size == all_ones || m.offset == all_ones)
      fail(who, "a zip64 archive: only those below 4 GB are read");
    if (!by_name_.emplace(m.name, members_.size()).second) fail(who, "corrupt: the member stands twice");
    members_.push_back(m);
    return at + length;
  }
  const member* find(std::string_view name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &members_[at->second];
  }

  const std::filesystem::path& path_;
  std::string_view bytes_;
  std::size_t directory_ = 0;
  std::vector<member> members_; // in the order of the directory
  std::map<std::string_view, std::size_t> by_name_;
};

// A member to be written: the pieces in sequence.
struct stored_member {
  std::string name;
  std::vector<std::string_view> pieces;
};

// Replaces the file as a whole, as npy_write does.
inline void write_stored(const std::filesystem::path& path, const std::vector<stored_member>& members) {
  std::uint64_t total = 0;
  for (const stored_member& m : members) {
    total += local_size + directory_size + 2 * m.name.size();
    for (const std::string_view piece : m.pieces) total += piece.size();
  }
  if (total + end_size >= all_ones) throw io_error(path, "cannot be written: an archive of 4 GB or more");
  if (members.size() >= 0xffff)
    throw io_error(path, "cannot be written: an archive of 65535 members or more");

  output_file file(path);
  std::string record;
  const auto number = [&record](std::size_t x, int bytes) {
    for (int i = 0; i < bytes; ++i) record += static_cast<char>(x >> (8 * i) & 255);
  };
  // What the local header and the directory share: version 2.0, no flags, stored, 1980-01-01 00:00.
  const auto common = [&](std::uint32_t crc, std::size_t size, const std::string& name) {
    number(20, 2);
    number(0, 2);
    number(0, 2);
    number(0, 2);
    number(0x21, 2);
    number(crc, 4);
    number(size, 4);
    number(size, 4);
    number(name.size(), 2);
    number(0, 2);
  };
  std::string directory;
  std::size_t offset = 0;
  for (const stored_member& m : members) {
    std::uint32_t crc = 0;
    std::size_t size = 0;
    for (const std::string_view piece : m.pieces) {
      crc = crc32(piece, crc);
      size += piece.size();
    }
    record.clear();
    number(local_signature, 4);
    common(crc, size, m.name);
    file.write(record + m.name);
    for (const std::string_view piece : m.pieces) file.write(piece);
    record.clear();
    number(directory_signature, 4);
    number(20, 2);
    common(crc, size, m.name);
    number(0, 2 + 2 + 2); // no comment, disk 0, no attributes
    number(0, 4);
    number(offset, 4);
    directory += record + m.name;
    offset += local_size + m.name.size() + size;
  }
  record.clear();
  number(end_signature, 4);
  number(0, 2 + 2);
  number(members.size(), 2);
  number(members.size(), 2);
  number(directory.size(), 4);
  number(offset, 4);
  number(0, 2);
  file.write(directory);
  file.write(record);
  file.finish();
}

} // namespace tapeless::detail::zip
