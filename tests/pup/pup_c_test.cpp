// PUP from C.
#include <gtest/gtest.h>

#include "pup.h"
#include "pup_c.h"

extern "C" int pup_c_roundtrip(void);

namespace {

TEST(PupC, RoutineGoesThereAndBack) { EXPECT_EQ(pup_c_roundtrip(), 0); }

TEST(PupC, CppPassesItsStreams) {
  PUP::sizer s;
  int i = 0;
  void* pointer = nullptr;
  pup_int(&s, &i);
  pup_pointer(&s, &pointer);
  EXPECT_EQ(s.size(), 4 + sizeof(void*));
}

TEST(PupC, EncodedSizesAreRightWithinOneInAThousand) {
  for (size_t s = 1; s < (size_t(1) << 60); s = s * 9 / 8 + 1) {
    const size_t back = pup_decodeSize(pup_encodeSize(s));
    const size_t off = back > s ? back - s : s - back;
    EXPECT_LE(off, s / 1000) << s << " became " << back;
  }
}

}  // namespace
