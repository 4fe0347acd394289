// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/io/matrix_market.hpp>
#include <tapeless/io/npz.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "scratch.hpp"

namespace tl = tapeless;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
std::string get(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
unsigned mode_of(const fs::path& path) {
  struct ::stat s{};
  REQUIRE(::stat(path.c_str(), &s) == 0);
  return s.st_mode & 07777u;
}

// Every writer, and what it says; empty if it succeeds.
struct writer {
  const char* name;
  std::function<void(const fs::path&)> write;
  std::string operator()(const fs::path& path) const {
    try {
      write(path);
      return "";
    } catch (const tl::io_error& error) {
      CHECK(error.path() == path);
      return std::string(error.what()).substr(("tapeless: " + path.string() + ": ").size());
    }
  }
};
const float numbers[] = {1, 2, 3};
using matrix = tl::csr<float, 2, 2, 1>;
using vector = tl::tensor<float, 3>;
const writer writers[] = {
    {"npy_write", [](const fs::path& p) { tl::npy_write(p, numbers, std::vector<std::int64_t>{3}); }},
    {"save_npz of a tree",
     [](const fs::path& p) {
       float x[3] = {1, 2, 3};
       tl::save_npz(p, vector(x));
     }},
    {"save_npz",
     [](const fs::path& p) { tl::save_npz(p, *tl::csr_from_triplets<matrix>(2, 2, {{0, 1, 3}})); }},
    {"save_matrix_market", [](const fs::path& p) {
       tl::save_matrix_market(p, *tl::csr_from_triplets<matrix>(2, 2, {{0, 1, 3}}));
     }}};

// A device that no fault of ours can replace for the whole system: one in the folder, or that of /dev where only others
// may rename. Empty where there is neither.
fs::path device(const scratch& dir, const char* name, unsigned minor) {
  const fs::path own = dir / name;
  if (::geteuid() != 0) return fs::path("/dev") / name;
  if (::mknod(own.c_str(), S_IFCHR | 0600, ::makedev(1, minor)) != 0) return {};
  const int opened = ::open(own.c_str(), O_WRONLY);
  if (opened < 0) return {};
  ::close(opened);
  return own;
}

// What a writer writes to a file of no special kind.
std::string written(const writer& w, const scratch& dir) {
  w.write(dir / "plain");
  const std::string bytes = get(dir / "plain");
  fs::remove(dir / "plain");
  REQUIRE(bytes.size() > 20);
  return bytes;
}

} // namespace

TEST_CASE("files: a link stays a link, and what it points to is replaced") {
  for (const writer& w : writers) {
    CAPTURE(w.name);
    const scratch dir;
    const std::string bytes = written(w, dir);
    fs::create_directories(dir / "a");
    fs::create_directories(dir / "b");
    put(dir / "b/file", "old");
    fs::create_symlink("../b/file", dir / "a/link");
    fs::create_symlink("a/link", dir / "chain");
    fs::create_symlink(dir / "b/new", dir / "dangling"); // the file is made
    for (const auto& [link, target] :
         {std::pair{"chain", "b/file"}, {"a/link", "b/file"}, {"dangling", "b/new"}}) {
      put(dir / target, "old");
      if (std::string(link) == "dangling") fs::remove(dir / target);
      CHECK(w(dir / link) == "");
      CHECK(fs::is_symlink(fs::symlink_status(dir / link)));
      CHECK(fs::is_regular_file(fs::symlink_status(dir / target)));
      CHECK(get(dir / target) == bytes);
    }
    CHECK(fs::is_symlink(fs::symlink_status(dir / "a/link")));
    CHECK(dir.files() == 4); // no temporary is left
    CHECK(std::distance(fs::directory_iterator(dir / "a"), {}) == 1);
    CHECK(std::distance(fs::directory_iterator(dir / "b"), {}) == 2);
    fs::create_symlink("loop", dir / "loop");
    CHECK(w(dir / "loop").starts_with("cannot be written: "));
  }
}

TEST_CASE("files: a file that is replaced keeps its mode, a new one has that of the process") {
  const ::mode_t before = ::umask(027);
  for (const writer& w : writers) {
    CAPTURE(w.name);
    const scratch dir;
    CHECK(w(dir / "new") == "");
    CHECK(mode_of(dir / "new") == 0640);
    for (const unsigned mode : {0600u, 0666u, 0755u, 0444u, 0664u}) {
      put(dir / "old", "old");
      REQUIRE(::chmod((dir / "old").c_str(), mode) == 0);
      CHECK(w(dir / "old") == "");
      CHECK(mode_of(dir / "old") == mode);
      CHECK(get(dir / "old") == get(dir / "new"));
      fs::remove(dir / "old");
    }
  }
  ::umask(before);
}

