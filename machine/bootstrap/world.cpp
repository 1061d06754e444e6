// World::find: which launcher started this process. Each is looked for in turn; the first that answers is taken.
#include "machine/bootstrap/world.h"

#include <unistd.h>

#include <cstdlib>
#include <map>

#include "machine/bootstrap/communicator.h"
#include "machine/bootstrap/copies.h"
#include "machine/bootstrap/watchdog.h"
#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {
namespace {

class AloneWire final : public Wire {
 public:
  explicit AloneWire(const std::string& why) {
    facts_.job = "alone-" + std::to_string(::getpid());
    facts_.host_of = {0};
    facts_.describe = "alone" + why;
    facts_.longest_value = std::size_t{1} << 30;
    facts_.starts_again = StartsAgain::itself;
  }
  const WireFacts& facts() const override { return facts_; }
  Status put(const std::string& key, const std::string& value) override {
    waiting_[key] = value;
    return {};
  }
  Status fence() override {
    known_.merge(waiting_);
    return {};
  }
  Result<std::string> get(int, const std::string& key) override {
    auto found = known_.find(key);
    if (found == known_.end()) return Status::failure("it was not put before the latest fence");
    return found->second;
  }
  void abort(int, const std::string&) override {}
  void finalize() override {}
  bool well(std::string*) override { return true; }
  int wait_fd() const override { return -1; }

 private:
  WireFacts facts_;
  std::map<std::string, std::string> waiting_, known_;
};

struct Launcher {
  const char* name;  // for PERIAPT_LAUNCHER
  Looked (*look)();
  bool only_by_name;
};
// Our own first: it stands nearest to us, whatever started it. PMIx before PMI: launchers that offer both mean PMIx.
// PMI-1 before PMI-2, though servers of 2 speak 1: its barrier waits for all processes by definition.
constexpr Launcher kLaunchers[] = {
    {"charmrun", look_for_own_launcher, false},
    {"pmix", look_for_pmix, false},
    {"pmi1", [] { return look_for_pmi(1); }, false},
    {"pmi2", [] { return look_for_pmi(2); }, true},
};

std::string names() {
  std::string text = "alone";
  for (const Launcher& launcher : kLaunchers) text += std::string(", ") + launcher.name;
  return text;
}

// Which place under which launcher this process has: what a program that we start inherits, though it is ours.
std::string place_in_environment() {
  std::string place;
  for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_JOBID",
                           "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) place += std::string(name) + "=" + value + " ";
  }
  return place;
}
constexpr char kTaken[] = "PERIAPT_PLACE_TAKEN";

Result<std::unique_ptr<World>> alone(const std::string& why, std::vector<std::string> passed_over) {
  return world_on_wire(std::make_unique<AloneWire>(why), std::move(passed_over));
}

}  // namespace

Result<std::unique_ptr<World>> World::find() {
  const char* wanted_text = std::getenv("PERIAPT_LAUNCHER");
  std::string wanted = wanted_text ? wanted_text : "";
  if (runs_on_communicator()) {
    Looked looked = look_for_communicator();
    if (!looked.wire) return Status::failure(looked.broken);
    return world_on_wire(std::move(looked.wire), {});
  }
  if (wanted == "alone") return alone(" (PERIAPT_LAUNCHER=alone)", {});
  std::vector<std::string> passed_over;
  std::string place = place_in_environment();
  const char* taken = std::getenv(kTaken);
  if (wanted.empty() && !place.empty() && taken != nullptr && place == taken) {
    return alone(" (the program that started this one holds the place under the launcher)", {});
  }

  std::string broken;
  bool known = wanted.empty();
  for (const Launcher& launcher : kLaunchers) {
    known = known || wanted == launcher.name;
    if (wanted.empty() ? launcher.only_by_name : wanted != launcher.name) continue;
    Looked looked;
    {
      Watchdog watchdog([&](int seconds) {
        return "the launcher has not answered for " + std::to_string(seconds) + " s (looking for " + launcher.name +
               ")";
      });
      looked = launcher.look();
    }
    if (looked.wire) {
      if (!place.empty()) ::setenv(kTaken, place.c_str(), 1);
      return world_on_wire(std::move(looked.wire), std::move(passed_over));
    }
    if (!looked.broken.empty()) broken += (broken.empty() ? "" : "; ") + looked.broken;
    passed_over.push_back(looked.broken.empty() ? looked.absent : looked.broken);
  }
  if (!known) {
    return Status::failure("PERIAPT_LAUNCHER=" + wanted + " is not known; there are " + names());
  }
  if (!broken.empty()) return Status::failure("there is a launcher, but no way to it: " + broken);
  if (!wanted.empty()) return Status::failure("PERIAPT_LAUNCHER=" + wanted + ", but " + passed_over.back());
  std::string copies = explain_copies();
  if (!copies.empty()) return Status::failure(copies);
  return alone("", std::move(passed_over));
}

}  // namespace periapt::bootstrap
