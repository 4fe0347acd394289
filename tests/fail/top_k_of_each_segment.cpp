// expect: tapeless: top_k_of_each<k, segments, 'k'>(values, segment): segment is int32 and has the extent of values
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using segments = tl::tensor<std::int32_t, 7>;
#else
using segments = tl::tensor<std::int32_t, 8>;
#endif
constexpr auto f = [](auto x, auto s) { return tl::top_k_of_each<2, 3, 'k'>(x, s); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 8>, segments>();
