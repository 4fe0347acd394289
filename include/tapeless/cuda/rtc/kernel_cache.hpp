// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// kernel_cache: a folder of compiled kernels, a file each, for all programs of a user. It is a help, never a need: a file that
// is damaged or of another source does not count, and a folder that cannot be written stays as it is.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>
#include "compile.hpp"
#include "kernel_entry.hpp"
#include "nvrtc.hpp"

namespace tapeless::cuda {

// $TAPELESS_CACHE_DIR, $XDG_CACHE_HOME/tapeless or $HOME/.cache/tapeless, the first that is set; "", for no cache, where none
// is and where $TAPELESS_CACHE is off.
inline std::string cache_folder() {
  if (environment("TAPELESS_CACHE") == "off") return {};
  if (std::string own = environment("TAPELESS_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/tapeless";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/tapeless";
  return {};
}

class kernel_cache {
  std::string folder_;
  long long most_bytes_;

  static constexpr const char* suffix_ = ".kernel";
  std::string path(const std::string& source, const std::string& compiler) const {
    return folder_ + '/' + hex(hash_of(source + compiler)) + suffix_;
  }
  void make_folder() const {
    for (std::size_t at = folder_.find('/', 1);; at = folder_.find('/', at + 1)) {
      mkdir(folder_.substr(0, at).c_str(), 0700); // it may be there
      if (at == std::string::npos) return;
    }
  }

public:
  // folder: "" for no cache. most_bytes: of all files
  explicit kernel_cache(std::string folder = cache_folder(), long long most_bytes = 256ll << 20)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  const std::string& folder() const { return folder_; }
  bool get(const std::string& source, const std::string& compiler, kernel_binary& binary) const {
    if (folder_.empty()) return false;
    const std::string file = path(source, compiler);
    std::string bytes;
    kernel_entry e;
    if (!read_file(file, bytes)) return false;
    std::string_view rest = bytes;
    if (!read_entry(rest, e) || e.source != source || e.binary.compiler != compiler) return false;
    utimensat(AT_FDCWD, file.c_str(), nullptr, 0); // it has been used now
    binary = std::move(e.binary);
    return true;
  }
  void put(const kernel_entry& e) const {
    if (folder_.empty()) return;
    make_folder();
    write_file(path(e.source, e.binary.compiler), written(e));
  }
  // Removes the files that have not been used for longest until all have most_bytes together, and drafts older than an hour,
  // which a process has left.
  void trim() const {
    DIR* const folder = folder_.empty() ? nullptr : opendir(folder_.c_str());
    if (folder == nullptr) return;
    struct found {
      timespec used;
      long long bytes;
      std::string path;
    };
    std::vector<found> files;
    long long bytes = 0;
    for (const dirent* d; (d = readdir(folder)) != nullptr;) {
      const std::string_view name = d->d_name;
      const std::size_t at = name.find(suffix_);
      std::string file = folder_ + '/' + d->d_name;
      struct stat s{};
      if (at == std::string_view::npos || stat(file.c_str(), &s) != 0) continue;
      if (name.size() > at + std::string_view(suffix_).size()) {
        if (s.st_mtim.tv_sec + 3600 < std::time(nullptr)) unlink(file.c_str());
        continue;
      }
      bytes += s.st_size;
      files.push_back({s.st_mtim, s.st_size, std::move(file)});
    }
    closedir(folder);
    std::sort(files.begin(), files.end(), [](const found& a, const found& b) {
      return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
    });
    for (const found& f : files) {
      if (bytes <= most_bytes_) return;
      if (unlink(f.path.c_str()) == 0) bytes -= f.bytes;
    }
  }
};

} // namespace tapeless::cuda
