// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

#include "show.hpp"

#include <cmath>

namespace tl = tapeless;

// [signature]
struct weights {
  tl::tensor<float, 12, 3> w;
  tl::tensor<float, 3> b;
};
using images = tl::tensor<const std::uint8_t, tl::dyn<'n'>, 3, 2, 2>; // 0 to 255, as files have them
using labels = tl::tensor<const std::int64_t, tl::dyn<'n'>>;          // as NumPy and PyTorch have them

constexpr auto logits = [](const auto& p, auto image) {
  auto x = tl::cast<float>(image) * (1 / 255.0f);
  return tl::matmul(tl::reshape<tl::dyn<'n'>, 12>(x), p.w) + p.b;
};
constexpr auto loss = [](const auto& p, auto image, auto label) {
  return tl::mean(tl::softmax_cross_entropy(logits(p, image), tl::cast<std::int32_t>(label)));
};
// [/signature]
// [back]
// x: tensor<float, 2, 4>
constexpr auto picture = [](auto x) { return tl::cast<std::uint8_t>(255.0f * x + 0.5f); };
// [/back]

int main() {
  std::uint8_t pixels[24];
  for (int i = 0; i < 24; ++i) pixels[i] = static_cast<std::uint8_t>(40 * i % 256);
  std::int64_t classes[] = {2, 0};
  tl::owned<weights> p;
  count_up(*p);
  auto run = tl::jit(tl::value_and_grad(loss)).bind<weights, images, labels>(tl::dim<'n'>(2));
  const auto [value, gradient] = run(*p, images(pixels, 2), labels(classes, 2));
  show("loss", value);
  show("b_bar", gradient.b);
  classes[1] = (1LL << 32) + 1; // that would be class 1 if it wrapped around
  try {
    run(*p, images(pixels, 2), labels(classes, 2));
  } catch (const tl::argument_error& e) { std::printf("%s\n\n", e.what()); }

  float x[] = {0, 0.5f, 1, 1.5f, -0.25f, 1e30f, -1e30f, std::nanf("")};
  auto bytes = tl::jit(picture).bind<tl::tensor<float, 2, 4>>();
  show("picture", bytes(tl::tensor<float, 2, 4>(x)));

  std::int64_t large[] = {1LL << 40, -(1LL << 40), 300, -7};
  auto casts = tl::jit([](auto l) {
                 return std::tuple{tl::cast<std::int32_t>(l), tl::cast<std::uint8_t>(l), tl::cast<float>(l)};
               }).bind<tl::tensor<std::int64_t, 4>>();
  const auto [narrow, byte, real] = casts(tl::tensor<std::int64_t, 4>(large));
  std::printf("int32      %d %d %d %d\n", narrow[0], narrow[1], narrow[2], narrow[3]);
  show("uint8", byte);
  show("float", real);

  std::printf("\n%s", tl::jit([](auto image) {
                        return tl::cast<float>(image) * (1 / 255.0f);
                      }).explain<tl::tensor<std::uint8_t, 3, 224, 224>>().c_str());
}
