// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// Trees in memory of a device, and between it and the host:
//   cuda::owned<params> p(s, *q);         a copy of the host's tree *q; *p is a cuda::on<params>
//   cuda::owned<images> x(s, tl::dim<'n'>(64));   zeros
//   cuda::pinned<params> r;               a tree of the host that the device copies from and to by itself
//   tl::copy(from, to, s);                on the stream s, in either direction
#pragma once
#include <cstddef>
#include <type_traits>
#include "../core/config.hpp"
#include "../core/placed.hpp"
#include "../core/rules.hpp"
#include "../core/shape.hpp"
#include "../core/tree.hpp"
#include "../cuda/device/memory.hpp"
#include "../cuda/device/stream.hpp"
#include "../cuda/on.hpp"
#include "../run/arguments.hpp"
#include "../run/copy.hpp"
#include "../run/memory.hpp"
#include "../run/options.hpp"
#include "../run/spans.hpp"

namespace tapeless {
namespace cuda {
template <class Tree> class owned;
template <class Tree> class pinned;
template <class Tree>
concept tree_to_own = detail::parameter_tree<Tree> && !detail::number<Tree> && !detail::on_a_device<Tree> &&
                      !std::is_const_v<Tree>;
} // namespace cuda

namespace detail {
template <class Tree> const Tree& view_of(const cuda::on<Tree>& x) { return x.tree; }
template <class Tree> const Tree& view_of(const cuda::owned<Tree>& x) { return x.view().tree; }
template <class Tree> const Tree& view_of(const cuda::pinned<Tree>& x) { return x.view(); }
template <class Tree> inline constexpr bool is_owned<cuda::owned<Tree>> = true;
template <class Tree> inline constexpr bool is_owned<cuda::pinned<Tree>> = true;
} // namespace detail

// to = from, element by element, on the stream: it is done when the stream has come so far. Both are trees of the same leaves:
// a host's, a device's, owned, or pinned. Memory of the host stays until then; where it is not pinned, the call may wait.
// Errors: argument_error before it writes, where a leaf has no data or other extents; cuda::error.
template <class From, class To> void copy(const From& from, const To& to, const cuda::stream& s) {
  using F = std::remove_cvref_t<decltype(detail::view_of(from))>;
  using T = std::remove_cvref_t<decltype(detail::view_of(to))>;
  constexpr bool trees = detail::parameter_tree<F> && detail::parameter_tree<T>;
  static_assert(trees && detail::leaves_match<F, T>,
                "tapeless: copy(from, to, stream): two trees of the same leaves");
  if constexpr (trees && detail::leaves_match<F, T>) {
    static_assert(detail::no_leaf_is_const<T> || detail::owns_its_elements<To>,
                  "tapeless: copy(from, to, stream): no leaf of to is const, unless to is owned");
    const auto source = detail::spans_of(detail::view_of(from), "copy(from, to, stream): from");
    const auto target = detail::spans_of(detail::view_of(to), "copy(from, to, stream): to");
    detail::require_same_extents(target, source, "copy(from, to, stream): to");
    const cuda::on_device here(s.device());
    std::size_t i = 0;
    detail::for_each_leaf(detail::view_of(to), [&](const auto& leaf) {
      using E = typename std::remove_cvref_t<decltype(leaf)>::value_type;
      const std::size_t bytes = static_cast<std::size_t>(target[i].size) * sizeof(E);
      cuda::copy_bytes(target[i].data, source[i].data, bytes, s.get(), "copy");
      ++i;
    });
  }
}

template <class From, class To> void copy(const cuda::stream&, const From&, const To&) {
  static_assert(detail::never<From>, "tapeless: copy(from, to, stream): the stream comes last");
}

namespace cuda {

// Errors of the constructors: argument_error as of tl::owned; cuda::error, also where the memory does not suffice.
template <class Tree> class owned : detail::tree_in_block<Tree, device_memory> {
  static_assert(
      tree_to_own<Tree>,
      "tapeless: cuda::owned<tree>: a tree of tensors, neither const nor an on<tree>; a number is tl::scalar<float>");
  on<Tree> on_;
  template <class X> static void refuse_order() {
    static_assert(detail::never<X>,
                  "tapeless: cuda::owned<tree> q(stream, from), q(stream, dims...): the stream comes first");
  }
  template <class NamesOf> void make(const stream& s, NamesOf&& names_of) {
    const on_device here(s.device());
    this->place("cuda::owned<tree>(stream, ...)", names_of, [&s](std::size_t bytes) {
      return device_memory(bytes, s.get(), "cuda::owned<tree>(stream, ...)");
    });
    on_.tree = this->view_;
  }

public:
  using elements_in = cuda_space;
  template <char... Name> explicit owned(const stream& s, dim<Name>... d) {
    make(s, [&](const detail::name_values& names, int) { return detail::values_of_names(names, d...); });
  }
  template <class X, class... More>
    requires(!std::is_same_v<X, stream>)
  explicit owned(const X&, const More&...) {
    refuse_order<X>();
  }
  template <class X = Tree> owned() { refuse_order<X>(); }
  // A copy of a host's tree, or of another one on the device.
  template <class From>
    requires(!detail::option_of_bind<From>) // a dim is one
  owned(const stream& s, const From& from) {
    using F = std::remove_cvref_t<decltype(detail::view_of(from))>;
    static_assert(detail::leaves_match<F, Tree>,
                  "tapeless: cuda::owned<tree>(stream, from): from is a tree of the same leaves");
    if constexpr (detail::leaves_match<F, Tree>) {
      constexpr int leaves = detail::count_leaves<Tree>();
      detail::name_values names[leaves > 0 ? leaves : 1];
      int at = 0;
      detail::for_each_leaf(detail::view_of(from),
                            [&](const auto& leaf) { names[at++] = detail::names_of_view(leaf); });
      make(s, [&](const detail::name_values&, int k) { return names[k]; });
      tapeless::copy(from, *this, s);
    }
  }
  owned(owned&& o) noexcept
      : detail::tree_in_block<Tree, device_memory>(std::move(o)), on_(std::exchange(o.on_, on<Tree>{})) {}
  owned& operator=(owned&& o) noexcept {
    detail::tree_in_block<Tree, device_memory>::operator=(std::move(o));
    on_ = std::exchange(o.on_, on<Tree>{});
    return *this;
  }
  const on<Tree>& view() const TAPELESS_LIFETIMEBOUND { return on_; }
  const on<Tree>& operator*() const TAPELESS_LIFETIMEBOUND { return on_; }
  template <class X = Tree> const X* operator->() const {
    static_assert(
        detail::never<X>,
        "tapeless: cuda::owned<tree>: its elements are in memory of the device: fill a tl::owned<tree> h, then "
        "cuda::owned<tree> q(stream, *h), or tl::copy(q, h, stream)");
    return nullptr;
  }
};
template <class Tree> class pinned : detail::tree_in_block<Tree, pinned_memory> {
  static_assert(
      tree_to_own<Tree>,
      "tapeless: cuda::pinned<tree>: a tree of tensors, neither const nor an on<tree>; a number is tl::scalar<float>");

public:
  template <char... Name> explicit pinned(dim<Name>... d) {
    this->place(
        "cuda::pinned<tree>(dims...)",
        [&](const detail::name_values& names, int) { return detail::values_of_names(names, d...); },
        [](std::size_t bytes) { return pinned_memory(bytes); });
  }
  template <class X, class... More>
    requires(!detail::option_of_bind<X> || std::is_same_v<X, stream>)
  explicit pinned(const X&, const More&...) {
    static_assert(
        detail::never<X>,
        "tapeless: cuda::pinned<tree> q(dims...): without a stream; its elements are copied, tl::copy(from, q, stream)");
  }
  const Tree& view() const TAPELESS_LIFETIMEBOUND { return this->view_; }
  const Tree& operator*() const TAPELESS_LIFETIMEBOUND { return this->view_; }
  const Tree* operator->() const TAPELESS_LIFETIMEBOUND { return &this->view_; }
};

} // namespace cuda
} // namespace tapeless
