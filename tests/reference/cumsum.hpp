#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// y[.., i, ..] = x[.., 0, ..] + ... + x[.., i, ..]: one flop an element.

#include "array.hpp"

namespace ref {

template <class T>
array<T> cumsum(const array<T>& x, std::int64_t along) {
  array<T> y(x.shape);
  const std::size_t axis = axis_of(x.rank(), along);
  for_each_index(x.shape, [&](dims i) {
    const dims here = i;
    T before(0);
    if (i[axis] > 0) {
      --i[axis];
      before = y.at(i);
    }
    y.at(here) = before + x.at(here);
  });
  return y;
}

} // namespace ref
