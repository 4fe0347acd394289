// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "reference.hpp"

#include "../../tests/reference/conv.hpp"
#include "../../tests/reference/matmul.hpp"

namespace bench {
namespace {

using index = std::int64_t;

template <class F> void in_parallel(index count, const F& f) {
  tl::cpu::default_team().run(count, [&](index i, int) { f(i); });
}

// y[i] += a * x[i * step], i < count
void add_scaled(index count, double a, const double* x, index step, double* y) {
  if (step == 1)
    for (index i = 0; i < count; ++i) y[i] += a * x[i];
  else
    for (index i = 0; i < count; ++i) y[i] += a * x[i * step];
}

// f(x, w, y, count): the products x[x + i * stride] w[w] y[y + i], i < count, of image n and filter k that meet the
// image, one call a row of outputs
template <class F> void each_row(const conv_layer& l, index n, index k, const F& f) {
  const index cg = l.c / l.groups, first = k / (l.k / l.groups) * cg, p = l.p(), q = l.q();
  for (index c = 0; c < cg; ++c)
    for (index r = 0; r < l.r; ++r)
      for (index s = 0; s < l.r; ++s) {
        const index left = l.pad - s * l.dil; // column of x = q * stride - left
        const index begin = left > 0 ? (left + l.stride - 1) / l.stride : 0;
        const index end = l.w - 1 + left < 0 ? 0 : std::min(q, (l.w - 1 + left) / l.stride + 1);
        for (index i = 0; i < p; ++i) {
          const index row = i * l.stride + r * l.dil - l.pad;
          if (row < 0 || row >= l.h || begin >= end) continue;
          f(((n * l.c + first + c) * l.h + row) * l.w + begin * l.stride - left,
            ((k * cg + c) * l.r + r) * l.r + s, ((n * l.k + k) * p + i) * q + begin, end - begin);
        }
      }
}

bool close(const values& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-12 * (1 + std::abs(b[i])))) return false;
  return true;
}

values random_values(std::uint64_t seed, std::size_t n) {
  std::vector<float> f(n);
  fill(seed, f.data(), static_cast<index>(n));
  return values(f.begin(), f.end());
}

} // namespace

values conv_fprop(const conv_layer& l, const values& x, const values& w) {
  values y(l.y_size());
  in_parallel(l.n * l.k, [&](index i) {
    each_row(l, i / l.k, i % l.k, [&](index at_x, index at_w, index at_y, index count) {
      add_scaled(count, w[static_cast<std::size_t>(at_w)], x.data() + at_x, l.stride, y.data() + at_y);
    });
  });
  return y;
}

values conv_dgrad(const conv_layer& l, const values& y_bar, const values& w) {
  values x_bar(l.x_size());
  in_parallel(l.n, [&](index n) {
    for (index k = 0; k < l.k; ++k)
      each_row(l, n, k, [&](index at_x, index at_w, index at_y, index count) {
        const double a = w[static_cast<std::size_t>(at_w)];
        for (index i = 0; i < count; ++i) x_bar.data()[at_x + i * l.stride] += a * y_bar.data()[at_y + i];
      });
  });
  return x_bar;
}

values conv_wgrad(const conv_layer& l, const values& x, const values& y_bar) {
  values w_bar(l.w_size());
  in_parallel(l.k, [&](index k) {
    for (index n = 0; n < l.n; ++n)
      each_row(l, n, k, [&](index at_x, index at_w, index at_y, index count) {
        double sum = 0;
        for (index i = 0; i < count; ++i) sum += x.data()[at_x + i * l.stride] * y_bar.data()[at_y + i];
        w_bar.data()[at_w] += sum;
      });
  });
  return w_bar;
}

void add_channel(values& y, const values& b, index inner) {
  const index channels = static_cast<index>(b.size());
  for (index i = 0; i < static_cast<index>(y.size()); ++i) y.data()[i] += b.data()[i / inner % channels];
}
values sum_channel(const values& y_bar, index channels, index inner) {
  values b_bar(static_cast<std::size_t>(channels));
  for (index i = 0; i < static_cast<index>(y_bar.size()); ++i)
    b_bar.data()[i / inner % channels] += y_bar.data()[i];
  return b_bar;
}

values matmul(index m, index n, index k, const values& a, const values& b, bool ta, bool tb) {
  values c(static_cast<std::size_t>(m * n));
  in_parallel(m, [&](index i) {
    for (index p = 0; p < k; ++p) {
      const double x = a.data()[ta ? p * m + i : i * k + p];
      add_scaled(n, x, b.data() + (tb ? p : p * n), tb ? k : 1, c.data() + i * n);
    }
  });
  return c;
}

relu_loss mean_square_of_relu(const values& y, const values& t) {
  relu_loss r{values(1), values(y.size())};
  const double count = static_cast<double>(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double e = std::max(y[i], 0.0) - t[i];
    r.value[0] += e * e / count;
    r.y_bar[i] = y[i] > 0 ? 2 * e / count : 0;
  }
  return r;
}

bool reference_agrees() {
  const conv_layer layers[] = {
      {.n = 2, .c = 3, .h = 5, .w = 7, .k = 4, .r = 3, .stride = 2, .pad = 1},
      {.n = 1, .c = 4, .h = 6, .w = 5, .k = 6, .r = 3, .stride = 1, .pad = 2, .dil = 2, .groups = 2},
      {.n = 2, .c = 3, .h = 4, .w = 4, .k = 3, .r = 2, .stride = 3, .pad = 2, .dil = 1, .groups = 3},
  };
  for (const conv_layer& l : layers) {
    const values x = random_values(1, l.x_size()), w = random_values(2, l.w_size()),
                 y = random_values(3, l.y_size());
    const ref::conv2d_config config{l.stride, l.stride, l.pad, l.pad, l.pad, l.pad, l.dil, l.dil, l.groups};
    const ref::array<double> rx({l.n, l.c, l.h, l.w}, x), rw({l.k, l.c / l.groups, l.r, l.r}, w);
    const ref::array<double> ry({l.n, l.k, l.p(), l.q()}, y);
    if (!close(conv_fprop(l, x, w), ref::conv2d(rx, rw, config).data)) return false;
    if (!close(conv_dgrad(l, y, w), ref::conv2d_dgrad(ry, rw, rx.shape, config).data)) return false;
    if (!close(conv_wgrad(l, x, y), ref::conv2d_wgrad(rx, ry, rw.shape, config).data)) return false;
  }
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const values a = random_values(4, 6), b = random_values(5, 12); // (2, 3) (3, 4)
      const ref::array<double> ra(ta ? ref::dims{3, 2} : ref::dims{2, 3}, a);
      const ref::array<double> rb(tb ? ref::dims{4, 3} : ref::dims{3, 4}, b);
      if (!close(matmul(2, 4, 3, a, b, ta, tb), ref::matmul(ra, rb, ta, tb).data)) return false;
    }
  return true;
}

} // namespace bench
