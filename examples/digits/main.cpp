// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// Reads handwritten digits: trains the network of network.hpp with Adam, tests it on images that it has not seen,
// and says what a training step costs. `digits --help` lists the options.

#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "picture.hpp"

#include <tapeless/io/tree.hpp>
#include <tapeless/optim/adam.hpp>
#include <tapeless/tapeless.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <numbers>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "data.hpp"
#include "network.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace {

using namespace digits;

constexpr std::int64_t batch_size = 32;
constexpr double learning_rate = 3e-3;
constexpr double wanted_accuracy = 0.97;      // of each fold
constexpr double wanted_mean_accuracy = 0.98; // of all five

// Two programs from the same network. The compiler has planned them before main begins, and knows their cost.
constexpr auto training_step = tl::jit(tl::value_and_grad<0>(training_loss));
constexpr auto reading = tl::jit(predict);

constexpr tl::cost step_cost = training_step.cost<params, images, labels>();
static_assert(step_cost.adjoint.flops <= 2.1 * step_cost.primal.flops);

// Copies an image, every second one moved by up to a pixel: a network that is shown such images learns strokes
// instead of pixels.
void copy_shifted(std::span<const float> from, std::span<float> to, generator& random) {
  const bool shift = random.below(2) == 0;
  const std::size_t down = shift ? random.below(3) : 1, right = shift ? random.below(3) : 1;
  for (std::size_t row = 0; row < side; ++row)
    for (std::size_t column = 0; column < side; ++column) {
      const std::size_t y = row + down - 1, x = column + right - 1; // wraps to a large number left of 0
      to[row * side + column] = y < side && x < side ? from[y * side + x] : 0;
    }
}

// Trains p. All memory is taken before the first step.
void train(const params& p, const data_set& data, const options& o, const char* title) {
  auto step = training_step.bind<params, images, labels>(tl::dim<'n'>(batch_size), tl::threads(o.threads));
  tl::adam<params> optimizer(tl::adam_options{.learning_rate = learning_rate});
  std::vector<float> batch_images(batch_size * pixels);
  std::vector<std::int32_t> batch_labels(batch_size);
  std::vector<std::size_t> order(data.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  generator random(o.seed);

  const std::int64_t total = o.epochs * static_cast<std::int64_t>(data.size());
  std::int64_t done = 0;
  double shown_loss = std::log(classes), shown_accuracy = 1.0 / classes; // moving means
  progress_bar bar(title, total);
  for (std::int64_t epoch = 0; epoch < o.epochs; ++epoch) {
    random.shuffle(order);
    for (std::size_t first = 0; first < order.size(); first += batch_size) {
      const std::size_t n =
          std::min<std::size_t>(batch_size, order.size() - first); // the last batch is smaller
      for (std::size_t i = 0; i < n; ++i) {
        copy_shifted(data.image(order[first + i]), std::span(batch_images).subspan(i * pixels, pixels),
                     random);
        batch_labels[i] = data.labels[order[first + i]];
      }
      const auto [result, gradient] = step(p, images(batch_images.data(), n), labels(batch_labels.data(), n));
      const auto [mean_loss, right] = result;

      const double way = static_cast<double>(done) / static_cast<double>(total);
      optimizer.set_learning_rate(learning_rate * (1 + std::cos(std::numbers::pi * way)) / 2);
      optimizer.step(p, gradient);

      done += static_cast<std::int64_t>(n);
      shown_loss += 0.02 * (mean_loss[0] - shown_loss);
      shown_accuracy += 0.02 * (right[0] / static_cast<double>(n) - shown_accuracy);
      bar.update(done, shown_loss, shown_accuracy);
    }
  }
}

// The digit that p reads in each image.
std::vector<std::int32_t> read(const params& p, const data_set& data, int threads) {
  const auto count = static_cast<std::int64_t>(data.size());
  auto run = reading.bind<params, images>(tl::dim<'n'>(count), tl::threads(threads));
  const auto digits = run(p, images(data.images.data(), count));
  return {digits.begin(), digits.end()};
}

double accuracy(const std::vector<std::int32_t>& read, const std::vector<std::int32_t>& truth) {
  int right = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) right += read[i] == truth[i];
  return right / static_cast<double>(truth.size());
}

struct fold_result {
  double accuracy = 0;
  double seconds = 0;
  bool restored = false; // the parameters came back from their files as they were
};

