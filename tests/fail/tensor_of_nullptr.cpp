// expect: tapeless: tensor(nullptr, n...): a view has data; tl::owned<X> makes some, and X{} is a view that is given its data later
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

void use() {
#ifdef TAPELESS_BAD
  X x(nullptr);
#else
  X x{};
#endif
  static_cast<void>(x);
}
