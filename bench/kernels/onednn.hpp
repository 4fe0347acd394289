#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The passes of a convolution in oneDNN (Debian's libdnnl-dev, interface of version 2).

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tapeless/core/geometry.hpp>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace bench {

// give(pass, peer, run) for each pass; peer: "onednn-user", NCHW and its reorders, "onednn-own", none of them,
// "onednn-nhwc", channels-last tensors and none.
template <class Give>
void onednn(const tapeless::conv_extents& e, [[maybe_unused]] int threads, const Give& give) {
  using namespace dnnl;
  using tag = memory::format_tag;
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
  static const engine cpu(engine::kind::cpu, 0);
  static stream queue(cpu);
  const auto type = memory::data_type::f32;
  const auto pad_end = [](auto out, auto stride, auto span, auto in, auto begin) {
    return (out - 1) * stride + span - in - begin;
  };
  const memory::dims x{e.n, e.c, e.h, e.w}, y{e.n, e.k, e.p, e.q}, stride{e.stride_h, e.stride_w},
      dilation{e.dil_h - 1, e.dil_w - 1}, begin{e.pad_top, e.pad_left},
      end{pad_end(e.p, e.stride_h, (e.r - 1) * e.dil_h + 1, e.h, e.pad_top),
          pad_end(e.q, e.stride_w, (e.s - 1) * e.dil_w + 1, e.w, e.pad_left)};
  const memory::dims w = e.groups == 1 ? memory::dims{e.k, e.c, e.r, e.s}
                                       : memory::dims{e.groups, e.k / e.groups, e.c / e.groups, e.r, e.s};
  const memory::desc x_user(x, type, tag::nchw), y_user(y, type, tag::nchw),
      w_user(w, type, e.groups == 1 ? tag::oihw : tag::goihw), w_any(w, type, tag::any);
  struct passes {
    convolution_forward::primitive_desc fprop;
    convolution_backward_data::primitive_desc dgrad;
    convolution_backward_weights::primitive_desc wgrad;
  };
  const auto passes_on = [&](tag layout) {
    const memory::desc xs(x, type, layout), ys(y, type, layout);
    const convolution_forward::primitive_desc fprop(
        {prop_kind::forward_training, algorithm::convolution_direct, xs, w_any, ys, stride, dilation, begin,
         end},
        cpu);
    return passes{fprop,
                  {{algorithm::convolution_direct, xs, w_any, ys, stride, dilation, begin, end}, cpu, fprop},
                  {{algorithm::convolution_direct, xs, w_any, ys, stride, dilation, begin, end}, cpu, fprop}};
  };

  using arguments = std::unordered_map<int, memory>;
  struct operand {
    int slot;
    memory::desc own, user;
  };
  const auto run = [&](const char* pass, bool last, const primitive& p, const operand& a, const operand& b,
                       const operand& result) {
    for (const bool reorders : {true, false}) {
      if (reorders && last) continue;
      arguments all;
      std::vector<std::pair<primitive, arguments>> steps;
      const auto filled = [&](const memory::desc& d) {
        memory m(d, cpu);
        std::fill_n(static_cast<float*>(m.get_data_handle()), d.get_size() / sizeof(float), 0.5f);
        return m;
      };
      for (const operand& o : {a, b}) {
        all[o.slot] = filled(o.own);
        if (!reorders || o.own == o.user) continue;
        memory from = filled(o.user);
        steps.push_back({reorder(from, all[o.slot]), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, all[o.slot]}}});
      }
      all[result.slot] = filled(result.own);
      steps.push_back({p, all});
      if (reorders && result.own != result.user) {
        memory to = filled(result.user);
        steps.push_back(
            {reorder(all[result.slot], to), {{DNNL_ARG_FROM, all[result.slot]}, {DNNL_ARG_TO, to}}});
      }
      give(pass,
           reorders ? "onednn-user"
           : last   ? "onednn-nhwc"
                    : "onednn-own",
           [steps] {
             for (const auto& [step, with] : steps) step.execute(queue, with);
             queue.wait();
           });
    }
  };
  for (const bool last : {false, true}) {
    const auto [fprop, dgrad, wgrad] = passes_on(last ? tag::nhwc : tag::any);
    run("fprop", last, convolution_forward(fprop), {DNNL_ARG_SRC, fprop.src_desc(), x_user},
        {DNNL_ARG_WEIGHTS, fprop.weights_desc(), w_user}, {DNNL_ARG_DST, fprop.dst_desc(), y_user});
    run("dgrad", last, convolution_backward_data(dgrad), {DNNL_ARG_DIFF_DST, dgrad.diff_dst_desc(), y_user},
        {DNNL_ARG_WEIGHTS, dgrad.weights_desc(), w_user}, {DNNL_ARG_DIFF_SRC, dgrad.diff_src_desc(), x_user});
    run("wgrad", last, convolution_backward_weights(wgrad), {DNNL_ARG_SRC, wgrad.src_desc(), x_user},
        {DNNL_ARG_DIFF_DST, wgrad.diff_dst_desc(), y_user},
        {DNNL_ARG_DIFF_WEIGHTS, wgrad.diff_weights_desc(), w_user});
  }
}

} // namespace bench
