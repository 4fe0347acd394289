// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// bf16 in programs: what is rounded and where. A rounding moves an element by at most r = 2^-8 of itself, so
//   c[i, j] of rounded operands is within (2 r + r^2) sum_k |a[i, k] b[k, j]| of c
//   <u, J v> of a product is within r (|u| |J v| + |J^T u| |v|) of <J^T u, v>: v is rounded on one side, u on the other
// and sums of float are within terms * eps of either.
#include <tapeless/run/csr.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include <support/allocations.hpp>
#include <support/random.hpp>

namespace tl = tapeless;

namespace {

using tl::bf16;
constexpr double r = 0x1p-8, eps = 0x1p-23;
constexpr tl::extent_t m = tl::dyn<'m'>, k = tl::dyn<'k'>, n = tl::dyn<'n'>;

template <class Tree> void fill(const Tree& tree, std::uint64_t seed) {
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
    const auto v = support::random_values<float>(static_cast<std::size_t>(leaf.size()), seed++);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) leaf[i] = T(v[static_cast<std::size_t>(i)]);
  });
}
template <class Tree> std::vector<double> elements(const Tree& tree) {
  std::vector<double> v;
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    for (const auto e : leaf) v.push_back(static_cast<double>(static_cast<float>(e)));
  });
  return v;
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) s += a[i] * b[i];
  return s;
}
double norm(const std::vector<double>& a) { return std::sqrt(dot(a, a)); }
bool close(double x, double y, double tolerance) { return std::abs(x - y) <= tolerance; }
float rounded(float x) { return static_cast<float>(bf16(x)); }

} // namespace

TEST_CASE("matmul of bf16: in all transposes the product of the rounded operands, whatever the extents") {
  using A = tl::tensor<bf16, m, k>;
  using B = tl::tensor<bf16, k, n>;
  const auto of = [](auto a, auto at, auto b, auto bt) {
    return std::tuple{tl::matmul(a, b), tl::matmul(tl::transpose(at), b), tl::matmul(a, tl::transpose(bt)),
                      tl::matmul(tl::transpose(at), tl::transpose(bt))};
  };
  using At = tl::tensor<bf16, k, m>;
  using Bt = tl::tensor<bf16, n, k>;
  auto run = tl::jit(of).bind<A, At, B, Bt>(tl::dim<'m'>(70), tl::dim<'k'>(80), tl::dim<'n'>(70));
  const int shapes[][3] = {{1, 1, 1},    {1, 7, 5},   {2, 5, 33}, {13, 31, 17}, {64, 64, 64}, {31, 67, 33},
                           {70, 80, 70}, {70, 33, 1}, {3, 0, 2},  {0, 3, 2},    {3, 4, 0},    {41, 2, 3}};
  for (const auto& s : shapes) {
    const tl::extent_t M = s[0], K = s[1], N = s[2];
    CAPTURE(M);
    CAPTURE(K);
    CAPTURE(N);
    tl::owned<std::tuple<A, At, B, Bt>> in{tl::dim<'m'>(M), tl::dim<'k'>(K), tl::dim<'n'>(N)};
    const auto& [a, at, b, bt] = *in;
    fill(a, 1);
    fill(b, 2);
    for (int i = 0; i < M; ++i)
      for (int p = 0; p < K; ++p) at(p, i) = a(i, p);
    for (int p = 0; p < K; ++p)
      for (int j = 0; j < N; ++j) bt(j, p) = b(p, j);
    const auto c = run(a, at, b, bt);
    bool agree = true;
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        double sum = 0, size = 0;
        for (int p = 0; p < K; ++p) {
          const double x = static_cast<float>(a(i, p)), y = static_cast<float>(b(p, j));
          sum += x * y;
          size += std::abs(x * y);
        }
        std::apply(
            [&](const auto&... y) {
              ((agree = agree && close(y(i, j), sum, static_cast<double>(K) * eps * size)), ...);
            },
            c);
      }
    CHECK(agree);
  }
}

TEST_CASE("bf16: a value that is used where it is rounded is the rounded one, stored or not") {
  using X = tl::tensor<float, 37>;
  auto run = tl::jit([](auto x) {
               const auto y = tl::cast<bf16>(x * 3.0);
               return std::tuple{y, tl::cast<float>(y) + 1.0, tl::sum(tl::cast<float>(y)),
                                 tl::cast<float>(tl::cast<bf16>(x)) - x};
             }).bind<X>();
  tl::owned<X> x;
  fill(*x, 3);
  const auto [y, z, s, error] = run(*x);
  double sum = 0;
  for (int i = 0; i < 37; ++i) {
    const float e = rounded((*x)[i] * 3.0f);
    CHECK(static_cast<float>(y[i]) == e);
    CHECK(z[i] == e + 1.0f);
    CHECK(error[i] == rounded((*x)[i]) - (*x)[i]);
    sum += e;
  }
  CHECK(close(s[0], sum, 37 * eps * 37));
}

