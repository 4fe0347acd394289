// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// kernel_name<K>(): the function that runs the kernel K, as the device's compiler takes its name:
//   tapeless::cuda::run_kernel<tapeless::cuda::pad_kernel<float>>
// Behind that of a loop with custom ops stands, after a semicolon, their text. A name is one line.
// It does not depend on the compiler of the host: names are keys of kernels that are kept in files.
#pragma once
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include "../../core/bf16.hpp"
#include "../fused/loop.hpp"
#include "../fused/loop_code.hpp"

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
template <template <class, int> class Named> std::string template_name() {
  return parameter_in(__PRETTY_FUNCTION__);
}

// The types of elements and keys
template <class T> inline constexpr const char* element_name = nullptr;
template <> inline constexpr const char* element_name<float> = "float";
template <> inline constexpr const char* element_name<double> = "double";
template <> inline constexpr const char* element_name<bool> = "bool";
template <> inline constexpr const char* element_name<std::int32_t> = "int";
template <> inline constexpr const char* element_name<bf16> = "tapeless::bf16";
template <> inline constexpr const char* element_name<std::uint8_t> = "std::uint8_t";
template <> inline constexpr const char* element_name<std::int64_t> = "std::int64_t";
template <> inline constexpr const char* element_name<std::uint32_t> = "unsigned";
template <> inline constexpr const char* element_name<std::uint64_t> = "std::uint64_t";

inline std::string loop_name(std::span<const std::uint64_t> words, int lanes) {
  std::string s = "tapeless::cuda::loop_kernel<tapeless::cuda::words<";
  for (const std::uint64_t word : words) {
    char number[32];
    std::snprintf(number, sizeof number, "0x%llxull,", static_cast<unsigned long long>(word));
    s += number;
  }
  s.back() = '>';
  return s + ',' + std::to_string(lanes) + '>';
}

// The k-th custom op of a loop, whose primal has this body
inline std::string custom_text(int k, const std::string& type, const char* body) {
  std::string s = ";template <> TAPELESS_KERNEL " + type + " tapeless::cuda::custom_function<" +
                  std::to_string(k) + ',' + type + ">(" + type + " x, " + type + " y, " + type +
                  " z) { using T = " + type + "; ";
  if (body != nullptr)
    for (; *body != 0; ++body) s += *body == '\n' ? ' ' : *body;
  return s + " }";
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
template <template <class, int> class K, class T, int N> struct kernel_class<K<T, N>> {
  static std::string name() {
    return template_name<K>() + '<' + element_name<T> + ',' + std::to_string(N) + '>';
  }
};
// The name of a loop, whose template arguments are numbers.
template <class K> struct loop_class {
  static constexpr bool is_loop = false, has_text = true;
};
template <class W, int G, auto... Custom> struct loop_class<loop_kernel<W, G, Custom...>> {
  static constexpr bool is_loop = true, has_text = ((Custom->device != nullptr) && ...);
  static std::string name() {
    std::string s = loop_name(W::word, G);
    s.pop_back();
    for (std::size_t k = 0; k < sizeof...(Custom); ++k) (s += ',') += std::to_string(k);
    return s + '>';
  }
  // Its custom ops, each a specialisation of custom_function
  static std::string text() {
    static_assert(
        has_text,
        "tapeless: cuda: a custom op of elements has the text of its primal for the device: static constexpr "
        "const char* device = \"return x * x;\", see tapeless/ops/custom.hpp");
    std::string s;
    [[maybe_unused]] int k = 0;
    ((s += custom_text(k++, element_name<typename loop_words<W>::T>, Custom->device)), ...);
    return s;
  }
};

// Has K a text for the device?
template <class K> inline constexpr bool has_device_text = loop_class<K>::has_text;

template <class K> std::string kernel_name() {
  const std::string begin = "tapeless::cuda::run_kernel<";
  if constexpr (loop_class<K>::is_loop) return begin + loop_class<K>::name() + '>' + loop_class<K>::text();
  else return begin + kernel_class<K>::name() + '>';
}

} // namespace tapeless::cuda
