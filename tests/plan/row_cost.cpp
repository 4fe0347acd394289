// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Which program of selected rows is taken: as it is written, with rows kept, or with rows computed again.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <support/random.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

template <int Width, int Layers> using layers = std::array<tl::tensor<float, Width, Width>, Layers>;
template <int N, int Width> using rows = tl::tensor<float, N, Width>;

constexpr auto losses(const auto& p, auto x, auto t) {
  auto h = x;
  for (const auto& w : p) h = tl::relu(tl::matmul(h, w));
  return tl::mean<1>(tl::square(h - t));
}
struct of_all {
  constexpr auto operator()(const auto& p, auto x, auto t) const { return tl::mean(losses(p, x, t)); }
};
template <int K, class... Tag> struct hardest {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto l = losses(p, x, t);
    return tl::mean(tl::gather(l, tl::top_k<K>(l, Tag{}...)));
  }
};
template <class Tag> struct tagged { // as many as the run says, and of each segment
  constexpr auto operator()(const auto& p, auto x, auto t, auto count, auto segment) const {
    const auto l = losses(p, x, t);
    const auto some = tl::gather(l, tl::bottom_k<41, 'k'>(l, count, Tag{}));
    return tl::mean(some) + tl::mean(tl::gather(l, tl::top_k_of_each<41, 3, 'l'>(l, segment, Tag{})));
  }
};
using kept = hardest<164, tl::retain_t>;
using again = hardest<164, tl::recompute_t>;

template <class F, int N, int Width, int Layers> struct step {
  static constexpr auto f = tl::jit(tl::value_and_grad<0>(F{}));
  static constexpr tl::cost cost = f.template cost<layers<Width, Layers>, rows<N, Width>, rows<N, Width>>();
  static std::string text() {
    return f.template explain<layers<Width, Layers>, rows<N, Width>, rows<N, Width>>();
  }
  static bool says(const char* what) { return text().find(what) != std::string::npos; }
};

} // namespace

TEST_CASE("rows: kept where all that is stored fits into the caches, or many are selected") {
  CHECK(step<hardest<41>, 4096, 64, 4>::says("top_k, rows kept [41]"));
  CHECK(step<hardest<4096>, 16384, 64, 12>::says("top_k, rows kept [4096]"));
  CHECK(step<kept, 16384, 64, 12>::says("top_k, rows kept [164]"));
}
TEST_CASE("rows: few of a long network are computed again, for less memory and the same gradient") {
  constexpr int n = 16384, width = 64, count = 12;
  using free = step<hardest<164>, n, width, count>;
  static_assert(free::cost.arena <= 0.4 * step<kept, n, width, count>::cost.arena);
  static_assert(free::cost.flops() <= 1.01 * step<kept, n, width, count>::cost.flops());
  static_assert(free::cost.densified == 0);
  CHECK(free::says("top_k, rows computed again [164]"));
  CHECK(free::text() == step<again, n, width, count>::text());

  using P = layers<width, count>;
  using X = rows<n, width>;
  tl::owned<P> p;
  tl::owned<X> x, t;
  std::uint64_t seed = 1;
  const auto draw = [&](const auto& leaf, float scale) {
    const auto v = support::random_values<float>(static_cast<std::size_t>(leaf.size()), seed++);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) leaf[i] = scale * v[static_cast<std::size_t>(i)];
  };
  tl::for_each_leaf(*p, [&](const auto& leaf) { draw(leaf, 0.3f); });
  draw(*x, 1), draw(*t, 1);
  auto one = free::f.bind<P, X, X>();
  auto other = step<kept, n, width, count>::f.bind<P, X, X>();
  const auto [value, gradient] = one(*p, *x, *t);
  const auto [expected, of_kept] = other(*p, *x, *t);
  CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-5));
  for (std::size_t k = 0; k < count; ++k) {
    double difference = 0, size = 0;
    for (tl::extent_t i = 0; i < gradient[k].size(); ++i) {
      difference += std::pow(gradient[k][i] - of_kept[k][i], 2);
      size += std::pow(of_kept[k][i], 2);
    }
    CHECK(difference <= 1e-8 * size);
  }
}
TEST_CASE("rows: all of them are no selection, nearly all are") {
  using all = step<of_all, 4096, 64, 4>;
  using selected = step<hardest<4096>, 4096, 64, 4>;
  static_assert(selected::cost.flops() <= 1.03 * all::cost.flops());
  static_assert(selected::cost.bytes() <= 1.03 * all::cost.bytes());
  static_assert(selected::cost.arena <= 1.03 * all::cost.arena);
  CHECK(!selected::says("rows kept"));
  static_assert(step<hardest<4095>, 4096, 64, 4>::cost.densified == 0);
  static_assert(step<hardest<2048>, 4096, 64, 4>::cost.densified == 0);
}
// A selection of at most 64 rows leaves more out than a mask of the losses it selects from.
template <bool Condition> struct hardest_of_masked {
  constexpr auto operator()(const auto& p, auto x, auto t, auto mask) const {
    const auto l = losses(p, x, t);
    if constexpr (Condition) return of(tl::where(mask != 0.0f, l, 0.0f));
    else return of(mask * l);
  }
  static constexpr auto of(auto l) { return tl::mean(tl::gather(l, tl::top_k<64, 'k'>(l))); }
};
template <bool Condition> constexpr tl::cost cost_of_masked =
    tl::jit(tl::value_and_grad<0>(hardest_of_masked<Condition>{}))
        .template cost<layers<64, 2>, rows<4096, 64>, rows<4096, 64>, tl::tensor<float, 4096>>();
template <bool Condition> constexpr bool has_rows_of_selection =
    cost_of_masked<Condition>.densified == 0 &&
    cost_of_masked<Condition>.adjoint.flops.at(tl::dim<'k'>(64)) <
        0.05 * cost_of_masked<Condition>.primal.flops.at(tl::dim<'k'>(64));
static_assert(has_rows_of_selection<false> && has_rows_of_selection<true>);

TEST_CASE("rows: kept or computed again, as a tag says, also of counts of the run and of segments") {
  using P = layers<64, 2>;
  using X = rows<256, 64>;
  using I = tl::tensor<std::int32_t, 256>;
  const auto text = [](auto tag) {
    return tl::jit(tl::value_and_grad<0>(tagged<decltype(tag)>{}))
        .template explain<P, X, X, std::int32_t, I>();
  };
  const auto says = [](const std::string& s, const char* what) { return s.find(what) != std::string::npos; };
  const std::string retained = text(tl::retain), recomputed = text(tl::recompute);
  CHECK((says(retained, "bottom_k, rows kept [k]") && says(retained, "top_k_of_each, rows kept [l]")));
  CHECK((says(recomputed, "bottom_k, rows computed again [k]") &&
         says(recomputed, "top_k_of_each, rows computed again [l]")));
}
