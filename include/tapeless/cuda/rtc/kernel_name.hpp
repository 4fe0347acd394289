// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// kernel_name<K>(): the function that runs the kernel K, as the device's compiler takes its name:
//   tapeless::cuda::run_kernel<tapeless::cuda::pad_kernel<float>>
// It does not depend on the compiler of the host: names are keys of kernels that are kept in files.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include "../../core/bf16.hpp"
#include "../fused/loop.hpp"

namespace tapeless::cuda {

// A kernel's name, out of that of a function whose one parameter it is. Some compilers leave out what both begin with.
inline std::string parameter_in(const std::string& function) {
  const std::string ours = "tapeless::cuda::";
  const std::size_t first = function.find("Named = ") + 8;
  const std::string name = function.substr(first, function.find_first_of(";]", first) - first);
  return name.compare(0, ours.size(), ours) == 0 ? name : ours + name;
}
template <class Named> std::string class_name() { return parameter_in(__PRETTY_FUNCTION__); }
template <template <class...> class Named> std::string template_name() {
  return parameter_in(__PRETTY_FUNCTION__);
}
template <template <class, bool> class Named> std::string template_name() {
  return parameter_in(__PRETTY_FUNCTION__);
}

// The types of elements and keys
template <class T> inline constexpr const char* element_name = nullptr;
template <> inline constexpr const char* element_name<float> = "float";
template <> inline constexpr const char* element_name<double> = "double";
template <> inline constexpr const char* element_name<bool> = "bool";
template <> inline constexpr const char* element_name<std::int32_t> = "int";
template <> inline constexpr const char* element_name<bf16> = "tapeless::bf16";
template <> inline constexpr const char* element_name<std::uint32_t> = "unsigned";
template <> inline constexpr const char* element_name<std::uint64_t> = "std::uint64_t";

inline std::string loop_name(const std::uint64_t* word, std::size_t words, int lanes) {
  std::string s = "tapeless::cuda::loop_kernel<tapeless::cuda::words<";
  for (std::size_t k = 0; k < words; ++k) {
    char number[32];
    std::snprintf(number, sizeof number, "0x%llxull,", static_cast<unsigned long long>(word[k]));
    s += number;
  }
  s.back() = '>';
  return s + ',' + std::to_string(lanes) + '>';
}

// The name of the class K.
template <class K> struct kernel_class {
  static std::string name() { return class_name<K>(); }
};
template <template <class...> class K, class T, class... X> struct kernel_class<K<T, X...>> {
  static std::string name() {
    static_assert(
        element_name<T> != nullptr && ((element_name<X> != nullptr) && ...),
        "tapeless: cuda: the template arguments of a kernel have a line in cuda/rtc/kernel_name.hpp");
    std::string s = template_name<K>() + '<' + element_name<T>;
    ((s += ',', s += element_name<X>), ...);
    return s + '>';
  }
};
template <template <class, bool> class K, class T, bool B> struct kernel_class<K<T, B>> {
  static std::string name() {
    return template_name<K>() + '<' + element_name<T> + (B ? ",true>" : ",false>");
  }
};
// The name of a loop, whose template arguments are numbers.
template <class K> struct loop_class {
  static constexpr bool is_loop = false, is_custom = false;
};
template <class W, int G, auto... Custom> struct loop_class<loop_kernel<W, G, Custom...>> {
  static constexpr bool is_loop = true, is_custom = sizeof...(Custom) > 0;
  static std::string name() {
    static_assert(
        !is_custom,
        "tapeless: cuda: a custom op of elements has no text for the device: write it with the ops of the library");
    return loop_name(W::word, sizeof(W::word) / sizeof(W::word[0]), G);
  }
};

// Has K a text for the device?
template <class K> inline constexpr bool has_device_text = !loop_class<K>::is_custom;

template <class K> std::string kernel_name() {
  const std::string begin = "tapeless::cuda::run_kernel<";
  if constexpr (loop_class<K>::is_loop) return begin + loop_class<K>::name() + '>';
  else return begin + kernel_class<K>::name() + '>';
}

} // namespace tapeless::cuda
