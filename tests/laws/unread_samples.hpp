#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Behind every op that has a derivative, what no result reads gets no gradient. The program is op(exp(x)), of whose result a
// part along each axis is read. The elements of x that do not reach this part overflow. Their gradients are 0, and those of the
// others are as if nothing overflowed. An op that loses the zeros of its cotangent is a finding. A new op without a sample does
// not compile here.
#include "op_samples.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace unread_samples {

namespace tl = tapeless;
using namespace op_samples;
using flat = std::vector<double>;

template <class X> constexpr bool is_real =
    is_float(tl::dtype_of<typename X::value_type>) || std::is_same_v<typename X::value_type, tl::bf16>;
// bf16 has no tangent: the argument is float then
template <class X> struct argument_of {
  using type = X;
};
template <auto S> struct argument_of<tl::basic_tensor<tl::bf16, S>> {
  using type = tl::basic_tensor<float, S>;
};
template <bool Real, class... X> using those = decltype(std::tuple_cat(
    std::declval<std::conditional_t<is_real<X> == Real, std::tuple<typename argument_of<X>::type>,
                                    std::tuple<>>>()...));

// exp(x), infinite where x is large, as the op has it
template <class X> constexpr auto grown(auto x) {
  if constexpr (std::is_same_v<typename X::value_type, tl::bf16>) return tl::cast<tl::bf16>(exp(x));
  else return exp(x);
}
inline constexpr auto wide = [](auto y) {
  if constexpr (std::is_same_v<typename decltype(y)::value_type, tl::bf16>) return tl::cast<float>(y);
  else return y;
};

inline constexpr const char* cuts[] = {"slice", "where", "gather", "two conditions"};
inline constexpr int cut_count = 4;

