// expect: tapeless: parameter tree: an aggregate has at most 32 members
// extents: at_most_32_members
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
namespace tl = tapeless;

using t = tl::scalar<float>;
struct params {
  t m0, m1, m2, m3, m4, m5, m6, m7;
  t m8, m9, m10, m11, m12, m13, m14, m15;
  t m16, m17, m18, m19, m20, m21, m22, m23;
  t m24, m25, m26, m27, m28, m29, m30, m31;
#ifdef TAPELESS_BAD
  t m32;
#endif
};
constexpr auto f = [](const auto& p) { return p.m0 + p.m31; };
constexpr tl::cost cost = tl::jit(f).cost<params>();
