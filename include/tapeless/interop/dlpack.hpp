#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// DLPack: views of other libraries' tensors, on the host or on a device, and the other way round. No element is copied, and
// nobody is asked to keep it: the owner of a DLManagedTensor calls its deleter when no view is used any more. dlpack.h is not
// included here: who calls these functions has included it.
//   auto x = tl::from_dlpack<images>(managed->dl_tensor);                  images: tl::tensor<float, tl::dyn<'n'>, 3, 8, 8>
//   auto y = tl::from_dlpack<tl::cuda::on<images>>(managed->dl_tensor);    of a tensor on a device
//   tl::dlpack_tensor<DLTensor> t(x);  use(&t.tensor);

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "../core/dtype.hpp"
#include "../core/error.hpp"
#include "../core/extent.hpp"
#include "../core/placed.hpp"
#include "../core/shape.hpp"
#include "../core/tensor.hpp"
#include "../core/tree.hpp"
#include "../run/memory.hpp"

namespace tapeless {
namespace detail {

template <class D>
concept dl_tensor = requires(D& t) {
  { t.data } -> std::convertible_to<void*>;
  t.device.device_type;
  t.device.device_id + 0;
  t.ndim + 0;
  t.dtype.code + t.dtype.bits + t.dtype.lanes;
  t.shape[0] + std::int64_t{};
  t.strides == nullptr;
  t.byte_offset + 0;
};

// Numbers of DLPack's: its header may be of any version.
enum class dl_code : int { integer = 0, unsigned_integer = 1, floating = 2, bfloat = 4, boolean = 6 };
enum class dl_device : int { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

constexpr dl_code dl_code_of(dtype t) {
  return t == dtype::bf16                     ? dl_code::bfloat
         : t == dtype::boolean                ? dl_code::boolean
         : t == dtype::u8                     ? dl_code::unsigned_integer
         : t == dtype::i32 || t == dtype::i64 ? dl_code::integer
                                              : dl_code::floating;
}
// A bool was an unsigned byte before it had a code of its own.
constexpr bool is_element_of(int code, int bits, int lanes, dtype t) {
  const bool is_byte_for_bool = t == dtype::boolean && code == static_cast<int>(dl_code::unsigned_integer);
  return lanes == 1 && bits == 8 * size_of(t) &&
         (code == static_cast<int>(dl_code_of(t)) || is_byte_for_bool);
}

template <class X> struct tensor_in {
  using type = X;
};
template <placed X> struct tensor_in<X> {
  using type = typename X::tree_type;
};
template <class X>
concept tensor_or_placed_tensor = is_tensor_v<typename tensor_in<X>::type>;

} // namespace detail

// A view of t as an X, a tensor, or a tensor on a device such as cuda::on<tensor>; on which device is the caller's to know. Cost: none of the elements is touched.
// Errors: argument_error where t is elsewhere, of another element type or of other extents, or has elements that are not in
// the order of rows without gaps.
template <class X, detail::dl_tensor D> X from_dlpack(const D& t) {
  static_assert(detail::tensor_or_placed_tensor<X>,
                "tapeless: from_dlpack<X>(t): X is a tensor, or a tensor on a device, cuda::on<tensor>");
  X view{};
  if constexpr (detail::tensor_or_placed_tensor<X>) {
    using H = typename detail::tensor_in<X>::type;
    using T = typename H::element_type;
    constexpr const char* who = "from_dlpack<X>(t)";
    const auto device = static_cast<detail::dl_device>(t.device.device_type);
    const bool on_device = device == detail::dl_device::cuda || device == detail::dl_device::cuda_managed,
               on_host = device == detail::dl_device::cpu || device == detail::dl_device::cuda_host ||
                         device == detail::dl_device::cuda_managed;
    if (detail::placed<X> ? !on_device : !on_host)
      detail::refuse(
          "tapeless: %s: t is on a device of type %d: for one of type 2, CUDA, X is a cuda::on<tensor>; of "
          "type 1, the CPU, a tensor",
          who, static_cast<int>(t.device.device_type));
    if (!detail::is_element_of(static_cast<int>(t.dtype.code), static_cast<int>(t.dtype.bits),
                               static_cast<int>(t.dtype.lanes), dtype_of<typename H::value_type>))
      detail::refuse("tapeless: %s: t has elements of code %d and %d bits, and X those of %s", who,
                     static_cast<int>(t.dtype.code), static_cast<int>(t.dtype.bits),
                     detail::name_of(dtype_of<typename H::value_type>));
    if (t.ndim != H::extents.rank)
      detail::refuse("tapeless: %s: t has %d axes, and X has %d", who, static_cast<int>(t.ndim),
                     H::extents.rank);
    // A named extent has the value that an axis of no other name has in t.
    detail::name_values names = H::names;
    for (int i = 0; i < names.count; ++i)
      for (int a = 0; a < H::extents.rank; ++a)
        if (const extent_t e = H::extents.d[a], times = detail::coefficient(e);
            times > 0 && detail::names(e) == detail::name_code(names.name[static_cast<std::size_t>(i)]))
          names.value[static_cast<std::size_t>(i)] = t.shape[a] / times;
    std::int64_t stride = 1;
    for (int a = H::extents.rank - 1; a >= 0; --a) {
      const extent_t wanted = detail::eval(H::extents.d[a], names);
      if (t.shape[a] != wanted || wanted < 0)
        detail::refuse("tapeless: %s: axis %d of t has the extent %lld, and that of X %lld", who, a,
                       detail::wide(t.shape[a]), detail::wide(wanted));
      if (t.strides != nullptr && t.shape[a] > 1 && t.strides[a] != stride)
        detail::refuse(
            "tapeless: %s: axis %d of t has the stride %lld, without gaps it is %lld: make a copy of t "
            "without gaps first",
            who, a, detail::wide(t.strides[a]), detail::wide(stride));
      stride *= t.shape[a];
    }
    auto* const data = reinterpret_cast<T*>(static_cast<std::byte*>(t.data) + t.byte_offset);
    if constexpr (detail::placed<X>) view.tree = detail::make_view<H>(data, names);
    else view = detail::make_view<H>(data, names);
  }
  return view;
}

// A tensor of ours as DLPack's: `tensor` points into this object, which therefore stays where it is. device_id: of a tensor on
// a device, 0 where it is not said.
template <detail::dl_tensor D> struct dlpack_tensor {
  D tensor{};
  std::int64_t extents[max_rank]{};

  template <class X> explicit dlpack_tensor(const X& x, int device_id = 0) {
    static_assert(
        detail::tensor_or_placed_tensor<X>,
        "tapeless: dlpack_tensor<DLTensor>(x): x is a tensor, or a tensor on a device, cuda::on<tensor>");
    if constexpr (detail::tensor_or_placed_tensor<X>) {
      if constexpr (detail::placed<X>) set(x.tree, detail::dl_device::cuda, device_id);
      else set(x, detail::dl_device::cpu, 0);
    }
  }
  dlpack_tensor(const dlpack_tensor&) = delete;

private:
  template <class H> void set(const H& x, detail::dl_device device, int device_id) {
    constexpr dtype t = dtype_of<typename H::value_type>;
    using device_type = std::remove_cvref_t<decltype(tensor.device.device_type)>;
    using code_type = std::remove_cvref_t<decltype(tensor.dtype.code)>;
    tensor.data = const_cast<void*>(static_cast<const void*>(x.data()));
    tensor.device.device_type = static_cast<device_type>(device);
    tensor.device.device_id = device_id;
    tensor.ndim = H::extents.rank;
    tensor.dtype.code = static_cast<code_type>(detail::dl_code_of(t));
    tensor.dtype.bits = static_cast<std::remove_cvref_t<decltype(tensor.dtype.bits)>>(8 * detail::size_of(t));
    tensor.dtype.lanes = 1;
    for (int a = 0; a < H::extents.rank; ++a) extents[a] = x.extent(a);
    tensor.shape = extents;
    tensor.strides = nullptr;
    tensor.byte_offset = 0;
  }
};

} // namespace tapeless
