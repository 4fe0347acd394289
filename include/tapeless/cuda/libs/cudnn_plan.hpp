// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// conv_plan: how cuDNN computes one form of convolution, see conv_extents and conv_pass: the first engine of its heuristics
// that rounds as it may.
#pragma once
#include <cudnn.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "../../core/geometry.hpp"
#include "../kernels/conv.hpp"
#include "check.hpp"
#include "cudnn.hpp"
#include "options.hpp"

namespace tapeless::cuda {

// Zeros before and after an axis, as cuDNN takes them: it counts the windows itself.
struct axis_padding {
  std::int64_t before = 0, after = 0;
  bool possible = false; // not, if there is room for more windows than are wanted
  constexpr axis_padding(std::int64_t extent, std::int64_t taps, std::int64_t stride, std::int64_t pad,
                         std::int64_t dilation, std::int64_t windows)
      : before(pad) {
    const std::int64_t span = (taps - 1) * dilation + 1, room = extent + pad - span;
    const auto windows_with = [&](std::int64_t more) {
      return room + more < 0 ? 0 : (room + more) / stride + 1;
    };
    after = std::max((windows - 1) * stride - room, std::int64_t{0});
    if (windows_with(pad) == windows) after = pad; // more engines take equal ones
    possible = pad >= 0 && windows_with(after) == windows;
  }
};
constexpr axis_padding padding_of_rows(const conv_extents& e) {
  return {e.h, e.r, e.stride_h, e.pad_top, e.dil_h, e.p};
}
constexpr axis_padding padding_of_columns(const conv_extents& e) {
  return {e.w, e.s, e.stride_w, e.pad_left, e.dil_w, e.q};
}
// Can cuDNN be told these?
constexpr bool cudnn_can_state(const conv_extents& e) {
  return padding_of_rows(e).possible && padding_of_columns(e).possible;
}

// Whose plans are made: the device of a handle, or one that its properties describe. A plan of the latter does not run.
class cudnn_device {
  holder<cudnnHandle_t, cudnnDestroy> handle_;
  std::optional<descriptor> properties_;

public:
  cudnn_device() { check(cudnnCreate(handle_.put()), "convolution"); }
  // json: what cuDNN gives as CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION
  explicit cudnn_device(std::string_view json) {
    properties_.emplace(descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)
                            .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json)
                            .end());
  }
  cudnnHandle_t handle() const { return handle_.get(); }
  descriptor graph() const {
    descriptor d(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (handle_) d.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, {handle()});
    return d;
  }
  descriptor heuristics() const {
    descriptor d(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    if (properties_) d.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties_);
    return d;
  }
  descriptor plan() const {
    descriptor d(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (properties_) d.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *properties_);
    else d.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, {handle()});
    return d;
  }
};

// whole      as the result, float or double
// widened    float that has been bf16: 8 bits of significand
// bf16       the result is float; channels are last, those of the weights, too
enum class conv_operands : std::uint8_t { whole, widened, bf16 };
// What a plan is for.
struct conv_key {
  conv_pass pass = conv_pass::fprop;
  conv_extents extents;
  cudnnDataType_t type = CUDNN_DATA_FLOAT; // of the result and its sums: float or double
  conv_operands operands = conv_operands::whole;
  std::int64_t alignment = 16; // of pointers
  bool operator==(const conv_key&) const = default;
};

// May an engine with these notes compute it?
class engine_filter {
  bool tensor_cores_, any_order_, winograd_on_tensor_cores_;
  std::int64_t winograd_;

public:
  engine_filter(const conv_key& k, const options& may)
      : tensor_cores_(k.type != CUDNN_DATA_FLOAT || k.operands != conv_operands::whole || may.tf32),
        any_order_(may.nondeterministic),
        winograd_on_tensor_cores_(k.type != CUDNN_DATA_FLOAT || may.tf32),
        winograd_(k.extents.winograd) {}
  bool accepts(const std::vector<cudnnBackendNumericalNote_t>& notes) const {
    const auto has = [&](cudnnBackendNumericalNote_t n) {
      return std::find(notes.begin(), notes.end(), n) != notes.end();
    };
    const bool on_tensor_cores = has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
        has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) || has(CUDNN_NUMERICAL_NOTE_FFT) ||
        (on_tensor_cores && !tensor_cores_) || (has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) && !any_order_))
      return false;
    if (!has(CUDNN_NUMERICAL_NOTE_WINOGRAD)) return true;
    // its tiles of the image: those of the result and 2 more
    const int tile = has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13) ? 13
                     : has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6) ? 4
                     : has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4) ? 2
                                                                   : 13;
    return tile <= winograd_ && (!on_tensor_cores || winograd_on_tensor_cores_);
  }
};

class conv_plan {
public:
  // The first that the heuristics offer and that may compute it, at most `most`, each with at most `room` bytes of workspace.
  static std::vector<conv_plan> make(const cudnn_device& device, const conv_key& k, const options& may,
                                     std::size_t room, std::size_t most = 1) {
    std::vector<conv_plan> made;
    const std::optional<descriptor> graph = graph_of(device, k);
    if (!graph) return made;
    const engine_filter filter(k, may);
    for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
      if (!made.empty()) break;
      if (mode == CUDNN_HEUR_MODE_B && k.operands == conv_operands::bf16) continue; // cuDNN answers as A
      descriptor heuristics = device.heuristics();
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, {mode});
      if (heuristics.try_end() != CUDNN_STATUS_SUCCESS) continue;
      for (const descriptor& config :
           heuristics.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)) {
        if (made.size() == most) break;
        auto notes = notes_of(config);
        if (!filter.accepts(notes)) continue;
        descriptor plan = device.plan();
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
        if (plan.try_end() != CUDNN_STATUS_SUCCESS) continue;
        const auto bytes = static_cast<std::size_t>(
            plan.values<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0));
        if (bytes <= room) made.push_back(conv_plan(std::move(plan), bytes, std::move(notes)));
      }
    }
    return made;
  }
  std::size_t workspace() const { return workspace_; }
  const std::vector<cudnnBackendNumericalNote_t>& notes() const { return notes_; }

  // x, w, y: image, weights and result of fprop, whichever of them the form computes
  void run(cudnnHandle_t handle, void* x, void* w, void* y, void* workspace) const {
    const descriptor pointers = descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
                                    .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {id_of_x, id_of_w, id_of_y})
                                    .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, {x, w, y})
                                    .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {workspace})
                                    .end();
    check(cudnnBackendExecute(handle, plan_.get(), pointers.get()), "convolution");
  }

