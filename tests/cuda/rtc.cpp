// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Kernels by name: compiled once, kept in memory, in a folder and in files to ship. What compiles is skipped where there is no
// NVRTC; TAPELESS_NO_SKIP says that there is one.
#include <support/kernel_facts.hpp>

#include <tapeless/cuda/kernels/matmul.hpp>
#include <tapeless/cuda/kernels/select.hpp>
#include <tapeless/cuda/kernels/shape.hpp>
#include <tapeless/cuda/rtc/kernel_name.hpp>
#include <tapeless/cuda/rtc/kernel_store.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cuda = tapeless::cuda;
namespace fs = std::filesystem;

namespace {

// A folder of the test, gone at its end.
struct scratch {
  std::string path;
  scratch() : path(fs::temp_directory_path() / "tapeless_rtc_XXXXXX") {
    REQUIRE(mkdtemp(path.data()) != nullptr);
  }
  scratch(const scratch&) = delete;
  ~scratch() { fs::remove_all(path); }
  std::string file(const char* name) const { return path + '/' + name; }
  std::vector<std::string> files() const {
    std::vector<std::string> r;
    for (const auto& f : fs::directory_iterator(path)) r.push_back(f.path().string());
    return r;
  }
};
// An environment variable, as it was at the end. nullptr: not set
class set_variable {
  std::string name_;
  std::optional<std::string> was_;

public:
  set_variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name); old != nullptr) was_ = old;
    if (value != nullptr) setenv(name, value, 1);
    else unsetenv(name);
  }
  set_variable(const set_variable&) = delete;
  ~set_variable() {
    if (was_) setenv(name_.c_str(), was_->c_str(), 1);
    else unsetenv(name_.c_str());
  }
};

template <class F> cuda::error error_of(F&& f) {
  try {
    f();
  } catch (const cuda::error& e) { return e; }
  return {"", "", 0, "none"};
}
bool says(const cuda::error& e, const char* words) {
  return std::string_view(e.what()).find(words) != std::string_view::npos;
}

const std::string pad = cuda::kernel_name<cuda::pad_kernel<float>>(),
                  flip = cuda::kernel_name<cuda::flip_kernel<double>>();

// As if it had been compiled
cuda::kernel_entry entry(const std::string& name, std::size_t bytes = 100) {
  return {cuda::source_of(name, "sm_90"), {"compiler 1", "lowered " + name, std::string(bytes, 'c')}};
}
bool is(const cuda::kernel_binary& a, const cuda::kernel_binary& b) {
  return a.compiler == b.compiler && a.lowered == b.lowered && a.cubin == b.cubin;
}
void put_bytes(const std::string& path, std::string_view bytes) { REQUIRE(cuda::write_file(path, bytes)); }
std::string bytes_of(const std::string& path) {
  std::string r;
  REQUIRE(cuda::read_file(path, r));
  return r;
}
// store_options: no cache, a compiler that is not there
cuda::store_options alone() {
  cuda::store_options o;
  o.cache = "";
  o.nvrtc = "/nowhere/libnvrtc.so";
  return o;
}
cuda::store_options with_cache(const std::string& folder) {
  cuda::store_options o;
  o.cache = folder;
  return o;
}
#define SKIP_WITHOUT_NVRTC                         \
  if (support::compiler_of_kernels() == nullptr) { \
    MESSAGE("skipped: there is no NVRTC");         \
    return;                                        \
  }

} // namespace

