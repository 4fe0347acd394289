// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// uint8 and int64: images and labels as files have them. Casts read and write them, ops that move elements move them.
#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/random.hpp>
#include <support/refusal.hpp>

namespace tl = tapeless;

namespace {

constexpr tl::extent_t N = tl::dyn<'n'>;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

// The definition, in exact arithmetic: cut off, then the nearer end, and 0 for NaN.
template <class To, class From> To cast_of(From x) {
  using ends = std::numeric_limits<To>;
  if constexpr (std::is_same_v<To, bool>) return x != From(0);
  else if constexpr (std::is_floating_point_v<To>) return static_cast<To>(x);
  else if constexpr (std::is_floating_point_v<From>) {
    if (std::isnan(x)) return To(0);
    const long double whole = std::trunc(static_cast<long double>(x));
    if (whole > static_cast<long double>(ends::max())) return ends::max();
    if (whole < static_cast<long double>(ends::min())) return ends::min();
    return static_cast<To>(whole);
  } else {
    const auto wide = static_cast<std::int64_t>(x);
    if (wide > static_cast<std::int64_t>(ends::max())) return ends::max();
    if (wide < static_cast<std::int64_t>(ends::min())) return ends::min();
    return static_cast<To>(wide);
  }
}

template <class T> std::vector<T> values() {
  std::vector<T> v;
  if constexpr (std::is_same_v<T, std::uint8_t>)
    for (int i = 0; i < 256; ++i) v.push_back(static_cast<T>(i * 37));
  else if constexpr (std::is_same_v<T, bool>) v = {false, true, true, false, true};
  else if constexpr (std::is_floating_point_v<T>) {
    using of = std::numeric_limits<T>;
    v = {T(0),
         T(-0.0),
         T(0.25),
         T(-0.99),
         T(1),
         T(-1),
         T(254.99),
         T(255),
         T(255.5),
         T(256),
         T(-255.5),
         T(0x1p31),
         T(0x1p62),
         T(0x1p63),
         T(-0x1p63),
         T(0x1p64),
         T(-0x1p64),
         std::nextafter(T(0x1p63), T(0)),
         of::max(),
         -of::max(),
         of::infinity(),
         -of::infinity(),
         of::quiet_NaN(),
         of::denorm_min(),
         T(123456.75),
         T(-123456.75)};
  } else {
    using of = std::numeric_limits<T>;
    for (const std::int64_t x : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{254},
                                 std::int64_t{255}, std::int64_t{256}, std::int64_t{257}, std::int64_t{-255},
                                 std::int64_t{2147483647}, std::int64_t{-2147483648}})
      v.push_back(static_cast<T>(x));
    v.push_back(of::max());
    v.push_back(of::min());
    if constexpr (sizeof(T) == 8)
      for (const std::int64_t x : {std::int64_t{2147483648}, std::int64_t{-2147483649}, std::int64_t{1} << 32,
                                   (std::int64_t{1} << 32) + 7, (std::int64_t{1} << 53) + 1,
                                   (std::int64_t{1} << 24) + 1, most - 1, least + 1, std::int64_t{16777219}})
        v.push_back(x);
  }
  return v;
}
// n elements, which begin at the `first`-th of values()
template <class X, class... E> tl::owned<X> filled(int first, E... n) {
  using T = typename X::value_type;
  tl::owned<X> x{n...};
  const std::vector<T> v = values<T>();
  for (tl::extent_t i = 0; i < x->size(); ++i)
    x->data()[i] = v[static_cast<std::size_t>(first + i) % v.size()];
  return x;
}
template <class T, class U> bool same(T a, U b) { return a == b || (a != a && b != b); }

