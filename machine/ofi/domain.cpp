#include "machine/ofi/domain.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/error_text.h"
#include "base/leaving.h"
#include "base/secret.h"
#include "machine/ucx-like/range_key.h"

namespace periapt::ofi {
namespace {

// The provider shm keeps the messages for an endpoint in a file of this name, 16 MB, which only the endpoint's close
// removes. Empty: another provider's endpoint.
std::string file_of(std::span<const std::byte> name) {
  constexpr std::string_view kScheme = "fi_shm://";
  std::string text(reinterpret_cast<const char*>(name.data()), name.size());
  text.resize(std::strlen(text.c_str()));
  return text.starts_with(kScheme) && text.find('/', kScheme.size()) == std::string::npos
             ? "/dev/shm/" + text.substr(kScheme.size())
             : std::string();
}

// Has the process of such a file, PID:USER:NUMBER, died? Its number may be kept for a parent that has not asked. A file
// of another name is none of the provider's.
bool is_of_the_dead(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1), process = name.substr(0, name.find(':'));
  if (process.empty() || name.find_first_not_of("0123456789:") != std::string::npos) return false;
  if (std::count(name.begin(), name.end(), ':') != 2) return false;
  std::ifstream status("/proc/" + process + "/stat");
  std::string text;
  if (!std::getline(status, text)) return true;
  const std::size_t state = text.rfind(')') + 2;  // "PID (NAME) STATE ..."
  return state < text.size() && (text[state] == 'Z' || text[state] == 'X');
}

}  // namespace

void Domain::Unmap::operator()(std::byte* at) const { ::munmap(at, bytes); }

Domain::~Domain() {
  // Endpoints before what they are bound to; the memory is unmapped when the provider looks at it no more.
  for_memory_.reset();
  messages_.reset();
  for (const auto* name : {&memory_name_, &messages_name_}) {
    if (const std::string file = file_of(*name); !file.empty()) leaving::keep_at_end(file.c_str());
  }
  region_.reset();
  addresses_.reset();
  completions_.reset();
  domain_.reset();
  fabric_.reset();
}

Status Domain::refused(const char* what, int error) const {
  return Status::failure(provider.name() + " gives no " + what + ": " + text_of(-error));
}

void Domain::broke(const char* what, int error) {
  if (error != FI_EINTR && broken_.empty())
    broken_ = provider.name() + " gives no more " + what + ": " + text_of(error);
}

Status Domain::open() {
  fid_fabric* fabric = nullptr;
  if (const int error = ofi_.fabric(info().fabric_attr, &fabric, nullptr); error != 0) return refused("fabric", error);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int error = ::fi_domain(fabric, &info(), &domain, nullptr); error != 0) return refused("domain", error);
  domain_.reset(domain);
  if (Status opened = open_queue(); !opened) return opened;
  fi_av_attr wanted{};
  wanted.type = info().domain_attr->av_type;
  fid_av* addresses = nullptr;
  if (const int error = ::fi_av_open(domain, &wanted, &addresses, nullptr); error != 0)
    return refused("address vector", error);
  addresses_.reset(addresses);
  if (Status opened = open_endpoint(&messages_, &messages_name_); !opened) return opened;
  if (provider.memory) {
    if (Status opened = open_endpoint(&for_memory_, &memory_name_); !opened) return opened;
  }
  inject_max_ = std::min(info().tx_attr->inject_size, kInjectMost);
  return make_slots();
}

Status Domain::open_queue() {
  fi_cq_attr wanted{};
  wanted.size = kReceives + kSendSlots + kOperationsOfAll + kLook;
  wanted.format = FI_CQ_FORMAT_MSG;
  // A provider that does all in our calls has timers that no descriptor tells of.
  const bool all_in_our_calls = info().domain_attr->control_progress == FI_PROGRESS_MANUAL &&
                                info().domain_attr->data_progress == FI_PROGRESS_MANUAL;
  wanted.wait_obj = all_in_our_calls ? FI_WAIT_NONE : FI_WAIT_FD;
  fid_cq* queue = nullptr;
  int error = ::fi_cq_open(domain_.get(), &wanted, &queue, nullptr);
  if (error != 0 && wanted.wait_obj == FI_WAIT_FD) {
    wanted.wait_obj = FI_WAIT_NONE;
    error = ::fi_cq_open(domain_.get(), &wanted, &queue, nullptr);
  }
  if (error != 0) return refused("completion queue", error);
  completions_.reset(queue);
  if (wanted.wait_obj == FI_WAIT_FD && ::fi_control(&queue->fid, FI_GETWAIT, &events_fd_) != 0) events_fd_ = -1;
  return {};
}

