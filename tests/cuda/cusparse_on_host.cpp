// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT

// sparse_products tells cuSPARSE the product that is meant. The library's functions that need a device are those of this file:
// they do, on the host, what descriptors say. The others are the library's own.
#include <tapeless/cuda/libs/check.hpp>

#include <doctest/doctest.h>

#if TAPELESS_CUSPARSE
#include <tapeless/cuda/libs/cusparse.hpp>
#include <tapeless/cuda/libs/libraries.hpp>
#include <tapeless/cuda/program_kernels.hpp>
#include <tapeless/run/csr_tiled.hpp>

#include <support/both_back_ends.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace tl = tapeless;
using namespace tapeless::cuda;
using cuda_tests::difference_of, cuda_tests::fill;

namespace {

// What the library was told
struct calls {
  int products = 0, samples = 0, sizes = 0;
  cudaStream_t stream{};
  std::size_t buffer = 1000;
  bool is_supported = true;
} told;

struct dense_matrix {
  std::int64_t rows = 0, columns = 0, next = 0;
  void* data = nullptr;
  cudaDataType type{};
  explicit dense_matrix(cusparseConstDnMatDescr_t d) {
    cusparseOrder_t order{};
    const void* p = nullptr;
    REQUIRE(cusparseConstDnMatGet(d, &rows, &columns, &next, &p, &type, &order) == CUSPARSE_STATUS_SUCCESS);
    REQUIRE(order == CUSPARSE_ORDER_ROW);
    REQUIRE(next >= columns);
    data = const_cast<void*>(p);
  }
  std::int64_t place(std::int64_t i, std::int64_t j) const {
    if (i < 0 || j < 0 || i >= rows || j >= columns) FAIL("outside of a matrix");
    return i * next + j;
  }
  template <class T> T& at(std::int64_t i, std::int64_t j) const {
    return static_cast<T*>(data)[place(i, j)];
  }
};
struct sparse_matrix {
  std::int64_t rows = 0, columns = 0, entries = 0;
  std::int32_t *offset = nullptr, *column = nullptr;
  void* data = nullptr;
  cudaDataType type{};
  explicit sparse_matrix(cusparseConstSpMatDescr_t d) {
    cusparseIndexType_t of_offsets{}, of_columns{};
    cusparseIndexBase_t base{};
    const void *o = nullptr, *c = nullptr, *v = nullptr;
    REQUIRE(cusparseConstCsrGet(d, &rows, &columns, &entries, &o, &c, &v, &of_offsets, &of_columns, &base,
                                &type) == CUSPARSE_STATUS_SUCCESS);
    REQUIRE((of_offsets == CUSPARSE_INDEX_32I && of_columns == CUSPARSE_INDEX_32I));
    REQUIRE(base == CUSPARSE_INDEX_BASE_ZERO);
    offset = static_cast<std::int32_t*>(const_cast<void*>(o));
    column = static_cast<std::int32_t*>(const_cast<void*>(c));
    data = const_cast<void*>(v);
  }
  // act(row, column, entry)
  template <class Act> void each(Act act) const {
    REQUIRE(offset[0] == 0);
    REQUIRE(offset[rows] == entries);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int32_t p = offset[i]; p < offset[i + 1]; ++p) {
        if (column[p] < 0 || column[p] >= columns) FAIL("outside of a matrix");
        act(i, std::int64_t{column[p]}, std::int64_t{p});
      }
  }
};
template <class T> void run_product(const sparse_matrix& a, const dense_matrix& x, const dense_matrix& y,
                                    double alpha, double beta) {
  std::vector<double> sum(static_cast<std::size_t>(y.rows * y.columns));
  a.each([&](std::int64_t i, std::int64_t j, std::int64_t e) {
    for (std::int64_t c = 0; c < y.columns; ++c)
      sum[static_cast<std::size_t>(i * y.columns + c)] +=
          double{static_cast<T*>(a.data)[e]} * double{x.at<T>(j, c)};
  });
  // beta = 0 does not make a number of what is none
  for (std::int64_t i = 0; i < y.rows; ++i)
    for (std::int64_t c = 0; c < y.columns; ++c)
      y.at<T>(i, c) = static_cast<T>(alpha * sum[static_cast<std::size_t>(i * y.columns + c)] +
                                     beta * double{y.at<T>(i, c)});
}
template <class T> void run_samples(const dense_matrix& l, const dense_matrix& r, const sparse_matrix& out,
                                    double alpha, double beta) {
  out.each([&](std::int64_t i, std::int64_t j, std::int64_t e) {
    double sum = 0;
    for (std::int64_t c = 0; c < l.columns; ++c) sum += double{l.at<T>(i, c)} * double{r.at<T>(j, c)};
    T& to = static_cast<T*>(out.data)[e];
    to = static_cast<T>(alpha * sum + beta * double{to});
  });
}
double number(const void* p, cudaDataType t) {
  return t == CUDA_R_64F ? *static_cast<const double*>(p)
                         : static_cast<double>(*static_cast<const float*>(p));
}
void use(void* buffer) { std::memset(buffer, 0xff, told.buffer); }
cusparseStatus_t size_of_buffer(std::size_t* n) {
  ++told.sizes;
  *n = told.buffer;
  return told.is_supported ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}

} // namespace

