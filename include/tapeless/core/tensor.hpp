// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// basic_tensor<T, shape, space>: one type with two uses.
//   In a trace it is a handle: (graph, node), extents in the type.
//   At run time it is a view: a pointer and the values of its named extents. It never owns; tl::owned does.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include "config.hpp"
#include "dtype.hpp" // IWYU pragma: export
#include "error.hpp"
#include "no_value.hpp" // IWYU pragma: export
#include "rules.hpp"
#include "run_watch.hpp"
#include "shape.hpp"

namespace tapeless {

// Where a tensor's elements live.
struct host {};

namespace detail {
struct graph;

// The space of the leaves of a sparse matrix that are not its values (csr.hpp).
template <class Space, class Order = void> struct pattern {};
template <class Space> inline constexpr bool is_pattern_space = false;
template <class Space, class Order> inline constexpr bool is_pattern_space<pattern<Space, Order>> = true;

// What a tensor of T may be a view of: a pointer, or elements with a size (std::vector, std::array, std::span, array).
template <class D> inline constexpr bool is_array_lvalue = false;
template <class E, std::size_t N> inline constexpr bool is_array_lvalue<E (&)[N]> = true;
template <class D, class T>
concept pointer_to_elements = !is_array_lvalue<D> && requires(T*& p, D&& d) { p = static_cast<D&&>(d); };
struct no_elements {};
template <class R> constexpr auto elements_at(R& r) {
  if constexpr (std::is_bounded_array_v<R>) return &r[0];
  else if constexpr (requires { *r.data(); }) return r.data();
  else return no_elements{};
}
template <class R> constexpr extent_t number_of(R& r) {
  if constexpr (std::is_bounded_array_v<R>) return static_cast<extent_t>(std::extent_v<R>);
  else return static_cast<extent_t>(r.size());
}
template <class R>
concept sized_elements = !handle_as_index<R> && (std::is_bounded_array_v<R> || requires(R& r) {
  r.begin();
  static_cast<extent_t>(r.size());
});
// A type owns its elements if a const object of it gives const ones; a std::span does not.
template <class D>
concept elements_of_others =
    sized_elements<std::remove_cvref_t<D>> &&
    std::is_same_v<decltype(elements_at(std::declval<std::remove_cvref_t<D>&>())),
                   decltype(elements_at(std::declval<const std::remove_cvref_t<D>&>()))>;
template <class D>
concept elements_of_its_own = sized_elements<std::remove_cvref_t<D>> && !elements_of_others<D>;
template <class D>
concept not_gone_at_once = std::is_lvalue_reference_v<D&&> || elements_of_others<D>;
// const elements for tensor<const T, ...> only; std::vector<bool> has no bools
template <class D, class T>
concept elements_of_this_type =
    std::is_convertible_v<decltype(elements_at(std::declval<std::remove_reference_t<D>&>())), T*>;

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_size(extent_t has, extent_t wanted) {
  if (wanted < 0)
    refuse(
        "tapeless: tensor<T, extents...>(elements, n...): %lld elements for extents that overflow or are negative",
        wide(has));
  refuse("tapeless: tensor<T, extents...>(elements, n...): %lld elements, but the extents have %lld",
         wide(has), wide(wanted));
}
} // namespace detail

template <class T, shape S, class Space = host>
class basic_tensor : public detail::has_no_value<basic_tensor<T, S, Space>> {
public:
  using value_type = std::remove_const_t<T>;
  using element_type = T;
  using space = Space;
  static constexpr shape extents = S;
  static constexpr detail::name_values names = detail::names_of(S);
  static_assert(element<T>,
                "tapeless: tensor<T, extents...>: T is float, double, int32, bool, bf16, uint8 or int64");
  static_assert(detail::numel_representable(S),
                "tapeless: tensor<T, extents...>: at most 2^39 elements and four named extents in one shape");

