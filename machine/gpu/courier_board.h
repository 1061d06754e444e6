// What the host and the courier, a kernel that waits on a GPU for small messages (courier.h), tell each other: it lies
// in pinned memory of the host. The kernel is compiled with this file, by compilers that know no header of the
// system's.
#pragma once

#ifndef PERIAPT_ON_BOTH  // what a vendor's compiler calls a function of the host that kernels call too
#define PERIAPT_ON_BOTH
#endif

namespace periapt::gpu {

using Word = unsigned long long;

/// What the kernel copies by.
struct Unit16 {
  Word low, high;
};
using Unit8 = Word;
using Unit4 = unsigned;
using Unit1 = unsigned char;

/// Copy so many bytes. Commands have numbers, which count from 1; a command lies in the place of its number.
struct CourierCommand {
  /// What `bytes` holds beside their number.
  static constexpr Word kSent = Word{1} << 32;  ///< they stand in the command, and `from` is nothing
  static constexpr Word kTold = Word{1} << 33;  ///< they go into the answer (CourierAnswer), and `to` is nothing
  static constexpr Word kNear = Word{1} << 34;  ///< `to` is memory of the courier's GPU
  static constexpr unsigned kWords = 4;
  static constexpr Word kMost = kWords * sizeof(Word);  ///< bytes that are sent or told so

  Word to, from, bytes;
  Word check;  ///< of all and of the number: what was read while it was being written is no command yet
  Word sent[kWords];
};

PERIAPT_ON_BOTH inline Word courier_check(const CourierCommand& command, Word number) {
  return command.to * 0x9E37'79B9'7F4A'7C15u + command.from * 0xC2B2'AE3D'27D4'EB4Fu +
         command.bytes * 0x1656'67B1'9E37'79F9u + number * 0xFF51'AFD7'ED55'8CCDu +
         command.sent[0] * 0x2545'F491'4F6C'DD1Du + command.sent[1] * 0xD6E8'FEB8'6659'FD93u +
         command.sent[2] * 0xA076'1D64'78BD'642Fu + command.sent[3] * 0xE703'7ED1'A0B4'28DBu;
}

/// A word of the bytes that a command has the host be told of. It is one store over the bus, and no other one has to
/// be waited for in between: what was read while it was being written does not have its seal yet.
struct alignas(16) CourierAnswer {
  Word word, seal;
};

PERIAPT_ON_BOTH inline Word courier_seal(Word word, Word number) {
  return (word ^ number * 0xFF51'AFD7'ED55'8CCDu) * 0x9E37'79B9'7F4A'7C15u + number;
}

/// Zero at first, but `next`.
struct CourierBoard {
  static constexpr unsigned kPlaces = 64;
  struct alignas(64) Place {
    CourierCommand command;  ///< the host's
  };
  static_assert(sizeof(Place) == 64, "one read over the bus");
  Place places[kPlaces];
  /// The rest is the kernel's, but `cancelled`. By place: the number of the command that was done last.
  alignas(64) Word done[kPlaces];
  alignas(64) CourierAnswer answers[kPlaces][CourierCommand::kWords];
  alignas(64) Word cancelled;  ///< the launch up to which a kernel that begins is to end at once; the host's
  alignas(64) Word started;    ///< the launch that has begun last
  Word ended;                  ///< the launch that has ended last: it touches nothing any more
  Word next;                   ///< the first command that was not taken when it ended
};

/// What a launch is given.
struct CourierOrders {
  CourierBoard* board;
  Word launch;             ///< its number, from 1
  Word first;              ///< the command that it begins with
  Word idle_ns, whole_ns;  ///< it ends when it has had nothing to do for so long, or has lived for so long
  unsigned carriers;       ///< warps that look for commands
};

}  // namespace periapt::gpu
