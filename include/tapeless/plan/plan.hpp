// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// make_plan: from a program to its plan. Groups become steps in their order; a buffer gets its place in the arena
// when its step comes, and gives it back after the last step that reads it.
#pragma once
#include "rows.hpp"
#include "strips.hpp"

namespace tapeless::detail {

template <int N, int O> class planner {
  const program<N, O>& p_;
  using roomy_plan = plan<most_of_plan(N, O)>;
  roomy_plan r_{};
  grouping g_;
  arena_layout arena_;
  vec<location> home_{N, location{}};
  vec<int> reg_{N, no_node}, made_in_{N, no_node}; // its register in the group that computed it last
  vec<int> member_, first_;                        // nodes of each group, in order

  constexpr const node& at(int i) const { return p_.nodes[i]; }
  // Per unit of a named extent the widest element's alignment is enough: no space is lost between rows.
  static constexpr extent_t bytes_of(const node& v, extent_t copies = 1) {
    const extent_t n = numel(v.s), bytes = copies * coefficient(n) * size_of(v.t);
    return is_static(n) ? aligned(bytes) : (bytes + 7) / 8 * 8;
  }

  constexpr location allocate(extent_t names, extent_t bytes, int last) {
    const int part = arena_.part_of(names);
    return {place::arena, part, arena_.take(part, bytes, last)};
  }
  constexpr location allocate(const node& v, int last) {
    return allocate(names(numel(v.s)), bytes_of(v), last);
  }

  constexpr cost_part& part_of(bool adjoint) { return adjoint ? r_.cost.adjoint : r_.cost.primal; }
  constexpr void count_bytes(bool adjoint, const shape& x, dtype t) {
    const count c(static_cast<double>(size_of(t)), x);
    part_of(adjoint).bytes.add(c.c, c.names);
  }
  constexpr void count_flops(int i, bool adjoint) {
    const node& v = at(i);
    shape x[3]{};
    for (int k = 0; k < 3; ++k)
      if (v.in[k] >= 0) x[k] = at(v.in[k]).s;
    const count c = rule(v.o).flops(v, x);
    part_of(adjoint).flops.add(c.c, c.names);
  }

  constexpr void order_members() {
    const int groups = g_.groups.size();
    first_ = vec<int>(groups + 1, 0);
    int count = 0;
    for (int i = 0; i < N; ++i)
      if (g_.of[i] >= 0) {
        ++first_[g_.of[i] + 1];
        ++count;
      }
    for (int k = 0; k < groups; ++k) first_[k + 1] += first_[k];
    member_ = vec<int>(count, 0);
    vec<int> next = first_;
    for (int i = 0; i < N; ++i)
      if (g_.of[i] >= 0) member_[next[g_.of[i]]++] = i;
  }

  // scatter_add(d, S) + base where base is: nothing reads that after it.
  vec<int> in_place_; // node -> its base; empty where there is none
  constexpr void find_in_place() {
    for (int i = N - 1; i >= 0; --i) {
      const node& v = at(i);
      if (v.o != op::scatter_add || v.in[2] < 0) continue;
      const int base = g_.root[v.in[2]];
      if (at(base).o == op::input || g_.stored[base] == 0 || g_.last[base] != g_.of[i] ||
          g_.root[v.in[0]] == base || g_.loaded[base] != g_.loaded[i] || !(numel(at(base).s) == numel(v.s)))
        continue;
      if (in_place_.empty()) in_place_ = vec<int>(N, no_node);
      in_place_[i] = base;
      g_.last[base] = g_.last[i];
    }
  }
  constexpr bool is_in_place(int i) const { return !in_place_.empty() && in_place_[i] >= 0; }

  constexpr void place_arguments_and_results() {
    for (int i = 0; i < N; ++i)
      if (at(i).o == op::input) home_[i] = {place::input, static_cast<int>(at(i).attr)};
    for (int k = 0; k < O; ++k) {
      const int i = p_.outputs[k];
      slot& s = r_.result[k];
      s.t = at(i).t;
      s.s = at(i).s;
      if (is_pattern_leaf(at(i))) {
        s.at = home_[i];
        continue;
      }
      s.at = allocate(at(i), g_.groups.size());
      home_[i] = {place::result, k};
    }
    for (int i = N - 1; i >= 0 && !in_place_.empty(); --i)
      if (is_in_place(i) && home_[i].where == place::result) home_[in_place_[i]] = home_[i];
  }

  // What runs read and only a load writes has a place of its own.
  constexpr void place_loaded() {
    const auto keep_operands = [&](int i) {
      for (const int x : at(i).in) {
        const int root = x < 0 ? no_node : g_.root[x];
        if (root >= 0 && g_.loaded[root] != 0 && g_.stored[root] != 0 && home_[root].where == place::none)
          home_[root] = allocate(at(root), g_.groups.size());
      }
    };
    for (int i = 0; i < N; ++i)
      if (g_.of[i] >= 0 && !g_.groups[g_.of[i]].loaded) keep_operands(i);
    for (const grouping::recomputed& r : g_.again)
      if (!g_.groups[r.group].loaded) keep_operands(r.node);
  }

  constexpr bool is_counted(extent_t e) const { // by a selection
    for (int i = 0; i < N; ++i)
      if (detail::is_counted(at(i)) && has_name_of(e, at(i).s.d[0])) return true;
    return false;
  }
  constexpr void find_checks() {
    for (int i = 0; i < N; ++i) {
      const node& v = at(i);
      if (v.o == op::checked_index)
        r_.check[r_.checks++] = {static_cast<int>(at(v.in[0]).attr), static_cast<extent_t>(v.attr),
                                 static_cast<extent_t>(v.attr2)};
      if (v.o == op::max_reduce || v.o == op::argmax) {
        const extent_t n = count_of(at(v.in[0]).s, static_cast<unsigned>(v.attr));
        if (!is_static(n) && !is_counted(n)) r_.not_empty[r_.nonempty++] = n;
      }
      if (densifies(p_.nodes, N, i)) ++r_.cost.densified;
      if (detail::is_counted(v))
        r_.count[r_.counted++] = {name_of(names(v.s.d[0])), most_of_select(v), at(v.in[0]).s.d[0]};
    }
  }

  // ---- steps of sparse matrices
  constexpr void emit_sparse(int i, int group) {
    const node& v = at(i);
    step& s = r_.step_[r_.steps++];
    s.o = v.o;
    s.adjoint = v.adjoint;
    s.node = i;
    s.attr = v.attr;
    s.attr2 = at(v.in[0]).attr; // the columns of the matrix
    if (v.s.rank == 2 && operand_of_rows(v) == 2 && is_zero_elsewhere(at(v.in[2]))) s.attr |= skips_zero_rows;
    s.wide = v.t == dtype::f64;
    s.at_load = g_.loaded[i] != 0;
    s.slot0 = r_.slots;
    const int of_rows = operand_of_rows(v);
    const auto add = [&](int x, bool has_rows) {
      slot& q = r_.slot_[r_.slots++];
      q.at = x == i ? home_[i] : home_[resolve(p_.nodes, x).root]; // dense by construction
      q.t = at(x).t;
      q.s = at(x).s;
      q.stride[0] = has_rows ? 1 : 0;
    };
    for (const int k : {0, 1}) add(at(v.in[0]).in[k], false);
    for (const int k : {1, 2})
      if (v.in[k] >= 0) add(v.in[k], k == of_rows);
    s.loads = r_.slots - s.slot0;
    s.stores = 1;
    add(i, makes_rows(v));
    const bool together = r_.steps > 1 && r_.step_[r_.steps - 2].at_load == s.at_load;
    s.strip = together && strip_.takes_product(p_.nodes, i, r_.steps - 1) && strip_.joins_whole(r_, s);
    if (!s.strip) end_strip(group);
    for (int k = s.slot0; k < r_.slots; ++k) strip_.slots.push_back({k, r_.slot_[k].s, v.adjoint});
    s.partial0 = r_.slots;
    if ((v.attr & spmm_transposed) != 0 && v.o == op::spmm) { // sums over rows: partial ones of the chunks
      slot q;
      q.t = v.t;
      q.s = v.s;
      // twice: in a sweep they alternate with the vector that another step multiplies
      const extent_t copies = v.s.rank > 1 ? max_row_chunks_of_matrices : (s.strip ? 2 : 1) * max_row_chunks;
      q.at = allocate(names(numel(v.s)), bytes_of(v, copies), group);
      r_.slot_[r_.slots++] = q;
      s.partials = 1;
    }
    if (!s.strip) ++r_.slots; // for a mask
    count_flops(i, v.adjoint);
    ++part_of(s.adjoint).steps;
    if (!s.strip) strip_.open_sweep(p_.nodes, i, group, r_.steps);
  }

  // ---- whole-tensor steps
  constexpr image_rows images(int i) const {
    return g_.loaded[i] == 0 ? images_of(p_.nodes, i) : image_rows{};
  }
  // A convolution that may be one of a strip of images. Sums of weights' gradients: see end_strip.
  constexpr void put_in_strip(int i, int group, step& s) {
    const node& v = at(i);
    const image_rows of = images(i);
    if (of.n == 0) {
      for (int k = s.slot0; k < r_.slots; ++k) count_bytes(s.adjoint, r_.slot_[k].s, r_.slot_[k].t);
      return;
    }
    s.axes = 2;
    s.loop[0] = of.n;
    s.loop[1] = of.row;
    for (int k = s.slot0; k < r_.slots; ++k)
      if (k == s.slot0 + s.loads ? makes_images(v.o) : reads_images(v.o, k - s.slot0))
        r_.slot_[k].stride[0] = numel(r_.slot_[k].s) / of.n;
    const bool together = r_.steps > 1 && r_.step_[r_.steps - 2].at_load == s.at_load;
    s.strip = together && strip_.takes_images(v.o, of.n, r_.steps - 1) && strip_.joins_whole(r_, s);
    if (!s.strip) end_strip(group);
    for (int k = s.slot0; k < r_.slots; ++k) strip_.slots.push_back({k, r_.slot_[k].s, v.adjoint});
    if (s.strip) strip_.join_images(of);
    else strip_.open_images(of, r_.steps);
    if (v.o != op::conv_wgrad) return;
    s.partial0 = r_.slots;
    slot& sums = r_.slot_[r_.slots++];
    sums.t = v.t;
    sums.s = v.s;
    s.partials = 1;
  }

  constexpr void emit_whole(int i, int group) {
    const node& v = at(i);
    step& s = r_.step_[r_.steps++];
    s.o = v.o;
    s.adjoint = v.adjoint;
    s.node = i;
    s.attr = v.attr;
    s.attr2 = v.attr2;
    s.custom = v.custom;
    s.at_load = g_.loaded[i] != 0;
    s.packs_ahead = !s.at_load && (v.o == op::conv_fprop || v.o == op::conv_dgrad || v.o == op::matmul) &&
                    g_.loaded[v.in[1]] != 0;
    s.slot0 = r_.slots;
    const auto load = [&](int x) {
      slot& q = r_.slot_[r_.slots++];
      q.at = home_[resolve(p_.nodes, x).root]; // dense by construction
      q.t = at(x).t;
      q.s = at(x).s;
      ++s.loads;
      // in place the rows of a base are read and written
      if (!is_conv(v.o)) count_bytes(s.adjoint, is_in_place(i) && x == v.in[2] ? at(v.in[0]).s : q.s, q.t);
    };
    const auto load_pattern = [&](int x) {
      for (const int k : {0, 1}) load(at(x).in[k]);
    };
    for (const int x : v.in) {
      if (x < 0) continue;
      if (at(x).o == op::pattern) load_pattern(x);
      else if (at(x).o == op::three_patterns)
        for (const int k : at(x).in) load_pattern(k);
      else load(x);
    }
    slot& y = r_.slot_[r_.slots++];
    y.at = home_[i];
    y.t = v.t;
    y.s = v.s;
    s.stores = 1;
    s.wide = v.t == dtype::f64 || r_.slot_[s.slot0].t == dtype::f64;
    s.bf16 = r_.slot_[s.slot0].t == dtype::bf16;
    r_.bf16 = r_.bf16 || s.bf16;
    if (v.o == op::select && attributes_of_select(v).segments > 0) {
      const auto scratch = [&](extent_t n) { // int32
        node q;
        q.t = dtype::i32;
        q.s = shape{1, {n}};
        slot& z = r_.slot_[r_.slots++];
        z.t = q.t;
        z.s = q.s;
        z.at = allocate(q, g_.of[i]);
        ++s.partials;
      };
      scratch(attributes_of_select(v).segments + 1); // where each segment begins
      scratch(at(v.in[0]).s.d[0]);                   // the rows by segment
    }
    if (is_conv(v.o)) put_in_strip(i, group, s);
    else count_bytes(s.adjoint, is_in_place(i) ? at(v.in[0]).s : v.s, v.t);
    count_flops(i, v.adjoint);
    ++part_of(s.adjoint).steps;
  }

  // ---- fused steps
  int floats_ = 0, ints_ = 0, bools_ = 0;
  constexpr int new_register(dtype t) {
    return t == dtype::boolean ? bools_++ : t == dtype::i32 ? ints_++ : floats_++;
  }

  // The loop of a group, and its strides: those of the axes other than 1, in the loop's order.
  constexpr shape loop_of(int group) const { return led_by(g_.groups[group].it, g_.groups[group].lead); }
  constexpr void loop_strides(int group, const shape& s, const extent_t (&from)[max_rank],
                              extent_t (&to)[max_rank]) const {
    int k = 0;
    for (int i = 0; i < s.rank; ++i)
      if (s.d[i] != 1) to[k++] = from[i];
    lead(to, g_.groups[group].lead);
  }

  // the instruction that has this word (but for its destination), or a new one
  constexpr int emit_once(const step& s, instruction q, dtype result) {
    for (int k = s.code0; k < r_.codes; ++k) {
      instruction e(r_.code[k]);
      if (e.o == q.o && e.a == q.a && e.t == q.t && e.imm == q.imm) return e.dst;
    }
    q.dst = new_register(result);
    r_.code[r_.codes++] = q.word();
    return q.dst;
  }
  constexpr int constant(const step& s, std::uint64_t bits, dtype t) {
    int k = s.konst0;
    while (k < r_.konsts && r_.konst[k] != bits) ++k;
    if (k == r_.konsts) r_.konst[r_.konsts++] = bits;
    return emit_once(s, {op::konst, t, 0, 0, 0, 0, k - s.konst0}, t);
  }
  constexpr int named_extent(const step& s, extent_t e, dtype t) {
    int k = s.extent0;
    while (k < r_.extents && r_.extent[k] != e) ++k;
    if (k == r_.extents) r_.extent[r_.extents++] = e;
    return emit_once(s, {op::extent, t, 0, 0, 0, 0, k - s.extent0}, t);
  }

  // The register that holds operand x of a node whose loop has the shape `full` (with its axes of extent 1).
  constexpr int read(step& s, int group, int x, const shape& full, bool adjoint) {
    const int u = g_.through[x];
    if (rule(at(u).o).k == kind::elementwise && g_.loop[u] == g_.groups[group].it) {
      if (made_in_[u] == group) return reg_[u];
      if (!g_.stored[u]) return compute(s, group, u, adjoint);
    }
    const strided_view w = resolve(p_.nodes, x);
    const node& root = at(w.root);
    if (root.o == op::konst) return constant(s, root.attr, root.t);
    if (root.o == op::extent) return named_extent(s, static_cast<extent_t>(root.attr), root.t);
    if (g_.inlined[w.root] != 0)
      return made_in_[w.root] == group ? reg_[w.root] : compute(s, group, w.root, adjoint);
    slot q;
    q.at = root.o == op::iota ? location{} : home_[w.root];
    q.t = root.t;
    q.offset[0] = w.offset[0];
    q.offset[1] = w.offset[1];
    extent_t aligned_strides[max_rank]{};
    for (int i = 0; i < full.rank; ++i) {
      const int k = i - (full.rank - at(x).s.rank);
      aligned_strides[i] = k < 0 || at(x).s.d[k] == 1 ? 0 : w.stride[k];
    }
    loop_strides(group, full, aligned_strides, q.stride);
    int k = s.slot0;
    while (k < r_.slots && !same_slot(r_.slot_[k], q)) ++k;
    if (k == r_.slots) {
      r_.slot_[r_.slots++] = q;
      ++s.loads;
      loads_.push_back({root.o == op::iota ? shape{1, {0}} : visited(loop_of(group), q.stride), true});
    }
    loaded& l = loads_[k - s.slot0];
    l.adjoint = l.adjoint && adjoint;
    return emit_once(s, {op::input, root.t, 0, k - s.slot0}, root.t);
  }
  // The register of node i, computed in this group for nodes of the primal or the adjoint half.
  constexpr int compute(step& s, int group, int i, bool adjoint) {
    const node& v = at(i);
    count_flops(i, adjoint);
    int x[3] = {0, 0, 0};
    for (int j = 0; j < 3; ++j)
      if (v.in[j] >= 0) x[j] = read(s, group, v.in[j], v.s, adjoint);
    const dtype operands = v.o == op::where ? v.t : at(v.in[0]).t;
    int imm = 0;
    if (v.o == op::custom_elementwise) {
      imm = r_.customs - s.custom0;
      r_.custom[r_.customs++] = v.custom;
    }
    if (v.o == op::cast) imm = static_cast<int>(v.t);
    reg_[i] = new_register(v.t);
    made_in_[i] = group;
    r_.code[r_.codes++] = instruction(v.o, operands, reg_[i], x[0], x[1], x[2], imm).word();
    return reg_[i];
  }
  static constexpr bool same_start(const slot& a, const slot& b) {
    return a.at == b.at && a.offset[0] == b.offset[0] && a.offset[1] == b.offset[1] && a.t == b.t;
  }
  static constexpr bool same_slot(const slot& a, const slot& b) {
    for (int i = 0; i < max_rank; ++i)
      if (a.stride[i] != b.stride[i]) return false;
    return same_start(a, b);
  }
  // What a slot of the group at hand reads, and whether only the adjoint does.
  struct loaded {
    shape visited;
    bool adjoint;
  };
  vec<loaded> loads_;
  static constexpr shape visited(shape it, const extent_t (&stride)[max_rank]) {
    for (int a = 0; a < it.rank; ++a)
      if (stride[a] == 0) it.d[a] = 1;
    return it;
  }

  constexpr void emit_fused(int group) {
    step& s = r_.step_[r_.steps++];
    s.fused = true;
    s.wide = g_.groups[group].wide;
    s.at_load = g_.groups[group].loaded;
    s.code0 = r_.codes;
    s.konst0 = r_.konsts;
    s.slot0 = r_.slots;
    s.store0 = r_.stores;
    s.extent0 = r_.extents;
    s.custom0 = r_.customs;
    s.adjoint = true;
    floats_ = ints_ = bools_ = 0;
    loads_.clear();
    for (int k = first_[group]; k < first_[group + 1]; ++k) s.adjoint = s.adjoint && at(member_[k]).adjoint;
    struct result {
      int node, reg;
    };
    vec<result> results;
    for (int k = first_[group]; k < first_[group + 1]; ++k) {
      const int i = member_[k];
      const node& v = at(i);
      s.node = i;
      if (rule(v.o).k == kind::reduction) {
        count_flops(i, v.adjoint);
        results.push_back({i, read(s, group, v.in[0], at(v.in[0]).s, v.adjoint)});
        continue;
      }
      compute(s, group, i, v.adjoint);
      if (g_.stored[i]) results.push_back({i, reg_[i]});
    }
    s.codes = r_.codes - s.code0;
    s.konsts = r_.konsts - s.konst0;
    s.extents = r_.extents - s.extent0;
    s.customs = r_.customs - s.custom0;
    const int first_store = r_.slots;
    for (const result& y : results) {
      const node& v = at(y.node);
      slot q;
      q.at = home_[y.node];
      q.t = v.t;
      const bool reduces = rule(v.o).k == kind::reduction;
      const shape& full = reduces ? at(v.in[0]).s : v.s;
      extent_t own[max_rank]{};
      strides(v.s, own);
      for (int i = 0; i < full.rank; ++i)
        if (reduces && ((v.attr >> i) & 1u)) own[i] = 0;
      loop_strides(group, full, own, q.stride);
      r_.slot_[r_.slots++] = q;
    }
    s.stores = static_cast<int>(results.size());
    const bool together = r_.steps > 1 && r_.step_[r_.steps - 2].at_load == s.at_load;
    const shape it = loop_of(group);
    const bool joins = together && strip_.joins(r_, s, it);
    s.epilogue = together && !(joins && strip_.images) && is_epilogue(r_, p_.nodes, home_, s, it);
    s.consumes = s.epilogue && g_.last[r_.step_[r_.steps - 2].node] <= group;
    s.strip = joins && !s.epilogue;
    if (!s.strip) end_strip(group);
    merge_axes(s, it);
    for (int k = 0; k < results.size(); ++k) {
      const node& v = at(results[k].node);
      store y;
      y.reg = results[k].reg;
      y.slot = first_store + k - s.slot0;
      y.t = v.t;
      y.is_max = v.o == op::max_reduce;
      const slot& q = r_.slot_[first_store + k];
      if (rule(v.o).k == kind::reduction)
        for (int a = 0; a < s.axes; ++a)
          if (q.stride[a] == 0) y.reduced |= 1u << a;
      const bool inner = ((y.reduced >> (s.axes - 1)) & 1u);
      const bool all = y.reduced == (1u << s.axes) - 1u;
      y.k = y.reduced == 0 ? store_kind::dense
            : all          ? store_kind::total
            : inner        ? store_kind::row
                           : store_kind::column;
      y.splits = (y.reduced & 1u) && (s.strip || may_split(s)); // a strip is cut as its first step
      r_.store_[r_.stores++] = y.word();
      strip_.slots.push_back({first_store + k, v.s, v.adjoint});
    }
    for (int k = 0; k < loads_.size(); ++k)
      strip_.slots.push_back({s.slot0 + k, loads_[k].visited, loads_[k].adjoint});
    // partial results of the chunks live for this step only
    s.partial0 = r_.slots;
    for (int k = 0; k < s.stores; ++k) {
      const store y(r_.store_[s.store0 + k]);
      if (!y.splits) continue;
      const node& v = at(results[k].node);
      slot q;
      q.t = v.t;
      q.s = v.s;
      q.at = allocate(names(numel(v.s)), max_chunks * bytes_of(v), group);
      r_.slot_[r_.slots++] = q;
      ++s.partials;
    }
    access_kinds(s);
    ++part_of(s.adjoint).steps;
    if (!s.strip) strip_.open(s, it, r_.steps);
  }

  // ---- strips
  strip strip_;
  int expired_ = 0; // groups whose buffers are free again
  constexpr bool may_join_strip(int group) const {
    if (first_[group] == first_[group + 1]) return false;
    const int i = member_[first_[group]];
    if (g_.groups[group].fused) return strip_.takes(loop_of(group), r_.steps);
    return is_sparse(at(i).o) ? strip_.takes_product(p_.nodes, i, r_.steps)
                              : strip_.takes_images(at(i).o, images(i).n, r_.steps);
  }
  // The rows that the sweep before `group` need not visit.
  constexpr void mask_rows(int group) {
    const row_mask mask = mask_of_sweep(p_, g_, strip_.first_group, group,
                                        [&](int i) { return home_[i].where == place::strip; });
    const int m = mask.node;
    if (m < 0) return;
    step& s = r_.step_[strip_.begin];
    for (int i = strip_.begin; i < r_.steps && (i == strip_.begin || r_.step_[i].strip); ++i) {
      const step& member = r_.step_[i]; // gathers what it reads by rows
      for (int k = member.slot0; k < member.slot0 + member.loads; ++k) {
        const slot& q = r_.slot_[k];
        const bool at_hand = q.at.where == place::strip || q.stride[0] == 0;
        if (!at_hand && (q.stride[0] != 1 || q.at.where == place::none)) return;
      }
    }
    s.mask = s.loads + s.stores + s.partials;
    s.visits_zeros = mask.visits_zeros;
    slot& q = r_.slot_[s.slot0 + s.mask];
    q.at = home_[m];
    q.t = at(m).t;
    q.s = at(m).s;
    q.stride[0] = 1;
    strip_.slots.push_back({s.slot0 + s.mask, squeezed(q.s), s.adjoint});
  }
  // No group from `group` on belongs to the strip: its values get their places.
  constexpr void end_strip(int group) {
    if (strip_.slots.empty()) return;
    const extent_t scratch =
        strip_.settle(p_.nodes, group, [&](const strip::value& v, const location& within) {
          home_[v.node] = within.where == place::strip ? within : allocate(at(v.node), v.last);
        });
    if (scratch > r_.strip_bytes) r_.strip_bytes = scratch;
    const auto is_member = [&](int k) { return k < r_.steps && (k == strip_.begin || r_.step_[k].strip); };
    for (int k = strip_.begin; strip_.images && is_member(k); ++k) { // sums of the chunks of images
      step& s = r_.step_[k];
      if (s.o != op::conv_wgrad || s.fused) continue;
      if (!is_member(strip_.begin + 1)) s.partials = 0;
      else r_.slot_[s.partial0].at = allocate(0, max_chunks * bytes_of(at(s.node)), group);
    }
    if (strip_.pattern >= 0 && strip_.rows != 0) mask_rows(group);
    else r_.step_[strip_.begin].at_once = strip_.at_once();
    for (int k = r_.step_[strip_.begin].slot0; k < r_.slots; ++k)
      if (location& l = r_.slot_[k].at; strip::is_unsettled(l)) l = home_[l.index];
    for (int k = 0; k < strip_.slots.size(); ++k) { // what is in cache is no traffic
      const strip::traffic& x = strip_.slots[k];
      const slot& q = r_.slot_[x.slot];
      bool in_cache = q.at.where == place::strip;
      for (int j = 0; j < k && !in_cache; ++j) {
        const slot& before = r_.slot_[strip_.slots[j].slot];
        in_cache = same_start(before, q) && before.stride[0] == q.stride[0] &&
                   numel(strip_.slots[j].visited) == numel(x.visited);
      }
      if (!in_cache) count_bytes(x.adjoint, x.visited, q.t);
    }
    strip_.slots.clear();
  }

  // more than one chunk is possible
  static constexpr bool may_split(const step& s) {
    extent_t n = 1;
    for (int a = 0; a < s.axes; ++a) {
      if (!is_static(s.loop[a])) return true;
      n *= s.loop[a];
    }
    return s.loop[0] > 0 && chunks_of(s.loop[0], n / s.loop[0], s.axes == 1).count > 1;
  }

  // Neighbouring axes that every slot walks as one become one; the rows of an epilogue or a strip stay rows.
  constexpr void merge_axes(step& s, const shape& it) {
    const int n = s.loads + s.stores;
    s.axes = it.rank;
    for (int a = 0; a < it.rank; ++a) s.loop[a] = it.d[a];
    for (int a = s.axes - 2; a >= (s.epilogue || s.strip ? 1 : 0); --a) {
      bool one = multipliable(s.loop[a], s.loop[a + 1]);
      for (int k = 0; k < n && one; ++k) {
        const slot& q = r_.slot_[s.slot0 + k];
        one = multipliable(q.stride[a + 1], s.loop[a + 1]) &&
              q.stride[a] == times(q.stride[a + 1], s.loop[a + 1]);
      }
      if (!one) continue;
      s.loop[a] = times(s.loop[a], s.loop[a + 1]);
      for (int k = 0; k < n; ++k) r_.slot_[s.slot0 + k].stride[a] = r_.slot_[s.slot0 + k].stride[a + 1];
      for (int b = a + 1; b + 1 < s.axes; ++b) {
        s.loop[b] = s.loop[b + 1];
        for (int k = 0; k < n; ++k) r_.slot_[s.slot0 + k].stride[b] = r_.slot_[s.slot0 + k].stride[b + 1];
      }
      --s.axes;
    }
    if (s.axes == 0) { // a scalar is a loop of one
      s.axes = 1;
      s.loop[0] = 1;
    }
  }

  constexpr void access_kinds(const step& s) {
    for (int k = s.code0; k < s.code0 + s.codes; ++k) {
      instruction q(r_.code[k]);
      if (q.o != op::input) continue;
      const slot& x = r_.slot_[s.slot0 + q.a];
      const extent_t inner = s.axes > 0 ? x.stride[s.axes - 1] : 0;
      access a = x.at.where == place::none ? access::index
                 : inner == 0              ? access::splat
                 : inner == 1              ? access::dense
                                           : access::strided;
      q.imm = static_cast<int>(a);
      r_.code[k] = q.word();
    }
  }

public:
  constexpr planner(const program<N, O>& p, int loaded_leaves)
      : p_(p), g_(make_groups(p, loaded_leaves)), arena_(g_.groups.size()) {}

  constexpr roomy_plan run() {
    r_.results = O;
    order_members();
    find_in_place();
    place_arguments_and_results();
    place_loaded();
    find_checks();
    for (int group = 0; group < g_.groups.size(); ++group) {
      if (!may_join_strip(group)) {
        end_strip(group);
        strip_.rows = 0;
        for (; expired_ <= group; ++expired_) arena_.expire(expired_);
      }
      for (int k = first_[group]; k < first_[group + 1]; ++k) {
        const int i = member_[k];
        if (!g_.stored[i] || home_[i].where != place::none) continue;
        if (is_in_place(i)) home_[i] = home_[in_place_[i]];
        else if (!g_.groups[group].fused && !(makes_rows(at(i)) && sweeps(p_.nodes, i)) &&
                 !(makes_images(at(i).o) && images(i).n > 0))
          home_[i] = allocate(at(i), g_.last[i]);
        else {
          home_[i] = strip::unsettled(i);
          strip_.values.push_back({i, group, g_.last[i]});
        }
      }
      if (first_[group] == first_[group + 1]) continue;
      if (g_.groups[group].fused) emit_fused(group);
      else if (is_sparse(at(member_[first_[group]]).o)) emit_sparse(member_[first_[group]], group);
      else emit_whole(member_[first_[group]], group);
    }
    end_strip(g_.groups.size());
    r_.parts = arena_.parts.size();
    for (int k = 0; k < r_.parts; ++k) {
      r_.part_names[k] = arena_.parts[k].names;
      r_.part_size[k] = arena_.parts[k].top;
      r_.cost.arena.add(static_cast<double>(r_.part_size[k]), r_.part_names[k]);
    }
    return r_;
  }
};

// loaded_leaves: of the arguments, leaf by leaf, those that are loaded once for many runs.
template <int N, int O> constexpr auto make_plan(const program<N, O>& p, int loaded_leaves = 0) {
  return planner<N, O>(p, loaded_leaves).run();
}

} // namespace tapeless::detail
