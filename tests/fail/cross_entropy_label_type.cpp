// expect: tapeless: softmax_cross_entropy(logits, label): label is int32, as cast<std::int32_t>(label) is
// extents: index_type
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

#ifdef TAPELESS_BAD
using labels = tl::tensor<float, 4>;
#else
using labels = tl::tensor<std::int32_t, 4>;
#endif
constexpr auto f = [](auto x, auto label) { return tl::mean(tl::softmax_cross_entropy(x, label)); };
constexpr tl::cost cost = tl::jit(f).cost<tl::tensor<float, 4, 10>, labels>();
