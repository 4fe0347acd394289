// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Programs of cuda::on<tree> run on an emulated device whose memory is apart from the program's own.
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/backend.hpp>
#include <tapeless/cuda/emulated.hpp>
#include <tapeless/cuda/exec/launch.hpp>
#include <tapeless/cuda/kernels/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace support {

class device_apart : public tapeless::cuda::emulated_device {
  tapeless::detail::block memory_;

public:
  std::byte* allocate(tapeless::extent_t bytes) {
    memory_ = tapeless::detail::block(static_cast<std::size_t>(bytes));
    return memory_.data();
  }
  std::size_t allocated() const { return memory_.size(); }
  template <class T> void store(void* to, T value) const {
    launch(tapeless::cuda::store_kernel{static_cast<std::uint64_t*>(to), tapeless::cuda::bits_of(value)}, 1);
  }
  void copy(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
  device_apart another() const { return {}; }
};

} // namespace support

namespace tapeless::detail {

template <> struct backend_for<cuda_space> {
  using type = cuda::backend<support::device_apart>;
};

} // namespace tapeless::detail