TEST_CASE("bf16: what moves elements moves these") {
  using X = tl::tensor<bf16, 6, 5>;
  using I = tl::tensor<std::int32_t, 3>;
  auto run = tl::jit([](auto x, auto i) {
               const auto t = tl::transpose(x);
               return std::tuple{tl::reshape<3, 10>(x),
                                 t,
                                 tl::reshape<30>(t),
                                 tl::slice<0, 2, 5>(x),
                                 tl::cast<float>(tl::slice<1, 1, 3>(x)),
                                 tl::gather<0>(x, i),
                                 tl::concat<0>(x, tl::slice<0, 0, 1>(x)),
                                 tl::pad<1, 1, 0>(x),
                                 tl::flip<1>(x),
                                 tl::matmul(tl::slice<1, 1, 4>(x), tl::slice<0, 1, 4>(x)),
                                 tl::cast<float>(tl::broadcast_to<2, 5>(tl::slice<0, 3, 4>(x))),
                                 tl::cast<bf16>(tl::cast<float>(x))};
             }).bind<X, I>();
  tl::owned<std::tuple<X, I>> in;
  const auto& [x, i] = *in;
  fill(x, 4);
  i[0] = 4, i[1] = 0, i[2] = 4;
  const auto [flat, t, t_flat, rows, columns, chosen, longer, padded, flipped, product, repeated, same] =
      run(x, i);
  const auto f = [&](int p, int q) { return static_cast<float>(x(p, q)); };
  for (int p = 0; p < 6; ++p)
    for (int q = 0; q < 5; ++q) {
      CHECK(flat[p * 5 + q].bits == x(p, q).bits);
      CHECK(same(p, q).bits == x(p, q).bits);
      CHECK(t(q, p).bits == x(p, q).bits);
      CHECK(t_flat[q * 6 + p].bits == x(p, q).bits);
      CHECK(longer(p, q).bits == x(p, q).bits);
      CHECK(padded(p, q + 1).bits == x(p, q).bits);
      CHECK(padded(p, 0).bits == 0);
      CHECK(flipped(p, 4 - q).bits == x(p, q).bits);
      double sum = 0;
      for (int z = 0; z < 3; ++z) sum += f(p, z + 1) * f(z + 1, q);
      CHECK(close(product(p, q), sum, 1e-6));
    }
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < 5; ++q) {
      CHECK(rows(p, q).bits == x(p + 2, q).bits);
      CHECK(chosen(p, q).bits == x(i[p], q).bits);
    }
  for (int p = 0; p < 6; ++p)
    for (int q = 0; q < 2; ++q) CHECK(columns(p, q) == f(p, q + 1));
  for (int q = 0; q < 5; ++q) {
    CHECK(longer(6, q).bits == x(0, q).bits);
    CHECK(repeated(1, q) == f(3, q));
  }
}

namespace {

// Operands of any rank.
constexpr auto products = [](auto a, auto b, auto v) {
  const auto a16 = tl::cast<bf16>(a);
  const auto b16 = tl::cast<bf16>(b);
  const auto v16 = tl::cast<bf16>(v);
  return std::tuple{tl::matmul(a16, b16), tl::matmul(tl::transpose<0, 2, 1>(b16), tl::transpose(a16)),
                    tl::matmul(b16, v16), tl::matmul(v16, v16)};
};
constexpr auto one_product = [](auto a, auto b) { return tl::matmul(tl::cast<bf16>(a), tl::cast<bf16>(b)); };
using A3 = tl::tensor<float, 3, 5>;
using B3 = tl::tensor<float, 2, 5, 7>;
using V3 = tl::tensor<float, 7>;

} // namespace