// The law of one sample: F of arguments X.
template <class F, class... X> struct law {
  using reals = those<true, X...>;
  using others = those<false, X...>; // conditions and positions
  static constexpr tl::shape s = traced<F, X...>::result::extents;
  static constexpr bool real[] = {is_real<X>...};

  template <std::size_t K> static constexpr auto argument(const auto& p, const auto& q) {
    constexpr auto before = [] {
      std::size_t n = 0;
      for (std::size_t j = 0; j < K; ++j) n += real[j] == real[K] ? 1 : 0;
      return n;
    }();
    if constexpr (real[K]) return grown<std::tuple_element_t<K, std::tuple<X...>>>(std::get<before>(p));
    else return std::get<before>(q);
  }
  // What is read of axis A: its second half.
  static constexpr int n_of(int axis) { return static_cast<int>(s.d[axis]); }
  template <int A> using mask = tl::tensor<bool, n_of(A)>;
  template <int A> using list = tl::tensor<std::int32_t, n_of(A) - n_of(A) / 2>;
  template <int A, int Cut> static constexpr auto loss = [](auto p, auto q, auto m, auto i) {
    const auto y = wide([&]<std::size_t... K>(std::index_sequence<K...>) {
      return F{}(argument<K>(p, q)...);
    }(std::index_sequence_for<X...>{}));
    if constexpr (Cut == 0) return tl::sum(tl::square(tl::slice<A, n_of(A) / 2, n_of(A)>(y)));
    else if constexpr (Cut != 2) {
      const auto along = [](auto rows) { // (n) as (n, 1, ..)
        return [&]<std::size_t... B>(std::index_sequence<B...>) {
          return tl::reshape<(B == 0 ? n_of(A) : 1)...>(rows);
        }(std::make_index_sequence<static_cast<std::size_t>(s.rank - A)>{});
      };
      if constexpr (Cut == 1) return tl::sum(where(along(m), tl::square(y), 0.0));
      else { // beside it a condition that nobody knows before y
        const auto r = [&]<int... B>(std::integer_sequence<int, B...>) {
          if constexpr (s.rank == 1) return tl::square(y);
          else return tl::sum<(B < A ? B : B + 1)...>(tl::square(y));
        }(std::make_integer_sequence<int, s.rank - 1>{});
        const auto computed = along((m && r > -1.0) || (r > 1e9 && r < 1e10));
        return tl::sum(where(computed, tl::square(y), 0.0)) + tl::sum(where(along(m), y, 0.0));
      }
    } else return tl::sum(tl::square(tl::gather<A>(y, i)));
  };
  template <int A, int Cuts> static constexpr auto of_axis = [](auto p, auto q, auto m, auto i) {
    return [&]<int... C>(std::integer_sequence<int, C...>) {
      return std::tuple{tl::value_and_grad<0>(loss<A, C>)(p, q, m, i)...};
    }(std::make_integer_sequence<int, Cuts>{});
  };

  static void fill(auto& view, const flat& x, std::size_t& from) {
    using E = typename std::remove_cvref_t<decltype(view)>::value_type;
    for (tl::extent_t k = 0; k < view.size(); ++k) { view[k] = static_cast<E>(x[from++]); }
  }
  // An image of which something is read counts as read.
  static void whole_images(std::vector<bool>& is_read, std::size_t& from, const auto& view) {
    const auto images = static_cast<std::size_t>(view.extent(0)),
               each = static_cast<std::size_t>(view.size()) / images;
    for (std::size_t n = 0; n < images; ++n, from += each) {
      std::size_t unread = 0, looked_at = 0;
      const std::size_t step = is_read.size() > 200 ? 7 : 1;
      for (std::size_t k = from; k < from + each; ++k)
        if (k % step == 0) ++looked_at, unread += is_read[k] ? 0 : 1;
      for (std::size_t k = from; k < from + each; ++k) is_read[k] = unread < looked_at || looked_at == 0;
    }
  }
  template <int A, int Cuts> static void check(const std::string& name, bool by_images, std::string& found) {
    constexpr int n = n_of(A);
    if constexpr (n > 1) {
      auto run = tl::jit(of_axis<A, Cuts>).template bind<reals, others, mask<A>, list<A>>();
      tl::owned<reals> p;
      tl::owned<others> q;
      tl::owned<mask<A>> m;
      tl::owned<list<A>> i;
      for_each_leaf(*q, [](auto& view) {
        using E = typename std::remove_cvref_t<decltype(view)>::value_type;
        for (tl::extent_t k = 0; k < view.size(); ++k) view[k] = static_cast<E>((3 * k + 1) % 4);
      });
      for (int k = 0; k < n; ++k) (*m)[k] = k >= n / 2;
      for (int k = 0; k < n - n / 2; ++k) (*i)[k] = n - 1 - k;
      flat x;
      for_each_leaf(*p, [&](const auto& view) {
        for (tl::extent_t k = 0; k < view.size(); ++k)
          x.push_back(-0.3 + 0.013 * static_cast<double>(x.size() * 7 % 60));
      });
      const auto evaluate = [&](const flat& at) { // for each cut its value, then its gradients
        std::size_t from = 0;
        for_each_leaf(*p, [&](auto& view) { fill(view, at, from); });
        const auto results = run(*p, *q, *m, *i);
        flat all;
        for_each_leaf(results, [&](const auto& leaf) {
          for (const auto& e : leaf) all.push_back(static_cast<double>(e));
        });
        return all;
      };
      const flat right = evaluate(x);
      std::vector<bool> is_read(x.size(), true);
      for (std::size_t k = 0; k < x.size(); k += x.size() > 200 ? 7 : 1) { // of many elements some
        flat one = x;
        one[k] = std::numeric_limits<double>::quiet_NaN();
        is_read[k] = std::isnan(evaluate(one)[0]);
      }
      if (by_images) {
        std::size_t from = 0;
        for_each_leaf(*p, [&](const auto& view) { whole_images(is_read, from, view); });
      }
      flat large = x;
      for (std::size_t k = 0; k < x.size(); ++k)
        if (!is_read[k]) large[k] = 1000;
      const flat got = evaluate(large);
      const std::size_t each = 1 + x.size();
      for (std::size_t cut = 0; cut < Cuts; ++cut) {
        bool same = true;
        for (std::size_t k = 0; k < each; ++k) {
          const double a = got[cut * each + k], b = right[cut * each + k];
          same = same && (k > 0 && !is_read[k - 1] ? a == 0 && b == 0
                                                   : std::fabs(a - b) <= 1e-6 * (1 + std::fabs(b)));
        }
        if (!same) found += name + ": axis " + std::to_string(A) + " by " + cuts[cut] + "; ";
      }
    }
  }
  // FirstAxis: along the first axis alone. Cuts: the first ones.
  template <bool FirstAxis, int Cuts> static void check_all(const std::string& name, bool by_images,
                                                            std::string& found) {
    [&]<int... A>(std::integer_sequence<int, A...>) {
      (check<A, Cuts>(name, by_images, found), ...);
    }(std::make_integer_sequence<int, (FirstAxis ? 1 : s.rank)>{});
  }
};

