// The World on any Wire. A value becomes text, and is cut into pieces when the wire takes only short ones: piece i of
// what process r calls n lies under "r-n-i", and the first piece begins with the number of pieces, "3.".
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/clock.h"
#include "base/secret.h"
#include "base/this_host.h"
#include "machine/bootstrap/pmi_text.h"
#include "machine/bootstrap/presence.h"
#include "machine/bootstrap/watchdog.h"
#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kMostPieces = 99999;

// Equal for processes of one host, and different for those of two: what the launcher calls the host if it has a name of
// its own for it, and the boot's number.
std::string host_identity() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  const char* node = std::getenv("SLURMD_NODENAME");
  std::string identity = node ? node : name;
  return identity + "/" + boot_id();
}

std::string ranks_in_words(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == 16) return text + " and " + std::to_string(ranks.size() - i) + " more";
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  }
  return text;
}

class WireWorld final : public World {
 public:
  WireWorld(std::unique_ptr<Wire> wire, std::vector<std::string> passed_over)
      : wire_(std::move(wire)), facts_(wire_->facts()), passed_over_(std::move(passed_over)), presence_(facts_.job) {}

  /// What the wire does not know.
  Status complete() {
    secret_ = facts_.secret;
    hosts_ = facts_.host_of;
    describe_ = facts_.describe;
    bool ask_hosts = hosts_.empty() && facts_.size > 1;
    if (facts_.size == 1) {
      hosts_ = {0};
      if (secret_.empty()) secret_ = random_bytes(kSecretBytes);
      return {};
    }
    if (secret_.empty() || ask_hosts) {
      Status exchanged = exchange(secret_.empty(), ask_hosts);
      if (!exchanged) return exchanged;
    }
    describe_ += ", hosts as in " + (ask_hosts ? std::string("the processes' own names") : facts_.host_source);
    return {};
  }

  int rank() const override { return facts_.rank; }
  int size() const override { return facts_.size; }
  const std::vector<int>& host_of() const override { return hosts_; }
  const std::string& job() const override { return facts_.job; }
  const std::string& secret() const override { return secret_; }

  Status put(const std::string& name, const std::string& value) override {
    if (!put_.insert({name, true}).second) {
      return Status::failure("\"" + name +
                             "\" was put before by this process: launchers keep the first value or the last");
    }
    std::string text = encode_text(value);
    std::size_t room = facts_.longest_value;
    std::size_t pieces = 1;
    while (text.size() + std::to_string(pieces).size() + 1 > pieces * room) ++pieces;
    text = std::to_string(pieces) + "." + text;
    if (pieces > kMostPieces) return Status::failure("the value of \"" + name + "\" is too long for the launcher");
    for (std::size_t i = 0; i < pieces; ++i) {
      Result<std::string> key = key_of(facts_.rank, name, i);
      if (!key) return key.status();
      Status put = wire_->put(*key, text.substr(i * room, room));
      if (!put) return named(put, "could not put \"" + name + "\"");
    }
    return {};
  }