  constexpr basic_tensor() = default;
  // A view of row-major data, with one value for each distinct name in order of appearance. X(v, n...) of a
  // std::vector, std::array, std::span or array v throws argument_error unless v has as many elements as the extents. A
  // pointer p has no size: X(p, n...) is not checked.
  template <class D, class... N>
    requires(sizeof...(N) == static_cast<std::size_t>(names.count) && detail::pointer_to_elements<D, T>)
  constexpr explicit basic_tensor(D&& data, N... values)
      : data_(data), values_{static_cast<extent_t>(values)...} {}
  template <class D, class... N>
    requires(sizeof...(N) == static_cast<std::size_t>(names.count) && detail::elements_of_its_own<D>)
  constexpr explicit basic_tensor(D&& elements TAPELESS_LIFETIMEBOUND, N... values)
      : values_{static_cast<extent_t>(values)...} {
    look_at<D>(elements);
  }
  template <class D, class... N>
    requires(sizeof...(N) == static_cast<std::size_t>(names.count) && detail::elements_of_others<D>)
  constexpr explicit basic_tensor(D&& elements, N... values) : values_{static_cast<extent_t>(values)...} {
    look_at<D>(elements);
  }
  template <class... N> constexpr explicit basic_tensor(std::nullptr_t, N...) { // for its message
    static_assert(detail::never<N...>,
                  "tapeless: tensor(nullptr, n...): a view has data; tl::owned<X> makes some, and "
                  "X{} is a view that is given its data later");
  }
  template <class D> // for its message
    requires(names.count > 0 && detail::sized_elements<std::remove_cvref_t<D>>)
  constexpr explicit basic_tensor(D&&) {
    static_assert(detail::never<D>,
                  "tapeless: tensor<T, extents...>(elements, n...): a value for each named extent, as in "
                  "tensor<float, dyn<'n'>>(v, n)");
  }
  // A view of mutable data is a view of const data.
  template <class U>
    requires(std::is_const_v<T> && std::is_same_v<U, value_type>)
  constexpr basic_tensor(const basic_tensor<U, S, Space>& o)
      : data_(o.data_), owner_(o.owner_), id_(o.id_), run_(o.run_) {
    for (int i = 0; i < names.count; ++i) values_[i] = o.name_value(i);
  }

  // for its message: h = f(h) of another type
  template <class H>
    requires(!std::same_as<H, basic_tensor>) && detail::handle_as_index<H> &&
            (!std::is_convertible_v<const H&, basic_tensor>)
  constexpr basic_tensor& operator=(const H&) {
    static_assert(
        detail::is_a_number<H>,
        "tapeless: h = y: h keeps the element type and extents that it was declared with; tl::var h = x takes "
        "any");
    return *this;
  }

  // For views. Positions and indices are not checked; extents are those of the run. Cost: none, nothing is copied.
  TAPELESS_READS_RESULT constexpr T* data() const {
    if constexpr (detail::reads_are_checked)
      if (!std::is_constant_evaluated()) require_current();
    return data_;
  }
  static constexpr int rank() { return S.rank; }
  constexpr extent_t extent(int axis) const {
    return detail::is_static(S.d[axis]) ? S.d[axis] : detail::eval(S.d[axis], current());
  }
  constexpr extent_t size() const { return detail::eval(detail::numel(S), current()); }
  TAPELESS_READS_RESULT constexpr T* begin() const { return data(); }
  TAPELESS_READS_RESULT constexpr T* end() const { return data() + size(); }
  TAPELESS_READS_RESULT constexpr T& operator[](extent_t i) const { // row-major position
    if (std::is_constant_evaluated() && owner_ != nullptr) return no_element();
    return data()[i];
  }
  // for its message
  template <detail::handle_as_index I> constexpr basic_tensor operator[](const I&) const {
    static_assert(detail::is_a_number<I>,
                  "tapeless: x[i]: i is a number; the rows of a list are gather(x, list), those of a mask "
                  "gather(x, where<'k'>(mask))");
    return *this;
  }
  // x(i, j, ..): the element at one index for each axis, data()[(i * extent(1) + j) * ..]   @pre 0 <= i < extent(0), ..
  template <class... I>
    requires(sizeof...(I) == static_cast<std::size_t>(S.rank) && (std::is_integral_v<I> && ...))
  TAPELESS_READS_RESULT constexpr T& operator()(I... index) const {
    if (std::is_constant_evaluated() && owner_ != nullptr) return no_element();
    extent_t at = 0;
    int axis = 0;
    ((at = at * extent(axis++) + static_cast<extent_t>(index)), ...);
    return data()[at];
  }

