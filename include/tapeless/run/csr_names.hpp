// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// csr_names: the values of the named extents of a matrix type, as its arrays give them.
#pragma once
#include <limits>
#include <type_traits>
#include "../core/csr.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"

namespace tapeless::detail {

inline constexpr extent_t largest_index = 2147483647;

// The type of the row ends of a matrix type.
template <class A> using row_end_of = typename A::row_end_type::value_type;
template <class A> inline constexpr extent_t largest_nnz = std::numeric_limits<row_end_of<A>>::max();

template <class A>
concept host_sparse_matrix = is_csr_v<A> && std::is_same_v<typename A::values_type::space, host>;
template <extent_t E>
concept number_or_name = is_static(E) || (degree(E) == 1 && coefficient(E) == 1);

// The values of the names of a matrix type.
class csr_names {
  const char* who_;
  name_values values_;
  std::array<const char*, max_program_names> from_{};

public:
  explicit csr_names(const char* who) : who_(who) {}

  // The extent of this axis is e in the type and n in the data.
  void take(const char* axis, extent_t e, extent_t n) {
    if (n < 0) refuse("tapeless: %s: %s = %lld: an extent is not negative", who_, axis, wide(n));
    if (is_static(e)) {
      if (n != e)
        refuse("tapeless: %s: %s = %lld, but the matrix type has %lld", who_, axis, wide(n), wide(e));
      return;
    }
    const char name = name_of(names(e));
    const bool known = values_.find(name) >= 0;
    const auto k = static_cast<std::size_t>(values_.add(name));
    if (known && values_.value[k] != n)
      refuse("tapeless: %s: %s says %c = %lld, but %s says %c = %lld", who_, axis, name, wide(n), from_[k],
             name, wide(values_.value[k]));
    values_.value[k] = n;
    from_[k] = axis;
  }
  template <class A> void take_rows_and_cols(extent_t rows, extent_t cols) {
    static_assert(number_or_name<A::extents.d[0]> && number_or_name<A::extents.d[1]> &&
                      number_or_name<A::values_type::extents.d[0]>,
                  "tapeless: csr<T, rows, cols, nnz>: an extent is a number or one name");
    take_position("rows", A::extents.d[0], rows);
    take_position("cols", A::extents.d[1], cols);
  }
  template <class A> void take_nnz(extent_t nnz) {
    if (nnz > largest_nnz<A>)
      refuse(
          "tapeless: %s: nnz = %lld: at most 2147483647, row ends are std::int32_t; csr<T, rows, cols, nnz, "
          "std::int64_t> has more",
          who_, wide(nnz));
    take("nnz", A::values_type::extents.d[0], nnz);
  }
  const name_values& values() const { return values_; }

private:
  void take_position(const char* axis, extent_t e, extent_t n) {
    if (n > largest_index)
      refuse("tapeless: %s: %s = %lld: at most 2147483647, positions are std::int32_t", who_, axis, wide(n));
    take(axis, e, n);
  }
};

} // namespace tapeless::detail
