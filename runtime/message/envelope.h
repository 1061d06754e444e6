// The fixed header of every message, and where its parts lie.
//
//   | Block 16 B | Envelope 48 B | payload, `size` bytes, from a cache line on | padding to 8 | priority words |
//                ^ Message::envelope()
//
// A message never holds an address of its own header, so it may be moved byte by byte. Programs see only the payload:
// what Charm++ calls "the message" is the pointer to it. C++17: reached from converse.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace periapt {

// What a message is for. `Envelope::element` and `Envelope::collection` mean something else for each.
enum class Target : std::uint8_t {
  none,        // not addressed yet
  converse,    // entry = handler index (programs' own Converse handlers)
  runtime,     // entry = entry point registered by the runtime itself; collection, element free to use
  chare,       // element = serial number given by the creator
  group,       // collection = group
  node_group,  // collection = group, element = of a broadcast: which PE of each process has its turn
  array,       // collection = array, element = element id
  broadcast,   // collection = array, element = epoch: every element of the array on the PE
  section,     // collection = PE that the section was made on, element = its number there and the tree's version
};
constexpr Target last_target = Target::section;

enum EnvelopeFlag : std::uint8_t {
  envelope_expedited = 1,  // goes in front of every queue
  envelope_tree = 2,       // a broadcast that the receiver passes on to its children
  envelope_immediate = 4,  // may run between two polls, before what is queued
  envelope_index = 8,      // the full array index lies in element, index_rest and spare (indices too large to be ids)
  envelope_packed = 16,    // a message class of its own pack() has been through it
  envelope_counted = 64,   // quiescence waits until it has been delivered
  envelope_waits = 32,     // the payload ends in a list of groups that must exist first (GroupDependencies)
  envelope_referenced = 128,  // the program may hold it once more than it gives it away (CkReferenceMsg)
};

// How a message is queued; the values are Charm++'s CK_QUEUEING_*.
enum class Queueing : std::uint8_t { fifo = 2, lifo, int_fifo, int_lifo, bits_fifo, bits_lifo, long_fifo, long_lifo };

struct Envelope {
  std::uint64_t size;          // bytes of payload
  std::uint64_t element;       // see Target
  std::uint32_t collection;    // see Target
  std::int32_t reference;      // CkSetRefNum
  std::uint16_t entry;         // index into the entry table (converse: handler)
  std::uint16_t message_type;  // index into the message table
  Target target;
  std::uint8_t flags;  // EnvelopeFlag
  Queueing queueing;
  std::uint8_t hops;            // forwards so far, or since the last that brought it nearer
  std::uint16_t priority_bits;  // length of the priority behind the payload
  std::uint16_t spare;
  std::int32_t source;       // PE that made it (of a tree broadcast: the root)
  std::uint32_t index_rest;  // third word of an index that travels whole
  std::uint32_t extra;       // [sync]: future that the reply sets; broadcast: epoch that all PEs have passed
};
static_assert(sizeof(Envelope) == 48, "envelope and block header together are one cache line");
static_assert(std::is_trivially_copyable<Envelope>::value, "an envelope is moved byte by byte");

constexpr std::size_t priority_words(unsigned bits) { return (bits + 31) / 32; }
constexpr std::size_t priority_offset(std::size_t payload) { return (payload + 7) & ~std::size_t{7}; }
// Bytes of envelope, payload and priority together.
constexpr std::size_t message_bytes(std::size_t payload, unsigned bits) {
  return sizeof(Envelope) + (bits ? priority_offset(payload) + 4 * priority_words(bits) : payload);
}

// More than any payload: what claims more is damaged, and must not add up to its true length by overflowing.
constexpr std::uint64_t kPayloadMax = (std::uint64_t{1} << 48) - 1;
// The same of a message from outside, of which the envelope is there; 0: that claims what cannot be.
inline std::size_t message_bytes(const Envelope& envelope) {
  return envelope.size > kPayloadMax ? 0 : message_bytes(envelope.size, envelope.priority_bits);
}

inline void* payload_of(Envelope* envelope) { return envelope + 1; }
inline const void* payload_of(const Envelope* envelope) { return envelope + 1; }
inline Envelope* envelope_of(void* payload) { return static_cast<Envelope*>(payload) - 1; }
inline const Envelope* envelope_of(const void* payload) { return static_cast<const Envelope*>(payload) - 1; }
inline std::uint32_t* priority_of(Envelope* envelope) {
  return reinterpret_cast<std::uint32_t*>(static_cast<char*>(payload_of(envelope)) + priority_offset(envelope->size));
}

}  // namespace periapt
