// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A product and the loop behind it are one product of cuBLASLt where the loop adds a row, takes the relu, or both, and is the
// only reader. Results are those of the CPU.
#include "cublaslt_on_host.hpp"
#include <support/both_back_ends.hpp>

#include <tapeless/cuda/exec/epilogue.hpp>
#include <tapeless/cuda/libs/libraries.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace tl = tapeless;
namespace cuda = tapeless::cuda;
using cublaslt_on_host::epilogues_run, cublaslt_on_host::products_run;

// Products by cuBLASLt, all else kernels on the host. What runs has been asked for at bind.
struct device_with_cublaslt : cuda::emulated_device {
  static inline cuda::options may;
  static inline int launches = 0;
  struct state {
    cuda::libraries has{may};
    std::vector<char> scratch;
    bool lists = false;
    std::vector<std::size_t> noted;
  };
  std::shared_ptr<state> s = std::make_shared<state>();

  bool lists() const { return s->lists; }
  template <class Ask> void prepare(Ask&& ask) const {
    s->lists = true;
    ask();
    s->lists = false;
    s->scratch.resize(s->has.need());
  }
  template <class Kernel> void launch(const Kernel& k, cuda::count_t members, int lanes = 1) const {
    static const char number = 0;
    const auto at = reinterpret_cast<std::size_t>(&number);
    const bool is_noted = std::find(s->noted.begin(), s->noted.end(), at) != s->noted.end();
    if (lists() && !is_noted) s->noted.push_back(at);
    if (lists()) return;
    REQUIRE(is_noted);
    ++launches;
    emulated_device::launch(k, members, lanes);
  }
  cuda::workspace room() const { return {s->scratch.data(), s->scratch.size()}; }
  template <class T, class X>
  void matmul(const tl::matmul_extents& e, const X* a, const X* b, T* c) const {
    if (lists()) s->has.template plan_product<T, X>(e);
    else if (s->has.template multiply<T, X>(e, a, b, c, room(), nullptr)) return;
    cuda::multiply(*this, e, a, b, c);
  }
  template <class T, class X> bool matmul(const tl::matmul_extents& e, const X* a, const X* b, T* c,
                                          const T* bias, bool relu) const {
    if (!lists()) return s->has.template multiply<T, X>(e, a, b, c, room(), nullptr, bias, relu);
    s->has.template plan_product<T, X>(e, bias != nullptr, relu);
    return false;
  }
};
using backend = cuda::backend<device_with_cublaslt>;

// For the time of a case: relus may be parts of products, or plans have no epilogues.
struct with {
  with(bool fused_relu, bool epilogues = true) {
    device_with_cublaslt::may = {.fused_relu = fused_relu};
    cublaslt_on_host::has_epilogues = epilogues;
    begin();
  }
  with(const with&) = delete;
  ~with() {
    device_with_cublaslt::may = {};
    cublaslt_on_host::has_epilogues = true;
  }
  static void begin() { device_with_cublaslt::launches = products_run = epilogues_run = 0; }
};
bool ran(int products, int epilogues, int launches) {
  CHECK(products_run == products);
  CHECK(epilogues_run == epilogues);
  CHECK(device_with_cublaslt::launches == launches);
  return products_run == products && epilogues_run == epilogues && device_with_cublaslt::launches == launches;
}

// How many products of F have an epilogue.
template <class F, class... A> constexpr int epilogues_of(const F&) {
  return []<int... I>(std::integer_sequence<int, I...>) {
    constexpr auto& p = tl::detail::planned_for<false, backend, F, A...>::value;
    return (0 + ... + (cuda::epilogue_of<p>(I).is_epilogue ? 1 : 0));
  }(std::make_integer_sequence<int, tl::detail::planned_for<false, backend, F, A...>::value.steps>{});
}

template <class F, class... A> class on_both {
  cuda_tests::bound_on<tl::detail::backend_for<tl::host>::type, F, A...> host_;
  cuda_tests::bound_on<backend, F, A...> device_;

public:
  template <class... Option> explicit on_both(const F&, std::tuple<A...>*, Option... option)
      : host_(option...), device_(option...) {}
  // The law, as the largest difference.
  double difference(const A&... a) {
    const auto expected = host_(a...);
    with::begin();
    return cuda_tests::difference_of(expected, device_(a...));
  }
  auto& on_host() { return host_; }
  auto& on_device() { return device_; }
};
template <class... A> std::tuple<A...>* of() { return nullptr; }

template <class T> constexpr double rounding = sizeof(T) == 4 ? 2e-5 : 1e-13;

