// Which port and which GID are chosen, and what is said of the others: a pure function of what the devices say.
#include "machine/verbs/devices.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "machine/ucx-like/range_key.h"

namespace periapt::verbs {
namespace {

using ucx::Device;
using Type = Gid::Type;

Gid gid(int index, Type type, std::initializer_list<int> first, std::initializer_list<int> last) {
  Gid made;
  made.index = index;
  made.type = type;
  std::copy(first.begin(), first.end(), made.bytes.begin());
  std::copy(last.begin(), last.end(), made.bytes.end() - static_cast<std::ptrdiff_t>(last.size()));
  return made;
}
Gid link_local(int index, Type type) { return gid(index, type, {0xfe, 0x80}, {1}); }
Gid ip4(int index, Type type, int last) { return gid(index, type, {}, {0xff, 0xff, 10, 77, 0, last}); }
Gid ip6(int index, Type type) { return gid(index, type, {0xfd, 0}, {1}); }

Port port(const std::string& device, std::vector<Gid> gids) {
  Port made;
  made.device = device;
  made.number = 1;
  made.active = made.ethernet = true;
  made.max_message = 1 << 20;
  made.adapter = device;
  made.bytes_per_ns = 12.5;
  made.gids = std::move(gids);
  return made;
}

TEST(VerbsDevices, AnIp4AddressOfRoceV2GoesFirst) {
  const auto chosen = choose({port("a", {link_local(0, Type::roce1), link_local(1, Type::roce2), ip4(2, Type::roce1, 1),
                                         ip6(3, Type::roce2), ip4(4, Type::roce2, 1)})},
                             "", "");
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_TRUE(chosen[0].device.usable);
  EXPECT_EQ(chosen[0].gid.index, 4);
  EXPECT_NE(chosen[0].device.detail.find("GID 4 ::ffff:10.77.0.1 (v2)"), std::string::npos) << chosen[0].device.detail;
}

TEST(VerbsDevices, WithoutOneTheOrderIsIp6ThenLinkLocalThenV1) {
  const Gid v1 = ip4(0, Type::roce1, 1), local = link_local(1, Type::roce2), routed = ip6(2, Type::roce2);
  EXPECT_EQ(choose({port("a", {v1, local, routed})}, "", "")[0].gid.index, 2);
  EXPECT_EQ(choose({port("a", {v1, local})}, "", "")[0].gid.index, 1);
  EXPECT_EQ(choose({port("a", {v1})}, "", "")[0].gid.index, 0);
}

TEST(VerbsDevices, AnotherGidCanBeAskedFor) {
  const std::vector<Port> ports = {port("a", {ip4(0, Type::roce1, 1), ip4(5, Type::roce2, 1)})};
  EXPECT_EQ(choose(ports, "", "0")[0].gid.index, 0);
  const auto wrong = choose(ports, "", "3");
  EXPECT_FALSE(wrong[0].device.usable);
  EXPECT_EQ(wrong[0].device.detail,
            "+verbs-gid 3 names none of its GIDs; there are: 0 (::ffff:10.77.0.1 (v1)) 5 (::ffff:10.77.0.1 (v2))");
}

Gid of_interface(Gid gid, const std::string& interface) {
  gid.interface = interface;
  return gid;
}

TEST(VerbsDevices, AGidCanBeAskedForByItsInterface) {
  const std::vector<Port> ports = {
      port("a", {of_interface(ip4(0, Type::roce2, 1), "eth0"), of_interface(link_local(1, Type::roce2), "eth0.100"),
                 of_interface(ip4(2, Type::roce1, 2), "eth0.100"), of_interface(ip4(3, Type::roce2, 2), "eth0.100")})};
  EXPECT_EQ(choose(ports, "", "")[0].gid.index, 0);
  const auto chosen = choose(ports, "", "eth0.100");
  EXPECT_EQ(chosen[0].gid.index, 3);
  EXPECT_EQ(chosen[0].device.detail.find("RoCE, GID 3 ::ffff:10.77.0.2 (v2) of eth0.100, "), 0u)
      << chosen[0].device.detail;
  const auto wrong = choose({port("a", {of_interface(ip4(0, Type::roce2, 1), "eth0")})}, "", "eth0.200");
  EXPECT_FALSE(wrong[0].device.usable);
  EXPECT_EQ(wrong[0].device.detail,
            "+verbs-gid eth0.200 names none of its GIDs; there are: 0 (::ffff:10.77.0.1 (v2) of eth0)");
  EXPECT_EQ(wrong[0].device.remedy, "leave +verbs-gid out");
}

TEST(VerbsDevices, APartitionCanBeAskedForByItsKey) {
  Port one = port("a", {ip4(0, Type::infiniband, 1)});
  one.ethernet = false;
  one.partitions = {{0, 0x7fff}, {2, 0x0005}, {3, 0x8005}, {4, 0x8001}};
  const auto chosen = [&](std::uint16_t key) { return choose({one}, "", "", 2, 0, key)[0]; };
  EXPECT_EQ(chosen(0).partition.index, 3) << "the first that it is a full member of";
  EXPECT_EQ(chosen(1).partition.index, 4);
  EXPECT_EQ(chosen(0x8001).partition.index, 4);
  EXPECT_EQ(chosen(5).partition.index, 3) << "as a full member, where it is one";
  EXPECT_EQ(chosen(0xffff).partition.index, 0);
  EXPECT_EQ(chosen(0xffff).partition.key, 0x7fff);
  EXPECT_NE(chosen(1).device.detail.find(", partition 0x8001"), std::string::npos) << chosen(1).device.detail;
  const Choice wrong = chosen(0x8009);
  EXPECT_FALSE(wrong.device.usable);
  EXPECT_EQ(wrong.device.detail,
            "+verbs-partition-key 0x8009 names none of its partitions; there are: 0x7fff 0x5 0x8005 0x8001");
  EXPECT_EQ(wrong.device.remedy, "leave +verbs-partition-key out, or have the subnet manager add the port");
  one.partitions = {};
  EXPECT_TRUE(chosen(0).device.usable) << "it may not tell";
  EXPECT_FALSE(chosen(1).device.usable);
}

Port port(const std::string& device, int number, double distance) {
  Port made = port(device, {ip4(0, Type::roce2, number)});
  made.distance = distance;
  return made;
}
/// "b:1 a:1": those that are used, in their order.
std::string used(const std::vector<Choice>& choices) {
  std::string names;
  for (const Choice& choice : choices) {
    if (choice.device.usable) names += (names.empty() ? "" : " ") + choice.device.name;
  }
  return names;
}
const Device& device(const std::vector<Choice>& choices, const std::string& name) {
  for (const Choice& choice : choices) {
    if (choice.device.name == name) return choice.device;
  }
  ADD_FAILURE() << name << " is not among them";
  return choices.front().device;
}

TEST(VerbsDevices, ThoseThatAreNamedAreUsedInThatOrder) {
  const std::vector<Port> ports = {port("a", 1, 10), port("b", 2, 0), port("c", 3, 10)};
  EXPECT_EQ(used(choose(ports, "b,a:1", "")), "b:1 a:1");
  EXPECT_EQ(used(choose(ports, "c,a,b,a:1", "")), "c:1 a:1 b:1");
  const auto chosen = choose(ports, "b", "");
  EXPECT_EQ(used(chosen), "b:1");
  EXPECT_EQ(device(chosen, "a:1").remedy, "+verbs-devices b,a:1");
}

TEST(VerbsDevices, OtherwiseTheNearestAreRails) {
  const std::vector<Port> ports = {port("a", 1, 21), port("b", 2, 10), port("c", 3, 12), port("d", 4, 0)};
  EXPECT_EQ(used(choose(ports, "", "")), "b:1 d:1") << "where a distance is not known there is one node";
  EXPECT_EQ(used(choose(ports, "", "", 1)), "b:1");
  EXPECT_EQ(used(choose(ports, "", "", 8)), "b:1 d:1 c:1 a:1");
  const auto chosen = choose(ports, "", "", 3);
  EXPECT_NE(device(chosen, "c:1").detail.find("100 Gb/s, distance 12"), std::string::npos)
      << device(chosen, "c:1").detail;
  EXPECT_NE(device(chosen, "a:1").detail.find("distance 21: 3 others are used"), std::string::npos)
      << device(chosen, "a:1").detail;
  EXPECT_EQ(device(chosen, "a:1").remedy, "+verbs-devices b:1,d:1,c:1,a:1");
}

TEST(VerbsDevices, OfEqualDistanceTheFasterGoesFirst) {
  std::vector<Port> ports = {port("a", 1, 10), port("b", 2, 10)};
  ports[1].bytes_per_ns = 25;
  EXPECT_EQ(used(choose(ports, "", "")), "b:1 a:1");
}

TEST(VerbsDevices, ProcessesOfAHostTakeTurnsWithPortsThatAreAsGood) {
  std::vector<Port> ports = {port("a", 1, 21), port("b", 2, 10), port("c", 3, 10), port("d", 4, 10)};
  EXPECT_EQ(used(choose(ports, "", "", 2, 1)), "b:1 c:1") << "each may have a network of its own";
  for (Port& one : ports) one.ethernet = false;
  EXPECT_EQ(used(choose(ports, "", "", 2, 0)), "b:1 c:1");
  EXPECT_EQ(used(choose(ports, "", "", 2, 1)), "c:1 d:1");
  EXPECT_EQ(used(choose(ports, "", "", 2, 2)), "d:1 b:1");
  EXPECT_EQ(used(choose(ports, "", "", 4, 7)), "c:1 d:1 b:1 a:1") << "what is farther stays last";
  EXPECT_EQ(used(choose(ports, "d,b", "", 2, 1)), "d:1 b:1") << "what is named stays in its order";
  ports[3].gids[0].bytes[1] = 0x77;
  EXPECT_EQ(used(choose(ports, "", "", 2, 1)), "b:1 c:1") << "of another subnet";
}

TEST(VerbsDevices, OfAnAdapterTheBetterPortIsARail) {
  std::vector<Port> ports = {port("a", 1, 10), port("a", 2, 10), port("b", 3, 10), port("c", 4, 21)};
  ports[1].number = 2;
  ports[0].bytes_per_ns = 5;
  ports[2].adapter = "a";  // a port of its own, as another device
  const auto chosen = choose(ports, "", "");
  EXPECT_EQ(used(chosen), "a:2 c:1");
  for (const char* other : {"a:1", "b:1"})
    EXPECT_NE(device(chosen, other).detail.find(": a:2 of the same adapter is used"), std::string::npos)
        << device(chosen, other).detail;
  EXPECT_EQ(used(choose(ports, "a:1,a:2", "")), "a:1 a:2") << "who names them knows better";
}

TEST(VerbsDevices, OtherKindsOfNetworksAndSlowOnesAreNoRails) {
  std::vector<Port> ports = {port("a", 1, 10), port("b", 2, 21), port("c", 3, 21), port("d", 4, 10)};
  ports[0].bytes_per_ns = 1.25;  // for another purpose, however near
  ports[2].ethernet = false;
  ports[3].software = true;
  const auto chosen = choose(ports, "", "", 8);
  EXPECT_EQ(used(chosen), "b:1");
  EXPECT_NE(device(chosen, "a:1").detail.find("more than eight times as fast"), std::string::npos);
  EXPECT_NE(device(chosen, "c:1").detail.find("another kind of network than b:1"), std::string::npos);
  EXPECT_NE(device(chosen, "d:1").detail.find("another kind of network"), std::string::npos);
  EXPECT_EQ(used(choose({ports[3]}, "", "")), "d:1") << "software where there is nothing else";
}

TEST(VerbsDevices, WhatCannotBeUsedSaysWhy) {
  Port down = port("a", {ip4(0, Type::roce2, 1)});
  down.active = false;
  EXPECT_EQ(choose({down}, "", "")[0].device.detail, "the port is down");
  EXPECT_NE(choose({port("a", {})}, "", "")[0].device.detail.find("no GID"), std::string::npos);
  Port closed;
  closed.device = "a";
  closed.fault = "it can't be opened: Permission denied";
  EXPECT_EQ(choose({closed}, "", "")[0].device.detail, closed.fault);
  const auto unknown = choose({port("a", {ip4(0, Type::roce2, 1)})}, "mlx5_0", "");
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(unknown[1].device.name, "mlx5_0");
  EXPECT_EQ(unknown[1].device.detail, "+verbs-devices names it, and there is no such port; there are: a:1");
}

TEST(VerbsDevices, AFaultOfAPortGoesOnToTheNextOne) {
  Port down = port("a", {ip4(0, Type::roce2, 1)});
  down.active = false;
  const auto chosen = choose({down, port("b", {ip4(0, Type::roce2, 2)})}, "", "");
  EXPECT_EQ(used(chosen), "b:1");
}

TEST(VerbsDevices, ALimitOfLockedMemoryIsNamedWithItsNumberAndTheCommand) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64 << 10;
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &small), 0);
  const std::string fault = ucx::registration_fault(3 << 20, ENOMEM);
  ::setrlimit(RLIMIT_MEMLOCK, &before);
  EXPECT_EQ(
      fault.find("3145728 bytes of memory can't be registered: Cannot allocate memory; the limit of locked memory "
                 "of this process is 65536 bytes, and is lifted by: ulimit -l unlimited"),
      0u)
      << fault;
  EXPECT_EQ(ucx::registration_fault(4096, EFAULT), "4096 bytes of memory can't be registered: Bad address");
}

