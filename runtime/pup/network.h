// Streams in network byte order with sizes that do not depend on the machine, for talking to programs in other languages:
//
//                      char, bytes   short, int, bool   long, long long   float   double, long double
//   PUP_toNetwork      1             4                  8                 4       8
//   PUP_toNetwork4     1             4                  4                 4       4
//
// A value that does not fit its form is an error on the packing side.
#pragma once

#include "runtime/pup/operators.h"

namespace PUP {
namespace detail {

/// One implementation for both; the direction decides which members are used.
class network_er : public er {
 public:
  std::size_t size() const override { return at_ - start_; }
  std::size_t remaining() const override;
  std::size_t limit() const override { return length_; }
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;

 protected:
  network_er(direction d, void* buffer, std::size_t length, bool four)
      : er(d), start_(static_cast<unsigned char*>(buffer)), at_(start_), length_(length), four_(four) {}
  static constexpr direction sizing = IS_SIZING, packing = IS_PACKING, unpacking = IS_UNPACKING;

 private:
  std::size_t wire_size(dataType t) const;
  void item(unsigned char* native, std::size_t size, dataType t, std::size_t wire);
  unsigned char* start_;
  unsigned char* at_;
  std::size_t length_;
  bool four_;
  std::size_t counted_ = 0;

 protected:
  std::size_t counted() const { return counted_; }
};

}  // namespace detail
}  // namespace PUP

#define PUP_NETWORK_STREAMS(name, four)                                                                       \
  class name##_sizer final : public PUP::detail::network_er {                                                 \
   public:                                                                                                    \
    name##_sizer() : network_er(sizing, nullptr, PUP::unbounded, four) {}                                     \
    std::size_t size() const override { return counted(); }                                                   \
  };                                                                                                          \
  class name##_pack final : public PUP::detail::network_er {                                                  \
   public:                                                                                                    \
    explicit name##_pack(void* dest, std::size_t length = PUP::unbounded)                                     \
        : network_er(packing, dest, length, four) {}                                                          \
  };                                                                                                          \
  class name##_unpack final : public PUP::detail::network_er {                                                \
   public:                                                                                                    \
    explicit name##_unpack(const void* src, std::size_t length = PUP::unbounded)                              \
        : network_er(unpacking, const_cast<void*>(src), length, four) {}                                      \
  };
PUP_NETWORK_STREAMS(PUP_toNetwork, false)
PUP_NETWORK_STREAMS(PUP_toNetwork4, true)
#undef PUP_NETWORK_STREAMS