// x (n, k), w (k, m), b (m), each extent with a value of its own
template <class X, class T = float> struct operands {
  using matrix = tl::tensor<X, tl::dyn<'n'>, tl::dyn<'k'>>;
  using weights = tl::tensor<X, tl::dyn<'k'>, tl::dyn<'m'>>;
  using row = tl::tensor<T, tl::dyn<'m'>>;
  static constexpr tl::extent_t most = 13;
  tl::owned<matrix> x{tl::dim<'n'>(most), tl::dim<'k'>(most)};
  tl::owned<weights> w{tl::dim<'k'>(most), tl::dim<'m'>(most)};
  tl::owned<row> b{tl::dim<'m'>(most)};
  operands() {
    cuda_tests::fill(*x, 1);
    cuda_tests::fill(*w, 2);
    cuda_tests::fill(*b, 3);
  }
};
constexpr auto adds_row = [](auto x, auto w, auto b) { return tl::matmul(x, w) + b; };
constexpr auto takes_relu = [](auto x, auto w, auto) { return relu(tl::matmul(x, w)); };
constexpr auto does_both = [](auto x, auto w, auto b) { return relu(b + tl::matmul(x, w)); };

constexpr tl::extent_t extents[] = {0, 1, 2, 7, 13};

template <class X, class T = float, class F> void check_shapes(const F& f) {
  using all = operands<X, T>;
  const all a;
  static_assert(epilogues_of<F, typename all::matrix, typename all::weights, typename all::row>(F{}) == 1);
  on_both run(f, of<typename all::matrix, typename all::weights, typename all::row>(),
              tl::dim<'n'>(all::most), tl::dim<'k'>(all::most), tl::dim<'m'>(all::most));
  for (const tl::extent_t n : extents)
    for (const tl::extent_t k : extents)
      for (const tl::extent_t m : extents) {
        CHECK(run.difference(typename all::matrix(a.x->data(), n, k),
                             typename all::weights(a.w->data(), k, m),
                             typename all::row(a.b->data(), m)) <= rounding<T>);
        if (n * m * k > 0) CHECK(ran(1, 1, 0));
        else CHECK(epilogues_run == 0); // without terms the bias alone
      }
}

} // namespace

TEST_CASE(
    "products with a row, a relu, or both behind them are those of the CPU, for all extents and types") {
  const with fused(true);
  check_shapes<float>(adds_row);
  check_shapes<float>(takes_relu);
  check_shapes<float>(does_both);
  check_shapes<double, double>(does_both);
  check_shapes<tl::bf16>(does_both);
}
TEST_CASE("where cuBLASLt has no epilogue, product and loop run") {
  const with none(true, false);
  const operands<float> a;
  on_both run(does_both, of<operands<float>::matrix, operands<float>::weights, operands<float>::row>(),
              tl::dim<'n'>(13), tl::dim<'k'>(13), tl::dim<'m'>(13));
  CHECK(run.difference(*a.x, *a.w, *a.b) <= rounding<float>);
  CHECK(ran(1, 0, 1));
}

namespace {

template <class A, class B, class C, class F> void check_product(const F& f, int products = 1) {
  static_assert(epilogues_of<F, A, B, C>(F{}) == 1);
  tl::owned<A> a;
  tl::owned<B> b;
  tl::owned<C> c;
  cuda_tests::fill(*a, 4);
  cuda_tests::fill(*b, 5);
  cuda_tests::fill(*c, 6);
  on_both run(f, of<A, B, C>());
  CHECK(run.difference(*a, *b, *c) <= rounding<float>);
  CHECK(ran(products, 1, 0));
}
template <tl::extent_t... N> using tensor = tl::tensor<float, N...>;

} // namespace

