// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The facts of every op hold, in numbers:
//   linear        in which operands together it is linear
//   zero, nonzero where it is zero, and where it is not
//   axes, sums    which rows of the operands make one of its rows, and which rows it sums
//   moves, adds   which elements of x0 make one of its elements
// An op has samples, programs in which it stands once, or nothing may be said of it. One without an entry does not compile.
#include "op_samples.hpp"

#include <doctest/doctest.h>
#include <support/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tl = tapeless;

namespace {

using namespace op_samples;
using flat = std::vector<double>;
using flags = bool[3];

// ---- what is told

struct facts {
  bool (*linear)(const node&, const flags&) = [](const node& v, const flags& in) { return is_linear(v, in); };
  bool (*zero)(const node&, const flags&, const flags&) = [](const node& v, const flags& in,
                                                             const flags& constant) {
    return zero_outside(v, in, [&](int k) { return constant[k]; });
  };
  bool (*keeps)(const node&) = [](const node& v) { return keeps_zero(v); };
  bool (*has_zeros)(const node&) = [](const node& v) { return has_zeros_of_operand(v); };
  bool (*nonzero)(const node&, tl::dtype, unsigned, unsigned) = [](const node& v, tl::dtype t, unsigned zeros,
                                                                   unsigned others) {
    return is_nonzero(v, t, zeros, others, true);
  };
  bool (*moves)(const node&) = [](const node& v) { return rule(v.o).facts.moves; };
  bool (*adds)(const node&) = [](const node& v) { return rule(v.o).facts.adds; };
  rows_of_operands (*rows)(const node&, const tl::shape (&)[3], const row_axis&,
                           tl::extent_t) = [](const node& v, const tl::shape (&s)[3], const row_axis& at,
                                              tl::extent_t n) { return where_rows_come_from(v, s, at, n); };
  row_sum (*summed)(const node&, const tl::shape (&)[3], int, const row_axis&) =
      [](const node& v, const tl::shape (&s)[3], int k, const row_axis& from) {
        return where_rows_are_summed(v, s, k, from);
      };
  left_out (*in_rows)(const node*, int, const vec<left_out>&) =
      [](const node* p, int i, const vec<left_out>& of) { return in_rows_left_out(p, i, of); };
};

// ---- a sample in numbers

enum class element { real, index, integer, condition };
struct operand_values {
  element is = element::real;
  tl::shape s;
  bool settable = false;
};
// The op's node in a sample, its operands, and the op as a function of their elements.
struct subject {
  const node* nodes = nullptr;
  int at = no_node;
  operand_values in[3];
  std::vector<flat> (*draw)(std::uint64_t seed) = nullptr;
  flat (*run)(const std::vector<flat>&) = nullptr; // of the values of the arguments
  int argument[3] = {-1, -1, -1};                  // that operand k is

