// Shared by the tests of PUP: an error handler that throws, every way to send an object through a stream, and packers
// of foreign machines.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "pup.h"
#include "pup_stl.h"
#include "pup_toNetwork.h"
#include "pup_toNetwork4.h"

namespace pup_test {

/// While one of these lives, PUP::errors are thrown.
class ThrowErrors {
 public:
  ThrowErrors() : before_(PUP::set_error_handler([](const PUP::error& e) { throw e; })) {}
  ~ThrowErrors() { PUP::set_error_handler(before_); }

 private:
  PUP::error_handler before_;
};

struct CloseFile {
  void operator()(FILE* f) const { std::fclose(f); }
};
typedef std::unique_ptr<FILE, CloseFile> File;
inline File temporary_file() { return File(std::tmpfile()); }

template <class T>
T blank() {
  PUP::detail::TemporaryObjectHolder<T> holder;
  return std::move(holder.t);
}

/// Packed through the streams' own types, as arguments of entry methods are.
template <class T>
std::vector<char> pack(T& value) {
  PUP::sizer sizing;
  sizing | value;
  std::vector<char> bytes(sizing.size());
  PUP::toMem packing(bytes.data(), bytes.size());
  packing | value;
  if (packing.size() != bytes.size()) throw std::logic_error("packed to another size than it was sized");
  return bytes;
}

/// Packed through a PUP::er&, as members of objects are.
template <class T>
std::vector<char> pack_through_er(T& value) {
  PUP::sizer sizing;
  PUP::er& s = sizing;
  s | value;
  std::vector<char> bytes(sizing.size());
  PUP::toMem packing(bytes.data(), bytes.size());
  PUP::er& p = packing;
  p | value;
  if (packing.size() != bytes.size()) throw std::logic_error("packed to another size than it was sized");
  return bytes;
}

/// Packs as a machine with other byte order and other sizes would.
class ForeignPack : public PUP::er {
 public:
  ForeignPack(bool big_endian, unsigned long_bytes, unsigned bool_bytes)
      : er(IS_PACKING), big_endian_(big_endian), long_bytes_(long_bytes), bool_bytes_(bool_bytes) {}

  PUP::machineInfo machine() const {
    PUP::machineInfo m = PUP::machineInfo::current();
    m.intFormat = m.floatFormat = !big_endian_;
    m.intBytes[3] = static_cast<unsigned char>(long_bytes_);
    m.boolBytes = static_cast<unsigned char>(bool_bytes_);
    return m;
  }

  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType t) override {
    std::size_t size = itemSize;
    if (t == PUP::Tlong || t == PUP::Tulong) size = long_bytes_;
    if (t == PUP::Tbool) size = bool_bytes_;
    for (std::size_t i = 0; i < n; ++i) {
      const unsigned char* item = static_cast<unsigned char*>(p) + i * itemSize;
      const bool negative = (t == PUP::Tlong) && item[itemSize - 1] & 0x80;  // the tests run on little-endian machines
      for (std::size_t j = 0; j < size; ++j) {
        const std::size_t k = big_endian_ ? size - 1 - j : j;
        out.push_back(static_cast<char>(k < itemSize ? item[k] : negative ? 0xff : 0));
      }
    }
  }

  std::vector<char> out;

 private:
  bool big_endian_;
  unsigned long_bytes_, bool_bytes_;
};

// ---- every way there and back; each returns what came out
// -------------------------------------------------------------

template <class T>
void through_memory(T& in, T& out) {
  std::vector<char> bytes = pack(in);
  PUP::fromMem p(bytes.data(), bytes.size());
  p | out;
  if (p.size() != bytes.size()) throw std::logic_error("unpacking left bytes over");
}
template <class T>
void through_er(T& in, T& out) {
  std::vector<char> bytes = pack_through_er(in);
  if (bytes != pack(in)) throw std::logic_error("a stream's own type and PUP::er& pack different bytes");
  PUP::fromMem unpacking(bytes.data(), bytes.size());
  PUP::er& p = unpacking;
  p | out;
  if (p.size() != bytes.size()) throw std::logic_error("unpacking left bytes over");
}
template <class T>
void through_unchecked_memory(T& in, T& out) {
  std::vector<char> bytes = pack(in);
  PUP::fromMem p(bytes.data());
  p | out;
}
template <class T>
void through_misaligned_memory(T& in, T& out) {
  std::vector<char> bytes = pack(in);
  bytes.insert(bytes.begin(), 'x');
  PUP::fromMem p(bytes.data() + 1, bytes.size() - 1);
  p | out;
}
template <class T>
void through_disk(T& in, T& out) {
  File f = temporary_file();
  PUP::toDisk packing(f.get());
  packing | in;
  if (packing.checkError()) throw std::runtime_error(packing.errorMessage());
  std::rewind(f.get());
  PUP::fromDisk unpacking(f.get());
  unpacking | out;
  if (unpacking.remaining()) throw std::logic_error("unpacking left bytes over");
}
template <class T>
void through_text_file(T& in, T& out) {
  File f = temporary_file();
  PUP::toTextFile packing(f.get());
  packing.comment("of a test");
  packing | in;
  std::rewind(f.get());
  PUP::fromTextFile unpacking(f.get());
  unpacking | out;
}
template <class T>
void from_foreign(T& in, T& out, bool big_endian, unsigned long_bytes, unsigned bool_bytes) {
  ForeignPack packing(big_endian, long_bytes, bool_bytes);
  packing | in;
  PUP::fromMem bytes(packing.out.data(), packing.out.size());
  PUP::xlater p(packing.machine(), bytes);
  p | out;
  if (bytes.remaining()) throw std::logic_error("unpacking left bytes over");
}
template <class T>
void from_big_endian(T& in, T& out) {
  from_foreign(in, out, true, 8, 1);
}
template <class T>
void from_other_sizes(T& in, T& out) {
  from_foreign(in, out, false, 16, 4);
}
template <class Sizer, class Pack, class Unpack, class T>
void through_network_of(T& in, T& out) {
  Sizer sizing;
  sizing | in;
  std::vector<char> bytes(sizing.size());
  Pack packing(bytes.data(), bytes.size());
  packing | in;
  if (packing.size() != bytes.size()) throw std::logic_error("packed to another size than it was sized");
  Unpack unpacking(bytes.data(), bytes.size());
  unpacking | out;
}
template <class T>
void through_network(T& in, T& out) {
  through_network_of<PUP_toNetwork_sizer, PUP_toNetwork_pack, PUP_toNetwork_unpack>(in, out);
}
template <class T>
void through_network4(T& in, T& out) {
  through_network_of<PUP_toNetwork4_sizer, PUP_toNetwork4_pack, PUP_toNetwork4_unpack>(in, out);
}
/// The description of an object as text: sized as it is written.
template <class T>
std::string describe(T& value) {
  PUP::sizerText sizing;
  sizing | value;
  std::string text(sizing.size(), 'x');
  PUP::toText packing(&text[0], text.size());
  packing | value;
  if (packing.size() != text.size() || text.back() != 0) throw std::logic_error("described in another size than sized");
  text.pop_back();
  return text;
}

}  // namespace pup_test