TEST_CASE("matmul of bf16: batches and vectors, <u, J v> == <J^T u, v> within a rounding of u and of v") {
  using U = std::tuple<tl::tensor<float, 2, 3, 7>, tl::tensor<float, 2, 7, 3>, tl::tensor<float, 2, 5>,
                       tl::scalar<float>>;
  tl::owned<std::tuple<A3, B3, V3>> x, v;
  tl::owned<U> u;
  fill(*x, 5);
  fill(*v, 8);
  fill(*u, 11);
  const auto& [a, b, w] = *x;
  const auto& [da, db, dw] = *v;
  auto forward = tl::jit(products).bind<A3, B3, V3>();
  const auto [y, yt, bw, ww] = forward(a, b, w);
  for (int z = 0; z < 2; ++z)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 7; ++j) {
        double sum = 0, size = 0;
        for (int p = 0; p < 5; ++p) {
          sum += static_cast<double>(rounded(a(i, p))) * rounded(b(z, p, j));
          size += std::abs(sum);
        }
        CHECK(close(y(z, i, j), sum, 5 * eps * size));
        CHECK(close(yt(z, j, i), sum, 5 * eps * size));
      }
  auto jv = tl::jit(tl::jvp<0, 1, 2>(products)).bind<A3, B3, V3, A3, B3, V3>();
  auto jtu = tl::jit(tl::vjp<0, 1, 2>(products)).bind<A3, B3, V3, U>();
  const auto j = elements(jv(a, b, w, da, db, dw)), jt = elements(jtu(a, b, w, *u));
  const auto us = elements(*u), vs = elements(*v);
  CHECK(close(dot(us, j), dot(jt, vs), (r + 16 * eps) * (norm(us) * norm(j) + norm(jt) * norm(vs))));
  CHECK(std::abs(dot(us, j)) > 0);
}

TEST_CASE("matmul of bf16: its gradient is that of float within two roundings") {
  using A = tl::tensor<float, 33, 40>;
  using B = tl::tensor<float, 40, 35>;
  using C = tl::tensor<float, 33, 35>;
  auto run16 = tl::jit(tl::vjp<0, 1>(one_product)).bind<A, B, C>();
  auto run32 = tl::jit(tl::vjp<0, 1>([](auto a, auto b) { return tl::matmul(a, b); })).bind<A, B, C>();
  tl::owned<std::tuple<A, B, C>> x, size;
  fill(*x, 20);
  tl::for_each_leaf(*size, [i = 0, &x](const auto& leaf) mutable {
    const auto from = elements(*x);
    for (auto& e : leaf) e = static_cast<float>(std::abs(from[static_cast<std::size_t>(i++)]));
  });
  const auto at = [](auto& run, const auto& in) {
    return std::apply([&](const auto&... e) { return elements(run(e...)); }, *in);
  };
  const auto g16 = at(run16, x), g32 = at(run32, x), bound = at(run32, size);
  bool within = g16.size() == bound.size(), rounds = false;
  for (std::size_t i = 0; i < g16.size(); ++i) {
    within = within && close(g16[i], g32[i], (2 * r + r * r + 80 * eps) * bound[i]);
    rounds = rounds || !close(g16[i], g32[i], 80 * eps * bound[i]);
  }
  CHECK(within);
  CHECK(rounds);
}

namespace {

struct layers {
  tl::tensor<float, 24, 64> w1;
  tl::tensor<float, 64> b1;
  tl::tensor<float, 64, 64> w2;
  tl::tensor<float, 64> b2;
  tl::tensor<float, 64, 3> w3;
};
template <class T> constexpr auto loss = [](const auto& p, auto x, auto y) {
  const auto h = tl::relu(tl::matmul(tl::cast<T>(x), tl::cast<T>(p.w1)) + p.b1);
  const auto g = tl::tanh(tl::matmul(tl::cast<T>(h), tl::cast<T>(p.w2)) + p.b2);
  return tl::mean(square(tl::matmul(tl::cast<T>(g), tl::cast<T>(p.w3)) - y));
};
using inputs = tl::tensor<float, n, 24>;
using targets = tl::tensor<float, n, 3>;

} // namespace

