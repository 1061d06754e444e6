// Tipsy files come back as they went, broken ones are refused in words; pictures are PNG files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "examples/nbody/density.h"
#include "examples/nbody/options.h"
#include "examples/nbody/tipsy.h"
#include "tests/nbody/particles.h"

namespace periapt::nbody {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TipsyTest : public testing::Test {
 protected:
  TipsyTest() {
    snapshot_.time = 0.25;
    snapshot_.particles = strewnParticles(9, 0.5f);
    for (std::size_t i = 0; i < 9; ++i) {
      Particle& p = snapshot_.particles[i];
      p.kind = i < 2 ? Kind::gas : i < 6 ? Kind::dark : Kind::star;
      p.velocity = {double(i), -0.5, 0.125};
      p.potential = -double(i);
    }
  }
  ~TipsyTest() override { std::filesystem::remove(path_); }

  std::vector<char> bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::vector<char>& bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), bytes.size());
  }
  std::string complaint() const {
    try {
      readTipsy(path_);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "none";
  }

  const std::string path_ = testing::TempDir() + "nbody_" + std::to_string(getpid()) + ".tipsy";
  Snapshot snapshot_;
};

TEST_F(TipsyTest, ComesBackInEitherByteOrder) {
  for (const auto endian : {std::endian::big, std::endian::little}) {
    writeTipsy(path_, snapshot_, endian);
    const Snapshot back = readTipsy(path_);
    EXPECT_EQ(back.time, 0.25);
    ASSERT_EQ(back.particles.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i) {
      const Particle &a = snapshot_.particles[i], &b = back.particles[i];
      EXPECT_EQ(b.kind, a.kind);
      EXPECT_EQ(b.mass, a.mass);
      EXPECT_EQ(b.softening, a.softening);
      EXPECT_EQ(b.potential, a.potential);
      EXPECT_EQ(b.order, i);
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_EQ(b.position[axis], float(a.position[axis]));
        EXPECT_EQ(b.velocity[axis], a.velocity[axis]);
      }
    }
  }
}

TEST_F(TipsyTest, SizesAreThoseOfTheFormat) {
  writeTipsy(path_, snapshot_);
  EXPECT_EQ(bytes().size(), 32u + 2 * 48 + 4 * 36 + 3 * 44);
  EXPECT_EQ(bytes()[15], 3) << "big-endian";
}

TEST_F(TipsyTest, AHeaderWithoutPaddingIsRead) {
  writeTipsy(path_, snapshot_);
  auto b = bytes();
  b.erase(b.begin() + 28, b.begin() + 32);
  put(b);
  EXPECT_EQ(readTipsy(path_).particles[8].mass, snapshot_.particles[8].mass);
}

TEST_F(TipsyTest, ATruncatedFileSaysWhatWasExpectedAndFound) {
  writeTipsy(path_, snapshot_);
  auto b = bytes();
  b.resize(b.size() - 10);
  put(b);
  EXPECT_THAT(complaint(), AllOf(HasSubstr(path_), HasSubstr("truncated"), HasSubstr("404"), HasSubstr("394")));
  b.resize(17);
  put(b);
  EXPECT_THAT(complaint(), AllOf(HasSubstr("header"), HasSubstr("28"), HasSubstr("17")));
  put({});
  EXPECT_THAT(complaint(), HasSubstr("has 0"));
}

TEST_F(TipsyTest, AMalformedFileSaysWhere) {
  writeTipsy(path_, snapshot_);
  const auto whole = bytes();
  auto b = whole;
  b.push_back(0);
  put(b);
  EXPECT_THAT(complaint(), HasSubstr("malformed"));
  b = whole;
  b[15] = 2;
  put(b);
  EXPECT_THAT(complaint(), AllOf(HasSubstr("dimensions"), HasSubstr("byte 12")));
  b = whole;
  b[16] = char(0x80);
  put(b);
  EXPECT_THAT(complaint(), AllOf(HasSubstr("byte 16"), HasSubstr("gas")));
  b = whole;
  b[11] = 99;
  put(b);
  EXPECT_THAT(complaint(), AllOf(HasSubstr("99"), HasSubstr("2 gas + 4 dark + 3 star make 9")));
  b = whole;
  std::memset(&b[32 + 48 + 4], 0x7f, 4);
  b[32 + 48 + 5] = char(0xff);  // not a number
  put(b);
  EXPECT_THAT(complaint(), AllOf(HasSubstr("gas particle 1"), HasSubstr("byte 80")));
}

TEST_F(TipsyTest, ValuesThatCannotBeComputedWithAreSaid) {
  const float infinite = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  for (float value : {3e38f, -3e38f, 2e18f, infinite, none}) {
    for (double Vec3::*axis : {&Vec3::x, &Vec3::z}) {
      Snapshot wrong = snapshot_;
      wrong.particles[2].position.*axis = value;
      writeTipsy(path_, wrong);
      EXPECT_THAT(complaint(), HasSubstr("no usable number")) << value;
      wrong = snapshot_;
      wrong.particles[2].velocity.*axis = value;
      writeTipsy(path_, wrong);
      EXPECT_THAT(complaint(), HasSubstr("no usable number")) << value;
    }
    Snapshot wrong = snapshot_;
    wrong.particles[2].mass = value;
    writeTipsy(path_, wrong);
    EXPECT_THAT(complaint(), HasSubstr("no usable number")) << value;
    wrong = snapshot_;
    wrong.particles[2].softening = value;
    writeTipsy(path_, wrong);
    EXPECT_THAT(complaint(), HasSubstr("no usable number")) << value;
  }
}

