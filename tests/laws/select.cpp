// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <reference/index.hpp>
#include <reference/reduce.hpp>
#include <reference/select.hpp>
#include <reference/shape.hpp>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;

// A selection has no derivative and no flops: the laws are those of what it selects.
template <class T> std::vector<double> values(const ref::array<T>& x) {
  std::vector<double> v;
  for (const T& e : x.data) v.push_back(static_cast<double>(e));
  return v;
}
ref::array<std::int32_t> list(const ref::positions& rows) {
  return {{static_cast<std::int64_t>(rows.size())}, rows};
}
template <class T> auto greatest(std::int64_t k, const ref::array<T>& x) {
  return list(ref::extreme(false, k, values(x)));
}
template <class T> auto least(std::int64_t k, const ref::array<T>& x) {
  return list(ref::extreme(true, k, values(x)));
}
constexpr std::int64_t percentage(std::int64_t p, std::int64_t of) {
  return of == 0 ? 0 : std::max<std::int64_t>(of * p / 100, 1);
}

// sum over the k most extreme rows of each of the segments 0 and 1
template <class T> ref::array<T> by_segment(bool of_least, std::int64_t k, const ref::array<T>& x,
                                            const ref::array<T>& y, const ref::array<std::int32_t>& segment) {
  const auto rows = list(ref::extreme_of_each(of_least, k, 2, values(x), segment.data));
  const auto at = ref::as_index(ref::clamped(ref::take(segment, rows, 0), T(1)));
  return ref::scatter_add(at, ref::take(y, rows, 0), 0, 2);
}

// x: (7), y: (7, 2)     segment: (7), of which two are none; mask: (7)
using fixed_constants = constants<tl::tensor<std::int32_t, 7>, tl::tensor<bool, 7>>;
template <class T> using fixed_arguments = arguments<tl::tensor<T, 7>, tl::tensor<T, 7, 2>>;
constexpr std::int32_t segments[] = {1, 0, -1, 1, 0, 0, 9};
constexpr auto fill = [](const auto& c, std::int64_t) {
  for (int i = 0; i < 7; ++i) std::get<0>(c)[i] = segments[i], std::get<1>(c)[i] = i % 3 != 1;
};
constexpr auto fixed = cases<fixed_arguments<double>, fixed_constants>(
    pair(
        "gather at top_k<3> of itself",
        [](const auto& x, const auto&, const auto&, const auto&) {
          return tl::gather<0>(x, tl::top_k<3>(x));
        },
        [](const auto& x, const auto&, const auto&, const auto&) { return ref::take(x, greatest(3, x), 0); },
        exact),
    pair(
        "gather<0> at bottom_k<2> of a computed vector",
        [](const auto& x, const auto& y, const auto&, const auto&) {
          return tl::square(tl::gather<0>(y, tl::bottom_k<2>(-x)));
        },
        [](const auto& x, const auto& y, const auto&, const auto&) {
          return ref::square(ref::take(y, least(2, -x), 0));
        },
        rounds_once),
    pair(
        "gather<-1> of a transpose at top_k<50 %>",
        [](const auto& x, const auto& y, const auto&, const auto&) {
          return tl::gather<-1>(tl::transpose(y), tl::top_k<tl::percent{50}>(x));
        },
        [](const auto& x, const auto& y, const auto&, const auto&) {
          return ref::take(ref::transpose(y, {1, 0}), greatest(3, x), 1);
        },
        exact),
    pair(
        "gather at bottom_k<7>, all of them, and at bottom_k<1 %>, one",
        [](const auto& x, const auto&, const auto&, const auto&) {
          return tl::gather(x, tl::bottom_k<7>(x)) * tl::gather(x, tl::bottom_k<tl::percent{1}>(x));
        },
        [](const auto& x, const auto&, const auto&, const auto&) {
          return ref::take(x, least(7, x), 0) * ref::take(x, least(1, x), 0);
        },
        rounds_once),
    pair(
        "scatter_add<0, 7> of the rows of top_k<3>, where they were",
        [](const auto& x, const auto& y, const auto&, const auto&) {
          return tl::scatter_add<0, 7>(tl::top_k<3>(x, tl::recompute),
                                       tl::gather<0>(y, tl::top_k<3>(x, tl::recompute)));
        },
        [](const auto& x, const auto& y, const auto&, const auto&) {
          return ref::scatter_add(greatest(3, x), ref::take(y, greatest(3, x), 0), 0, 7);
        },
        exact),
    counting([](std::int64_t) { return std::int64_t{5}; },
             pair(
                 "sum<0> of gather at where<'k'>",
                 [](const auto&, const auto& y, const auto&, const auto& mask) {
                   return tl::sum<0>(tl::gather<0>(y, tl::where<'k'>(mask)));
                 },
                 [](const auto&, const auto& y, const auto&, const auto& mask) {
                   return ref::sum(ref::take(y, list(ref::nonzero(mask.data)), 0), {0});
                 },
                 7, scale::terms)),
    counting([](std::int64_t) { return std::int64_t{4}; },
             pair(
                 "scatter_add<0, 2> of top_k_of_each<2, 2>, by segment",
                 [](const auto& x, const auto& y, const auto& segment, const auto&) {
                   const auto rows = tl::top_k_of_each<2, 2, 'l'>(x, segment);
                   return tl::scatter_add<0, 2>(tl::gather(segment, rows), tl::gather<0>(y, rows));
                 },
                 [](const auto& x, const auto& y, const auto& segment, const auto&) {
                   return by_segment(false, 2, x, y, segment);
                 },
                 2, scale::terms)),
    counting([](std::int64_t) { return std::int64_t{2}; },
             pair(
                 "scatter_add<0, 2> of bottom_k_of_each<1, 2>, by segment",
                 [](const auto& x, const auto& y, const auto& segment, const auto&) {
                   const auto rows = tl::bottom_k_of_each<1, 2, 'm'>(x, segment);
                   return tl::scatter_add<0, 2>(tl::gather(segment, rows), tl::gather<0>(y, rows));
                 },
                 [](const auto& x, const auto& y, const auto& segment, const auto&) {
                   return by_segment(true, 1, x, y, segment);
                 },
                 exact)));

