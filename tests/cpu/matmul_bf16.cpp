// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/matmul/bf16.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "products.hpp"

using namespace tapeless;
using namespace tapeless::cpu;
using namespace products;

namespace {

template <class F> void each_form(F&& f) {
  for (int form = 0; form < 4; ++form) f((form & 1) != 0, (form & 2) != 0);
}

// Against sums in double, with either kind of lanes, not packed and packed ahead.
void check(const matmul_extents& e) {
  CAPTURE(e.batch);
  CAPTURE(e.m);
  CAPTURE(e.n);
  CAPTURE(e.k);
  CAPTURE(e.ta);
  CAPTURE(e.tb);
  CAPTURE(e.a_batched);
  CAPTURE(e.b_batched);
  const auto a = rounded_values((e.a_batched ? e.batch : 1) * e.m * e.k, 1),
             b = rounded_values((e.b_batched ? e.batch : 1) * e.k * e.n, 2);
  const auto as_float = [](const std::vector<bf16>& v) {
    std::vector<float> x;
    for (const bf16 y : v) x.push_back(static_cast<float>(y));
    return x;
  };
  const exact_sums c = sums_of_matmul(e, as_float(a), as_float(b));
  const auto as_bf16 = [](float* p) { return reinterpret_cast<bf16*>(p); };
  CHECK(c.agree(result_of<float>(e.batch * e.m * e.n, matmul_bf16_scratch(e) / 2, 0,
                                 [&](const auto& team, float* out, float* scratch, float*) {
                                   matmul_bf16(team, e, a.data(), b.data(), out, as_bf16(scratch));
                                 })));
  const index_t ahead = matmul_bf16_packed(e) / 2;
  if (ahead == 0) return;
  CHECK(c.agree(result_of<float>(e.batch * e.m * e.n, matmul_bf16_scratch(e) / 2, ahead,
                                 [&](const auto& team, float* out, float* scratch, float* packed) {
                                   matmul_bf16_pack(team, e, b.data(), as_bf16(packed));
                                   matmul_bf16(team, e, a.data(), b.data(), out, as_bf16(scratch),
                                               as_bf16(packed));
                                 })));
}

} // namespace

TEST_CASE("bf16: every one of them survives the way to float and back") {
  for (std::uint32_t u = 0; u <= 0xffff; ++u) {
    bf16 y;
    y.bits = static_cast<std::uint16_t>(u);
    const float x = static_cast<float>(y);
    if (x != x) {
      REQUIRE(bf16(x).bits == (u | 0x40)); // quiet
      continue;
    }
    REQUIRE(std::bit_cast<std::uint32_t>(x) == u << 16);
    REQUIRE(bf16(x).bits == u);
  }
}

TEST_CASE("bf16: a float goes to the nearest one, a tie to the even one, a NaN to a NaN") {
  const auto from = [](std::uint32_t u) { return bf16(std::bit_cast<float>(u)).bits; };
  for (std::uint32_t u = 0; u < 0x7f80; ++u) // the finite ones that are not negative, and their next
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const std::uint32_t here = (u | sign) << 16, even = (u & 1u) == 0 ? u : u + 1;
      REQUIRE(from(here + 0x7fff) == (u | sign));
      REQUIRE(from(here + 0x8000) == (even | sign));
      REQUIRE(from(here + 0x8001) == ((u + 1) | sign));
    }
  for (const std::uint32_t u : {0x7f800001u, 0x7fffffffu, 0xff80ffffu, 0xffffffffu})
    CHECK(std::isnan(static_cast<float>(bf16(std::bit_cast<float>(u)))));
  static_assert(bf16(1.00390625f).bits == 0x3f80 && static_cast<float>(bf16(1.01f)) == 1.0078125f);
}

