// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/cpu/matmul/matmul.hpp>

#include <array>

#include "products.hpp"

using namespace tapeless;
using namespace tapeless::cpu;
using namespace products;

namespace {

template <class F> void each_form(F&& f) {
  for (int form = 0; form < 4; ++form) f((form & 1) != 0, (form & 2) != 0);
}

template <class T> void check(const matmul_extents& e) {
  CAPTURE(e.batch);
  CAPTURE(e.m);
  CAPTURE(e.n);
  CAPTURE(e.k);
  CAPTURE(e.ta);
  CAPTURE(e.tb);
  CAPTURE(e.a_batched);
  CAPTURE(e.b_batched);
  const auto a = values<T>((e.a_batched ? e.batch : 1) * e.m * e.k, 1),
             b = values<T>((e.b_batched ? e.batch : 1) * e.k * e.n, 2);
  const exact_sums c = sums_of_matmul(e, a, b);
  CHECK(c.agree(result_of<T>(e.batch * e.m * e.n, matmul_scratch<T>(e), matmul_shared<T>(e),
                             [&](const auto& team, T* out, T* scratch, T* shared) {
                               matmul(team, e, a.data(), b.data(), out, scratch, shared);
                             })));
  if (matmul_reads_lists(e)) {
    const rows_in_a_list<T> as(e.k, a), bs(e.k, b);
    for (const row_lists& rows :
         {row_lists{as.list.data(), bs.list.data()}, {as.list.data(), nullptr}, {nullptr, bs.list.data()}})
      CHECK(c.agree(result_of<T>(e.m * e.n, matmul_scratch<T>(e), matmul_shared<T>(e),
                                 [&](const auto& team, T* out, T* scratch, T* shared) {
                                   matmul<T>(team, e, rows.a != nullptr ? as.all.data() : a.data(),
                                             rows.b != nullptr ? bs.all.data() : b.data(), out, scratch,
                                             shared, nullptr, rows);
                                 })));
  }
  const index_t ahead = matmul_packed<T>(e);
  if (ahead == 0) return;
  std::vector<T> packed(static_cast<std::size_t>(ahead));
  CHECK(c.agree(result_of<T>(e.batch * e.m * e.n, matmul_scratch<T>(e), matmul_shared<T>(e),
                             [&](const auto& team, T* out, T* scratch, T* shared) {
                               std::fill(packed.begin(), packed.end(), T(0));
                               matmul_pack(team, e, b.data(), packed.data());
                               matmul(team, e, a.data(), b.data(), out, scratch, shared,
                                      static_cast<const T*>(packed.data()));
                             })));
}

} // namespace

TEST_CASE_TEMPLATE("matmul: equals the triple loop in all four transposes, for small extents", T, float,
                   double) {
  for (index_t m : {1, 2, 3, 6, 7, 13})
    for (index_t n : {1, 2, 3, 7, 8, 9, 16, 17, 31, 100})
      for (index_t k : {1, 2, 5, 8, 33, 70})
        each_form(
            [&](bool ta, bool tb) { check<T>({.batch = 1, .m = m, .n = n, .k = k, .ta = ta, .tb = tb}); });
}

TEST_CASE_TEMPLATE("matmul: equals the triple loop where blocks and packing come in", T, float, double) {
  const index_t shapes[][3] = {
      {64, 64, 64},    {97, 131, 260},  {200, 40, 300},  {40, 530, 65},    {199, 150, 513}, {14, 1040, 390},
      {140, 40, 800},  {1, 700, 400},   {700, 1, 400},   {2, 530, 517},    {30, 140, 1100}, {130, 3, 90},
      {900, 4, 700},   {8, 1049, 140},  {19, 4200, 128}, {1, 35, 1024},    {2, 20, 512},    {27, 48, 520},
      {100, 272, 600}, {5, 1100, 1000}, {24, 1030, 70},  {140, 150, 1100}, {513, 520, 600}, {60, 150, 700}};
  for (const auto& s : shapes)
    each_form([&](bool ta, bool tb) {
      check<T>({.batch = 1, .m = s[0], .n = s[1], .k = s[2], .ta = ta, .tb = tb});
    });
}

