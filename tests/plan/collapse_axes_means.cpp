// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Masks of means and of features.
#include "collapse_axes.hpp"

using namespace collapse_axes;

TEST_CASE_TEMPLATE("masks of axes: of means and of features", Net, means_of_images, of_features) {
  check<Net>();
}
