// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// kernel_store: the compiled kernels of a process.
//   store.prepare(names, "sm_90")       afterwards all of them are there. A kernel is looked for in memory, in prepared files,
//                                       in the cache of the user; what is nowhere is compiled, by several threads at once
//   store.get(name, "sm_90")            one of them; it stays where it is for the life of the store
//   store.write(path, names, archs)     a prepared file, to ship: a program that reads it needs no compiler
//   store.read(path)                    takes the kernels of a prepared file. Those of another version of the library do not
//                                       count
// names: as kernel_name<K>() says. Any number of threads may call these at once; they throw cuda::error.
// kernels() is the one store of the process. Its environment:
//   TAPELESS_KERNELS     a prepared file
//   TAPELESS_CACHE       off: there is no cache.  TAPELESS_CACHE_DIR: its folder, see kernel_cache.hpp
//   TAPELESS_NVRTC       the compiler's path, see nvrtc.hpp
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#include "../../core/error.hpp"
#include "compile.hpp"
#include "error.hpp"
#include "kernel_cache.hpp"
#include "kernel_entry.hpp"
#include "nvrtc.hpp"

namespace tapeless::cuda {

struct store_options {
  std::string cache = cache_folder(); // "" for none
  long long cache_bytes = 256ll << 20;
  std::string nvrtc; // its path; "" for where libraries are
  int threads = 0;   // that compile; 0: as many as there are cores
};

class kernel_store {
  store_options options_;
  kernel_cache cache_;
  std::mutex looking_, compiling_; // compiling_ is taken first
  std::optional<nvrtc> nvrtc_;
  std::map<std::string, kernel_binary> there_, prepared_; // by source

  const kernel_binary* find(const std::string& source) {
    const std::lock_guard lock(looking_);
    if (const auto at = there_.find(source); at != there_.end()) return &at->second;
    if (auto at = prepared_.find(source); at != prepared_.end())
      return &there_.emplace(source, std::move(at->second)).first->second;
    return nullptr;
  }
  // @pre compiling_ is locked
  const nvrtc& compiler() {
    if (!nvrtc_) nvrtc_.emplace(options_.nvrtc);
    return *nvrtc_;
  }
  void compile_all(const std::vector<std::pair<std::string, std::string>>& missing, const std::string& arch) {
    const nvrtc& with = compiler();
    with.require(arch);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex failing;
    const auto work = [&] {
      for (std::size_t k; (k = next++) < missing.size();) try {
          const auto& [name, source] = missing[k];
          kernel_entry e{source, {}};
          const bool cached = cache_.get(source, with.name(), e.binary);
          if (!cached) {
            e.binary = compile(with, name, arch);
            cache_.put(e);
          }
          const std::lock_guard lock(looking_);
          compiled_ += cached ? 0 : 1;
          there_.emplace(source, std::move(e.binary));
        } catch (...) {
          const std::lock_guard lock(failing);
          failed = std::current_exception();
          next = missing.size();
        }
    };
    std::size_t threads = options_.threads > 0 ? static_cast<std::size_t>(options_.threads)
                                               : std::thread::hardware_concurrency();
    if (threads > missing.size()) threads = missing.size();
    std::vector<std::thread> team;
    team.reserve(threads); // threads that run are not lost
    while (team.size() + 1 < threads) try {
        team.emplace_back(work);
      } catch (const std::system_error&) { break; } // no more threads: those that are there do
    work();
    for (std::thread& t : team) t.join();
    if (failed) std::rethrow_exception(failed);
  }
  static void require_archs(const std::vector<std::string>& archs) {
    for (const std::string& arch : archs)
      if (arch.size() < 5 || arch.compare(0, 3, "sm_") != 0 ||
          arch.find_first_not_of("0123456789", 3) != std::string::npos)
        throw argument_error(
            "tapeless: cuda::prepare(program, path, archs): an architecture is sm_ and digits, as sm_90, not " +
            arch);
    if (archs.empty())
      throw argument_error(
          "tapeless: cuda::prepare(program, path, archs): at least one architecture, as sm_90");
  }
  int compiled_ = 0;

public:
  explicit kernel_store(store_options options = {})
      : options_(std::move(options)), cache_(options_.cache, options_.cache_bytes) {}
  kernel_store(const kernel_store&) = delete;

  void prepare(const std::vector<std::string>& names, const std::string& arch) {
    std::vector<std::pair<std::string, std::string>> missing;
    const auto look = [&] {
      missing.clear();
      for (const std::string& name : names) {
        std::string source = source_of(name, arch);
        bool twice = false;
        for (const auto& m : missing) twice = twice || m.first == name;
        if (!twice && find(source) == nullptr) missing.emplace_back(name, std::move(source));
      }
      return missing.empty();
    };
    if (look()) return;
    const std::lock_guard lock(compiling_);
    if (look()) return; // another thread has compiled them meanwhile
    const int before = compiled_;
    compile_all(missing, arch);
    if (compiled_ != before) cache_.trim();
  }
  const kernel_binary& get(const std::string& name, const std::string& arch) {
    const std::string source = source_of(name, arch);
    if (const kernel_binary* const there = find(source)) return *there;
    prepare({name}, arch);
    return *find(source);
  }
  // @return how many of its kernels are of this version of the library
  int read(const std::string& path) {
    std::string bytes;
    if (!read_file(path, bytes)) throw error("read", "prepared kernels", 0, path + ": it cannot be read");
    const std::string source = source_of({}, {}), text = source.substr(0, source.find('\n') + 1);
    int taken = 0;
    const std::lock_guard lock(looking_);
    for (std::string_view rest = bytes; !rest.empty();) {
      kernel_entry e;
      if (!read_entry(rest, e))
        throw error("read", "prepared kernels", 0,
                    path + (rest.size() == bytes.size()
                                ? ": it is no file of cuda::prepare, or damaged at its begin"
                                : ": damaged at byte " + std::to_string(bytes.size() - rest.size())));
      if (e.source.compare(0, text.size(), text) != 0) continue;
      prepared_.emplace(std::move(e.source), std::move(e.binary));
      ++taken;
    }
    return taken;
  }
  // Errors: argument_error where an architecture is no sm_ and digits, or there is none; cuda::error.
  void write(const std::string& path, const std::vector<std::string>& names,
             const std::vector<std::string>& archs) {
    require_archs(archs);
    std::string bytes;
    for (std::size_t k = 0; k < archs.size(); ++k) {
      const std::string& arch = archs[k];
      if (std::find(archs.begin(), archs.begin() + static_cast<std::ptrdiff_t>(k), arch) !=
          archs.begin() + static_cast<std::ptrdiff_t>(k))
        continue;
      prepare(names, arch);
      for (const std::string& name : names) bytes += written({source_of(name, arch), get(name, arch)});
    }
    if (!write_file(path, bytes, 0644))
      throw error("prepare", "prepared kernels", 0, path + ": it cannot be written");
  }
  // Kernels that this store has compiled: neither prepared nor found in the cache.
  int compiled() {
    const std::lock_guard lock(looking_);
    return compiled_;
  }
};

inline kernel_store& kernels() {
  static kernel_store store;
  static const bool read = [] {
    const std::string prepared = environment("TAPELESS_KERNELS");
    if (!prepared.empty()) store.read(prepared);
    return !prepared.empty();
  }();
  static_cast<void>(read);
  return store;
}

} // namespace tapeless::cuda
