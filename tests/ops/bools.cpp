// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The caller's bools: any byte but 0 is true, in every op that reads them and wherever they lie, and results are 0 and 1.
// Each program runs twice, of bytes 0 and 1 and of the same truth in other bytes, and gives the same bits.
#include <tapeless/run/csr_build.hpp>
#include <tapeless/run/csr_dense.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <vector>

namespace tl = tapeless;

namespace {

constexpr int n = 37, m = 5; // no multiples of a vector
using rows = tl::tensor<float, tl::dyn<'n'>, m>;
using column = tl::tensor<float, tl::dyn<'n'>>;
using mask = tl::tensor<bool, tl::dyn<'n'>>;
using grid = tl::tensor<bool, tl::dyn<'n'>, m>;
using indices = tl::tensor<std::int32_t, 9>;
using square = tl::csr<float, tl::dyn<'n'>, tl::dyn<'c'>, tl::dyn<'e'>>;

// Bytes of which all but the first are true.
constexpr unsigned char other_bytes[] = {0, 2, 255, 128, 1, 64, 3, 254};

struct bools {
  std::vector<unsigned char> bytes;
  bools(int count, bool plain, unsigned seed) {
    for (int i = 0; i < count; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const bool set = seed >> 30 != 0;
      bytes.push_back(plain ? static_cast<unsigned char>(set) : set ? other_bytes[1 + (seed >> 20) % 7] : 0);
    }
    bytes.shrink_to_fit(); // what reads past the end is seen
  }
  const bool* data() const { return reinterpret_cast<const bool*>(bytes.data()); }
  bool* data() { return reinterpret_cast<bool*>(bytes.data()); }
};
std::vector<float> reals(int count) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i) x.push_back(0.25f * static_cast<float>(i * 7 % 23 - 11));
  return x;
}

using bits = std::vector<unsigned char>;
template <class Tree> bits bits_of(const Tree& result) {
  bits all;
  tl::for_each_leaf(result, [&](const auto& leaf) {
    using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
    const auto* const p = reinterpret_cast<const unsigned char*>(leaf.data());
    all.insert(all.end(), p, p + static_cast<std::size_t>(leaf.size()) * sizeof(T));
  });
  return all;
}
// f(plain): the bits of the results
template <class F> void same_bits(F f) {
  const bits plain = f(true);
  CHECK(plain == f(false));
  CHECK(!plain.empty());
}

} // namespace

TEST_CASE("bytes of bools: elementwise ops, in whole vectors and less, of rows, columns and one number") {
  same_bits([](bool plain) {
    const bools fa(n * m, plain, 1), fb(n * m, plain, 2), fc(n, plain, 3), fd(m, plain, 4), fone(1, plain, 7);
    const std::vector<float> vx = reals(n * m);
    using const_grid = tl::tensor<const bool, tl::dyn<'n'>, m>;
    auto run = tl::jit([](auto x, auto a, auto b, auto c, auto d, auto one) {
                 const auto col = tl::reshape<tl::dyn<'n'>, 1>(c);
                 return std::tuple{tl::where(a, x, 0.0f),
                                   tl::where(a && b, x, 1.0f),
                                   tl::where(col, x, -x),
                                   tl::where(d, x, -x),
                                   tl::where(one, x, -x),
                                   tl::where(a, b, !a),
                                   a || col,
                                   a == b,
                                   a != d,
                                   !a,
                                   tl::cast<float>(a),
                                   tl::cast<std::int32_t>(b),
                                   tl::transpose(a),
                                   tl::transpose(a) == tl::transpose(b),
                                   a,
                                   c};
               })
                   .bind<rows, const_grid, const_grid, tl::tensor<const bool, tl::dyn<'n'>>,
                         tl::tensor<const bool, m>, tl::scalar<const bool>>(tl::dim<'n'>(n));
    return bits_of(run(rows(const_cast<float*>(vx.data()), n), const_grid(fa.data(), n),
                       const_grid(fb.data(), n), tl::tensor<const bool, tl::dyn<'n'>>(fc.data(), n),
                       tl::tensor<const bool, m>(fd.data()), tl::scalar<const bool>(fone.data())));
  });
}