  const node& v() const { return nodes[at]; }
  bool has(int k) const { return v().in[k] >= 0; }
  void shapes(tl::shape (&s)[3]) const {
    for (int k = 0; k < 3; ++k)
      if (has(k)) s[k] = nodes[v().in[k]].s;
  }
};

template <class X> constexpr element element_of =
    std::is_same_v<typename X::value_type, bool>                 ? element::condition
    : std::is_same_v<X, I>                                       ? element::integer
    : tl::detail::is_index(tl::dtype_of<typename X::value_type>) ? element::index
                                                                 : element::real;
// Reals of both signs that are not near 0; what float and bf16 hold exactly; positions 0 and 1; integers of both signs, and 0.
double value_of(element is, support::splitmix64& random) {
  const auto steps = static_cast<double>(random.below(28) + 4);
  const bool negative = random.below(2) == 1;
  if (is == element::integer) return (negative ? -1 : 1) * (steps - 4);
  if (is != element::real) return negative ? 1 : 0;
  return (negative ? -1 : 1) * steps / 16;
}
template <class E> double number(const E& e) {
  if constexpr (std::is_same_v<E, tl::bf16>) return static_cast<double>(static_cast<float>(e));
  else return static_cast<double>(e);
}
template <class E> E of_number(double x) {
  if constexpr (std::is_same_v<E, bool>) return x != 0;
  else if constexpr (std::is_same_v<E, tl::bf16>) return E(static_cast<float>(x));
  else return static_cast<E>(x);
}
template <class F, class... X> subject subject_of(op o) {
  constexpr const auto& p = traced<F, X...>::value;
  subject r;
  r.nodes = p.nodes;
  int found = 0;
  for (int i = 0; i < p.size; ++i)
    if (p.nodes[i].o == o && !(o == op::copy && found > 0)) r.at = i, ++found;
  REQUIRE(found == 1);
  const element is[] = {element_of<X>...};
  for (int k = 0; k < 3; ++k) {
    int x = p.nodes[r.at].in[k];
    if (x < 0) continue;
    r.in[k].s = p.nodes[x].s;
    bool same = true; // elements in the same order
    while (rule(p.nodes[x].o).k == kind::view || p.nodes[x].o == op::copy) {
      same = same &&
             (p.nodes[x].o == op::reshape || p.nodes[x].o == op::checked_index || p.nodes[x].o == op::copy);
      x = p.nodes[x].in[0];
    }
    REQUIRE(p.nodes[x].o == op::input);
    r.argument[k] = static_cast<int>(p.nodes[x].attr);
    r.in[k].is = is[r.argument[k]];
    r.in[k].settable = same;
  }
  r.draw = [](std::uint64_t seed) {
    support::splitmix64 random(seed);
    std::vector<flat> x;
    const auto add = [&](element e, tl::extent_t n) {
      flat values(static_cast<std::size_t>(n), 0.0);
      for (double& e_value : values) e_value = value_of(e, random);
      x.push_back(values);
    };
    (add(element_of<X>, numel(X::extents)), ...);
    return x;
  };
  r.run = [](const std::vector<flat>& x) {
    static auto run = tl::jit(F{}).template bind<X...>();
    std::tuple<tl::owned<X>...> a;
    std::size_t k = 0;
    const auto fill = [&](auto& to) {
      const auto& view = *to;
      using E = typename std::remove_cvref_t<decltype(view)>::value_type;
      for (std::size_t i = 0; i < x[k].size(); ++i)
        view[static_cast<tl::extent_t>(i)] = of_number<E>(x[k][i]);
      ++k;
    };
    std::apply([&](auto&... one) { (fill(one), ...); }, a);
    const auto y = std::apply([&](auto&... one) { return run(*one...); }, a);
    flat values;
    for (const auto& e : y) values.push_back(number(e));
    return values;
  };
  return r;
}

// ---- what is told, in numbers

constexpr double tolerance = 1e-5; // of float; the values of wrong facts are off by more
bool close(const flat& a, const flat& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i])))) return false;
  return a.size() == b.size();
}
flat plus(const flat& a, const flat& b) {
  flat r = a;
  for (std::size_t i = 0; i < r.size(); ++i) r[i] += b[i];
  return r;
}
bool all_zero(const flat& y) {
  return std::all_of(y.begin(), y.end(), [](double e) { return e == 0; });
}
// The index along an axis of the element at a row-major position.
tl::extent_t index_along(const tl::shape& s, int axis, std::size_t position) {
  auto at = static_cast<tl::extent_t>(position);
  for (int i = s.rank - 1; i > axis; --i) at /= s.d[i];
  return at % s.d[axis];
}
tl::extent_t row_of(const tl::shape& s, const row_axis& a, std::size_t position) {
  return index_along(s, a.axis, position) / a.block;
}
std::string operands(const flags& in) {
  std::string s;
  for (int k = 0; k < 3; ++k)
    if (in[k]) s += (s.empty() ? "" : ", ") + std::to_string(k);
  return "{" + s + "}";
}
// act(operands), of the sets of operands that v has
template <class Act> void each_set(const subject& q, Act act) {
  for (unsigned set = 1; set < 8; ++set) {
    const flags in = {(set & 1u) != 0, (set & 2u) != 0, (set & 4u) != 0};
    bool there = true;
    for (int k = 0; k < 3; ++k) there = there && (!in[k] || q.has(k));
    if (there) act(in);
  }
}

struct findings {
  std::vector<std::string> wrong, unsaid; // unsaid: linear, zero where, has the rows
};
class examination {
  const subject& q_;
  const facts& say_;
  findings found_;
  tl::shape s_[3];
  static constexpr std::uint64_t seeds = 3;

  void expect(bool holds, const std::string& what) {
    const std::string text = std::string(rule(q_.v().o).name) + ": " + what;
    if (!holds && std::find(found_.wrong.begin(), found_.wrong.end(), text) == found_.wrong.end())
      found_.wrong.push_back(text);
  }
  // 0 divided by what may be 0 counts as 0: a divisor stays what it is.
  bool may_be_zero(int k) const {
    const op o = q_.v().o;
    return !((o == op::div || o == op::fmod || o == op::remainder) && k == 1);
  }
  flat& values(std::vector<flat>& x, int k) const { return x[static_cast<std::size_t>(q_.argument[k])]; }