extern "C" {
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  static char a_library;
  *handle = reinterpret_cast<cusparseHandle_t>(&a_library);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t) { return CUSPARSE_STATUS_SUCCESS; }
cusparseStatus_t cusparseSetStream(cusparseHandle_t, cudaStream_t s) {
  told.stream = s;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void*, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t,
                                         const void*, cusparseDnMatDescr_t, cudaDataType,
                                         cusparseSpMMAlg_t alg, std::size_t* n) {
  REQUIRE(alg == CUSPARSE_SPMM_CSR_ALG3);
  return size_of_buffer(n);
}
cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                          const void*, cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t,
                                          const void*, cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t,
                                          std::size_t* n) {
  return size_of_buffer(n);
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t of_a,
                              cusparseConstDnMatDescr_t of_x, const void* beta, cusparseDnMatDescr_t of_y,
                              cudaDataType type, cusparseSpMMAlg_t alg, void* buffer) {
  const sparse_matrix a(of_a);
  const dense_matrix x(of_x), y(of_y);
  // of the algorithms for CSR the one that gives the same bits in each run, which it does of a matrix as it is
  REQUIRE((alg == CUSPARSE_SPMM_CSR_ALG3 && op_a == CUSPARSE_OPERATION_NON_TRANSPOSE));
  REQUIRE(op_b == CUSPARSE_OPERATION_NON_TRANSPOSE);
  REQUIRE((a.rows == y.rows && a.columns == x.rows && x.columns == y.columns));
  REQUIRE((a.type == type && x.type == type && y.type == type));
  use(buffer);
  if (type == CUDA_R_64F) run_product<double>(a, x, y, number(alpha, type), number(beta, type));
  else run_product<float>(a, x, y, number(alpha, type), number(beta, type));
  ++told.products;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t, cusparseOperation_t op_l, cusparseOperation_t op_r,
                               const void* alpha, cusparseConstDnMatDescr_t of_l,
                               cusparseConstDnMatDescr_t of_r, const void* beta, cusparseSpMatDescr_t of_out,
                               cudaDataType type, cusparseSDDMMAlg_t, void* buffer) {
  const dense_matrix l(of_l), r(of_r);
  const sparse_matrix out(of_out);
  REQUIRE((op_l == CUSPARSE_OPERATION_NON_TRANSPOSE && op_r == CUSPARSE_OPERATION_TRANSPOSE));
  REQUIRE((out.rows == l.rows && out.columns == r.rows && l.columns == r.columns));
  REQUIRE((l.type == type && r.type == type && out.type == type));
  use(buffer);
  if (type == CUDA_R_64F) run_samples<double>(l, r, out, number(alpha, type), number(beta, type));
  else run_samples<float>(l, r, out, number(alpha, type), number(beta, type));
  ++told.samples;
  return CUSPARSE_STATUS_SUCCESS;
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t) {
  std::memset(p, value, n);
  return cudaSuccess;
}
}

