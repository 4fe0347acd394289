// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// joined(a, b, ...): strings and numbers in one text, for reports.
#pragma once
#include <concepts>
#include <initializer_list>
#include <string>

namespace tapeless::detail {

// A string, a character or an integer; read within the expression that makes it.
class piece {
  const char* text_ = nullptr; // null: the last size_ of digits_
  std::size_t size_ = 0;
  char digits_[20];

public:
  piece(const char* s) : text_(s), size_(std::char_traits<char>::length(s)) {}
  piece(const std::string& s) : text_(s.data()), size_(s.size()) {}
  piece(char c) : size_(1) { digits_[19] = c; }
  piece(std::integral auto n) {
    auto rest = static_cast<unsigned long long>(n);
    if (n < 0) rest = 0 - rest;
    do {
      digits_[19 - size_++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (n < 0) digits_[19 - size_++] = '-';
  }
  const char* begin() const { return text_ != nullptr ? text_ : digits_ + 20 - size_; }
  const char* end() const { return begin() + size_; }
};
// One function for all texts, so that a program compiles nothing but this call.
[[gnu::cold, gnu::noinline]] inline std::string join(std::initializer_list<piece> pieces) {
  std::string s;
  for (const piece& p : pieces) s.append(p.begin(), p.end());
  return s;
}
template <class... X> std::string joined(const X&... x) { return join({piece(x)...}); }

} // namespace tapeless::detail