// x: (n), y: (n, 3)     mask: (n), count: a number
using named_constants = constants<tl::tensor<bool, n>, tl::tensor<std::int32_t>>;
template <class T> using named_arguments = arguments<tl::tensor<T, n>, tl::tensor<T, n, 3>>;
constexpr auto fill_named = [](const auto& c, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::get<0>(c)[i] = i % 2 == 0;
  std::get<1>(c)[0] = static_cast<std::int32_t>(std::clamp<std::int64_t>(count / 2 - 1, 0, 5));
};
constexpr auto named = cases<named_arguments<double>, named_constants>(
    counting([](std::int64_t count) { return std::min<std::int64_t>(count, 3); },
             pair(
                 "sum<0> of gather<0> at top_k<3, 'k'>",
                 [](const auto& x, const auto& y, const auto&, const auto&) {
                   return tl::sum<0>(tl::gather<0>(y, tl::top_k<3, 'k'>(x)));
                 },
                 [](const auto& x, const auto& y, const auto&, const auto&) {
                   return ref::sum(ref::take(y, greatest(3, x), 0), {0});
                 },
                 4, scale::terms)),
    counting([](std::int64_t count) { return percentage(40, count); },
             pair(
                 "sum of squares at bottom_k<40 %, 'l'> of themselves",
                 [](const auto& x, const auto&, const auto&, const auto&) {
                   return tl::sum(tl::square(tl::gather(x, tl::bottom_k<tl::percent{40}, 'l'>(x))));
                 },
                 [](const auto& x, const auto&, const auto&, const auto&) {
                   return ref::sum(ref::square(ref::take(x, least(percentage(40, x.size()), x), 0)));
                 },
                 8)),
    counting([](std::int64_t count) { return (count + 1) / 2; },
             pair(
                 "scatter_add<0, 40> of the rows of where<'m'>, where they were",
                 [](const auto&, const auto& y, const auto& mask, const auto&) {
                   const auto rows = tl::where<'m'>(mask);
                   return tl::scatter_add<0, 40>(rows, tl::gather<0>(y, rows));
                 },
                 [](const auto&, const auto& y, const auto& mask, const auto&) {
                   const auto rows = list(ref::nonzero(mask.data));
                   using T = typename std::remove_cvref_t<decltype(y)>::value_type;
                   const auto at = ref::as_index(ref::clamped(rows, T(39)));
                   return ref::scatter_add(at, ref::take(y, rows, 0), 0, 40);
                 },
                 exact)),
    counting([](std::int64_t count) { return std::clamp<std::int64_t>(count / 2 - 1, 0, 5); },
             pair(
                 "sum<0> of gather<0> at top_k<5, 'o'> of as many as the run says",
                 [](const auto& x, const auto& y, const auto&, const auto& count) {
                   return tl::sum<0>(tl::gather<0>(y, tl::top_k<5, 'o'>(x, count)));
                 },
                 [](const auto& x, const auto& y, const auto&, const auto& count) {
                   return ref::sum(ref::take(y, greatest(std::min(count.data[0], 5), x), 0), {0});
                 },
                 5, scale::terms)));

static_assert(covers(tl::detail::select_rules, fixed) && counts(tl::detail::select_rules, fixed));
static_assert(covers(tl::detail::select_rules, named) && !covers(tl::detail::index_rules, named));
const std::vector<domain> distinct{{-1, 1, true}};

} // namespace

TEST_CASE("select: the laws hold") { check_laws(fixed, no_names, distinct, fill); }
TEST_CASE("select: the laws hold along a named extent") {
  check_laws(named, {0, 1, 2, 7, 17}, distinct, fill_named);
}
TEST_CASE("select: float equals the reference: elements only move") {
  check_values(with<fixed_arguments<float>, fixed_constants>(fixed), no_names, distinct, fill);
  check_values(with<named_arguments<float>, named_constants>(named), {0, 1, 17}, distinct, fill_named);
}
