#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// What all formats share: io_error, read_options and the limit on memory, files that are read, files that are replaced
// as a whole.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../core/text.hpp"

namespace tapeless {

// what() is "tapeless: <path>: <what is wrong>".
class io_error : public std::runtime_error {
public:
  io_error(const std::filesystem::path& path, const std::string& problem)
      : std::runtime_error("tapeless: " + path.string() + ": " + problem), path_(path) {}
  const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

// How a file is read.
//   strict: only files of the exact element type, row-major and little-endian; Matrix Market exactly as it is defined.
//   limit: the most bytes of memory for what a file declares without holding it: inflated data, the rows of a sparse
//     matrix, its entries. 0 stands for 64 MiB and 256 bytes for each byte of the file. More is an io_error.
struct read_options {
  bool strict = false;
  std::uint64_t limit = 0;
};

namespace detail {

inline std::string reason(int error) { return std::generic_category().message(error); }

// The file, or the member of an archive, that errors name.
struct file_place {
  const std::filesystem::path& path;
  std::string_view member;

  file_place(const std::filesystem::path& file, std::string_view name = {}) : path(file), member(name) {}
  template <class... X> [[noreturn]] void fail(const X&... problem) const {
    throw io_error(
        path, member.empty() ? joined(problem...) : joined(std::string(member), ": ", joined(problem...)));
  }
};

// What is left of read_options::limit.
class memory_limit {
public:
  // known: bytes of the caller's own arrays; they raise the limit where options has none
  memory_limit(const read_options& options, std::uint64_t file_size, std::uint64_t known = 0)
      : limit_(options.limit != 0 ? options.limit
                                  : added(known, added(64u << 20, multiplied(file_size, 256)))) {}

  // what: the things that n counts, as "rows"
  void take(const file_place& place, std::uint64_t n, std::uint64_t bytes_each, const char* what) {
    used_ = added(used_, multiplied(n, bytes_each));
    if (used_ > limit_)
      place.fail(n, " ", what, ": ", used_, " bytes of memory, and the limit of this file is ", limit_,
                 "; tl::read_options{.limit = ", used_, "} allows it");
  }
  // Bytes that one more array may have.
  std::uint64_t left() const { return limit_ - used_; }

private:
  static std::uint64_t added(std::uint64_t a, std::uint64_t b) {
    std::uint64_t r = 0;
    return __builtin_add_overflow(a, b, &r) ? std::numeric_limits<std::uint64_t>::max() : r;
  }
  static std::uint64_t multiplied(std::uint64_t a, std::uint64_t b) {
    std::uint64_t r = 0;
    return __builtin_mul_overflow(a, b, &r) ? std::numeric_limits<std::uint64_t>::max() : r;
  }
  std::uint64_t limit_, used_ = 0;
};

// Takes the memory of a sparse matrix A and of building it. Rows count only where the type does not state their number.
// more: bytes for each entry while it is built
template <class A>
void take_matrix(const file_place& place, memory_limit& memory, extent_t rows, extent_t entries,
                 std::size_t more) {
  constexpr std::size_t row_end = sizeof(typename A::row_end_type::value_type);
  if (!is_static(A::extents.d[0])) memory.take(place, static_cast<std::uint64_t>(rows), 2 * row_end, "rows");
  memory.take(place, static_cast<std::uint64_t>(entries),
              row_end + sizeof(std::int32_t) + sizeof(typename A::value_type) + more, "entries");
}

struct close_file {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, close_file>;

inline void read_exactly(const std::filesystem::path& path, std::FILE* file, void* to, std::size_t bytes) {
  if (bytes > 0 && std::fread(to, 1, bytes, file) != bytes)
    throw io_error(path, std::ferror(file) != 0 ? "read error" : "truncated");
}

// An open file, at its first byte.
struct input_file {
  file_handle file;
  std::uintmax_t size = 0;

