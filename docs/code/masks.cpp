// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include <tapeless/tapeless.hpp>

#include <cstdint>
#include <cstdio>

using namespace tapeless;

struct network {
  tensor<float, 64, 256> w1;
  tensor<float, 256> b1;
  tensor<float, 256, 256> w2;
  tensor<float, 256, 10> w3;
};
constexpr int n = 4096;
using images = tensor<float, n, 64>;
using targets = tensor<float, n, 10>;
using weights = tensor<float, n>;
using flags = tensor<bool, n>;
using places = tensor<std::int32_t, n / 4>;

template <class F> constexpr auto step =
    jit(value_and_grad<0>([](const auto& p, auto x, auto t, auto w, auto v, auto keep, auto list) {
      const auto h = relu(matmul(x, p.w1) + p.b1);
      const auto z = matmul(relu(matmul(h, p.w2)), p.w3) - t;
      return F{}(z, mean<1>(square(z)), w, v, keep, list); // of z and the losses of the rows
    }));
template <class F> constexpr cost cost_of =
    step<F>.template cost<network, images, targets, weights, weights, flags, places>();
constexpr auto of_all = [](auto, auto l, auto, auto, auto, auto) { return mean(l); };

// What a quarter of the rows costs, by the step of all rows.
template <class F> void print(const char* loss, F) {
  constexpr cost all = cost_of<decltype(of_all)>, some = cost_of<F>;
  const auto share = [](const polynomial& part, const polynomial& whole) {
    constexpr extent_t rows = n / 4; // of each list
    return part.at(dim<'#'>(rows), dim<'$'>(rows), dim<'%'>(rows), dim<'k'>(rows)) / whole.at();
  };
  std::printf("%-68s %7.2f %7.2f\n", loss, share(some.primal.flops, all.primal.flops),
              share(some.adjoint.flops, all.adjoint.flops));
}
#define LOSS(...)                                                                                            \
  print(#__VA_ARGS__, []([[maybe_unused]] auto z, [[maybe_unused]] auto l, [[maybe_unused]] auto w, [[maybe_unused]] auto v,  \
                         [[maybe_unused]] auto keep, [[maybe_unused]] auto list) { return __VA_ARGS__; })

int main() {
  std::printf("%-68s forward adjoint\n\n", "loss");
  std::puts("known before the network, always left out");
  LOSS(mean(where(keep, l, 0.0f)));
  LOSS(mean(l, over(keep)));
  LOSS(mean(where(w > 0.5f, l, 0.0f)));
  LOSS(mean(w * l));
  LOSS(sum(w * l) / sum(w));
  LOSS(sum(where(keep, l, 0.0f)) / max(sum(cast<float>(keep)), 1.0f));
  LOSS(sum(square(reshape<n, 1>(w) * z)));
  LOSS(mean(v * (w * l)));
  LOSS(mean(where(keep, w * l, 0.0f)));
  LOSS(mean(w * l) + mean(v * sqrt(l)));
  LOSS(mean(gather(l, list)));
  LOSS(mean(gather(l, where<'k'>(keep))));
  std::puts("\nknown by the losses, always left out");
  LOSS(mean(gather(l, top_k<1024>(l))));
  LOSS(mean(gather(l, bottom_k<percent{25}>(l))));
  LOSS(mean(gather(l, where<'k'>(l > 0.5f))));
  std::puts("\nleft out where that saves enough");
  LOSS(mean(relu(w - 0.5f) * l));
  LOSS(mean(where(l > 0.5f, l, 0.0f)));
  LOSS(mean(stop_gradient(square(relu(l - mean(l)))) * l));
  LOSS(matmul(w, l));
  std::puts("\nnot left out");
  LOSS(mean(exp(w) * l));
  LOSS(mean(max(w * l, v * l)));
}