  Status fence() override {
    ++fences_;
    if (facts_.size == 1 || facts_.watched) return wire_->fence();
    presence_.enter(facts_.rank, fences_);
    const std::uint64_t begin = clock::now_ns();
    Status met;
    {
      Watchdog watchdog([this](int seconds) { return who_is_missing(seconds); });
      met = wire_->fence();
    }
    const std::string at_fence = " at fence " + std::to_string(fences_);
    const auto seconds = static_cast<int>((clock::now_ns() - begin) / 1'000'000'000);
    const int limit = startup_limit_seconds();
    const bool given_up = !met && limit > 0 && seconds >= limit;
    return named(met, given_up ? "while waiting" + at_fence + " of start-up" + for_whom(missing())
                               : "while waiting for the other processes" + at_fence);
  }

  Result<std::string> get(int rank, const std::string& name) override {
    if (rank < 0 || rank >= facts_.size) {
      return Status::failure("there is no process " + std::to_string(rank) + ", only 0 to " +
                             std::to_string(facts_.size - 1));
    }
    Result<std::string> text = piece(rank, name, 0);
    if (!text) return text;
    char* end = nullptr;
    unsigned long pieces = std::strtoul(text->c_str(), &end, 10);
    if (*end != '.' || pieces == 0 || pieces > kMostPieces) {
      return Status::failure("\"" + name + "\" of process " + std::to_string(rank) + " came back damaged");
    }
    std::string whole = text->substr(static_cast<std::size_t>(end + 1 - text->c_str()));
    for (unsigned long i = 1; i < pieces; ++i) {
      Result<std::string> next = piece(rank, name, i);
      if (!next) return next;
      whole += *next;
    }
    std::string value;
    if (!decode_text(whole, value)) {
      return Status::failure("\"" + name + "\" of process " + std::to_string(rank) + " came back damaged");
    }
    return value;
  }

  void abort(int code, const std::string& reason) override { wire_->abort(code, reason); }
  void finalize() override { wire_->finalize(); }
  bool well(std::string* reason) override { return wire_->well(reason); }
  int wait_fd() const override { return wire_->wait_fd(); }
  StartsAgain starts_again() const override { return facts_.starts_again; }
  Status start_again(const std::string& start) override { return wire_->start_again(start); }
  void checkpoint_begins(const std::string& folder) override { wire_->checkpoint_begins(folder); }
  const std::string& describe() const override { return describe_; }
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  static Status named(const Status& status, const std::string& what) {
    return status ? status : Status::failure(what + ": " + status.message());
  }

  Result<std::string> key_of(int rank, const std::string& name, std::size_t piece) const {
    std::string key = std::to_string(rank) + "-" + name + "-" + std::to_string(piece);
    if (key.size() <= facts_.longest_key) return key;
    return Status::failure("the name \"" + name + "\" is too long for the launcher, which takes keys of " +
                           std::to_string(facts_.longest_key) + " characters");
  }
  Result<std::string> piece(int rank, const std::string& name, std::size_t number) {
    Result<std::string> key = key_of(rank, name, number);
    if (!key) return key;
    Result<std::string> text = wire_->get(rank, *key);
    if (text) return text;
    return named(text.status(), "no \"" + name + "\" from process " + std::to_string(rank));
  }

  Status exchange(bool want_secret, bool want_hosts) {
    if (want_secret && facts_.rank == 0) secret_ = random_bytes(kSecretBytes);
    Status put_them = want_secret && facts_.rank == 0 ? put("job.secret", secret_) : Status();
    if (put_them && want_hosts) put_them = put("job.host", host_identity());
    if (put_them) put_them = fence();
    if (!put_them) return put_them;
    if (want_secret && facts_.rank != 0) {
      Result<std::string> secret = get(0, "job.secret");
      if (!secret) return secret.status();
      secret_ = *secret;
    }
    if (!want_hosts) return {};
    std::map<std::string, int> number_of;
    for (int rank = 0; rank < facts_.size; ++rank) {
      Result<std::string> host = get(rank, "job.host");
      if (!host) return host.status();
      hosts_.push_back(number_of.try_emplace(*host, static_cast<int>(number_of.size())).first->second);
    }
    return {};
  }

  // The processes that have not come to this fence, as far as can be seen from this host.
  struct Missing {
    std::vector<int> here, elsewhere;  // elsewhere: nothing is known of them
    bool lower_waits = false;          // a process of this host with a lower rank waits too
  };
  Missing missing() const {
    Missing found;
    for (int rank = 0; rank < facts_.size; ++rank) {
      if (!hosts_.empty() && hosts_[static_cast<std::size_t>(rank)] != hosts_[static_cast<std::size_t>(facts_.rank)]) {
        found.elsewhere.push_back(rank);
      } else if (rank != facts_.rank && !presence_.has_entered(rank, fences_)) {
        found.here.push_back(rank);
      } else {
        found.lower_waits = found.lower_waits || rank < facts_.rank;
      }
    }
    return found;
  }

  // What follows "waits".
  std::string for_whom(const Missing& missing) const {
    if (!missing.here.empty()) {
      return std::string(" for ") + (missing.here.size() == 1 ? "process " : "processes ") +
             ranks_in_words(missing.here) +
             (hosts_.empty() ? " (as far as can be seen from this host)" : " of its own host");
    }
    if (missing.elsewhere.empty()) return "; all have come to it";
    return ": all processes of its host have come; it waits for some of processes " +
           ranks_in_words(missing.elsewhere) + " on other hosts";
  }

  // On the watchdog's thread. The lowest process of each host that waits speaks for its host.
  std::string who_is_missing(int seconds) const {
    const Missing missing = this->missing();
    // No process is missing: the last one has just come.
    if (missing.lower_waits || (missing.here.empty() && missing.elsewhere.empty())) return {};
    return "process " + std::to_string(facts_.rank) + " of " + std::to_string(facts_.size) + " has waited for " +
           std::to_string(seconds) + " s at fence " + std::to_string(fences_) +
           (is_startup_over() ? "" : " of start-up") + for_whom(missing) + if_it_died();
  }

  // Slurm alone lets the others wait for a task that was killed, unless told otherwise.
  static std::string if_it_died() {
    if (!started_by_slurm()) return {};
    return "; if srun has said that a task was killed: srun --kill-on-bad-exit=1 ends the others then";
  }

  std::unique_ptr<Wire> wire_;
  const WireFacts& facts_;
  std::vector<std::string> passed_over_;
  std::string secret_, describe_;
  std::vector<int> hosts_;
  std::map<std::string, bool> put_;
  std::uint64_t fences_ = 0;
  Presence presence_;
};

}  // namespace

Result<std::unique_ptr<World>> world_on_wire(std::unique_ptr<Wire> wire, std::vector<std::string> passed_over) {
  auto world = std::make_unique<WireWorld>(std::move(wire), std::move(passed_over));
  Status complete = world->complete();
  if (!complete) return complete;
  return std::unique_ptr<World>(std::move(world));
}

}  // namespace periapt::bootstrap
