#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Arrays of more elements than there is memory for: addresses, whose pages come with the first write.
#include <cstddef>
#include <cstdint>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace support {

template <class T> class reserved {
  T* data_ = nullptr;
  std::size_t bytes_;

public:
  explicit reserved(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(T)) {
#ifdef MAP_NORESERVE
    void* const p =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) data_ = static_cast<T*>(p);
#endif
  }
  reserved(const reserved&) = delete;
  reserved& operator=(const reserved&) = delete;
  ~reserved() {
#ifdef MAP_NORESERVE
    if (data_ != nullptr) munmap(data_, bytes_);
#endif
  }
  T* data() const { return data_; } // null where the system grants no such addresses
};

} // namespace support
