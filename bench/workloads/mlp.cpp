// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// mlp: h_{i+1} = relu(h_i w_i + b_i), no relu behind the last layer        w_i: (dims[i], dims[i + 1])
//   fwd        the loss of every row: its sum of squared errors
//   step_all   the mean over all rows and the gradient of every w and b
// where `hard` is a fraction of the rows:
//   step_topk       the mean over the `hard` rows of the greatest losses, and the gradients
//   step_topk_P     the same of P percent of the rows, which the run says
//   step_mask       the mean over all rows of mask * loss; the mask keeps `hard` of them, at random
//   step_focal_W    the mean over all rows of a weight, which the program computes of the loss, times the loss; W of the
//                   weights are not 0: all, all_but_1, 50 percent

#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bench { namespace {

struct mlp_row {
  int rows;
  int dims[9]; // 0 behind the last
  double hard = 0;

  constexpr int layers() const {
    int i = 0;
    while (i + 1 < 9 && dims[i + 1] > 0) ++i;
    return i;
  }
};

template <int In, int Out> struct layer {
  tl::tensor<float, In, Out> w;
  tl::tensor<float, Out> b;
};
template <mlp_row R, class I> struct params_of;
template <mlp_row R, int... I> struct params_of<R, std::integer_sequence<int, I...>> {
  using type = std::tuple<layer<R.dims[I], R.dims[I + 1]>...>;
};
template <mlp_row R> using params = typename params_of<R, std::make_integer_sequence<int, R.layers()>>::type;

template <mlp_row R, int I = 0> struct network {
  constexpr auto operator()(const auto& p, auto h) const {
    const auto z = tl::matmul(h, std::get<I>(p).w) + std::get<I>(p).b;
    if constexpr (I + 1 == R.layers()) return z;
    else return network<R, I + 1>{}(p, tl::relu(z));
  }
};
template <mlp_row R> struct row_losses {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    return tl::sum<1>(tl::square(network<R>{}(p, x) - t));
  }
};
template <mlp_row R> struct mean_loss {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    return tl::mean(row_losses<R>{}(p, x, t));
  }
};

template <mlp_row R> struct hard_loss {
  constexpr auto operator()(const auto& p, auto x, auto t) const {
    const auto losses = row_losses<R>{}(p, x, t);
    return tl::mean(tl::gather(losses, tl::top_k<static_cast<int>(R.rows * R.hard)>(losses)));
  }
};
template <mlp_row R> struct hard_loss_of_count {
  constexpr auto operator()(const auto& p, auto x, auto t, auto count) const {
    const auto losses = row_losses<R>{}(p, x, t);
    return tl::mean(tl::gather(losses, tl::top_k<R.rows, 'k'>(losses, count)));
  }
};
template <mlp_row R> struct masked_loss {
  constexpr auto operator()(const auto& p, auto x, auto t, auto mask) const {
    return tl::mean(mask * row_losses<R>{}(p, x, t));
  }
};
template <mlp_row R> struct focal_loss {
  constexpr auto operator()(const auto& p, auto x, auto t, auto below) const {
    const auto losses = row_losses<R>{}(p, x, t);
    return tl::mean(tl::stop_gradient(tl::square(tl::relu(losses - below))) * losses);
  }
};