TEST_CASE("bf16: lanes are rounded, loaded and stored as one by one") {
  using V = simd<float>;
  constexpr index_t W = V::size;
  std::vector<float> x(static_cast<std::size_t>(W));
  std::vector<bf16> y(x.size() + 1), z(y);
  for (std::uint64_t first = 0; first < (std::uint64_t{1} << 32); first += 977 * x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + 977 * i));
    const V v = round_to_bf16(load<V>(x.data()));
    store_bf16(y.data(), v);
    bool equal = true;
    for (std::size_t i = 0; i < x.size(); ++i) equal = equal && y[i].bits == bf16(x[i]).bits;
    float back[V::size];
    store(back, load_bf16<V>(y.data()));
    for (std::size_t i = 0; i < x.size(); ++i)
      equal = equal && std::bit_cast<std::uint32_t>(back[i]) == std::uint32_t{y[i].bits} << 16;
    if (!equal) REQUIRE(equal);
  }
  for (index_t n = 0; n <= W; ++n) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = bf16(static_cast<float>(i + 1)), z[i] = bf16(-1.0f);
    float back[V::size];
    const V v = load_bf16_n<V>(y.data(), n);
    store(back, v);
    store_bf16_n(z.data(), v, n);
    for (index_t i = 0; i < W; ++i) {
      if (i < n) CHECK(back[i] == static_cast<float>(i + 1));
      CHECK(static_cast<float>(z[static_cast<std::size_t>(i)]) ==
            (i < n ? static_cast<float>(i + 1) : -1.0f));
    }
  }
}

TEST_CASE("matmul of bf16: equals the triple loop in all four transposes, for small extents") {
  for (index_t m : {1, 2, 3, 7, 13})
    for (index_t n : {1, 2, 3, 16, 17, 31, 33, 100})
      for (index_t k : {1, 2, 5, 8, 33, 70})
        each_form([&](bool ta, bool tb) { check({.batch = 1, .m = m, .n = n, .k = k, .ta = ta, .tb = tb}); });
}

TEST_CASE("matmul of bf16: equals the triple loop where blocks come in") {
  const index_t shapes[][3] = {{64, 64, 64},     {97, 131, 260},  {200, 40, 301}, {40, 530, 65},
                               {199, 150, 1027}, {14, 1040, 390}, {1, 700, 400},  {700, 1, 400},
                               {2, 530, 4099},   {30, 140, 2100}, {130, 3, 90},   {5, 9, 9001},
                               {1, 1, 20000},    {300, 301, 129}};
  for (const auto& s : shapes)
    each_form(
        [&](bool ta, bool tb) { check({.batch = 1, .m = s[0], .n = s[1], .k = s[2], .ta = ta, .tb = tb}); });
}

TEST_CASE("matmul of bf16: a batch may share either operand") {
  for (index_t batch : {1, 2, 5})
    for (const auto& s : {std::array<index_t, 3>{1, 8, 5}, {4, 1, 9}, {1, 1, 7}, {5, 19, 6}, {20, 33, 40}})
      for (int shared = 0; shared < 4; ++shared)
        each_form([&](bool ta, bool tb) {
          check({.batch = batch,
                 .m = s[0],
                 .n = s[1],
                 .k = s[2],
                 .ta = ta,
                 .tb = tb,
                 .a_batched = (shared & 1) != 0,
                 .b_batched = (shared & 2) != 0});
        });
}

TEST_CASE("matmul of bf16: empty extents write nothing, an empty k writes zeros") {
  for (index_t k : {0, 3}) {
    check({.batch = 0, .m = 2, .n = 2, .k = k});
    check({.batch = 1, .m = 0, .n = 2, .k = k});
    check({.batch = 1, .m = 2, .n = 0, .k = k});
  }
  check({.batch = 2, .m = 3, .n = 5, .k = 0});
}

TEST_CASE("matmul of bf16: scratch grows with the extents, up to a limit") {
  constexpr auto scratch = [](index_t m, index_t n, index_t k) {
    return matmul_bf16_scratch({.m = m, .n = n, .k = k});
  };
  static_assert(scratch(8, 8, 80) < scratch(8, 160, 90) && scratch(8, 160, 90) < scratch(90, 160, 90));
  static_assert(scratch(5000, 5000, 5000) == scratch(9000, 9000, 9000));
  static_assert(matmul_bf16_packed({.batch = 4, .m = 9, .n = 300, .k = 300}) == 0);
  static_assert(matmul_bf16_packed({.m = 9, .n = 300, .k = 300, .b_batched = false}) >= 300 * 300);
  static_assert(matmul_bf16_packed({.m = 2, .n = 300, .k = 300, .b_batched = false}) == 0);
}
