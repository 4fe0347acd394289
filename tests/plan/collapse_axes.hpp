#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of several axes, as of pixels and of tokens: value, gradient and Hessian are those of the program that gets the
// square roots of the mask's weights, which are no mask: it computes all rows.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <support/allocations.hpp>
#include <support/random.hpp>
#include <support/trees.hpp>
#include <tapeless/tapeless.hpp>

namespace collapse_axes {

namespace tl = tapeless;

using support::elements, support::largest_difference;
using flat = std::vector<double>;
constexpr tl::extent_t named = tl::dyn<'b'>;
constexpr int batch = 4;

template <tl::extent_t... N> using real = tl::tensor<double, N...>;

template <class Tree> void draw(const Tree& tree, std::uint64_t seed, double scale) {
  tl::for_each_leaf(tree, [&](const auto& leaf) {
    const flat v = support::random_values<double>(static_cast<std::size_t>(leaf.size()), seed++);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) {
      using T = typename std::remove_cvref_t<decltype(leaf)>::value_type;
      const double e = v[static_cast<std::size_t>(i)];
      leaf[i] = std::is_integral_v<T> ? static_cast<T>(static_cast<int>(std::abs(e) * 1000) % 5)
                                      : static_cast<T>(scale * e);
    }
  });
}

// ---- programs: a weighted loss, a weight m of each row

using layers = std::tuple<real<16>, real<16>, real<16, 32>, real<32>, real<32, 5>>;
constexpr auto scores(const auto& p, auto x) { // (.., 16) -> (.., 5)
  const auto h = tl::layer_norm(x, std::get<0>(p), std::get<1>(p));
  return tl::matmul(tl::tanh(tl::matmul(h, std::get<2>(p)) + std::get<3>(p)), std::get<4>(p));
}

struct pixels { // an extent of 1 among those of the mask
  static constexpr bool rows_mix = false;
  using parameters = layers;
  using data = real<named, 3, 1, 2, 16>;
  using targets = tl::tensor<std::int32_t, named, 3, 1, 2>;
  using mask = real<named, 3, 1, 2>;
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::sum(tl::softmax_cross_entropy(scores(p, x), t) * m);
  }
};
struct matrix_of_rows { // the first extent is 1
  static constexpr bool rows_mix = false;
  using parameters = layers;
  using data = real<1, 4, 6, 16>;
  using targets = real<1, 4, 6, 5>;
  using mask = real<1, 4, 6>;
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = tl::max<3>(tl::square(scores(p, x) - tl::transpose<0, 1, 2, 3>(t)));
    return tl::sum(l * m);
  }
};
struct means_of_images { // weights of the places too, and a mean of each image
  static constexpr bool rows_mix = false;
  using parameters = layers;
  using data = real<batch, 3, 2, 16>;
  using targets = real<batch, 3, 2, 5>;
  using mask = real<batch, 3, 2>;
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto l = tl::sum<3>(tl::square(scores(p, x) - t));
    const auto place = 1.0 + tl::square(tl::slice<0, 0, 1>(tl::sum<3>(t)));
    return tl::mean(tl::sum<1, 2>(m * (l * place)) / (1.0 + tl::sum<1, 2>(m)));
  }
};
struct of_features { // of losses (batch, 6, 5), weights (batch, 6)
  static constexpr bool rows_mix = false;
  using parameters = layers;
  using data = real<batch, 6, 16>;
  using targets = real<batch, 6, 5>;
  using mask = real<batch, 6>;
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto d = scores(p, x) - t;
    return tl::mean(tl::reshape<batch, 6, 1>(m) * tl::concat<2>(tl::slice<2, 0, 2>(d), tl::square(d)));
  }
};
struct images { // the convolution mixes pixels
  static constexpr bool rows_mix = true;
  using parameters = std::tuple<real<16, 2, 3, 3>, layers>;
  using data = real<batch, 2, 3, 4>;
  using targets = real<batch, 3, 4, 5>;
  using mask = real<batch, 3, 4>;
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, std::get<0>(p)));
    const auto z = scores(std::get<1>(p), tl::transpose<0, 2, 3, 1>(h));
    return tl::mean(m * tl::mean<3>(tl::square(z - t)));
  }
};
struct tokens { // attention mixes those of a sentence
  static constexpr bool rows_mix = true;
  using parameters = std::tuple<real<5, 16>, real<7, 16>, real<16, 16>, layers>;
  using data = tl::tensor<std::int32_t, batch, 7>;
  using targets = tl::tensor<std::int32_t, batch, 7>;
  using mask = real<batch, 7>;
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto e = tl::gather(std::get<0>(p), x) + std::get<1>(p);
    const auto a = tl::softmax<2>(tl::matmul(e, tl::transpose<0, 2, 1>(tl::matmul(e, std::get<2>(p)))));
    const auto z = scores(std::get<3>(p), tl::matmul(a, e) + e);
    return tl::sum(m * tl::softmax_cross_entropy(z, t)) / (1.0 + tl::sum(m));
  }
};
struct embeddings { // rows of a table, and of a place, by tokens
  static constexpr bool rows_mix = true;
  using parameters = std::tuple<real<5, 16>, real<7, 16>, layers>;
  using data = tl::tensor<std::int32_t, batch, 7>;
  using targets = real<batch, 7, 5>;
  using mask = real<batch, 7>;
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    const auto e = tl::tanh(tl::matmul(tl::gather(std::get<0>(p), x), std::get<2>(std::get<2>(p))));
    const auto place = tl::matmul(std::get<1>(p), std::get<2>(std::get<2>(p)));
    const auto z = tl::matmul(e + place, std::get<4>(std::get<2>(p)));
    return tl::mean(m * tl::mean<2>(tl::square(z - t)));
  }
};