TEST_CASE("transposes, batches and extents of 1") {
  const with fused(true);
  constexpr auto left = [](auto a, auto b, auto c) { return relu(tl::matmul(tl::transpose(a), b) + c); };
  constexpr auto right = [](auto a, auto b, auto c) { return relu(tl::matmul(a, tl::transpose(b)) + c); };
  check_product<tensor<5, 3>, tensor<5, 4>, tensor<4>>(left);
  check_product<tensor<3, 5>, tensor<4, 5>, tensor<4>>(right);
  check_product<tensor<6, 3, 5>, tensor<5, 4>, tensor<4>>(does_both);    // one product
  check_product<tensor<6, 3, 5>, tensor<6, 5, 4>, tensor<4>>(does_both); // one bias for all
  check_product<tensor<2, 3, 3, 5>, tensor<2, 3, 5, 4>, tensor<4>>(adds_row);
  check_product<tensor<1, 5>, tensor<5, 4>, tensor<4>>(does_both);
  check_product<tensor<3, 5>, tensor<5, 1>, tensor<1>>(does_both);
  check_product<tensor<3, 1>, tensor<1, 4>, tensor<4>>(does_both);
  check_product<tensor<1, 1>, tensor<1, 1>, tensor<1>>(does_both);
  check_product<tensor<1, 5>, tensor<5, 4>, tensor<1, 4>>(adds_row); // of one row, which is a row
  constexpr auto heads = [](auto a, auto b, auto c) {
    return tl::reshape<3, 2, 2>(tl::matmul(a, b)) + tl::reshape<2, 2>(c);
  };
  check_product<tensor<3, 5>, tensor<5, 4>, tensor<4>>(heads);
}

TEST_CASE("NaN and infinity pass, but for a relu that is a part of a product: it makes 0 of a NaN") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const bool fused_relu : {false, true}) {
    const with option(fused_relu);
    const operands<float> a;
    a.x->data()[5] = inf;
    a.x->data()[22] = nan;
    a.w->data()[3] = -inf;
    a.b->data()[4] = nan;
    a.b->data()[6] = -inf;
    using m = operands<float>::matrix;
    using w = operands<float>::weights;
    using b = operands<float>::row;
    const tl::dim<'n'> n(13);
    const tl::dim<'k'> k(13);
    const tl::dim<'m'> columns(13);
    on_both row(adds_row, of<m, w, b>(), n, k, columns);
    CHECK(row.difference(*a.x, *a.w, *a.b) <= rounding<float>);
    CHECK(ran(1, 1, 0));
    on_both both(does_both, of<m, w, b>(), n, k, columns);
    if (!fused_relu) {
      CHECK(both.difference(*a.x, *a.w, *a.b) <= rounding<float>);
      CHECK(ran(1, 0, 1));
      continue;
    }
    const auto expected = both.on_host()(*a.x, *a.w, *a.b), y = both.on_device()(*a.x, *a.w, *a.b);
    int zeros = 0;
    for (tl::extent_t i = 0; i < y.size(); ++i) {
      const float e = expected.data()[i], of = y.data()[i];
      if (std::isnan(e)) {
        CHECK(of == 0);
        ++zeros;
      } else if (std::isinf(e)) CHECK(of == e);
      else CHECK(std::fabs(of - e) <= 13 * rounding<float>);
    }
    CHECK(zeros >= 26);
  }
}

// ---- Programs
namespace {

struct mlp {
  tl::tensor<float, 5, 8> w0;
  tl::tensor<float, 8, 8> w1, w2;
  tl::tensor<float, 8, 3> w3;
  tl::tensor<float, 8> b0, b1, b2;
  tl::tensor<float, 3> b3;
};
using images = tl::tensor<float, tl::dyn<'n'>, 5>;
using labels = tl::tensor<float, tl::dyn<'n'>, 3>;
constexpr auto forward = [](const auto& p, const auto& x) {
  const auto layer = [](const auto& u, const auto& w, const auto& b) { return relu(tl::matmul(u, w) + b); };
  return tl::matmul(layer(layer(layer(x, p.w0, p.b0), p.w1, p.b1), p.w2, p.b2), p.w3) + p.b3;
};
constexpr auto loss = [](const auto& p, const auto& x, const auto& y) {
  return tl::mean(tl::square(forward(p, x) - y));
};
constexpr auto gradient = tl::value_and_grad<0>(loss);

struct sample {
  tl::owned<mlp> p;
  tl::owned<images> x{tl::dim<'n'>(16)};
  tl::owned<labels> y{tl::dim<'n'>(16)};
  sample() {
    cuda_tests::fill(*p, 7);
    cuda_tests::fill(*x, 8);
    cuda_tests::fill(*y, 9);
  }
};

} // namespace

