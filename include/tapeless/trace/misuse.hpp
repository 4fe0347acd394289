// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// report<trace, a, b>(): the rule that an op on vars broke, as the first line of the compile error, as it is for typed
// handles; a and b are the shapes that broke it. A static_assert takes a literal only, hence the list: every sentence
// of a require(graph, ...). One that is missing here stands in the notes of the error that follows: the trace is
// repeated and stops at the user's line.
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
#define TAPELESS_RULE(sentence) \
  static_assert(holds_for_these_shapes<differ(Trace::size.broken.rule, sentence), A, B>, sentence)

template <class Trace, shape A, shape B> constexpr void report() {
  TAPELESS_RULE("tapeless: elementwise op(a, b): the operands belong to one trace");
  TAPELESS_RULE("tapeless: var.as<T, extents...>(): the element type is T");
  TAPELESS_RULE("tapeless: var.as<T, extents...>(): the extents are these");
  TAPELESS_RULE("tapeless: elementwise op(a, b): the shapes broadcast");
  TAPELESS_RULE("tapeless: elementwise op(a, b): both have one element type");
  TAPELESS_RULE("tapeless: cast<T>(a): float and double do not mix in one program");
  TAPELESS_RULE("tapeless: where(c, a, b): c is a bool tensor");
  TAPELESS_RULE("tapeless: where(c, a, b): the shapes broadcast");
  TAPELESS_RULE("tapeless: reshape<extents...>(a): the number of elements stays");
  TAPELESS_RULE("tapeless: transpose(a): a has at least two axes");
  TAPELESS_RULE("tapeless: transpose<axes...>(a): the axes are a permutation of a's");
  TAPELESS_RULE("tapeless: slice<axis, begin, end>(a): the axis exists");
  TAPELESS_RULE("tapeless: slice<axis, begin, end>(a): the extent of the axis is static");
  TAPELESS_RULE("tapeless: slice<axis, begin, end>(a): 0 <= begin <= end <= extent");
  TAPELESS_RULE("tapeless: pad<axis, before, after>(a): the axis exists");
  TAPELESS_RULE("tapeless: pad<axis, before, after>(a): the extent of the axis is static");
  TAPELESS_RULE("tapeless: concat<axis>(a, b): all other extents agree, the axis is static, one element type");
  TAPELESS_RULE("tapeless: broadcast_to<extents...>(a): a's shape broadcasts to it");
  TAPELESS_RULE("tapeless: channel(b): b has one axis");
  TAPELESS_RULE("tapeless: gather<axis>(x, index): index is int32");
  TAPELESS_RULE("tapeless: gather<axis>(x, index): the axis exists");
  TAPELESS_RULE("tapeless: scatter_add<axis, n>(index, d): index is int32");
  TAPELESS_RULE("tapeless: scatter_add<axis, n>(index, d): d has index's shape at the axis");
  TAPELESS_RULE("tapeless: reduction<axes...>(a): the element type is float or double");
  TAPELESS_RULE("tapeless: reduction<axes...>(a): the axes exist");
  TAPELESS_RULE("tapeless: matmul(a, b): a and b have at least one axis");
  TAPELESS_RULE("tapeless: matmul(a, b): both are float or both are double");
  TAPELESS_RULE("tapeless: matmul(a, b): the inner extents agree");
  TAPELESS_RULE("tapeless: matmul(a, b): the batch axes broadcast");
  TAPELESS_RULE("tapeless: conv2d<conv>(x, w): x is (N, C, H, W), w is (K, C/groups, R, S)");
  TAPELESS_RULE("tapeless: conv2d<conv>(x, w): both are float or both are double");
  TAPELESS_RULE("tapeless: conv2d<conv>(x, w): the channels of x are groups times those of w");
  TAPELESS_RULE("tapeless: conv2d<conv>(x, w): groups divides the filters of w");
  TAPELESS_RULE("tapeless: conv2d<conv>(x, w): the image extents are static");
  TAPELESS_RULE("tapeless: conv2d<conv>(x, w): the kernel fits into the padded image");
  TAPELESS_RULE("tapeless: pool2d<pool>(x): x is (N, C, H, W) of float or double");
  TAPELESS_RULE("tapeless: pool2d<pool>(x): the image extents are static");
  TAPELESS_RULE("tapeless: pool2d<pool>(x): the kernel fits into the padded image");
  TAPELESS_RULE("tapeless: pool2d<pool>(x): the padding is smaller than the kernel");
  TAPELESS_RULE("tapeless: softmax_cross_entropy(logits, label): one label for each row of logits");
  TAPELESS_RULE("tapeless: softmax_cross_entropy(logits, label): label is int32");
  TAPELESS_RULE("tapeless: softmax<axis>(a): the axis exists");
  TAPELESS_RULE("tapeless: custom<op>(x...): the element type is float or double");
  TAPELESS_RULE("tapeless: grad<i...>(f): f returns a scalar; reduce it with sum or mean");
  constexpr int stops_at_the_broken_rule = Trace::repeat();
  static_cast<void>(stops_at_the_broken_rule);
}

#undef TAPELESS_RULE
// clang-format on

} // namespace tapeless::detail