TEST_CASE("a training step in bf16: near that of float, the same on every team, without allocations") {
  constexpr auto step = tl::jit(tl::value_and_grad(loss<bf16>));
  constexpr int rows = 700; // many chunks of rows
  tl::owned<layers> p;
  tl::owned<inputs> x{tl::dim<'n'>(rows)};
  tl::owned<targets> y{tl::dim<'n'>(rows)};
  fill(*p, 30);
  fill(*x, 40);
  fill(*y, 41);
  for (float& e : p->w1) e *= 0.3f;
  for (float& e : p->w2) e *= 0.2f;
  auto run = step.bind<layers, inputs, targets>(tl::dim<'n'>(rows), tl::threads(1));
  auto two = step.bind<layers, inputs, targets>(tl::dim<'n'>(rows), tl::threads(2));
  auto run32 = tl::jit(tl::value_and_grad(loss<float>)).bind<layers, inputs, targets>(tl::dim<'n'>(rows));
  const auto g = elements(run(*p, *x, *y)), again = elements(two(*p, *x, *y)),
             g32 = elements(run32(*p, *x, *y));
  CHECK(g == again);
  std::vector<double> difference;
  for (std::size_t i = 0; i < g.size(); ++i) difference.push_back(g[i] - g32[i]);
  CHECK(norm(difference) < 16 * r * norm(g32)); // a rounding for each product and operand on the way
  CHECK(norm(difference) > 0);
  CHECK(support::allocations_of([&] { run(*p, *x, *y); }) == 0);
  for (const int few : {1, 2, 3, 17, 0}) { // other paths of the product
    const inputs xs(x->data(), few);
    const targets ys(y->data(), few);
    if (few == 0) {
      for (const double e : elements(std::get<1>(run(*p, xs, ys)))) CHECK((e == 0 || e != e));
      continue;
    }
    const auto s = elements(std::get<1>(run(*p, xs, ys))), s32 = elements(std::get<1>(run32(*p, xs, ys)));
    difference.clear();
    for (std::size_t i = 0; i < s.size(); ++i) difference.push_back(s[i] - s32[i]);
    CHECK(norm(difference) < 32 * r * norm(s32));
  }
}

TEST_CASE("second derivatives in bf16 are near those of float") {
  constexpr int rows = 40;
  tl::owned<std::tuple<layers, layers>> p;
  const auto& [q, v] = *p;
  tl::owned<inputs> x{tl::dim<'n'>(rows)};
  tl::owned<targets> y{tl::dim<'n'>(rows)};
  fill(*p, 50);
  fill(*x, 60);
  fill(*y, 61);
  for (float& e : q.w1) e *= 0.3f;
  for (float& e : q.w2) e *= 0.2f;
  const auto bound = [](auto f) {
    return tl::jit(tl::hvp<0>(f)).template bind<layers, inputs, targets, layers>(tl::dim<'n'>(rows));
  };
  auto h16 = bound(loss<bf16>);
  auto h32 = bound(loss<float>);
  const auto a = elements(h16(q, *x, *y, v)), b = elements(h32(q, *x, *y, v));
  std::vector<double> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  CHECK(norm(difference) < 64 * r * norm(b));
}

TEST_CASE("weights in bf16 as arguments: loaded once or read in each run, the same") {
  struct weights {
    tl::tensor<bf16, 24, 64> w;
    tl::tensor<float, 64> b;
    tl::tensor<bf16, 64, 5> v;
  };
  const auto infer = [](const auto& p, auto x) {
    const auto h = tl::relu(tl::matmul(tl::cast<bf16>(x), p.w) + p.b);
    return tl::cast<bf16>(tl::matmul(tl::cast<bf16>(h), p.v));
  };
  tl::owned<weights> p;
  tl::owned<inputs> x{tl::dim<'n'>(300)};
  fill(*p, 70);
  fill(*x, 80);
  auto run = tl::jit(infer).bind<weights, inputs>(tl::dim<'n'>(300));
  const auto y = elements(run(*p, *x));
  auto loaded = tl::jit(infer).bind<weights, inputs>(tl::dim<'n'>(300)).load(*p);
  const auto z = elements(loaded(*x));
  REQUIRE(y.size() == 1500);
  CHECK(y == z);
  const auto narrow = tl::jit(infer).cost<weights, inputs>();
  CHECK(narrow.flops().at(tl::dim<'n'>(300)) ==
        doctest::Approx(300 * (2.0 * 24 * 64 + 2.0 * 64 * 5 + 2 * 64)));
}

