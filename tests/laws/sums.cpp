// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The law of sums: |sum - exact| <= 4 eps log2(n) sum |x| for n terms, whatever they are, and the same bits with any
// number of threads. The exact sums are taken in a wider type.
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t n = tl::dyn<'n'>;
constexpr std::int64_t many = 10'000'000;

enum class terms { equal, positive, one_large, of_both_signs };
constexpr terms all_terms[] = {terms::equal, terms::positive, terms::one_large, terms::of_both_signs};

struct generator {
  std::uint64_t state = 1;
  double operator()() { // [0, 1)
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  }
};

// `columns` sums of rows each, interleaved
template <class T> std::vector<T> numbers(terms how, std::int64_t rows, std::int64_t columns) {
  std::vector<T> x(static_cast<std::size_t>(rows * columns));
  generator random;
  const double lost = std::numeric_limits<T>::epsilon() * 0.499; // by 1 + lost
  std::int64_t i = 0;
  for (T& v : x) {
    const double r = how == terms::equal ? 0.1 : how == terms::one_large ? lost : random();
    v = static_cast<T>(how == terms::of_both_signs ? r - 0.5 : r);
    if (how == terms::one_large && i++ < columns) v = T(1);
  }
  return x;
}

template <class T> using wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
template <class T> struct exact_sum {
  wide<T> value = 0, magnitude = 0, lost = 0;
  std::int64_t count = 0;
  void add(wide<T> x) {
    const wide<T> y = x - lost, sum = value + y;
    lost = (sum - value) - y;
    value = sum;
    magnitude += x < 0 ? -x : x;
    ++count;
  }
  // in units of the bound
  double error(T sum, double factor = 1) const {
    const double most = 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                        std::log2(static_cast<double>(std::max<std::int64_t>(count, 2))) * factor *
                        static_cast<double>(magnitude);
    const double off = std::fabs(static_cast<double>(static_cast<wide<T>>(sum) - value * factor));
    return most > 0 ? off / most : off;
  }
};

// sums[k] is the sum of x[i] for all i with of(i) == k, times `factor`
template <class T, class Sums, class Of>
void check_sums(const std::string& what, std::int64_t results, const std::vector<T>& x, const Sums& sums,
                Of of, double factor = 1) {
  CAPTURE(what);
  std::vector<exact_sum<T>> exact(static_cast<std::size_t>(results));
  for (std::size_t i = 0; i < x.size(); ++i)
    exact[static_cast<std::size_t>(of(static_cast<std::int64_t>(i)))].add(x[i]);
  double most = 0;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const double e = exact[k].error(sums[k], factor);
    most = e > most || e != e ? e : most;
  }
  CHECK(most <= 1);
}

constexpr std::int64_t counts[] = {2, 31, 41, 64, 100, 500, 1200, 2049, 40'000, many};

} // namespace

TEST_CASE_TEMPLATE("sums of fused loops: the law, over leading, middle and last axes", T, float, double) {
  using X = tl::tensor<const T, n, 3>;
  using M = tl::tensor<const T, 2, n, 3>;
  using C = tl::tensor<const T, n, 3, 2>;
  using L = tl::tensor<const T, 2, n>;
  using W = tl::tensor<const T, 3>;
  auto leading = tl::jit([](auto x) { return tl::sum<0>(x); }).template bind<X>(tl::dim<'n'>(many));
  auto middle = tl::jit([](auto x) { return tl::sum<1>(x); }).template bind<M>(tl::dim<'n'>(many / 2));
  auto around = tl::jit([](auto x) { return tl::sum<0, 2>(x); }).template bind<C>(tl::dim<'n'>(many / 2));
  auto last = tl::jit([](auto x) { return tl::sum<1>(x); }).template bind<L>(tl::dim<'n'>(many));
  auto all = tl::jit([](auto x) { return tl::sum(x); }).template bind<L>(tl::dim<'n'>(many));
  auto both = tl::jit([](auto x, auto w) { return tl::sum(x * w); }).template bind<X, W>(tl::dim<'n'>(many));
  const T ones[] = {1, 1, 1};
  for (const terms how : all_terms)
    for (const std::int64_t m : counts) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(m);
      if (m == many && (std::is_same_v<T, double> || how == terms::positive || how == terms::of_both_signs))
        continue;
      const auto three = numbers<T>(how, m, 3);
      const T* const p = three.data();
      check_sums<T>("sum<0>", 3, three, leading(X(p, m)), [](std::int64_t i) { return i % 3; });
      check_sums<T>("sum of all", 1, three, both(X(p, m), W(ones)), [](std::int64_t) { return 0; });
      const std::int64_t half = m / 2;
      const std::vector<T> x(p, p + 6 * half);
      check_sums<T>("sum<1>", 6, x, middle(M(p, half)),
                    [&](std::int64_t i) { return i / (3 * half) * 3 + i % 3; });
      check_sums<T>("sum<0, 2>", 3, x, around(C(p, half)), [](std::int64_t i) { return i % 6 / 2; });
      const auto two = numbers<T>(how, m, 2);
      check_sums<T>("sum<1> of rows", 2, two, last(L(two.data(), m)), [&](std::int64_t i) { return i / m; });
      check_sums<T>("sum", 1, two, all(L(two.data(), m)), [](std::int64_t) { return 0; });
    }
}

TEST_CASE("scatter_add, and the cotangent of a table: the law, whatever the rows are hit how often") {
  using I = tl::tensor<const std::int32_t, n>;
  using V = tl::tensor<const float, n>;
  using R = tl::tensor<const float, n, 3>;
  using S = tl::tensor<float, 4>;
  auto scatter =
      tl::jit([](auto i, auto v) { return tl::scatter_add<0, 4>(i, v); }).bind<I, V>(tl::dim<'n'>(many));
  auto rows =
      tl::jit([](auto i, auto v) { return tl::scatter_add<0, 4>(i, v); }).bind<I, R>(tl::dim<'n'>(many));
  auto table = tl::jit(tl::grad<0>([](auto t, auto i, auto v) {
                 return tl::sum(tl::gather<0>(t, i) * v);
               })).bind<S, I, V>(tl::dim<'n'>(many));
  float zeros[4] = {};
  for (const terms how : all_terms)
    for (const std::int64_t m : counts) {
      if (m == many && how != terms::equal && how != terms::one_large) continue;
      CAPTURE(static_cast<int>(how));
      CAPTURE(m);
      std::vector<std::int32_t> to(static_cast<std::size_t>(m)); // row 3 seldom, row 2 only at last
      for (std::int64_t i = 0; i < m; ++i)
        to[static_cast<std::size_t>(i)] = i % 1000 == 999 ? 3 : i > m / 2 && i % 3 == 0 ? 2 : i % 2 == 0;
      const I at(to.data(), m);
      const auto three = numbers<float>(how, m, 3);
      const std::vector<float> one(three.begin(), three.begin() + m);
      const auto row = [&](std::int64_t i) { return to[static_cast<std::size_t>(i)]; };
      check_sums<float>("scatter_add", 4, one, scatter(at, V(one.data(), m)), row);
      check_sums<float>("table", 4, one, table(S(zeros), at, V(one.data(), m)), row);
      const auto sums = rows(at, R(three.data(), m));
      check_sums<float>("scatter_add of rows", 12, three, sums.data(),
                        [&](std::int64_t i) { return row(i / 3) * 3 + i % 3; });
    }
}