Status Domain::open_endpoint(Held<fid_ep>* endpoint, std::vector<std::byte>* name) {
  fid_ep* made = nullptr;
  int error = ::fi_endpoint(domain_.get(), &info(), &made, nullptr);
  if (error != 0) return refused("endpoint", error);
  endpoint->reset(made);
  if (error == 0) error = ::fi_ep_bind(made, &addresses_->fid, 0);
  if (error == 0) error = ::fi_ep_bind(made, &completions_->fid, FI_TRANSMIT | FI_RECV);
  if (error == 0) error = ::fi_enable(made);
  if (error != 0) return refused("endpoint that can be used", error);
  std::array<std::byte, 256> room;
  std::size_t size = room.size();
  error = ::fi_getname(&made->fid, room.data(), &size);
  if (error != 0) return refused("address", error);
  name->assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size));
  if (const std::string file = file_of(*name); !file.empty()) leaving::remove_at_end(file.c_str());
  return {};
}

Status Domain::make_slots() {
  const std::size_t bytes = (kReceives + kSendSlots) * kSlotBytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::failure("no memory for the messages of " + provider.name() + ": " + error_text());
  memory_ = {static_cast<std::byte*>(memory), Unmap{bytes}};
  // A child of this process (system(), popen()) must not take the pages from under the adapter.
  ::madvise(memory, bytes, MADV_DONTFORK);
  if (provider.registers_all) {
    Result<fid_mr*> region = register_for(*messages_, memory_.get(), bytes, FI_SEND | FI_RECV);
    if (!region) return region.status();
    region_.reset(*region);
  }
  requests_.resize(kReceives + kSendSlots);
  for (std::uint32_t number = 0; number < requests_.size(); ++number) {
    requests_[number].slot = number;
    (number < kReceives ? unposted_ : free_slots_).push_back(number);
  }
  post_receives();  // what is not taken now is posted later
  return broken_.empty() ? Status() : Status::failure(broken_);
}

void Domain::remove_file_of(std::span<const std::byte> name) {
  if (const std::string file = file_of(name); !file.empty() && is_of_the_dead(file)) ::unlink(file.c_str());
}

/// The provider reads as much of a name as its own names have, or as a string goes on.
bool Domain::is_whole(std::span<const std::byte> name) const {
  if (info().addr_format == FI_ADDR_STR) return std::find(name.begin(), name.end(), std::byte{0}) != name.end();
  return name.size() == messages_name_.size();
}

Result<fi_addr_t> Domain::address_of(std::span<const std::byte> name) {
  if (!is_whole(name)) return Status::failure("its address means nothing to " + provider.name());
  const auto [known, is_new] =
      known_.try_emplace(std::string(reinterpret_cast<const char*>(name.data()), name.size()), FI_ADDR_UNSPEC);
  if (!is_new) return known->second;
  if (const int count = ::fi_av_insert(addresses_.get(), known->first.data(), 1, &known->second, 0, nullptr);
      count == 1)
    return known->second;
  known_.erase(known);
  return Status::failure("its address means nothing to " + provider.name());
}

bool Domain::next_fault(Fault* fault) {
  fi_cq_err_entry entry{};
  const ssize_t count = ::fi_cq_readerr(completions_.get(), &entry, 0);
  // There is an error, and it can't be had: nothing behind it will be either.
  if (count < 0 && count != -FI_EAGAIN) broke("completions", static_cast<int>(-count));
  if (count != 1) return false;
  fault->request = static_cast<Request*>(entry.op_context);
  fault->error = entry.err;
  fault->text = text_of(entry.err);
  char room[128] = "";
  const char* more = ::fi_cq_strerror(completions_.get(), entry.prov_errno, entry.err_data, room, sizeof room);
  if (more != nullptr && *more != '\0' && fault->text != more) fault->text += std::string(" (") + more + ")";
  return true;
}

bool Domain::may_sleep() {
  fid* waits[] = {&completions_->fid};
  return ::fi_trywait(fabric_.get(), waits, 1) == 0;
}

