// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The greatest and the least images.
#include "recycled_slots.hpp"

using namespace recycled_slots_test;

static_assert(width * side * side > 1 << 14); // images pass one by one

TEST_CASE("recycled slots: the greatest and the least images, in double and in float") {
  check<double, k_greatest, false>();
  check<double, k_least, true>();
  check<float, a_quarter, false>();
}

TEST_CASE("recycled slots: the images that k others beat go, in whatever order they come") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{3, 1, nan, 4, 1, 5, -0.0, 9, 2, nan, 6, 5, 3, 5, 0.0, 8, 9, 7, 9, 3};
  const auto size = static_cast<std::int32_t>(values.size());
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  for (const bool least : {false, true})
    for (const int k : {1, 2, 7, size - 1, size})
      for (int round = 0; round < 5; ++round) {
        std::vector<std::int32_t> heap(static_cast<std::size_t>(k) + 1, -7);
        tl::cpu::most_extreme<double> chosen(least, k, values.data(), heap.data());
        ref::positions stay;
        for (int i = 0; i < size; ++i) {
          const std::int32_t comes = order[static_cast<std::size_t>(i)];
          const auto gone = static_cast<std::int32_t>(chosen.take(comes));
          stay.push_back(comes);
          CHECK((gone < 0) == (i < k));
          if (gone >= 0) CHECK(std::erase(stay, gone) == 1);
        }
        CHECK(heap.back() == -7);
        std::sort(stay.begin(), stay.end());
        CHECK(stay == ref::extreme(least, k, values));
        for (std::size_t i = 0; i < order.size(); ++i) // another order
          std::swap(order[i], order[(i * 7 + static_cast<std::size_t>(round)) % order.size()]);
      }
}