TEST_CASE_TEMPLATE("bytes of bools: beside double and int32, strided, reduced and differentiated", T, float,
                   double) {
  same_bits([](bool plain) {
    using X = tl::tensor<T, n, m>;
    using M = tl::tensor<bool, n, m>;
    bools fa(n * m, plain, 5), fb(n * m, plain, 6);
    std::vector<T> vx;
    for (const float f : reals(n * m)) vx.push_back(static_cast<T>(f));
    auto run = tl::jit(tl::value_and_grad<0>([](auto x, auto a, auto b) {
                 const auto odd = tl::slice<1, 1, 3>(a);
                 return tl::sum(tl::where(a, x * x, x)) +
                        tl::sum(tl::where(odd, tl::slice<1, 2, 4>(x), T(0))) +
                        tl::max(tl::where(b, x, T(-100))) + tl::sum(x * tl::cast<T>(b)) +
                        tl::sum(tl::cast<T>(tl::argmax<1>(tl::cast<std::int32_t>(a))));
               })).template bind<X, M, M>();
    return bits_of(run(X(vx.data()), M(fa.data()), M(fb.data())));
  });
}

TEST_CASE("bytes of bools: results of ops that move elements are 0 and 1, in the arena and in buffers") {
  constexpr auto program = tl::jit([](auto a, auto c, auto i) {
    return std::tuple{tl::gather(a, i),     tl::gather<1>(a, tl::slice<0, 0, 1>(i)),
                      tl::gather(c, i),     tl::concat<1>(a, !a),
                      tl::pad<1, 2, 1>(a),  tl::flip<1>(a),
                      tl::flip<0>(c),       tl::gather(c, i) && tl::gather(!c, i),
                      tl::stop_gradient(c), tl::reshape<tl::dyn<'n'>, m, 1>(a)};
  });
  const std::vector<std::int32_t> at = {4, 0, 4, 36, 20, 21, 22, 1, 2};
  same_bits([&](bool plain) {
    bools a(n * m, plain, 8), c(n, plain, 9);
    auto run = program.bind<grid, mask, tl::tensor<const std::int32_t, 9>>(tl::dim<'n'>(n));
    const auto r = run(grid(a.data(), n), mask(c.data(), n), tl::tensor<const std::int32_t, 9>(at.data()));
    const bits all = bits_of(r);
    CHECK(*std::max_element(all.begin(), all.end()) == 1);
    tl::owned<std::remove_cvref_t<decltype(r)>> out{tl::dim<'n'>(n)};
    tl::for_each_leaf(*out, [](const auto& leaf) {
      std::memset(static_cast<void*>(leaf.data()), 99, static_cast<std::size_t>(leaf.size()));
    });
    run.into (*out)(grid(a.data(), n), mask(c.data(), n), tl::tensor<const std::int32_t, 9>(at.data()));
    CHECK(bits_of(*out) == all);
    return all;
  });
}

TEST_CASE("bytes of bools: rows that a mask selects, in products too, and their gradients") {
  same_bits([](bool plain) {
    bools fa(n, plain, 10), fb(n, plain, 11);
    std::vector<float> vx = reals(n * m), vw = reals(m * m);
    using weights = tl::tensor<float, m, m>;
    auto select = tl::jit(tl::value_and_grad<0>([](auto w, auto x, auto a, auto b) {
                    const auto y = tl::tanh(tl::matmul(tl::gather(x, tl::where<'k'>(a)), w));
                    const auto z = tl::matmul(x, w);
                    return tl::sum(y * y) +
                           tl::sum(tl::where(tl::reshape<tl::dyn<'n'>, 1>(a && b), z, 0.0f)) +
                           tl::mean(tl::gather(tl::sum<1>(z), tl::where<'j'>(b)));
                  })).bind<weights, rows, mask, mask>(tl::dim<'n'>(n));
    return bits_of(select(weights(vw.data()), rows(vx.data(), n), mask(fa.data(), n), mask(fb.data(), n)));
  });
}

