// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A program that instantiates much: compiled with the warnings that users have, -Wconversion among them.
#include <tapeless/cuda/backend.hpp>
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/program_kernels.hpp>
#include <tapeless/cuda/rtc/kernel_store.hpp>
#include <tapeless/interop/eigen.hpp>
#include <tapeless/io/matrix_market.hpp>
#include <tapeless/io/npz.hpp>
#include <tapeless/io/tree.hpp>
#include <tapeless/run/csr_build.hpp>
#include <tapeless/run/csr_dense.hpp>
#include <tapeless/run/csr_product.hpp>
#include <tapeless/run/csr_tiled.hpp>
#include <tapeless/tapeless.hpp>
#if __has_include(<cublasLt.h>)
#include <tapeless/cuda.hpp>
#endif

namespace tl = tapeless;

namespace {

using images = tl::tensor<float, tl::dyn<'n'>, 4, 12, 12>;
using labels = tl::tensor<std::int32_t, tl::dyn<'n'>>;
struct params {
  tl::tensor<float, 8, 4, 3, 3> w1;
  tl::tensor<float, 8> b1, gamma, beta;
  tl::tensor<float, 8 * 6 * 6, 10> w2;
  tl::tensor<float, 10> b2;
  tl::tensor<float, 100, 8> table;
};
constexpr auto loss = [](const auto& p, auto x, auto label) {
  auto h = tl::relu(tl::conv2d<tl::conv{.padding = 1}>(x, p.w1) + tl::channel(p.b1));
  auto m = tl::max_pool2d<tl::pool{.kernel = 2, .stride = 2}>(tl::group_norm<2>(h, p.gamma, p.beta));
  auto a = tl::avg_pool2d<tl::pool{.kernel = 3, .stride = 1, .padding = 1}>(m);
  auto f = tl::flatten(tl::where(m > 0.5f, m, tl::sigmoid(a)));
  auto kept = tl::gather(p.table, tl::where<'k'>(label > 2));
  return tl::mean(tl::softmax_cross_entropy(tl::matmul(f, p.w2) + p.b2, label)) +
         tl::sum(tl::gather(p.table, label)) + tl::mean(kept);
};
using matrix = tl::csr<double, tl::dyn<'r'>, tl::dyn<'c'>, tl::dyn<'e'>>;
struct files {
  tl::tensor<std::uint8_t, tl::dyn<'n'>, 6> image;
  tl::tensor<std::int64_t, tl::dyn<'n'>> label;
};
constexpr auto casts = [](const auto& in) {
  auto index = tl::cast<std::int32_t>(in.label);
  auto x = tl::cast<float>(tl::gather(in.image, index));
  return std::tuple{tl::cast<std::uint8_t>(x + 0.5f),
                    tl::cast<std::int64_t>(x),
                    tl::cast<bool>(in.label),
                    tl::cast<std::uint8_t>(index),
                    tl::cast<double>(tl::transpose(in.image)),
                    tl::cast<std::int64_t>(tl::cast<double>(in.label)),
                    tl::pad<1, 1, 1>(in.image)};
};
constexpr auto sparse = [](auto a, auto x, auto y) { return tl::sum(tl::square(tl::matmul(a, x) - y)); };

} // namespace

#if __has_include(<cublasLt.h>)
void train_on_device(const tl::cuda::stream& s);
void train_on_device(const tl::cuda::stream& s) {
  using tl::cuda::on;
  const tl::owned<params> q;
  tl::cuda::owned<params> p(s, q), g(s);
  const tl::cuda::owned<images> x(s, tl::dim<'n'>(8));
  const tl::cuda::owned<labels> l(s, tl::dim<'n'>(8));
  constexpr auto step = [](auto w, auto image, auto label, auto rate) {
    return tl::sgd_update(w, tl::grad(loss)(w, image, label), rate);
  };
  auto run =
      tl::jit(step).bind<on<params>, on<images>, on<labels>, float>(s, tl::dim<'n'>(8), tl::cuda::options{});
  run.into (*g)(*p, *x, *l, 0.1f);
  run.capture();
  const tl::cuda::pinned<params> result;
  tl::copy(run(*p, *x, *l, 0.1f), result, s);
  s.wait();
}
#endif

float train(const std::filesystem::path& path);
float train(const std::filesystem::path& path) {
  tl::owned<params> p, g;
  tl::owned<images> x(tl::dim<'n'>(8));
  tl::owned<labels> l(tl::dim<'n'>(8));
  auto step = tl::jit(tl::value_and_grad<0>(loss)).bind_for(*p, *x, *l);
  const auto r = step(*p, *x, *l);
  using step_fn = decltype(tl::value_and_grad<0>(loss));
  using device = tl::cuda::backend<tl::cuda::emulated_device>;
  tl::detail::bound<device, false, step_fn, params, images, labels> on_device(tl::dim<'n'>(8));
  on_device(*p, *x, *l);
  tl::cuda::kernels().prepare(tl::cuda::program_kernels<step_fn, params, images, labels>(), "sm_90");
  tl::owned<files> stored(tl::dim<'n'>(8));
  tl::load_npy(path, *stored);
  auto cast_all = tl::jit(casts).bind_for(*stored);
  cast_all(*stored);
  using casts_fn = std::remove_const_t<decltype(casts)>;
  tl::detail::bound<device, false, casts_fn, files> casts_on_device(tl::dim<'n'>(8));
  casts_on_device(*stored);
  tl::adam<params> adam;
  adam.step(p, std::get<1>(r));
  tl::sgd<params> sgd;
  tl::copy(std::get<1>(r), g);
  sgd.step(p, *g);
  tl::load_npy(path, *p);
  tl::save_npy(path, *p);
  const auto a = tl::load_matrix_market<matrix>(path);
  tl::save_npz(path, *a);
  const auto b = tl::load_npz<matrix>(path);
  const auto c = tl::csr_from_dense<matrix>(*tl::to_dense(*a));
  const auto d = tl::csr_untiled(*tl::csr_tiled(*tl::csr_transposed<matrix>(*c)));
  tl::save_matrix_market(path, *d);
  const std::vector<double> v(8), u(8);
  using columns = tl::tensor<const double, tl::dyn<'c'>>;
  using rows = tl::tensor<const double, tl::dyn<'r'>>;
  auto run = tl::jit(tl::value_and_grad<1>(sparse)).bind_for(*b, columns(v, 8), rows(u, 8));
  return std::get<0>(r)[0] + static_cast<float>(std::get<0>(run(*b, columns(v, 8), rows(u, 8)))[0]);
}

#if __has_include(<cublasLt.h>)
template <class T, class X> bool by_libraries(const X* a, const X* b, T* c);
template <class T, class X> bool by_libraries(const X* a, const X* b, T* c) {
  const tl::cuda::emulated_device device;
  tl::cuda::libraries libraries;
  libraries.plan_product<T, X>({});
  libraries.plan_convolution<X>(tl::cuda::conv_pass::fprop, {});
  return libraries.multiply({}, a, b, c, {}, nullptr) &&
         libraries.convolve<tl::cuda::conv_pass::fprop>(device, {}, a, b, c, {}, nullptr);
}
template bool by_libraries(const float*, const float*, float*);
template bool by_libraries(const double*, const double*, double*);
template bool by_libraries(const tl::bf16*, const tl::bf16*, float*);
#endif
