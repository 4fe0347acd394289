// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Numbers that are summed over the rows that a computed mask, or a selection, keeps. Nothing of these rows is read but how
// many there are: value and gradient are those of the loops below, also for masks that keep no row or all of them.
//   f(v, x, s) of losses l = v^T x of columns, and a number s
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <support/random.hpp>
#include <tapeless/tapeless.hpp>

namespace tl = tapeless;

namespace {

using flat = std::vector<double>;
constexpr int inner = 5;
using vector = tl::tensor<double, inner>;
template <tl::extent_t N> using matrix = tl::tensor<double, inner, N>;
using number = tl::tensor<double>;

// What f is, of l and s, and its derivatives.
struct expected {
  double value = 0, by_s = 0;
  flat by_l;
  explicit expected(const flat& l) : by_l(l.size(), 0.0) {}
};

struct where_positive {
  static expected of(const flat& l, double s) {
    expected r(l);
    for (const double e : l) r.value += e > 0 ? s : 0, r.by_s += e > 0 ? 1 : 0;
    return r;
  }
  static constexpr auto f(auto l, auto s) { return tl::sum(tl::where(l > 0.0, s, 0.0)); }
};
struct minimum {
  static expected of(const flat& l, double s) {
    expected r(l);
    for (std::size_t i = 0; i < l.size(); ++i) {
      r.value += std::min(l[i], s);
      (l[i] <= s ? r.by_l[i] : r.by_s) += 1;
    }
    return r;
  }
  static constexpr auto f(auto l, auto s) { return tl::sum(tl::min(l, s)); }
};
struct maximum {
  static expected of(const flat& l, double s) {
    expected r(l);
    for (std::size_t i = 0; i < l.size(); ++i) {
      r.value += std::max(l[i], s);
      (l[i] >= s ? r.by_l[i] : r.by_s) += 1;
    }
    return r;
  }
  static constexpr auto f(auto l, auto s) { return tl::sum(tl::max(l, s)); }
};
struct mean_of_cast {
  static expected of(const flat& l, double s) {
    expected r(l);
    const auto n = static_cast<double>(l.size());
    for (const double e : l) r.value += e > 0.5 ? s : 0, r.by_s += e > 0.5 ? 1 : 0;
    r.value /= n;
    r.by_s /= n;
    return r;
  }
  static constexpr auto f(auto l, auto s) { return tl::mean(s * tl::cast<double>(l > 0.5)); }
};
struct product_of_two { // masks
  static expected of(const flat& l, double s) {
    expected r(l);
    double above = 0, below = 0;
    for (const double e : l) above += e > 0.5 ? 1 : 0, below += e < 0 ? 1 : 0;
    r.value = s * above * s * below;
    r.by_s = 2 * s * above * below;
    return r;
  }
  static constexpr auto f(auto l, auto s) {
    return tl::sum(tl::where(l > 0.5, s, 0.0)) * tl::sum(tl::where(l < 0.0, s, 0.0));
  }
};
struct nested { // a mask of what another one counts
  static expected of(const flat& l, double s) {
    expected r(l);
    double above = 0, higher = 0;
    for (const double e : l) above += e > 0 ? 1 : 0;
    for (const double e : l) higher += e * static_cast<double>(l.size()) > above * 0.3 ? 1 : 0;
    r.value = higher * above * s;
    r.by_s = higher * above;
    return r;
  }
  static constexpr auto f(auto l, auto s) {
    const auto n = tl::sum(tl::where(l == l, 1.0, 0.0)), above = tl::sum(tl::where(l > 0.0, s, 0.0));
    return tl::sum(tl::where(l * n > above / s * 0.3, above, 0.0));
  }
};
struct repeated { // over the rows of a selection
  static expected of(const flat& l, double s) {
    expected r(l);
    for (const double e : l) r.value += e > 0 ? s * s : 0, r.by_s += e > 0 ? 2 * s : 0;
    return r;
  }
  static constexpr auto f(auto l, auto s) {
    const auto rows = tl::where<'k'>(l > 0.0);
    static_cast<void>(rows);
    return tl::sum(tl::broadcast_to<tl::dyn<'k'>>(s * s));
  }
};
struct positions { // 0 + 1 + .. of the rows that are kept
  static expected of(const flat& l, double s) {
    expected r(l);
    double k = 0;
    for (const double e : l) k += e > 0 ? 1 : 0;
    r.by_s = k * (k - 1) / 2;
    r.value = s * r.by_s;
    return r;
  }
  static constexpr auto f(auto l, auto s) {
    return s * tl::sum(tl::cast<double>(tl::iota<0>(tl::gather(l, tl::where<'k'>(l > 0.0)))));
  }
};
struct greatest {
  static expected of(const flat& l, double s) {
    expected r(l);
    r.by_s = static_cast<double>(std::min<std::size_t>(3, l.size()));
    r.value = s * r.by_s;
    return r;
  }
  static constexpr auto f(auto l, auto s) {
    return tl::sum(tl::gather(tl::where(l == l, s, 0.0), tl::top_k<3, 'k'>(l)));
  }
};
// d/ds of s^2 times how many rows are kept, of a selection of another argument than the one that is given
constexpr auto of_selected = [](auto l, auto s) {
  const auto rows = tl::where<'k'>(l > 0.0);
  static_cast<void>(rows);
  return s * tl::sum(tl::broadcast_to<tl::dyn<'k'>>(s));
};
struct gradient {
  static expected of(const flat& l, double s) {
    expected r(l);
    for (const double e : l) r.by_s += std::tanh(e) > 0 ? 2 : 0;
    r.value = r.by_s * s;
    return r;
  }
  static constexpr auto f(auto l, auto s) { return tl::grad<1>(of_selected)(tanh(l), s); }
};
struct gradient_of_gradient {
  static expected of(const flat& l, double s) {
    expected r(l);
    for (const double e : l) r.by_s += e > 0 ? 4 : 0;
    r.value = r.by_s * s;
    return r;
  }
  static constexpr auto f(auto l, auto s) {
    constexpr auto of_gradient = [](auto m, auto t) { return t * tl::grad<1>(of_selected)(tanh(m), t); };
    return tl::grad<1>(of_gradient)(tanh(l), s);
  }
};
template <class P> constexpr auto program = [](auto v, auto x, auto s) { return P::f(tl::matmul(v, x), s); };

template <class P, tl::extent_t N> auto bound() {
  constexpr auto f = tl::jit(tl::value_and_grad<0, 2>(program<P>));
  if constexpr (tl::detail::is_static(N)) return f.template bind<vector, matrix<N>, number>();
  else return f.template bind<vector, matrix<N>, number>(tl::dim<'n'>(37));
}
template <class X> X of_columns(double* data, tl::extent_t n) {
  if constexpr (X::names.count == 0) return X(data);
  else return X(data, n);
}

// sign: 0, or that of all losses
template <class P, tl::extent_t N> void check(auto& run, tl::extent_t n, int sign) {
  CAPTURE(n);
  CAPTURE(sign);
  flat v = support::random_values<double>(inner, 7), s = {1.25};
  flat x =
      support::random_values<double>(static_cast<std::size_t>(inner * n), 11 + static_cast<std::uint64_t>(n));
  if (sign != 0)
    for (double& e : v) e = 0.1 + std::abs(e);
  if (sign != 0)
    for (double& e : x) e = sign * (0.1 + std::abs(e));
  flat l(static_cast<std::size_t>(n), 0.0);
  for (std::size_t k = 0; k < v.size(); ++k)
    for (std::size_t i = 0; i < l.size(); ++i) l[i] += v[k] * x[k * l.size() + i];
  const expected e = P::of(l, s[0]);
  const auto [y, v_bar, s_bar] = run(vector(v.data()), of_columns<matrix<N>>(x.data(), n), number(s.data()));
  CHECK(y[0] == doctest::Approx(e.value));
  CHECK(s_bar[0] == doctest::Approx(e.by_s));
  for (std::size_t k = 0; k < v.size(); ++k) {
    double by_v = 0;
    for (std::size_t i = 0; i < l.size(); ++i) by_v += x[k * l.size() + i] * e.by_l[i];
    CHECK(v_bar[static_cast<tl::extent_t>(k)] == doctest::Approx(by_v));
  }
}
template <class P, tl::extent_t N> void check_all(std::initializer_list<tl::extent_t> extents) {
  auto run = bound<P, N>();
  for (const int sign : {0, 1, -1})
    for (const tl::extent_t n : extents) check<P, N>(run, n, sign);
}

} // namespace

#define ALL_PROGRAMS                                                                                     \
  where_positive, minimum, maximum, mean_of_cast, product_of_two, nested, repeated, positions, greatest, \
      gradient, gradient_of_gradient
TEST_CASE_TEMPLATE("counted rows: a number over the rows that are kept is multiplied by their count", P,
                   ALL_PROGRAMS) {
  check_all<P, tl::dyn<'n'>>({37, 7, 1, 2});
}
TEST_CASE_TEMPLATE("counted rows: of none the sum is 0", P, where_positive, minimum, repeated, positions,
                   gradient) {
  check_all<P, tl::dyn<'n'>>({0, 13, 0});
}
TEST_CASE_TEMPLATE("counted rows: extents known at compile time", P, where_positive, maximum, mean_of_cast) {
  check_all<P, 13>({13});
  check_all<P, 1>({1});
}
TEST_CASE("counted rows: no extent") {
  check_all<where_positive, 0>({0});
  check_all<repeated, 0>({0});
}
