// ckout, ckerr and ckin: streams whose lines are written whole, so that those of several PEs don't mix.
// C++17: reached from charm++.h.
//
//   ckout << "element " << i << " has " << x << endl;
//
// What is written is kept for the PE until endl. Numbers look as printf's %d and %f.
#pragma once
#include <string>

#include "runtime/containers/bit_vector.h"
#include "runtime/converse/cmi.h"

namespace periapt {
class LineStream {
 public:
  explicit constexpr LineStream(bool is_error) : is_error_(is_error) {}
  void append(const char* text);
  void append(const char* format, int value);
  void append(const char* format, unsigned value);
  void append(const char* format, long value);
  void append(const char* format, unsigned long value);
  void append(const char* format, long long value);
  void append(const char* format, unsigned long long value);
  void append(const char* format, double value);
  void append(const char* format, const void* value);
  void end_line();

 private:
  bool is_error_;
};
}  // namespace periapt

class CkOStream;
namespace periapt {
// What can be written to a stream. Self: the class that << answers, so that a program's own << for it, or for
// CkOStream&, can stand anywhere in a chain.
template <class Self, class Base>
class StreamOf : public Base {
 public:
  using Base::Base;
  Self& operator<<(CkOStream& (*manipulator)(CkOStream&)) { return manipulator(self()), self(); }
  Self& operator<<(const char* text) { return append(text), self(); }
  Self& operator<<(const std::string& text) { return append(text.c_str()), self(); }
  Self& operator<<(char c) { return append("%c", static_cast<int>(c)), self(); }
  Self& operator<<(unsigned char x) { return append("%u", static_cast<unsigned>(x)), self(); }
  Self& operator<<(short x) { return append("%d", static_cast<int>(x)), self(); }
  Self& operator<<(unsigned short x) { return append("%u", static_cast<unsigned>(x)), self(); }
  Self& operator<<(int x) { return append("%d", x), self(); }
  Self& operator<<(unsigned x) { return append("%u", x), self(); }
  Self& operator<<(long x) { return append("%ld", x), self(); }
  Self& operator<<(unsigned long x) { return append("%lu", x), self(); }
  Self& operator<<(long long x) { return append("%lld", x), self(); }
  Self& operator<<(unsigned long long x) { return append("%llu", x), self(); }
  Self& operator<<(float x) { return append("%f", static_cast<double>(x)), self(); }
  Self& operator<<(double x) { return append("%f", x), self(); }
  Self& operator<<(void* x) { return append("%p", static_cast<const void*>(x)), self(); }
  Self& operator<<(const CkBitVector& bits) { return *this << bits.toString(); }

 protected:
  using Base::append;

 private:
  Self& self() { return static_cast<Self&>(*this); }
};
}  // namespace periapt

// Either of them: what a program's own << takes.
class CkOStream : public periapt::StreamOf<CkOStream, periapt::LineStream> {
 public:
  using StreamOf::StreamOf;
  // As its own: as a base's, << int would be ambiguous with a program's << for a type that is made from an int.
  using StreamOf::operator<<;
};
class CkOutStream : public periapt::StreamOf<CkOutStream, CkOStream> {
 public:
  constexpr CkOutStream() : StreamOf(false) {}
};
class CkErrStream : public periapt::StreamOf<CkErrStream, CkOStream> {
 public:
  constexpr CkErrStream() : StreamOf(true) {}
};

inline CkOStream& endl(CkOStream& stream) {
  stream.end_line();
  return stream;
}

class CkInStream {
 public:
  CkInStream& operator>>(char* word) { return CmiScanf("%s", word), *this; }
  CkInStream& operator>>(char& x) { return CmiScanf("%c", &x), *this; }
  CkInStream& operator>>(unsigned char& x) { return CmiScanf("%c", &x), *this; }
  CkInStream& operator>>(short& x) { return CmiScanf("%hd", &x), *this; }
  CkInStream& operator>>(unsigned short& x) { return CmiScanf("%hu", &x), *this; }
  CkInStream& operator>>(int& x) { return CmiScanf("%d", &x), *this; }
  CkInStream& operator>>(unsigned& x) { return CmiScanf("%u", &x), *this; }
  CkInStream& operator>>(long& x) { return CmiScanf("%ld", &x), *this; }
  CkInStream& operator>>(unsigned long& x) { return CmiScanf("%lu", &x), *this; }
  CkInStream& operator>>(long long& x) { return CmiScanf("%lld", &x), *this; }
  CkInStream& operator>>(unsigned long long& x) { return CmiScanf("%llu", &x), *this; }
  CkInStream& operator>>(float& x) { return CmiScanf("%f", &x), *this; }
  CkInStream& operator>>(double& x) { return CmiScanf("%lf", &x), *this; }
};

extern CkOutStream ckout;
extern CkErrStream ckerr;
extern CkInStream ckin;