namespace {

// A device whose products with several columns are the library's, and all else kernels on the host. It plans when it lists.
struct device_with_libraries : emulated_device {
  struct state {
    libraries of{options{}};
    bool lists = false;
    std::vector<char> scratch;
    alignas(64) char nowhere[64]{};
  };
  static inline state* now = nullptr; // of the program that runs
  template <class T> bool line_products(const line_extents& e, const sparse_lines& a, const T* values,
                                        const T* x, T* y) const {
    if (now->lists) return now->of.plan_line_products<T>(e, a, now->nowhere), false;
    return now->of.line_products(emulated_device{}, e, a, values, x, y, room(), a_stream());
  }
  template <class T> bool line_samples(const line_extents& e, const sparse_lines& a, const T* l, const T* r,
                                       T* out) const {
    if (now->lists) return now->of.plan_line_samples<T>(e, now->nowhere), false;
    return now->of.line_samples(emulated_device{}, e, a, l, r, out, room(), a_stream());
  }
  template <class Kernel> void launch(const Kernel& k, count_t members, int lanes = 1) const {
    if (!now->lists) emulated_device::launch(k, members, lanes);
  }
  bool lists() const { return now->lists; }
  void enqueue(auto&&) const {}
  template <class Ask> void prepare(Ask&& ask) const {
    now->lists = true;
    ask();
    now->lists = false;
    now->scratch.assign(now->of.need() + 256, 1);
  }
  workspace room() const {
    void* p = now->scratch.data();
    std::size_t n = now->scratch.size();
    std::align(256, now->of.need(), p, n);
    return {p, now->of.need()};
  }
  static cudaStream_t a_stream() { return reinterpret_cast<cudaStream_t>(&told); }
};
using with_library = backend<device_with_libraries>;

constexpr tl::extent_t m = tl::dyn<'m'>, n = tl::dyn<'n'>, e = tl::dyn<'e'>, k = tl::dyn<'k'>;
template <class T, class RowEnd = std::int32_t> using matrix = tl::csr<T, m, n, e, RowEnd>;
template <class T> using in_columns = tl::tensor<T, n, k>;
template <class T> using in_rows = tl::tensor<T, m, k>;

// A X, A^T R, and the samples of R X^T
constexpr auto values = [](auto a, auto x, auto r) {
  return std::tuple{matmul(a, x), matmul(transpose(a), r), tl::sampled_matmul(a, r, x).values()};
};
constexpr auto loss = [](auto a, auto x, auto r) {
  return tl::sum(square(matmul(a, x) - r)) + tl::sum(exp(matmul(transpose(a), r)) * x);
};
constexpr auto gradients = tl::value_and_grad<0, 1, 2>(loss);

// Entries where is_entry(i, j)
template <class Matrix, class Is> std::int64_t set_pattern(const Matrix& a, Is is_entry) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j)
      if (is_entry(i, j)) a.columns()[at++] = static_cast<std::int32_t>(j);
    a.row_end()[i] = static_cast<typename std::remove_cvref_t<decltype(a.row_end())>::value_type>(at);
  }
  return at;
}
// Some rows and columns have no entry, one row and one column have all.
struct mixed {
  std::int64_t step;
  bool operator()(std::int64_t i, std::int64_t j) const {
    if (i % 7 == 3 || j % 5 == 2) return false;
    return i == 1 || j == 0 || (i * 31 + j * 17) % step == 0;
  }
};
struct all {
  bool operator()(std::int64_t, std::int64_t) const { return true; }
};
struct none {
  bool operator()(std::int64_t, std::int64_t) const { return false; }
};
struct asked {
  int products, samples;
};
// The difference of the program with the library and on the CPU; and what is asked of the library in a run, if all extents
// are even: then all places are aligned to 16 bytes
template <class T, class RowEnd = std::int32_t, class F, class Is>
double difference(F, std::int64_t rows, std::int64_t columns, std::int64_t width, Is is_entry, asked expected,
                  const options& may = {}) {
  using A = matrix<T, RowEnd>;
  std::int64_t nnz = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) nnz += is_entry(i, j) ? 1 : 0;
  const tl::dim<'m'> of_m{rows};
  const tl::dim<'n'> of_n{columns};
  const tl::dim<'k'> of_k{width};
  const tl::dim<'e'> of_e{nnz};
  tl::owned<A> a(of_m, of_n, of_e);
  tl::owned<in_columns<T>> x(of_n, of_k);
  tl::owned<in_rows<T>> r(of_m, of_k);
  set_pattern(*a, is_entry);
  fill(a->values(), 1);
  fill(*x, 2);
  fill(*r, 3);
  const auto most = [](auto d) { return decltype(d){std::max<std::int64_t>(d.value, 1)}; };
  device_with_libraries::state state;
  state.of = libraries(may);
  device_with_libraries::now = &state;
  cuda_tests::bound_on<tl::detail::backend_for<tl::host>::type, F, A, in_columns<T>, in_rows<T>> host(
      most(of_m), most(of_n), most(of_k), most(of_e));
  cuda_tests::bound_on<with_library, F, A, in_columns<T>, in_rows<T>> run(most(of_m), most(of_n), most(of_k),
                                                                          most(of_e));
  double worst = 0;
  for (int again = 0; again < 2; ++again) {
    told.products = told.samples = 0;
    worst = std::fmax(worst, difference_of(host(*a, *x, *r), run(*a, *x, *r)));
    if (((rows | columns | width | nnz) & 1) == 0) {
      CHECK(told.products == expected.products);
      CHECK(told.samples == expected.samples);
    }
    CHECK((told.products <= expected.products && told.samples <= expected.samples));
    if (told.products > 0) CHECK(told.stream == device_with_libraries::a_stream());
  }
  return worst;
}

} // namespace