template <class Net> struct of_all_rows { // v^2 by exp is no mask
  constexpr auto operator()(const auto& p, auto x, auto t, auto v) const {
    return Net{}(p, x, t, tl::exp(2.0 * tl::log(v)));
  }
};
template <class F, class Net, class... More> constexpr auto bound(F f, int members) {
  return tl::jit(f)
      .template bind<typename Net::parameters, typename Net::data, typename Net::targets, typename Net::mask,
                     More...>(tl::dim<'b'>(batch), tl::threads(members));
}
template <class F, class Net, class... More> constexpr auto bound_static(F f, int members) {
  return tl::jit(f)
      .template bind<typename Net::parameters, typename Net::data, typename Net::targets, typename Net::mask,
                     More...>(tl::threads(members));
}
template <class Net, class... More> auto bind(auto f, int members) {
  if constexpr (Net::data::names.count > 0) return bound<decltype(f), Net, More...>(f, members);
  else return bound_static<decltype(f), Net, More...>(f, members);
}

// Has it a product with as many rows as the run counts in the mask?
constexpr bool counts_rows(const tl::polynomial& flops) {
  for (int i = 0; i < flops.size(); ++i)
    for (tl::extent_t packed = flops[i].names; packed != 0; packed >>= tl::detail::name_bits)
      if ((packed & 63) == tl::detail::first_generated) return true;
  return false;
}
template <class F, class... A> constexpr bool is_masked =
    counts_rows(tl::jit(tl::value_and_grad<0>(F{})).template cost<A...>().primal.flops) &&
    counts_rows(tl::jit(tl::value_and_grad<0>(F{})).template cost<A...>().adjoint.flops);

inline double weight(int which, int i) { // none, all, two of three, some of other weights
  if (which < 2) return which;
  return i % 3 == 0 ? 0 : which == 2 ? 1 : i % 4;
}