// ---- messages

int Domain::inject(fi_addr_t to, const void* bytes, std::size_t size) {
  return static_cast<int>(-::fi_inject(messages_.get(), bytes, size, to));
}

int Domain::send(fi_addr_t to, std::uint32_t slot_number, std::size_t size, OfiLink& link, Request::Kind kind) {
  Request& request = requests_[slot_number];
  request.kind = kind;
  request.link = &link;
  void* key = region_ == nullptr ? nullptr : ::fi_mr_desc(region_.get());
  return static_cast<int>(-::fi_send(messages_.get(), slot(slot_number), size, key, to, &request));
}

bool Domain::take_slot(std::uint32_t reserved, std::uint32_t* number) {
  if (free_slots_.size() <= reserved) return false;
  *number = free_slots_.back();
  free_slots_.pop_back();
  return true;
}

bool Domain::post_receives() {
  void* key = region_ == nullptr ? nullptr : ::fi_mr_desc(region_.get());
  while (!unposted_.empty()) {
    const std::uint32_t number = unposted_.back();
    const auto error = static_cast<int>(
        -::fi_recv(messages_.get(), slot(number), kSlotBytes, key, FI_ADDR_UNSPEC, &requests_[number]));
    if (error != 0) {
      // As long as some are posted messages come, and with each of them this one is tried again.
      const bool none_is_posted = unposted_.size() == kReceives;
      if (none_is_posted && error != FI_EAGAIN) broke("room for messages", error);
      return !none_is_posted;
    }
    unposted_.pop_back();
  }
  return true;
}

void Domain::forget(const OfiLink& link) {
  for (Request& request : requests_) {
    if (request.link == &link) request.link = nullptr;
  }
}

// ---- puts and gets

fi_msg_rma Domain::message_of(const Piece& piece, Request& request) {
  local_ = {piece.local.data(), piece.local.size()};
  remote_ = {piece.remote, piece.local.size(), piece.key};
  local_key_ = piece.local_key;
  fi_msg_rma message{};
  message.msg_iov = &local_;
  message.desc = &local_key_;
  message.iov_count = 1;
  message.addr = piece.peer;
  message.rma_iov = &remote_;
  message.rma_iov_count = 1;
  message.context = &request;
  return message;
}

// Without FI_DELIVERY_COMPLETE a provider may do them without asking the peer whether the key is still good (shm does).
int Domain::write(const Piece& piece, Request& request) {
  const fi_msg_rma message = message_of(piece, request);
  return static_cast<int>(-::fi_writemsg(for_memory_.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE));
}
int Domain::read(const Piece& piece, Request& request) {
  const fi_msg_rma message = message_of(piece, request);
  return static_cast<int>(-::fi_readmsg(for_memory_.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE));
}

// ---- memory

/// One that no other can guess, where the provider lets us choose.
std::uint64_t Domain::new_key() {
  std::uint64_t key = 0;
  fill_random(&key, sizeof key);
  const std::size_t bytes = info().domain_attr->mr_key_size;
  return bytes >= sizeof key || bytes == 0 ? key : key & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

Result<fid_mr*> Domain::register_for(fid_ep& endpoint, std::byte* address, std::uint64_t size, std::uint64_t access) {
  fid_mr* region = nullptr;
  int error = -FI_ENOKEY;
  for (int tries = 0; tries < 8 && error == -FI_ENOKEY; ++tries)  // a key that is taken
    error = ::fi_mr_reg(domain_.get(), address, size, access, 0, new_key(), 0, &region, nullptr);
  if (error == 0 && (info().domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    error = ::fi_mr_bind(region, &endpoint.fid, 0);
    if (error == 0) error = ::fi_mr_enable(region);
    if (error != 0) ::fi_close(&region->fid);
  }
  if (error != 0) return Status::failure(provider.name() + ": " + ucx::registration_fault(size, -error));
  return region;
}

Result<fid_mr*> Domain::register_memory(std::byte* address, std::uint64_t size) {
  constexpr std::uint64_t kRead = FI_READ | FI_WRITE | FI_REMOTE_READ;
  Result<fid_mr*> region = register_for(*for_memory_, address, size, kRead | FI_REMOTE_WRITE);
  // Memory that may only be read can at least be read by others.
  return region ? region : register_for(*for_memory_, address, size, kRead);
}

}  // namespace periapt::ofi
