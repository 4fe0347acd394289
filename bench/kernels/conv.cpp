// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// bench_kernels [--list] [--threads N] [--peers] [--bf16] [NAME...]   every kernel of convolution on every layer of layers.def, or of TAPELESS_LAYERS
//
// JSON lines: the limits; of minimal filtering {"layer","pass","kernel","error"}, the largest difference to the sums of
// the formula over the largest of these, both in float; for each layer, pass and kernel that takes it {"layer","pass","kernel","min_ms","share"}, share
// of the FMA peak; with --peers oneDNN on NCHW with its reorders ("onednn-user") and in the layout that it likes best
// ("onednn-own") and on NHWC tensors ("onednn-nhwc"), weights as they come;
// {"layer","pass","chosen","best","regret"}: what conv_kernel_of takes on NCHW, and its time over that of the fastest
// kernel there; and {"layer","pass","layout_gain","pays"}: time of that one over the time of the fastest kernel on
// NHWC tensors, which are given so, and whether nhwc_pays. With --bf16 further kernels are what takes the
// operands rounded to bf16, as planes ("bf16") and channels last ("bf16_nhwc"); their share may exceed 1. A kernel is
// timed only where all kernels agree on the result.

#include <tapeless/cpu/conv/bf16.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contest.hpp"
#include "workloads/limits.hpp"
#ifdef TAPELESS_WITH_DNNL
#include "onednn.hpp"
#endif

#ifndef TAPELESS_LAYERS
#define TAPELESS_LAYERS "layers.def"
#endif

namespace {

namespace cpu = tapeless::cpu;
using bench::contestant;
using cpu::conv_kernel, cpu::conv_pass, cpu::index_t;
using lanes = cpu::simd<float>;

struct layer {
  const char* name;
  index_t n, c, h, w, k, r, s, stride, pad, dil, groups;
  tapeless::conv_extents extents() const {
    return {.n = n,
            .c = c,
            .h = h,
            .w = w,
            .k = k,
            .r = r,
            .s = s,
            .p = (h + 2 * (h > 1 ? pad : 0) - dil * (r - 1) - 1) / stride + 1,
            .q = (w + 2 * pad - dil * (s - 1) - 1) / stride + 1,
            .stride_h = stride,
            .stride_w = stride,
            .pad_top = h > 1 ? pad : 0,
            .pad_left = pad,
            .dil_h = dil,
            .dil_w = dil,
            .groups = groups};
  }
};
const layer layers[] = {
#define TAPELESS_LAYER(...) {__VA_ARGS__},
#include TAPELESS_LAYERS
};

const char* name_of(conv_pass p) {
  return p == conv_pass::fprop ? "fprop" : p == conv_pass::dgrad ? "dgrad" : "wgrad";
}
const char* name_of(conv_kernel k) {
  switch (k) {
    case conv_kernel::direct: return "direct";
    case conv_kernel::indirect: return "indirect";
    case conv_kernel::dense: return "dense";
    case conv_kernel::depthwise: return "depthwise";
    case conv_kernel::winograd: return "winograd";
    case conv_kernel::winograd4: return "winograd4";
    case conv_kernel::pointwise: return "pointwise";
    case conv_kernel::narrow_groups: return "narrow_groups";
    case conv_kernel::via_nhwc: return "via_nhwc";
    case conv_kernel::nhwc_direct: return "nhwc_direct";
    case conv_kernel::nhwc_trimmed: return "nhwc_trimmed";
    case conv_kernel::nhwc_depthwise: return "nhwc_depthwise";
    case conv_kernel::nhwc_winograd: return "nhwc_winograd";
    case conv_kernel::nhwc_pointwise: return "nhwc_pointwise";
  }
  return "";
}

// (n, area, c) of (n, c, area), or back
bench::aligned_vector<float> with_nhwc(index_t n, index_t c, index_t area,
                                       const bench::aligned_vector<float>& v, bool back = false) {
  bench::aligned_vector<float> to(v.size());
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < c; ++j)
      for (index_t x = 0; x < area; ++x) {
        const auto first = static_cast<std::size_t>((i * c + j) * area + x);
        const auto last = static_cast<std::size_t>((i * area + x) * c + j);
        if (back) to[first] = v[last];
        else to[last] = v[first];
      }
  return to;
}

class program {
  bench::team_type team_;
  double peak_;
  bool peers_, bf16_;
  bool ok_ = true;