// Casts From to each type in one program, whose loops are of float or of double.
template <class From, class Real> bool casts_as_defined() {
  using X = tl::tensor<From, N>;
  auto run = tl::jit([](auto x) {
               return std::tuple{tl::cast<std::uint8_t>(x),
                                 tl::cast<std::int64_t>(x),
                                 tl::cast<bool>(x),
                                 tl::cast<Real>(tl::cast<std::uint8_t>(x)),
                                 tl::cast<std::int32_t>(tl::cast<std::int64_t>(x)),
                                 tl::cast<Real>(tl::cast<std::int64_t>(x)) * Real(0.5)};
             }).template bind<X>(tl::dim<'n'>(300));
  bool agree = true;
  for (const int n : {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 300})
    for (int first = 0; first < (n == 1 ? 30 : 2); ++first) {
      const tl::owned<X> x = filled<X>(first, tl::dim<'n'>(n));
      const auto [u, l, b, fu, il, fl] = run(*x);
      for (int i = 0; i < n; ++i) {
        const From e = (*x)[i];
        const auto byte = cast_of<std::uint8_t>(e);
        const auto wide = cast_of<std::int64_t>(e);
        agree = agree && u[i] == byte && l[i] == wide && b[i] == cast_of<bool>(e) && fu[i] == Real(byte) &&
                il[i] == cast_of<std::int32_t>(wide) && fl[i] == static_cast<Real>(wide) * Real(0.5);
      }
    }
  return agree;
}
template <class From, class Real> bool reads_as_defined() { // From: uint8, int64
  using X = tl::tensor<From, N>;
  auto run = tl::jit([](auto x) {
               return std::tuple{tl::cast<Real>(x), tl::cast<std::int32_t>(x), tl::cast<bool>(x)};
             }).template bind<X>(tl::dim<'n'>(300));
  bool agree = true;
  for (const int n : {1, 7, 64, 299}) {
    const tl::owned<X> x = filled<X>(n, tl::dim<'n'>(n));
    const auto [f, i, b] = run(*x);
    for (int k = 0; k < n; ++k)
      agree = agree && f[k] == cast_of<Real>((*x)[k]) && i[k] == cast_of<std::int32_t>((*x)[k]) &&
              b[k] == cast_of<bool>((*x)[k]);
  }
  return agree;
}

template <class Tree> std::vector<unsigned char> bits_of(const Tree& result) {
  std::vector<unsigned char> all;
  tl::for_each_leaf(result, [&](const auto& leaf) {
    using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
    const auto* const p = reinterpret_cast<const unsigned char*>(leaf.data());
    all.insert(all.end(), p, p + static_cast<std::size_t>(leaf.size()) * sizeof(T));
  });
  return all;
}

} // namespace

TEST_CASE_TEMPLATE("casts to uint8 and int64 cut off and end at the ends of the type; NaN is 0", T, float,
                   double) {
  CHECK(casts_as_defined<T, T>());
  CHECK(casts_as_defined<std::int32_t, T>());
  CHECK(casts_as_defined<bool, T>());
  CHECK(casts_as_defined<std::uint8_t, T>());
  CHECK(casts_as_defined<std::int64_t, T>());
}

TEST_CASE_TEMPLATE("casts from uint8 and int64 are exact, rounded to nearest, or the nearer end", T, float,
                   double) {
  CHECK(reads_as_defined<std::uint8_t, T>());
  CHECK(reads_as_defined<std::int64_t, T>());
}

TEST_CASE("a cast is part of the loop that reads it: one step, which reads a byte an element") {
  using image = tl::tensor<std::uint8_t, 3, 16, 16>;
  constexpr auto scaled = tl::jit([](auto x) { return tl::cast<float>(x) * (1 / 255.0f); });
  constexpr tl::cost cost = scaled.cost<image>();
  CHECK(cost.bytes() == 768 * (1 + 4));
  CHECK(cost.steps() == 1);
  constexpr tl::cost labels =
      tl::jit([](auto l) { return tl::cast<std::int32_t>(l) * 2 + 1; }).cost<tl::tensor<std::int64_t, 128>>();
  CHECK(labels.bytes() == 128 * (8 + 4));
  CHECK(labels.steps() == 1);
}