  // f(x + z) == f(x) + f(z), f(3 x) == 3 f(x) where x and z are these operands and the others are held
  bool is_linear_in(const flags& in) const {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const std::vector<flat> x = q_.draw(seed);
      std::vector<flat> z = x, sum = x, three = x, other = q_.draw(seed + 100);
      for (int k = 0; k < 3; ++k) {
        if (!in[k]) continue;
        values(z, k) = values(other, k);
        for (std::size_t i = 0; i < values(z, k).size(); ++i) {
          double &s = values(sum, k)[i], &t = values(three, k)[i];
          if (q_.in[k].is == element::condition) s = s != 0 || values(z, k)[i] != 0 ? 1 : 0;
          else s += values(z, k)[i], t *= q_.in[k].is == element::real ? 3 : 1;
        }
      }
      const flat y = q_.run(x);
      if (!close(q_.run(sum), plus(y, q_.run(z)))) return false;
      bool reals = true;
      for (int k = 0; k < 3; ++k) reals = reals && (!in[k] || q_.in[k].is == element::real);
      if (reals && !close(q_.run(three), plus(y, plus(y, y)))) return false;
    }
    return true;
  }
  void linear() {
    each_set(q_, [&](const flags& in) {
      const bool said = say_.linear(q_.v(), in), is = is_linear_in(in);
      expect(is || !said, "is not linear in " + operands(in));
      if (is && !said) unsaid(": linear " + operands(in));
    });
  }

  bool is_zero_where(const flags& zero) const {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      std::vector<flat> x = q_.draw(seed);
      for (int k = 0; k < 3; ++k)
        if (zero[k] && may_be_zero(k)) std::fill(values(x, k).begin(), values(x, k).end(), 0.0);
      if (!all_zero(q_.run(x))) return false;
    }
    return true;
  }
  void unsaid(const std::string& what) {
    const std::string text = std::string(rule(q_.v().o).name) + what;
    if (std::find(found_.unsaid.begin(), found_.unsaid.end(), text) == found_.unsaid.end())
      found_.unsaid.push_back(text);
  }
  // The smallest sets of operands whose zeros make it zero.
  void unsaid_zeros() {
    bool is_zero[8] = {};
    for (const unsigned set : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {
      const flags in = {(set & 1u) != 0, (set & 2u) != 0, (set & 4u) != 0};
      bool there = true, known = false;
      for (int k = 0; k < 3; ++k) there = there && (!in[k] || (q_.has(k) && may_be_zero(k)));
      for (unsigned part = 1; part < set; ++part) known = known || (is_zero[part] && (part & ~set) == 0);
      if (!there || known || !is_zero_where(in)) continue;
      is_zero[set] = true;
      if (!say_.zero(q_.v(), in, {false, false, false})) unsaid(": zero " + operands(in));
    }
  }
  void zero() {
    unsaid_zeros();
    each_set(q_, [&](const flags& in) {
      for (unsigned constants = 0; constants < 8; ++constants) {
        const flags constant = {(constants & 1u) != 0 && q_.has(0), (constants & 2u) != 0 && q_.has(1),
                                (constants & 4u) != 0 && q_.has(2)};
        const flags either = {in[0] || constant[0], in[1] || constant[1], in[2] || constant[2]};
        if (say_.zero(q_.v(), in, constant))
          expect(is_zero_where(either),
                 "is not zero where " + operands(in) + " are, and the constants " + operands(constant));
      }
    });
    if (say_.keeps(q_.v())) expect(q_.v().in[1] < 0 && is_zero_where({true, false, false}), "f(0) is not 0");
    if (!say_.has_zeros(q_.v())) return;
    expect(say_.keeps(q_.v()), "has the zeros of its operand, but does not keep them");
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      std::vector<flat> x = q_.draw(seed);
      for (double& e : values(x, 0)) e = e == 0 ? 1 : e;
      const flat y = q_.run(x);
      expect(std::none_of(y.begin(), y.end(), [](double e) { return e == 0; }),
             "is 0 where its operand is not");
    }
  }

  // Nothing in y is 0 where operands are 0, not 0 or any, as the digits of `code` say.
  void nonzero() {
    const node& v = q_.v();
    for (int code = 0; code < 27; ++code) {
      const int of[3] = {code % 3, code / 3 % 3, code / 9}; // 1: it is 0, 2: it is not
      unsigned zero = 0, other = 0;
      bool there = true;
      for (int k = 0; k < 3; ++k) {
        there = there && (of[k] == 0 || (q_.has(k) && !(of[k] == 1 && !may_be_zero(k))));
        if (of[k] == 1) zero |= 1u << k;
        if (of[k] == 2) other |= 1u << k;
      }
      if (!there || !say_.nonzero(v, q_.nodes[v.in[0]].t, zero, other)) continue;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        std::vector<flat> x = q_.draw(seed);
        for (int k = 0; k < 3; ++k)
          if (of[k] != 0)
            for (double& e : values(x, k)) e = of[k] == 1 ? 0 : e == 0 ? 1 : e;
        const flat y = q_.run(x);
        expect(std::none_of(y.begin(), y.end(), [](double e) { return e == 0; }),
               "is 0 where operands " + std::to_string(code) + " make it nonzero");
      }
    }
  }
  // Each element of y is 0 or one of x0, up to the sign: a reshape is read by a neg.
  void moves() {
    if (!say_.moves(q_.v())) return;
    std::vector<flat> x = q_.draw(1);
    const flat& from = values(x, 0);
    for (const double e : q_.run(x))
      expect(e == 0 ||
                 std::any_of(from.begin(), from.end(), [&](double a) { return std::abs(a) == std::abs(e); }),
             "has an element that is none of its operand");
  }
  // Each element of y is a sum of some of x0: linear, and 0 or 1 if one of x0 is 1 and the others are 0.
  void adds() {
    if (!say_.adds(q_.v())) return;
    expect(is_linear_in({true, false, false}), "is no sum of elements");
    std::vector<flat> x = q_.draw(1);
    flat& of = values(x, 0);
    for (std::size_t i = 0; i < of.size(); ++i) {
      std::fill(of.begin(), of.end(), 0.0);
      of[i] = 1;
      for (const double e : q_.run(x)) expect(e == 0 || e == 1, "is no sum of elements");
    }
  }

  // Does row `row` of y along this axis stay the same if all other rows of operand k along axis `a` change?
  bool reads_own_row_alone(int axis, int k, int a) const {
    const row_axis of_y{axis, 1}, of_x{a, 1};
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      for (tl::extent_t row = 0; row < s_[k].d[a]; ++row) {
        std::vector<flat> x = q_.draw(seed), other = q_.draw(seed + 100);
        const flat y = q_.run(x);
        for (std::size_t i = 0; i < values(x, k).size(); ++i)
          if (row_of(s_[k], of_x, i) != row) values(x, k)[i] = values(other, k)[i];
        const flat z = q_.run(x);
        for (std::size_t i = 0; i < y.size(); ++i)
          if (row_of(q_.v().s, of_y, i) == row && y[i] != z[i] && !(std::isnan(y[i]) && std::isnan(z[i])))
            return false;
      }
    return true;
  }
  void unsaid_rows() {
    const node& v = q_.v();
    for (int axis = 0; axis < v.s.rank; ++axis)
      for (int k = 0; k < 3; ++k)
        for (int a = 0; q_.has(k) && a < s_[k].rank; ++a) {
          const tl::extent_t n = v.s.d[axis];
          if (n < 2 || s_[k].d[a] != n || !reads_own_row_alone(axis, k, a)) continue;
          const rows_of_operands r = say_.rows(v, s_, {axis, 1}, n);
          if (!r.known || r.operand[k].axis != a)
            unsaid(": rows " + std::to_string(axis) + " of " + operands({k == 0, k == 1, k == 2}) + " " +
                   std::to_string(a));
        }
  }
  // Rows of the operands that are not those of y's row change nothing in it.
  void rows() {
    unsaid_rows();
    const node& v = q_.v();
    for (int axis = 0; axis < v.s.rank; ++axis)
      for (const tl::extent_t block : {1, 2, 3}) {
        const tl::extent_t n = v.s.d[axis] / block;
        if (v.s.d[axis] % block != 0 || n < 2) continue;
        const row_axis at{axis, block};
        const rows_of_operands r = say_.rows(v, s_, at, n);
        if (!r.known) continue;
        const std::string where = "axis " + std::to_string(axis) + ", block " + std::to_string(block);
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
          for (tl::extent_t row = 0; row < n; ++row) {
            std::vector<flat> x = q_.draw(seed), other = q_.draw(seed + 100);
            const flat y = q_.run(x);
            for (int k = 0; k < 3; ++k) {
              if (!q_.has(k) || !r.operand[k].found()) continue;
              const row_axis& a = r.operand[k];
              expect(s_[k].d[a.axis] == n * a.block, "an operand has other rows: " + where);
              for (std::size_t i = 0; i < values(x, k).size(); ++i)
                if (row_of(s_[k], a, i) != row) values(x, k)[i] = values(other, k)[i];
            }
            const flat z = q_.run(x);
            bool same = true;
            for (std::size_t i = 0; i < y.size(); ++i)
              if (row_of(v.s, at, i) == row)
                same = same && (y[i] == z[i] || (std::isnan(y[i]) && std::isnan(z[i])));
            expect(same, "a row is made of others, too: " + where);
          }
      }
  }
  // The rows of x along axis a in the opposite order.
  static void reverse_rows(const tl::shape& s, const row_axis& a, flat& x) {
    const flat from = x;
    std::size_t stride = 1;
    for (int i = s.rank - 1; i > a.axis; --i) stride *= static_cast<std::size_t>(s.d[i]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const tl::extent_t at = index_along(s, a.axis, i), to = s.d[a.axis] - 1 - at;
      x[i - static_cast<std::size_t>(at) * stride + static_cast<std::size_t>(to) * stride] = from[i];
    }
  }
  // The result is the sum of those of the operand's rows, each with the same rows of the other operand. So their order
  // does not matter: it does for other linear ops.
  void summed() {
    const node& v = q_.v();
    for (int k = 0; k < 3; ++k) {
      if (!q_.has(k)) continue;
      for (int axis = 0; axis < s_[k].rank; ++axis) {
        const row_axis from{axis, 1};
        const row_sum r = say_.summed(v, s_, k, from);
        if (!r.found) continue;
        const std::vector<flat> x = q_.draw(1), other = q_.draw(2);
        flat sum(q_.run(x).size(), 0.0);
        for (tl::extent_t row = 0; row < s_[k].d[axis]; ++row) {
          std::vector<flat> one = x;
          for (std::size_t i = 0; i < values(one, k).size(); ++i)
            if (row_of(s_[k], from, i) != row) values(one, k)[i] = 0;
          for (std::size_t i = 0; r.other >= 0 && i < values(one, r.other).size(); ++i)
            if (row_of(s_[r.other], r.axis, i) != row)
              values(one, r.other)[i] = x[static_cast<std::size_t>(q_.argument[r.other])][i] + 1;
          sum = plus(sum, q_.run(one));
        }
        expect(close(sum, q_.run(x)),
               "rows of operand " + std::to_string(k) + " are not summed over, axis " + std::to_string(axis));
        std::vector<flat> reversed = x;
        reverse_rows(s_[k], from, values(reversed, k));
        if (r.other >= 0) reverse_rows(s_[r.other], r.axis, values(reversed, r.other));
        expect(close(q_.run(reversed), q_.run(x)), "the order of rows of operand " + std::to_string(k) +
                                                       " matters, axis " + std::to_string(axis));
      }
    }
  }
  // Rows of the first axis; an operand that is repeated along it has none.
  bool has_rows(int k) const { return s_[k].rank == q_.v().s.rank && s_[k].d[0] == q_.v().s.d[0]; }
  static bool is_left_out(const tl::shape& s, std::size_t i) { return row_of(s, {0, 1}, i) % 2 == 0; }
  // What a sweep knows of rows that a mask leaves out, here every second one: of ops that leave a row where it is.
  void left_out_rows() {
    const op o = q_.v().o;
    if (rule(o).k != kind::elementwise && o != op::expand && o != op::reshape) return;
    if (o == op::reshape && !has_rows(0)) return;
    constexpr left_out states[] = {left_out::unknown, left_out::zero, left_out::nonzero};
    for (int code = 0; code < 27; ++code) {
      const left_out of[3] = {states[code % 3], states[code / 3 % 3], states[code / 9]};
      bool there = true;
      vec<left_out> is(q_.at + 1, left_out::unknown);
      for (int k = 0; k < 3; ++k) {
        there = there && (q_.has(k) || of[k] == left_out::unknown);
        if (q_.has(k)) is[q_.v().in[k]] = of[k];
      }
      const left_out said = there ? say_.in_rows(q_.nodes, q_.at, is) : left_out::unknown;
      for (std::uint64_t seed = 1; said != left_out::unknown && seed <= seeds; ++seed) {
        std::vector<flat> x = q_.draw(seed);
        for (int k = 0; k < 3; ++k) {
          if (!q_.has(k)) continue;
          flat& e = values(x, k);
          for (std::size_t i = 0; i < e.size(); ++i)
            if (!has_rows(k) || is_left_out(s_[k], i))
              e[i] = of[k] == left_out::zero && may_be_zero(k) ? 0
                     : of[k] == left_out::nonzero && e[i] == 0 ? 1
                                                               : e[i];
        }
        const flat y = q_.run(x);
        for (std::size_t i = 0; i < y.size(); ++i)
          expect(!is_left_out(q_.v().s, i) || (y[i] == 0) == (said == left_out::zero),
                 "operands " + std::to_string(code) + " make a row that is left out other than is said");
      }
    }
  }

