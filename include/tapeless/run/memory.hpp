// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// block: one aligned allocation.   owned<tree>: the elements of a whole parameter tree in one block.
#pragma once
#include <cstddef>
#include <new>
#include <stdexcept>
#include <utility>
#include "../core/tree.hpp"

namespace tapeless {
namespace detail {

inline constexpr std::size_t block_alignment = 64;

class block {
  std::byte* p_ = nullptr;
  std::size_t size_ = 0;

public:
  block() = default;
  explicit block(std::size_t bytes)
      : p_(bytes > 0 ? static_cast<std::byte*>(::operator new(bytes, std::align_val_t{block_alignment}))
                     : nullptr),
        size_(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) p_[i] = std::byte{0};
  }
  block(block&& o) noexcept : p_(std::exchange(o.p_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  block& operator=(block&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~block() { ::operator delete(p_, std::align_val_t{block_alignment}); }
  std::byte* data() const { return p_; }
  std::size_t size() const { return size_; }
};

// H{data, value of each name}
template <class H, class P> constexpr H make_view(P* data, const name_values& names) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return H{data, names.of(H::names.name[I])...};
  }(std::make_integer_sequence<int, H::names.count>{});
}

constexpr std::size_t padded_bytes(extent_t elements, std::size_t size) {
  return (static_cast<std::size_t>(elements) * size + block_alignment - 1) / block_alignment *
         block_alignment;
}

} // namespace detail

// owned<params> p;                 zero-initialised; p.view() is a params
// owned<images> x(dim<'n'>(64));   a value for each named extent
template <class Tree> class owned {
  Tree view_{};
  detail::block memory_;

public:
  template <char... Name> explicit owned(dim<Name>... d) {
    detail::name_values names;
    ((names.add(Name), names.value[static_cast<std::size_t>(names.find(Name))] = d.value), ...);
    std::size_t bytes = 0;
    detail::for_each_leaf(view_, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      for (int i = 0; i < H::names.count; ++i)
        if (names.find(H::names.name[static_cast<std::size_t>(i)]) < 0)
          throw std::invalid_argument("tapeless: owned<tree>(dims...): a named extent has no value");
      bytes += detail::padded_bytes(detail::eval(detail::numel(H::extents), names),
                                    sizeof(typename H::value_type));
    });
    memory_ = detail::block(bytes);
    std::byte* at = memory_.data();
    detail::for_each_leaf(view_, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      using T = typename H::value_type;
      leaf = detail::make_view<H>(reinterpret_cast<T*>(at), names);
      at += detail::padded_bytes(leaf.size(), sizeof(T));
    });
  }
  const Tree& view() const { return view_; }
  const Tree& operator*() const { return view_; }
  const Tree* operator->() const { return &view_; }
};

} // namespace tapeless
