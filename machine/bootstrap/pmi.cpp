// The two PMI wires, as clients: PMI-1 (hydra, Slurm's pmi2 plug-in, Flux, and any other launcher that sets PMI_FD) and
// PMI-2. Both begin with the same line on the same socket; the server says which version it speaks. One command at a
// time is on the wire; each is answered, but abort.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "machine/bootstrap/pmi_stream.h"
#include "machine/bootstrap/pmi_text.h"
#include "machine/bootstrap/process_mapping.h"
#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {
namespace {

constexpr int kLargestSize = 1 << 24;
constexpr long kLongestCommand = 1000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string launcher_in_words() {
  if (!variable("SLURM_STEP_ID").empty())
    return "Slurm, job " + variable("SLURM_JOB_ID") + " step " + variable("SLURM_STEP_ID");
  if (!variable("FLUX_JOB_ID").empty()) return "Flux, job " + variable("FLUX_JOB_ID");
  if (!variable("HYDI_CONTROL_FD").empty() || !variable("PMI_PORT").empty()) return "hydra";
  if (!variable("MPI_LOCALNRANKS").empty()) return "hydra";
  return "launcher not named";
}

std::string field(const PmiFields& fields, const std::string& name) {
  auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

// What both versions share: the socket, the facts, and how the end is noticed.
class PmiWire : public Wire {
 public:
  explicit PmiWire(std::unique_ptr<PmiStream> stream) : stream_(std::move(stream)) {}

  const WireFacts& facts() const override { return facts_; }
  bool well(std::string* reason) override {
    if (finalized_ || !stream_->closed()) return true;
    if (reason) *reason = "the launcher closed its connection to this process: the run is ending";
    return false;
  }
  int wait_fd() const override { return stream_->fd(); }

  /// After the version is agreed: learns the facts.
  virtual Status begin() = 0;
  std::unique_ptr<PmiStream> release_stream() { return std::move(stream_); }

 protected:
  Status check_counts() {
    if (facts_.size >= 1 && facts_.size <= kLargestSize && facts_.rank >= 0 && facts_.rank < facts_.size) return {};
    return Status::failure("the launcher says that this is process " + std::to_string(facts_.rank) + " of " +
                           std::to_string(facts_.size) + ", which makes no sense");
  }
  void use_mapping(const std::string& text) {
    if (text.empty()) return;
    Result<std::vector<int>> hosts = parse_process_mapping(text, facts_.size);
    if (!hosts) {
      facts_.host_source = hosts.message();  // hosts are then exchanged
      return;
    }
    facts_.host_of = std::move(*hosts);
    facts_.host_source = "the launcher's process mapping " + text;
  }

  std::unique_ptr<PmiStream> stream_;
  WireFacts facts_;
  bool finalized_ = false;
};

class Pmi1Wire final : public PmiWire {
 public:
  using PmiWire::PmiWire;

  Status begin() override {
    if (facts_.size == 1 && !variable("PMI_SIZE").empty()) facts_.size = std::atoi(variable("PMI_SIZE").c_str());
    if (!variable("PMI_RANK").empty()) facts_.rank = std::atoi(variable("PMI_RANK").c_str());
    if (told_size_ > 0) facts_.size = told_size_, facts_.rank = told_rank_;
    Status sensible = check_counts();
    if (!sensible) return sensible;
    Result<PmiFields> most = ask({{"cmd", "get_maxes"}}, "maxes");
    if (!most) return most.status();
    facts_.longest_key = static_cast<std::size_t>(std::max(pmi_number(*most, "keylen_max", 64), 16L)) - 1;
    long longest = std::max(pmi_number(*most, "vallen_max", 256), 64L);
    Result<PmiFields> name = ask({{"cmd", "get_my_kvsname"}}, "my_kvsname");
    if (!name) return name.status();
    facts_.job = space_ = field(*name, "kvsname");
    // Servers read a command into as little as 1024 bytes (Slurm's does), whatever they say of values.
    std::string around = format_pmi1(
        {{"cmd", "put"}, {"kvsname", space_}, {"key", std::string(facts_.longest_key, 'k')}, {"value", ""}});
    long room = kLongestCommand - static_cast<long>(around.size());
    facts_.longest_value = static_cast<std::size_t>(std::max(std::min(longest - 1, room), 32L));
    Result<PmiFields> mapping =
        ask({{"cmd", "get"}, {"kvsname", space_}, {"key", "PMI_process_mapping"}}, "get_result", true);
    if (!mapping) return mapping.status();
    if (pmi_number(*mapping, "rc", -1) == 0) use_mapping(field(*mapping, "value"));
    facts_.describe = "PMI-1 (" + launcher_in_words() + ", name space " + space_ + ")";
    return {};
  }

  // On a connection made by PMI_PORT the server says which rank this process has.
  Status introduce(const std::string& id) {
    Status sent = stream_->send(format_pmi1({{"cmd", "initack"}, {"pmiid", id}}));
    if (!sent) return sent;
    for (const char* expected : {"initack", "set", "set", "set"}) {
      Result<std::string> line = stream_->line();
      if (!line) return line.status();
      PmiFields fields = parse_pmi1(*line);
      if (field(fields, "cmd") != expected)
        return Status::failure("the launcher did not take this process: " + shown(*line));
      told_size_ = static_cast<int>(pmi_number(fields, "size", told_size_));
      told_rank_ = static_cast<int>(pmi_number(fields, "rank", told_rank_));
    }
    return {};
  }

  Status put(const std::string& key, const std::string& value) override {
    return ask({{"cmd", "put"}, {"kvsname", space_}, {"key", key}, {"value", value}}, "put_result").status();
  }
  Status fence() override { return ask({{"cmd", "barrier_in"}}, "barrier_out").status(); }
  Result<std::string> get(int, const std::string& key) override {
    Result<PmiFields> answer = ask({{"cmd", "get"}, {"kvsname", space_}, {"key", key}}, "get_result");
    if (!answer) return answer.status();
    return field(*answer, "value");
  }
  void abort(int code, const std::string&) override {
    let_output_through();
    static_cast<void>(stream_->send(format_pmi1({{"cmd", "abort"}, {"exitcode", std::to_string(code)}})).ok());
  }
  void finalize() override {
    if (finalized_) return;
    finalized_ = true;
    static_cast<void>(ask({{"cmd", "finalize"}}, "finalize_ack").ok());
  }

 private:
  // `may_fail`: an answer that says no is an answer.
  Result<PmiFields> ask(const PmiPairs& command, const std::string& expected, bool may_fail = false) {
    Status sent = stream_->send(format_pmi1(command));
    if (!sent) return sent;
    Result<std::string> line = stream_->line();
    if (!line) return line.status();
    PmiFields answer = parse_pmi1(*line);
    if (field(answer, "cmd") != expected) {
      return Status::failure("the launcher answered " + shown(*line) + " to " + command[0].second + " instead of " +
                             expected);
    }
    if (!may_fail && pmi_number(answer, "rc", 0) != 0) {
      return Status::failure("the launcher refused " + command[0].second + ": " + shown(*line));
    }
    return answer;
  }

  std::string space_;
  int told_size_ = 0, told_rank_ = 0;
};

class Pmi2Wire final : public PmiWire {
 public:
  using PmiWire::PmiWire;

  Status begin() override {
    PmiPairs full = {{"cmd", "fullinit"}};
    if (!variable("PMI_JOBID").empty()) full.push_back({"pmijobid", variable("PMI_JOBID")});
    if (!variable("PMI_RANK").empty()) full.push_back({"pmirank", variable("PMI_RANK")});
    full.push_back({"threaded", "FALSE"});
    Result<PmiFields> init = ask(full, "fullinit-response");
    if (!init) return init.status();
    facts_.rank = static_cast<int>(pmi_number(*init, "rank", -1));
    facts_.size = static_cast<int>(pmi_number(*init, "size", -1));
    Status sensible = check_counts();
    if (!sensible) return sensible;
    Result<PmiFields> id = ask({{"cmd", "job-getid"}}, "job-getid-response");
    if (!id) return id.status();
    facts_.job = field(*id, "jobid");
    Result<PmiFields> mapping = ask({{"cmd", "info-getjobattr"}, {"key", "PMI_process_mapping"}, {"wait", "FALSE"}},
                                    "info-getjobattr-response", true);
    if (!mapping) return mapping.status();
    if (field(*mapping, "found") == "TRUE") use_mapping(field(*mapping, "value"));
    facts_.longest_key = 63;  // the limits of the protocol
    facts_.longest_value = 1023;
    facts_.describe = "PMI-2 (" + launcher_in_words() + ", job id " + facts_.job + ")";
    return {};
  }

  Status put(const std::string& key, const std::string& value) override {
    return ask({{"cmd", "kvs-put"}, {"key", key}, {"value", value}}, "kvs-put-response").status();
  }
  // A fence of PMI-2 only promises that what was put can be read: hydra's answers at once, and lets a read wait for the
  // put. So we go around by reads, each one twice as far (a dissemination barrier): log2(size) rounds.
  Status fence() override {
    std::string number = std::to_string(++fences_);
    for (int step = 1; step == 1 || step < facts_.size; step *= 2) {
      std::string key = "-fence" + number + "-" + std::to_string(step);
      Status put_own = put(std::to_string(facts_.rank) + key, "here");
      if (!put_own) return put_own;
      Result<PmiFields> passed = ask({{"cmd", "kvs-fence"}}, "kvs-fence-response");
      if (!passed) return passed.status();
      int other = (facts_.rank + step) % facts_.size;
      Result<std::string> come = get(other, std::to_string(other) + key);
      if (!come) return come.status();
    }
    return {};
  }
  Result<std::string> get(int rank, const std::string& key) override {
    Result<PmiFields> answer = ask(
        {{"cmd", "kvs-get"}, {"jobid", facts_.job}, {"srcid", std::to_string(rank)}, {"key", key}}, "kvs-get-response");
    if (!answer) return answer.status();
    if (field(*answer, "found") != "TRUE") return Status::failure("the launcher has no value for " + key);
    return field(*answer, "value");
  }
  void abort(int, const std::string& reason) override {
    let_output_through();
    std::string message = reason.substr(0, 900);
    for (char& c : message) {
      if (c == '\n' || c == '\0') c = ' ';
    }
    static_cast<void>(stream_->send(format_pmi2({{"cmd", "abort"}, {"isworld", "TRUE"}, {"msg", message}})).ok());
  }
  void finalize() override {
    if (finalized_) return;
    finalized_ = true;
    static_cast<void>(ask({{"cmd", "finalize"}}, "finalize-response").ok());
  }

 private:
  Result<PmiFields> ask(const PmiPairs& command, const std::string& expected, bool may_fail = false) {
    Status sent = stream_->send(format_pmi2(command));
    if (!sent) return sent;
    Result<std::string> head = stream_->exactly(kPmi2LengthDigits);
    if (!head) return head.status();
    long length = parse_pmi2_length(*head);
    if (length < 0)
      return Status::failure("the launcher answered " + shown(*head) + " where the length of an answer belongs");
    Result<std::string> body = stream_->exactly(static_cast<std::size_t>(length));
    if (!body) return body.status();
    PmiFields answer = parse_pmi2(*body);
    if (field(answer, "cmd") != expected) {
      return Status::failure("the launcher answered " + shown(*body) + " to " + command[0].second + " instead of " +
                             expected);
    }
    if (!may_fail && pmi_number(answer, "rc", 0) != 0) {
      return Status::failure("the launcher refused " + command[0].second + ": " + shown(*body));
    }
    return answer;
  }

  std::uint64_t fences_ = 0;
};

Result<std::unique_ptr<PmiStream>> open_stream(std::string& where) {
  std::string number = variable("PMI_FD");
  if (number.empty()) {
    where = "PMI_PORT=" + variable("PMI_PORT");
    Result<int> fd = connect_to(variable("PMI_PORT"));
    if (!fd) return fd.status();
    return std::make_unique<PmiStream>(*fd);
  }
  where = "PMI_FD=" + number;
  char* end = nullptr;
  long fd = std::strtol(number.c_str(), &end, 10);
  if (*end != '\0' || fd < 0 || fd > 1 << 20 || ::fcntl(static_cast<int>(fd), F_GETFD) < 0) {
    return Status::failure(
        where + " is not an open file of this process: something between the launcher and the program " +
        "closed it. Start the program itself with the launcher, without a wrapper that closes files");
  }
  ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);  // it is ours, not our children's
  return std::make_unique<PmiStream>(static_cast<int>(fd));
}

// The first line decides the version.
Result<PmiFields> offer(PmiStream& stream, int version) {
  Status sent = stream.send(format_pmi1(
      {{"cmd", "init"}, {"pmi_version", std::to_string(version)}, {"pmi_subversion", version == 1 ? "1" : "0"}}));
  if (!sent) return sent;
  Result<std::string> line = stream.line();
  if (!line) return line.status();
  PmiFields answer = parse_pmi1(*line);
  if (field(answer, "cmd") != "response_to_init") {
    return Status::failure("the launcher answered " + shown(*line) + " to the first line of PMI-" +
                           std::to_string(version));
  }
  return answer;
}

Result<std::unique_ptr<Wire>> connect(int version, std::string& where) {
  Result<std::unique_ptr<PmiStream>> opened = open_stream(where);
  if (!opened) return opened.status();
  PmiStream& stream = **opened;
  auto first = std::make_unique<Pmi1Wire>(std::move(*opened));
  bool by_port = variable("PMI_FD").empty();
  if (by_port) {
    Status taken = first->introduce(variable("PMI_ID"));
    if (!taken) return taken;
    version = 1;  // what comes by this way is PMI-1
  }
  Result<PmiFields> answer = offer(stream, version);
  if (!answer) return answer.status();
  long spoken = pmi_number(*answer, "rc", 0) == 0 ? pmi_number(*answer, "pmi_version", version) : 0;
  if (spoken == 0 && !by_port) {
    version = 3 - version;
    answer = offer(stream, version);
    if (!answer) return answer.status();
    spoken = pmi_number(*answer, "rc", 0) == 0 ? version : 0;
  }
  if (spoken != 1 && spoken != 2) return Status::failure("the launcher refused PMI-" + std::to_string(version));
  std::unique_ptr<PmiWire> wire;
  if (spoken == 1) {
    wire = std::move(first);
  } else {
    wire = std::make_unique<Pmi2Wire>(first->release_stream());
  }
  Status begun = wire->begin();
  if (!begun) return begun;
  return std::unique_ptr<Wire>(std::move(wire));
}

}  // namespace

Looked look_for_pmi(int version) {
  std::string name = "PMI-" + std::to_string(version);
  if (variable("PMI_FD").empty() && (variable("PMI_PORT").empty() || variable("PMI_ID").empty())) {
    return Looked::nothing(name + ": neither PMI_FD nor PMI_PORT and PMI_ID is set");
  }
  std::string where;
  Result<std::unique_ptr<Wire>> wire = connect(version, where);
  if (!wire) return Looked::unusable(name + " (" + where + "): " + wire.message());
  return Looked::found(std::move(*wire));
}

}  // namespace periapt::bootstrap
