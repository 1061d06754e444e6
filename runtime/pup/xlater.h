// Reading what a machine with other byte order or other sizes wrote: "reader makes right".
//
//   PUP::machineInfo from; p | from;                    // the writer packed PUP::machineInfo::current() first
//   if (from.valid() && from.needsConversion()) { PUP::xlater converted(from, p); converted | data; }
#pragma once

#include "runtime/pup/operators.h"

namespace PUP {

/// The data representation of a machine, in bytes that need no conversion themselves.
class machineInfo {
 public:
  typedef unsigned char myByte;
  myByte magic[4];
  myByte version;
  myByte intBytes[5];  ///< sizes of char, short, int, long, 128-bit
  myByte intFormat;    ///< 0: big-endian, 1: little-endian
  myByte floatBytes;
  myByte doubleBytes;
  myByte floatFormat;  ///< 0: big-endian IEEE 754, 1: little-endian
  myByte boolBytes;
  myByte pointerBytes;

  /// Whether this is a machineInfo at all.
  bool valid() const;
  /// Whether it differs from the machine we run on.
  bool needsConversion() const;
  static const machineInfo& current();
  void pup(er& p);
};

/// Hands everything on to another stream; the base for streams that change what passes.
class wrap_er : public er {
 public:
  explicit wrap_er(er& inner, unsigned int newFlags = 0) : er(inner.getStateFlags() | newFlags), p(inner) {}
  std::size_t size() const override { return p.size(); }
  std::size_t remaining() const override { return p.remaining(); }
  std::size_t offset() const override { return p.offset(); }
  std::size_t limit() const override { return p.limit(); }
  void comment(const char* message) override { p.comment(message); }
  void synchronize(unsigned int sync) override { p.synchronize(sync); }
  void impl_startSeek(seekBlock& s) override { p.impl_startSeek(s); }
  std::size_t impl_tell(seekBlock& s) override { return p.impl_tell(s); }
  void impl_seek(seekBlock& s, std::size_t off) override { p.impl_seek(s, off); }
  void impl_endSeek(seekBlock& s) override { p.impl_endSeek(s); }

 protected:
  er& p;
};

/// Unpacks from `fromData`, which holds items as `fromMachine` wrote them. Types declared with PUPbytes are copied as they
/// are. long double has no form in common and is refused where conversion is needed.
class xlater : public wrap_er {
 public:
  xlater(const machineInfo& fromMachine, er& fromData);
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
  /// An item may take up to 16 times the room here that it has there.
  std::size_t remaining() const override;

 private:
  enum class form : unsigned char { bytes, integer, natural, real, boolean, none };
  struct Source {
    form as = form::none;
    unsigned char size = 0;
  };
  Source source_[dataType_last];
  bool swap_integers_;
  bool swap_reals_;
};

}  // namespace PUP
