#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// swept == unswept: a program and its gradient, bound as usual and bound with tl::plain, are the same but for the order of sums.
// The programs are random: swept_program<Family, Seed, Length> is Length stages and an end, drawn in constant evaluation from
// what steps share loops for. A stage keeps the shape of h, which is the first argument at first.
//   rows     h: (n, 72)         products with epilogues, norms, softmax, masked rows, chosen rows
//   images   h: (n, 8, 12, 12)  convolutions and pools in batch tiles, norms, masked and chosen images
//   sparse   h: (n)             products with a CSR matrix (m, n) and its transpose, masked and chosen rows
//   check_swept_programs<Family, First, Count, Length>() -> how many steps of their plans run within another one's loop

#include <support/random.hpp>
#include <support/same_results.hpp>
#include <tapeless/run/csr_dense.hpp>
#include <tapeless/tapeless.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace laws {

namespace tl = tapeless;

template <class Tree> void fill_uniform(const Tree& x, std::uint64_t seed, double lo, double hi) {
  tl::for_each_leaf(x, [&](const auto& leaf) {
    const auto v = support::random_values<double>(static_cast<std::size_t>(leaf.size()), ++seed, lo, hi);
    for (tl::extent_t i = 0; i < leaf.size(); ++i) leaf[i] = v[static_cast<std::size_t>(i)];
  });
}

// The mean of h's elements; of the losses l, one for each row, all, those the mask m counts, the greatest, or those of chosen rows
enum class end_of_losses { all, masked, masked_by_where, hardest, easiest, chosen, count_ };
template <end_of_losses End> constexpr auto mean_of_losses(auto l, auto m) {
  using enum end_of_losses;
  if constexpr (End == all) return tl::mean(l);
  else if constexpr (End == masked) return tl::mean(tl::cast<double>(m > 0.0) * l);
  else if constexpr (End == masked_by_where) return tl::mean(tl::where(m > 0.3, l, 0.0));
  else if constexpr (End == hardest) return tl::mean(tl::gather<0>(l, tl::top_k<tl::percent{25}, 'k'>(l)));
  else if constexpr (End == easiest) return tl::mean(tl::gather<0>(l, tl::bottom_k<tl::percent{40}, 'k'>(l)));
  else return tl::sum(tl::gather<0>(l, tl::where<'k'>(m > 0.1)));
}

struct rows_family {
  static constexpr tl::extent_t n = tl::dyn<'n'>, width = 72;
  using x_type = tl::tensor<double, n, width>;
  using w_type = tl::tensor<double, width, width>;
  using g_type = tl::tensor<double, width>;
  using m_type = tl::tensor<double, n>;
  static constexpr int sizes[] = {300, 7, 1};

  enum class stage {
    softmax,
    layer_norm,
    rms_norm,
    product,
    tanh_of_product,
    relu_of_product,
    by_transpose,
    scaled,
    tanh,
    less_mean_of_row,
    less_mean_of_column,
    log_softmax,
    masked,
    plus_argument,
    count_
  };
  template <stage S> static constexpr auto done(auto h, auto x, auto w, auto g, auto m) {
    using enum stage;
    if constexpr (S == softmax) return tl::softmax(h);
    else if constexpr (S == layer_norm) return tl::layer_norm(h, g, g);
    else if constexpr (S == rms_norm) return tl::rms_norm(h, g);
    else if constexpr (S == product) return tl::matmul(h, w);
    else if constexpr (S == tanh_of_product) return tl::tanh(tl::matmul(h, w) + g);
    else if constexpr (S == relu_of_product) return tl::relu(tl::matmul(h, w) + (g - 1.03));
    else if constexpr (S == by_transpose) return tl::tanh(tl::matmul(h, tl::transpose(w)) * g);
    else if constexpr (S == scaled) return h * g;
    else if constexpr (S == stage::tanh) return tl::tanh(h);
    else if constexpr (S == less_mean_of_row) return h - tl::mean<-1>(h, tl::keepdims);
    else if constexpr (S == less_mean_of_column) return h - tl::mean<0>(h);
    else if constexpr (S == log_softmax) return h - tl::logsumexp<-1>(h, tl::keepdims);
    else if constexpr (S == masked) return tl::where(tl::reshape<n, 1>(m) > 0.2, h, 0.0);
    else return h * 0.5 + x;
  }
  static constexpr auto losses(auto h, auto, auto, auto g, auto) {
    return tl::mean<-1>(tl::square(h - 0.1) * g);
  }
  static constexpr auto mask(auto, auto, auto, auto m) { return m; }

