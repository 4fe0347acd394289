// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// bench_memory [--threads N] [NAME...]   ops that are bound by memory, on tensors larger than the caches
//
// JSON lines: {"op","threads","min_ms","gigabytes","share"}. gigabytes: 10^9 bytes a second, where each argument is read
// and each result written once. share: of the rate of a[i] = 3 c[i] + b[i] over as many bytes, in turns with the op.

#include <tapeless/tapeless.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "contest.hpp"

namespace {

namespace tl = tapeless;
namespace cpu = tapeless::cpu;

using flat = tl::tensor<float, 16 << 20>;
using rows = tl::tensor<float, 16 * 1024, 1000>;
using square = tl::tensor<float, 4096, 4096>;
using images = tl::tensor<float, 16, 64, 128, 128>;
using halves = tl::tensor<float, 16, 64, 64, 64>;
using columns = tl::tensor<float, 1000>;
using channels = tl::tensor<float, 64>;

// a[i] = 3 c[i] + b[i]
class stream {
  bench::aligned_vector<float> a_, b_, c_;
  bench::team_type team_;

public:
  stream(double bytes, int threads)
      : a_(static_cast<std::size_t>(bytes / 12) / 64 * 64),
        b_(a_.size(), 1.0f),
        c_(a_.size(), 2.0f),
        team_(threads) {}
  void operator()() {
    using lanes = cpu::simd<float>;
    const auto size = static_cast<cpu::index_t>(a_.size());
    const cpu::index_t parts = team_.size();
    team_.run(parts, [&](cpu::index_t part, int) {
      const auto cut = [&](cpu::index_t i) { return size * i / parts / 64 * 64; };
      for (cpu::index_t i = cut(part); i < cut(part + 1); i += cpu::width<float>)
        cpu::store(a_.data() + i,
                   cpu::fma(lanes(3.0f), cpu::load<lanes>(c_.data() + i), cpu::load<lanes>(b_.data() + i)));
    });
  }
};

class program {
  int threads_;
  std::vector<std::string_view> names_;
  std::vector<std::string_view> known_;

public:
  program(int threads, std::vector<std::string_view> names) : threads_(threads), names_(std::move(names)) {}

  // f of arguments X..., beside stream
  template <class... X, class F> void op(const char* name, F) {
    known_.push_back(name);
    if (!names_.empty() && std::find(names_.begin(), names_.end(), name) == names_.end()) return;
    static constexpr auto compiled = tl::jit(F{});
    std::tuple<tl::owned<X>...> arguments;
    double bytes = 0;
    unsigned seed = 0;
    const auto draw = [&](auto& x) {
      const auto v = bench::random_values<float>((*x).size(), ++seed);
      std::copy(v.begin(), v.end(), (*x).data());
      bytes += 4.0 * static_cast<double>((*x).size());
    };
    std::apply([&](auto&... x) { (draw(x), ...); }, arguments);
    auto bound = compiled.template bind<X...>(tl::threads(threads_));
    const auto run = [&] { return std::apply([&](auto&... x) { return bound(*x...); }, arguments); };
    const auto result = run();
    tl::for_each_leaf(result, [&](const auto& leaf) { bytes += 4.0 * static_cast<double>(leaf.size()); });
    std::vector<bench::contestant> all{{name, [&] { run(); }}, {"stream", stream(bytes, threads_)}};
    bench::time(all);
    std::printf("{\"op\":\"%s\",\"threads\":%d,\"min_ms\":%.5g,\"gigabytes\":%.4g,\"share\":%.3f}\n", name,
                threads_, all[0].ms, bytes / all[0].ms * 1e-6, all[1].ms / all[0].ms);
    std::fflush(stdout);
  }

  int end() const {
    for (const std::string_view name : names_)
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        std::fprintf(stderr, "bench_memory: no op %s; there are", name.data());
        for (const std::string_view k : known_) std::fprintf(stderr, " %s", k.data());
        std::fprintf(stderr, "\nusage: bench_memory [--threads N] [NAME...]\n");
        return 2;
      }
    return 0;
  }
};

constexpr auto max_pool = [](auto x) { return tl::max_pool2d<tl::pool{.kernel = 2}>(x); };
constexpr auto avg_pool = [](auto x) { return tl::avg_pool2d<tl::pool{.kernel = 2}>(x); };
constexpr auto layer_norm = [](auto x, auto gamma, auto beta) { return tl::layer_norm(x, gamma, beta); };
constexpr auto batch_norm = [](auto x, auto gamma, auto beta) { return tl::batch_norm(x, gamma, beta); };
constexpr auto softmax = [](auto x) { return tl::softmax(x); };
constexpr auto to_nhwc = [](auto x) { return tl::transpose<0, 2, 3, 1>(x); };

} // namespace

int main(int argc, char** argv) {
  int threads = 1;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--threads" && i + 1 < argc) threads = std::max(1, std::atoi(argv[++i]));
    else names.push_back(argv[i]);
  program p(threads, names);
  p.op<flat>("relu", [](auto x) { return tl::relu(x); });
  p.op<flat>("exp", [](auto x) { return exp(x); });
  p.op<flat>("tanh", [](auto x) { return tanh(x); });
  p.op<flat>("sum", [](auto x) { return tl::sum(x); });
  p.op<rows>("sum-rows", [](auto x) { return tl::sum<1>(x); });
  p.op<rows>("sum-columns", [](auto x) { return tl::sum<0>(x); });
  p.op<rows>("max-rows", [](auto x) { return tl::max<1>(x); });
  p.op<images>("sum-channels", [](auto x) { return tl::sum<0, 2, 3>(x); });
  p.op<rows>("softmax", softmax);
  p.op<rows>("log-softmax", [](auto x) { return tl::log_softmax(x); });
  p.op<rows, rows>("softmax-vjp", tl::vjp<0>(softmax));
  p.op<rows, columns, columns>("layer-norm", layer_norm);
  p.op<rows, columns, columns, rows>("layer-norm-vjp", tl::vjp<0, 1, 2>(layer_norm));
  p.op<images, channels, channels>("batch-norm", batch_norm);
  p.op<images, channels, channels, images>("batch-norm-vjp", tl::vjp<0, 1, 2>(batch_norm));
  p.op<square>("transpose", [](auto x) { return tl::transpose(x); });
  p.op<images>("to-channels-last", to_nhwc);
  p.op<images>("max-pool", max_pool);
  p.op<images, halves>("max-pool-vjp", tl::vjp<0>(max_pool));
  p.op<images>("avg-pool", avg_pool);
  p.op<images, halves>("avg-pool-vjp", tl::vjp<0>(avg_pool));
  return p.end();
}
