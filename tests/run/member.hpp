#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A class of a header whose member is a bound object: one class, one program, in all files that include it.
#include <tapeless/tapeless.hpp>

namespace member_test {

using rows = tapeless::tensor<const float, tapeless::dyn<'n'>, 3>;
struct weights {
  tapeless::tensor<float, 3> w;
};

// inline: the lambda is the same in every file. A constexpr variable alone is another one in each, and so would be every
// type that is made of it: g++ warns of that (-Wsubobject-linkage).
inline constexpr auto loss = [](const auto& p, auto x) { return tapeless::mean(tapeless::matmul(x, p.w)); };
inline constexpr auto step = tapeless::jit(tapeless::value_and_grad<0>(loss));

class model {
  tapeless::bound_t<step, weights, rows> step_;
  decltype(step.bind<weights, rows>()) same_;
  tapeless::owned<weights> p_;

public:
  explicit model(int n)
      : step_(step.bind<weights, rows>(tapeless::dim<'n'>(n))),
        same_(step.bind<weights, rows>(tapeless::dim<'n'>(n))) {
    for (float& w : p_->w) w = 2;
  }
  float value(const rows& x) { return std::get<0>(step_(*p_, x))[0]; }
  float same_value(const rows& x) { return std::get<0>(same_(*p_, x))[0]; }
};

// bound in a file without TAPELESS_CHECKED, run in one with it
using column = tapeless::tensor<const float, 3>;
inline constexpr auto doubled = tapeless::jit([](auto x) { return x + x; });
tapeless::bound_t<doubled, column> bound_elsewhere();

model made_elsewhere(int n);
float value_elsewhere(model& m, const rows& x);

} // namespace member_test
