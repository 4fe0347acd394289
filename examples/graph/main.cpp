// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Learning on a graph: a karate club of 34 members split after a quarrel between its instructor (member 1) and its
// president (member 34). Who went with whom? A network of two graph convolutions is told the sides of these two alone and
// the friendships between all.
//   graph [--data DIR]     where karate.mtx is (examples/data)
// A layer is relu(S H W) with S = D^-1/2 (A + 1) D^-1/2: A is sparse, D holds the degrees of A + 1 (Kipf and Welling, 2017).
// Prints the members by side, wrong ones in brackets. Status: 0 where at least 31 of 34 are right.

#include <tapeless/io/matrix_market.hpp>
#include <tapeless/optim/adam.hpp>
#include <tapeless/tapeless.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <random>

namespace {

namespace tl = tapeless;

constexpr int members = 34, features = 16, sides = 2;
using friendships = tl::csr<float, members, members, 156>; // 78, each seen from both ends
using labels = tl::tensor<std::int32_t, members>;
using mask = tl::tensor<float, members>;

struct params {
  tl::tensor<float, members, features> w1; // a member is known by number alone, so this is also its embedding
  tl::tensor<float, features, sides> w2;
};

constexpr auto network = [](const auto& p, auto a) {
  const auto s = tl::reshape<members, 1>(1.0 / tl::sqrt(tl::sum<1>(a) + 1.0));
  const auto spread = [&](auto h) {
    const auto scaled = s * h;
    return s * (tl::matmul(a, scaled) + scaled);
  };
  return spread(tl::matmul(tl::relu(spread(p.w1)), p.w2));
};
constexpr auto loss = [](const auto& p, auto a, auto label, auto known) {
  return tl::sum(known * tl::softmax_cross_entropy(network(p, a), label)) + 5e-4 * tl::sum(tl::square(p.w1));
};
constexpr auto step = tl::jit(tl::value_and_grad<0>(loss));
constexpr auto predict = tl::jit([](const auto& p, auto a) { return tl::argmax<1>(network(p, a)); });

// The club that each member joined afterwards (table 1 of Zachary, 1977): 0 the instructor's, 1 the president's.
constexpr int joined_president[] = {10, 15, 16, 19, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34};

int run(const std::filesystem::path& data) {
  const auto graph = tl::load_matrix_market<friendships>(data / "karate.mtx");
  tl::owned<params> p;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& w : p->w1) w = normal(random) * std::sqrt(2.0f / (members + features));
  for (float& w : p->w2) w = normal(random) * std::sqrt(2.0f / (features + sides));
  tl::owned<labels> label;
  tl::owned<mask> known;
  (*label)[members - 1] = 1;
  (*known)[0] = (*known)[members - 1] = 1;

  auto train = step.bind<params, friendships, labels, mask>();
  tl::adam<params> optimizer(tl::adam_options{.learning_rate = 0.01});
  for (int k = 0; k <= 200; ++k) {
    const auto [value, gradient] = train(*p, *graph, *label, *known);
    if (k % 50 == 0) std::printf("step %3d  loss %.4f\n", k, static_cast<double>(value[0]));
    optimizer.step(*p, gradient);
  }

  int truth[members] = {}, right = 0;
  for (const int m : joined_president) truth[m - 1] = 1;
  auto ask = predict.bind<params, friendships>();
  const auto side = ask(*p, *graph);
  for (const int which : {0, 1}) {
    std::printf("%-12s", which == 0 ? "instructor" : "president");
    for (int m = 0; m < members; ++m) {
      if (side[m] != which) continue;
      right += truth[m] == which ? 1 : 0;
      std::printf(truth[m] == which ? " %d" : " (%d)", m + 1);
    }
    std::printf("\n");
  }
  std::printf("%d of %d\n", right, members);
  return right >= 31 ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  std::filesystem::path data = "examples/data";
  if (count == 3 && std::strcmp(arguments[1], "--data") == 0) data = arguments[2];
  else if (count != 1) {
    std::fputs("usage: graph [--data DIR]\n", stderr);
    return 2;
  }
  try {
    return run(data);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "graph: %s\n", e.what());
    return 1;
  }
}