TEST_CASE("a network of L layers is L products and no loop") {
  const sample d;
  for (const bool fused_relu : {true, false}) {
    const with option(fused_relu);
    on_both run(forward, of<mlp, images>(), tl::dim<'n'>(16));
    for (const tl::extent_t n : {16, 1, 9}) {
      cublaslt_on_host::plans_made = 0;
      CHECK(run.difference(*d.p, images(d.x->data(), n)) <= rounding<float>);
      CHECK(ran(4, fused_relu ? 4 : 1, fused_relu ? 0 : 3));
      if (n == 16) CHECK(cublaslt_on_host::plans_made == 0); // they were made at bind
    }
  }
}
TEST_CASE("gradients of a network are those of the CPU") {
  const sample d;
  for (const bool fused_relu : {true, false}) {
    const with option(fused_relu);
    on_both run(gradient, of<mlp, images, labels>(), tl::dim<'n'>(16));
    for (const tl::extent_t n : {16, 1}) {
      CHECK(run.difference(*d.p, images(d.x->data(), n), labels(d.y->data(), n)) <= rounding<float>);
      CHECK(products_run == 11);
      CHECK(epilogues_run == (fused_relu ? 3 : 0)); // the last one's loop has the loss, too
    }
  }
}
TEST_CASE("a load may have a product with an epilogue") {
  const with fused(true);
  constexpr auto f = [](const auto& p, const auto& x) {
    return relu(tl::matmul(x, relu(tl::matmul(p.w0, p.w1) + p.b0)) + p.b1);
  };
  const sample d;
  on_both run(f, of<mlp, images>(), tl::dim<'n'>(16));
  auto on_host = run.on_host().load(*d.p);
  auto on_device = run.on_device().load(*d.p);
  CHECK(ran(1, 1, 0));
  const auto expected = on_host(*d.x);
  CHECK(cuda_tests::difference_of(expected, on_device(*d.x)) <= rounding<float>);
  CHECK(ran(2, 2, 0));
}

TEST_CASE("a product of the load keeps its loop in the run") {
  const with fused(true);
  constexpr auto f = [](const auto& p, const auto& x) { return tl::matmul(p.w1, p.w2) + x; };
  const sample d;
  tl::owned<tensor<8>> x;
  on_both run(f, of<mlp, tensor<8>>());
  auto on_host = run.on_host().load(*d.p);
  auto on_device = run.on_device().load(*d.p);
  CHECK(ran(1, 0, 0));
  for (int k = 0; k < 2; ++k) {
    cuda_tests::fill(*x, 20 + static_cast<std::uint64_t>(k));
    const auto expected = on_host(*x);
    CHECK(cuda_tests::difference_of(expected, on_device(*x)) <= rounding<float>);
  }
  CHECK(ran(1, 0, 2));
}

// ---- Where the result lies
namespace {
using square = tensor<4, 4>;
}
TEST_CASE("a result that lies on what the product or the loop reads is made by product and loop") {
  const with fused(true);
  constexpr auto f = [](const auto& x, const auto& w, const auto& b) {
    return tl::matmul(x, w) + tl::reshape<4>(b);
  };
  using row = tensor<1, 4>;
  const auto check = [&]<class X, class B>(std::tuple<X, B>*, int place) {
    tl::owned<X> x;
    tl::owned<square> w;
    tl::owned<B> b;
    tl::owned<X> elsewhere;
    cuda_tests::fill(*x, 1);
    cuda_tests::fill(*w, 2);
    cuda_tests::fill(*b, 3);
    on_both run(f, of<X, square, B>());
    const auto y = run.on_host()(*x, *w, *b);
    float* const to[] = {x->data(), w->data(), b->data(), elsewhere->data()};
    with::begin();
    run.on_device().into(X{to[place]})(*x, *w, *b);
    CHECK(cuda_tests::difference_of(y, X{to[place]}) <= rounding<float>);
    if (place == 3) CHECK(ran(1, 1, 0));
    else CHECK(ran(1, 0, 1));
  };
  for (const int place : {0, 1, 3}) check(of<square, row>(), place);
  for (const int place : {0, 2, 3}) check(of<row, row>(), place);
  static_assert(cuda::epilogue_of<tl::detail::planned_for<false, backend, std::remove_cvref_t<decltype(f)>,
                                                          square, square, row>::value>(0)
                    .is_epilogue);
}
TEST_CASE("ranges of bytes overlap where they have an element in common") {
  const std::byte at[8]{};
  CHECK(cuda::overlap(at, 4, at + 3, 4));
  CHECK(cuda::overlap(at + 3, 4, at, 4));
  CHECK(cuda::overlap(at, 8, at + 3, 1));
  CHECK_FALSE(cuda::overlap(at, 4, at + 4, 4));
  CHECK_FALSE(cuda::overlap(at + 4, 4, at, 4));
  CHECK_FALSE(cuda::overlap(at, 0, at, 4));
  CHECK_FALSE(cuda::overlap(at, 4, at, 0));
}

