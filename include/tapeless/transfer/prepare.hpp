// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// cuda::prepare: the kernels of a program in a file to ship, so that where it runs nothing is compiled. No device is needed,
// but NVRTC is:
//   tl::cuda::prepare<tl::cuda::on<params>, tl::cuda::on<images>>(step, "step.kernels", {"sm_90", "sm_120"});
// Where the program runs: tl::cuda::kernels().read("step.kernels") ahead of bind, or TAPELESS_KERNELS=step.kernels.
#pragma once
#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>
#include "../core/rules.hpp"
#include "../cuda/backend.hpp"
#include "../cuda/exec/kernel_list.hpp"
#include "../cuda/program_kernels.hpp"
#include "../cuda/rtc/kernel_store.hpp"
#include "../plan/analysis/known_extents.hpp"
#include "../plan/pipeline.hpp"
#include "../run/arguments.hpp"
#include "../run/jit.hpp"

namespace tapeless::cuda {

template <class... X> inline constexpr bool arguments_of_prepare = false;
template <class F, class Path, class Archs>
inline constexpr bool arguments_of_prepare<detail::jit_fn<F>, Path, Archs> =
    std::is_convertible_v<const Path&, std::string> &&
    std::is_convertible_v<const Archs&, std::vector<std::string>>;

// The kernels of program.bind<A...>(), and of run.load(p) if the extents of the first argument are static.
template <class... A, class F> std::vector<std::string> kernels_of(const detail::jit_fn<F>&) {
  std::vector<std::string> names = program_kernels<F, A...>();
  if constexpr (sizeof...(A) > 1)
    if constexpr (detail::all_extents_static<std::tuple_element_t<0, std::tuple<A...>>>())
      for (const std::string& name :
           plan_kernels<detail::planned_for<true, backend<kernel_list>, F, A...>::value>(
               detail::names_of_arguments<A...>()))
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}
// archs: of devices, as {"sm_90", "sm_120"}: a device takes the kernels of its own alone.
// Errors: argument_error where there is none, or no sm_ and digits; cuda::error where a kernel cannot be compiled, or the file not
// written.
template <class... A, class F>
void prepare(const detail::jit_fn<F>& program, const std::string& path,
             const std::vector<std::string>& archs) {
  kernels().write(path, kernels_of<A...>(program), archs);
}
// Other arguments
template <class... A, class... X>
  requires(!arguments_of_prepare<X...>)
void prepare(const X&...) {
  static_assert(
      detail::never<X...>,
      "tapeless: cuda::prepare<arguments...>(program, path, archs): the program is that of jit, the path a string, "
      "archs a list of strings, each as sm_90");
}

} // namespace tapeless::cuda
