// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// rows_selected<Cost, Of>::value: the program of Of in which rows that nobody asks for are left out (rewrite/choose_rows.hpp).
// The first pass may leave work to a second one. Each pass is a constant of its own, for compilers limit what one may take.
#pragma once
#include "../expr/program.hpp"
#include "rewrite/candidates.hpp"
#include "rewrite/choose_masks.hpp"
#include "rewrite/choose_rows.hpp"

namespace tapeless::detail {

// Cost: the back end's cost model.   Of::value: a program
template <class Cost, class Of, row_pass Pass, bool Zeroed> struct first_row_pass {
  constexpr raw_program operator()() const { return with_sparse_rows<Cost>(Of::value, Pass, Zeroed); }
};
template <class Cost, class First> struct second_row_pass {
  constexpr raw_program operator()() const {
    return second_pass_of_rows<Cost>(First::value, First::checked.unfinished);
  }
};
template <class First> struct zeros_in_other_rows {
  constexpr raw_program operator()() const { return with_zeros_in_rows(First::value); }
};
template <class Of> struct zeroed_by_its_masks {
  constexpr raw_program operator()() const { return zeroed_by_masks(written_as(Of::value)); }
};
template <class Make, class Of> using made_of =
    made_program<Make, 3 * Of::value.size + 64, Of::value.output_count>;

template <class Cost, class First> constexpr const auto& cheaper_second_pass() {
  using lists = made_of<second_row_pass<Cost, First>, First>;
  if constexpr (First::checked.unfinished == second_pass_of_axes || lists::checked.broken.found)
    return lists::checked;
  else {
    using zeros = made_of<zeros_in_other_rows<First>, First>;
    if constexpr (zeros::checked.broken.found) return lists::checked;
    else if constexpr (costs_no_more<Cost>(zeros::value, lists::value)) return zeros::checked;
    else return lists::checked;
  }
}
template <class Cost, class Of, row_pass Pass, bool Zeroed> constexpr const auto& with_rows_selected() {
  using first = made_of<first_row_pass<Cost, Of, Pass, Zeroed>, Of>;
  if constexpr (first::checked.unfinished == no_second_pass) return first::value;
  else if constexpr (first::checked.unfinished == second_pass_of_zeros)
    return with_rows_selected<Cost, made_of<zeroed_by_its_masks<Of>, Of>, Pass, true>();
  else {
    constexpr const auto& second = cheaper_second_pass<Cost, first>();
    if constexpr (!second.broken.found) return second.value;
    else return with_rows_selected<Cost, Of, row_pass::only, Zeroed>();
  }
}
template <class Cost, class Of> constexpr const auto& rows_selected_in() {
  if constexpr (selects_rows(Of::value.nodes, Of::value.size))
    return with_rows_selected<Cost, Of, row_pass::first, false>();
  else return Of::value;
}
template <class Cost, class Of> struct rows_selected {
  static constexpr const auto& value = rows_selected_in<Cost, Of>();
};

} // namespace tapeless::detail
