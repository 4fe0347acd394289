// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include "run/member.hpp"

namespace member_test {

tapeless::bound_t<doubled, column> bound_elsewhere() { return doubled.bind<column>(); }
model made_elsewhere(int n) { return model(n); }
float value_elsewhere(model& m, const rows& x) { return m.same_value(x); }

} // namespace member_test
