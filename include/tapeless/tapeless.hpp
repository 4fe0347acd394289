// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// tapeless for the CPU. The includes stand in the order in which a program passes through them.
#pragma once
// g++ compares the locals of lambdas in templates with the globals of the program that instantiates them. The warning of
// clang does not, and stays on.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
// IWYU pragma: begin_exports
#include "core/config.hpp"
#include "version.hpp"
// nouns, and numbers that every back end computes alike
#include "core/dtype.hpp"
#include "core/polygamma.hpp"
#include "core/saturated.hpp"
#include "core/shape.hpp"
#include "core/tensor.hpp"
#include "core/tree.hpp"
// the expression, and what it is made of
#include "expr/handle.hpp"
#include "ops/all.hpp"
// the compiler: trace, derive, plan
#include "trace/function.hpp"
#include "adjoint/transforms.hpp"
#include "plan/explain.hpp"
#include "plan/emit/make_plan.hpp"
// what a back end stands on
#include "plan/backend.hpp"
#include "plan/frame.hpp"
#include "plan/ir/kernel_extents.hpp"
// kernels; nvcc's front end does not take them, and so programs on the host
#if !defined(__NVCC__)
#include "cpu/backend.hpp"
#endif
// run
#include "run/jit.hpp"
#include "run/memory.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "optim/update.hpp"
// IWYU pragma: end_exports
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
