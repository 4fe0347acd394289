// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Questions to cuda_runtime.cpp.
#include <cstddef>

void set_memory_of_the_device(std::size_t bytes);
std::size_t memory_in_use();
// Calls of the runtime that put something on a stream, or make or free something, so far
int calls_of_the_runtime();
