// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// masked_conv: y = conv(x, (mask * w_true)[:, :c])
//   fwd           y
//   bwd_weights   dW_true from a given dY; nothing for x
//   step          loss = mean((relu(y) - t)^2) and the gradient of w_true

#include "reference.hpp"

namespace bench { namespace {

struct masked_conv_row {
  int n, c, h, w, k, c_true, r, stride, pad, dil, groups;
  constexpr int out(int extent) const { return (extent + 2 * pad - dil * (r - 1) - 1) / stride + 1; }
};

template <masked_conv_row R> struct forward {
  constexpr auto operator()(auto x, auto w_true, auto mask) const {
    constexpr tl::conv attributes{
        .stride = R.stride, .padding = R.pad, .dilation = R.dil, .groups = R.groups};
    return tl::conv2d<attributes>(x, tl::slice<1, 0, R.c / R.groups>(mask * w_true));
  }
};
template <masked_conv_row R> struct loss {
  constexpr auto operator()(auto x, auto w_true, auto mask, auto t) const {
    return tl::mean(tl::square(tl::relu(forward<R>{}(x, w_true, mask)) - t));
  }
};

template <masked_conv_row R> void run(session& s) {
  constexpr int cg = R.c / R.groups, cg_true = R.c_true / R.groups;
  using X = tl::tensor<float, R.n, R.c, R.h, R.w>;
  using W = tl::tensor<float, R.k, cg_true, R.r, R.r>;
  using Y = tl::tensor<float, R.n, R.k, R.out(R.h), R.out(R.w)>;
  const conv_layer l{R.n, R.c, R.h, R.w, R.k, R.r, R.stride, R.pad, R.dil, R.groups};

  tl::owned<X> x;
  tl::owned<W> w_true, mask;
  tl::owned<Y> dy, t;
  fill(1, *x);
  fill(2, *w_true);
  fill(3, *mask);
  for (float& m : *mask) m = m < 0 ? 0.0f : 1.0f;
  fill(4, *dy);
  fill(5, *t);
  // w_true[k, c, ..] <-> w[k, c, ..], c < cg
  const auto each_weight = [&](auto&& f) {
    constexpr std::size_t line = static_cast<std::size_t>(cg) * R.r * R.r,
                          line_true = static_cast<std::size_t>(cg_true) * R.r * R.r;
    for (std::size_t k = 0; k < static_cast<std::size_t>(R.k); ++k)
      for (std::size_t i = 0; i < line; ++i) f(k * line_true + i, k * line + i);
  };
  values xs, ws, y;
  const values masks = copy(*mask), ws_true = copy(*w_true);
  const auto to_true = [&](const values& dw) {
    values d(masks.size());
    each_weight([&](std::size_t i_true, std::size_t i) { d[i_true] = masks[i_true] * dw[i]; });
    return d;
  };
  if (s.checking()) {
    xs = copy(*x);
    ws.resize(l.w_size());
    each_weight([&](std::size_t i_true, std::size_t i) { ws[i] = masks[i_true] * ws_true[i_true]; });
    y = conv_fprop(l, xs, ws);
    fill_targets(5, *t, y);
  }

  {
    auto program = tl::jit(forward<R>{}).template bind<X, W, W>(s.threads());
    s.plan(program);
    s.phase("fwd", l.fprop_terms(), [&] { return program(*x, *w_true, *mask); }, [&] { return leaves{y}; });
  }
  {
    auto program = tl::jit(tl::vjp<1>(forward<R>{})).template bind<X, W, W, Y>(s.threads());
    s.plan(program);
    s.phase(
        "bwd_weights", l.wgrad_terms(), [&] { return program(*x, *w_true, *mask, *dy); },
        [&] { return leaves{to_true(conv_wgrad(l, xs, copy(*dy)))}; });
  }
  {
    auto program = tl::jit(tl::value_and_grad<1>(loss<R>{})).template bind<X, W, W, Y>(s.threads());
    s.plan(program);
    s.phase(
        "step", static_cast<double>(l.y_size()), [&] { return program(*x, *w_true, *mask, *t); },
        [&] {
          const relu_loss e = mean_square_of_relu(y, copy(*t));
          return leaves{e.value, to_true(conv_wgrad(l, xs, e.y_bar))};
        });
  }
}

const workload rows[] = {
#define TAPELESS_MASKED_CONV(name, ...) {__LINE__, name, run<masked_conv_row{__VA_ARGS__}>},
#include "workloads.def"
};
const bool listed = list(rows);

}} // namespace bench