TEST_CASE_TEMPLATE("matmul: few rows, whose second operand stays in place", T, float, double) {
  const index_t shapes[][2] = {
      {70, 130}, {33, 9}, {523, 128}, {1100, 300}}; // (n, k); the last one beyond a page
  for (index_t m : {2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 25, 32, 34, 48, 49})
    for (const auto& s : shapes)
      each_form([&](bool ta, bool tb) {
        check<T>({.batch = 1, .m = m, .n = s[0], .k = s[1], .ta = ta, .tb = tb});
      });
  check<T>({.batch = 1, .m = 7, .n = 1030, .k = 530}); // 2 MB: fewer steps at a time
}

TEST_CASE_TEMPLATE("matmul: shallow products of wide rows", T, float, double) {
  for (index_t k : {2, 4, 16, 17, 64})
    for (const auto& s : {std::array<index_t, 2>{100, 300}, {60, 2060}, {400, 128}})
      each_form([&](bool ta, bool tb) {
        check<T>({.batch = 1, .m = s[0], .n = s[1], .k = k, .ta = ta, .tb = tb});
      });
}

TEST_CASE_TEMPLATE("matmul: a long k over a small result is cut into slices added in order", T, float,
                   double) {
  const index_t shapes[][3] = {{5, 9, 9001}, {1, 1, 20000}, {1, 33, 8192}, {33, 1, 5000}, {16, 16, 4097}};
  for (const auto& s : shapes)
    each_form([&](bool ta, bool tb) {
      check<T>({.batch = 1, .m = s[0], .n = s[1], .k = s[2], .ta = ta, .tb = tb});
    });
  check<T>({.batch = 2, .m = 4, .n = 5, .k = 5000});
}

TEST_CASE_TEMPLATE("matmul: a batch may share either operand", T, float, double) {
  for (index_t batch : {1, 2, 5})
    for (const auto& s : {std::array<index_t, 3>{1, 8, 5}, {4, 1, 9}, {1, 1, 7}, {5, 19, 6}, {20, 33, 40}})
      for (int shared = 0; shared < 4; ++shared)
        each_form([&](bool ta, bool tb) {
          check<T>({.batch = batch,
                    .m = s[0],
                    .n = s[1],
                    .k = s[2],
                    .ta = ta,
                    .tb = tb,
                    .a_batched = (shared & 1) != 0,
                    .b_batched = (shared & 2) != 0});
        });
}

TEST_CASE_TEMPLATE("matmul: empty extents write nothing, an empty k writes zeros", T, float, double) {
  for (index_t k : {0, 3}) {
    check<T>({.batch = 0, .m = 2, .n = 2, .k = k});
    check<T>({.batch = 1, .m = 0, .n = 2, .k = k});
    check<T>({.batch = 1, .m = 2, .n = 0, .k = k});
  }
  check<T>({.batch = 2, .m = 3, .n = 5, .k = 0}); // sums without terms are zero
}

TEST_CASE("matmul: scratch grows with the extents, up to a limit") {
  constexpr auto scratch = [](index_t m, index_t n, index_t k) {
    return matmul_scratch<float>({.m = m, .n = n, .k = k});
  };
  static_assert(scratch(8, 8, 8) < scratch(8, 16, 9) && scratch(8, 16, 9) < scratch(90, 16, 9));
  static_assert(scratch(5000, 5000, 5000) == scratch(9000, 9000, 9000));
  static_assert(matmul_shared<double>({.m = 9, .n = 9, .k = 900}) == 0);
  static_assert(matmul_shared<double>({.m = 9, .n = 9, .k = 9000}) > 0);
  // b is packed ahead where it is one matrix, and either transposed or wide
  static_assert(matmul_packed<float>({.batch = 4, .m = 9, .n = 300, .k = 300}) == 0);
  static_assert(matmul_packed<float>({.m = 9, .n = 300, .k = 300, .b_batched = false}) >= 300 * 300);
  static_assert(matmul_packed<float>({.m = 9, .n = 8, .k = 300, .b_batched = false}) == 0);
  static_assert(matmul_packed<float>({.m = 9, .n = 8, .k = 300, .tb = true, .b_batched = false}) >= 8 * 300);
}