public:
  examination(const subject& q, const facts& say) : q_(q), say_(say) { q.shapes(s_); }
  findings run() {
    for (int k = 0; k < 3; ++k)
      if (q_.has(k))
        CHECK_MESSAGE(q_.in[k].settable, rule(q_.v().o).name, ": operand ", k,
                      " is no argument of the sample");
    linear();
    zero();
    nonzero();
    moves();
    adds();
    rows();
    summed();
    left_out_rows();
    return found_;
  }
};

void add(findings& to, const findings& more) {
  to.wrong.insert(to.wrong.end(), more.wrong.begin(), more.wrong.end());
  for (const std::string& s : more.unsaid)
    if (std::find(to.unsaid.begin(), to.unsaid.end(), s) == to.unsaid.end()) to.unsaid.push_back(s);
}
findings examine_nothing(op o, const facts& say) {
  node v;
  v.o = o;
  findings r;
  for (int operands_of = 1; operands_of <= 3; ++operands_of) {
    for (int k = 0; k < operands_of; ++k) v.in[k] = k;
    for (unsigned set = 1; set < 64; ++set) {
      const flags in = {(set & 1u) != 0, (set & 2u) != 0, (set & 4u) != 0},
                  constant = {(set & 8u) != 0, (set & 16u) != 0, (set & 32u) != 0};
      if (say.linear(v, in) || say.zero(v, in, constant) || say.keeps(v) || say.has_zeros(v) ||
          say.nonzero(v, tl::dtype::f32, 0, set & 7u) || say.moves(v) || say.adds(v))
        r.wrong.assign(1, std::string(rule(o).name) + ": what is said of it needs a sample");
    }
  }
  return r;
}
template <class F, class... X> findings examine(op o, sample<F, X...>, const facts& say) {
  const subject q = subject_of<F, X...>(o);
  return examination(q, say).run();
}
template <class... S> findings examine(op o, samples<S...>, const facts& say) {
  findings r;
  (add(r, examine(o, S{}, say)), ...);
  return r;
}
findings examine(op o, nothing, const facts& say) { return examine_nothing(o, say); }
findings examine_all(const facts& say) {
  return [&]<int... O>(std::integer_sequence<int, O...>) {
    static_assert((has_entry<static_cast<op>(O)> && ...), "each op has samples, or nothing is said of it");
    findings r;
    (add(r, examine(static_cast<op>(O), samples_of<static_cast<op>(O)>, say)), ...);
    return r;
  }(std::make_integer_sequence<int, op_count>{});
}
const findings& truth() {
  static const findings r = examine_all({});
  return r;
}
bool says(const findings& found, const std::string& begin) {
  return std::any_of(found.wrong.begin(), found.wrong.end(),
                     [&](const std::string& s) { return s.rfind(begin, 0) == 0; });
}
template <op O> findings examine_with(void (*change)(facts&)) {
  facts say;
  change(say);
  return examine(O, samples_of<O>, say);
}

} // namespace