private:
  static constexpr std::int64_t id_of_x = 'x', id_of_w = 'w', id_of_y = 'y', id_of_sums = 's';
  descriptor plan_;
  std::size_t workspace_;
  std::vector<cudnnBackendNumericalNote_t> notes_;

  conv_plan(descriptor plan, std::size_t workspace, std::vector<cudnnBackendNumericalNote_t> notes)
      : plan_(std::move(plan)), workspace_(workspace), notes_(std::move(notes)) {}

  static std::vector<cudnnBackendNumericalNote_t> notes_of(const descriptor& config) {
    const auto engine = config.part(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    return engine.values<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                      CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  }
  struct tensor_facts {
    std::int64_t id;
    std::array<std::int64_t, 4> extent;
    bool last; // channels, extent[1], are innermost
  };
  static descriptor tensor(const conv_key& k, cudnnDataType_t type, const tensor_facts& t,
                           bool only_passes = false) {
    const auto [n, c, h, w] = t.extent;
    descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, {type})
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w})
        .set(CUDNN_ATTR_TENSOR_STRIDES,
             {c * h * w, t.last ? 1 : h * w, t.last ? w * c : w, t.last ? c : std::int64_t{1}})
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {only_passes ? id_of_sums : t.id})
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
             {std::max(k.alignment, std::int64_t{type == CUDNN_DATA_FLOAT    ? 4
                                                 : type == CUDNN_DATA_DOUBLE ? 8
                                                                             : 2})});
    if (only_passes) d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, {true});
    return std::move(d).end();
  }
  struct names {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
  };
  static constexpr names names_of(conv_pass pass) {
    if (pass == conv_pass::fprop)
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    if (pass == conv_pass::dgrad)
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  // False, if cuDNN does not support what the descriptor says.
  static bool end_if_supported(descriptor& d) {
    const cudnnStatus_t status = d.try_end();
    if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) return false;
    check(status, "convolution");
    return true;
  }
  static descriptor convolution_of(const conv_key& k) {
    const conv_extents& e = k.extents;
    const axis_padding rows = padding_of_rows(e), columns = padding_of_columns(e);
    return descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, {k.type})
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, {CUDNN_CROSS_CORRELATION})
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {std::int64_t{2}})
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {rows.before, columns.before})
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {rows.after, columns.after})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {e.dil_h, e.dil_w})
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {e.stride_h, e.stride_w})
        .end();
  }
  // What is computed. None, if cuDNN does not support it. Float of bf16 is a graph of two operations: a convolution, and an
  // identity that writes its sums. cuDNN has no convolution alone of these types, and engines for this graph.
  static std::optional<descriptor> graph_of(const cudnn_device& device, const conv_key& k) {
    const conv_extents& e = k.extents;
    const bool of_bf16 = k.operands == conv_operands::bf16;
    const tensor_facts facts[] = {{id_of_y, {e.n, e.k, e.p, e.q}, e.nhwc},
                                  {id_of_x, {e.n, e.c, e.h, e.w}, e.nhwc},
                                  {id_of_w, {e.k, e.c / e.groups, e.r, e.s}, of_bf16}};
    const auto of = [&](conv_pass made) {
      const bool is_result = made == k.pass;
      return tensor(k, of_bf16 && !is_result ? CUDNN_DATA_BFLOAT16 : k.type, facts[static_cast<int>(made)],
                    of_bf16 && is_result);
    };
    const descriptor y = of(conv_pass::fprop), x = of(conv_pass::dgrad), w = of(conv_pass::wgrad),
                     convolution = convolution_of(k);
    const names name = names_of(k.pass);
    descriptor operation(name.operation), graph = device.graph();
    operation.set(name.x, x).set(name.w, w).set(name.y, y).set(name.convolution, convolution);
    if (k.type == CUDNN_DATA_DOUBLE) operation.set(name.alpha, {1.0}).set(name.beta, {0.0});
    else operation.set(name.alpha, {1.0f}).set(name.beta, {0.0f});
    if (!end_if_supported(operation)) return std::nullopt;
    if (!of_bf16) graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    else {
      const descriptor identity = descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
                                      .set(CUDNN_ATTR_POINTWISE_MODE, {CUDNN_POINTWISE_IDENTITY})
                                      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, {k.type})
                                      .end(),
                       result = tensor(k, k.type, facts[static_cast<int>(k.pass)]);
      descriptor writes(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
      writes.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, identity)
          .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, k.pass == conv_pass::fprop   ? y
                                                     : k.pass == conv_pass::dgrad ? x
                                                                                  : w)
          .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
      if (!end_if_supported(writes)) return std::nullopt;
      graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation, writes);
    }
    if (!end_if_supported(graph)) return std::nullopt;
    return graph;
  }
};

} // namespace tapeless::cuda
