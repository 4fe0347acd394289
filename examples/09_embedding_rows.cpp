// An embedding of 1,000 words learns by the 16 hardest of each batch of 64. The gradient has 16 rows, and the optimizer
// moves these rows of the table: nothing is computed or moved for the others.
#include <tapeless/tapeless.hpp>

#include <cstdint>
#include <cstdio>
#include <tuple>

namespace tl = tapeless;

constexpr int words = 1000, batch = 64, hardest = 16;
using table = tl::tensor<float, words, 8>;
using weights = tl::tensor<float, 8>;
using indices = tl::tensor<std::int32_t, batch>;
using targets = tl::tensor<float, batch>;

constexpr auto hard_rows = [](auto t, auto w, auto ids, auto y) {
  const auto losses = [w, y](auto e) { return tl::square(tl::matmul(e, w) - y); };
  const auto e = tl::gather(t, ids);          // (batch, 8): what the batch reads of the table
  const auto loss = losses(e);                // (batch)
  const auto rows = tl::top_k<hardest>(loss); // (hardest)
  const auto of_hardest = [losses, rows](auto x) { return tl::mean(tl::gather(losses(x), rows)); };
  const auto gradient = tl::grad(of_hardest)(e); // zero outside rows, and never of all of them
  return std::tuple{tl::mean(loss), tl::gather(ids, rows), tl::gather(gradient, rows)};
};
constexpr auto step = tl::jit(hard_rows);
constexpr tl::cost cost = step.cost<table, weights, indices, targets>();
static_assert(cost.densified == 0 && cost.adjoint.flops <= 40 * hardest);

int main() {
  tl::owned<table> t;
  tl::owned<weights> w;
  tl::owned<indices> ids;
  tl::owned<targets> y;
  for (int k = 0; k < 8; ++k) (*w)[k] = k % 2 == 0 ? 0.5f : -0.5f;
  tl::sgd<table> sgd(2.0);
  auto run = step.bind<table, weights, indices, targets>();
  std::uint32_t state = 1;
  for (int i = 0; i < 201; ++i) {
    for (int k = 0; k < batch; ++k) {
      state = state * 1664525u + 1013904223u;
      (*ids)[k] = static_cast<std::int32_t>((state >> 8) % words);
      (*y)[k] = static_cast<float>((*ids)[k] % 7) / 7;
    }
    const auto [loss, rows, gradient] = run(*t, *w, *ids, *y);
    sgd.step_rows(*t, rows, gradient);
    if (i % 50 == 0) std::printf("step %3d: mean loss %.3f\n", i, loss[0]);
  }
  int moved = 0;
  for (int i = 0; i < words; ++i) moved += (*t)[8 * i] != 0;
  std::printf("%d of %d rows moved\n", moved, words);
}
