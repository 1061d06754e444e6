#include "machine/layer/net_peers.h"

#include <unistd.h>

#include "base/fatal.h"
#include "machine/ucx-like/bytes.h"

namespace periapt::machine {
namespace {

constexpr const char* kName = "net";
constexpr std::size_t kValueMax = 4096;  // of World::put()

}  // namespace

std::optional<std::vector<NetPeers::Address>> NetPeers::read_addresses(const std::string& text) {
  ucx::Reader reader(std::as_bytes(std::span(text)));
  const auto count = reader.number<std::uint8_t>();
  std::vector<NetPeers::Address> addresses;
  for (int i = 0; i < count; ++i) addresses.push_back(reader.bytes());
  if (!reader.good() || !reader.at_end() || count == 0 || count > NetPeers::kWorkersMax) return {};
  return addresses;
}

NetPeers::NetPeers(const NetConfig& config)
    : config_(config),
      processes_(config.job->layout.process_count()),
      addresses_(static_cast<std::size_t>(processes_)),
      told_lost_(static_cast<std::size_t>(processes_)) {}

Status NetPeers::announce(const std::vector<Address>& own) const {
  ucx::Writer writer;
  writer.number(static_cast<std::uint8_t>(own.size()));
  for (const Address& address : own) writer.text(address);
  const std::vector<std::byte> bytes = writer.take();
  if (bytes.size() > kValueMax) {
    return Status::failure("the addresses of " + std::to_string(own.size()) + " workers take " +
                           std::to_string(bytes.size()) + " bytes, and a process may tell " +
                           std::to_string(kValueMax) + ": give a smaller +workers, or fewer +net-devices");
  }
  return config_.world->put(kName, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

const std::vector<NetPeers::Address>& NetPeers::addresses_of(int process) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& known = addresses_[static_cast<std::size_t>(process)];
  if (known != nullptr) return *known;
  const int member = config_.job->member_of[static_cast<std::size_t>(process)];
  Result<std::string> told = config_.world->get(member, kName);
  const std::string whose = "process " + std::to_string(process) + " cannot be reached: ";
  if (!told) fatal(whose + told.message(), "network");
  std::optional<std::vector<Address>> addresses = read_addresses(*told);
  if (!addresses) {
    fatal(whose + "the " + std::to_string(told->size()) + " bytes that it told are no addresses of workers", "network",
          "the processes run different builds of the program", "install the same program on every host");
  }
  known = std::make_unique<std::vector<Address>>(std::move(*addresses));
  return *known;
}

void NetPeers::lost(ucx::PeerId peer, const std::string& reason) {
  const int process = process_of(peer);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (told_lost_[static_cast<std::size_t>(process)]) return;
    told_lost_[static_cast<std::size_t>(process)] = true;
  }
  config_.lost(process, reason);
}

void NetPeers::refuse_to_connect(int process, const std::string& why) {
  const auto is_told = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    return told_lost_[static_cast<std::size_t>(process)];
  };
  if (!is_told()) fatal("process " + std::to_string(process) + " cannot be reached: " + why, "network");
  for (;;) ::pause();  // until RunEnd, which was told, ends this process
}

void NetPeers::disconnected(ucx::PeerId peer) {
  int nobody = -1;
  ended_by_.compare_exchange_strong(nobody, process_of(peer), std::memory_order_relaxed);
}

}  // namespace periapt::machine
