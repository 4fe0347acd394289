// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// block: one aligned allocation, set to 0.   owned<tree>: the elements of a whole parameter tree in one block.
#pragma once
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include "../core/config.hpp"
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/shape.hpp"
#include "../core/tree.hpp"
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tapeless {
namespace detail {

inline constexpr std::size_t block_alignment = 64;

// Blocks of this size and above ask the system for pages of 2 MB, where it gives them on request.
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

// The view H{data, value of each name}.
template <class H, class P> constexpr H make_view(P* data, const name_values& names) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return H{data, names.of(H::names.name[I])...};
  }(std::make_integer_sequence<int, H::names.count>{});
}

// The bytes of so many elements, rounded up to the alignment of a block.
inline extent_t padded_bytes(extent_t elements, std::size_t size, const char* who) {
  constexpr extent_t unit = static_cast<extent_t>(block_alignment);
  const extent_t bytes = checked_product(elements, static_cast<extent_t>(size), who);
  return checked_sum(bytes, unit - 1, who) / unit * unit;
}

// The names of one leaf with their values in d...
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

template <class X> constexpr bool has_const_leaf() {
  bool found = false;
  X x{};
  for_each_leaf(x, [&](auto& leaf) {
    using H = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (is_tensor_v<H>) found = found || std::is_const_v<typename H::element_type>;
  });
  return found;
}
// The same tree with mutable elements: tensor<const float, ..> -> tensor<float, ..>, params<const float> ->
// params<float>.
template <class X> struct with_mutable_elements {
  using type = std::remove_const_t<X>;
};
template <class T, shape S, class P> struct with_mutable_elements<basic_tensor<T, S, P>> {
  using type = basic_tensor<std::remove_const_t<T>, S, P>;
};
template <class T, extent_t R, extent_t C, extent_t E, class P, class I>
struct with_mutable_elements<basic_csr<T, R, C, E, P, I>> {
  using type = basic_csr<std::remove_const_t<T>, R, C, E, P, I>;
};
template <class X, std::size_t N> struct with_mutable_elements<std::array<X, N>> {
  using type = std::array<typename with_mutable_elements<X>::type, N>;
};
template <template <class...> class Tree, class... X> struct with_mutable_elements<Tree<X...>> {
  using type = Tree<typename with_mutable_elements<X>::type...>;
};
template <class Tree>
concept mutable_tree_is_known = !has_const_leaf<typename with_mutable_elements<Tree>::type>();

// A leaf's names with their values.
template <class H> name_values names_of_view(const H& leaf) {
  name_values names = H::names;
  for (int i = 0; i < names.count; ++i) names.value[static_cast<std::size_t>(i)] = leaf.name_value(i);
  return names;
}

// A tree whose leaves are in one Block, each aligned. names_of(names of its type, its number) gives them their values;
// make(bytes) is the block.
template <class Tree, class Block> class tree_in_block {
protected:
  Tree view_{};
  Block memory_;

  template <class NamesOf, class Make> void place(const char* who, NamesOf&& names_of, Make&& make) {
    extent_t bytes = 0;
    int at = 0;
    for_each_leaf(view_, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      const extent_t size = checked_eval(numel(H::extents), names_of(H::names, at++), who);
      bytes = checked_sum(bytes, padded_bytes(size, sizeof(typename H::value_type), who), who);
    });
    memory_ = make(static_cast<std::size_t>(bytes));
    std::byte* p = memory_.data();
    at = 0;
    for_each_leaf(view_, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      using T = typename H::value_type;
      leaf = make_view<H>(reinterpret_cast<T*>(p), names_of(H::names, at++));
      p += padded_bytes(leaf.size(), sizeof(T), who);
    });
  }
  tree_in_block() = default;
  // A tree that was moved from has no elements and no pointers to elements.
  tree_in_block(tree_in_block&& o) noexcept
      : view_(std::exchange(o.view_, Tree{})), memory_(std::move(o.memory_)) {}
  tree_in_block& operator=(tree_in_block&& o) noexcept {
    if (this != &o) {
      view_ = std::exchange(o.view_, Tree{});
      memory_ = std::move(o.memory_);
    }
    return *this;
  }
  ~tree_in_block() = default;
};

} // namespace detail

// owned<params> p;                 zero-initialized; p.view() is a params
// owned<images> x(dim<'n'>(64));   a value for each named extent; values of other names are ignored
// One allocation. Errors: argument_error where a name has no value or a negative one, or a size exceeds 63 bits.
template <class Tree> class owned : detail::tree_in_block<Tree, detail::block> {
  using detail::tree_in_block<Tree, detail::block>::view_;

public:
  template <char... Name> explicit owned(dim<Name>... d) {
    this->place(
        "owned<tree>(dims...)",
        [&](const detail::name_values& names, int) { return detail::values_of_names(names, d...); },
        [](std::size_t bytes) { return detail::block(bytes); });
  }
  const Tree& view() const TAPELESS_LIFETIMEBOUND { return view_; }
  const Tree& operator*() const TAPELESS_LIFETIMEBOUND { return view_; }
  const Tree* operator->() const TAPELESS_LIFETIMEBOUND { return &view_; }

  // The same tree with mutable elements: tensor<float, ..> where Tree is tensor<const float, ..>, params<float> where
  // it is params<const float>. The elements are this object's own, so they may be written.
  auto mutable_view() const TAPELESS_LIFETIMEBOUND {
    static_assert(
        detail::mutable_tree_is_known<Tree>,
        "tapeless: owned<tree>.mutable_view(): the tree has const elements by itself, so that no mutable tree is "
        "known; p.for_each_mutable_leaf(f) and tl::copy(from, p) write to it");
    typename detail::with_mutable_elements<Tree>::type tree{};
    if constexpr (detail::mutable_tree_is_known<Tree>) {
      constexpr int leaves = detail::count_leaves<Tree>();
      void* data[leaves > 0 ? leaves : 1];
      detail::name_values names[leaves > 0 ? leaves : 1];
      int at = 0;
      detail::for_each_leaf(view_, [&](const auto& leaf) {
        data[at] = const_cast<void*>(static_cast<const void*>(leaf.data()));
        names[at++] = detail::names_of_view(leaf);
      });
      at = 0;
      detail::for_each_leaf(tree, [&](auto& leaf) {
        using H = std::remove_cvref_t<decltype(leaf)>;
        leaf = detail::make_view<H>(static_cast<typename H::value_type*>(data[at]), names[at]);
        ++at;
      });
    }
    return tree;
  }
  // Calls f(leaf) for every leaf, as a view of mutable elements.
  template <class F> void for_each_mutable_leaf(F&& f) const {
    detail::for_each_leaf(view_, [&](const auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      using T = typename H::value_type;
      const auto mine = detail::make_view<typename detail::with_mutable_elements<H>::type>(
          const_cast<T*>(leaf.data()), detail::names_of_view(leaf));
      f(mine);
    });
  }
};

} // namespace tapeless
