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
    std::byte* const memory = make(Kind::device, values.size() * sizeof(T));
    write(memory, {bytes, bytes + values.size() * sizeof(T)});
    return memory;
  }
  template <class T>
  void combine(FoldItem item, FoldOperation operation, T (*combined)(T, T)) {
    std::unique_ptr<Folder> folder = std::move(*Folder::make(driver, 0));
    std::vector<T> a, b;
    for (int i = 0; i < 3000; ++i) {
      a.push_back(static_cast<T>(i % 7 - 3));
      b.push_back(static_cast<T>(i % 11 - 5));
    }
    std::byte *const into = with(a), *const from = with(b);
    const FoldOrders orders{reinterpret_cast<Word>(into), reinterpret_cast<Word>(from), a.size() - 1, operation, item};
    ASSERT_TRUE(folder->begin(orders).ok());
    ASSERT_TRUE(driver.finish({folder->stream(), 0}).ok());
    for (std::size_t i = 0; i < a.size() - 1; ++i) a[i] = combined(a[i], b[i]);
    EXPECT_EQ(values<T>(into, a.size()), a) << static_cast<int>(item);
    EXPECT_EQ(values<T>(from, a.size()), b);
    free(into);
    free(from);
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

TEST_P(FoldsTest, ReadWhatTheKernelMayTouchAndNothingElse) {
  std::unique_ptr<Folder> folder = std::move(*Folder::make(driver, 0));
  std::byte* const mine = make(Kind::device, 80);
  EXPECT_TRUE(folder->reads(mine, 80, 8));
  EXPECT_TRUE(folder->reads(mine + 4, 76, 4));
  EXPECT_FALSE(folder->reads(mine + 4, 72, 8)) << "no item may lie there";
  EXPECT_FALSE(folder->reads(mine, 88, 8)) << "it is not as long";
  EXPECT_TRUE(folder->reads(make(Kind::pinned, 80), 80, 8));
  EXPECT_TRUE(folder->reads(make(Kind::pool, 80), 80, 8));
  EXPECT_FALSE(folder->reads(make(Kind::managed, 80), 80, 8));
  EXPECT_FALSE(folder->reads(make(Kind::device, 80, 1), 80, 8)) << "it is another GPU's";
  const std::vector<double> host(10);
  EXPECT_FALSE(folder->reads(host.data(), 80, 8));
}

TEST_P(FoldsTest, SayWhyAGpuHasNoKernel) {
  settings.compile_error = 6;
  settings.image_error = 209;
  const Result<std::unique_ptr<Folder>> none = Folder::make(driver, 1);  // no other test asks for that one's
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.message(), HasSubstr("does not compile fold.cu"));
}

TEST_P(FoldsTest, KnowWhereMemoryLies) {
  const std::optional<OnGpu> where = gpu_of(make(Kind::device, 8, 1));
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->driver, &driver);
  EXPECT_EQ(where->gpu, 1);
  EXPECT_FALSE(gpu_of(&where).has_value());
  EXPECT_TRUE(gpu_of_thread().has_value());
}

TEST_P(FoldsTest, AnswerWhatTheDriverRefuses) {
  std::unique_ptr<Folder> folder = std::move(*Folder::make(driver, 0));
  settings.launches = 0;
  std::byte* const memory = make(Kind::device, 80);
  const Word at = reinterpret_cast<Word>(memory);
  EXPECT_FALSE(folder->begin({at, at, 10, FoldOperation::sum, FoldItem::float64}).ok());
}

INSTANTIATE_TEST_SUITE_P(Both, FoldsTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