  static void with_data(int size, const auto& act) {
    const tl::dim<'n'> rows(size);
    const tl::owned<x_type> x{rows};
    const tl::owned<w_type> w;
    const tl::owned<g_type> g;
    const tl::owned<m_type> m{rows};
    fill_uniform(*x, 1, -1, 1);
    fill_uniform(*w, 10, -0.25, 0.25);
    fill_uniform(*g, 20, 0.5, 1.5);
    fill_uniform(*m, 30, -1, 1);
    act(*x, *w, *g, *m);
  }
  template <class F> static auto bound(F f, auto... option) {
    return tl::jit(tl::value_and_grad<0, 1, 2>(f))
        .template bind<x_type, w_type, g_type, m_type>(tl::dim<'n'>(sizes[0]), option...);
  }
  template <class F> using plan =
      tl::detail::planned<decltype(tl::value_and_grad<0, 1, 2>(F{})), x_type, w_type, g_type, m_type>;
};

struct images_family {
  static constexpr tl::extent_t n = 24, channels = 8, side = 12;
  using x_type = tl::tensor<double, n, channels, side, side>;
  using w_type =
      std::tuple<tl::tensor<double, channels, channels, 3, 3>, tl::tensor<double, channels, channels, 1, 1>,
                 tl::tensor<double, channels, 1, 3, 3>>;
  using g_type = tl::tensor<double, channels>;
  using m_type = tl::tensor<double, n>;
  static constexpr int sizes[] = {n};

  enum class stage {
    conv,
    relu_of_conv,
    dilated,
    one_by_one,
    depthwise,
    transposed,
    batch_norm,
    group_norm,
    instance_norm,
    largest,
    average,
    tanh,
    softmax_of_channels,
    masked,
    plus_argument,
    count_
  };
  template <stage S> static constexpr auto done(auto h, auto x, const auto& w, auto g, auto m) {
    using enum stage;
    constexpr tl::conv same{.padding = 1};
    constexpr tl::pool around{.kernel = 3, .stride = 1, .padding = 1};
    const auto& [full, narrow, by_channel] = w;
    if constexpr (S == conv) return tl::conv2d<same>(h, full);
    else if constexpr (S == relu_of_conv) return tl::relu(tl::conv2d<same>(h, full) + tl::channel(g - 1.03));
    else if constexpr (S == dilated) return tl::conv2d<tl::conv{.padding = 2, .dilation = 2}>(h, full, g);
    else if constexpr (S == one_by_one) return tl::tanh(tl::conv2d(h, narrow, g));
    else if constexpr (S == depthwise)
      return tl::conv2d<tl::conv{.padding = 1, .groups = static_cast<int>(channels)}>(h, by_channel);
    else if constexpr (S == transposed)
      return tl::conv_transpose2d<tl::conv_transpose{.padding = 1}>(h, full);
    else if constexpr (S == batch_norm) return tl::batch_norm(h, g, g);
    else if constexpr (S == group_norm) return tl::group_norm<2>(h, g, g);
    else if constexpr (S == instance_norm) return tl::instance_norm(h);
    else if constexpr (S == largest) return tl::max_pool2d<around>(h);
    else if constexpr (S == average) return tl::avg_pool2d<around>(h);
    else if constexpr (S == stage::tanh) return tl::tanh(h);
    else if constexpr (S == softmax_of_channels) return tl::softmax<1>(h);
    else if constexpr (S == masked) return tl::where(tl::reshape<n, 1, 1, 1>(m) > 0.2, h, 0.0);
    else return h * 0.5 + x;
  }
  static constexpr auto losses(auto h, auto, const auto&, auto g, auto) {
    return tl::mean<1, 2, 3>(tl::square(h - 0.1) * tl::channel(g));
  }
  static constexpr auto mask(auto, const auto&, auto, auto m) { return m; }

  static void with_data(int, const auto& act) {
    const tl::owned<x_type> x;
    const tl::owned<w_type> w;
    const tl::owned<g_type> g;
    const tl::owned<m_type> m;
    fill_uniform(*x, 1, -1, 1);
    fill_uniform(*w, 10, -0.2, 0.2);
    fill_uniform(*g, 20, 0.5, 1.5);
    fill_uniform(*m, 30, -1, 1);
    act(*x, *w, *g, *m);
  }
  template <class F> static auto bound(F f, auto... option) {
    return tl::jit(tl::value_and_grad<0, 1, 2>(f)).template bind<x_type, w_type, g_type, m_type>(option...);
  }
  template <class F> using plan =
      tl::detail::planned<decltype(tl::value_and_grad<0, 1, 2>(F{})), x_type, w_type, g_type, m_type>;
};

struct sparse_family {
  static constexpr int columns = 60;
  using x_type = tl::tensor<double, tl::dyn<'n'>>;
  using a_type = tl::csr<double, tl::dyn<'m'>, tl::dyn<'n'>, tl::dyn<'e'>>;
  using m_type = tl::tensor<double, tl::dyn<'m'>>;
  static constexpr int sizes[] = {280, 5, 1};

