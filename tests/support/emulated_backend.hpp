// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Every program that is bound runs on the emulated device. A file is compiled with -include of this header, unedited.
#include <tapeless/tapeless.hpp>

#include <tapeless/cuda/backend.hpp>

#include "noting_device.hpp"

namespace tapeless::detail {

struct emulated_space {};
template <> struct backend_for<emulated_space> {
  using type = cuda::backend<support::noting_device>;
};
template <> struct program_space<> {
  using type = emulated_space;
};
template <class A, class... More> struct program_space<A, More...> {
  using type = emulated_space;
};

} // namespace tapeless::detail