// Ops of images: what is left out within an image is a number like others.
constexpr bool is_by_images(op o) { return o >= op::conv_fprop && o <= op::window_spread; }
// unfold and fold are parts of convolutions of volumes, which hand images to them as a whole.
using small_volume = tl::tensor<double, 2, 2, 3, 2, 2>;
using small_filter = tl::tensor<double, 2, 2, 2, 2, 2>;
// All of these take the same way.
constexpr bool is_of_one_number(op o) { return rule(o).k == kind::elementwise && o < op::add; }
template <op O> constexpr auto unread_samples_of = samples_of<O>;
// Where exp(x) is out of their range.
template <> constexpr auto unread_samples_of<op::asin> = of<M>([](auto a) { return tl::asin(0.5 * a); });
template <> constexpr auto unread_samples_of<op::acos> = of<M>([](auto a) { return tl::acos(0.5 * a); });
template <> constexpr auto unread_samples_of<op::acosh> = of<M>([](auto a) { return tl::acosh(a + 1.0); });
template <> constexpr auto unread_samples_of<op::atanh> = of<M>([](auto a) { return tl::atanh(0.5 * a); });
template <> constexpr auto unread_samples_of<op::erfinv> = of<M>([](auto a) { return tl::erfinv(0.5 * a); });
// Its first operand is a constant.
template <> constexpr auto unread_samples_of<op::polygamma> =
    of<M>([](auto a) { return tl::polygamma<2>(a); });
// The cotangent of a sum is repeated: a product takes it so.
template <> constexpr auto unread_samples_of<op::sum> =
    all(of<T>([](auto a) { return tl::sum<1>(a); }), of<T>([](auto a) { return tl::sum<0, 2>(a); }),
        of<M, N>([](auto a, auto b) { return tl::sum<1>(tl::matmul(a, b)); }));
template <> constexpr auto unread_samples_of<op::unfold> =
    of<small_volume, small_filter>([](auto x, auto w) { return tl::conv3d(x, w); });
template <> constexpr auto unread_samples_of<op::fold> =
    of<small_volume, small_filter>([](auto x, auto w) { return tl::conv_transpose3d(x, w); });
template <op O, class F, class... X> constexpr bool has_derivative = [] {
  const auto& p = traced<F, X...>::value;
  for (int i = 0; i < p.size; ++i)
    if (p.nodes[i].o == O) return rule(O).differentiable && !(O == op::scatter_add && p.nodes[i].in[2] >= 0);
  return false;
}();
template <op O, class F, class... X> void check(sample<F, X...>, int number, std::string& found) {
  if constexpr (has_derivative<O, F, X...>)
    law<F, X...>::template check_all<is_by_images(O) || is_of_one_number(O),
                                     is_of_one_number(O) ? 1 : cut_count>(
        std::string(rule(O).name) + " " + std::to_string(number), is_by_images(O), found);
}
template <op O, class... S> void check(samples<S...>, int, std::string& found) {
  int number = 0;
  (check<O>(S{}, number++, found), ...);
}
template <op> void check(nothing, int, std::string&) {}

// Ops with a derivative behind which zeros are numbers like others (docs/explanation/subgradients.md), or that no program has.
inline constexpr op exempt[] = {op::spmm,       op::sddmm,    op::sparse_solve,  op::spgemm,
                                op::entries_of, op::dense_of, op::custom_tensor, op::straight_through};
constexpr bool is_exempt(op o) {
  for (const op e : exempt)
    if (e == o) return true;
  return false;
}
template <op O>
concept has_law = !rule(O).differentiable || is_exempt(O) ||
                  (has_entry<O> && !std::is_same_v<decltype(unread_samples_of<O>), const nothing>);
// Of the ops from From to before To, the samples, axes and cuts behind which something is passed.
template <op From, op To> std::string findings() {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    std::string r;
    const auto of = [&]<op O>(std::integral_constant<op, O>) {
      static_assert(has_law<O>, "each op with a derivative has a sample, or is exempt");
      check<O>(unread_samples_of<O>, 0, r);
    };
    (of(std::integral_constant<op, static_cast<op>(static_cast<int>(From) + I)>{}), ...);
    return r;
  }(std::make_integer_sequence<int, static_cast<int>(To) - static_cast<int>(From)>{});
}

} // namespace unread_samples