TEST_CASE_TEMPLATE("loads follow transposes, slices and broadcasts, of stored and of cast elements", T,
                   std::uint8_t, std::int64_t) {
  constexpr int n = 19, m = 7;
  using X = tl::tensor<T, n, m>;
  using R = tl::tensor<T, m>;
  using S = tl::tensor<T>;
  auto run = tl::jit([](auto x, auto r, auto s) {
               const auto f = [](auto a) { return tl::cast<double>(a); };
               return std::tuple{tl::transpose(x),
                                 f(tl::transpose(x)) * 2.0,
                                 f(tl::slice<1, 2, 6>(x)) + 1.0,
                                 tl::slice<0, 3, 17>(x),
                                 f(x) - f(r),
                                 f(x) + f(s),
                                 tl::cast<std::uint8_t>(tl::transpose(x)),
                                 tl::cast<std::int64_t>(f(tl::transpose(x))),
                                 tl::broadcast_to<n, m>(r)};
             }).template bind<X, R, S>();
  const tl::owned<X> x = filled<X>(0);
  const tl::owned<R> r = filled<R>(3);
  const tl::owned<S> s = filled<S>(5);
  const auto [turned, twice, columns, rows, less, more, bytes, wide, repeated] = run(*x, *r, *s);
  bool agree = true;
  const auto f = [](T e) { return static_cast<double>(e); };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      const T e = (*x)(i, j);
      agree = agree && turned(j, i) == e && twice(j, i) == f(e) * 2.0 &&
              (j < 2 || j >= 6 || columns(i, j - 2) == f(e) + 1.0) &&
              (i < 3 || i >= 17 || rows(i - 3, j) == e) && less(i, j) == f(e) - f((*r)[j]) &&
              more(i, j) == f(e) + f((*s)[0]) && bytes(j, i) == cast_of<std::uint8_t>(e) &&
              wide(j, i) == cast_of<std::int64_t>(f(e)) && repeated(i, j) == (*r)[j];
    }
  CHECK(agree);
}

TEST_CASE_TEMPLATE("ops that move elements keep their bits, in the arena and in buffers", T, std::uint8_t,
                   std::int64_t) {
  constexpr int n = 23, m = 5;
  using X = tl::tensor<T, N, m>;
  constexpr auto program = tl::jit([](auto x, auto i) {
    return std::tuple{tl::gather(x, i),
                      tl::gather<1>(x, tl::slice<0, 0, 2>(i)),
                      tl::concat<1>(x, x),
                      tl::pad<1, 2, 1>(x),
                      tl::flip<1>(x),
                      tl::flip<0>(tl::transpose(x)),
                      tl::stop_gradient(x),
                      tl::reshape<N, m, 1>(x),
                      tl::gather(tl::cast<float>(x), i)};
  });
  const tl::owned<X> x = filled<X>(1, tl::dim<'n'>(n));
  const std::array<std::int32_t, 4> at{4, 0, 4, 3};
  auto run = program.template bind<X, tl::tensor<const std::int32_t, 4>>(tl::dim<'n'>(n));
  const auto r = run(*x, tl::tensor<const std::int32_t, 4>(at.data()));
  const auto& [rows, columns, twice, padded, turned, flipped, stopped, reshaped, reals] = r;
  bool agree = true;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      const T e = (*x)(i, j);
      agree = agree && twice(i, j) == e && twice(i, j + m) == e && padded(i, j + 2) == e &&
              padded(i, 0) == 0 && padded(i, m + 2) == 0 && turned(i, m - 1 - j) == e &&
              flipped(m - 1 - j, i) == e && stopped(i, j) == e && reshaped(i, j, 0) == e;
      if (i < 4)
        agree = agree && rows(i, j) == (*x)(at[static_cast<std::size_t>(i)], j) &&
                reals(i, j) == static_cast<float>(rows(i, j));
      if (j < 2) agree = agree && columns(i, j) == (*x)(i, at[static_cast<std::size_t>(j)]);
    }
  CHECK(agree);
  tl::owned<std::remove_cvref_t<decltype(r)>> out{tl::dim<'n'>(n)};
  run.into (*out)(*x, tl::tensor<const std::int32_t, 4>(at.data()));
  CHECK(bits_of(*out) == bits_of(r));
}