TEST(VerbsDevices, NumbersOfOptionsAreChecked) {
  EXPECT_EQ(read_number("+verbs-service-level", "", 15, 0).value(), 0);
  EXPECT_EQ(read_number("+verbs-service-level", "15", 15, 0).value(), 15);
  for (const char* text : {"16", "-1", "1x", "x", " 1"})
    EXPECT_FALSE(read_number("+verbs-gid", text, 15, 0).ok()) << text;
  for (const char* text : {"0", "9"}) EXPECT_FALSE(read_number("+verbs-rails", text, 8, 2, 1).ok()) << text;
  EXPECT_EQ(read_number("+verbs-rails", "0", 8, 2, 1).message(), "+verbs-rails wants a number from 1 to 8, not \"0\"");
  EXPECT_EQ(read_number("+verbs-gid", "x", 255, 0).message(), "+verbs-gid wants a number from 0 to 255, not \"x\"");
}

TEST(VerbsDevices, WhatMeansNothingAsAGidAPartitionOrAPacketIsSaid) {
  for (const char* text : {"0", "255", "eth0", "eth0.100", "ib0"}) EXPECT_TRUE(check_gid(text).ok()) << text;
  for (const char* text : {"256", "-1", "a/b", "eth0 ", "a-name-that-is-too-long"})
    EXPECT_FALSE(check_gid(text).ok()) << text;
  EXPECT_EQ(check_gid("256").message(),
            "+verbs-gid wants an index from 0 to 255, or the name of a network interface, not \"256\"");
  EXPECT_EQ(read_partition_key("").value(), 0);
  EXPECT_EQ(read_partition_key("0x8001").value(), 0x8001);
  EXPECT_EQ(read_partition_key("32769").value(), 0x8001);
  for (const char* text : {"0", "0x8000", "0x10000", "65536", "0x", "x", "-1", "0x1 ", "8001h"})
    EXPECT_FALSE(read_partition_key(text).ok()) << text;
  EXPECT_EQ(read_partition_key("0").message(),
            "+verbs-partition-key wants the key of a partition, 0x1 to 0x7fff, or as a full member's 0x8001 to 0xffff, "
            "not \"0\"");
  EXPECT_EQ(read_mtu("").value(), IBV_MTU_4096);
  EXPECT_EQ(read_mtu("256").value(), IBV_MTU_256);
  EXPECT_EQ(read_mtu("2048").value(), IBV_MTU_2048);
  for (const char* text : {"0", "128", "1500", "8192", "x", "1024 "}) EXPECT_FALSE(read_mtu(text).ok()) << text;
  EXPECT_EQ(read_mtu("1500").message(), "+verbs-mtu wants 256, 512, 1024, 2048 or 4096 bytes, not \"1500\"");
}

}  // namespace
}  // namespace periapt::verbs