TEST_CASE("a kernel has the same name from each compiler") {
  CHECK(pad == "tapeless::cuda::run_kernel<tapeless::cuda::pad_kernel<float>>");
  CHECK(cuda::kernel_name<cuda::matmul_kernel<float, tapeless::bf16>>() ==
        "tapeless::cuda::run_kernel<tapeless::cuda::matmul_kernel<float,tapeless::bf16>>");
  CHECK(cuda::kernel_name<cuda::group_counts_kernel>() ==
        "tapeless::cuda::run_kernel<tapeless::cuda::group_counts_kernel>");
  CHECK(cuda::kernel_name<cuda::positions_kernel<bool, 1>>() ==
        "tapeless::cuda::run_kernel<tapeless::cuda::positions_kernel<bool,1>>");
  CHECK(cuda::kernel_name<cuda::combine_kernel<double, 0>>() ==
        "tapeless::cuda::run_kernel<tapeless::cuda::combine_kernel<double,0>>");
  CHECK(cuda::kernel_name<cuda::cut_kernel<std::uint64_t>>() ==
        "tapeless::cuda::run_kernel<tapeless::cuda::cut_kernel<std::uint64_t>>");
  CHECK(cuda::kernel_name<cuda::cut_kernel<std::uint32_t>>() ==
        "tapeless::cuda::run_kernel<tapeless::cuda::cut_kernel<unsigned>>");
}

TEST_CASE("an entry is what was written, and not if a byte is another or missing") {
  const cuda::kernel_entry e = entry(pad, 9);
  const std::string bytes = cuda::written(e);
  const auto reads = [](std::string_view s, cuda::kernel_entry& r) {
    return cuda::read_entry(s, r) && s.empty();
  };
  cuda::kernel_entry r;
  REQUIRE(reads(bytes, r));
  CHECK(r.source == e.source);
  CHECK(is(r.binary, e.binary));
  int taken = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    taken += reads(bytes.substr(0, k), r) ? 1 : 0;
    for (const int bit : {1, 16, 128}) {
      std::string other = bytes;
      other[k] = static_cast<char>(other[k] ^ bit);
      taken += reads(other, r) ? 1 : 0;
    }
  }
  CHECK(taken == 0);
  // one after another
  const std::string two = bytes + cuda::written(entry(flip));
  std::string_view rest = two;
  REQUIRE(cuda::read_entry(rest, r));
  REQUIRE(cuda::read_entry(rest, r));
  CHECK(r.source == entry(flip).source);
  CHECK(rest.empty());
}
TEST_CASE("a source says name, architecture, options and text") {
  const std::string s = cuda::source_of(pad, "sm_90");
  CHECK(s != cuda::source_of(flip, "sm_90"));
  CHECK(s != cuda::source_of(pad, "sm_80"));
  CHECK(s.find("-std=c++20") != std::string::npos);
  CHECK(s.find(cuda::hex(cuda::hash_of(cuda::whole_kernel_text()))) != std::string::npos);
  CHECK(cuda::hash_of("a") != cuda::hash_of("b"));
  CHECK(cuda::hash_of("a") != cuda::hash_of(std::string_view("a\0", 2)));
  CHECK(cuda::hash_of("01234567a") != cuda::hash_of("a01234567"));
}

