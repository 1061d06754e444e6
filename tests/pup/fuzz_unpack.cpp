// libFuzzer target: any bytes, unpacked as an object with one of everything in it, by each kind of stream.
//   cmake -DPERIAPT_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ ...; ninja fuzz_pup_unpack; ./fuzz_pup_unpack
#include <cstdint>

#include "pup_types.h"

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pup_test::ThrowErrors on;
  if (!size) return 0;
  const unsigned kind = data[0] % 4;
  ++data, --size;
  if (kind == 0) {
    PUP::fromMem p(data, size);
    pup_test::unpack(p);
  } else if (kind == 1) {
    PUP::fromMem bytes(data, size);
    PUP::xlater p(pup_test::ForeignPack(true, 4, 4).machine(), bytes);
    pup_test::unpack(p);
  } else if (kind == 2) {
    PUP_toNetwork4_unpack p(data, size);
    pup_test::unpack(p);
  } else {
    pup_test::File f(fmemopen(const_cast<std::uint8_t*>(data), size ? size : 1, "r"));
    PUP::fromTextFile p(f.get());
    pup_test::unpack(p);
  }
  return 0;
}
