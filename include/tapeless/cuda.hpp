// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// tapeless for NVIDIA GPUs, and for the CPU. It needs the CUDA toolkit, but no CUDA compiler: the CMake target is
// tapeless::cuda.
#pragma once
#if !__has_include(<cuda_runtime_api.h>)
#error "tapeless: cuda.hpp needs the CUDA toolkit: -isystem /usr/local/cuda/include, or tapeless::cuda"
#endif
#include "tapeless.hpp" // IWYU pragma: export
// As in tapeless.hpp
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
// IWYU pragma: begin_exports
#include "cuda/backend.hpp"
#include "cuda/device/device.hpp"
#include "cuda/device/stream.hpp"
#include "cuda/libs/options.hpp"
#include "plan/backend.hpp"
#include "run/options.hpp"
#include "transfer/prepare.hpp"
#include "transfer/trees.hpp"
// IWYU pragma: end_exports
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace tapeless::detail {

template <> struct backend_for<cuda_space> {
  using type = cuda::backend<cuda::device>;
};
template <> inline constexpr bool is_device_option_v<cuda::stream> = true;
template <> inline constexpr bool is_device_option_v<cuda::options> = true;

} // namespace tapeless::detail
