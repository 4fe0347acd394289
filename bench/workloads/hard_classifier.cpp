// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// hard_classifier: a = pool(relu(conv(x, w1))), b = pool(relu(conv(a, w2))), the maxima of 2 x 2; logits = b w3^T; a loss for
// each image, softmax cross-entropy
//   fwd         the losses
//   step_all    their mean, and the gradients of w1, w2 and w3
//   step_topk   the mean of the `hard` ones that are greatest, and the gradients
// Images and filters are small multiples of 1/2 and 1/4, so that convolutions are exact, and float and double agree on which
// maximum is the first and what is above zero.

#include "reference.hpp"

namespace bench { namespace {

struct hard_classifier_row {
  int n, c, h, w, k1, k2, classes;
  double hard;
};
constexpr int radius = 1, kernel = 3;

constexpr auto losses = [](auto x, auto w1, auto w2, auto w3, auto label) {
  constexpr tl::conv same{.padding = radius};
  constexpr tl::pool halves{.kernel = 2};
  const auto a = tl::max_pool2d<halves>(tl::relu(tl::conv2d<same>(x, w1)));
  const auto b = tl::max_pool2d<halves>(tl::relu(tl::conv2d<same>(a, w2)));
  return tl::softmax_cross_entropy(tl::matmul(tl::flatten(b), tl::transpose(w3)), label);
};
constexpr auto mean_of_all = [](auto x, auto w1, auto w2, auto w3, auto label) {
  return tl::mean(losses(x, w1, w2, w3, label));
};
template <int K> constexpr auto mean_of_hard = [](auto x, auto w1, auto w2, auto w3, auto label) {
  const auto l = losses(x, w1, w2, w3, label);
  return tl::mean(tl::gather(l, tl::top_k<K>(l)));
};

// v in place of random numbers of [-1, 1): multiples of `step`
template <class View> void fill_multiples(std::uint64_t seed, double step, const View& v) {
  fill(seed, v);
  for (auto& x : v) x = static_cast<float>(std::round(static_cast<double>(x) / step) * step);
}

// relu and the maxima of 2 x 2 of planes (h, w), and what maxima's cotangents give the planes
struct naive_pool {
  std::int64_t h, w;
  values y;
  std::vector<std::size_t> at; // of each maximum
  naive_pool(std::int64_t height, std::int64_t width, const values& x) : h(height), w(width) {
    const auto planes = static_cast<std::int64_t>(x.size()) / (h * w);
    for (std::int64_t z = 0; z < planes; ++z)
      for (std::int64_t i = 0; i < h / 2; ++i)
        for (std::int64_t j = 0; j < w / 2; ++j) {
          const auto here = [&](std::int64_t r, std::int64_t s) {
            return static_cast<std::size_t>((z * h + 2 * i + r) * w + 2 * j + s);
          };
          std::size_t best = here(0, 0);
          for (const std::size_t k : {here(0, 1), here(1, 0), here(1, 1)})
            if (std::max(x[k], 0.0) > std::max(x[best], 0.0)) best = k;
          y.push_back(std::max(x[best], 0.0));
          at.push_back(best);
        }
  }
  values back(const values& y_bar, std::size_t size) const {
    values r(size);
    for (std::size_t i = 0; i < y.size(); ++i)
      if (y[i] > 0) r[at[i]] += y_bar[i];
    return r;
  }
};

template <hard_classifier_row R> void run(session& s) {
  using X = tl::tensor<float, R.n, R.c, R.h, R.w>;
  using W1 = tl::tensor<float, R.k1, R.c, kernel, kernel>;
  using W2 = tl::tensor<float, R.k2, R.k1, kernel, kernel>;
  constexpr int features = R.k2 * (R.h / 4) * (R.w / 4), hard = static_cast<int>(R.n * R.hard);
  using W3 = tl::tensor<float, R.classes, features>;
  using L = tl::tensor<std::int32_t, R.n>;
  const conv_layer first{R.n, R.c, R.h, R.w, R.k1, kernel, 1, radius, 1, 1},
      second{R.n, R.k1, R.h / 2, R.w / 2, R.k2, kernel, 1, radius, 1, 1};

  tl::owned<X> x;
  tl::owned<W1> w1;
  tl::owned<W2> w2;
  tl::owned<W3> w3;
  tl::owned<L> label;
  fill_multiples(1, 0.5, *x);
  fill_multiples(2, 0.25, *w1);
  fill_multiples(3, 0.25, *w2);
  fill(4, *w3);
  for (float& v : *w3) v *= 0.01f;
  for (int i = 0; i < R.n; ++i) (*label)[i] = i * 7 % R.classes;

  values xs, w2s, z1, a, z2, b, w3s, logits;
  const auto loss_of = [&](int i) {
    const double* const row = logits.data() + i * R.classes;
    double sum = 0;
    for (int j = 0; j < R.classes; ++j) sum += std::exp(row[j] - row[(*label)[i]]);
    return std::log(sum);
  };
  if (s.checking()) {
    xs = copy(*x), w2s = copy(*w2), w3s = copy(*w3);
    z1 = conv_fprop(first, xs, copy(*w1));
    a = naive_pool(R.h, R.w, z1).y;
    z2 = conv_fprop(second, a, w2s);
    b = naive_pool(R.h / 2, R.w / 2, z2).y;
    logits = matmul(R.n, R.classes, features, b, w3s, false, true);
  }
  // of the mean of the k greatest losses
  const auto reference = [&](int k) {
    const std::vector<int> order = hardest_first(R.n, loss_of);
    values value(1), bar(logits.size());
    for (int i = 0; i < k; ++i) {
      const int image = order[static_cast<std::size_t>(i)];
      value[0] += loss_of(image) / k;
      const double* const row = logits.data() + image * R.classes;
      double sum = 0;
      for (int j = 0; j < R.classes; ++j) sum += std::exp(row[j]);
      for (int j = 0; j < R.classes; ++j)
        bar[static_cast<std::size_t>(image * R.classes + j)] =
            (std::exp(row[j]) / sum - (j == (*label)[image] ? 1 : 0)) / k;
    }
    const values w3_bar = matmul(R.classes, features, R.n, bar, b, true, false),
                 b_bar = matmul(R.n, features, R.classes, bar, w3s),
                 z2_bar = naive_pool(R.h / 2, R.w / 2, z2).back(b_bar, z2.size()),
                 a_bar = conv_dgrad(second, z2_bar, w2s),
                 z1_bar = naive_pool(R.h, R.w, z1).back(a_bar, z1.size());
    return leaves{value, conv_wgrad(first, xs, z1_bar), conv_wgrad(second, a, z2_bar), w3_bar};
  };

  const double terms = static_cast<double>(R.n) * R.h * R.w;
  {
    auto program = tl::jit(losses).template bind<X, W1, W2, W3, L>(s.threads());
    s.plan(program);
    s.phase(
        "fwd", features, [&] { return program(*x, *w1, *w2, *w3, *label); },
        [&] {
          values l;
          for (int i = 0; i < R.n; ++i) l.push_back(loss_of(i));
          return leaves{l};
        });
  }
  {
    auto program =
        tl::jit(tl::value_and_grad<1, 2, 3>(mean_of_all)).template bind<X, W1, W2, W3, L>(s.threads());
    s.plan(program);
    s.phase(
        "step_all", terms, [&] { return program(*x, *w1, *w2, *w3, *label); },
        [&] { return reference(R.n); });
  }
  {
    auto program =
        tl::jit(tl::value_and_grad<1, 2, 3>(mean_of_hard<hard>)).template bind<X, W1, W2, W3, L>(s.threads());
    s.plan(program);
    s.phase(
        "step_topk", terms, [&] { return program(*x, *w1, *w2, *w3, *label); },
        [&] { return reference(hard); });
  }
}

const workload rows[] = {
#define TAPELESS_HARD_CLASSIFIER(name, ...) {__LINE__, name, run<hard_classifier_row{__VA_ARGS__}>},
#include "workloads.def"
};
const bool listed = list(rows);

}} // namespace bench