namespace {
constexpr int classes = 4, pixels = 12;
struct weights {
  tl::tensor<float, pixels, classes> w;
  tl::tensor<float, classes> b;
};
template <class Pixel, class Label> struct batch {
  tl::tensor<const Pixel, N, 3, 2, 2> image;
  tl::tensor<const Label, N> label;
};
constexpr auto losses = [](const auto& p, const auto& data) {
  const auto x = tl::cast<float>(data.image) * (1 / 255.0f);
  const auto logits = tl::matmul(tl::reshape<N, pixels>(x), p.w) + p.b;
  return tl::softmax_cross_entropy(logits, tl::cast<std::int32_t>(data.label));
};
constexpr auto mean_loss = [](const auto& p, const auto& data) { return tl::mean(losses(p, data)); };
constexpr auto hardest = [](const auto& p, const auto& data) {
  const auto l = losses(p, data);
  return tl::sum(tl::gather(l, tl::top_k<3, 'k'>(l)));
};
constexpr auto above = [](const auto& p, const auto& data) {
  const auto l = losses(p, data);
  return tl::sum(tl::gather(l, tl::where<'k'>(l > 1.4f)));
};
template <class Pixel, class Label, class F>
std::vector<unsigned char> gradient(F, int n, const tl::owned<weights>& p, int threads = 1) {
  std::vector<Pixel> image;
  std::vector<Label> label;
  for (int i = 0; i < n * pixels; ++i) image.push_back(static_cast<Pixel>(i * 91 % 256));
  for (int i = 0; i < n; ++i) label.push_back(static_cast<Label>(i * 3 % classes));
  using data = batch<Pixel, Label>;
  auto run =
      tl::jit(tl::value_and_grad(F{})).template bind<weights, data>(tl::dim<'n'>(40), tl::threads(threads));
  const data given{tl::tensor<const Pixel, N, 3, 2, 2>(image.data(), n),
                   tl::tensor<const Label, N>(label.data(), n)};
  return bits_of(run(*p, given));
}
template <class F> void check_bits(F f, const tl::owned<weights>& p, int n) {
  const auto plain = gradient<float, std::int32_t>(f, n, p);
  CHECK(gradient<std::uint8_t, std::int64_t>(f, n, p) == plain);
  CHECK(gradient<std::uint8_t, std::int64_t>(f, n, p, 3) == plain);
  CHECK(gradient<std::uint8_t, std::uint8_t>(f, n, p) == plain);
}
} // namespace

TEST_CASE(
    "a classifier of bytes and labels as stored has the bits of one of floats and int32, of selected rows too") {
  tl::owned<weights> p;
  tl::for_each_leaf(*p, [seed = 1u](const auto& leaf) mutable {
    const auto v = support::random_values<float>(static_cast<std::size_t>(leaf.size()), seed++);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) leaf.data()[i] = v[static_cast<std::size_t>(i)];
  });
  for (const int n : {3, 9, 40}) {
    check_bits(mean_loss, p, n);
    check_bits(hardest, p, n);
    check_bits(above, p, n);
  }
}

TEST_CASE_TEMPLATE("a label out of range is an exception, also one that int32 would wrap to a class", T,
                   std::uint8_t, std::int64_t) {
  using L = tl::tensor<T, 4>;
  using X = tl::tensor<float, 4, 3>;
  const tl::owned<X> x = filled<X>(3);
  auto of_loss = tl::jit([](auto a, auto l) {
                   return tl::softmax_cross_entropy<tl::ignore_label{7}>(a, tl::cast<std::int32_t>(l));
                 }).template bind<X, L>();
  auto of_rows = tl::jit([](auto a, auto l) {
                   return tl::gather(a, tl::reshape<2, 2>(tl::cast<std::int32_t>(l)));
                 }).template bind<X, L>();
  const auto refused = [&](auto& run, T label) {
    tl::owned<L> l;
    (*l)[2] = label;
    return support::refusal([&] { run(*x, *l); });
  };
  const std::string rows = "outside [0, 4)", classes_ = "outside [0, 3)";
  CHECK(refused(of_loss, 2) == "");
  CHECK(refused(of_loss, 7) == "");
  CHECK(refused(of_rows, 3) == "");
  CHECK(refused(of_loss, 3) == "tapeless: run: argument 1: index 3 at position 2 is " + classes_);
  CHECK(refused(of_rows, 4) == "tapeless: run: argument 1: index 4 at position 2 is " + rows);
  if constexpr (sizeof(T) == 8) {
    CHECK(refused(of_loss, T(-1)) == "tapeless: run: argument 1: index -1 at position 2 is " + classes_);
    CHECK(refused(of_loss, (std::int64_t{1} << 32) + 1) ==
          "tapeless: run: argument 1: index 4294967297 at position 2 is " + classes_);
    CHECK(refused(of_rows, std::int64_t{1} << 32) ==
          "tapeless: run: argument 1: index 4294967296 at position 2 is " + rows);
  }
}

