// Any bytes, unpacked as an object with one of everything in it, by each kind of stream: memory, a foreign machine's
// memory, network form, and text and bytes on disk.
#include "tests/fuzz/fuzz.h"
#include "tests/pup/pup_types.h"

namespace pup_test {
struct Tree {
  int value = 0;
  std::unique_ptr<Tree> left, right;
  void pup(PUP::er& p) {
    p | value;
    p | left;
    p | right;
  }
};
struct Everything {
  Member member;
  std::vector<bool> bits;
  std::vector<std::vector<double>> matrix;
  std::forward_list<int> forward;
  std::map<std::string, std::deque<int>> map;
  std::unordered_multimap<int, std::string> hashed;
  std::set<std::string> set;
  std::tuple<int, std::string> tuple;
  std::optional<std::string> optional;
  Choice choice;
  std::unique_ptr<Tree> tree;
  std::array<std::string, 2> array;
  std::minstd_rand engine;
  bool flag = false;
  void pup(PUP::er& p) {
    p | member, p | bits, p | matrix, p | forward, p | map, p | hashed, p | set, p | tuple, p | optional, p | choice;
    p | tree, p | array, p | engine, p | flag;
  }
};

void unpack(PUP::er& p) {
  try {
    Everything object;
    p | object;
  } catch (const PUP::error&) {
  }
}
}  // namespace pup_test

namespace periapt::fuzz {

void target(Input input) {
  using namespace pup_test;
  ThrowErrors on;
  const std::size_t kind = input.below(5);
  const Bytes rest = input.rest();
  const auto* data = reinterpret_cast<const char*>(rest.data());
  if (kind == 0) {
    PUP::fromMem p(data, rest.size());
    return unpack(p);
  }
  if (kind == 1) {
    PUP::fromMem bytes(data, rest.size());
    PUP::xlater p(ForeignPack(true, 4, 4).machine(), bytes);
    return unpack(p);
  }
  if (kind == 2) {
    PUP_toNetwork4_unpack p(data, rest.size());
    return unpack(p);
  }
  char nothing = 0;
  File file(::fmemopen(rest.empty() ? &nothing : const_cast<char*>(data), std::max<std::size_t>(rest.size(), 1), "r"));
  if (kind == 3) {
    PUP::fromTextFile p(file.get());
    unpack(p);
  } else {
    PUP::fromDisk p(file.get());
    unpack(p);
  }
}

}  // namespace periapt::fuzz