TEST_F(TipsyTest, ADeviceIsNoFile) {
  EXPECT_THAT([] { readTipsy("/dev/zero"); }, testing::ThrowsMessage<std::runtime_error>(HasSubstr("is a device")));
}

TEST_F(TipsyTest, AFileThatIsNotThereSaysSo) { EXPECT_THAT(complaint(), HasSubstr("cannot be opened")); }

TEST(Options, AComovingStartMustLieBeforeItsEnd) {
  Options options;
  options.ic = "zeldovich";
  options.comoving = true;
  options.particles = 64;
  options.endExpansion = 0.01;
  try {
    startOf(options);
    FAIL() << "accepted";
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("0.05"), HasSubstr("--until")));
  }
}

TEST(Options, SnapshotsHaveTheVelocitiesOfTheFormat) {
  std::vector<Particle> particles(1);
  particles[0].velocity = {1, 2, 3};
  EXPECT_EQ(snapshotOf(particles, 0.5, 7, true).particles[0].velocity.y, 8);
  EXPECT_EQ(snapshotOf(particles, 0.5, 7, true).time, 0.5);
  EXPECT_EQ(snapshotOf(particles, 1, 7, false).time, 7);
}

std::uint32_t word(const std::vector<std::uint8_t>& b, std::size_t at) {
  return std::uint32_t(b[at]) << 24 | b[at + 1] << 16 | b[at + 2] << 8 | b[at + 3];
}

TEST(Png, IsASignatureAndChunksWithTheirSumsAndInflatesToTheRows) {
  Image image{5, 3, {}};
  for (int i = 0; i < 45; ++i) image.rgb.push_back(std::uint8_t(i * 5));
  const auto file = encode_png(image);
  ASSERT_EQ(std::memcmp(file.data(), "\x89PNG\r\n\x1a\n", 8), 0);
  std::vector<std::string> types;
  std::vector<std::uint8_t> packed;
  for (std::size_t at = 8; at < file.size();) {
    const std::uint32_t length = word(file, at);
    ASSERT_LE(at + 12 + length, file.size());
    types.emplace_back(reinterpret_cast<const char*>(&file[at + 4]), 4);
    EXPECT_EQ(word(file, at + 8 + length), crc32(0, &file[at + 4], length + 4)) << types.back();
    if (types.back() == "IHDR") {
      EXPECT_EQ(length, 13u);
      EXPECT_EQ(word(file, at + 8), 5u);
      EXPECT_EQ(word(file, at + 12), 3u);
    }
    if (types.back() == "IDAT") packed.assign(&file[at + 8], &file[at + 8] + length);
    at += 12 + length;
  }
  EXPECT_EQ(types, (std::vector<std::string>{"IHDR", "IDAT", "IEND"}));
  std::vector<std::uint8_t> rows(3 * 16);
  uLongf size = rows.size();
  ASSERT_EQ(uncompress(rows.data(), &size, packed.data(), packed.size()), Z_OK);
  ASSERT_EQ(size, rows.size());
  for (int y = 0; y < 3; ++y) {
    EXPECT_EQ(rows[16 * y], 0) << "no filter";
    EXPECT_EQ(std::memcmp(&rows[16 * y + 1], &image.rgb[15 * y], 15), 0);
  }
}

TEST(Density, HoldsTheMassAndIsBrightWhereItIs) {
  DensityMap map(64, {}, 1);
  std::vector<Particle> particles(50);
  for (Particle& p : particles) p.mass = 2, p.position = {0.5, -0.25, 0};
  particles[0].position = {5, 0, 0};  // outside the picture
  map.add(particles);
  double mass = 0, count = 0;
  for (int pixel = 0; pixel < 64 * 64; ++pixel) mass += map.grid()[pixel], count += map.grid()[64 * 64 + pixel];
  EXPECT_NEAR(mass, 98, 1e-3);
  EXPECT_EQ(count, 49);
  const Image image = map.image();
  ASSERT_EQ(image.rgb.size(), 3u * 64 * 64);
  const auto brightness = [&](int x, int y) {
    return int(image.rgb[3 * (y * 64 + x)]) + image.rgb[3 * (y * 64 + x) + 1];
  };
  EXPECT_GT(brightness(48, 40), brightness(10, 10) + 100) << "x to the right, y upwards";
}

TEST(Density, ShowsWhichPeParticlesAreOn) {
  DensityMap map(64, {}, 1, true);
  for (int pe = 0; pe < 2; ++pe) {
    std::vector<Particle> particles(50);
    for (Particle& p : particles) p.mass = 2, p.position = {pe == 0 ? -0.5 : 0.5, 0, 0};
    map.add(particles, pe);
  }
  const Image image = map.domains();
  ASSERT_EQ(image.rgb.size(), 3u * 64 * 64);
  const auto channels = [&](int x) {
    return std::vector<int>(&image.rgb[3 * (32 * 64 + x)], &image.rgb[3 * (32 * 64 + x) + 3]);
  };
  const std::vector<int> left = channels(16), right = channels(48);
  EXPECT_GT(left[0], left[2] + 50) << "PE 0 is orange";
  EXPECT_GT(right[2], right[1] + 50) << "PE 1 is blue";
}

}  // namespace
}  // namespace periapt::nbody
