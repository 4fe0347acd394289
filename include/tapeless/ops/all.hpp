// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The list of ops: one include and one `t.add(...)` for each file.
// The set is closed under vjp: whatever a rule gives is written with ops of this list.
#pragma once
#include <cstddef>
// IWYU pragma: begin_exports
#include "activations.hpp"
#include "along_axis.hpp"
#include "arrange.hpp"
#include "bf16.hpp"
#include "conv.hpp"
#include "conv_bias.hpp"
#include "conv_nd.hpp"
#include "conv_transpose.hpp"
#include "custom.hpp"
#include "einsum.hpp"
#include "functions.hpp"
#include "grid.hpp"
#include "integer.hpp"
#include "keep.hpp"
#include "log_space.hpp"
#include "loss.hpp"
#include "masked.hpp"
#include "matmul.hpp"
#include "misplaced.hpp"
#include "norm.hpp"
#include "pointwise_loss.hpp"
#include "pool.hpp"
#include "reduce.hpp"
#include "scan.hpp"
#include "select.hpp"
#include "sparse.hpp"
#include "sparse_arithmetic.hpp"
#include "sparse_dense.hpp"
#include "sparse_solve.hpp"
#include "spgemm.hpp"
#include "spmm.hpp"
#include "unfold.hpp"
#include "vector_norm.hpp"
// IWYU pragma: end_exports

namespace tapeless::detail {

struct rule_table {
  op_rule row[op_count]{};
  int added = 0;
  // The rules of a family, so many bytes: a template over their number would be one instantiation a family.
  constexpr void add(const op_rule* family, std::size_t bytes) {
    for (const op_rule* r = family; r != family + bytes / sizeof(op_rule); ++r, ++added)
      row[static_cast<int>(r->o)] = *r;
  }
};
inline constexpr rule_table rules = [] {
  rule_table t;
  t.add(index_rules, sizeof index_rules);
  t.add(select_rules, sizeof select_rules);
  t.add(elementwise_rules, sizeof elementwise_rules);
  t.add(function_rules, sizeof function_rules);
  t.add(integer_rules, sizeof integer_rules);
  t.add(bf16_rules, sizeof bf16_rules);
  t.add(shape_rules, sizeof shape_rules);
  t.add(reduce_rules, sizeof reduce_rules);
  t.add(scan_rules, sizeof scan_rules);
  t.add(along_axis_rules, sizeof along_axis_rules);
  t.add(norm_rules, sizeof norm_rules);
  t.add(matmul_rules, sizeof matmul_rules);
  t.add(conv_rules, sizeof conv_rules);
  t.add(unfold_rules, sizeof unfold_rules);
  t.add(pool_rules, sizeof pool_rules);
  t.add(sparse_rules, sizeof sparse_rules);
  t.add(sparse_solve_rules, sizeof sparse_solve_rules);
  t.add(spgemm_rules, sizeof spgemm_rules);
  t.add(sparse_dense_rules, sizeof sparse_dense_rules);
  t.add(custom_rules, sizeof custom_rules);
  return t;
}();
static_assert(
    [] {
      for (int i = 0; i < op_count; ++i)
        if (rules.row[i].o != static_cast<op>(i)) return false;
      return rules.added == op_count;
    }(),
    "tapeless: every op has one rule");

constexpr const op_rule& rule(op o) { return rules.row[static_cast<int>(o)]; }

} // namespace tapeless::detail
