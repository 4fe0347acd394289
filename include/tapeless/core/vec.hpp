// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// A growable array for constant evaluation. It takes about a quarter of the evaluation steps of std::vector, and clang
// rejects the constexpr vector::resize of libstdc++ 12.
#pragma once

namespace tapeless::detail {

template <class T> class vec {
  T* p_ = nullptr;
  int n_ = 0, cap_ = 0;

public:
  constexpr vec() = default;
  constexpr vec(int n, const T& x) : p_(n > 0 ? new T[static_cast<unsigned>(n)] : nullptr), n_(n), cap_(n) {
    int i = 0;
    for (; i + 8 <= n; i += 8) // one statement: a step for the limit of clang
      p_[i] = p_[i + 1] = p_[i + 2] = p_[i + 3] = p_[i + 4] = p_[i + 5] = p_[i + 6] = p_[i + 7] = x;
    for (; i < n; ++i) p_[i] = x;
  }
  constexpr vec(const vec& o)
      : p_(o.n_ > 0 ? new T[static_cast<unsigned>(o.n_)] : nullptr), n_(o.n_), cap_(o.n_) {
    for (int i = 0; i < n_; ++i) p_[i] = o.p_[i];
  }
  constexpr vec(vec&& o) noexcept : p_(o.p_), n_(o.n_), cap_(o.cap_) {
    o.p_ = nullptr;
    o.n_ = o.cap_ = 0;
  }
  constexpr vec& operator=(vec o) noexcept {
    T* const q = p_;
    p_ = o.p_;
    o.p_ = q;
    n_ = o.n_;
    cap_ = o.cap_;
    return *this;
  }
  constexpr ~vec() { delete[] p_; }

  constexpr int size() const { return n_; }
  constexpr bool empty() const { return n_ == 0; }
  constexpr T& operator[](int i) { return p_[i]; }
  constexpr const T& operator[](int i) const { return p_[i]; }
  constexpr T& back() { return p_[n_ - 1]; }
  constexpr T* begin() { return p_; }
  constexpr T* end() { return p_ + n_; }
  constexpr const T* begin() const { return p_; }
  constexpr const T* end() const { return p_ + n_; }
  constexpr bool contains(const T& x) const {
    for (int i = 0; i < n_; ++i)
      if (p_[i] == x) return true;
    return false;
  }
  constexpr void clear() { n_ = 0; }
  constexpr void truncate(int n) { n_ = n; }
  constexpr void push_back(const T& x) {
    if (n_ == cap_) {
      const int c = cap_ > 0 ? 2 * cap_ : 16;
      T* const q = new T[static_cast<unsigned>(c)];
      for (int i = 0; i < n_; ++i) q[i] = p_[i];
      delete[] p_;
      p_ = q;
      cap_ = c;
    }
    p_[n_++] = x;
  }
  constexpr T pop_back() { return p_[--n_]; }
};

} // namespace tapeless::detail
