// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The law of sums: |sum - exact| <= 4 eps log2(n) sum |x| for n terms, whatever they are. The exact sums are taken in a
// wider type.
#include <tapeless/tapeless.hpp>
#include <tapeless/run/csr_build.hpp>

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
  auto by_three =
      tl::jit([](auto x) { return tl::sum<0>(x); }).template bind<X>(tl::dim<'n'>(many), tl::threads(3));
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
      const auto again = by_three(X(p, m));
      for (int k = 0; k < 3; ++k) CHECK(again[k] == leading(X(p, m))[k]);
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

TEST_CASE(
    "sparse matrices of many rows or columns: the law for A x, A^T y, A B, A^T B and the sums by columns") {
  using A = tl::csr<float, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
  using X = tl::tensor<const float, tl::dyn<'c'>>;
  using Y = tl::tensor<const float, tl::dyn<'r'>>;
  using B = tl::tensor<const float, tl::dyn<'c'>, 2>;
  using C = tl::tensor<const float, tl::dyn<'r'>, 2>;
  const auto names = [](auto jit, auto bind) {
    return bind(jit, tl::dim<'r'>(many), tl::dim<'c'>(many), tl::dim<'e'>(3 * many));
  };
  const auto with = [&]<class V>(auto jit, std::type_identity<V>) {
    return names(jit, [](auto j, auto... d) { return j.template bind<A, V>(d...); });
  };
  auto columns = names(tl::jit([](auto a) { return tl::sum<0>(a); }),
                       [](auto j, auto... d) { return j.template bind<A>(d...); });
  auto forward = with(tl::jit([](auto a, auto x) { return tl::matmul(a, x); }), std::type_identity<X>{});
  auto transposed =
      with(tl::jit([](auto a, auto y) { return tl::matmul(tl::transpose(a), y); }), std::type_identity<Y>{});
  auto product = with(tl::jit([](auto a, auto b) { return tl::matmul(a, b); }), std::type_identity<B>{});
  auto transposed_product =
      with(tl::jit([](auto a, auto c) { return tl::matmul(tl::transpose(a), c); }), std::type_identity<C>{});
  auto both = with(tl::jit(tl::grad<1>([](auto a, auto x) { return tl::sum(tl::matmul(a, x)); })),
                   std::type_identity<X>{});
  for (const terms how : {terms::equal, terms::one_large, terms::positive})
    for (const std::int64_t m : {std::int64_t{100}, std::int64_t{2049}, std::int64_t{40'000}, many / 3}) {
      if (m == many / 3 && how == terms::positive) continue;
      CAPTURE(static_cast<int>(how));
      CAPTURE(m);
      const auto size = static_cast<std::size_t>(m);
      // (m, 3), all entries, and (3, m)
      const auto value = numbers<float>(how, m, 3);
      std::vector<std::int32_t> row_ptr(size + 1), column(3 * size), ptr_of_wide{0};
      for (std::size_t i = 0; i < 3 * size; ++i) column[i] = static_cast<std::int32_t>(i % 3);
      for (std::size_t i = 0; i <= size; ++i) row_ptr[i] = static_cast<std::int32_t>(3 * i);
      const auto tall = tl::csr_from_csr<A>(m, 3, row_ptr, column, value);
      std::vector<std::int32_t> column_of_wide(3 * size);
      for (std::size_t i = 0; i < 3 * size; ++i) column_of_wide[i] = static_cast<std::int32_t>(i % size);
      for (int i = 1; i <= 3; ++i) ptr_of_wide.push_back(static_cast<std::int32_t>(i * m));
      const auto wide = tl::csr_from_csr<A>(3, m, ptr_of_wide, column_of_wide, value);
      const std::vector<float> ones(2 * size, 1.0f);
      const auto by_column = [](std::int64_t i) { return i % 3; };
      const auto by_row = [&](std::int64_t i) { return i / m; };
      check_sums<float>("sum<0>(A)", 3, value, columns(*tall), by_column);
      check_sums<float>("A^T y", 3, value, transposed(*tall, Y(ones.data(), m)), by_column);
      check_sums<float>("cotangent of x", 3, value, both(*tall, X(ones.data(), 3)), by_column);
      check_sums<float>("A x", 3, value, forward(*wide, X(ones.data(), m)), by_row);
      const auto every_second = [](const float* y) { return std::vector<float>{y[0], y[2], y[4]}; };
      check_sums<float>("A B", 3, value, every_second(product(*wide, B(ones.data(), m)).data()), by_row);
      check_sums<float>("A^T B", 3, value, every_second(transposed_product(*tall, C(ones.data(), m)).data()),
                        by_column);
    }
}

TEST_CASE("windows of many elements, elements of many windows, and products of long rows: the law") {
  using namespace tapeless::cpu;
  using V = simd<float>;
  for (const terms how : all_terms)
    for (const std::int64_t inner : {1, 3}) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(inner);
      tl::window_extents e{.planes = 1, .h = 500, .w = 400, .inner = inner, .r = 500, .s = 400};
      const auto image = numbers<float>(how, 200'000, inner);
      std::vector<float> sums(static_cast<std::size_t>(inner));
      window_sum<float>(serial_team(), e, 1.0f, image.data(), sums.data());
      check_sums<float>("sum of a window", inner, image, sums, [&](std::int64_t i) { return i % inner; });
      // 30 x 30 windows of 20 x 20: an element in the middle is in 400 of them, as the maximum of each too
      for (const std::int64_t stride : {1, 2, 3}) {
        CAPTURE(stride);
        e.r = e.s = 20 * stride;
        e.p = e.q = 30;
        e.h = e.w = 49 * stride;
        e.stride_h = e.stride_w = stride;
        const auto dy = numbers<float>(how, e.p * e.q, inner);
        std::vector<float> dx(static_cast<std::size_t>(e.h * e.w * inner)), of_maxima = dx;
        window_spread<float>(serial_team(), e, 1.0f, dy.data(), dx.data());
        const std::int64_t middle = 24 * stride;
        const std::vector<std::int32_t> index(dy.size(), static_cast<std::int32_t>(middle * e.w + middle));
        window_scatter<float>(serial_team(), e, index.data(), dy.data(), of_maxima.data());
        std::vector<float> seen;
        for (std::int64_t i = 0; i < e.p; ++i)
          for (std::int64_t j = 0; j < e.q; ++j)
            if (i * stride <= middle && middle < i * stride + e.r && j * stride <= middle &&
                middle < j * stride + e.s)
              for (std::int64_t c = 0; c < inner; ++c)
                seen.push_back(dy[static_cast<std::size_t>((i * e.q + j) * inner + c)]);
        const std::size_t at = static_cast<std::size_t>((middle * e.w + middle) * inner);
        const auto channel = [&](std::int64_t i) { return i % inner; };
        check_sums<float>("windows of an element", inner, seen, dx.data() + at, channel);
        check_sums<float>("windows of a maximum", inner, seen, of_maxima.data() + at, channel);
      }
    }
  for (const terms how : all_terms) { // <L[0, :], R[j, :]>
    CAPTURE(static_cast<int>(how));
    const auto left = numbers<float>(how, 1'000'000, 1);
    const std::vector<float> right(2 * left.size(), 1.0f);
    const std::int32_t column[] = {0, 1}, end[] = {2};
    float out[2];
    sddmm<V>(csr_rows<const std::int32_t*>{end, column}, every_row{}, left.data(), right.data(), 1'000'000, 0,
             1, out);
    check_sums<float>("sddmm", 1, left, out, [](std::int64_t) { return 0; });
    CHECK(out[0] == out[1]);
    // fold: 1000 windows, one behind the other, of 1000 taps
    const tl::unfold_extents f{.n = 1, .c = 1, .d = 1999, .area = 1, .taps = 1000, .out = 1000};
    const auto windows = numbers<float>(how, 1000 * 1000, 1);
    std::vector<float> dx(1999), seen;
    fold<float>(serial_team(), f, windows.data(), dx.data());
    for (std::int64_t o = 0; o < 1000; ++o)
      seen.push_back(windows[static_cast<std::size_t>(o * 1000 + 999 - o)]);
    check_sums<float>("fold", 1, seen, dx.data() + 999, [](std::int64_t) { return 0; });
  }
}
