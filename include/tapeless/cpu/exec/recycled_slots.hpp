// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// recycled_slots: a running top-k. A batch sweep takes its images one by one, and a selection keeps the k most
// extreme ones. Only their results are read later. So an image that k others beat gives its slot to the next image.
// At most k slots and one for each member of the team are written. The slot of an image that is beaten at once is still
// in cache.
#pragma once
#include <algorithm>
#include "../../core/dtype.hpp"
#include "../../ops/select.hpp"
#include "../../plan/ir/step.hpp"
#include "../move/select.hpp"
#include "elided_gathers.hpp"
#include "frame.hpp"

namespace tapeless::cpu {

// The recycled slots of plan P. Only the first selection that can have recycled slots has them.
template <const auto& P> class recycled_slots : liveness<P> {
  using liveness<P>::result_of, liveness<P>::end_of_results;
  static constexpr int slots = P.slots > 0 ? P.slots : 1, steps = P.steps > 0 ? P.steps : 1;

  // Elements of a row of slot k of step i, if its rows are the images in order; else 0.
  constexpr index_t row_of(int i, int k) const {
    using namespace tapeless::detail;
    const step& s = P.step_[i];
    const slot& q = P.slot_[k];
    if (q.offset[0] != 0 || q.offset[1] != 0) return 0;
    if (!s.fused)
      return q.s.rank > 0 && q.s.d[0] == images && is_static(numel(q.s)) ? numel(q.s) / images : 0;
    const extent_t row = q.stride[0];
    if (!is_static(row) || row <= 0 || s.loop[0] != images) return 0;
    extent_t farthest = 0;
    for (int a = 1; a < s.axes; ++a) {
      if (!is_static(s.loop[a]) || !is_static(q.stride[a]) || q.stride[a] < 0) return 0;
      farthest += (s.loop[a] - 1) * q.stride[a];
    }
    return farthest < row ? row : 0;
  }
  constexpr bool in_sweep(int i) const { return first <= i && i <= last; }
  // Finds the sweep that takes images one by one and makes one value for each: step t selects from these values.
  constexpr bool find_sweep(int t) {
    using namespace tapeless::detail;
    const step& s = P.step_[t];
    if (s.fused || s.o != op::select || s.at_load) return false;
    const select_attributes q = attributes_of_select(s);
    const slot& values = P.slot_[s.slot0];
    images = values.s.d[0];
    if (!q.by_order() || q.segments > 0 || !is_float(values.t) || !is_static(images)) return false;
    most = q.most_of(images);
    least = q.least();
    if (most <= 0 || most >= images) return false;
    const int w = liveness<P>::writer_of(t, s.slot0);
    if (w < 0 || !P.step_[w].fused) return false;
    for (first = last = w; P.step_[first].sweep;) --first;
    while (P.step_[last + 1].sweep) ++last;
    if (last >= t || P.step_[first].at_once != 1) return false;
    bool fits = false, convolutions = false;
    for (int y = result_of(w); y < end_of_results(w); ++y)
      fits = fits || (P.slot_[y].at == values.at && row_of(w, y) == 1);
    for (int i = first; i <= last; ++i) {
      fits = fits && P.step_[i].partials == 0 && !P.step_[i].at_load;
      convolutions = convolutions || is_conv(P.step_[i].o);
    }
    return fits && convolutions;
  }
  // Is step r an elided gather of the rows that step t selects, from images of `row` elements?
  constexpr bool gathers(int r, int k, int t, index_t row) const {
    const int list = P.step_[r].slot0 + 1;
    return is_elided<P>(r) && k == P.step_[r].slot0 && P.slot_[list].at == P.slot_[result_of(t)].at &&
           liveness<P>::writer_of(r, list) == t && row_of(r, k) == row;
  }
  // Result y of step i goes to recycled slots if all its readers can find it there.
  constexpr void place(int i, int y, int t) {
    const index_t row = row_of(i, y);
    bool fits = P.slot_[y].at.where == detail::place::arena && row > 0, later = false;
    if (fits)
      liveness<P>::each_reader(i, y, [&](int r, int k) {
        fits = fits && (in_sweep(r) ? row_of(r, k) == row : gathers(r, k, t, row));
        later = later || !in_sweep(r);
      });
    if (!fits || !later) return;
    moved[y] = true;
    liveness<P>::each_reader(i, y, [&](int r, int k) { (in_sweep(r) ? moved[k] : reads_list[r]) = true; });
  }
  // Do the values that move to recycled slots overlap anything else that the sweep reads or writes?
  constexpr bool conflicts() const {
    for (int i = first; i <= last; ++i)
      for (int y = result_of(i); y < end_of_results(i); ++y)
        for (int w = first; moved[y] && w <= last; ++w)
          for (int z = P.step_[w].slot0; z < end_of_results(w); ++z)
            if (!moved[z] && liveness<P>::overlap(w, z, i, y)) return true;
    return false;
  }
  constexpr void forget() {
    select = -1;
    for (bool& m : moved) m = false;
    for (bool& l : reads_list) l = false;
  }

public:
  int select = -1;              // the step that selects; -1: there are no recycled slots
  int first = 0, last = 0;      // the sweep
  index_t images = 0, most = 0; // how many images; how many are selected, at most
  bool least = false;           // are the least selected?
  bool moved[slots]{};          // slot k: its row i is row place[i] of the state
  bool reads_list[steps]{};     // gather i reads the rows `list` of the state

  constexpr recycled_slots() {
    for (int t = 0; t < P.steps && select < 0; ++t) {
      if (!find_sweep(t)) continue;
      for (int i = first; i <= last; ++i)
        for (int y = result_of(i); y < end_of_results(i); ++y) place(i, y, t);
      for (const bool m : moved)
        if (m) select = t;
      if (select >= 0 && conflicts()) forget();
    }
  }
};

constexpr bool is_select(op o) { return o == op::select; }
template <const auto& P> inline constexpr recycled_slots<P> recycled_slots_of{};
template <const auto& P> constexpr bool find_recycled_slots() {
  if constexpr (has_step<P>(is_conv) && has_step<P>(is_select) && has_step<P>(is_gather))
    return recycled_slots_of<P>.select >= 0;
  else return false;
}
template <const auto& P> inline constexpr bool has_recycled_slots = find_recycled_slots<P>();

// Lies before the weights that a load packs.
struct recycled_slots_state {
  std::int32_t *place, *list, *heap; // slot of each image; slots of the selected ones; scratch for as many
};
template <const auto& P> constexpr index_t bytes_of_recycled_slots() {
  if constexpr (has_recycled_slots<P>)
    return detail::aligned((recycled_slots_of<P>.images + 2 * recycled_slots_of<P>.most) *
                           index_t{sizeof(std::int32_t)});
  else return 0;
}
template <const auto& P> recycled_slots_state recycled_state(const frame<P>& f) {
  std::int32_t* const all = reinterpret_cast<std::int32_t*>(f.packed);
  std::int32_t* const list = all + recycled_slots_of<P>.images;
  return {all, list, list + recycled_slots_of<P>.most};
}

// The selection is made, of `count` rows: lists their slots.
template <const auto& P> void list_recycled_slots(const frame<P>& f, index_t count) {
  constexpr int s = recycled_slots_of<P>.select;
  const recycled_slots_state state = recycled_state<P>(f);
  const auto* const rows = static_cast<const std::int32_t*>(f.step[s].slot[P.step_[s].loads].data());
  for (index_t j = 0; j < count; ++j) state.list[j] = state.place[rows[j]];
}

// The k images that select_extreme would choose of those seen so far, as a heap: all others beat the first one.
template <class T> class most_extreme {
  const T* value_;
  key_type<T> flip_;
  index_t k_, size_ = 0;
  std::int32_t* image_;
  bool busy_ = false;

  bool beats(std::int32_t a, std::int32_t b) const {
    const auto x = key_of(value_[a]) ^ flip_, y = key_of(value_[b]) ^ flip_;
    return x > y || (x == y && a < b);
  }
  index_t join(std::int32_t i) {
    const auto order = [this](std::int32_t a, std::int32_t b) { return beats(a, b); };
    std::int32_t gone = -1;
    if (size_ < k_) ++size_;
    else {
      gone = image_[0];
      if (!beats(i, gone)) return i;
      std::pop_heap(image_, image_ + size_, order);
    }
    image_[size_ - 1] = i;
    std::push_heap(image_, image_ + size_, order);
    return gone;
  }

public:
  // heap: room for k
  most_extreme(bool least, index_t k, const T* value, std::int32_t* heap)
      : value_(value), flip_(least ? ~key_type<T>(0) : 0), k_(k), image_(heap) {}
  // Takes image i, whose value is ready. Returns the image that k others beat now; -1: none. Members may call it at
  // the same time: the caller sees all that was written before the returned image was taken.
  index_t take(index_t i) {
    while (__atomic_test_and_set(&busy_, __ATOMIC_ACQUIRE)) {}
    const index_t gone = join(static_cast<std::int32_t>(i));
    __atomic_clear(&busy_, __ATOMIC_RELEASE);
    return gone;
  }
};

} // namespace tapeless::cpu
