// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// The main of the laws on the device: a line for each test case, {"what": "law", "case": ..., "holds": ...}. Test cases are
// chosen as doctest does; --list: the files of tests/laws, one a line. GPU_KERNELS=FILE: writes the kernels of all programs to FILE, and runs nothing.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <sstream>

#include "kernels.hpp"

namespace {

unsigned cases = 0; // that have run

struct lines : doctest::IReporter {
  const doctest::TestCaseData* now = nullptr;
  std::string why;
  double begin = 0;

  explicit lines(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& s) override {
    cases = s.numTestCasesPassingFilters;
    line("laws").put("cases", cases).put("failed", s.numTestCasesFailed);
  }
  void test_case_start(const doctest::TestCaseData& c) override {
    now = &c;
    why.clear();
    begin = ::now();
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& s) override {
    line one("law");
    one.put("case", now->m_name).put("holds", s.testCaseSuccess).put("s", ::now() - begin);
    if (!s.testCaseSuccess) one.put("why", why.substr(0, 600));
  }
  void test_case_exception(const doctest::TestCaseException& e) override {
    if (why.empty()) why = e.error_string.c_str();
  }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& a) override {
    if (!a.m_failed || !why.empty()) return;
    why = std::string(a.m_expr) + ": " + (a.m_threw ? a.m_exception.c_str() : a.m_decomp.c_str());
    for (int i = 0; i < get_num_active_contexts(); ++i) {
      std::ostringstream s;
      get_active_contexts()[i]->stringify(&s);
      why += "; " + s.str();
    }
  }
  void log_message(const doctest::MessageData& m) override {
    if (why.empty()) why = m.m_string.c_str();
  }
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
DOCTEST_REGISTER_REPORTER("lines", 1, lines);

} // namespace

int main(int argc, char** argv) {
  if (gpu::only_writes_kernels()) return 0;
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    std::istringstream files(GPU_LAWS);
    for (std::string file; files >> file;) std::puts((file + ".cpp").c_str());
    return 0;
  }
  gpu::need_device("law");
  doctest::Context context(argc, argv);
  context.setOption("reporters", "lines");
  const int status = context.run();
  return cases > 0 ? status : 1; // a law that was not compiled holds nowhere
}