template <mlp_row R> void run(session& s) {
  constexpr int count = R.layers(), outputs = R.dims[count];
  using P = params<R>;
  using X = tl::tensor<float, R.rows, R.dims[0]>;
  using T = tl::tensor<float, R.rows, outputs>;

  tl::owned<P> p;
  tl::owned<X> x;
  tl::owned<T> t;
  fill(1, *x);
  fill(2, *t);
  std::vector<values> w, b, z, h; // h[i]: the input of layer i; z[i] = h[i] w[i] + b[i]
  tl::for_each_layer(*p, [&](const auto& l) {
    const std::uint64_t seed = 10 + 2 * w.size();
    fill(seed, l.w);
    fill(seed + 1, l.b);
    const float scale = std::sqrt(6.0f / static_cast<float>(R.dims[w.size()])); // activations keep their size
    for (float& v : l.w) v *= scale;
    w.push_back(copy(l.w));
    b.push_back(copy(l.b));
  });
  if (s.checking()) {
    // A row with a z so near to 0 that rounding may decide its sign gets the target that it reaches: its cotangents
    // vanish, and both signs are right.
    std::vector<bool> near(R.rows, false);
    h.push_back(copy(*x));
    for (int i = 0; i < count; ++i) {
      const std::size_t k = static_cast<std::size_t>(i);
      z.push_back(matmul(R.rows, R.dims[i + 1], R.dims[i], h[k], w[k]));
      add_channel(z[k], b[k], 1);
      h.push_back(z[k]);
      if (i + 1 == count) break;
      for (std::size_t j = 0; j < z[k].size(); ++j) {
        if (std::abs(z[k][j]) < 1e-5) near[j / static_cast<std::size_t>(R.dims[i + 1])] = true;
        h[k + 1][j] = std::max(z[k][j], 0.0);
      }
    }
    for (std::int64_t j = 0; j < (*t).size(); ++j)
      if (near[static_cast<std::size_t>(j / outputs)])
        (*t)[j] = static_cast<float>(h.back()[static_cast<std::size_t>(j)]);
  }
  double longest = 0;
  for (int i = 0; i < count; ++i) longest = std::max(longest, static_cast<double>(R.dims[i]));

  {
    auto program = tl::jit(row_losses<R>{}).template bind<P, X, T>(s.threads());
    s.plan(program);
    s.phase(
        "fwd", longest * count, [&] { return program(*p, *x, *t); },
        [&] {
          const values ts = copy(*t);
          values losses(static_cast<std::size_t>(R.rows));
          for (std::size_t j = 0; j < ts.size(); ++j) {
            const double e = h.back()[j] - ts[j];
            losses[j / static_cast<std::size_t>(outputs)] += e * e;
          }
          return leaves{losses};
        });
  }
  const auto row_loss = [&](int i) {
    double sum = 0;
    for (std::int64_t j = std::int64_t{i} * outputs; j < std::int64_t{i + 1} * outputs; ++j) {
      const double e = h.back()[static_cast<std::size_t>(j)] - static_cast<double>((*t)[j]);
      sum += e * e;
    }
    return sum;
  };
  // of the sum over rows of weight * loss
  const auto reference = [&](const std::vector<double>& weight) {
    const values ts = copy(*t);
    values value(1), bar(ts.size());
    for (std::size_t j = 0; j < ts.size(); ++j) {
      const double e = h.back()[j] - ts[j], of_row = weight[j / static_cast<std::size_t>(outputs)];
      value[0] += of_row * e * e;
      bar[j] = of_row * 2 * e;
    }
    leaves result(2 * static_cast<std::size_t>(count) + 1);
    result[0] = value;
    for (int i = count; i-- > 0;) {
      const std::size_t k = static_cast<std::size_t>(i);
      result[2 * k + 1] = matmul(R.dims[i], R.dims[i + 1], R.rows, h[k], bar, true);
      result[2 * k + 2] = sum_channel(bar, R.dims[i + 1], 1);
      if (i == 0) break;
      bar = matmul(R.rows, R.dims[i], R.dims[i + 1], bar, w[k], false, true);
      for (std::size_t j = 0; j < bar.size(); ++j)
        if (z[k - 1][j] <= 0) bar[j] = 0;
    }
    return result;
  };
  // 1 / k for the k rows of the greatest losses
  const auto weight_of_hardest = [&](int k) {
    const std::vector<int> order = hardest_first(R.rows, row_loss);
    std::vector<double> weight(R.rows, 0.0);
    for (int i = 0; i < k; ++i)
      weight[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = 1.0 / k;
    return weight;
  };
  const double terms = std::max(longest * count, static_cast<double>(R.rows));
  {
    auto program = tl::jit(tl::value_and_grad<0>(mean_loss<R>{})).template bind<P, X, T>(s.threads());
    s.plan(program);
    s.phase(
        "step_all", terms, [&] { return program(*p, *x, *t); },
        [&] { return reference(std::vector<double>(R.rows, 1.0 / R.rows)); });
  }
  if constexpr (R.hard > 0) {
    {
      auto program = tl::jit(tl::value_and_grad<0>(hard_loss<R>{})).template bind<P, X, T>(s.threads());
      s.plan(program);
      s.phase(
          "step_topk", terms, [&] { return program(*p, *x, *t); },
          [&] { return reference(weight_of_hardest(static_cast<int>(R.rows * R.hard))); });
    }
    {
      auto program = tl::jit(tl::value_and_grad<0>(hard_loss_of_count<R>{}))
                         .template bind<P, X, T, std::int32_t>(s.threads());
      s.plan(program);
      for (const int percent : {1, 5, 10, 25, 50, 100}) {
        const int k = R.rows * percent / 100;
        s.phase(("step_topk_" + std::to_string(percent)).c_str(), terms,
                [&] { return program(*p, *x, *t, k); }, [&] { return reference(weight_of_hardest(k)); });
      }
    }
    {
      using M = tl::tensor<float, R.rows>;
      auto program = tl::jit(tl::value_and_grad<0>(masked_loss<R>{})).template bind<P, X, T, M>(s.threads());
      s.plan(program);
      tl::owned<M> mask;
      fill(3, *mask);
      std::vector<double> weight;
      for (float& m : *mask) {
        m = 0.5f * (m + 1) < static_cast<float>(R.hard) ? 1.0f : 0.0f;
        weight.push_back(static_cast<double>(m) / R.rows);
      }
      s.phase(
          "step_mask", terms, [&] { return program(*p, *x, *t, *mask); }, [&] { return reference(weight); });
    }
    {
      auto forward = tl::jit(row_losses<R>{}).template bind<P, X, T>();
      const auto losses = forward(*p, *x, *t);
      std::vector<float> sorted(losses.begin(), losses.end());
      std::sort(sorted.begin(), sorted.end());
      auto program =
          tl::jit(tl::value_and_grad<0>(focal_loss<R>{})).template bind<P, X, T, float>(s.threads());
      s.plan(program);
      // all rows have weights other than 0, all but one, half of them
      for (const auto& [phase, below] :
           {std::pair{"step_focal_all", -1.0f}, std::pair{"step_focal_all_but_1", sorted[0]},
            std::pair{"step_focal_50", sorted[R.rows / 2 - 1]}})
        s.phase(
            phase, terms, [&] { return program(*p, *x, *t, below); },
            [&] {
              std::vector<double> weight;
              for (int i = 0; i < R.rows; ++i)
                weight.push_back(std::pow(std::max(row_loss(i) - static_cast<double>(below), 0.0), 2) /
                                 R.rows);
              return reference(weight);
            });
    }
  }
}

const workload rows[] = {
#define TAPELESS_MLP(name, ...) {__LINE__, name, run<mlp_row{__VA_ARGS__}>},
#include "workloads.def"
};
const bool listed = list(rows);

}} // namespace bench
