// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// An entry: a kernel in a file, after all that its machine code depends on.
//   "tlkernel" | 4 sizes | source | compiler | lowered | cubin | hash of all that stands before it
//   source   the kernel's name, architecture and options, the length and the hash of the text
// The files of the cache have one entry each, a prepared file has one after another.
#pragma once
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include "compile.hpp"

namespace tapeless::cuda {

// 128 bits, as two chains of 8 bytes a step. It finds damage and tells texts apart; it does not withstand an attack.
inline std::array<std::uint64_t, 2> hash_of(std::string_view s) {
  std::uint64_t a = 0x9e3779b97f4a7c15u ^ s.size(), b = 0xd1b54a32d192ed03u + s.size();
  const auto mixed = [](std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 29);
  };
  for (std::size_t k = 0; k < s.size(); k += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, s.data() + k, s.size() - k < 8 ? s.size() - k : 8);
    a = mixed(a ^ word) + k;
    b = mixed((b << 23 | b >> 41) + word * 0xa0761d6478bd642fu);
  }
  return {mixed(a + b), mixed(b ^ (a << 1))};
}
inline std::string hex(const std::array<std::uint64_t, 2>& h) {
  char s[40];
  std::snprintf(s, sizeof s, "%016llx%016llx", static_cast<unsigned long long>(h[0]),
                static_cast<unsigned long long>(h[1]));
  return s;
}

// What a kernel's machine code is made from.
inline std::string source_of(const std::string& name, const std::string& arch) {
  static const std::string text =
      "text " + hex(hash_of(whole_kernel_text())) + ' ' + std::to_string(whole_kernel_text().size()) + '\n';
  std::string r = text + name + '\n' + arch + '\n';
  for (const std::string& o : compile_options(arch)) (r += o) += '\n';
  return r;
}

struct kernel_entry {
  std::string source;
  kernel_binary binary;
};

inline std::string written(const kernel_entry& e) {
  const std::string* const part[4] = {&e.source, &e.binary.compiler, &e.binary.lowered, &e.binary.cubin};
  std::uint64_t size[4];
  for (int k = 0; k < 4; ++k) size[k] = part[k]->size();
  std::string r("tlkernel", 8);
  r.append(reinterpret_cast<const char*>(size), sizeof size);
  for (const std::string* p : part) r += *p;
  const auto h = hash_of(r);
  return r.append(reinterpret_cast<const char*>(h.data()), sizeof h);
}
// Takes the entry at the head of `bytes`.   @return false if it is damaged: then `bytes` stays
inline bool read_entry(std::string_view& bytes, kernel_entry& e) {
  constexpr std::size_t head = 8 + 4 * sizeof(std::uint64_t), tail = 2 * sizeof(std::uint64_t);
  std::uint64_t size[4];
  if (bytes.size() < head + tail || bytes.substr(0, 8) != "tlkernel") return false;
  std::memcpy(size, bytes.data() + 8, sizeof size);
  std::size_t whole = head;
  for (const std::uint64_t n : size) {
    if (n > bytes.size() - tail - whole) return false;
    whole += n;
  }
  std::array<std::uint64_t, 2> sum;
  std::memcpy(sum.data(), bytes.data() + whole, tail);
  if (sum != hash_of(bytes.substr(0, whole))) return false;
  std::string* const part[4] = {&e.source, &e.binary.compiler, &e.binary.lowered, &e.binary.cubin};
  std::size_t at = head;
  for (int k = 0; k < 4; ++k) {
    part[k]->assign(bytes.substr(at, size[k]));
    at += size[k];
  }
  bytes.remove_prefix(whole + tail);
  return true;
}

// All of a file.   @return false if there is none
inline bool read_file(const std::string& path, std::string& bytes) {
  std::FILE* const f = std::fopen(path.c_str(), "rbe");
  if (f == nullptr) return false;
  bytes.clear();
  char piece[1 << 14];
  for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, f)) > 0;) bytes.append(piece, n);
  const bool whole = std::ferror(f) == 0;
  std::fclose(f);
  return whole;
}
// Other processes see all of the file, or what was there before. mode: who may read it
inline bool write_file(const std::string& path, std::string_view bytes, mode_t mode = 0600) {
  std::string draft = path + ".XXXXXX";
  const int file = mkstemp(draft.data());
  if (file < 0) return false;
  bool done = fchmod(file, mode) == 0;
  while (done && !bytes.empty()) {
    const ssize_t n = write(file, bytes.data(), bytes.size());
    done = n > 0;
    if (done) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  done = close(file) == 0 && done;
  done = done && std::rename(draft.c_str(), path.c_str()) == 0;
  if (!done) unlink(draft.c_str());
  return done;
}

} // namespace tapeless::cuda