  // r = A h, and h = c A^T (what is done with r)
  enum class stage {
    residual,
    masked,
    masked_by_cast,
    positive,
    tanh,
    weighted,
    exponential,
    beside,
    scaled_rows,
    plus_argument,
    count_
  };
  template <stage S> static constexpr auto done(auto h, auto x, auto a, auto y, auto m) {
    using enum stage;
    const auto r = tl::matmul(a, h);
    const auto back = [&](auto z) { return tl::matmul(tl::transpose(a), z) * 0.1; };
    if constexpr (S == residual) return back(r - y);
    else if constexpr (S == masked) return back(tl::where(m > 0.1, r, 0.0));
    else if constexpr (S == masked_by_cast) return back(tl::cast<double>(m > 0.3) * (r - y));
    else if constexpr (S == positive) return back(tl::where(r > y, r - y, 0.0));
    else if constexpr (S == stage::tanh) return tl::tanh(back(tl::tanh(r)));
    else if constexpr (S == weighted) return back(m * tl::square(r - y));
    else if constexpr (S == exponential) return back(tl::exp(tl::tanh(r)) * y);
    else if constexpr (S == beside) return back(r - y) + back(tl::tanh(r) * m);
    else if constexpr (S == scaled_rows) return tl::matmul(tl::transpose(tl::scale_rows(y, a)), r) * 0.1;
    else return h * 0.5 + x;
  }
  static constexpr auto losses(auto h, auto, auto a, auto y, auto) {
    return tl::square(tl::matmul(a, h) - y);
  }
  static constexpr auto mask(auto, auto, auto, auto m) { return m; }

  static void with_data(int rows, const auto& act) {
    const tl::owned<tl::tensor<double, tl::dyn<'m'>, columns>> dense{tl::dim<'m'>(rows)};
    fill_uniform(*dense, 1, -1, 1);
    for (tl::extent_t i = 0; i < dense->size(); ++i)
      if (i % 7 > 1 || i / columns % 11 == 3) (*dense)[i] = 0;
    const auto a = tl::csr_from_dense<a_type>(*dense);
    const tl::owned<x_type> x{tl::dim<'n'>(columns)};
    const tl::owned<m_type> y{tl::dim<'m'>(rows)}, m{tl::dim<'m'>(rows)};
    fill_uniform(*x, 10, -1, 1);
    fill_uniform(*y, 20, -1, 1);
    fill_uniform(*m, 30, -1, 1);
    act(*x, *a, *y, *m);
  }
  template <class F> static auto bound(F f, auto... option) {
    return tl::jit(tl::value_and_grad<0, 1, 2>(f))
        .template bind<x_type, a_type, m_type, m_type>(tl::dim<'m'>(sizes[0]), tl::dim<'n'>(columns),
                                                       tl::dim<'e'>(sizes[0] * columns), option...);
  }
  template <class F> using plan =
      tl::detail::planned<decltype(tl::value_and_grad<0, 1, 2>(F{})), x_type, a_type, m_type, m_type>;
};

// ---- the program

template <class Family, std::uint64_t Seed, int Length> struct swept_program {
  struct recipe {
    std::array<typename Family::stage, Length> list{};
    end_of_losses end{};
  };
  static constexpr recipe ops = [] {
    support::splitmix64 draw(Seed);
    recipe r;
    for (auto& s : r.list)
      s = static_cast<typename Family::stage>(draw.below(static_cast<std::uint64_t>(Family::stage::count_)));
    r.end = static_cast<end_of_losses>(draw.below(static_cast<std::uint64_t>(end_of_losses::count_)));
    return r;
  }();
  template <int K> static constexpr auto from(auto h, const auto&... a) {
    if constexpr (K == Length) return mean_of_losses<ops.end>(Family::losses(h, a...), Family::mask(a...));
    else return from<K + 1>(Family::template done<ops.list[K]>(h, a...), a...);
  }
  constexpr auto operator()(const auto& x, const auto&... a) const { return from<0>(x, x, a...); }
};

// Steps that run within the loop of the one before.
template <const auto& Plan> constexpr int shared_loops() {
  int n = 0;
  for (int i = 0; i < Plan.steps; ++i) n += Plan.step_[i].sweep || Plan.step_[i].epilogue ? 1 : 0;
  return n;
}

template <class Family, std::uint64_t Seed, int Length> int check_swept_program() {
  using program = swept_program<Family, Seed, Length>;
  auto run = Family::bound(program{});
  auto plainly = Family::bound(program{}, tl::plain);
  for (const int size : Family::sizes)
    Family::with_data(size, [&](const auto&... x) {
      const std::uint64_t seed = Seed;
      CAPTURE(seed);
      CAPTURE(size);
      const support::leaves unswept = support::leaves_of(plainly(x...));
      if (size == Family::sizes[0]) CHECK(support::says_something(unswept));
      CHECK(support::apart(unswept, support::leaves_of(run(x...))) <= support::order_of_sums);
    });
  return shared_loops<Family::template plan<program>::value>();
}
template <class Family, std::uint64_t First, int Count, int Length> int check_swept_programs() {
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    return (check_swept_program<Family, First + K, Length>() + ...);
  }(std::make_integer_sequence<int, Count>{});
}

} // namespace laws
