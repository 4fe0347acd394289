#include "residual.hpp"

float run() { return residual::run_arrays<50>(); }
