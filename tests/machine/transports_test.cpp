// The table of transports: names are unique, and each can be asked what is here.
#include "machine/layer/transports.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace periapt::machine {
namespace {

TEST(Transports, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const ucx::TransportFactory* factory : transports())
    EXPECT_TRUE(names.insert(factory->name).second) << factory->name;
  EXPECT_TRUE(names.contains("tcp"));
}

TEST(Transports, EachSaysWhatIsHereOrWhyNothingIs) {
  for (const ucx::TransportFactory* factory : transports()) {
    for (const ucx::Device& device : factory->probe({})) {
      EXPECT_EQ(device.transport, factory->name);
      EXPECT_FALSE(device.detail.empty()) << device.name;
    }
  }
}

}  // namespace
}  // namespace periapt::machine