namespace {

// Lines whose places have the entries in another order, or not, and matrices beside them
template <class T> struct lines_and_matrices {
  line_extents e;
  tl::owned<tl::tensor<std::int32_t, tl::dyn<'l'>>> ends;
  tl::owned<tl::tensor<std::int32_t, tl::dyn<'e'>>> cross, entry;
  tl::owned<tl::tensor<T, tl::dyn<'e'>>> values;
  tl::owned<tl::tensor<T, tl::dyn<'a'>>> of_lines;
  tl::owned<tl::tensor<T, tl::dyn<'b'>>> of_crosses;
  template <class Is>
  lines_and_matrices(std::int64_t lines, std::int64_t crosses, std::int64_t width, Is is_entry)
      : e{lines, crosses, count(lines, crosses, is_entry), width},
        ends(tl::dim<'l'>{lines}),
        cross(tl::dim<'e'>{e.entries}),
        entry(tl::dim<'e'>{e.entries}),
        values(tl::dim<'e'>{e.entries}),
        of_lines(tl::dim<'a'>{lines * width}),
        of_crosses(tl::dim<'b'>{crosses * width}) {
    std::int32_t at = 0;
    for (std::int64_t i = 0; i < lines; ++i) {
      for (std::int64_t j = 0; j < crosses; ++j)
        if (is_entry(i, j)) (*cross)[at++] = static_cast<std::int32_t>(j);
      (*ends)[i] = at;
    }
    for (std::int32_t q = 0; q < at; ++q) (*entry)[q] = at - 1 - q;
    fill(*values, 1);
    fill(*of_lines, 2);
    fill(*of_crosses, 3);
  }
  template <class Is> static std::int64_t count(std::int64_t lines, std::int64_t crosses, Is is_entry) {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < lines; ++i)
      for (std::int64_t j = 0; j < crosses; ++j) at += is_entry(i, j) ? 1 : 0;
    return at;
  }
  sparse_lines lines(bool in_order) const {
    return {(*ends).data(), (*cross).data(),
            in_order ? nullptr : reinterpret_cast<const count_t*>((*entry).data()), false};
  }
};
template <class T> double most_apart(const std::vector<T>& x, const T* y) {
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(double{x[i]} - double{y[i]});
    most = std::isnan(d) ? HUGE_VAL : std::fmax(most, d);
  }
  return most;
}
// What is in the results ahead does not count.
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
template <class T> double product_difference(const lines_and_matrices<T>& q, bool in_order,
                                             sparse_products& by) {
  const auto items = static_cast<count_t>(q.e.lines * q.e.k);
  std::vector<T> expected(items);
  const auto* const x = (*q.of_crosses).data();
  emulated_device{}.launch(line_products_kernel<T, 1>{q.lines(in_order),
                                                      (*q.values).data(),
                                                      x,
                                                      expected.data(),
                                                      items,
                                                      static_cast<count_t>(q.e.k),
                                                      1,
                                                      false,
                                                      {nullptr, false, false}},
                           items);
  tl::owned<tl::tensor<T, tl::dyn<'a'>>> y(tl::dim<'a'>{q.e.lines * q.e.k});
  std::fill(y->begin(), y->end(), static_cast<T>(no_number));
  std::vector<char> scratch(
      by.prepare<T>(in_order ? sparse_way::products : sparse_way::sorted_products, q.e, y->data()).value() +
      256);
  void* at = scratch.data();
  std::size_t room = scratch.size(), need = room - 256;
  std::align(256, need, at, room);
  REQUIRE(by.multiply(emulated_device{}, q.e, q.lines(in_order), (*q.values).data(), x, y->data(), {at, need},
                      nullptr));
  return most_apart(expected, y->data());
}
template <class T> double sample_difference(const lines_and_matrices<T>& q, sparse_products& by) {
  const auto places = static_cast<count_t>(q.e.entries);
  std::vector<T> expected(places);
  const T *const l = (*q.of_lines).data(), *const r = (*q.of_crosses).data();
  emulated_device{}.launch(sampled_kernel<T, 1>{q.lines(true), l, r, expected.data(), places,
                                                static_cast<count_t>(q.e.lines), static_cast<count_t>(q.e.k)},
                           places);
  tl::owned<tl::tensor<T, tl::dyn<'e'>>> out(tl::dim<'e'>{q.e.entries});
  std::fill(out->begin(), out->end(), static_cast<T>(no_number));
  std::vector<char> scratch(by.prepare<T>(sparse_way::samples, q.e, out->data()).value() + 256);
  void* at = scratch.data();
  std::size_t room = scratch.size(), need = room - 256;
  std::align(256, need, at, room);
  REQUIRE(by.sample(emulated_device{}, q.e, q.lines(true), l, r, out->data(), {at, need}, nullptr));
  return most_apart(expected, out->data());
}

} // namespace