TEST_CASE("bf16 in a handle of any type, as a result of a derivative, and of selected rows") {
  using X = tl::tensor<float, 6, 4>;
  using W = tl::tensor<float, 4, 4>;
  auto loop = tl::jit([](auto x, auto w) {
                tl::var h = x;
                for (int i = 0; i < 2; ++i) h = tl::matmul(tl::cast<bf16>(h), tl::cast<bf16>(w));
                tl::var narrow = tl::cast<bf16>(h);
                return std::tuple{h.as<float, 6, 4>(), narrow.as<bf16, 6, 4>()};
              }).bind<X, W>();
  tl::owned<std::tuple<X, W>> in, dot_in;
  fill(*in, 90);
  fill(*dot_in, 92);
  const auto& [x, w] = *in;
  const auto& [dx, dw] = *dot_in;
  const auto [h, h16] = loop(x, w);
  for (int i = 0; i < 24; ++i) CHECK(static_cast<float>(h16[i]) == rounded(h[i]));

  const auto halves = [](auto a) { return tl::cast<bf16>(a * 3.0); };
  using X16 = tl::tensor<bf16, 6, 4>;
  auto tangent = tl::jit(tl::jvp(halves)).bind<X, X>();
  auto cotangent = tl::jit(tl::vjp(halves)).bind<X, X16>();
  const auto y_dot = tangent(x, dx);
  for (int i = 0; i < 24; ++i) CHECK(static_cast<float>(y_dot[i]) == rounded(3.0f * dx[i]));
  const auto x_bar = cotangent(x, y_dot);
  for (int i = 0; i < 24; ++i) CHECK(x_bar[i] == 3.0f * static_cast<float>(y_dot[i]));

  const auto selected = [](auto a, auto b) {
    const auto e = tl::sum<1>(square(tl::tanh(tl::matmul(tl::cast<bf16>(a), tl::cast<bf16>(b)))));
    return tl::sum(tl::gather(e, tl::top_k<2>(e)));
  };
  const auto masked = [](auto a, auto b, auto mask) {
    const auto e = tl::sum<1>(square(tl::tanh(tl::matmul(tl::cast<bf16>(a), tl::cast<bf16>(b)))));
    return tl::sum(e * mask);
  };
  using M = tl::tensor<float, 6>;
  auto g = tl::jit(tl::grad<0, 1>(selected)).bind<X, W>();
  auto all = tl::jit(tl::grad<0, 1>(masked)).bind<X, W, M>();
  const auto few = elements(g(x, w));
  tl::owned<M> mask;
  for (int i = 0; i < 6; ++i) {
    bool chosen = false;
    for (int j = 0; j < 4; ++j) chosen = chosen || few[static_cast<std::size_t>(i * 4 + j)] != 0;
    (*mask)[i] = chosen ? 1.0f : 0.0f;
  }
  const auto full = elements(all(x, w, *mask));
  bool same = few.size() == full.size();
  for (std::size_t i = 0; same && i < few.size(); ++i) same = close(few[i], full[i], 1e-5);
  CHECK(same);
  const auto mask_sum = elements(*mask);
  CHECK(dot(mask_sum, mask_sum) == 2);
}

TEST_CASE("bf16 beside the rows of a sparse matrix, all of them and those of a mask") {
  constexpr int rows = 500, columns = 9;
  using A = tl::csr<float, rows, columns, 2 * rows>;
  using X = tl::tensor<float, columns>;
  using Y = tl::tensor<bf16, rows>;
  using Z = tl::tensor<float, rows>;
  using M = tl::tensor<bool, rows>;
  std::vector<std::int32_t> row_ptr, column;
  for (int i = 0; i <= rows; ++i) row_ptr.push_back(2 * i);
  for (int i = 0; i < rows; ++i) column.push_back(i % 4), column.push_back(4 + i % 5);
  std::vector<float> values = support::random_values<float>(2 * rows, 100);
  const A a = tl::csr_view<A>(rows, columns, row_ptr, column, values);
  tl::owned<std::tuple<X, Y, Z, M>> in;
  const auto& [x, y, z, mask] = *in;
  fill(x, 101);
  fill(y, 102);
  for (int i = 0; i < rows; ++i) z[i] = static_cast<float>(y[i]), mask[i] = i % 3 == 0;
  const auto twice = [](auto w, auto s, auto t, auto only) {
    const auto e = tl::square(tl::matmul(s, w) - t);
    return tl::sum(e) + tl::sum(tl::where(only, e, 0.0));
  };
  const auto masked = [](auto w, auto s, auto t, auto only) {
    return tl::mean(tl::where(only, tl::square(tl::matmul(s, w) - t), 0.0));
  };
  const auto check = [&](auto f) {
    const auto of_bf16 = [](auto w, auto s, auto t, auto only) {
      return decltype(f){}(w, s, tl::cast<float>(t), only);
    };
    auto narrow = tl::jit(tl::value_and_grad<0>(of_bf16)).template bind<X, A, Y, M>();
    auto wide = tl::jit(tl::value_and_grad<0>(f)).template bind<X, A, Z, M>();
    const auto g = elements(narrow(x, a, y, mask)), h = elements(wide(x, a, z, mask));
    REQUIRE(g.size() == h.size());
    for (std::size_t i = 0; i < g.size(); ++i) CHECK(close(g[i], h[i], 1e-4 * (1 + std::abs(h[i]))));
  };
  check(twice);
  check(masked);
}
