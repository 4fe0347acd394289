// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A fused step: its words and its launches. The sums of one launch are over the same axes; a loop with sums over several
// sets of axes is a launch for each of them, the first of which also makes what is stored.
#pragma once
#include <utility>
#include "../../core/extent.hpp"
#include "../../ops/custom_op.hpp"
#include "../../plan/frame.hpp"
#include "../../plan/ir/step.hpp"
#include "../base/block.hpp"
#include "../fused/loop.hpp"
#include "../fused/loop_code.hpp"
#include "frame.hpp"
#include "launch.hpp"

namespace tapeless::cuda {

// On the host a custom op is its description.
template <auto Op, class T> TAPELESS_KERNEL T custom_function(T x, T y, T z) {
  const T of[3] = {x, y, z};
  const T* const in[3] = {of, of + 1, of + 2};
  T r;
  if constexpr (sizeof(T) == 4) Op->lanes_f32(in, &r, 1);
  else Op->lanes_f64(in, &r, 1);
  return r;
}

// The sets of axes that the sums of step s are over, one after another; and the stores of the launch for set `of`.
template <const auto& P> struct launches_of {
  const detail::step& s;
  constexpr detail::store store(int k) const { return detail::store(P.store_[s.store0 + k]); }
  constexpr bool is_sum(int k) const { return store(k).k != store_kind::dense; }
  constexpr bool is_first_of_set(int k) const {
    for (int j = 0; j < k; ++j)
      if (is_sum(j) && store(j).reduced == store(k).reduced) return false;
    return is_sum(k);
  }
  constexpr int count() const {
    int n = 0;
    for (int k = 0; k < s.stores; ++k) n += is_first_of_set(k) ? 1 : 0;
    return n > 0 ? n : 1;
  }
  constexpr unsigned set(int of) const {
    for (int k = 0; k < s.stores; ++k)
      if (is_first_of_set(k) && of-- == 0) return store(k).reduced;
    return 0;
  }
  constexpr bool has(int of, int k) const { return is_sum(k) ? store(k).reduced == set(of) : of == 0; }
  constexpr int stores(int of) const {
    int n = 0;
    for (int k = 0; k < s.stores; ++k) n += has(of, k) ? 1 : 0;
    return n;
  }
  // Its n-th store.
  constexpr int nth(int of, int n) const {
    int k = 0;
    for (; !has(of, k) || n-- > 0; ++k) {}
    return k;
  }
};

template <const auto& P, int I> constexpr int counted_axes() {
  int r = 0;
  for (int a = 0; a < P.step_[I].axes; ++a)
    if (counted_name<P>(P.step_[I].loop[a]) >= 0) r |= 1 << a;
  return r;
}
template <const auto& P, int I, int Of> constexpr std::uint64_t word_of(int k) {
  constexpr detail::step s = P.step_[I];
  constexpr launches_of<P> launches{P.step_[I]};
  const auto byte = [](int x, int at) { return static_cast<std::uint64_t>(x) << (8 * at); };
  if (k == 0)
    return byte(s.axes, 0) | byte(s.loads + s.stores, 1) | byte(s.codes, 2) | byte(s.constants, 3) |
           byte(launches.stores(Of), 4) | byte(s.extents, 5) | byte(s.wide ? 1 : 0, 6) |
           byte(counted_axes<P, I>(), 7);
  k -= 1;
  if (k < s.codes) return P.code[s.code0 + k];
  k -= s.codes;
  if (k < s.constants) return P.constant[s.constant0 + k];
  detail::store y = launches.store(launches.nth(Of, k - s.constants));
  y.has_partials = y.carries = false; // of the CPU's plan: equal loops are one kernel
  return y.word();
}
template <const auto& P, int I, int Of, class> struct words_of_step;
template <const auto& P, int I, int Of, int... K>
struct words_of_step<P, I, Of, std::integer_sequence<int, K...>> {
  using type = words<word_of<P, I, Of>(K)...>;
};
template <const auto& P, int I, int Of> using words_of =
    typename words_of_step<P, I, Of,
                           std::make_integer_sequence<int, 1 + P.step_[I].codes + P.step_[I].constants +
                                                               launches_of<P>{P.step_[I]}.stores(Of)>>::type;

// The lanes that share an item of step s: as many as the innermost axis has terms, up to a warp.
constexpr int lanes_of(const detail::step& s, unsigned terms) {
  if (((terms >> (s.axes - 1)) & 1u) == 0) return 1;
  extent_t n = 1;
  for (int a = 0; a < s.axes; ++a)
    if (((terms >> a) & 1u) != 0) {
      if (!detail::is_static(s.loop[a])) return 32;
      n *= s.loop[a];
    }
  int g = 1;
  while (g < 32 && g < n) g *= 2;
  return g;
}
// How terms are split: by extents alone, so that a sum has the same bits on every device.
inline constexpr count_t most_split_threads = 1u << 18;
struct term_split {
  count_t splits = 1, chunk = 0;
  constexpr term_split(count_t items, count_t terms, count_t lanes) : chunk(terms) {
    if (items == 0 || terms == 0) return;
    const std::uint64_t threads = std::uint64_t{items} * lanes;
    std::uint64_t n = threads >= most_split_threads ? 1 : most_split_threads / threads;
    if (const std::uint64_t most = terms / (8 * lanes); n > most)
      n = most > 0 ? most : 1; // 8 terms a lane, at least
    chunk = static_cast<count_t>((terms + n - 1) / n);
    splits = (terms + chunk - 1) / chunk;
  }
};
// Bytes of partial results of a step.
constexpr extent_t partial_bytes(const detail::step& s) {
  return s.stores * extent_t{s.wide ? 8 : 4} * most_split_threads;
}

template <const auto& P, int I> class loop_step {
  static constexpr detail::step s = P.step_[I];
  static constexpr launches_of<P> launches{P.step_[I]};

  template <int Of, int... C> static constexpr auto kernel_type(std::integer_sequence<int, C...>) {
    using W = words_of<P, I, Of>;
    return loop_kernel<W, lanes_of(s, loop_words<W>::terms), P.custom[s.custom0 + C]...>{};
  }
  template <int Of> using kernel_of = decltype(kernel_type<Of>(std::make_integer_sequence<int, s.customs>{}));

  // of a byte each: see words
  static_assert(s.codes < 256 && s.constants < 256 && s.loads + s.stores < 256 && s.extents < 256,
                "tapeless: cuda: a fused loop has at most 255 instructions, constants, operands and extents");

  template <int Of, class Device> static void launch(const Device& device, const frame<P>& f) {
    using kernel = kernel_of<Of>;
    using loop = typename kernel::loop;
    using T = typename loop::T;
    constexpr int lanes = lanes_of(s, loop::terms);
    kernel k;
    const detail::frame_slot* const slot = f.slot + s.slot0;
    for (int j = 0; j < loop::slots; ++j) {
      k.memory.base[j] = slot[j].data();
      k.memory.start[j] = slot[j].start;
      for (int a = 0; a < loop::axes; ++a) k.stride[j][a] = slot[j].stride[a];
    }
    for (int j = 0; j < loop::extents; ++j) {
      const int counted = counted_name<P>(P.extent[s.extent0 + j]);
      k.memory.extent[j] = f.extent[s.extent0 + j];
      k.memory.extent_count[j] = counted < 0 ? nullptr : f.count + counted;
    }
    index_t items = 1, terms = 1;
    for (int a = 0; a < loop::axes; ++a) {
      k.extent[a] = counted(f.loop[I][a]);
      (loop::is_term(a) ? terms : items) *= f.loop[I][a];
      if (loop::is_counted(a)) {
        k.count[a] = f.count + counted_name<P>(s.loop[a]);
        k.each[a] = counted(f.each[I][a]);
      }
    }
    k.items = counted(items);
    k.terms = counted(terms);
    const term_split split(k.items, k.terms, lanes);
    k.splits = split.splits;
    k.chunk = split.chunk;
    for (int n = 0; n < loop::sums; ++n)
      k.partial[n] = split.splits == 1 ? nullptr : f.shared + n * items * split.splits * index_t{sizeof(T)};
    device.launch(k, counted(items * split.splits), lanes);
    if constexpr (loop::sums > 0)
      if (split.splits > 1 || device.lists()) combine<0>(device, k);
  }
  template <int K, class Kernel, class Device> static void combine(const Device& device, const Kernel& k) {
    using loop = typename Kernel::loop;
    if constexpr (K < loop::stores) {
      constexpr detail::store y = loop::out(K);
      if constexpr (loop::is_sum(K)) {
        using T = typename loop::T;
        combine_kernel<T, y.f> c{static_cast<const T*>(k.partial[loop::sums_before(K)]),
                                 static_cast<T*>(k.memory.base[y.slot]),
                                 k.items,
                                 k.splits,
                                 0,
                                 {},
                                 {}};
        for (int a = 0; a < loop::axes; ++a)
          if (!loop::is_term(a)) {
            c.extent[c.axes] = k.extent[a];
            c.stride[c.axes++] = k.stride[y.slot][a];
          }
        device.launch(c, k.items, 32);
      }
      combine<K + 1>(device, k);
    }
  }

public:
  template <class Device> static void run(const Device& device, const frame<P>& f) {
    [&]<int... Of>(std::integer_sequence<int, Of...>) {
      (launch<Of>(device, f), ...);
    }(std::make_integer_sequence<int, launches.count()>{});
  }
};

} // namespace tapeless::cuda
