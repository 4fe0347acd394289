// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of several axes behind ops that mix rows.
#include "collapse_axes.hpp"

using namespace collapse_axes;

TEST_CASE_TEMPLATE("masks of axes: behind what mixes rows", Net, images, tokens, embeddings) { check<Net>(); }
