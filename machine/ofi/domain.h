// An opened provider with what all links share: the completion queue, the address vector, an endpoint for messages and
// one for puts and gets, and the slots that messages arrive in and leave from.
//
// Two endpoints: some providers end a connection on which a dead key was used, and messages must not be lost with it.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/ofi/providers.h"
#include "machine/ofi/wire.h"

namespace periapt::ofi {

inline constexpr std::uint32_t kReceives = 256;  ///< messages that may wait for this worker to look
inline constexpr std::uint32_t kSendSlots = 128;
inline constexpr std::uint32_t kReserved = 8;          ///< of those, for answers
inline constexpr std::size_t kOperationsOfAll = 1024;  ///< puts and gets under way on all links together
inline constexpr std::size_t kLook = 64;               ///< completions that one look takes

/// What fits into a request of the provider is copied there; more than this is better copied into a slot.
inline constexpr std::size_t kInjectMost = 512;

class OfiLink;

/// What a provider is given with an operation, and gives back at its end. Its own part comes first, as it wants it.
struct Request {
  enum class Kind : std::uint8_t { receive, send, answer, operation };
  fi_context2 of_provider{};
  Kind kind = Kind::receive;
  std::uint32_t slot = 0;
  OfiLink* link = nullptr;  ///< nullptr: of a receive, or its link has gone
};

/// What libfabric gave, closed at its end.
struct CloseFid {
  template <class Fid>
  void operator()(Fid* fid) const {
    ::fi_close(&fid->fid);
  }
};
template <class Fid>
using Held = std::unique_ptr<Fid, CloseFid>;

class Domain {
 public:
  Domain(const Library& library, const Choice& choice) : provider(choice.provider), ofi_(library) {}
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  Status open();
  const Provider provider;

  /// Where the endpoints are: bytes for address_of() of a peer. Empty: there is none.
  const std::vector<std::byte>& messages_name() const { return messages_name_; }
  const std::vector<std::byte>& memory_name() const { return memory_name_; }
  /// The number of a peer's endpoint, from its name.
  Result<fi_addr_t> address_of(std::span<const std::byte> name);
  /// What a peer of this host that has died could not remove; nothing while it lives.
  static void remove_file_of(std::span<const std::byte> name);

  /// Takes at most kLook completions: take(Request&, bytes) of those that are good, fail(Request*, error, text) of
  /// others; the request is nullptr where the provider does not know any more which it was. Returns how many.
  template <class Take, class Fail>
  std::size_t look(Take&& take, Fail&& fail) {
    std::array<fi_cq_msg_entry, kLook> room;
    const ssize_t count = ::fi_cq_read(completions_.get(), room.data(), room.size());
    if (count > 0) {
      for (const fi_cq_msg_entry& entry : std::span(room).first(static_cast<std::size_t>(count)))
        take(*static_cast<Request*>(entry.op_context), entry.len);
      return static_cast<std::size_t>(count);
    }
    if (count != 0 && count != -FI_EAGAIN && count != -FI_EAVAIL) broke("completions", static_cast<int>(-count));
    Fault fault;
    if (count != -FI_EAVAIL || !next_fault(&fault)) return 0;
    fail(fault.request, fault.error, fault.text);
    return 1;
  }
  /// Why nothing comes nor ends any more, as the provider has said; empty: it does.
  const std::string& broken() const { return broken_; }
  /// -1: this provider must be looked at, it tells nothing.
  int events_fd() const { return events_fd_; }
  /// False: there is something to look at.
  bool may_sleep();

  // ---- messages. All answer 0 or what errno says; EAGAIN means that there is no room.

  std::size_t inject_max() const { return inject_max_; }
  int inject(fi_addr_t to, const void* bytes, std::size_t size);
  /// From a slot, which is the provider's until the end of its request.
  int send(fi_addr_t to, std::uint32_t slot, std::size_t size, OfiLink& link, Request::Kind kind);

  std::byte* slot(std::uint32_t number) const { return memory_.get() + std::size_t{number} * kSlotBytes; }
  /// A slot to send from. False: all but `reserved` are under way.
  bool take_slot(std::uint32_t reserved, std::uint32_t* number);
  void give_slot(std::uint32_t number) { free_slots_.push_back(number); }
  /// A slot whose message has been handed up; post_receives() posts those.
  void give_receive(std::uint32_t number) { unposted_.push_back(number); }
  /// False: none is posted, so nothing that comes would wake this side.
  bool post_receives();
  /// What is under way for a link that goes is no one's any more.
  void forget(const OfiLink& link);

  // ---- puts and gets

  struct Piece {
    std::span<std::byte> local;
    void* local_key = nullptr;
    fi_addr_t peer = FI_ADDR_UNSPEC;
    std::uint64_t remote = 0, key = 0;
  };
  int write(const Piece& piece, Request& request);
  int read(const Piece& piece, Request& request);

  Result<fid_mr*> register_memory(std::byte* address, std::uint64_t size);
  /// Are remote addresses those of the peer's program, or do they begin at 0 with each memory?
  bool has_addresses() const { return (info().domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0; }
  std::string text_of(int error) const { return ofi_.strerror(error); }

 private:
  struct Fault {
    Request* request = nullptr;
    int error = 0;
    std::string text;
  };
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* at) const;
  };
  fi_info& info() const { return *provider.info; }
  Status refused(const char* what, int error) const;
  void broke(const char* what, int error);
  bool is_whole(std::span<const std::byte> name) const;
  Status open_queue();
  Status open_endpoint(Held<fid_ep>* endpoint, std::vector<std::byte>* name);
  Status make_slots();
  bool next_fault(Fault* fault);
  std::uint64_t new_key();
  fi_msg_rma message_of(const Piece& piece, Request& request);
  Result<fid_mr*> register_for(fid_ep& endpoint, std::byte* address, std::uint64_t size, std::uint64_t access);

  const Library& ofi_;
  Held<fid_fabric> fabric_;
  Held<fid_domain> domain_;
  Held<fid_cq> completions_;
  Held<fid_av> addresses_;
  Held<fid_ep> messages_, for_memory_;
  Held<fid_mr> region_;
  std::unique_ptr<std::byte, Unmap> memory_{nullptr, Unmap{0}};
  std::vector<std::byte> messages_name_, memory_name_;
  std::map<std::string, fi_addr_t> known_;  // peers by name
  std::vector<Request> requests_;           // one a slot
  std::vector<std::uint32_t> unposted_, free_slots_;
  std::size_t inject_max_ = 0;
  int events_fd_ = -1;
  std::string broken_;
  // For the call that is being made: structures that fi_msg_rma points to.
  iovec local_{};
  fi_rma_iov remote_{};
  void* local_key_ = nullptr;
};

}  // namespace periapt::ofi