TEST_CASE("bytes of bools: masks of rows in sweeps over sparse matrices") {
  std::vector<tl::triplet<float>> entries;
  for (int i = 0; i < n; ++i)
    for (const int j : {i, (i * 3 + 1) % n, (i * 5 + 2) % n})
      entries.push_back({i, j, 0.5f * static_cast<float>((i + j) % 7) - 1.0f});
  same_bits([&](bool plain) {
    const tl::owned<square> matrix = tl::csr_from_triplets<square>(n, n, entries);
    bools of_rows(n, plain, 12), of_columns(n, plain, 13);
    std::vector<float> vx = reals(n);
    using columns = tl::tensor<float, tl::dyn<'c'>>;
    using column_mask = tl::tensor<bool, tl::dyn<'c'>>;
    auto run =
        tl::jit(tl::value_and_grad<1>([](auto a, auto x, auto keep, auto some) {
          const auto y = tl::matmul(a, tl::where(some, x, 0.0f));
          const auto r = tl::where(keep, y * y, 0.0f);
          return tl::sum(r);
        })).bind<square, columns, mask, column_mask>(tl::dim<'n'>(n), tl::dim<'c'>(n), tl::dim<'e'>(3 * n));
    return bits_of(
        run(*matrix, columns(vx.data(), n), mask(of_rows.data(), n), column_mask(of_columns.data(), n)));
  });
}

namespace {
struct count_set { // the user's own code reads the bools as a bool
  static constexpr tl::shape result(tl::shape, tl::shape) { return tl::shape_of<1>; }
  static void primal(auto y, auto, auto flags) {
    y[0] = 0;
    for (const bool f : flags) y[0] += static_cast<float>(f);
  }
  static constexpr auto vjp(auto x, auto flags, auto, auto y_bar) {
    return std::tuple{x * tl::sum(y_bar), flags};
  }
};
} // namespace

TEST_CASE("bytes of bools: a user's own op is given 0 and 1") {
  same_bits([](bool plain) {
    bools fa(n, plain, 14), fb(n * m, plain, 15);
    std::vector<float> vx = reals(n);
    auto run = tl::jit([](auto x, auto a, auto b) {
                 return std::tuple{tl::custom<count_set>(x, a), tl::custom<count_set>(x, b),
                                   tl::custom<count_set>(x, tl::flatten(b))};
               }).bind<column, mask, grid>(tl::dim<'n'>(n));
    return bits_of(run(column(vx.data(), n), mask(fa.data(), n), grid(fb.data(), n)));
  });
}

TEST_CASE("bytes of bools: sparse matrices of bools") {
  using dense = tl::tensor<bool, tl::dyn<'r'>, tl::dyn<'c'>>;
  using pattern = tl::csr<bool, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
  same_bits([](bool plain) {
    bools x(n * m, plain, 16), values(3, plain, 18);
    const std::vector<std::int32_t> ptr = {0, 2, 3}, columns = {0, 2, 1}, line = {0, 0, 1};
    const auto a = tl::csr_from_dense<pattern>(dense(x.data(), n, m));
    const auto b = tl::csr_from_csr<pattern>(2, 3, ptr, columns, values.data());
    const auto c = tl::csr_from_coo<pattern>(2, 3, line, columns, std::span<const bool>(values.data(), 3));
    const auto view = tl::csr_view<pattern>(2, 3, const_cast<std::int32_t*>(ptr.data()),
                                            const_cast<std::int32_t*>(columns.data()), values.data());
    bits all;
    const auto add = [&](const bits& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(bits_of(a->values()));
    add(bits_of(b->values()));
    add(bits_of(c->values()));
    add(bits_of(*tl::to_dense(view)));
    add(bits_of(tl::csr_transposed<pattern>(view)->values()));
    return all;
  });
}
