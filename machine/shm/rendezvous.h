// How two workers of a host meet: an abstract Unix socket that each listens on, packets that carry memory files, and
// the checks that the other belongs to the job. Nothing has a name in a file system, so nothing is left behind.
//
//   A: hello    -> B   my worker, the one I want, the secret, the memory file of my channel, my table of keys, my
//                      doorbell
//   B: welcome  -> A   the same about B; or refuse: a sentence
//   both, any time later: segment (a memory file of mine that you may map), disconnect (I close the link)
//
// When both connect at the same time, the connection of the one with the smaller PeerId counts; the other is answered
// with `superseded`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/transport.h"

namespace periapt::shm {

/// A file descriptor, closed at the end.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(other.release()) {}
  File& operator=(File&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~File() { reset(); }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release() {
    int number = number_;
    number_ = -1;
    return number;
  }
  void reset(int number = -1);

 private:
  int number_ = -1;
};

/// Which host, as far as memory is concerned: the name that start-up gave it, and the kernel and namespaces that it
/// must really share with another for a socket and a process number to mean the same there.
struct HostIdentity {
  std::uint64_t name_hash = 0;
  std::array<char, 40> boot_id{};
  std::uint64_t pid_namespace = 0, net_namespace = 0;
  std::uint32_t user = 0;
  std::uint32_t pad = 0;
  bool operator==(const HostIdentity&) const = default;
};
HostIdentity this_host(const std::string& name);

/// What address() carries.
struct Address {
  static constexpr std::uint64_t kMagic = 0x31'6D'68'73'2D'61'70'70ull;  // "ppa-shm1"
  std::uint64_t magic = kMagic;
  HostIdentity host;
  std::uint64_t socket_name = 0;  ///< see listen_here()
  std::uint32_t process = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(Address) <= 256, "the contract's bound");
static_assert(std::has_unique_object_representations_v<Address>, "its bytes go over a wire");
bool parse_address(std::span<const std::byte> bytes, Address& address);

enum class PacketKind : std::uint32_t { hello = 1, welcome, refuse, superseded, segment, disconnect };

/// One packet. Fixed size, so that anything of another size is wrong at once.
struct Packet {
  static constexpr std::uint32_t kMagic = 0x70'61'68'31;
  static constexpr std::uint32_t kVersion = 3;
  static constexpr std::size_t kSecretMost = 128;

  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  PacketKind kind{};
  std::uint32_t flags = 0;
  // hello, welcome
  ucx::PeerId from = 0, to = 0;
  std::uint64_t channel_bytes = 0;
  std::uint64_t cookie_at = 0;  ///< address of a word of private memory, for a try at copying
  std::uint64_t cookie = 0;
  // segment
  std::uint64_t segment_id = 0, segment_base = 0, segment_size = 0;
  std::uint32_t text_size = 0;  ///< of the secret (hello, welcome) or of the reason (refuse)
  std::uint32_t pad = 0;
  std::array<char, kSecretMost> text{};

  static constexpr std::uint32_t kNoMembarrier = 1;
  std::string reason() const;
};
static_assert(std::has_unique_object_representations_v<Packet>, "its bytes go over a socket");

/// What a packet brought with it.
struct Arrival {
  /// no_files: this process could not take the files that came with it; mostly it has too many open.
  enum class What : std::uint8_t { packet, nothing_yet, end, broken, no_files };
  What what = What::nothing_yet;
  Packet packet;
  std::vector<File> files;
};

Result<File> listen_here(std::uint64_t& socket_name);
/// A connection to the listener of that name: null: not now (its queue is full), try again; failure: there is no
/// listener.
Result<File> connect_to(std::uint64_t socket_name);
/// Another process's number, in our namespace; 0: it is not known, or another user runs it.
std::uint32_t peer_process(int socket);

enum class Sent : std::uint8_t { yes, not_now, broken };
Sent send_packet(int socket, const Packet& packet, std::span<const int> files);
/// Takes the next packet from the socket; a wrong magic, version or size is `broken`.
Arrival receive_packet(int socket);

/// Equal, in a time that does not depend on where they differ.
bool same_secret(std::span<const std::byte> expected, const Packet& packet);
/// False: too long for a packet.
bool set_secret(Packet& packet, std::span<const std::byte> secret);
Packet refusal(const std::string& reason);

}  // namespace periapt::shm
