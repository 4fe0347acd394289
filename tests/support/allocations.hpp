#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Counts what a piece of code allocates, on all threads: operator new, and under glibc also malloc, calloc,
// realloc, aligned_alloc, posix_memalign and memalign, so that C libraries are seen too.
// tests/main.cpp replaces these functions for the whole program: it defines SUPPORT_REPLACES_ALLOCATION before it
// includes this. Sanitizers own the allocator: with them nothing is replaced, counts_allocations is false and every
// count is 0.

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#if defined(__x86_64__) && __has_include(<mm_malloc.h>)
#include <mm_malloc.h> // clang's declares posix_memalign: it must come before our definition
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAPELESS_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TAPELESS_TEST_SANITIZED 1
#endif
#endif
#ifndef TAPELESS_TEST_SANITIZED
#define TAPELESS_TEST_SANITIZED 0
#endif

namespace support {

inline constexpr bool counts_allocations = TAPELESS_TEST_SANITIZED == 0;
#if defined(__GLIBC__)
inline constexpr bool counts_malloc = counts_allocations;
#else
inline constexpr bool counts_malloc = false;
#endif

// Constant-initialized: malloc is called before any constructor has run.
inline constinit std::atomic<std::int64_t> allocation_count{0};

// The calls of f() to any of the functions above; an operator new counts once. Frees do not count.
template <class F>
std::int64_t allocations_of(F&& f) {
  const std::int64_t before = allocation_count.load();
  std::forward<F>(f)();
  return allocation_count.load() - before;
}

} // namespace support

#if defined(SUPPORT_REPLACES_ALLOCATION) && !TAPELESS_TEST_SANITIZED

namespace support::detail {
inline void count_allocation() { allocation_count.fetch_add(1, std::memory_order_relaxed); }
} // namespace support::detail

#if defined(__GLIBC__)

// glibc's own entry points; a malloc in the program takes the place of the one in libc.so for all callers.
extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;

void* malloc(std::size_t size) noexcept {
  support::detail::count_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  support::detail::count_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* p, std::size_t size) noexcept {
  support::detail::count_allocation();
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  support::detail::count_allocation();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  support::detail::count_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  support::detail::count_allocation();
  void* p = __libc_memalign(alignment, size);
  if (p == nullptr) return ENOMEM;
  *result = p;
  return 0;
}
} // extern "C"

#endif // __GLIBC__

// The array and nothrow forms of the standard library call these. noinline: GCC takes an inlined free for a
// mismatch with new.
void* operator new(std::size_t size) {
  if constexpr (!support::counts_malloc) support::detail::count_allocation();
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if constexpr (!support::counts_malloc) support::detail::count_allocation();
  const std::size_t unit = static_cast<std::size_t>(alignment);
  const std::size_t rounded = (size + unit - 1) / unit * unit; // aligned_alloc wants a multiple
  if (rounded >= size)
    if (void* p = std::aligned_alloc(unit, rounded == 0 ? unit : rounded)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#endif // SUPPORT_REPLACES_ALLOCATION
