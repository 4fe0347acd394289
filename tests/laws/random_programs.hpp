#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Random programs: random_program<Seed, Length> is a function of three tensors, Length ops drawn in constant
// evaluation, with shapes that change as ops change them. Its values stay of order 1, so that finite differences are exact enough.
//   check_programs<First, Count, Length>(): for each seed, <gradient, v> == the finite difference along a random v

#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>
#include <support/fd.hpp>
#include <support/random.hpp>

#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace laws {

namespace tl = tapeless;

class drawer {
  std::uint64_t state_;

public:
  constexpr explicit drawer(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  constexpr int below(int n) { // splitmix64
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(n));
  }
};

// A further value from a and b, or a itself where the drawn op does not fit their shapes.
constexpr tl::var one_op(drawer& draw, tl::var a, tl::var b) {
  const tl::shape s = a.dims(), t = b.dims();
  const int rank = s.rank;
  const bool fits = tl::detail::broadcastable(s, t) && tl::detail::numel(tl::detail::broadcast(s, t)) <= 120;
  switch (draw.below(30)) {
    case 0: return tanh(a);
    case 1: return sigmoid(a);
    case 2: return exp(tanh(a));
    case 3: return log(1.5 + square(a));
    case 4: return sqrt(1.0 + square(a));
    case 5: return relu(a);
    case 6: return -a * 0.5;
    case 7: return pow(1.0 + square(tanh(a)), 1.5);
    case 8: return fits ? a + b : a;
    case 9: return fits ? a - b : a;
    case 10: return fits ? tanh(a) * tanh(b) : a;
    case 11: return fits ? a / (2.0 + square(b)) : a;
    case 12: return fits ? max(a, b) : a;
    case 13: return fits ? min(a, b) : a;
    case 14: return fits ? where(a < b, tanh(a), b * 0.7) : a;
    case 15: return rank >= 1 ? mean<0>(a) : a;
    case 16: return rank >= 1 ? tanh(sum<-1>(a)) : a;
    case 17: return rank >= 2 ? mean<0, -1>(a, tl::keepdims) : a;
    case 18: return rank >= 1 ? tl::max<0>(a) : a;
    case 19: return rank >= 1 ? logsumexp<-1>(a, tl::keepdims) : a;
    case 20: return rank >= 1 ? softmax<-1>(a) : a;
    case 21: return rank >= 2 ? transpose(a) : a;
    case 22: return rank >= 1 ? flatten(a) : a;
    case 23: return rank >= 1 && s[0] >= 2 ? tl::slice<0, 0, 2>(a) : a;
    case 24: return rank >= 1 && s[rank - 1] >= 3 ? tl::slice<-1, 1, 3>(a) : a;
    case 25: return rank >= 1 && s[0] <= 6 ? tl::pad<0, 1, 0>(a) : a;
    case 26: return rank >= 1 && s[0] <= 6 ? tl::concat<0>(a, tanh(a)) : a;
    case 27:
      return rank >= 2 && s == t ? tanh(matmul(a, transpose(b)))
             : rank == 2         ? tanh(matmul(transpose(a), a))
                                 : a;
    case 28:
      return rank == 2 && t.rank >= 1 && s[1] == (t.rank == 1 ? t[0] : t[t.rank - 2]) ? tanh(matmul(a, b))
                                                                                      : a;
    default:
      return rank == 3                             ? transpose<2, 0, 1>(a)
             : rank <= 2 && rank >= 1 && s[0] <= 6 ? gather<0>(a, argmax<0>(a))
                                                   : a;
  }
}

template <std::uint64_t Seed, int Length> struct random_program {
  constexpr auto operator()(const auto& x, const auto& y, const auto& z) const {
    drawer draw(Seed);
    tl::var pool[3 + Length] = {tl::var(x), tl::var(y), tl::var(z)};
    for (int k = 3; k < 3 + Length; ++k) {
      // the later half of the values is drawn more often
      const int a = draw.below(2) == 0 ? k - 1 - draw.below(3) : draw.below(k), b = draw.below(k);
      pool[k] = one_op(draw, pool[a], pool[b]);
      if (pool[k].dims().rank > 3) pool[k] = flatten(pool[k]);
    }
    const tl::var last = pool[2 + Length], before = pool[1 + Length];
    return (mean(last) + mean(square(before)) + mean(tanh(pool[Length]))).template as<double>();
  }
};

struct program_values {
  double value;
  std::vector<double> gradient;
};
struct comparison {
  double along, scale; // <gradient, v>, and the sum of |terms| plus 1
  support::estimate estimate;
  bool equal() const { return std::abs(along - estimate.value) <= 4 * estimate.error + 1e-9 * scale; }
  bool says_something() const { return estimate.error < 1e-3 * scale; }
};
inline comparison compare(std::uint64_t seed, std::size_t size,
                          program_values (*run)(const std::vector<double>& x)) {
  const std::vector<double> x = support::random_values<double>(size, seed + 1000),
                            v = support::random_values<double>(size, seed + 2000);
  const program_values at = run(x);
  REQUIRE(at.gradient.size() == size);
  comparison c{0, 1, {}};
  for (std::size_t i = 0; i < size; ++i)
    c.along += at.gradient[i] * v[i], c.scale += std::abs(at.gradient[i] * v[i]);
  c.estimate = support::finite_difference_directional(
      [&](const std::vector<double>& p) { return run(p).value; }, x, v, 1e-4);
  return c;
}

template <std::uint64_t Seed, int Length> program_values run_program(const std::vector<double>& x) {
  using X = tl::tensor<double, 3, 4>;
  using Y = tl::tensor<double, 4>;
  using Z = tl::tensor<double, 2, 3, 1>;
  static auto run =
      tl::jit(tl::value_and_grad<0, 1, 2>(random_program<Seed, Length>{})).template bind<X, Y, Z>();
  const auto at = [&](int offset) { return const_cast<double*>(x.data()) + offset; };
  const auto [value, gx, gy, gz] = run(X(at(0)), Y(at(12)), Z(at(16)));
  program_values r{value[0], {}};
  const auto append = [&](const auto& g) { r.gradient.insert(r.gradient.end(), g.begin(), g.end()); };
  append(gx);
  append(gy);
  append(gz);
  return r;
}

template <std::uint64_t First, int Count, int Length> void check_programs() {
  [&]<int... K>(std::integer_sequence<int, K...>) {
    const auto check = [](std::uint64_t seed, const comparison& c) {
      CAPTURE(seed);
      CHECK_MESSAGE(c.equal(), "<gradient, v> = ", c.along, ", finite difference ", c.estimate.value);
      CHECK(c.says_something());
    };
    (check(First + K, compare(First + K, 22, run_program<First + K, Length>)), ...);
  }(std::make_integer_sequence<int, Count>{});
}

} // namespace laws