TEST_CASE("labels that the program computes: one that does not fit gives NaN, and no other class") {
  using L = tl::tensor<std::int64_t, 3>;
  using X = tl::tensor<float, 3, 2>;
  auto run = tl::jit([](auto x, auto l) {
               const auto label = tl::cast<std::int32_t>(l) + 0 * tl::cast<std::int32_t>(tl::flip<0>(l));
               return tl::softmax_cross_entropy(x, label);
             }).bind<X, L>();
  const tl::owned<X> x = filled<X>(4);
  tl::owned<L> l;
  (*l)[0] = 1;
  (*l)[1] = std::int64_t{1} << 32;
  (*l)[2] = -(std::int64_t{1} << 32);
  const auto y = run(*x, *l);
  CHECK(std::isfinite(y[0]));
  CHECK(std::isnan(y[1]));
  CHECK(std::isnan(y[2]));
}

TEST_CASE_TEMPLATE("a mask of stored integers weighs losses as one of float does", T, std::uint8_t,
                   std::int64_t) {
  constexpr int n = 21;
  using X = tl::tensor<float, n, 6>;
  using W = tl::tensor<float, 6, 2>;
  using M = tl::tensor<T, n>;
  using F = tl::tensor<float, n>;
  constexpr auto weighed = tl::jit(tl::value_and_grad([](auto w, auto x, auto mask) {
    return tl::sum(tl::sum<1>(square(tl::matmul(x, w))) * tl::cast<float>(mask));
  }));
  tl::owned<X> x;
  tl::owned<W> w;
  tl::owned<M> m;
  tl::owned<F> f;
  for (tl::extent_t i = 0; i < x->size(); ++i) x->data()[i] = 0.125f * static_cast<float>(i % 17 - 8);
  for (tl::extent_t i = 0; i < w->size(); ++i) w->data()[i] = 0.5f * static_cast<float>(i % 5 - 2);
  for (int i = 0; i < n; ++i) {
    (*m)[i] = static_cast<T>(i % 3 == 0 ? 0 : i % 2 + 1);
    (*f)[i] = static_cast<float>((*m)[i]);
  }
  auto ours = weighed.template bind<W, X, M>();
  auto theirs = weighed.template bind<W, X, F>();
  const auto [value, gradient] = ours(*w, *x, *m);
  const auto [expected, expected_gradient] = theirs(*w, *x, *f);
  CHECK(value[0] == doctest::Approx(expected[0]));
  for (tl::extent_t i = 0; i < w->size(); ++i)
    CHECK(gradient.data()[i] == doctest::Approx(expected_gradient.data()[i]));
}

TEST_CASE("no derivative passes a cast to or from stored integers") {
  using X = tl::tensor<float, 5>;
  using U = tl::tensor<std::uint8_t, 5>;
  auto run = tl::jit(tl::grad([](auto x, auto u) {
               const auto y =
                   tl::cast<float>(tl::cast<std::uint8_t>(x)) + tl::cast<float>(tl::cast<std::int64_t>(x));
               return tl::sum(y * x * tl::cast<float>(u));
             })).bind<X, U>();
  tl::owned<X> x;
  tl::owned<U> u;
  for (int i = 0; i < 5; ++i) {
    (*x)[i] = 100.5f * static_cast<float>(i);
    (*u)[i] = static_cast<std::uint8_t>(i * 60);
  }
  const auto g = run(*x, *u);
  for (int i = 0; i < 5; ++i) {
    const float e = (*x)[i];
    CHECK(g[i] ==
          (static_cast<float>(cast_of<std::uint8_t>(e)) + static_cast<float>(cast_of<std::int64_t>(e))) *
              static_cast<float>((*u)[i]));
  }
}