TEST_CASE("the cache has what was put, of that source and compiler alone") {
  const scratch folder;
  const cuda::kernel_cache cache(folder.file("a/b"));
  cuda::kernel_binary got;
  CHECK_FALSE(cache.get(entry(pad).source, "compiler 1", got));
  cache.put(entry(pad));
  REQUIRE(cache.get(entry(pad).source, "compiler 1", got));
  CHECK(is(got, entry(pad).binary));
  CHECK_FALSE(cache.get(entry(flip).source, "compiler 1", got));
  CHECK_FALSE(cache.get(entry(pad).source, "compiler 2", got));

  // an entry under the name of another one
  const scratch other;
  const cuda::kernel_cache second(other.path);
  second.put(entry(flip));
  const std::string file = other.files().at(0);
  fs::copy_file(fs::directory_iterator(folder.file("a/b"))->path(), file,
                fs::copy_options::overwrite_existing);
  CHECK_FALSE(second.get(entry(flip).source, "compiler 1", got));
  second.put(entry(flip));
  CHECK(second.get(entry(flip).source, "compiler 1", got));
  cuda::kernel_entry newer = entry(flip);
  newer.binary.compiler = "compiler 2";
  put_bytes(file, cuda::written(newer));
  CHECK_FALSE(second.get(entry(flip).source, "compiler 1", got));
  second.put(entry(flip));
  // damaged
  std::string bytes = bytes_of(file);
  bytes[bytes.size() / 2] ^= 1;
  put_bytes(file, bytes);
  CHECK_FALSE(second.get(entry(flip).source, "compiler 1", got));
  put_bytes(file, "");
  CHECK_FALSE(second.get(entry(flip).source, "compiler 1", got));
}
TEST_CASE("a folder that cannot be made, or no folder, is no cache and no error") {
  const scratch folder;
  put_bytes(folder.file("file"), "x");
  cuda::kernel_binary got;
  for (const std::string& none : {folder.file("file/under"), std::string()}) {
    const cuda::kernel_cache cache(none);
    cache.put(entry(pad));
    cache.trim();
    CHECK_FALSE(cache.get(entry(pad).source, "compiler 1", got));
  }
  CHECK(folder.files().size() == 1);
}
TEST_CASE("the folder is the first of TAPELESS_CACHE_DIR, XDG_CACHE_HOME, HOME that is set") {
  const set_variable on("TAPELESS_CACHE", nullptr), own("TAPELESS_CACHE_DIR", "/own"),
      xdg("XDG_CACHE_HOME", "/xdg"), home("HOME", "/home/me");
  CHECK(cuda::cache_folder() == "/own");
  const set_variable no_own("TAPELESS_CACHE_DIR", "");
  CHECK(cuda::cache_folder() == "/xdg/tapeless");
  const set_variable no_xdg("XDG_CACHE_HOME", nullptr);
  CHECK(cuda::cache_folder() == "/home/me/.cache/tapeless");
  const set_variable no_home("HOME", nullptr);
  CHECK(cuda::cache_folder().empty());
  const set_variable own_again("TAPELESS_CACHE_DIR", "/own"), off("TAPELESS_CACHE", "off");
  CHECK(cuda::cache_folder().empty());
}
TEST_CASE("the cache keeps what was used last, within its size") {
  const scratch folder;
  const long long each = static_cast<long long>(cuda::written(entry("kernel 0", 1000)).size());
  const cuda::kernel_cache cache(folder.path, 3 * each);
  cuda::kernel_binary got;
  const auto name = [](int k) { return "kernel " + std::to_string(k); };
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  for (int k = 0; k < 5; ++k) {
    cache.put(entry(name(k), 1000));
    wait();
  }
  CHECK(cache.get(entry(name(1), 1000).source, "compiler 1", got)); // used now
  put_bytes(folder.file("other.txt"), "not ours");
  put_bytes(folder.file("old.kernel.ABCDEF"), "a draft that was left");
  put_bytes(folder.file("new.kernel.ABCDEF"), "a draft of now");
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  REQUIRE(utimensat(AT_FDCWD, folder.file("old.kernel.ABCDEF").c_str(), long_ago, 0) == 0);
  cache.trim();
  std::string there;
  for (int k = 0; k < 5; ++k) there += cache.get(entry(name(k), 1000).source, "compiler 1", got) ? '1' : '0';
  CHECK(there == "01011");
  CHECK(fs::exists(folder.file("other.txt")));
  CHECK(fs::exists(folder.file("new.kernel.ABCDEF")));
  CHECK_FALSE(fs::exists(folder.file("old.kernel.ABCDEF")));
}
TEST_CASE("processes that write one entry at once never see a part of it") {
  const scratch folder;
  const cuda::kernel_entry e = entry(pad, 200000);
  const cuda::kernel_cache cache(folder.path);
  cache.put(e);
  std::vector<pid_t> children;
  for (int p = 0; p < 3; ++p) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      int missed = 0;
      for (int k = 0; k < 50; ++k) {
        cuda::kernel_binary got;
        cache.put(e);
        missed += cache.get(e.source, e.binary.compiler, got) && is(got, e.binary) ? 0 : 1;
      }
      _exit(missed);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(folder.files().size() == 1);
}

