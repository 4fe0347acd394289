// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
#pragma once
// Every program of host trees that is bound runs on the device as one of cuda::on<tree>: its arguments are copied there, its
// results back. A file is compiled with -include of this header, unedited. With TAPELESS_CUDA_EMULATED the device is that of
// cuda_runtime.cpp. What is not there: run.into, run.load, bind_for.
#include <tapeless/cuda.hpp>

#include <tapeless/cpu/backend.hpp>
#include <tapeless/cuda/program_kernels.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace support {

// How the programs of the process run
struct device_runs {
  bool copies = true; // false: arguments are those of the run before, and results stay on the device
  bool eager = false; // no graphs
};
inline device_runs& how_programs_run() {
  static device_runs how;
  return how;
}

// The kernels of all programs that a process can bind. Nothing is bound for that, and no device is needed.
using kernels_of_a_program = std::vector<std::string> (*)();
inline std::vector<kernels_of_a_program>& bound_programs() {
  static std::vector<kernels_of_a_program> all;
  return all;
}
inline void write_kernels(const std::string& path, const std::string& arch) {
  std::vector<std::string> names;
  std::map<std::string, bool> known;
  for (const kernels_of_a_program kernels : bound_programs())
    for (const std::string& name : kernels())
      if (!std::exchange(known[name], true)) names.push_back(name);
  tapeless::cuda::kernels().write(path, names, {arch});
}

// Where the device counts the rows of a selection, by the selection's name
struct counted_rows {
  std::map<char, const tapeless::cuda::index_t*> at;
};
struct notes_counts {
  counted_rows* to;
};

// The user's device, but for what tests ask of it.
class device_of_tests : public tapeless::cuda::device {
  counted_rows* counts_ = nullptr;
  device_of_tests(device&& d, counted_rows* counts) : device(std::move(d)), counts_(counts) {}
  template <class Option> static void take(counted_rows*& counts, const Option& option) {
    if constexpr (std::is_same_v<Option, notes_counts>) counts = option.to;
  }

public:
  template <class... Option> static device_of_tests with(const Option&... option) {
    counted_rows* counts = nullptr;
    (take(counts, option), ...);
    return {device::with(option...), counts};
  }
  device_of_tests another() const { return {device::another(), counts_}; }
  void tell(const tapeless::cuda::index_t* count, tapeless::detail::name_values&, char name) const {
    counts_->at[name] = count;
  }
  template <class Steps>
  void run_or_replay(const tapeless::detail::run_context& c, int inputs, void* const* result, int outputs,
                     Steps&& steps) const {
    if (how_programs_run().eager) steps();
    else device::run_or_replay(c, inputs, result, outputs, steps);
  }
};

// The back end of host trees
struct on_the_device : tapeless::cuda::backend<tapeless::cuda::device> {
  using space = tapeless::host;
  // Optimizers that are called on the host run there.
  using on_the_host = tapeless::detail::backend_for<tapeless::host>::type;
  template <class T> using lanes = on_the_host::lanes<T>;
  template <class T, class Body> static void each_group(tapeless::extent_t n, Body&& body) {
    on_the_host::each_group<T>(n, std::forward<Body>(body));
  }
};

} // namespace support

namespace tapeless::detail {

template <> inline constexpr bool is_option_v<support::notes_counts> = true;

struct tests_space {};
template <> struct backend_for<tests_space> {
  using type = support::on_the_device;
};
template <> struct program_space<> {
  using type = tests_space;
};
template <class A, class... More> struct program_space<A, More...> {
  using type = tests_space;
};

template <bool Load, class F, class... A> class bound<support::on_the_device, Load, F, A...> {
  template <class X> struct there {
    using type = cuda::on<X>;
  };
  template <number X> struct there<X> {
    using type = X;
  };
  using backend = cuda::backend<support::device_of_tests>;
  using inner = bound<backend, Load, F, typename there<A>::type...>;
  using result_type = typename result_of<typename traced<F, A...>::result, A...>::type;

  template <class X> class argument { // copied, into the same place while its extents are the same
    std::optional<cuda::owned<X>> there_;

  public:
    template <class Y> const cuda::on<X>& operator()(const Y& x, const cuda::stream& s) {
      if (!support::how_programs_run().copies && there_) return **there_;
      bool fits = there_.has_value();
      if (fits) {
        std::vector<shape> had;
        const auto shape_of = [](const auto& leaf) {
          shape r{};
          r.rank = leaf.rank();
          for (int a = 0; a < leaf.rank(); ++a) r.d[a] = leaf.extent(a);
          return r;
        };
        for_each_leaf((**there_).tree, [&](const auto& leaf) { had.push_back(shape_of(leaf)); });
        std::size_t k = 0;
        for_each_leaf(x, [&](const auto& leaf) { fits = fits && had[k++] == shape_of(leaf); });
      }
      if (fits) copy(x, *there_, s);
      else there_.emplace(s, x);
      return **there_;
    }
  };
  template <number X> class argument<X> {
  public:
    X operator()(X x, const cuda::stream&) { return x; }
  };

  std::unique_ptr<support::counted_rows> counts_ = std::make_unique<support::counted_rows>();
  const cuda::stream* stream_ = &cuda::stream::common();
  inner run_;
  std::tuple<argument<A>...> arguments_;
  std::vector<std::vector<std::byte>> kept_; // the results' leaves

  static std::vector<std::string> kernels() { return cuda::program_kernels<F, typename there<A>::type...>(); }
  static inline const bool is_listed_ = (support::bound_programs().push_back(&kernels), true);

  // The result on the host; what a selection counts has as many rows as it has counted.
  template <class Device> result_type copied(const Device& on_device) {
    result_type r{};
    if (!support::how_programs_run().copies) return r;
    std::map<char, cuda::index_t> counted;
    for (const auto& [name, at] : counts_->at)
      cuda::copy_bytes(&counted[name], at, sizeof(cuda::index_t), stream_->get(), "copy");
    stream_->wait(); // for the counts, and for errors of the run
    std::vector<std::pair<const void*, name_values>> leaves;
    for_each_leaf(on_device, [&](const auto& leaf) {
      name_values names = names_of_view(leaf);
      for (int i = 0; i < names.count; ++i)
        if (const auto c = counted.find(names.name[static_cast<std::size_t>(i)]); c != counted.end())
          names.value[static_cast<std::size_t>(i)] = static_cast<extent_t>(c->second);
      leaves.emplace_back(leaf.data(), names);
    });
    kept_.resize(leaves.size());
    std::size_t k = 0;
    for_each_leaf(r, [&](auto& leaf) {
      using H = std::remove_cvref_t<decltype(leaf)>;
      using T = typename H::value_type;
      const auto& [data, names] = leaves[k];
      std::vector<std::byte>& to = kept_[k++];
      const auto size = static_cast<std::size_t>(make_view<H>(static_cast<T*>(nullptr), names).size());
      to.resize(size * sizeof(T) + 1);
      cuda::copy_bytes(to.data(), data, size * sizeof(T), stream_->get(), "copy");
      leaf = make_view<H>(reinterpret_cast<T*>(to.data()), names);
    });
    stream_->wait();
    return r;
  }

public:
  template <class... Option> explicit bound(const Option&... option)
      : run_(option..., support::notes_counts{counts_.get()}) {
    static_cast<void>(is_listed_);
  }
  template <class... X> result_type operator()(const X&... x) & {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return copied(run_(std::get<I>(arguments_)(x, *stream_)...));
    }(std::make_index_sequence<sizeof...(A)>{});
  }
  std::size_t arena_bytes() const { return run_.arena_bytes(); }
};

} // namespace tapeless::detail