// Trains on the larger part of a fold, tests on the rest; misread images are added to the picture.
fold_result run_fold(const data_set& data, const fold& parts, int number, const options& o, data_set& misread,
                     std::vector<std::int32_t>& misread_as) {
  const data_set training = subset(data, parts.train), test = subset(data, parts.test);
  const std::string title = std::string("fold ").append(std::to_string(number));
  fold_result result;
  tl::owned<params> p;
  initialize(*p, o.seed);
  const auto start = std::chrono::steady_clock::now();
  train(*p, training, o, title.c_str());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const std::vector<std::int32_t> answer = read(*p, test, o.threads);
  result.accuracy = accuracy(answer, test.labels);
  for (std::size_t i = 0; i < answer.size(); ++i)
    if (answer[i] != test.labels[i]) {
      misread.labels.push_back(test.labels[i]);
      misread.images.insert(misread.images.end(), test.image(i).begin(), test.image(i).end());
      misread_as.push_back(answer[i]);
    }

  const std::filesystem::path folder =
      std::filesystem::path(o.out) / std::string("fold_").append(std::to_string(number));
  tl::owned<params> again;
  tl::save_npy(folder, *p);
  tl::load_npy(folder, *again);
  result.restored = read(*again, test, o.threads) == answer;
  std::printf("%s: reads %.2f %% of %zu unseen images, trained in %.1f s; parameters in %s, read back: %s\n",
              title.c_str(), 100 * result.accuracy, test.size(), result.seconds, folder.c_str(),
              result.restored ? "the same answers" : "OTHER ANSWERS");
  return result;
}

// A polynomial of first degree in n: "160856 n + 1"
std::string text(const tl::polynomial& p) {
  const double constant = p.at(tl::dim<'n'>(0)), slope = p.at(tl::dim<'n'>(1)) - constant;
  char line[64];
  std::snprintf(line, sizeof line, "%.0f n + %.0f", slope, constant);
  return line;
}

void print_cost() {
  const auto row = [](const char* name, const tl::polynomial& p) {
    char at_batch[32];
    print_thousands(at_batch, static_cast<std::int64_t>(p.at(tl::dim<'n'>(batch_size))));
    std::printf("  %-14s  %-22s  %14s\n", name, text(p).c_str(), at_batch);
  };
  std::printf("\n%-42s%14s\n", "a training step on n images",
              std::string("n = ").append(std::to_string(batch_size)).c_str());
  row("primal flops", step_cost.primal.flops);
  row("adjoint flops", step_cost.adjoint.flops);
  row("primal bytes", step_cost.primal.bytes);
  row("adjoint bytes", step_cost.adjoint.bytes);
  row("arena bytes", step_cost.arena);
  std::printf("  steps           %d primal, %d adjoint\n", step_cost.primal.steps, step_cost.adjoint.steps);
}

void draw(const data_set& misread, const std::vector<std::int32_t>& misread_as, const options& o) {
  if (misread_as.empty()) {
    std::printf("\nno image was misread\n");
    return;
  }
  std::vector<tile> tiles;
  for (std::size_t i = 0; i < misread_as.size(); ++i)
    tiles.push_back({misread.image(i), misread_as[i], misread.labels[i]});
  const std::filesystem::path path = std::filesystem::path(o.out) / "misread.png";
  write_contact_sheet(path.string(), tiles, side, side);
  std::printf("\n%zu misread images (truth > answer): %s\n", tiles.size(), path.c_str());
}

int run(const options& o) {
  const data_set data = load(o.data + "/digits.csv");
  const auto folds = five_folds(data.size(), o.seed);
  std::printf("%zu images, seed %llu\n", data.size(), static_cast<unsigned long long>(o.seed));

  std::vector<fold_result> results;
  data_set misread;
  std::vector<std::int32_t> misread_as;
  for (std::size_t f = 0; f < (o.all_folds ? folds.size() : 1); ++f)
    results.push_back(run_fold(data, folds[f], static_cast<int>(f) + 1, o, misread, misread_as));

  double mean = 0, worst = 1;
  bool restored = true;
  for (const fold_result& r : results) {
    mean += r.accuracy / static_cast<double>(results.size());
    worst = std::min(worst, r.accuracy);
    restored = restored && r.restored;
  }
  if (o.all_folds) {
    std::printf("\nfold   accuracy   seconds\n");
    for (std::size_t f = 0; f < results.size(); ++f)
      std::printf("%4zu   %6.2f %%   %7.1f\n", f + 1, 100 * results[f].accuracy, results[f].seconds);
    std::printf("mean   %6.2f %%\n", 100 * mean);
  }
  print_cost();
  draw(misread, misread_as, o);

  if (worst < wanted_accuracy)
    std::fprintf(stderr, "digits: a fold below the wanted %.0f %%\n", 100 * wanted_accuracy);
  if (o.all_folds && mean < wanted_mean_accuracy)
    std::fprintf(stderr, "digits: the mean is below the wanted %.0f %%\n", 100 * wanted_mean_accuracy);
  if (!restored) std::fprintf(stderr, "digits: saved parameters gave other answers\n");
  const bool good = worst >= wanted_accuracy && (!o.all_folds || mean >= wanted_mean_accuracy) && restored;
  return good ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
  try {
    const options o = parse(count, arguments);
    if (o.help) {
      std::fputs(usage, stdout);
      return 0;
    }
    return run(o);
  } catch (const option_error& e) {
    std::fprintf(stderr, "digits: %s\n%s", e.what(), usage);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "digits: %s\n", e.what());
    return 1;
  }
}