TEST_CASE("kernels of a prepared file need no compiler") {
  const scratch folder;
  const std::string file = folder.file("kernels");
  put_bytes(file, cuda::written(entry(pad)) + cuda::written(entry(flip)));
  cuda::kernel_store store(alone());
  REQUIRE(store.read(file) == 2);
  CHECK(is(store.get(pad, "sm_90"), entry(pad).binary));
  const cuda::kernel_binary* const first = &store.get(flip, "sm_90");
  CHECK(first == &store.get(flip, "sm_90"));
  store.prepare({pad, flip}, "sm_90");
  store.write(folder.file("again"), {flip, pad}, {"sm_90"});
  CHECK((fs::status(folder.file("again")).permissions() & fs::perms::others_read) != fs::perms::none);
  CHECK(bytes_of(folder.file("again")) == cuda::written(entry(flip)) + cuda::written(entry(pad)));
  CHECK(store.compiled() == 0);

  const cuda::error e = error_of([&] { store.get(pad, "sm_80"); });
  CHECK(says(e, "tapeless: cuda: bind: NVRTC: it cannot be opened: /nowhere/libnvrtc.so"));
  CHECK(std::string_view(e.library) == "NVRTC");
  CHECK(std::string_view(e.op) == "bind");
}
TEST_CASE("a prepared file of another text does not count; a damaged one is an error") {
  const scratch folder;
  cuda::kernel_store store(alone());
  cuda::kernel_entry stale = entry(pad);
  stale.source[8] = stale.source[8] == '0' ? '1' : '0'; // of the hash of the text
  put_bytes(folder.file("stale"), cuda::written(stale));
  CHECK(store.read(folder.file("stale")) == 0);
  CHECK(says(error_of([&] { store.get(pad, "sm_90"); }), "cannot be opened"));

  const std::string good = cuda::written(entry(flip));
  put_bytes(folder.file("damaged"), good + good.substr(0, good.size() - 1));
  CHECK(says(error_of([&] { store.read(folder.file("damaged")); }),
             ("damaged: damaged at byte " + std::to_string(good.size())).c_str()));
  CHECK(says(error_of([&] { store.read(folder.file("none")); }), "none: it cannot be read"));
  store.read(folder.file("stale"));
  CHECK(
      says(error_of([&] { store.write(folder.file("no/folder"), {}, {"sm_90"}); }), "it cannot be written"));
}
TEST_CASE("a library that is not NVRTC is an error that names what it lacks") {
  CHECK(says(error_of([] { const cuda::nvrtc wrong("libm.so.6"); }), "it has no function nvrtcVersion"));
}

