// expect: tapeless: selection: at most eight names of selections in one program
// within: 40
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

constexpr auto f = [](auto x) {
#ifdef TAPELESS_BAD
  return std::tuple{tl::where<'a'>(x > 0.0f), tl::where<'b'>(x > 1.0f), tl::where<'c'>(x > 2.0f),
                    tl::where<'d'>(x > 3.0f), tl::where<'e'>(x > 4.0f), tl::where<'f'>(x > 5.0f),
                    tl::where<'g'>(x > 6.0f), tl::where<'h'>(x > 7.0f), tl::where<'i'>(x > 8.0f)};
#else
  return std::tuple{tl::where<'a'>(x > 0.0f), tl::where<'b'>(x > 1.0f), tl::where<'c'>(x > 2.0f),
                    tl::where<'d'>(x > 3.0f), tl::where<'e'>(x > 4.0f), tl::where<'f'>(x > 5.0f),
                    tl::where<'g'>(x > 6.0f), tl::where<'h'>(x > 7.0f)};
#endif
};
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>>();
