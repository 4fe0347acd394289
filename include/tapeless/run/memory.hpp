// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// block: one aligned allocation.   owned<tree>: the elements of a whole parameter tree in one block.
#pragma once
#include <cstddef>
#include <new>
#include <utility>
#include "../core/tree.hpp"
#include "../core/error.hpp"
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tapeless {
namespace detail {

inline constexpr std::size_t block_alignment = 64;

// Of blocks that large: where the system has pages of 2 MB for those who ask, they are asked for.
inline constexpr std::size_t large_block = std::size_t{1} << 22;
#if defined(MADV_HUGEPAGE)
inline constexpr std::size_t large_page = std::size_t{1} << 21;
#else
inline constexpr std::size_t large_page = block_alignment;
#endif
inline std::align_val_t alignment_of_block(std::size_t bytes) {
  return std::align_val_t{bytes < large_block ? block_alignment : large_page};
}

class block {
  std::byte* p_ = nullptr;
  std::size_t size_ = 0;

public:
  block() = default;
  explicit block(std::size_t bytes)
      : p_(bytes > 0 ? static_cast<std::byte*>(::operator new(bytes, alignment_of_block(bytes))) : nullptr),
        size_(bytes) {
#if defined(MADV_HUGEPAGE)
    if (bytes >= large_block) ::madvise(p_, bytes, MADV_HUGEPAGE);
#endif
    for (std::size_t i = 0; i < bytes; ++i) p_[i] = std::byte{0};
  }
  block(block&& o) noexcept : p_(std::exchange(o.p_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  block& operator=(block&& o) noexcept {
    block taken(std::move(o)); // o is left empty, and never holds what was here
    std::swap(p_, taken.p_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~block() { ::operator delete(p_, alignment_of_block(size_)); }
  std::byte* data() const { return p_; }
  std::size_t size() const { return size_; }
};

// H{data, value of each name}
template <class H, class P> constexpr H make_view(P* data, const name_values& names) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return H{data, names.of(H::names.name[I])...};
  }(std::make_integer_sequence<int, H::names.count>{});
}

// Bytes of so many elements, up to the next aligned one.
inline extent_t padded_bytes(extent_t elements, std::size_t size, const char* who) {
  constexpr extent_t unit = static_cast<extent_t>(block_alignment);
  const extent_t bytes = checked_product(elements, static_cast<extent_t>(size), who);
  return checked_sum(bytes, unit - 1, who) / unit * unit;
}

// The names of one leaf with the values that d... give them.
template <char... Name> name_values values_of_names(name_values names, dim<Name>... d) {
  for (int i = 0; i < names.count; ++i) {
    const char name = names.name[static_cast<std::size_t>(i)];
    extent_t& value = names.value[static_cast<std::size_t>(i)];
    bool given = false;
    ((Name == name ? (value = d.value, given = true) : false), ...);
    if (!given)
      refuse(
          "tapeless: owned<tree>(dims...): give the extent %c a value, as in owned<tree>(tl::dim<'%c'>(64))",
          name, name);
    if (value < 0)
      refuse("tapeless: owned<tree>(dims...): %c = %lld: an extent is not negative", name, wide(value));
  }
  return names;
}

} // namespace detail

// owned<params> p;                 zero-initialized; p.view() is a params
// owned<images> x(dim<'n'>(64));   a value for each named extent; values of other names are ignored
// One allocation. Errors: argument_error where a name has no value or a negative one, or sizes exceed 63 bits.
template <class Tree> class owned {
  Tree view_{};
  detail::block memory_;

public:
  template <char... Name> explicit owned(dim<Name>... d) {
    constexpr const char* who = "owned<tree>(dims...)";
    extent_t bytes = 0;
    detail::for_each_leaf(view_, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      const detail::name_values names = detail::values_of_names(H::names, d...);
      bytes = detail::checked_sum(
          bytes,
          detail::padded_bytes(detail::checked_eval(detail::numel(H::extents), names, who),
                               sizeof(typename H::value_type), who),
          who);
    });
    memory_ = detail::block(static_cast<std::size_t>(bytes));
    std::byte* at = memory_.data();
    detail::for_each_leaf(view_, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      using T = typename H::value_type;
      leaf = detail::make_view<H>(reinterpret_cast<T*>(at), detail::values_of_names(H::names, d...));
      at += detail::padded_bytes(leaf.size(), sizeof(T), who);
    });
  }
  // An owned tree that was moved from has no elements and no pointers to any.
  owned(owned&& o) noexcept : view_(std::exchange(o.view_, Tree{})), memory_(std::move(o.memory_)) {}
  owned& operator=(owned&& o) noexcept {
    if (this != &o) {
      view_ = std::exchange(o.view_, Tree{});
      memory_ = std::move(o.memory_);
    }
    return *this;
  }
  const Tree& view() const TAPELESS_LIFETIMEBOUND { return view_; }
  const Tree& operator*() const TAPELESS_LIFETIMEBOUND { return view_; }
  const Tree* operator->() const TAPELESS_LIFETIMEBOUND { return &view_; }
};

} // namespace tapeless
