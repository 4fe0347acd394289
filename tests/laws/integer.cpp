// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "laws.hpp"

#include <doctest/doctest.h>
#include <reference/integer.hpp>

#include <cstdint>

namespace tl = tapeless;
using namespace laws;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
const std::vector<std::int64_t> sizes{0, 1, 7, 17};

// They have no derivative: they are factors of x, and their flops are counted.
template <class X, class I> constexpr auto factor(const X& x, const I& i) {
  if constexpr (tl::detail::handle<X>) return tl::cast<typename X::value_type>(i) * x;
  else return ref::cast<typename X::value_type>(i) * x;
}
using integers = constants<tl::tensor<std::int32_t, n>, tl::tensor<std::int32_t, n>>;
template <class T> using real = arguments<tl::tensor<T, n>>;
constexpr auto operators = cases<real<double>, integers>(
    pair(
        "quotient", [](const auto& x, const auto& i, const auto& j) { return factor(x, i / j); },
        [](const auto& x, const auto& i, const auto& j) { return factor(x, ref::quotient(i, j)); }),
    pair(
        "modulo", [](const auto& x, const auto& i, const auto& j) { return factor(x, i % j); },
        [](const auto& x, const auto& i, const auto& j) { return factor(x, ref::modulo(i, j)); }),
    pair(
        "and", [](const auto& x, const auto& i, const auto& j) { return factor(x, i & j); },
        [](const auto& x, const auto& i, const auto& j) { return factor(x, ref::bit_and(i, j)); }),
    pair(
        "or", [](const auto& x, const auto& i, const auto& j) { return factor(x, i | j); },
        [](const auto& x, const auto& i, const auto& j) { return factor(x, ref::bit_or(i, j)); }),
    pair(
        "xor", [](const auto& x, const auto& i, const auto& j) { return factor(x, i ^ j); },
        [](const auto& x, const auto& i, const auto& j) { return factor(x, ref::bit_xor(i, j)); }),
    pair(
        "complement", [](const auto& x, const auto& i, const auto& j) { return factor(x, ~i & j); },
        [](const auto& x, const auto& i, const auto& j) {
          return factor(x, ref::bit_and(ref::bit_xor(i, ref::array<std::int32_t>({}, -1)), j));
        }),
    pair(
        "shift left", [](const auto& x, const auto& i, const auto& j) { return factor(x, i << j); },
        [](const auto& x, const auto& i, const auto& j) { return factor(x, ref::shift_left(i, j)); }),
    pair(
        "shift right", [](const auto& x, const auto& i, const auto& j) { return factor(x, i >> j); },
        [](const auto& x, const auto& i, const auto& j) { return factor(x, ref::shift_right(i, j)); }));
constexpr auto fill = [](const auto& c, std::int64_t) {
  std::int32_t k = 0;
  for (auto& i : std::get<0>(c)) i = (k++ * 37) % 101 - 50;
  for (auto& j : std::get<1>(c)) j = (k++ * 23) % 41 - 4;
};

using tl::detail::integer_rules;
static_assert(covers(integer_rules, operators));
static_assert(counts(integer_rules, operators));

} // namespace

TEST_CASE("integer: the laws hold") { check_laws(operators, sizes, {{-1, 1, true}}, fill); }
TEST_CASE("integer: float equals the reference") {
  check_values(with<real<float>, integers>(operators), sizes, {{-1, 1, true}}, fill);
}
