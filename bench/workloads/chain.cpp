// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// chain: y = conv(... conv(conv(x, w_0), w_1) ..., w_last), no bias and nothing between
//   fwd    y
//   step   loss = mean((relu(y) - t)^2) and the gradients of x and of every w

#include "reference.hpp"

#include <tuple>
#include <utility>

namespace bench { namespace {

struct chain_row {
  struct layer {
    int k, r, pad;
  };
  int n, c, h, w;
  layer layers[8]; // k is 0 behind the last

  constexpr int count() const {
    int i = 0;
    while (i < 8 && layers[i].k > 0) ++i;
    return i;
  }
  // of the input of layer i
  constexpr int channels(int i) const { return i == 0 ? c : layers[i - 1].k; }
  constexpr int extent(int i, int of_x) const {
    for (int j = 0; j < i; ++j) of_x += 2 * layers[j].pad - layers[j].r + 1;
    return of_x;
  }
};

template <chain_row R, class I> struct weights_of;
template <chain_row R, int... I> struct weights_of<R, std::integer_sequence<int, I...>> {
  using type = std::tuple<tl::tensor<float, R.layers[I].k, R.channels(I), R.layers[I].r, R.layers[I].r>...>;
};
template <chain_row R> using weights =
    typename weights_of<R, std::make_integer_sequence<int, R.count()>>::type;

template <chain_row R, int I = 0> struct forward {
  constexpr auto operator()(auto x, const auto& w) const {
    if constexpr (I == R.count()) return x;
    else return forward<R, I + 1>{}(tl::conv2d<tl::conv{.padding = R.layers[I].pad}>(x, std::get<I>(w)), w);
  }
};
template <chain_row R> struct loss {
  constexpr auto operator()(auto x, const auto& w, auto t) const {
    return tl::mean(tl::square(tl::relu(forward<R>{}(x, w)) - t));
  }
};

template <chain_row R> void run(session& s) {
  constexpr int count = R.count();
  using X = tl::tensor<float, R.n, R.c, R.h, R.w>;
  using W = weights<R>;
  using Y = tl::tensor<float, R.n, R.channels(count), R.extent(count, R.h), R.extent(count, R.w)>;

  tl::owned<X> x;
  tl::owned<W> w;
  tl::owned<Y> t;
  fill(1, *x);
  fill(2, *t);
  std::vector<values> ws, h; // h[i]: the input of layer i
  std::vector<conv_layer> layers;
  double terms = 0;
  tl::for_each_layer(*w, [&](const auto& leaf) {
    const int i = static_cast<int>(layers.size());
    fill(10 + static_cast<std::uint64_t>(i), leaf);
    ws.push_back(copy(leaf));
    layers.push_back({.n = R.n,
                      .c = R.channels(i),
                      .h = R.extent(i, R.h),
                      .w = R.extent(i, R.w),
                      .k = R.layers[i].k,
                      .r = R.layers[i].r,
                      .pad = R.layers[i].pad});
    terms += layers.back().fprop_terms();
  });
  if (s.checking()) {
    h.push_back(copy(*x));
    for (std::size_t i = 0; i < layers.size(); ++i) h.push_back(conv_fprop(layers[i], h[i], ws[i]));
    fill_targets(2, *t, h.back());
  }

  {
    auto program = tl::jit(forward<R>{}).template bind<X, W>(s.threads());
    s.plan(program);
    s.phase("fwd", terms, [&] { return program(*x, *w); }, [&] { return leaves{h.back()}; });
  }
  {
    auto program = tl::jit(tl::value_and_grad<0, 1>(loss<R>{})).template bind<X, W, Y>(s.threads());
    s.plan(program);
    s.phase(
        "step", static_cast<double>(layers.back().y_size()), [&] { return program(*x, *w, *t); },
        [&] {
          const relu_loss e = mean_square_of_relu(h.back(), copy(*t));
          leaves gradients(layers.size() + 2);
          gradients[0] = e.value;
          values bar = e.y_bar;
          for (std::size_t i = layers.size(); i-- > 0;) {
            gradients[2 + i] = conv_wgrad(layers[i], h[i], bar);
            bar = conv_dgrad(layers[i], bar, ws[i]);
          }
          gradients[1] = bar;
          return gradients;
        });
  }
}

const workload rows[] = {
#define TAPELESS_CHAIN(name, ...) {__LINE__, name, run<chain_row{__VA_ARGS__}>},
#include "workloads.def"
};
const bool listed = list(rows);

}} // namespace bench
