// expect: tapeless: out << x: a tensor is not printed as a whole: a result of rank 0 is y[0], the elements of any are for (float e : y)
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <ostream>
namespace tl = tapeless;

using X = tl::tensor<float, 16, 8>;

void use(std::ostream& out, X x) {
  auto run = tl::jit([](auto y) { return tl::sum(y); }).bind<X>();
#ifdef TAPELESS_BAD
  out << "loss " << run(x) << "\n";
#else
  out << "loss " << run(x)[0] << "\n";
#endif
}