TEST_CASE("cuSPARSE is told the products of the kernels, of lines in order and of sorted ones") {
  sparse_products by;
  const auto check = [&by](std::int64_t lines, std::int64_t crosses, std::int64_t width, auto is_entry) {
    INFO(lines, " x ", crosses, ", ", width);
    const lines_and_matrices<float> narrow(lines, crosses, width, is_entry);
    const lines_and_matrices<double> wide(lines, crosses, width, is_entry);
    for (const bool in_order : {true, false}) {
      CHECK(product_difference(narrow, in_order, by) < 1e-4);
      CHECK(product_difference(wide, in_order, by) < 1e-13);
    }
    CHECK(sample_difference(narrow, by) < 1e-5);
    CHECK(sample_difference(wide, by) < 1e-14);
  };
  check(37, 53, 3, mixed{5});
  check(53, 37, 16, mixed{3});
  check(1, 1, 2, all{});
  check(1, 101, 7, all{});
  check(101, 1, 7, all{});
  check(3, 2, 31, mixed{1});
  check(17, 19, 2, mixed{29}); // hardly any entry
}
TEST_CASE(
    "cuSPARSE: a description is made once; what is aligned to less than 16 bytes is not for it, nor too small a room") {
  sparse_products by;
  const lines_and_matrices<float> q(8, 6, 4, all{});
  alignas(256) static float y[64];
  alignas(256) static char room[1 << 14];
  told.sizes = 0;
  const std::size_t need = by.prepare<float>(sparse_way::sorted_products, q.e, y).value();
  CHECK(need == 256 + 256 + 1000);
  CHECK(by.prepare<float>(sparse_way::products, q.e, y) == 256u + 1000u);
  CHECK(by.prepare<float>(sparse_way::samples, q.e, y) == 256u + 1000u);
  const auto runs = [&](const float* x, float* to, std::size_t bytes) {
    return by.multiply(emulated_device{}, q.e, q.lines(false), (*q.values).data(), x, to, {room, bytes},
                       nullptr);
  };
  const float* const x = (*q.of_crosses).data();
  CHECK(runs(x, y, need));
  CHECK_FALSE(runs(x, y, need - 1));
  CHECK_FALSE(runs(x + 1, y, need));
  CHECK_FALSE(runs(x, y + 2, need));
  CHECK_FALSE(by.sample(emulated_device{}, q.e, q.lines(true), (*q.of_lines).data(), x, y + 1, {room, need},
                        nullptr));
  CHECK_FALSE(
      by.sample(emulated_device{}, q.e, q.lines(false), (*q.of_lines).data(), x, y, {room, need}, nullptr));
  CHECK(told.sizes == 2);
  for (const line_extents& e : {line_extents{0, 6, 4, 3}, line_extents{8, 0, 4, 3}, line_extents{8, 6, 0, 3},
                                line_extents{8, 6, 4, 0}, line_extents{8, 6, std::int64_t{1} << 31, 3}})
    CHECK_FALSE(by.prepare<float>(sparse_way::products, e, y));
}
TEST_CASE("cuSPARSE: programs with it are those of the CPU") {
  const auto check = [](std::int64_t rows, std::int64_t columns, std::int64_t width, auto is_entry) {
    INFO(rows, " x ", columns, ", ", width);
    CHECK(difference<float>(values, rows, columns, width, is_entry, {2, 1}) < 1e-6);
    CHECK(difference<double>(values, rows, columns, width, is_entry, {2, 1}) < 1e-14);
    CHECK(difference<float>(gradients, rows, columns, width, is_entry, {4, 2}) < 2e-6);
    CHECK(difference<double>(gradients, rows, columns, width, is_entry, {4, 2}) < 1e-14);
  };
  check(38, 54, 4, mixed{5});
  check(38, 54, 16, all{});
  check(2, 2, 2, all{});
  check(37, 53, 3, mixed{5});
  check(1, 101, 7, all{});
  check(101, 1, 7, all{});
}
TEST_CASE("cuSPARSE: products of nothing, and of one column, are those of the kernels") {
  const auto check = [](std::int64_t rows, std::int64_t columns, std::int64_t width, auto is_entry) {
    INFO(rows, " x ", columns, ", ", width);
    CHECK(difference<float>(values, rows, columns, width, is_entry, {0, 0}) < 1e-6);
    CHECK(difference<double>(gradients, rows, columns, width, is_entry, {0, 0}) < 1e-14);
  };
  check(37, 53, 1, mixed{5});
  check(13, 11, 3, none{});
  check(0, 11, 3, none{});
  check(13, 0, 3, none{});
  check(13, 11, 0, all{});
}
TEST_CASE("cuSPARSE: capacities may hold more entries than the matrix has places") {
  sparse_products by;
  alignas(256) static float y[64];
  const line_extents capacity{.lines = 2, .crosses = 2, .entries = 5, .k = 2};
  CHECK_FALSE(by.prepare<float>(sparse_way::products, capacity, y));
  CHECK_FALSE(by.prepare<float>(sparse_way::samples, capacity, y));
  line_extents full = capacity;
  full.entries = 4;
  CHECK(by.prepare<float>(sparse_way::products, full, y));
}
TEST_CASE("cuSPARSE: row ends of 64 bits become offsets of 32") {
  CHECK(difference<float, std::int64_t>(values, 38, 54, 4, all{}, {2, 1}) < 1e-6);
  CHECK(difference<double, std::int64_t>(gradients, 38, 54, 4, mixed{5}, {4, 2}) < 1e-14);
}
TEST_CASE("cuSPARSE: entries of rows that are zero in A^T R do not count, even infinite ones: the kernel's") {
  using A = tl::csr<float, 38, 54, 38 * 54>;
  using X = tl::tensor<float, 54, 4>;
  using index = tl::tensor<std::int32_t, 6>;
  using F = decltype(tl::value_and_grad<1>(
      [](auto a, auto x, auto at) { return tl::sum(square(tl::gather(matmul(a, x), at))); }));
  tl::owned<A> a;
  tl::owned<X> x;
  tl::owned<index> at;
  set_pattern(*a, all{});
  fill(a->values(), 1);
  fill(*x, 2);
  for (int i = 0; i < 6; ++i) (*at)[i] = 5 * i;
  a->values()[54 * 7 + 3] = std::numeric_limits<float>::infinity(); // of a row that is not chosen
  device_with_libraries::state state;
  device_with_libraries::now = &state;
  cuda_tests::bound_on<tl::detail::backend_for<tl::host>::type, F, A, X, index> host;
  cuda_tests::bound_on<with_library, F, A, X, index> run;
  CHECK(difference_of(host(*a, *x, *at), run(*a, *x, *at)) < 2e-6);
}
TEST_CASE("cuSPARSE: products with a tiled matrix are the kernels'") {
  using rows = tl::csr<double, 38, 54, 38 * 54>;
  using tiles = tl::csr<double, 38, 54, 38 * 54, tl::tiled>;
  using X = tl::tensor<double, 54, 4>;
  using R = tl::tensor<double, 38, 4>;
  using F = std::remove_const_t<decltype(values)>;
  tl::owned<rows> a;
  tl::owned<X> x;
  tl::owned<R> r;
  set_pattern(*a, all{});
  fill(a->values(), 1);
  fill(*x, 2);
  fill(*r, 3);
  const auto tiled = tl::csr_tiled(*a);
  device_with_libraries::state state;
  device_with_libraries::now = &state;
  cuda_tests::bound_on<tl::detail::backend_for<tl::host>::type, F, tiles, X, R> host;
  cuda_tests::bound_on<with_library, F, tiles, X, R> run;
  told.products = told.samples = 0;
  CHECK(difference_of(host(*tiled, *x, *r), run(*tiled, *x, *r)) < 1e-14);
  CHECK((told.products == 0 && told.samples == 0));
}
TEST_CASE("cuSPARSE: what runs ahead of it is listed for programs with several columns alone") {
  const auto lists = [](const std::vector<std::string>& all, const char* kernel) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& name) { return name.find(kernel) != std::string::npos; });
  };
  const auto several =
      program_kernels<decltype(gradients), matrix<float>, in_columns<float>, in_rows<float>>();
  CHECK(lists(several, "line_offsets_kernel"));
  CHECK(lists(several, "entries_by_place_kernel<float>"));
  CHECK(lists(several, "line_products_kernel<float,1>"));
  const auto samples = [](auto a, auto x, auto r) { return tl::sampled_matmul(a, r, x).values(); };
  CHECK(lists(program_kernels<decltype(samples), matrix<float>, in_columns<float>, in_rows<float>>(),
              "line_offsets_kernel"));
  const auto one = [](auto a, auto x) { return matmul(a, x); };
  CHECK_FALSE(
      lists(program_kernels<decltype(one), matrix<float>, tl::tensor<float, n>>(), "line_offsets_kernel"));
}
TEST_CASE("cuSPARSE is left out where the options say so, and where it has no plan") {
  CHECK(difference<float>(gradients, 38, 54, 4, all{}, {0, 0}, {.own_sparse = true}) < 2e-6);
  told.is_supported = false;
  CHECK(difference<float>(gradients, 38, 54, 4, all{}, {0, 0}) < 2e-6);
  told.is_supported = true;
}
#endif
