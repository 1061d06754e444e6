// main() of a program that holds the tests of several sources. --of=a_test.cpp,b_test.cpp runs those of these alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

bool ends_with_name(std::string_view path, std::string_view name) {
  return path.ends_with(name) && (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

bool is_of(const testing::TestInfo& test, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (ends_with_name(test.file(), names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

/// GoogleTest's filter, less the cases of other sources; how many are left of those that it knows.
int leave_only(std::string_view names, std::string& filter) {
  char before = filter.find('-') == std::string::npos ? '-' : ':';
  int left = 0;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (is_of(test, names)) {
        ++left;
      } else {
        filter.append(1, before).append(suite.name()).append(".").append(test.name());
        before = ':';
      }
    }
  }
  return left;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view option = "--of=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(option)) {
    std::string filter = GTEST_FLAG_GET(filter);
    if (leave_only(std::string_view(argv[1]).substr(option.size()), filter) == 0) {
      std::fprintf(stderr, "%s: %s has no test here\n", argv[0], argv[1]);
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