TEST_CASE("facts: what the planner is told of ops is so") {
  for (const std::string& s : truth().wrong) MESSAGE(s);
  CHECK(truth().wrong.empty());
}
TEST_CASE("facts: of what the samples show, only this is not said") {
  const std::vector<std::string> known{
      // of integers and of numbers that bf16 holds
      "cast: linear {0}", "narrow: linear {0}",
      // holds for the sample alone
      "eq: zero {0}", "eq: zero {1}", "window_argmax: zero {0}", "atan2: zero {0, 1}", // atan2(0, -0) is pi
      // of functions that only the user knows
      "custom: linear {0}", "custom: linear {1}", "custom: zero {0}", "custom: zero {1}",
      // no cotangent is a position
      "argmax: zero {0}", "cumargmax: zero {0}", "scatter_argmax: zero {0, 2}",
      // the list would have to be one of the rows alone
      "scatter_add: rows 0 of {2} 0", "scatter_argmax: rows 0 of {2} 0",
      // along channels: no pass takes some of the channels
      "conv2d: rows 1 of {1} 0", "conv2d_dgrad: rows 1 of {1} 1", "conv2d_wgrad: rows 0 of {1} 1",
      "conv2d_wgrad: rows 1 of {0} 1", "window_max: rows 1 of {0} 1", "window_argmax: rows 1 of {0} 1",
      "window_gather: rows 1 of {0} 1", "window_gather: rows 1 of {1} 1", "window_scatter: rows 1 of {0} 1",
      "window_scatter: rows 1 of {1} 1", "window_sum: rows 1 of {0} 1", "window_spread: rows 1 of {0} 1",
      // within an image
      "unfold: rows 2 of {0} 3", "unfold: rows 3 of {0} 4", "fold: rows 3 of {0} 2", "fold: rows 4 of {0} 3"};
  for (const std::string& s : truth().unsaid)
    CHECK_MESSAGE(std::count(known.begin(), known.end(), s) == 1, s);
  for (const std::string& s : known)
    CHECK_MESSAGE(std::count(truth().unsaid.begin(), truth().unsaid.end(), s) == 1, s);
}
TEST_CASE("facts: one that is not said is noticed") {
  const auto unsaid = [](const findings& f, const std::string& s) {
    return std::count(f.unsaid.begin(), f.unsaid.end(), s) == 1;
  };
  const auto linear = [](facts& say) { say.linear = [](const node&, const flags&) { return false; }; };
  const auto zero = [](facts& say) {
    say.zero = [](const node&, const flags&, const flags&) { return false; };
  };
  const auto rows = [](facts& say) {
    say.rows = [](const node&, const tl::shape(&)[3], const row_axis&, tl::extent_t) {
      return rows_of_operands{};
    };
  };
  CHECK(unsaid(examine_with<op::add>(linear), "add: linear {0, 1}"));
  CHECK(unsaid(examine_with<op::add>(zero), "add: zero {0, 1}"));
  CHECK(unsaid(examine_with<op::mul>(zero), "mul: zero {1}"));
  CHECK(unsaid(examine_with<op::pad>(zero), "pad: zero {0}"));
  CHECK(unsaid(examine_with<op::sum>(rows), "sum: rows 0 of {0} 0"));
  CHECK(unsaid(examine_with<op::transpose>(rows), "transpose: rows 1 of {0} 0"));
  CHECK(unsaid(examine_with<op::gather>(rows), "gather: rows 1 of {0} 1"));
}
TEST_CASE("facts: one that is wrong is noticed") {
  const auto in_all = [](facts& say) { say.linear = [](const node&, const flags&) { return true; }; };
  for (const findings& f :
       {examine_with<op::square>(in_all),       examine_with<op::sqrt>(in_all),
        examine_with<op::exp>(in_all),          examine_with<op::log>(in_all),
        examine_with<op::tanh>(in_all),         examine_with<op::erf>(in_all),
        examine_with<op::sigmoid>(in_all),      examine_with<op::relu>(in_all),
        examine_with<op::logical_not>(in_all),  examine_with<op::cast>(in_all),
        examine_with<op::add>(in_all),          examine_with<op::mul>(in_all),
        examine_with<op::div>(in_all),          examine_with<op::pow>(in_all),
        examine_with<op::max>(in_all),          examine_with<op::lt>(in_all),
        examine_with<op::where>(in_all),        examine_with<op::max_reduce>(in_all),
        examine_with<op::concat>(in_all),       examine_with<op::gather>(in_all),
        examine_with<op::scatter_add>(in_all),  examine_with<op::matmul>(in_all),
        examine_with<op::conv_fprop>(in_all),   examine_with<op::argmax>(in_all),
        examine_with<op::window_max>(in_all),   examine_with<op::custom_elementwise>(in_all),
        examine_with<op::spmm>(in_all),         examine_with<op::select>(in_all),
        examine_with<op::checked_index>(in_all)})
    CHECK_FALSE(f.wrong.empty());
  CHECK(examine_with<op::neg>(in_all).wrong.empty());
  // of one operand of two, of both of a product
  const findings sums = examine_with<op::add>(in_all), products = examine_with<op::mul>(in_all);
  CHECK((says(sums, "add: is not linear in {0}") && !says(sums, "add: is not linear in {0, 1}")));
  CHECK((says(products, "mul: is not linear in {0, 1}") && !says(products, "mul: is not linear in {0}")));
  CHECK(says(examine_with<op::scatter_add>(in_all), "scatter_add: is not linear in {0}"));

  const auto zero_in_one = [](facts& say) {
    say.zero = [](const node&, const flags& in, const flags&) { return in[0] || in[1] || in[2]; };
  };
  CHECK(says(examine_with<op::add>(zero_in_one), "add: is not zero where {0} are"));
  CHECK(says(examine_with<op::where>(zero_in_one), "where: is not zero where {1} are"));
  CHECK(says(examine_with<op::exp>(zero_in_one), "exp: is not zero where {0} are"));
  CHECK(says(examine_with<op::sigmoid>([](facts& say) { say.keeps = [](const node&) { return true; }; }),
             "sigmoid: f(0) is not 0"));
  CHECK(says(examine_with<op::relu>([](facts& say) { say.has_zeros = [](const node&) { return true; }; }),
             "relu: is 0 where its operand is not"));
  CHECK(says(examine_with<op::cast>([](facts& say) { say.has_zeros = [](const node&) { return true; }; }),
             "cast: is 0 where its operand is not"));

  const auto is_nonzero = [](facts& say) {
    say.nonzero = [](const node&, tl::dtype, unsigned, unsigned other) { return (other & 1u) != 0; };
  };
  CHECK(says(examine_with<op::pad>(is_nonzero), "pad: is 0 where"));
  CHECK(says(examine_with<op::relu>(is_nonzero), "relu: is 0 where"));
  CHECK(says(examine_with<op::scatter_add>(is_nonzero), "scatter_add: is 0 where"));
  CHECK(examine_with<op::concat>([](facts& say) {
          say.nonzero = [](const node&, tl::dtype, unsigned, unsigned other) { return other == 3; };
        }).wrong.empty());
  const auto moves = [](facts& say) { say.moves = [](const node&) { return true; }; };
  CHECK(says(examine_with<op::cumsum>(moves), "cumsum: has an element"));
  CHECK(says(examine_with<op::exp>(moves), "exp: has an element"));
  const auto adds = [](facts& say) { say.adds = [](const node&) { return true; }; };
  CHECK(says(examine_with<op::neg>(adds), "neg: is no sum"));
  CHECK(says(examine_with<op::square>(adds), "square: is no sum"));
  CHECK(examine_with<op::sum>(adds).wrong.empty());
  for (void (*const wrong)(facts&) : {+is_nonzero, +moves, +adds})
    CHECK_FALSE(examine_with<op::spmm>(wrong).wrong.empty());

  const auto rows_of_first = [](facts& say) {
    say.rows = [](const node&, const tl::shape(&)[3], const row_axis& at, tl::extent_t) {
      rows_of_operands r;
      r.known = true;
      r.operand[0] = at;
      return r;
    };
  };
  CHECK(says(examine_with<op::transpose>(rows_of_first), "transpose: "));
  CHECK(says(examine_with<op::slice>(rows_of_first), "slice: "));
  CHECK(says(examine_with<op::matmul>(rows_of_first), "matmul: "));
  CHECK(says(examine_with<op::conv_fprop>(rows_of_first), rule(op::conv_fprop).name));
  CHECK(examine_with<op::tanh>(rows_of_first).wrong.empty());

  const auto first_axis_summed = [](facts& say) {
    say.summed = [](const node&, const tl::shape(&)[3], int k, const row_axis& from) {
      return row_sum{k == 0 && from.axis == 0, -1, {}};
    };
  };
  CHECK(says(examine_with<op::max_reduce>(first_axis_summed), "max: rows of operand 0 are not summed"));
  CHECK(says(examine_with<op::exp>(first_axis_summed), "exp: rows of operand 0 are not summed"));
  CHECK(says(examine_with<op::neg>(first_axis_summed), "neg: the order of rows of operand 0 matters"));
  CHECK(says(examine_with<op::cumsum>(first_axis_summed), "cumsum: the order of rows of operand 0 matters"));

  const auto nonzero = [](facts& say) {
    say.in_rows = [](const node*, int, const vec<left_out>& of) { return of[of.size() - 2]; };
  };
  CHECK(says(examine_with<op::logical_not>(nonzero), "not: "));
  CHECK(says(examine_with<op::exp>(nonzero), "exp: "));
}