  // f(constant) with the kernel of bf16 that is taken
  template <conv_pass P, class F> static void with_bf16_kernel(const tapeless::conv_extents& e, const F& f) {
    using enum cpu::conv_words;
    const cpu::conv_bf16_kernel k = cpu::conv2d_bf16_kernel_of(P, e);
    const auto widened_of = [&]<conv_kernel... K>(std::integer_sequence<conv_kernel, K...>) {
      const auto run_if_taken = [&]<conv_kernel Each>() {
        if constexpr (cpu::has_conv_kernel(P, Each))
          if (k.k == Each) f.template operator()<cpu::conv_bf16_kernel{widened, Each}>();
      };
      (run_if_taken.template operator()<K>(), ...);
    };
    if (k.words == product) f.template operator()<cpu::conv_bf16_kernel{product, conv_kernel::dense}>();
    else if (k.words == pairs && k.k == conv_kernel::nhwc_pointwise)
      f.template operator()<cpu::conv_bf16_kernel{pairs, conv_kernel::nhwc_pointwise}>();
    else if (k.words == pairs)
      f.template operator()<cpu::conv_bf16_kernel{pairs, conv_kernel::nhwc_direct}>();
    else
      widened_of(
          std::integer_sequence<conv_kernel, conv_kernel::direct, conv_kernel::indirect,
                                conv_kernel::depthwise, conv_kernel::pointwise, conv_kernel::narrow_groups,
                                conv_kernel::via_nhwc, conv_kernel::nhwc_direct, conv_kernel::nhwc_trimmed,
                                conv_kernel::nhwc_depthwise, conv_kernel::nhwc_pointwise>{});
  }
  template <conv_pass P> void add_bf16(const layer& l, bool nhwc, const bench::aligned_vector<float>& a,
                                       const bench::aligned_vector<float>& b,
                                       const bench::aligned_vector<float>& first,
                                       std::vector<contestant>& all) {
    auto e = l.extents();
    e.nhwc = nhwc;
    using tapeless::bf16;
    struct state {
      bench::aligned_vector<bf16> a, b, packed, each, shared;
      bench::aligned_vector<float> y;
    };
    const auto image = [&](const bench::aligned_vector<float>& v, bool of_x, bool back = false) {
      if (!nhwc) return v;
      return of_x ? with_nhwc(e.n, e.c, e.h * e.w, v, back) : with_nhwc(e.n, e.k, e.p * e.q, v, back);
    };
    const auto rounded = [](const bench::aligned_vector<float>& v) {
      bench::aligned_vector<bf16> r;
      for (const float x : v) r.push_back(bf16(x));
      return r;
    };
    with_bf16_kernel<P>(e, [&]<cpu::conv_bf16_kernel K>() {
      const cpu::scratch_need need = cpu::conv2d_bf16_scratch<P>(K, e);
      const auto buffer = [](index_t n) { return bench::aligned_vector<bf16>(static_cast<std::size_t>(n)); };
      const auto s = std::make_shared<state>(state{
          rounded(image(a, P != conv_pass::dgrad)), rounded(P == conv_pass::wgrad ? image(b, false) : b),
          buffer(need.packed), buffer(need.each * team_.size()), buffer(need.shared),
          bench::aligned_vector<float>(first.size())});
      const auto run = [this, s, e] {
        cpu::conv2d_bf16_pack<P, K>(team_, e, s->b.data(), s->packed.data());
        cpu::conv2d_bf16_run<P, K>(team_, e, s->a.data(), s->b.data(), s->y.data(),
                                   {s->packed.data(), s->each.data(), s->shared.data()});
      };
      run();
      const bench::aligned_vector<float> result =
          P == conv_pass::wgrad ? s->y : image(s->y, P == conv_pass::dgrad, true);
      double off = 0, norm = 0; // each operand is rounded by 2^-9 of itself at most
      for (std::size_t i = 0; i < first.size(); ++i) {
        off += (double{result[i]} - double{first[i]}) * (double{result[i]} - double{first[i]});
        norm += double{first[i]} * double{first[i]};
      }
      const char* const name = nhwc ? "bf16_nhwc" : "bf16";
      if (off <= 0x1p-14 * norm) return all.push_back({name, run});
      std::fprintf(stderr, "bench_kernels: %s %s %s: error %g\n", l.name, name_of(P), name,
                   std::sqrt(off / norm));
      ok_ = false;
    });
  }