TEST_CASE("results of a product are stored as bytes by its epilogue") {
  using A = tl::tensor<float, N, 8>;
  using B = tl::tensor<float, 8, 33>;
  constexpr auto program = tl::jit([](auto a, auto b) {
    const auto c = tl::matmul(a, b);
    return std::tuple{tl::cast<std::uint8_t>(c * 10.0f), tl::cast<std::int64_t>(c)};
  });
  auto run = program.bind<A, B>(tl::dim<'n'>(50));
  tl::owned<A> a{tl::dim<'n'>(50)};
  tl::owned<B> b;
  for (tl::extent_t i = 0; i < a->size(); ++i) a->data()[i] = static_cast<float>(i % 7 - 2);
  for (tl::extent_t i = 0; i < b->size(); ++i) b->data()[i] = static_cast<float>(i % 3 - 1);
  const auto [bytes, wide] = run(*a, *b);
  bool agree = true;
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 33; ++j) {
      float c = 0;
      for (int k = 0; k < 8; ++k) c += (*a)(i, k) * (*b)(k, j);
      agree =
          agree && bytes(i, j) == cast_of<std::uint8_t>(c * 10.0f) && wide(i, j) == cast_of<std::int64_t>(c);
    }
  CHECK(agree);
}

TEST_CASE("vars, loaded arguments and results that are arguments have these types, too") {
  using U = tl::tensor<std::uint8_t, 6>;
  using L = tl::tensor<std::int64_t, 6>;
  const tl::owned<U> u = filled<U>(9);
  const tl::owned<L> l = filled<L>(2);
  auto run = tl::jit([](auto a, auto b) {
               const tl::var x = a, y = b;
               return std::tuple{tl::cast<float>(x).as<float, 6>(), tl::flip<0>(y).as<std::int64_t, 6>(), a,
                                 b, tl::cast<std::uint8_t>(tl::cast<float>(y)).as<std::uint8_t, 6>()};
             }).bind<U, L>();
  const auto [f, turned, a, b, bytes] = run(*u, *l);
  for (int i = 0; i < 6; ++i) {
    CHECK(f[i] == static_cast<float>((*u)[i]));
    CHECK(turned[i] == (*l)[5 - i]);
    CHECK(a[i] == (*u)[i]);
    CHECK(b[i] == (*l)[i]);
    CHECK(bytes[i] == cast_of<std::uint8_t>(static_cast<float>((*l)[i])));
  }
  auto ahead =
      tl::jit([](auto x, auto y) { return tl::cast<double>(x) * 2.0 + tl::cast<double>(y); }).bind<U, L>();
  auto with = ahead.load(*u);
  const auto sum = with(*l);
  for (int i = 0; i < 6; ++i)
    CHECK(sum[i] == static_cast<double>((*u)[i]) * 2.0 + static_cast<double>((*l)[i]));
}

TEST_CASE("one_hot makes bytes; row ends of int64 are cast") {
  using L = tl::tensor<std::int64_t, 3>;
  auto run =
      tl::jit([](auto l) { return tl::one_hot<std::uint8_t, 4>(tl::cast<std::int32_t>(l)); }).bind<L>();
  tl::owned<L> l;
  (*l)[0] = 3;
  (*l)[1] = std::int64_t{1} << 32;
  (*l)[2] = 0;
  const auto hot = run(*l);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) CHECK(hot(i, j) == ((*l)[i] == j ? 1 : 0));

  using A = tl::csr<float, 3, 4, 5, std::int64_t>;
  const std::vector<std::int64_t> row_ptr{0, 2, 2, 5};
  const std::vector<std::int32_t> columns{0, 3, 0, 1, 2};
  std::vector<float> entries{1, 2, 3, 4, 5};
  const A a = tl::csr_view<A>(3, 4, row_ptr, columns, entries);
  auto ends = tl::jit([](auto m) { return tl::cast<float>(m.row_end()); }).bind<A>();
  const auto y = ends(a);
  for (int i = 0; i < 3; ++i) CHECK(y[i] == static_cast<float>(row_ptr[static_cast<std::size_t>(i) + 1]));
}
