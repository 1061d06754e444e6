// Arrays that are combined where they lie: on fake GPUs.
#include "machine/gpu/folds.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/gpu/gpu_fixture.h"

namespace periapt::gpu {
namespace {

using ::testing::HasSubstr;

class FoldsTest : public GpuTest {
 protected:
  template <class T>
  std::vector<T> values(const std::byte* memory, std::size_t count) {
    const std::vector<std::byte> bytes = read(memory, count * sizeof(T));
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  template <class T>
  std::byte* with(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    std::byte* const memory = make(MemoryType::device, values.size() * sizeof(T));
    write(memory, {bytes, bytes + values.size() * sizeof(T)});
    return memory;
  }
  static FoldOrders orders(const std::vector<std::byte*>& from, std::byte* into, std::size_t count,
                           FoldOperation operation, FoldItem item) {
    FoldOrders told{};
    told.into = reinterpret_cast<Word>(into);
    told.count = count;
    for (const std::byte* one : from) told.from[told.sources++] = reinterpret_cast<Word>(one);
    told.operation = operation;
    told.item = item;
    return told;
  }
  // `sources` arrays of `count` items of a fold, which begin `askew` items behind a multiple of what it reads at a
  // time.
  template <class T>
  void combine(FoldItem item, FoldOperation operation, T (*combined)(T, T), unsigned sources, std::size_t count,
               std::size_t askew, bool in_place) {
    std::unique_ptr<Folder> folder = std::move(*Folder::make(driver, 0));
    std::vector<T> expected;
    std::vector<std::byte*> arrays, from;
    for (unsigned k = 0; k < sources; ++k) {
      std::vector<T> numbers(count + askew + 1);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<T>(static_cast<int>(i * (k + 1) % 7) - 3);
      arrays.push_back(with(numbers));
      from.push_back(arrays.back() + askew * sizeof(T));
      if (k == 0) expected = numbers;
      for (std::size_t i = askew; k != 0 && i < askew + count; ++i) expected[i] = combined(expected[i], numbers[i]);
    }
    std::byte* const into = in_place ? arrays[0] : with(std::vector<T>(count + askew + 1));
    if (!in_place) {
      std::fill(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(askew), T());
      expected.back() = T();
    }
    ASSERT_TRUE(folder->begin(orders(from, into + askew * sizeof(T), count, operation, item)).ok());
    ASSERT_TRUE(driver.finish({folder->stream(), 0}).ok());
    EXPECT_EQ(values<T>(into, expected.size()), expected) << static_cast<int>(item) << " of " << sources;
    if (!in_place) free(into);
    for (std::byte* array : arrays) free(array);
  }
  template <class T>
  void combine(FoldItem item, FoldOperation operation, T (*combined)(T, T)) {
    combine<T>(item, operation, combined, 2, 2999, 0, true);
    combine<T>(item, operation, combined, 3, 77, 0, false);
    combine<T>(item, operation, combined, FoldOrders::kMostSources, 40, 1, false);
    combine<T>(item, operation, combined, 1, 33, 0, false);
  }
  template <class T>
  void combine(FoldItem item) {
    combine<T>(item, FoldOperation::sum, [](T a, T b) { return static_cast<T>(a + b); });
    combine<T>(item, FoldOperation::product, [](T a, T b) { return static_cast<T>(1u * a * b); });
    combine<T>(item, FoldOperation::max, [](T a, T b) { return std::max(a, b); });
    combine<T>(item, FoldOperation::min, [](T a, T b) { return std::min(a, b); });
  }
};

TEST_P(FoldsTest, CombineNumbersOfEachType) {
  settings.warps = 3;
  combine<signed char>(FoldItem::int8);
  combine<short>(FoldItem::int16);
  combine<int>(FoldItem::int32);
  combine<long long>(FoldItem::int64);
  combine<unsigned char>(FoldItem::uint8);
  combine<unsigned short>(FoldItem::uint16);
  combine<unsigned>(FoldItem::uint32);
  combine<unsigned long long>(FoldItem::uint64);
  combine<float>(FoldItem::float32);
  combine<double>(FoldItem::float64);
}

TEST_P(FoldsTest, CombineInTheOrderOfTheSources) {
  std::unique_ptr<Folder> folder = std::move(*Folder::make(driver, 0));
  const double large = 1e17;
  const std::vector<std::byte*> from = {with(std::vector<double>(5, large)), with(std::vector<double>(5, -large)),
                                        with(std::vector<double>(5, 1))};
  std::byte* const into = with(std::vector<double>(5));
  ASSERT_TRUE(folder->begin(orders(from, into, 5, FoldOperation::sum, FoldItem::float64)).ok());
  ASSERT_TRUE(driver.finish({folder->stream(), 0}).ok());
  EXPECT_EQ(values<double>(into, 5), std::vector<double>(5, 1)) << "1 is lost in any other order";
}

TEST_P(FoldsTest, ReadWhatTheKernelMayTouchAndNothingElse) {
  std::unique_ptr<Folder> folder = std::move(*Folder::make(driver, 0));
  std::byte* const mine = make(MemoryType::device, 80);
  EXPECT_TRUE(folder->reads(mine, 80, 8));
  EXPECT_TRUE(folder->reads(mine + 4, 76, 4));
  EXPECT_FALSE(folder->reads(mine + 4, 72, 8)) << "no item may lie there";
  EXPECT_FALSE(folder->reads(mine, 88, 8)) << "it is not as long";
  EXPECT_TRUE(folder->reads(make(MemoryType::pinned, 80), 80, 8));
  EXPECT_TRUE(folder->reads(make(MemoryType::pool, 80), 80, 8));
  EXPECT_FALSE(folder->reads(make(MemoryType::managed, 80), 80, 8));
  EXPECT_TRUE(folder->reads(make(MemoryType::device, 80, 1), 80, 8)) << "another GPU's, which lets it";
  EXPECT_FALSE(folder->reads(make(MemoryType::device, 80, 1), 80, 8, true)) << "opened at another one";
  const std::vector<double> host(10);
  EXPECT_FALSE(folder->reads(host.data(), 80, 8));
}

TEST_P(FoldsTest, ReadNoGpuThatDoesNotLetThem) {
  settings.peers = 0;
  EXPECT_FALSE((*Folder::make(driver, 0))->reads(make(MemoryType::device, 80, 1), 80, 8));
}

TEST_P(FoldsTest, SayWhyAGpuHasNoKernel) {
  settings.compile_error = 6;
  settings.image_error = 209;
  const Result<std::unique_ptr<Folder>> none = Folder::make(driver, 1);  // no other test asks for that one's
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.message(), HasSubstr("does not compile fold.cu"));
}

TEST_P(FoldsTest, KnowWhereMemoryLies) {
  const std::optional<OnGpu> where = gpu_of(make(MemoryType::device, 8, 1));
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->driver, &driver);
  EXPECT_EQ(where->gpu, 1);
  EXPECT_FALSE(gpu_of(&where).has_value());
  EXPECT_TRUE(gpu_of_thread().has_value());
}

TEST_P(FoldsTest, AnswerWhatTheDriverRefuses) {
  std::unique_ptr<Folder> folder = std::move(*Folder::make(driver, 0));
  settings.launches = 0;
  std::byte* const memory = make(MemoryType::device, 80);
  EXPECT_FALSE(folder->begin(orders({memory, memory}, memory, 10, FoldOperation::sum, FoldItem::float64)).ok());
}

INSTANTIATE_TEST_SUITE_P(Both, FoldsTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
