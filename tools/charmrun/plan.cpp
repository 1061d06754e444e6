#include "tools/charmrun/plan.h"

#include <cstdlib>

#include "machine/bootstrap/frames.h"

namespace periapt::charmrun {
namespace {

using bootstrap::pack_texts;
using bootstrap::unpack_texts;
using Texts = std::vector<std::string>;

constexpr int kDeepest = 16;
constexpr int kMost = 1 << 24;

std::string encode_host(const HostPlan& host) {
  Texts below;
  for (const HostPlan& other : host.below) below.push_back(encode_host(other));
  return pack_texts({host.name, std::to_string(host.index), std::to_string(host.first_rank), std::to_string(host.ranks),
                     pack_texts(host.shell), host.agent, host.program, host.folder, host.setup, pack_texts(below)});
}

bool number(const std::string& text, int& value) {
  char* end = nullptr;
  long read = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || read < 0 || read > kMost) return false;
  value = static_cast<int>(read);
  return true;
}

bool decode_host(const std::string& bytes, HostPlan& host, int depth) {
  Texts fields, below;
  if (depth > kDeepest || !unpack_texts(bytes, fields) || fields.size() != 10) return false;
  if (!number(fields[1], host.index) || !number(fields[2], host.first_rank) || !number(fields[3], host.ranks))
    return false;
  if (!unpack_texts(fields[4], host.shell) || !unpack_texts(fields[9], below)) return false;
  host.name = fields[0];
  host.agent = fields[5];
  host.program = fields[6];
  host.folder = fields[7];
  host.setup = fields[8];
  for (const std::string& other : below) {
    if (!decode_host(other, host.below.emplace_back(), depth + 1)) return false;
  }
  return true;
}

}  // namespace

int HostPlan::all_ranks() const {
  int sum = ranks;
  for (const HostPlan& host : below) sum += host.all_ranks();
  return sum;
}
int HostPlan::all_hosts() const {
  int sum = 1;
  for (const HostPlan& host : below) sum += host.all_hosts();
  return sum;
}

std::string encode_plan(const RunPlan& plan) {
  return pack_texts({pack_texts(plan.arguments), pack_texts(plan.environment), plan.runscript, plan.job, plan.secret,
                     plan.mapping, plan.describe, std::to_string(plan.size), std::to_string(plan.timeout_seconds),
                     std::to_string(plan.shells_at_once), std::to_string(plan.silence_seconds),
                     std::to_string(plan.watchdog_seconds), std::to_string(plan.verbose ? 1 : 0),
                     encode_host(plan.here)});
}

Result<RunPlan> decode_plan(const std::string& bytes) {
  RunPlan plan;
  Texts fields;
  int verbose = 0;
  bool sound = unpack_texts(bytes, fields) && fields.size() == 14 && unpack_texts(fields[0], plan.arguments) &&
               unpack_texts(fields[1], plan.environment) && number(fields[7], plan.size) &&
               number(fields[8], plan.timeout_seconds) && number(fields[9], plan.shells_at_once) &&
               number(fields[10], plan.silence_seconds) && number(fields[11], plan.watchdog_seconds) &&
               number(fields[12], verbose) && decode_host(fields[13], plan.here, 0);
  // Ranks must be of the run, or tables would be too small for them.
  sound = sound && plan.here.first_rank + plan.here.ranks <= plan.size && plan.shells_at_once > 0;
  if (!sound) return Status::failure("charmrun's plan makes no sense to the agent: are both of the same release?");
  plan.runscript = fields[2];
  plan.job = fields[3];
  plan.secret = fields[4];
  plan.mapping = fields[5];
  plan.describe = fields[6];
  plan.verbose = verbose != 0;
  return plan;
}

RunPlan plan_for(const RunPlan& plan, const HostPlan& host) {
  RunPlan other = plan;
  other.here = host;
  return other;
}

}  // namespace periapt::charmrun
