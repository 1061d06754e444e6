// The wire over a communicator: what processes put goes to all of them at the next fence.
#include "machine/bootstrap/communicator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/secret.h"
#include "machine/bootstrap/frames.h"
#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {
namespace {

std::optional<Communicator> given;

class CommunicatorWire final : public Wire {
 public:
  explicit CommunicatorWire(const Communicator& communicator) : communicator_(communicator) {
    facts_.rank = communicator.rank;
    facts_.size = communicator.size;
    facts_.describe = "MPI, a communicator of " + std::to_string(communicator.size);
    facts_.longest_value = std::size_t{1} << 20;
  }

  /// The job's name and secret, which process 0 makes up.
  Status name() {
    constexpr std::size_t kName = 8, kSecret = 32;
    Result<std::vector<std::string>> all = gather(random_bytes(kName + kSecret));
    if (!all) return all.status();
    const std::string& first = all->front();
    facts_.job = "mpi-";
    for (std::size_t i = 0; i < kName; ++i) facts_.job += static_cast<char>('a' + (first[i] & 15));
    facts_.secret = first.substr(kName);
    return {};
  }

  const WireFacts& facts() const override { return facts_; }
  Status put(const std::string& key, const std::string& value) override {
    new_.push_back(key);
    new_.push_back(value);
    return {};
  }
  Status fence() override {
    Result<std::vector<std::string>> all = gather(pack_texts(std::exchange(new_, {})));
    if (!all) return all.status();
    for (const std::string& texts : *all) {
      std::vector<std::string> pairs;
      if (!unpack_texts(texts, pairs) || pairs.size() % 2 != 0)
        return Status::failure("MPI_Allgather brought what no process has sent");
      for (std::size_t i = 0; i < pairs.size(); i += 2) known_[pairs[i]] = pairs[i + 1];
    }
    return {};
  }
  Result<std::string> get(int, const std::string& key) override {
    const auto found = known_.find(key);
    if (found == known_.end()) return Status::failure("it was not put before the latest fence");
    return found->second;
  }
  void abort(int code, const std::string&) override {
    let_output_through();
    communicator_.abort(communicator_.context, code);
  }
  void finalize() override {}  // the program's MPI_Finalize() does it
  bool well(std::string*) override { return true; }
  int wait_fd() const override { return -1; }

 private:
  Status gather(const void* bytes, std::size_t size, void* all) {
    if (communicator_.gather(communicator_.context, bytes, static_cast<int>(size), all) == 0) return {};
    return Status::failure("MPI_Allgather failed");
  }
  // Of each process, by rank: all pieces are as long as the longest, which is exchanged first.
  Result<std::vector<std::string>> gather(std::string own) {
    const auto size = static_cast<std::size_t>(facts_.size);
    std::vector<std::uint64_t> sizes(size);
    const std::uint64_t own_size = own.size();
    Status gathered = gather(&own_size, sizeof own_size, sizes.data());
    if (!gathered) return gathered;
    const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
    own.resize(longest);
    std::string all(longest * size, '\0');
    if (longest != 0) gathered = gather(own.data(), longest, all.data());
    if (!gathered) return gathered;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < size; ++i) texts.push_back(all.substr(i * longest, sizes[i]));
    return texts;
  }

  const Communicator communicator_;
  WireFacts facts_;
  std::vector<std::string> new_;  // keys and values in turn
  std::map<std::string, std::string> known_;
};

}  // namespace

void run_on(const Communicator& communicator) { given = communicator; }
bool runs_on_communicator() { return given.has_value(); }

Looked look_for_communicator() {
  if (!given) return Looked::nothing("no communicator of MPI was given (CharmLibInit)");
  auto wire = std::make_unique<CommunicatorWire>(*given);
  Status named = wire->name();
  if (!named) return Looked::unusable(named.message());
  return Looked::found(std::move(wire));
}

}  // namespace periapt::bootstrap
