// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// hard_conv: y = relu(conv(relu(conv(x, w1)), w2)), both with padding r / 2; a loss for each image, sum((y - t)^2)
//   fwd         the losses
//   step_all    their mean, and the gradients of w1 and w2
//   step_topk   the mean of the `hard` ones that are greatest, and the gradients

#include "reference.hpp"

namespace bench { namespace {

struct hard_conv_row {
  int n, c, h, w, k1, k2, r;
  double hard;
};

template <hard_conv_row R> struct losses {
  constexpr auto operator()(auto x, auto w1, auto w2, auto t) const {
    constexpr tl::conv same{.padding = R.r / 2};
    const auto y = tl::relu(tl::conv2d<same>(tl::relu(tl::conv2d<same>(x, w1)), w2));
    return tl::sum<1, 2, 3>(tl::square(y - t));
  }
};
template <hard_conv_row R> struct mean_of_all {
  constexpr auto operator()(auto x, auto w1, auto w2, auto t) const {
    return tl::mean(losses<R>{}(x, w1, w2, t));
  }
};
template <hard_conv_row R> struct mean_of_hard {
  constexpr auto operator()(auto x, auto w1, auto w2, auto t) const {
    const auto l = losses<R>{}(x, w1, w2, t);
    return tl::mean(tl::gather(l, tl::top_k<static_cast<int>(R.n * R.hard)>(l)));
  }
};

template <hard_conv_row R> void run(session& s) {
  using X = tl::tensor<float, R.n, R.c, R.h, R.w>;
  using W1 = tl::tensor<float, R.k1, R.c, R.r, R.r>;
  using W2 = tl::tensor<float, R.k2, R.k1, R.r, R.r>;
  using Y = tl::tensor<float, R.n, R.k2, R.h, R.w>;
  const conv_layer first{R.n, R.c, R.h, R.w, R.k1, R.r, 1, R.r / 2, 1, 1},
      second{R.n, R.k1, R.h, R.w, R.k2, R.r, 1, R.r / 2, 1, 1};
  constexpr std::size_t image = static_cast<std::size_t>(R.k2) * R.h * R.w;

  tl::owned<X> x;
  tl::owned<W1> w1;
  tl::owned<W2> w2;
  tl::owned<Y> t;
  fill(1, *x);
  fill(2, *w1);
  fill(3, *w2);
  values xs, w1s, w2s, z, h, y;
  if (s.checking()) {
    xs = copy(*x), w1s = copy(*w1), w2s = copy(*w2);
    z = conv_fprop(first, xs, w1s);
    h = z;
    double size = 0;
    for (const double v : z) size = std::max(size, std::abs(v));
    for (double& v : h) v = std::max(v, 0.0);
    y = conv_fprop(second, h, w2s);
    fill_targets(5, *t, y);
  } else fill(5, *t);
  const auto loss_of = [&](int i) {
    double sum = 0;
    for (std::size_t j = static_cast<std::size_t>(i) * image; j < static_cast<std::size_t>(i + 1) * image;
         ++j) {
      const double e = std::max(y[j], 0.0) - static_cast<double>((*t)[static_cast<std::int64_t>(j)]);
      sum += e * e;
    }
    return sum;
  };
  // of the mean of the k greatest losses
  const auto reference = [&](int k) {
    const std::vector<int> order = hardest_first(R.n, loss_of);
    values value(1), bar(y.size());
    for (int i = 0; i < k; ++i) {
      value[0] += loss_of(order[static_cast<std::size_t>(i)]) / k;
      const std::size_t begin = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]) * image;
      for (std::size_t j = begin; j < begin + image; ++j)
        if (y[j] > 0) bar[j] = 2 * (y[j] - static_cast<double>((*t)[static_cast<std::int64_t>(j)])) / k;
    }
    values inner = conv_dgrad(second, bar, w2s);
    for (std::size_t j = 0; j < inner.size(); ++j)
      if (z[j] <= 0) inner[j] = 0;
    return leaves{value, conv_wgrad(first, xs, inner), conv_wgrad(second, h, bar)};
  };

  {
    auto program = tl::jit(losses<R>{}).template bind<X, W1, W2, Y>(s.threads());
    s.plan(program);
    s.phase(
        "fwd", static_cast<double>(image), [&] { return program(*x, *w1, *w2, *t); },
        [&] {
          values l;
          for (int i = 0; i < R.n; ++i) l.push_back(loss_of(i));
          return leaves{l};
        });
  }
  const double terms = static_cast<double>(R.n) * image;
  {
    auto program =
        tl::jit(tl::value_and_grad<1, 2>(mean_of_all<R>{})).template bind<X, W1, W2, Y>(s.threads());
    s.plan(program);
    s.phase("step_all", terms, [&] { return program(*x, *w1, *w2, *t); }, [&] { return reference(R.n); });
  }
  {
    auto program =
        tl::jit(tl::value_and_grad<1, 2>(mean_of_hard<R>{})).template bind<X, W1, W2, Y>(s.threads());
    s.plan(program);
    s.phase(
        "step_topk", terms, [&] { return program(*x, *w1, *w2, *t); },
        [&] { return reference(static_cast<int>(R.n * R.hard)); });
  }
}

const workload rows[] = {
#define TAPELESS_HARD_CONV(name, ...) {__LINE__, name, run<hard_conv_row{__VA_ARGS__}>},
#include "workloads.def"
};
const bool listed = list(rows);

}} // namespace bench
