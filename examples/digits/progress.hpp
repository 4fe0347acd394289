#pragma once
// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// A progress bar on stdout. On a terminal one line is redrawn ten times a second:
//   fold 1  [############------------]  52 %  loss 0.1042  accuracy 97.3 %  184,000 images/s
// elsewhere (a file, a log) a plain line is written at every tenth of the way. An update allocates nothing.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace digits {

// 1234567 -> "1,234,567"
inline void print_thousands(char (&text)[32], std::int64_t number) {
  char plain[24];
  const int length =
      std::snprintf(plain, sizeof plain, "%lld", static_cast<long long>(std::max<std::int64_t>(number, 0)));
  std::size_t to = 0;
  for (int i = 0; i < length; ++i) {
    if (i > 0 && (length - i) % 3 == 0) text[to++] = ',';
    text[to++] = plain[i];
  }
  text[to] = '\0';
}

class progress_bar {
public:
  // title must outlive the bar; total images, at least 1.
  progress_bar(const char* title, std::int64_t total, bool terminal = ::isatty(STDOUT_FILENO) != 0)
      : title_(title),
        total_(std::max<std::int64_t>(total, 1)),
        terminal_(terminal),
        start_(clock::now()),
        drawn_(start_ - redraw) {}
  ~progress_bar() {
    if (terminal_ && line_open_) std::fputc('\n', stdout);
    std::fflush(stdout);
  }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  // done images of the total so far; accuracy from 0 to 1.
  void update(std::int64_t done, double loss, double accuracy) {
    const clock::time_point now = clock::now();
    done = std::clamp<std::int64_t>(done, 0, total_);
    const std::int64_t tenth = done * 10 / total_;
    const bool last = done == total_ && !finished_;
    if (terminal_ ? !last && now - drawn_ < redraw : tenth == tenth_) return;
    drawn_ = now;
    tenth_ = tenth;
    finished_ = done == total_;
    draw(done, loss, accuracy, std::chrono::duration<double>(now - start_).count());
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds redraw{100};

  void draw(std::int64_t done, double loss, double accuracy, double seconds) {
    constexpr int cells = 24;
    char bar[cells + 1] = {};
    const int full = static_cast<int>(done * cells / total_);
    std::fill(bar, bar + full, '#');
    std::fill(bar + full, bar + cells, '-');
    char speed[32];
    print_thousands(speed, seconds > 0 ? static_cast<std::int64_t>(static_cast<double>(done) / seconds) : 0);
    char line[256];
    std::snprintf(line, sizeof line, "%s  [%s] %3d %%  loss %.4f  accuracy %.1f %%  %s images/s", title_, bar,
                  static_cast<int>(done * 100 / total_), loss, 100 * accuracy, speed);
    if (terminal_) std::printf("\r%s\033[K", line); // clears what a longer line left
    else std::printf("%s\n", line);
    std::fflush(stdout);
    line_open_ = true;
  }

  const char* title_;
  std::int64_t total_;
  bool terminal_;
  bool line_open_ = false;
  bool finished_ = false;
  clock::time_point start_;
  clock::time_point drawn_;
  std::int64_t tenth_ = 0;
};

} // namespace digits