// ---- Loops that are none
namespace {

template <class... A, class F> void check_apart(const F& f) {
  static_assert(epilogues_of<F, A...>(F{}) == 0);
  std::tuple<tl::owned<A>...> a;
  std::apply(
      [seed = std::uint64_t{0}](const auto&... x) mutable {
        (tl::detail::for_each_leaf(*x,
                                   [&](const auto& leaf) { // bool, too
                                     support::splitmix64 random(++seed);
                                     for (auto& e : leaf)
                                       e = static_cast<std::remove_reference_t<decltype(e)>>(
                                           static_cast<float>(random.below(200)) / 100 - 1);
                                   }),
         ...);
      },
      a);
  on_both run(f, of<A...>());
  CHECK(std::apply([&](const auto&... x) { return run.difference(*x...); }, a) <= rounding<float>);
  CHECK(epilogues_run == 0);
}
using m34 = tensor<3, 4>;
using m35 = tensor<3, 5>;
using m54 = tensor<5, 4>;
using r4 = tensor<4>;

} // namespace

TEST_CASE("a product that is read otherwise keeps its loop") {
  const with fused(true);
  // behind the loop
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto& b) {
    const auto y = tl::matmul(x, w);
    return tl::matmul(relu(y + b), tl::transpose(y));
  });
  // as a result
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto& b) {
    const auto y = tl::matmul(x, w);
    return std::tuple{y, y + b};
  });
  // in the loop
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto& b) {
    const auto y = tl::matmul(x, w);
    return (y + b) + y;
  });
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto&) {
    const auto y = tl::matmul(x, w);
    return relu(y + y);
  });
  // partly
  check_apart<m35, m54, r4>(
      [](const auto& x, const auto& w, const auto& b) { return tl::slice<0, 0, 2>(tl::matmul(x, w)) + b; });
  // the loop stores the sum, too
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto& b) {
    const auto y = tl::matmul(x, w) + b;
    return std::tuple{y, relu(y)};
  });
  // and sums it
  check_apart<m35, m54, r4>(
      [](const auto& x, const auto& w, const auto& b) { return tl::sum(tl::matmul(x, w) + b); });
}
TEST_CASE("what is no row, or of another type, is no bias") {
  const with fused(true);
  check_apart<m35, m54, tensor<3, 1>>(adds_row); // a column
  check_apart<m35, m54, tensor<1>>(adds_row);    // a number
  check_apart<m35, m54, m34>(adds_row);
  check_apart<m35, m54, tensor<4, 3>>([](const auto& x, const auto& w, const auto& b) {
    return tl::matmul(x, w) + tl::reshape<4>(tl::slice<1, 1, 2>(b)); // not dense
  });
  check_apart<tensor<2, 3, 5>, m54, tensor<2, 1, 4>>(adds_row); // a row for each matrix
  check_apart<m35, m54, tl::tensor<tl::bf16, 4>>(
      [](const auto& x, const auto& w, const auto& b) { return tl::matmul(x, w) + tl::cast<float>(b); });
  check_apart<m35, m54>([](const auto& x, const auto& w) { return tl::matmul(x, w) + 1.0f; });
}
TEST_CASE("other functions are loops") {
  const with fused(true);
  check_apart<m35, m54, r4>(
      [](const auto& x, const auto& w, const auto& b) { return tanh(tl::matmul(x, w) + b); });
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto& b) { return tl::matmul(x, w) - b; });
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto& b) { return tl::matmul(x, w) * b; });
  check_apart<m35, m54, r4>(
      [](const auto& x, const auto& w, const auto& b) { return relu(tl::matmul(x, w)) + b; });
  check_apart<m35, m54, r4>(
      [](const auto& x, const auto& w, const auto& b) { return tl::matmul(x, w) + relu(b); });
  check_apart<m35, m54, r4>(
      [](const auto& x, const auto& w, const auto& b) { return (tl::matmul(x, w) + b) + b; });
}
TEST_CASE("a step between product and loop keeps them apart") {
  const with fused(true);
  check_apart<m35, m54, r4>([](const auto& x, const auto& w, const auto& b) {
    const auto y = tl::matmul(x, w);
    return relu(y + tl::cumsum<0>(b));
  });
}
TEST_CASE("rows that are counted are not there, and have no bias") {
  const with fused(true);
  constexpr auto f = [](const auto& x, const auto& w, const auto& b) {
    const auto chosen = tl::where<'c'>(tl::sum<1>(x) > 0.0f);
    return relu(tl::matmul(tl::gather(x, chosen), w) + b);
  };
  check_apart<m35, m54, r4>(f);
}
