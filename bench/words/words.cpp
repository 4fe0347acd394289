// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The library of bench/words/run: each word of the language as a program over long tensors, and the functions of xsimd and SLEEF over
// the same arrays. One thread each.

#include <tapeless/tapeless.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if defined(WITH_SLEEF)
#include <sleef.h>
#endif

namespace {

namespace tl = tapeless;

constexpr tl::extent_t size = 16 << 20, rows = 4096, columns = 4096;
using flat = tl::tensor<float, size>;
using square = tl::tensor<float, rows, columns>;
using V = tl::cpu::simd<float>;

// Two operands and a result of `size` floats, for all but the programs, which have results of their own
struct arrays {
  tl::owned<flat> a, b, y;
};
arrays& data() {
  static arrays all;
  return all;
}

struct word {
  std::string name, peer;
  void (*run)();
};
std::vector<word>& words() {
  static std::vector<word> all;
  return all;
}
template <class X, auto F> void run_one() {
  static auto bound = tl::jit(F).template bind<X>(tl::threads(1));
  bound(X(data().a->data()));
}
template <class X, auto F> void run_two() {
  static auto bound = tl::jit(F).template bind<X, X>(tl::threads(1));
  bound(X(data().a->data()), X(data().b->data()));
}
template <auto F> void lanes_one() {
  const float* const a = data().a->data();
  float* const y = data().y->data();
  for (tl::extent_t i = 0; i < size; i += static_cast<tl::extent_t>(V::size))
    F(V::load_unaligned(a + i)).store_unaligned(y + i);
}
template <auto F> void lanes_two() {
  const float *const a = data().a->data(), *const b = data().b->data();
  float* const y = data().y->data();
  for (tl::extent_t i = 0; i < size; i += static_cast<tl::extent_t>(V::size))
    F(V::load_unaligned(a + i), V::load_unaligned(b + i)).store_unaligned(y + i);
}
// a[i] = 3 b[i]: the rate of memory of a word of one operand; y = 3 a + b of one of two
void stream_one() {
  lanes_one<[](const V& a) { return V(3.0f) * a; }>();
}
void stream_two() {
  lanes_two<[](const V& a, const V& b) { return tl::cpu::fma(V(3.0f), a, b); }>();
}

#define ONE(NAME, EXPRESSION) \
  words().push_back({NAME, "tapeless", run_one<flat, [](auto a) { return EXPRESSION; }>})
#define TWO(NAME, EXPRESSION) \
  words().push_back({NAME, "tapeless", run_two<flat, [](auto a, auto b) { return EXPRESSION; }>})
#define ROWS(NAME, EXPRESSION) \
  words().push_back({NAME, "tapeless", run_one<square, [](auto a) { return EXPRESSION; }>})
#define XSIMD(NAME, F) words().push_back({NAME, "xsimd", lanes_one<[](const V& a) { return xsimd::F(a); }>})
#define XSIMD_TWO(NAME, F) \
  words().push_back({NAME, "xsimd", lanes_two<[](const V& a, const V& b) { return xsimd::F(a, b); }>})
#if defined(WITH_SLEEF) && defined(__AVX512F__)
#define SLEEF_NAME(F, ULP) Sleef_##F##f16_##ULP##avx512f
#elif defined(WITH_SLEEF) && defined(__AVX2__)
#define SLEEF_NAME(F, ULP) Sleef_##F##f8_##ULP##avx2
#endif
#if defined(SLEEF_NAME)
#define SLEEF(NAME, F, ULP) \
  words().push_back({NAME, "sleef", lanes_one<[](const V& a) { return V(SLEEF_NAME(F, ULP)(a)); }>})
#define SLEEF_TWO(NAME, F, ULP) \
  words().push_back(            \
      {NAME, "sleef", lanes_two<[](const V& a, const V& b) { return V(SLEEF_NAME(F, ULP)(a, b)); }>})
#else
#define SLEEF(NAME, F, ULP)
#define SLEEF_TWO(NAME, F, ULP)
#endif

void list_words() {
  words().push_back({"one operand", "stream", stream_one});
  words().push_back({"two operands", "stream", stream_two});
  ONE("exp", exp(a));
  XSIMD("exp", exp);
  SLEEF("exp", exp, u10);
  ONE("log", log(a));
  XSIMD("log", log);
  SLEEF("log", log, u10);
  ONE("tanh", tanh(a));
  XSIMD("tanh", tanh);
  SLEEF("tanh", tanh, u10);
  ONE("erf", tl::erf(a));
  XSIMD("erf", erf);
  SLEEF("erf", erf, u10);
  ONE("erfc", tl::erfc(a));
  XSIMD("erfc", erfc);
  SLEEF("erfc", erfc, u15);
  ONE("sin", tl::sin(a));
  XSIMD("sin", sin);
  SLEEF("sin", sin, u10);
  ONE("erfinv", tl::erfinv(a));
  ONE("lgamma", tl::lgamma(a));
  XSIMD("lgamma", lgamma);
  SLEEF("lgamma", lgamma, u10);
  ONE("digamma", tl::digamma(a));
  TWO("hypot", tl::hypot(a, b));
  XSIMD_TWO("hypot", hypot);
  SLEEF_TWO("hypot", hypot, u05);
  TWO("fmod", tl::fmod(a, b));
  XSIMD_TWO("fmod", fmod);
  TWO("remainder", tl::remainder(a, b));
  TWO("logaddexp", tl::logaddexp(a, b));
  ONE("reciprocal", tl::reciprocal(a));
  ONE("clamp", tl::clamp(a, -0.5, 0.5));
  ONE("trunc", tl::trunc(a));
  ONE("leaky_relu", tl::leaky_relu(a));
  ONE("elu", tl::elu(a));
  ONE("selu", tl::selu(a));
  ONE("gelu", tl::gelu(a));
  ONE("gelu_tanh", tl::gelu_tanh(a));
  ONE("silu", tl::silu(a));
  ONE("mish", tl::mish(a));
  ONE("hardswish", tl::hardswish(a));
  ONE("log_sigmoid", tl::log_sigmoid(a));
  ONE("nan_to_num", tl::nan_to_num(a));
  ROWS("min", tl::min<1>(a));
  ROWS("prod", tl::prod<1>(a));
  ROWS("argmin", tl::argmin<1>(a));
  ROWS("norm", tl::norm<1>(a));
  ROWS("variance", tl::variance<1>(a));
  ROWS("logsumexp", tl::logsumexp<1>(a));
  ROWS("softmax", tl::softmax<1>(a));
  ROWS("cumsum, rows", tl::cumsum<1>(a));
  ROWS("cumsum, columns", tl::cumsum<0>(a));
  ONE("cumsum, one line", tl::cumsum<0>(a));
  ROWS("cumprod, rows", tl::cumprod<1>(a));
  ROWS("cumprod, columns", tl::cumprod<0>(a));
  ROWS("cummax, rows", tl::cummax<1>(a));
  ROWS("cummax, columns", tl::cummax<0>(a));
  ROWS("logcumsumexp, rows", tl::logcumsumexp<1>(a));
  ROWS("logcumsumexp, columns", tl::logcumsumexp<0>(a));
  ROWS("tril", tl::tril(a));
  ROWS("roll", (tl::roll<1, 5>(a)));
  ROWS("flip", tl::flip<1>(a));
}

} // namespace

extern "C" {
int count() {
  if (words().empty()) list_words();
  return static_cast<int>(words().size());
}
const char* name(int i) { return words()[static_cast<std::size_t>(i)].name.c_str(); }
const char* peer(int i) { return words()[static_cast<std::size_t>(i)].peer.c_str(); }
void run(int i) { words()[static_cast<std::size_t>(i)].run(); }
float* operand(int i) { return i == 0 ? data().a->data() : data().b->data(); }
std::int64_t elements() { return size; }
}