TEST_CASE("files: devices, pipes and open descriptors are written to as they are") {
  for (const writer& w : writers) {
    CAPTURE(w.name);
    const scratch dir;
    const std::string bytes = written(w, dir);
    const auto is_device = [](const char* path) {
      struct ::stat s{};
      return ::stat(path, &s) == 0 && S_ISCHR(s.st_mode);
    };
    CHECK(w("/dev/null") == "");
    CHECK(is_device("/dev/null"));

    REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
    const int reader = ::open((dir / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    CHECK(w(dir / "pipe") == "");
    std::string found(bytes.size() + 1, '\0');
    CHECK(::read(reader, found.data(), found.size()) == static_cast<::ssize_t>(bytes.size()));
    found.pop_back();
    CHECK(found == bytes);
    CHECK(fs::is_fifo(dir / "pipe"));
    ::close(reader);

    int ends[2] = {};
    REQUIRE(::pipe(ends) == 0);
    CHECK(w("/dev/fd/" + std::to_string(ends[1])) == "");
    found.assign(bytes.size() + 1, '\0');
    CHECK(::read(ends[0], found.data(), found.size()) == static_cast<::ssize_t>(bytes.size()));
    found.pop_back();
    CHECK(found == bytes);
    ::close(ends[0]);
    ::close(ends[1]);

    // as in `program > file`: what stands there stays, the name too
    const int out = ::open((dir / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(::write(out, "before ", 7) == 7);
    fs::create_symlink("/proc/self/fd/" + std::to_string(out), dir / "to_out"); // as /dev/stdout is
    CHECK(w(dir / "to_out") == "");
    REQUIRE(::write(out, " behind", 7) == 7);
    ::close(out);
    CHECK(get(dir / "out") == "before " + bytes + " behind");
    CHECK(dir.files() == 3);
  }
}

TEST_CASE("files: a device that is full is an error") {
  for (const writer& w : writers) {
    CAPTURE(w.name);
    const scratch dir;
    const fs::path full = device(dir, "full", 7);
    if (full.empty()) continue;
    CHECK(w(full) == "cannot be written: No space left on device");
    CHECK(fs::is_character_file(full));
  }
}

TEST_CASE("files: a write that the disk stops leaves the old file, its mode and no temporary one") {
  for (const writer& w : writers) {
    CAPTURE(w.name);
    const scratch dir;
    put(dir / "x", "old");
    REQUIRE(::chmod((dir / "x").c_str(), 0640) == 0);
    fs::create_symlink("x", dir / "link");
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit then fails with EFBIG
    const rlimit small{16, limit.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string by_name = w(dir / "x"), by_link = w(dir / "link");
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, handler);
    CHECK(by_name.starts_with("cannot be written: "));
    CHECK(by_link.starts_with("cannot be written: "));
    CHECK(get(dir / "x") == "old");
    CHECK(mode_of(dir / "x") == 0640);
    CHECK(dir.files() == 2);
  }
}

TEST_CASE(
    "files: what a killed process has left is no obstacle, and names may be as long as the system allows") {
  const scratch dir;
  const std::string name = "x", longest(255, 'n');
  for (int i = 0; i < 1000; ++i) put(dir / (name + "." + std::to_string(i) + ".partial").c_str(), "");
  for (const writer& w : writers) {
    CAPTURE(w.name);
    CHECK(w(dir / "x") == "");
    CHECK(w(dir / longest.c_str()) == "");
    CHECK(get(dir / longest.c_str()) == get(dir / "x"));
  }
  CHECK(dir.files() == 1002);
}

TEST_CASE("files: a folder, and a path that cannot be, are errors") {
  for (const writer& w : writers) {
    CAPTURE(w.name);
    const scratch dir;
    fs::create_directories(dir / "folder" / "inside");
    CHECK(w(dir / "folder") == "cannot be written: Is a directory");
    CHECK(w(dir / "no/such") == "cannot be written: No such file or directory");
    CHECK(w(dir / "folder/").starts_with("cannot be written: "));
    CHECK(dir.files() == 1);
  }
}

TEST_CASE(
    "files: the limit is that of read_options, or 64 MiB and 256 bytes a byte of the file, and never wraps around") {
  const fs::path path = "x";
  const auto says = [&](tl::detail::memory_limit memory, std::uint64_t n, std::uint64_t each) -> std::string {
    try {
      memory.take(path, n, each, "rows");
      return "";
    } catch (const tl::io_error& error) { return error.what(); }
  };
  using tl::detail::memory_limit;
  CHECK(says(memory_limit({}, 0), 1 << 20, 64) == "");
  CHECK(says(memory_limit({}, 60), 200000000, 8) ==
        "tapeless: x: 200000000 rows: 1600000000 bytes of memory, and the limit of this file is 67124224; "
        "tl::read_options{.limit = 1600000000} allows it");
  CHECK(says(memory_limit({}, 1 << 20), 320 << 20, 1) == "");
  CHECK(says(memory_limit({}, 1 << 20), (320 << 20) + 1, 1) != "");
  CHECK(says(memory_limit({.limit = 100}, 1 << 20), 100, 1) == "");
  CHECK(says(memory_limit({.limit = 100}, 1 << 20), 101, 1) != "");
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  CHECK(says(memory_limit({}, 1 << 20), all, 2) != "");
  CHECK(says(memory_limit({}, all), 1 << 20, 1 << 20) == "");
  CHECK(says(memory_limit({.limit = all}, 0), all, 1) == "");
}