TEST_CASE("a kernel is compiled once: the next store has it from the cache") {
  SKIP_WITHOUT_NVRTC
  const scratch folder;
  cuda::kernel_store first(with_cache(folder.path));
  first.prepare({pad, flip, pad}, "sm_90");
  CHECK(first.compiled() == 2);
  const cuda::kernel_binary& made = first.get(pad, "sm_90");
  CHECK(made.lowered == "_ZN8tapeless4cuda10run_kernelINS0_10pad_kernelIfEEEEvT_");
  CHECK(made.cubin.compare(0, 4,
                           "\x7f"
                           "ELF") == 0);
  CHECK(made.compiler.find("NVRTC ") == 0);
  CHECK(first.compiled() == 2);
  CHECK(first.get(pad, "sm_80").cubin != made.cubin);
  CHECK(first.compiled() == 3);
  cuda::kernel_store second(with_cache(folder.path));
  CHECK(is(second.get(pad, "sm_90"), made));
  CHECK(second.compiled() == 0);
  cuda::kernel_store uncached(with_cache(""));
  CHECK(is(uncached.get(pad, "sm_90"), made));
  CHECK(uncached.compiled() == 1);

  // damaged entries are compiled anew, and are whole again
  for (const std::string& file : folder.files()) {
    std::string bytes = bytes_of(file);
    bytes[bytes.size() - 100] ^= 4;
    put_bytes(file, bytes);
  }
  for (const int compiled : {2, 0}) {
    cuda::kernel_store third(with_cache(folder.path));
    third.prepare({pad, flip}, "sm_90");
    CHECK(is(third.get(pad, "sm_90"), made));
    CHECK(third.compiled() == compiled);
  }
}
TEST_CASE(
    "threads that ask one store compile a kernel once; threads and processes with a store each share the cache") {
  SKIP_WITHOUT_NVRTC
  const scratch folder;
  cuda::kernel_store shared(with_cache(""));
  const auto both = [](auto f) {
    std::thread other(f);
    f();
    other.join();
  };
  both([&] { shared.prepare({pad, flip}, "sm_90"); });
  CHECK(shared.compiled() == 2);
  both([&] {
    cuda::kernel_store own(with_cache(folder.path));
    own.prepare({flip, pad}, "sm_90");
  });
  cuda::kernel_store last(with_cache(folder.path));
  CHECK(is(last.get(pad, "sm_90"), shared.get(pad, "sm_90")));
  CHECK(is(last.get(flip, "sm_90"), shared.get(flip, "sm_90")));
  CHECK(last.compiled() == 0);
  CHECK(folder.files().size() == 2);
}
TEST_CASE("prepared kernels of several architectures are read back without a compiler") {
  SKIP_WITHOUT_NVRTC
  const scratch folder;
  cuda::kernel_store maker(with_cache(""));
  maker.write(folder.file("kernels"), {pad, flip}, {"sm_80", "sm_90"});
  cuda::kernel_store store(alone());
  CHECK(store.read(folder.file("kernels")) == 4);
  for (const char* arch : {"sm_80", "sm_90"})
    for (const std::string& name : {pad, flip}) CHECK(is(store.get(name, arch), maker.get(name, arch)));
}
TEST_CASE("a prepared file is of architectures that devices have, each once") {
  const scratch folder;
  const std::string file = folder.file("kernels");
  put_bytes(file, cuda::written(entry(pad)));
  cuda::kernel_store store(alone());
  store.read(file);
  for (const char* arch : {"compute_90", "sm_90a", "90", "sm90", "sm_", ""})
    CHECK_THROWS_AS(store.write(folder.file("new"), {pad}, {"sm_90", arch}), tapeless::argument_error);
  CHECK_THROWS_AS(store.write(folder.file("new"), {pad}, {}), tapeless::argument_error);
  CHECK(folder.files().size() == 1);
  store.write(folder.file("new"), {pad}, {"sm_90", "sm_90"});
  CHECK(bytes_of(folder.file("new")) == bytes_of(file));
  put_bytes(file, "#include <tapeless/cuda.hpp>");
  CHECK(says(error_of([&] { store.read(file); }), "it is no file of cuda::prepare"));
}
TEST_CASE("the one store of the process reads TAPELESS_KERNELS") {
  const scratch folder;
  put_bytes(folder.file("kernels"), cuda::written(entry(pad)));
  const set_variable prepared("TAPELESS_KERNELS", folder.file("kernels").c_str());
  CHECK(is(cuda::kernels().get(pad, "sm_90"), entry(pad).binary));
}
TEST_CASE("a compilation that fails names the file of its log") {
  SKIP_WITHOUT_NVRTC
  const scratch folder;
  const set_variable here("TMPDIR", folder.path.c_str());
  cuda::kernel_store store(with_cache(""));
  const std::string wrong = "tapeless::cuda::run_kernel<tapeless::cuda::no_kernel<float>>";
  const cuda::error e = error_of([&] { store.prepare({pad, wrong, flip}, "sm_90"); });
  CHECK(e.status == 6);
  CHECK(says(e, "tapeless: cuda: bind: NVRTC: NVRTC_ERROR_COMPILATION for sm_90; the log is in "));
  REQUIRE(folder.files().size() == 1);
  CHECK(says(e, folder.files()[0].c_str()));
  const std::string log = bytes_of(folder.files()[0]);
  CHECK(log.find(wrong) != std::string::npos);
  CHECK(log.find("no_kernel") != std::string::npos);
  // the store is as good as before
  CHECK(store.get(pad, "sm_90").cubin.size() > 0);
  // no log where there is nothing to compile
  CHECK(says(error_of([&] { store.get(pad, "sm_1"); }), "does not compile for sm_1, but for sm_"));
  CHECK(folder.files().size() == 1);
  const set_variable nowhere("TMPDIR", "/nowhere");
  CHECK(says(error_of([&] { store.get(wrong, "sm_90"); }),
             "the log is in no file, for /nowhere cannot be written"));
}