template <class Net> void check() {
  static_assert(is_masked<Net, typename Net::parameters, typename Net::data, typename Net::targets,
                          typename Net::mask>);
  constexpr auto gradient = tl::value_and_grad<0>(Net{});
  constexpr auto gradient_of_all = tl::value_and_grad<0>(of_all_rows<Net>{});
  auto one = bind<Net>(gradient, 1), two = bind<Net>(gradient, 2), three = bind<Net>(gradient, 3);
  auto all = bind<Net>(gradient_of_all, 1);
  auto hessian = bind<Net, typename Net::parameters>(tl::hvp<0>(Net{}), 1);
  auto hessian_of_all = bind<Net, typename Net::parameters>(tl::hvp<0>(of_all_rows<Net>{}), 1);
  tl::owned<typename Net::parameters> p, d;
  draw(*p, 1, 0.5);
  draw(*d, 20, 1.0);
  for (const int count : Net::data::names.count > 0 ? std::vector<int>{batch, 1, 3} : std::vector<int>{batch})
    for (const int which : {2, 0, 3, 1, 2}) {
      CAPTURE(count);
      CAPTURE(which);
      tl::owned<typename Net::data> x(tl::dim<'b'>{count});
      tl::owned<typename Net::targets> t(tl::dim<'b'>{count});
      tl::owned<typename Net::mask> m(tl::dim<'b'>{count}), v(tl::dim<'b'>{count});
      draw(*x, 40, 1.0);
      draw(*t, 50, 1.0);
      const auto rows = static_cast<int>((*m).size());
      for (int i = 0; i < rows; ++i) {
        (*m)[i] = weight(which, i);
        (*v)[i] = std::sqrt((*m)[i]);
      }
      const auto [expected, expected_gradient] = all(*p, *x, *t, *v);
      const flat expected_product = elements(hessian_of_all(*p, *x, *t, *v, *d));
      if constexpr (!Net::rows_mix) {
        const double inf = std::numeric_limits<double>::infinity();
        const auto width = (*x).size() / rows;
        for (int i = 0; i < rows; ++i)
          if (weight(which, i) == 0)
            for (tl::extent_t k = 0; k < width; ++k) (*x)[i * width + k] = k % 2 == 0 ? inf : inf - inf;
      }
      const auto [value, by_p] = one(*p, *x, *t, *m);
      CHECK(value[0] == doctest::Approx(expected[0]).epsilon(1e-12));
      CHECK(largest_difference(elements(by_p), elements(expected_gradient)) < 1e-11);
      if (which == 0) CHECK(elements(by_p) == flat(elements(by_p).size(), 0.0));
      CHECK(support::allocations_of([&] { static_cast<void>(one(*p, *x, *t, *m)); }) == 0);
      const auto [value2, by_p2] = two(*p, *x, *t, *m);
      const auto [value3, by_p3] = three(*p, *x, *t, *m);
      CHECK((value2[0] == value[0] && value3[0] == value[0]));
      CHECK(elements(by_p2) == elements(by_p));
      CHECK(elements(by_p3) == elements(by_p));
      CHECK(largest_difference(elements(hessian(*p, *x, *t, *m, *d)), expected_product) < 1e-10);
    }
}

// ---- where leaving rows out saves nothing, nothing is left out

struct of_convolution { // the loss sits on it
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return tl::mean(m * tl::square(tl::reshape<batch, 3, 4>(tl::conv2d<tl::conv{.padding = 1}>(x, p)) - t));
  }
};
struct of_convolution_of_all {
  constexpr auto operator()(const auto& p, auto x, auto t, auto m) const {
    return of_convolution{}(p, x, t, m * 1.5);
  }
};
struct activation { // a condition, and one factor for each element: of rows of one element no product is made
  constexpr auto operator()(const auto& p, auto x, auto kept) const {
    const auto z = tl::matmul(x, std::get<2>(p));
    const auto h = tl::where(z > 0.0, z, 0.1 * z) * kept;
    return tl::mean(tl::square(tl::matmul(h, std::get<4>(p))));
  }
};

} // namespace collapse_axes
