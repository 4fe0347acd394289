// expect: tapeless: cuda::on<tree>: a leaf is a tensor; a node is a std::array, std::tuple or aggregate of trees
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#include <tapeless/tapeless.hpp>
#include <tapeless/cuda/on.hpp>
#include <vector>
namespace tl = tapeless;

using X = tl::tensor<float, 4>;
#ifdef TAPELESS_BAD
const tl::cuda::on x(std::vector<float>{});
#else
const tl::cuda::on x(X{});
#endif