  template <conv_pass P, conv_kernel K>
  void add(const layer& l, const bench::aligned_vector<float>& a, const bench::aligned_vector<float>& b,
           bench::aligned_vector<float>& first, std::vector<contestant>& all) {
    auto e = l.extents();
    e.nhwc = cpu::takes_nhwc(K);
    if (!cpu::conv_kernel_takes<lanes>(P, K, e)) return;
    struct state {
      bench::aligned_vector<float> packed, each, shared, y, a, b;
    };
    const cpu::scratch_need need = cpu::conv2d_scratch<P, lanes>(K, e);
    const auto buffer = [](index_t n) { return bench::aligned_vector<float>(static_cast<std::size_t>(n)); };
    const auto s =
        std::make_shared<state>(state{buffer(need.packed),
                                      buffer(need.each * team_.size()),
                                      buffer(need.shared),
                                      buffer(P == conv_pass::fprop   ? e.n * e.k * e.p * e.q
                                             : P == conv_pass::dgrad ? e.n * e.c * e.h * e.w
                                                                     : e.k * (e.c / e.groups) * e.r * e.s),
                                      {},
                                      {}});
    const auto image = [&](const bench::aligned_vector<float>& v, bool of_x, bool back = false) {
      return of_x ? with_nhwc(e.n, e.c, e.h * e.w, v, back) : with_nhwc(e.n, e.k, e.p * e.q, v, back);
    };
    if (e.nhwc) {
      s->a = image(a, P != conv_pass::dgrad);
      if (P == conv_pass::wgrad) s->b = image(b, false);
    }
    const float* const as = s->a.empty() ? a.data() : s->a.data();
    const float* const bs = s->b.empty() ? b.data() : s->b.data();
    const auto run = [this, s, e, as, bs] {
      cpu::conv2d_pack<P, K, lanes>(team_, e, bs, s->packed.data());
      cpu::conv2d_run<P, K, lanes>(team_, e, as, bs, s->y.data(),
                                   {s->packed.data(), s->each.data(), s->shared.data()});
    };
    run();
    if (first.empty()) first = s->y;
    const bench::aligned_vector<float> result =
        e.nhwc && P != conv_pass::wgrad ? image(s->y, P == conv_pass::dgrad, true) : s->y;
    float worst = 0, largest = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const float error = std::abs(result[i] - first[i]);
      worst = error <= worst ? worst : error; // a NaN stays
      largest = std::max(largest, std::abs(first[i]));
    }
    if (K == conv_kernel::winograd || K == conv_kernel::winograd4 || K == conv_kernel::nhwc_winograd)
      std::printf("{\"layer\":\"%s\",\"pass\":\"%s\",\"kernel\":\"%s\",\"error\":%.2g}\n", l.name, name_of(P),
                  name_of(K), static_cast<double>(worst / largest));
    if (worst <= 1e-4f * largest) return all.push_back({name_of(K), run});
    std::fprintf(stderr, "bench_kernels: %s %s %s: error %g\n", l.name, name_of(P), name_of(K),
                 static_cast<double>(worst / largest));
    ok_ = false;
  }
  template <conv_pass P>
  void each_kernel(const layer& l, const bench::aligned_vector<float>& a,
                   const bench::aligned_vector<float>& b) {
    const auto e = l.extents();
    bench::aligned_vector<float> first;
    std::vector<contestant> all;
    add<P, conv_kernel::direct>(l, a, b, first, all);
    add<P, conv_kernel::indirect>(l, a, b, first, all);
    add<P, conv_kernel::dense>(l, a, b, first, all);
    add<P, conv_kernel::depthwise>(l, a, b, first, all);
    add<P, conv_kernel::winograd>(l, a, b, first, all);
    add<P, conv_kernel::pointwise>(l, a, b, first, all);
    if constexpr (P == conv_pass::wgrad) add<P, conv_kernel::narrow_groups>(l, a, b, first, all);
    add<P, conv_kernel::via_nhwc>(l, a, b, first, all);
    // what conv_kernel_of chooses among unless it is asked for less exact sums
    const std::size_t ours = all.size();
    add<P, conv_kernel::winograd4>(l, a, b, first, all);
    const std::size_t last = all.size();
    add<P, conv_kernel::nhwc_direct>(l, a, b, first, all);
    add<P, conv_kernel::nhwc_trimmed>(l, a, b, first, all);
    add<P, conv_kernel::nhwc_depthwise>(l, a, b, first, all);
    add<P, conv_kernel::nhwc_winograd>(l, a, b, first, all);
    add<P, conv_kernel::nhwc_pointwise>(l, a, b, first, all);
    const std::size_t last_end = all.size();
    if (bf16_)
      for (const bool nhwc : {false, true}) add_bf16<P>(l, nhwc, a, b, first, all);
#ifdef TAPELESS_WITH_DNNL
    if (peers_)
      bench::onednn(e, team_.size(), [&](std::string_view pass, const char* peer, std::function<void()> run) {
        if (pass == name_of(P)) all.push_back({peer, std::move(run)});
      });
#endif
    bench::time(all);
    const double flops = 2.0 * static_cast<double>(e.n * e.k * e.p * e.q * (e.c / e.groups) * e.r * e.s);
    for (const contestant& c : all)
      std::printf(
          "{\"layer\":\"%s\",\"pass\":\"%s\",\"kernel\":\"%s\",\"threads\":%d,\"min_ms\":%.5g,\"share\":%.3f}\n",
          l.name, name_of(P), c.name.c_str(), team_.size(), c.ms, flops / c.ms * 1e-6 / peak_);
    // the time of the best of [begin, end), the kernels of one layout
    const auto best_of = [&](std::size_t begin, std::size_t end, bool nhwc) {
      auto f = e;
      f.nhwc = nhwc;
      const std::string chosen = name_of(cpu::conv_kernel_of<lanes>(P, f));
      const contestant *best = &all[begin], *taken = best;
      for (std::size_t i = begin; i < end; ++i) {
        if (all[i].ms < best->ms) best = &all[i];
        if (all[i].name == chosen) taken = &all[i];
      }
      std::printf("{\"layer\":\"%s\",\"pass\":\"%s\",\"chosen\":\"%s\",\"best\":\"%s\",\"regret\":%.3f}\n",
                  l.name, name_of(P), chosen.c_str(), best->name.c_str(), taken->ms / best->ms);
      return best->ms;
    };
    const double planes_ms = best_of(0, ours, false), last_ms = best_of(last, last_end, true);
    std::printf("{\"layer\":\"%s\",\"pass\":\"%s\",\"layout_gain\":%.3f,\"pays\":%s}\n", l.name, name_of(P),
                planes_ms / last_ms, cpu::nhwc_pays<lanes>(P, e) ? "true" : "false");
    std::fflush(stdout);
  }