  explicit input_file(const std::filesystem::path& path) {
    std::error_code error; // before it is opened: opening a pipe would wait
    size = std::filesystem::file_size(path, error);
    if (error) throw io_error(path, joined("cannot be read: ", error.message()));
    errno = 0;
    file.reset(std::fopen(path.string().c_str(), "rb"));
    if (!file) throw io_error(path, joined("cannot be read: ", reason(errno)));
  }
};

inline std::string whole_file(const std::filesystem::path& path) {
  const input_file in(path);
  std::string bytes(static_cast<std::size_t>(in.size), '\0');
  read_exactly(path, in.file.get(), bytes.data(), bytes.size());
  return bytes;
}

// f(). An argument_error becomes an io_error: it is about the content of the file.
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

// A file that is written. Bytes go to a new file beside the target. finish() renames it to the target; without finish()
// it is removed. A link stays a link; its target is replaced. The new file takes over the mode of the old one and,
// where the system allows it, the owner. Devices, pipes and open descriptors (/dev/stdout) are written to directly.
class output_file {
public:
  explicit output_file(const std::filesystem::path& path) : path_(path), target_(path) {
    namespace fs = std::filesystem;
    std::error_code error;
    int descriptor = own_descriptor();
    for (int links = 0; descriptor < 0 && fs::is_symlink(fs::symlink_status(target_, error)); ++links) {
      if (links == most_links) fail(ELOOP);
      const fs::path to = fs::read_symlink(target_, error);
      if (error) fail(error.value());
      target_ = target_.parent_path() / to;
      descriptor = own_descriptor();
    }
    struct ::stat old{};
    const bool exists = ::stat(path.c_str(), &old) == 0;
    errno = 0;
    if (descriptor >= 0) {
      std::fflush(nullptr); // what the program wrote to it comes first
      descriptor = ::dup(descriptor);
    } else if (exists && S_ISDIR(old.st_mode)) fail(EISDIR);
    else if (exists && !S_ISREG(old.st_mode)) descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    else descriptor = new_file(exists ? &old : nullptr);
    if (descriptor < 0) fail(errno);
    file_ = ::fdopen(descriptor, "wb");
    if (file_ == nullptr) {
      const int why = errno;
      ::close(descriptor);
      remove_partial();
      fail(why);
    }
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file() {
    if (file_ != nullptr) std::fclose(file_);
    remove_partial();
  }

  void write(const void* bytes, std::size_t n) {
    errno = 0;
    if (n > 0 && std::fwrite(bytes, 1, n, file_) != n) fail(errno);
  }
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  void finish() {
    errno = 0;
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
    if (partial_.empty()) return;
    std::error_code error;
    std::filesystem::rename(partial_, target_, error);
    if (error) fail(error.value());
    partial_.clear();
  }

private:
  static constexpr int most_links = 40;         // as of Linux
  static constexpr std::size_t name_kept = 150; // with what is appended, below the 255 bytes of a name

  [[noreturn]] void fail(int error) const {
    throw io_error(path_, joined("cannot be written: ", reason(error)));
  }
  void remove_partial() {
    std::error_code ignored;
    if (!partial_.empty()) std::filesystem::remove(partial_, ignored);
  }
  // n for /dev/fd/n and /proc/self/fd/n, -1 for other paths.
  int own_descriptor() const {
    namespace fs = std::filesystem;
    const std::string name = target_.filename().string();
    if (name.empty() || name.size() > 9 || name.find_first_not_of("0123456789") != std::string::npos)
      return -1;
    std::error_code no_folder, no_descriptors;
    const fs::path folder = fs::canonical(target_.parent_path(), no_folder);
    const fs::path own = fs::canonical("/dev/fd", no_descriptors);
    return no_folder || no_descriptors || folder != own ? -1 : std::atoi(name.c_str());
  }
  // Makes a file beside the target under a name that no file has. Files that a killed process left do no harm.
  int new_file(const struct ::stat* old) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    int descriptor = -1;
    for (int i = 0; descriptor < 0 && i < 1000; ++i) {
      std::filesystem::path name = target_;
      name.replace_filename(target_.filename().string().substr(0, name_kept) +
                            joined(".", ::getpid(), "-", now, "-", i, ".partial"));
      descriptor =
          ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old != nullptr ? 0600 : 0666);
      if (descriptor >= 0) partial_ = name;
      else if (errno != EEXIST) break;
    }
    if (descriptor >= 0 && old != nullptr) { // the owner first: changing it clears bits of the mode
      const bool foreign = ::geteuid() != old->st_uid || ::getegid() != old->st_gid;
      if (foreign && ::fchown(descriptor, old->st_uid, old->st_gid) != 0) errno = 0;
      if (::fchmod(descriptor, old->st_mode & 07777) != 0) errno = 0;
    }
    return descriptor;
  }

  std::filesystem::path path_, target_, partial_;
  std::FILE* file_ = nullptr;
};

} // namespace detail
} // namespace tapeless
