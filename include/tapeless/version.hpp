#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// The version of the library. The only place that states it: the build files and the packages read it here.

#define TAPELESS_VERSION_MAJOR 0
#define TAPELESS_VERSION_MINOR 1
#define TAPELESS_VERSION_PATCH 0