public:
  program(int threads, bool peers, bool bf16)
      : team_(threads), peak_(bench::fma_gflops(threads)), peers_(peers), bf16_(bf16) {
    std::printf("{\"limit\":\"fma_gflops\",\"threads\":%d,\"value\":%.5g}\n", threads, peak_);
  }
  bool ok() const { return ok_; }
  void run(const layer& l) {
    const auto e = l.extents();
    const auto x = bench::random_values<float>(e.n * e.c * e.h * e.w, 1),
               w = bench::random_values<float>(e.k * (e.c / e.groups) * e.r * e.s, 2),
               y = bench::random_values<float>(e.n * e.k * e.p * e.q, 3);
    each_kernel<conv_pass::fprop>(l, x, w);
    each_kernel<conv_pass::dgrad>(l, y, w);
    each_kernel<conv_pass::wgrad>(l, x, y);
  }
};

} // namespace

int main(int argc, char** argv) {
  int threads = 1;
  bool peers = false, bf16 = false;
  std::vector<const layer*> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto* const l =
        std::find_if(std::begin(layers), std::end(layers), [&](const layer& x) { return word == x.name; });
    if (word == "--list") {
      for (const layer& x : layers) std::puts(x.name);
      return 0;
    }
    if (word == "--peers") peers = true;
    else if (word == "--bf16") bf16 = true;
    else if (word == "--threads" && i + 1 < argc) threads = std::max(1, std::atoi(argv[++i]));
    else if (l != std::end(layers)) chosen.push_back(l);
    else {
      std::fprintf(stderr,
                   "usage: bench_kernels [--list] [--threads N] [--peers] [--bf16] [NAME...]\nno layer %s\n",
                   argv[i]);
      return 2;
    }
  }
  if (chosen.empty())
    for (const layer& l : layers) chosen.push_back(&l);
  program p(threads, peers, bf16);
  for (const layer* l : chosen) p.run(*l);
  return p.ok() ? 0 : 1;
}
