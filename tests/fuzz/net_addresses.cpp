// Where the workers of another process are reached, as bootstrap brought it from there: read, and connected with. The
// transport is the template's, whose addresses are names of Unix sockets with no listener.
#include <string>

#include "machine/layer/net_peers.h"
#include "machine/transport-template/transport.h"
#include "machine/ucx-like/worker.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

constexpr ucx::PeerId kSelf = 1;

struct Place {
  std::unique_ptr<ucx::Context> context;
  std::unique_ptr<ucx::Worker> worker;

  Place() {
    ucx::ContextRequest request;
    request.factories = {&transport_template::factory};
    request.self = kSelf;
    request.host = "fuzz";
    context = std::move(*ucx::Context::create(std::move(request)));
    worker = std::move(*ucx::Worker::create(*context));
  }
};

// As NetPeers::announce() writes them, of workers with the numbers that the input says.
std::string announced(Input& input, ucx::Worker& worker) {
  const std::vector<std::byte> address = worker.address();
  const std::size_t count = 1 + input.below(4);
  std::string text(1, static_cast<char>(count));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::byte> one = address;
    one[2] = static_cast<std::byte>(kSelf + 1 + input.below(4));  // behind two versions: the worker's number
    input.damage(one);
    const auto size = static_cast<std::uint16_t>(one.size());
    text.append(reinterpret_cast<const char*>(&size), sizeof size);
    text.append(reinterpret_cast<const char*>(one.data()), one.size());
  }
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  input.damage(bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void target(Input input) {
  Place place;
  const bool any = input.flag();
  const std::string text = any ? input.text() : announced(input, *place.worker);
  const auto addresses = machine::NetPeers::read_addresses(text);
  if (!addresses) return;
  expect(!addresses->empty() && addresses->size() <= machine::NetPeers::kWorkersMax, "a process has some workers");
  std::size_t size = 1;
  for (const machine::NetPeers::Address& address : *addresses) size += sizeof(std::uint16_t) + address.size();
  expect(size == text.size(), "nothing is left over, nothing is invented");
  for (const machine::NetPeers::Address& address : *addresses) {
    Result<ucx::Endpoint*> endpoint = place.worker->connect(address);
    if (!endpoint) expect(!endpoint.message().empty(), "a failure says why");
    if (endpoint && (*endpoint)->failure().empty()) static_cast<void>((*endpoint)->tag_send(Bytes(), 1));
    place.worker->progress();
  }
}

}  // namespace periapt::fuzz
