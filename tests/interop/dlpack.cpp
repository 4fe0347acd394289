// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/interop/dlpack.hpp>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>

#include <tapeless/core/bf16.hpp>
#include <tapeless/cuda/on.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/refusal.hpp"

namespace tl = tapeless;
using support::refusal;

namespace {

using images = tl::tensor<float, tl::dyn<'n'>, 3, 2>;
using blocks = tl::tensor<const double, tl::extent_product<2, tl::dyn<'b'>>, tl::dyn<'c'>>;

template <class X> std::string why_not(const DLTensor& t) {
  return refusal([&] { tl::from_dlpack<X>(t); });
}
struct foreign {
  std::vector<float> data = std::vector<float>(24);
  std::int64_t shape[3] = {4, 3, 2}, strides[3] = {6, 2, 1};
  DLTensor t{};
  foreign() {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
    t.data = data.data();
    t.device = {kDLCPU, 0};
    t.ndim = 3;
    t.dtype = {kDLFloat, 32, 1};
    t.shape = shape;
  }
};

} // namespace

TEST_CASE("a view of another library's tensor") {
  foreign f;
  for (std::int64_t* strides : {static_cast<std::int64_t*>(nullptr), f.strides}) {
    f.t.strides = strides;
    const auto x = tl::from_dlpack<images>(f.t);
    CHECK(x.data() == f.data.data());
    CHECK(x.extent(0) == 4);
    CHECK(x(3, 2, 1) == 23);
  }
  f.t.byte_offset = 6 * sizeof(float);
  f.shape[0] = 3;
  CHECK(tl::from_dlpack<images>(f.t)(0, 0, 0) == 6);
  // The stride of an axis of extent 1 does not count.
  f.shape[0] = 1;
  f.strides[0] = 77;
  CHECK(tl::from_dlpack<images>(f.t).extent(0) == 1);
}
TEST_CASE("products of names, and scalars") {
  std::vector<double> data(6 * 5, 2.0);
  std::int64_t shape[] = {6, 5};
  DLTensor t{};
  t.data = data.data();
  t.device = {kDLCPU, 0};
  t.ndim = 2;
  t.dtype = {kDLFloat, 64, 1};
  t.shape = shape;
  CHECK(tl::from_dlpack<blocks>(t).extent(1) == 5);
  shape[0] = 5;
  CHECK(why_not<blocks>(t) == "tapeless: from_dlpack<X>(t): axis 0 of t has the extent 5, and that of X 4");
  t.ndim = 0;
  CHECK(tl::from_dlpack<tl::scalar<double>>(t)() == 2.0);
}
TEST_CASE("a tensor on a device is a cuda::on") {
  foreign f;
  f.t.device = {kDLCUDA, 1};
  CHECK(tl::from_dlpack<tl::cuda::on<images>>(f.t).tree.data() == f.data.data());
  CHECK(why_not<images>(f.t) ==
        "tapeless: from_dlpack<X>(t): t is on a device of type 2: for one of type 2, CUDA, X is "
        "a cuda::on<tensor>; of type 1, the CPU, a tensor");
  f.t.device = {kDLCPU, 0};
  CHECK(why_not<tl::cuda::on<images>>(f.t) != "");
  f.t.device = {kDLCUDAHost, 0}; // memory of the host
  CHECK(why_not<images>(f.t) == "");
}
TEST_CASE("what does not fit is refused") {
  foreign f;
  CHECK(why_not<tl::tensor<float, 4, 3>>(f.t) == "tapeless: from_dlpack<X>(t): t has 3 axes, and X has 2");
  CHECK(why_not<tl::tensor<float, 4, 3, 3>>(f.t) ==
        "tapeless: from_dlpack<X>(t): axis 2 of t has the extent 2, and that of X 3");
  CHECK(why_not<tl::tensor<std::int32_t, 4, 3, 2>>(f.t) ==
        "tapeless: from_dlpack<X>(t): t has elements of code 2 and 32 bits, and X those of int32");
  f.t.dtype.lanes = 4;
  CHECK(why_not<images>(f.t) != "");
  f.t.dtype.lanes = 1;
  f.t.strides = f.strides;
  f.strides[1] = 8;
  CHECK(why_not<images>(f.t) ==
        "tapeless: from_dlpack<X>(t): axis 1 of t has the stride 8, without gaps it is 2: make a "
        "copy of t without gaps first");
}
TEST_CASE("bytes and int64, as images and labels come, go either way; another size or sign is refused") {
  std::uint8_t pixel[6] = {0, 1, 2, 3, 4, 255};
  std::int64_t label[3] = {-1, 0, std::int64_t{1} << 40};
  using image = tl::tensor<std::uint8_t, tl::dyn<'n'>, 2>;
  using labels = tl::tensor<std::int64_t, 3>;
  const tl::dlpack_tensor<DLTensor> images_(image(pixel, 3)), labels_(labels{label});
  CHECK(images_.tensor.dtype.code == kDLUInt);
  CHECK(images_.tensor.dtype.bits == 8);
  CHECK(labels_.tensor.dtype.code == kDLInt);
  CHECK(labels_.tensor.dtype.bits == 64);
  CHECK(tl::from_dlpack<image>(images_.tensor)(2, 1) == 255);
  CHECK(tl::from_dlpack<labels>(labels_.tensor)[2] == std::int64_t{1} << 40);
  CHECK(why_not<tl::tensor<std::int32_t, 3>>(labels_.tensor) ==
        "tapeless: from_dlpack<X>(t): t has elements of code 0 and 64 bits, and X those of int32");
  DLTensor other = images_.tensor;
  other.dtype.code = kDLInt;
  CHECK(why_not<image>(other) ==
        "tapeless: from_dlpack<X>(t): t has elements of code 0 and 8 bits, and X those of uint8");
}
TEST_CASE("to DLPack and back") {
  foreign f;
  const images x(f.data.data(), 4);
  const tl::dlpack_tensor<DLTensor> t(x), on(tl::cuda::on{x}, 3);
  CHECK(t.tensor.device.device_type == kDLCPU);
  CHECK(on.tensor.device.device_type == kDLCUDA);
  CHECK(on.tensor.device.device_id == 3);
  CHECK(tl::from_dlpack<images>(t.tensor)(3, 2, 1) == 23);
  tl::bf16 b[2]{};
  CHECK(tl::dlpack_tensor<DLTensor>(tl::tensor<tl::bf16, 2>(b)).tensor.dtype.code == kDLBfloat);
  bool c[2]{};
  const tl::dlpack_tensor<DLTensor> bools(tl::tensor<bool, 2>{c});
  CHECK(bools.tensor.dtype.bits == 8);
  DLTensor old = bools.tensor;
  old.dtype.code = kDLUInt;
  CHECK(tl::from_dlpack<tl::tensor<bool, 2>>(old).data() == c);
}
#endif
