// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// report<trace, a, b>(): makes the rule that an op on vars broke the first line of the compile error, as for typed
// handles; a and b are the shapes that broke it. A static_assert takes only a literal, hence this list: every sentence
// of a require(graph, ...). tests/trace/misuse.cpp breaks each rule and compares. A sentence that is missing here
// appears in the notes of the next error: the trace is repeated and stops at the user's line.
#pragma once
#include "../core/shape.hpp"

namespace tapeless::detail {

constexpr bool differ(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a != *b;
}

template <bool Holds, shape A, shape B>
concept holds_for_these_shapes = Holds;

// clang-format off
#define TAPELESS_RULES(rule) \
  rule("tapeless: elementwise op(a, b): the operands belong to one trace") \
  rule("tapeless: a tensor has at most 2^39 elements and four named extents, intermediate results too") \
  rule("tapeless: a named extent is that of an argument") \
  rule("tapeless: norm<axes...>(a, p): p is above 0") \
  rule("tapeless: expand_dims<axis>(a): the result has the axis, and at most 6") \
  rule("tapeless: squeeze<axis>(a): the axis exists and has the extent 1") \
  rule("tapeless: split<axis, n>(a): the axis exists and is static, and n divides it") \
  rule("tapeless: tile<axis, n>(a): the axis exists, and a has at most 5") \
  rule("tapeless: repeat<axis, n>(a): the axis exists, and a has at most 5") \
  rule("tapeless: roll<axis, shift>(a): the axis exists and is static") \
  rule("tapeless: slice<axis, begin, end, step>(a): the axis exists and is static, a has at most 5; 0 <= begin <= end <= extent, or, of a step below 0, -1 <= end <= begin < extent") \
  rule("tapeless: pad<axis, before, after>(a, mode): the axis exists and is static, and is long enough for the border") \
  rule("tapeless: pad<axis, before, after>(a, tl::fill_value(v)): a is float or double, or int32 and v an integer; cast a first") \
  rule("tapeless: tril<k>(a), triu<k>(a): a has at least two axes") \
  rule("tapeless: diagonal<k>(a), trace<k>(a): a has two axes that it crosses; they are static, or k is 0 and they are equal") \
  rule("tapeless: eye_like(a): a has at least two axes") \
  rule("tapeless: one_hot<T, n>(label): label is int32, as cast<std::int32_t>(label) is") \
  rule("tapeless: one_hot<T, n>(label): label has at most 5 axes") \
  rule("tapeless: outer(a, b), meshgrid(a, b): both have one axis") \
  rule("tapeless: adam_update(p, gradient, state, options): beta1 and beta2 lie in [0, 1)") \
  rule("tapeless: sgd_update(p, gradient, state, rate, options): momentum lies in [0, 1)") \
  rule("tapeless: x.extent(axis), x.size(): a named extent has no value while tracing; use tl::mean, or pass the number as an argument") \
  rule("tapeless: x[i]: a tensor has no elements while tracing; tl::at<axis>(x, i) is traced") \
  rule("tapeless: jit(f): at most four named extents in one program") \
  rule("tapeless: op(a): bf16, uint8 and int64 are for storage; cast<float>(a) first, or cast<std::int32_t>(a) of integers") \
  rule("tapeless: selection: its name is no extent of an argument") \
  rule("tapeless: selection: at most eight names of selections in one program") \
  rule("tapeless: selection: its name is that of no other selection") \
  rule("tapeless: a selection as an index: it is of at most as many values as the axis has") \
  rule("tapeless: var.as<T, extents...>(): the element type is T") \
  rule("tapeless: var.as<T, extents...>(): the extents are these") \
  rule("tapeless: elementwise op(a, b): the shapes broadcast") \
  rule("tapeless: elementwise op(a, b): the shapes broadcast; the bias of the channels of images is tl::channel(b)") \
  rule("tapeless: elementwise op(a, b): both have one element type; cast one first") \
  rule("tapeless: elementwise op(a, b): a floating-point number does not meet an int32 or bool tensor; cast the tensor") \
  rule("tapeless: elementwise op(a, b): a number beside an int32 tensor is an int32") \
  rule("tapeless: arithmetic op(a, b): the element type is float, double or int32; cast a mask first") \
  rule("tapeless: arithmetic op(a): the element type is float, double or int32; cast a mask first") \
  rule("tapeless: real op(a, b): the element type is float or double; cast both first") \
  rule("tapeless: real op(a): the element type is float or double; cast<float>(a) first") \
  rule("tapeless: integer op(a, b): the element type is int32; a % b of real numbers is fmod or remainder, a & b of masks a && b") \
  rule("tapeless: ~a: the element type is int32; of a mask it is !a; cast<std::int32_t>(a) real numbers first") \
  rule("tapeless: logical op(a, b): the element type is bool") \
  rule("tapeless: logical op(a): the element type is bool") \
  rule("tapeless: cast<T>(a): bf16 stores a float: cast to float first") \
  rule("tapeless: where(c, a, b): c is a bool tensor") \
  rule("tapeless: where(c, a, b): the shapes broadcast") \
  rule("tapeless: reshape<extents...>(a): the number of elements stays") \
  rule("tapeless: transpose(a): a has at least two axes") \
  rule("tapeless: transpose<axes...>(a): the axes are a permutation of a's") \
  rule("tapeless: slice<axis, begin, end>(a): the axis exists") \
  rule("tapeless: slice<axis, begin, end>(a): the extent of the axis is static") \
  rule("tapeless: slice<axis, begin, end>(a): 0 <= begin <= end <= extent") \
  rule("tapeless: slice<axis, length>(a, start), at<axis>(a, i): the axis exists") \
  rule("tapeless: slice<axis, length>(a, start), at<axis>(a, i): the extent of the axis is static") \
  rule("tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= length <= extent") \
  rule("tapeless: slice<axis, length>(a, start), at<axis>(a, i): 0 <= start <= extent - length, 0 <= i < extent") \
  rule("tapeless: pad<axis, before, after>(a): the axis exists") \
  rule("tapeless: pad<axis, before, after>(a): the extent of the axis is static") \
  rule("tapeless: concat<axis>(a, b): all other extents agree, the axis is static, one element type") \
  rule("tapeless: flip<axis>(a): the axis exists") \
  rule("tapeless: broadcast_to<extents...>(a): a's shape broadcasts to it") \
  rule("tapeless: channel(b): b has one axis") \
  rule("tapeless: iota<axis>(a): the axis exists") \
  rule("tapeless: argmax<axes...>(a): the axes exist") \
  rule("tapeless: argmax<axes...>(a): no axis is named twice") \
  rule("tapeless: argmax<axes...>(a): the axes are not empty") \
  rule("tapeless: cumsum<axis>(a): the axis exists") \
  rule("tapeless: cumsum<axis>(a): the element type is float, double or int32") \
  rule("tapeless: running op<axis>(a): the axis exists") \
  rule("tapeless: running op<axis>(a): the element type is float or double; cast<float>(a) first") \
  rule("tapeless: linear_scan<axis>(a, b): the shapes broadcast") \
  rule("tapeless: linear_scan<axis>(a, b): both are float, or both are double") \
  rule("tapeless: linear_scan<axis>(a, b): the axis exists") \
  rule("tapeless: take_along_axis<axis>(a, index): index is int32, as cast<std::int32_t>(index) is") \
  rule("tapeless: take_along_axis<axis>(a, index): the axis exists, and index has a's rank and, beside the axis, its extents or 1") \
  rule("tapeless: take_along_axis<axis>(a, index): the axis is not empty where index is not") \
  rule("tapeless: take_along_axis<axis>(a, index): a has less than 2^31 elements") \
  rule("tapeless: scatter_add_along_axis, .._max_.., .._min_..: index is int32, as cast<std::int32_t>(index) is") \
  rule("tapeless: scatter_add_along_axis, .._max_.., .._min_..: a and d have one element type: float, double or int32") \
  rule("tapeless: scatter_add_along_axis, .._max_.., .._min_..: the axis exists, and index has a's rank and, beside the axis, its extents or 1") \
  rule("tapeless: scatter_add_along_axis, .._max_.., .._min_..: d has an element for each index, or is repeated") \
  rule("tapeless: scatter_add_along_axis, .._max_.., .._min_..: the axis is not empty where index is not") \
  rule("tapeless: scatter_add_along_axis, .._max_.., .._min_..: a has less than 2^31 elements") \
  rule("tapeless: gather<axis>(x, index): index is int32, as cast<std::int32_t>(index) is; of a mask, where<'k'>(mask)") \
  rule("tapeless: gather<axis>(x, index): the axis exists") \
  rule("tapeless: gather<axis>(x, index): the result has at most 6 axes") \
  rule("tapeless: gather<axis>(x, index): the axis is not empty where index is not") \
  rule("tapeless: scatter_add<axis, n>(index, d): index is int32, as cast<std::int32_t>(index) is") \
  rule("tapeless: scatter_add<axis, n>(index, d): d has index's shape at the axis") \
  rule("tapeless: scatter_add<axis, n>(index, d): the result has at most 6 axes") \
  rule("tapeless: scatter_add<axis, n>(index, d): n is at least 1 where index is not empty") \
  rule("tapeless: reduction<axes...>(a): the element type is float or double; of a mask or int32 it is that of cast<float>(a)") \
  rule("tapeless: reduction<axes...>(a): the axes exist") \
  rule("tapeless: reduction<axes...>(a): no axis is named twice") \
  rule("tapeless: max<axes...>(a), min<axes...>(a), logsumexp<axes...>(a): the axes are not empty") \
  rule("tapeless: any<axes...>(a), all<axes...>(a): the element type is bool") \
  rule("tapeless: op(a, over(mask)): the mask is bool") \
  rule("tapeless: op(a, over(mask)): the mask's shape broadcasts to a's") \
  rule("tapeless: matmul(a, b): a and b have at least one axis") \
  rule("tapeless: matmul(a, b): both are float, both are double or both are bf16") \
  rule("tapeless: matmul(a, b): both are float or both are double") \
  rule("tapeless: matmul(a, b): the inner extents agree") \
  rule("tapeless: matmul(a, b): the inner extents agree; images (n, c, h, w) are rows (n, c h w) by tl::flatten(a), one image is tl::reshape<extents...>(a)") \
  rule("tapeless: matmul(a, b): the batch axes broadcast") \
  rule("tapeless: einsum<subscripts>(a, ...): all are float or all are double") \
  rule("tapeless: einsum<subscripts>(a, ...): each operand has an axis for each of its letters") \
  rule("tapeless: einsum<subscripts>(a, ...): a letter stands for one extent") \
  rule("tapeless: einsum<subscripts>(a, ...): a product of the first operands has at most 6 axes") \
  rule("tapeless: matmul(a, b), a sparse: b is (n) or (n, k), n the columns of a") \
  rule("tapeless: matmul(a, b), b sparse: a is (m) or (k, m), m the rows of b") \
  rule("tapeless: sparse op(a, b): the operands belong to one trace") \
  rule("tapeless: sparse op(a, b): both have one pattern, as a and a.with(values) have") \
  rule("tapeless: sparse op(a, s): s is a number, a scalar or a matrix with the extents of a; A x is matmul(a, x), rows and columns have scale_rows and scale_columns") \
  rule("tapeless: sampled_matmul(a, l, r): a is (m, n), l is (m) or (m, k), r is (n) or (n, k)") \
  rule("tapeless: sampled_matmul(a, l, r): all are float or all are double") \
  rule("tapeless: scale_rows(s, a): s is (m), m the rows of a") \
  rule("tapeless: scale_columns(a, s): s is (n), n the columns of a") \
  rule("tapeless: scaling(s, a): both are float or both are double") \
  rule("tapeless: solve_triangular(a, b): b is (n) or (n, k), n the rows of a") \
  rule("tapeless: solve_triangular(a, b): both are float or both are double") \
  rule("tapeless: conv2d<conv>(x, w): x is (N, C, H, W), w is (K, C/groups, R, S)") \
  rule("tapeless: convolution(x, w): both are float, both are double or both are bf16") \
  rule("tapeless: convolution(x, w): the kernel extents are static and at least 1") \
  rule("tapeless: convolution(x, w): the channels and filters are static and at least 1") \
  rule("tapeless: convolution(x, w): the channels of x are groups times those of w") \
  rule("tapeless: convolution(x, w): groups divides the filters of w") \
  rule("tapeless: convolution(x, w): the image extents are static and at least 1") \
  rule("tapeless: convolution(x, w): the padding that same stands for is at most 255") \
  rule("tapeless: convolution(x, w): the kernel fits into the padded image") \
  rule("tapeless: convolution(x, w, b): b has one axis, of the channels of the result") \
  rule("tapeless: convolution(x, w, b): b has the element type of the result") \
  rule("tapeless: keep<axis, mask>(a): the axis exists") \
  rule("tapeless: keep<axis, mask>(a): the mask has the extent of the axis") \
  rule("tapeless: layout::nhwc: x is (N, H, W, C)") \
  rule("tapeless: conv1d<conv1>(x, w): x is (N, C, L), w is (K, C/groups, R)") \
  rule("tapeless: conv3d<conv3>(x, w): x is (N, C, D, H, W), w is (K, C/groups, T, R, S)") \
  rule("tapeless: convolution(x, w): the depths of x and w are static and at least 1") \
  rule("tapeless: conv_transpose2d<conv_transpose>(x, w): x is (N, K, P, Q), w is (K, C/groups, R, S)") \
  rule("tapeless: conv_transpose1d<conv_transpose1>(x, w): x is (N, K, P), w is (K, C/groups, R)") \
  rule("tapeless: conv_transpose3d<conv_transpose3>(x, w): x is (N, K, D', P, Q), w is (K, C/groups, T, R, S)") \
  rule("tapeless: transposed convolution(x, w): the channels of x are the filters of w") \
  rule("tapeless: transposed convolution(x, w): the padding leaves an image") \
  rule("tapeless: pool2d<pool>(x): x is (N, C, H, W) of float or double") \
  rule("tapeless: pool2d<pool>(x): the image extents are static and at least 1") \
  rule("tapeless: pool2d<pool>(x): the padding that same stands for is at most 255") \
  rule("tapeless: pool2d<pool>(x): the kernel fits into the padded image") \
  rule("tapeless: pool2d<pool>(x): the padding is smaller than the kernel") \
  rule("tapeless: softmax_cross_entropy(logits, label): one label for each row of logits") \
  rule("tapeless: softmax_cross_entropy(logits, label): logits are float or double") \
  rule("tapeless: softmax_cross_entropy(logits, label): label is int32, as cast<std::int32_t>(label) is") \
  rule("tapeless: softmax_cross_entropy<label>(logits, probabilities): a label to ignore is one of int32 labels; weigh the rows instead") \
  rule("tapeless: softmax_cross_entropy(logits, probabilities): they have the shape and the element type of the logits") \
  rule("tapeless: class_weights(w): w is (classes), of the element type of the logits") \
  rule("tapeless: label_smoothing(e): 0 <= e <= 1") \
  rule("tapeless: softmax<axis>(a): the axis exists") \
  rule("tapeless: softmax<axis>(a): the element type is float or double") \
  rule("tapeless: custom<op>(x...): the element type is float or double") \
  rule("tapeless: custom<op>(x...): the operands have one element type") \
  rule("tapeless: custom<op>(x...): the shapes broadcast") \
  rule("tapeless: custom<op>(x...): a cotangent of vjp has its operand's element type and shape") \
  rule("tapeless: custom<op>(x...): the tangent of jvp has the result's element type and shape") \
  rule("tapeless: loss(prediction, target): the shapes agree") \
  rule("tapeless: positive_weight(w): w broadcasts to the shape of the prediction") \
  rule("tapeless: normalisation(x, gamma, beta): all are float, or all are double") \
  rule("tapeless: batch_norm(x, gamma, beta): x is (N, C, ...)") \
  rule("tapeless: batch_norm(x, gamma, beta): gamma, beta, mean and variance are (C)") \
  rule("tapeless: instance_norm(x, gamma, beta): x is (N, C, L, ...)") \
  rule("tapeless: instance_norm(x, gamma, beta): gamma and beta are (C)") \
  rule("tapeless: group_norm<groups>(x, gamma, beta): x is (N, C, ...), groups divides the static extent C") \
  rule("tapeless: group_norm<groups>(x, gamma, beta): gamma and beta are (C)") \
  rule("tapeless: layer_norm<k>(x, gamma, beta): x has at least k axes, and k is at least 1") \
  rule("tapeless: layer_norm<k>(x, gamma, beta): gamma and beta have the extents of the last k axes") \
  rule("tapeless: rms_norm<k>(x, gamma): x has at least k axes, and k is at least 1") \
  rule("tapeless: rms_norm<k>(x, gamma): gamma has the extents of the last k axes") \
  rule("tapeless: grad<i...>(f): f returns a scalar; reduce it with sum or mean") \
  rule("tapeless: grad<i>(f): every leaf of argument i is float or double; integers and bool have no tangent") \
  rule("tapeless: grad<i>(f): bf16 has no tangent: argument i is float, and f casts it to bf16") \
  rule("tapeless: vjp<i...>(f)(x..., y_bar): y_bar has the type of f's result") \
  rule("tapeless: jvp<i...>(f)(x..., x_dot...): a tangent has the type of its argument")

#define TAPELESS_REPORT(sentence) \
  static_assert(holds_for_these_shapes<differ(Trace::broken.rule, sentence), A, B>, sentence);
#define TAPELESS_SENTENCE(sentence) sentence,

template <class Trace, shape A, shape B> constexpr void report() {
  TAPELESS_RULES(TAPELESS_REPORT)
  constexpr int stops_at_the_broken_rule = Trace::repeat();
  static_cast<void>(stops_at_the_broken_rule);
}
inline constexpr const char* reported_rules[] = {TAPELESS_RULES(TAPELESS_SENTENCE)};

#undef TAPELESS_RULES
#undef TAPELESS_REPORT
#undef TAPELESS_SENTENCE
// clang-format on

} // namespace tapeless::detail
