// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// mark_loss_weights: which arguments are loss weights. The product of such an argument with a loss goes into a sum over
// its rows, through ops that are linear in it, as in mean(w * square(z - t)).
// Not a loss is what follows a product or convolution by linear ops alone, as z - t: w in sum(w * z) may be any vector.
// Not a loss weight is a factor that a loss reads, as the labels s of 1 and -1 in mean(log(1 + exp(-s * z))).
#pragma once
#include "../ops/all.hpp"
#include "../ops/read_facts.hpp"

namespace tapeless::detail {

class weights_of_losses {
  using set = std::uint64_t; // of arguments, a bit each
  struct role {
    bool linear = false, loss = false;   // depends on a product: by linear ops; by others
    set weight = 0;                      // zero where one of these is; depends on no product
    set weighed_linear = 0, weighed = 0; // the same, depending on a product: linearly; as a loss
    constexpr bool of_network() const { return linear || loss; }
  };
  graph& g_;
  vec<role> role_;
  vec<int> argument_; // of each bit of a set

  constexpr role of(int x) const { return x < 0 ? role{} : role_[x]; }
  static constexpr role product(const role& a, const role& b) {
    role r;
    r.loss = a.loss || b.loss || (a.linear && b.linear);
    r.linear = (a.linear || b.linear) && !r.loss;
    const set linear =
        a.weighed_linear | b.weighed_linear | (b.linear ? a.weight : 0) | (a.linear ? b.weight : 0);
    r.weighed = a.weighed | b.weighed | (b.loss ? a.weight : 0) | (a.loss ? b.weight : 0);
    if (r.loss) r.weighed |= linear;
    if (r.linear) r.weighed_linear = linear;
    if (!r.of_network()) r.weight = a.weight | b.weight;
    return r;
  }
  static constexpr role sum_of(const role& a, const role& b, bool linear) {
    role r;
    r.loss = a.loss || b.loss || (!linear && (a.linear || b.linear));
    r.linear = (a.linear || b.linear) && !r.loss;
    r.weighed = a.weighed | b.weighed;
    if (r.linear) r.weighed_linear = (a.weighed_linear | a.weight) & (b.weighed_linear | b.weight);
    return r;
  }
  // a / b, and other ops that are linear in a alone: b is no weight.
  static constexpr role quotient_of(const role& a, const role& b) {
    role r = a;
    r.loss = a.loss || b.of_network();
    r.linear = a.linear && !r.loss;
    if (r.loss) r.weighed |= a.weighed_linear | a.weight;
    if (r.of_network()) r.weight = 0;
    if (!r.linear) r.weighed_linear = 0;
    return r;
  }
  constexpr role made(int i) {
    const node& v = g_[i];
    const role a = of(v.in[0]), b = of(v.in[1]), c = of(v.in[2]);
    if (is_heavy(v.o)) return {.linear = true};
    if (v.o == op::input) {
      if (v.s.rank == 0 || v.t == dtype::boolean || argument_.size() == 64) return {};
      argument_.push_back(i);
      return {.weight = set{1} << (argument_.size() - 1)};
    }
    if (v.o == op::where) {
      role r = sum_of(b, c, false);
      if (g_.is(v.in[2], 0) && !r.loss) r.weight = b.weight;
      return r;
    }
    const bool rounds = v.o == op::cast || v.o == op::narrow,
               moves = rule(v.o).k == kind::view || rule(v.o).facts.moves;
    const bool one = v.in[1] < 0 && (moves || rule(v.o).k != kind::kernel); // a pool is a loss
    if (one && (rounds || is_linear(v, {true, false, false}))) {
      role r = a;
      if (!moves && !has_zeros_of_operand(v)) r.weight = 0; // a sum may have other zeros
      return r;
    }
    if (v.o == op::gather && g_[v.in[1]].o == op::select) return a;
    if (v.o == op::concat) {
      role r = sum_of(a, b, true);
      r.weighed_linear = r.linear ? a.weighed_linear | b.weighed_linear : 0;
      return r;
    }
    if (rule(v.o).k == kind::elementwise) {
      if (is_linear(v, {true, false, false}) && is_linear(v, {false, true, false})) return product(a, b);
      if (is_linear(v, {true, false, false})) return quotient_of(a, b);
      if (is_linear(v, {true, true, false})) return sum_of(a, b, true);
    }
    role r;
    r.loss = a.of_network() || b.of_network() || c.of_network();
    if (keeps_zero(v)) {
      if (has_zeros_of_operand(v)) r.weight = a.weight;
      r.weighed = a.weighed | a.weighed_linear;
    }
    return r;
  }

public:
  constexpr explicit weights_of_losses(graph& g) : g_(g), role_(g.size(), role{}) {}
  constexpr void mark() {
    bool any = false;
    for (int i = 0; i < g_.size(); ++i) any = any || is_heavy(g_[i].o);
    for (int i = 0; any && i < g_.size(); ++i) {
      role_[i] = made(i);
      if (g_[i].o != op::sum || g_[i].adjoint) continue; // a sum of cotangents is not a loss
      for (int k = 0; k < argument_.size(); ++k)
        if ((role_[i].weighed >> k & 1u) != 0 && end_of_group(g_[i].s, squeezed(g_[argument_[k]].s)) < 0)
          g_.nodes[argument_[k]].is_loss_weight = true;
    }
  }
};

constexpr void mark_loss_weights(graph& g) { weights_of_losses(g).mark(); }

} // namespace tapeless::detail
