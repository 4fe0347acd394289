// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// conv: y = conv(x, w) + b
//   fwd           y
//   bwd_data      dX from a given dY            bwd_weights   dW, db            bwd   all three
//   step          loss = mean((relu(y) - t)^2) and the gradients of x, w, b

#include "reference.hpp"

namespace bench { namespace {

struct conv_row {
  int n, c, h, w, k, r, stride, pad, dil, groups;
  constexpr int out(int extent) const { return (extent + 2 * pad - dil * (r - 1) - 1) / stride + 1; }
};

template <conv_row R> struct forward {
  constexpr auto operator()(auto x, auto w, auto b) const {
    return tl::conv2d<tl::conv{.stride = R.stride, .padding = R.pad, .dilation = R.dil, .groups = R.groups}>(
               x, w) +
           tl::channel(b);
  }
};
template <conv_row R> struct loss {
  constexpr auto operator()(auto x, auto w, auto b, auto t) const {
    return tl::mean(tl::square(tl::relu(forward<R>{}(x, w, b)) - t));
  }
};

template <conv_row R> void run(session& s) {
  using X = tl::tensor<float, R.n, R.c, R.h, R.w>;
  using W = tl::tensor<float, R.k, R.c / R.groups, R.r, R.r>;
  using B = tl::tensor<float, R.k>;
  using Y = tl::tensor<float, R.n, R.k, R.out(R.h), R.out(R.w)>;
  const conv_layer l{R.n, R.c, R.h, R.w, R.k, R.r, R.stride, R.pad, R.dil, R.groups};
  const std::int64_t area = l.p() * l.q();

  tl::owned<X> x;
  tl::owned<W> w;
  tl::owned<B> b;
  tl::owned<Y> dy, t;
  fill(1, *x);
  fill(2, *w);
  fill(3, *b);
  fill(4, *dy);
  fill(5, *t);
  values xs, ws, dys, y, dx, dw, db;
  if (s.checking()) {
    xs = copy(*x), ws = copy(*w), dys = copy(*dy);
    y = conv_fprop(l, xs, ws);
    add_channel(y, copy(*b), area);
    dx = conv_dgrad(l, dys, ws);
    dw = conv_wgrad(l, xs, dys);
    db = sum_channel(dys, l.k, area);
    fill_targets(5, *t, y);
  }

  {
    auto program = tl::jit(forward<R>{}).template bind<X, W, B>(s.threads());
    s.plan(program);
    s.phase("fwd", l.fprop_terms(), [&] { return program(*x, *w, *b); }, [&] { return leaves{y}; });
  }
  {
    auto program = tl::jit(tl::vjp<0>(forward<R>{})).template bind<X, W, B, Y>(s.threads());
    s.plan(program);
    s.phase(
        "bwd_data", l.dgrad_terms(), [&] { return program(*x, *w, *b, *dy); }, [&] { return leaves{dx}; });
  }
  {
    auto program = tl::jit(tl::vjp<1, 2>(forward<R>{})).template bind<X, W, B, Y>(s.threads());
    s.plan(program);
    s.phase(
        "bwd_weights", l.wgrad_terms(), [&] { return program(*x, *w, *b, *dy); },
        [&] { return leaves{dw, db}; });
  }
  {
    auto program = tl::jit(tl::vjp<0, 1, 2>(forward<R>{})).template bind<X, W, B, Y>(s.threads());
    s.plan(program);
    s.phase(
        "bwd", std::max(l.dgrad_terms(), l.wgrad_terms()), [&] { return program(*x, *w, *b, *dy); },
        [&] { return leaves{dx, dw, db}; });
  }
  {
    auto program = tl::jit(tl::value_and_grad<0, 1, 2>(loss<R>{})).template bind<X, W, B, Y>(s.threads());
    s.plan(program);
    s.phase(
        "step", static_cast<double>(l.y_size()), [&] { return program(*x, *w, *b, *t); },
        [&] {
          const relu_loss e = mean_square_of_relu(y, copy(*t));
          return leaves{e.value, conv_dgrad(l, e.y_bar, ws), conv_wgrad(l, xs, e.y_bar),
                        sum_channel(e.y_bar, l.k, area)};
        });
  }
}

const workload rows[] = {
#define TAPELESS_CONV(name, ...) {__LINE__, name, run<conv_row{__VA_ARGS__}>},
#include "workloads.def"
};
const bool listed = list(rows);

}} // namespace bench