  // For handles: which node of which graph.
  template <std::same_as<detail::graph> G> constexpr basic_tensor(G* g, int id) : owner_(g), id_(id) {}
  template <class G = detail::graph> constexpr G* graph_ptr() const { return static_cast<G*>(owner_); }
  constexpr int id() const { return id_; }
  constexpr extent_t name_value(int i) const { return values_[i]; }
  // Makes it a result of the current run of w.
  void set_watch(detail::run_watch* w) {
    owner_ = w;
    run_ = w->now();
  }

private:
  template <class, shape, class> friend class basic_tensor;
  constexpr T& no_element() const {
    static_cast<detail::rule_watch*>(owner_)->require(
        false, "tapeless: x[i]: a tensor has no elements while tracing; tl::at<axis>(x, i) is traced");
    return const_cast<T&>(zero_);
  }
  template <class D> constexpr void look_at(std::remove_reference_t<D>& elements) {
    static_assert(
        detail::not_gone_at_once<D>,
        "tapeless: tensor<T, extents...>(elements, n...): a view of a temporary: give what holds the "
        "elements a name");
    static_assert(
        detail::elements_of_this_type<D, T>,
        "tapeless: tensor<T, extents...>(elements, n...): the elements are of type T, and const only where "
        "T is; std::vector<bool> holds no bools");
    if constexpr (detail::not_gone_at_once<D> && detail::elements_of_this_type<D, T>) {
      data_ = detail::elements_at(elements);
      const extent_t n = detail::number_of(elements);
      if (const extent_t wanted = checked_size(); n != wanted) detail::refuse_size(n, wanted);
    }
  }
  void require_current() const {
    if (owner_ != nullptr && id_ < 0) detail::require_current(owner_, run_);
  }
  // size(), -1 where a named extent is negative or the product overflows
  constexpr extent_t checked_size() const {
    constexpr extent_t all = detail::numel(S);
    if constexpr (detail::is_static(all)) return all;
    else {
      const detail::name_values v = current();
      extent_t n = detail::coefficient(all);
      for (extent_t packed = detail::names(all); packed != 0; packed >>= detail::name_bits) {
        const extent_t value = v.of(detail::name_of(packed & 63));
        if (value < 0 || __builtin_mul_overflow(n, value, &n)) return -1;
      }
      return n;
    }
  }
  constexpr detail::name_values current() const {
    if (names.count > 0 && std::is_constant_evaluated() && owner_ != nullptr)
      static_cast<detail::rule_watch*>(owner_)->require(
          false,
          "tapeless: x.extent(axis), x.size(): a named extent has no value while tracing; use "
          "tl::mean, or pass the number as an argument");
    detail::name_values v = names;
    for (int i = 0; i < v.count; ++i) v.value[static_cast<std::size_t>(i)] = values_[i];
    return v;
  }

  static constexpr value_type zero_{};
  T* data_ = nullptr;
  extent_t values_[names.count > 0 ? names.count : 1]{};
  detail::tensor_owner* owner_ = nullptr;
  int id_ = -1;           // of a handle
  std::uint32_t run_ = 0; // of a result in checked builds
};

// tensor<float, 3, dyn<'n'>>: element type and extents, in host memory.
template <class T, auto... N> using tensor = basic_tensor<T, shape_of<detail::extent_of(N)...>>;
// A run-time number inside a parameter tree.
template <class T> using scalar = tensor<T>;

namespace detail {
template <class X> inline constexpr bool is_tensor_v = false;
template <class T, shape S, class P> inline constexpr bool is_tensor_v<basic_tensor<T, S, P>> = true;
} // namespace detail

} // namespace tapeless
