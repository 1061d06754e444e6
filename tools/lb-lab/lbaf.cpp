// See lbaf.h.
#include "tools/lb-lab/lbaf.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <unordered_map>

namespace periapt::lab {

using namespace loadbalance;
using nlohmann::json;

namespace {
// What is wrong, with the way to it: "phases[0].tasks[3].entity: ...".
[[noreturn]] void wrong(const std::string& way, const std::string& what) {
  throw std::runtime_error(way + ": " + what);
}

const json& member(const json& value, const char* name, const std::string& way) {
  if (!value.is_object()) wrong(way, "is no object");
  const auto found = value.find(name);
  if (found == value.end()) wrong(way, std::string("has no \"") + name + "\"");
  return *found;
}
const json& array_of(const json& value, const char* name, const std::string& way) {
  const json& found = member(value, name, way);
  if (!found.is_array()) wrong(way + "." + name, "is no array");
  return found;
}
double amount(const json& value, const char* name, const std::string& way) {
  const json& found = member(value, name, way);
  if (!found.is_number() || found.get<double>() < 0) wrong(way + "." + name, "is no number, or negative");
  return found.get<double>();
}

// Of an entity that does not say which collection it is of.
constexpr std::int32_t unsaid = -1;

ElementName name_of(const json& entity, const std::string& way) {
  if (!entity.is_object()) wrong(way, "is no object");
  const auto id = entity.find(entity.contains("id") ? "id" : "seq_id");
  if (id == entity.end()) wrong(way, "has neither \"id\" nor \"seq_id\"");
  if (!id->is_number_integer() || id->get<std::int64_t>() < 0) wrong(way, "has an id that is no whole number");
  return {entity.value("collection_id", entity.value("objgroup_id", unsaid)), id->get<std::uint64_t>()};
}

void read_task(const json& task, int rank, const std::string& way, LoadDatabase& step) {
  const json& entity = member(task, "entity", way);
  const ElementName name = name_of(entity, way + ".entity");
  const json& migratable = member(entity, "migratable", way + ".entity");
  if (!migratable.is_boolean()) wrong(way + ".entity.migratable", "is neither true nor false");
  double bytes = 0;
  if (const auto own = task.find("user_defined"); own != task.end() && own->is_object())
    if (const auto size = own->find("task_serialized_bytes"); size != own->end() && size->is_number())
      bytes = std::max(0.0, size->get<double>());
  step.objects.push_back({name.array, name.element, rank, amount(task, "time", way), static_cast<std::uint64_t>(bytes),
                          migratable.get<bool>()});
}

void read_communication(const json& message, const std::string& way, LoadDatabase& step) {
  const json &from = member(message, "from", way), &to = member(message, "to", way);
  // Broadcasts, and messages of ranks, are no traffic between objects.
  if (from.value("type", "") != "object" || to.value("type", "") != "object") return;
  step.communication.push_back(
      {name_of(from, way + ".from"), name_of(to, way + ".to"),
       static_cast<std::uint64_t>(message.contains("messages") ? amount(message, "messages", way) : 1),
       static_cast<std::uint64_t>(amount(message, "bytes", way))});
}

void read_rank(const json& all, int rank, std::map<std::uint32_t, LoadDatabase>& phases) {
  const json& about = all.contains("metadata") ? all.at("metadata") : all;
  if (const json& type = member(about, "type", "metadata"); type != "LBDatafile")
    wrong("metadata.type", "is " + type.dump() + ": only \"LBDatafile\" holds loads");
  const json& list = array_of(all, "phases", "the file");
  for (std::size_t p = 0; p < list.size(); ++p) {
    const std::string way = "phases[" + std::to_string(p) + "]";
    LoadDatabase& step = phases[static_cast<std::uint32_t>(amount(list[p], "id", way))];
    const json& tasks = array_of(list[p], "tasks", way);
    for (std::size_t t = 0; t < tasks.size(); ++t)
      read_task(tasks[t], rank, way + ".tasks[" + std::to_string(t) + "]", step);
    if (!list[p].contains("communications")) continue;
    const json& messages = array_of(list[p], "communications", way);
    for (std::size_t m = 0; m < messages.size(); ++m)
      read_communication(messages[m], way + ".communications[" + std::to_string(m) + "]", step);
  }
}

// Messages may name their ends by the id alone.
void complete_names(LoadDatabase& step) {
  const auto says = [](const Communication& c) { return c.from.array != unsaid && c.to.array != unsaid; };
  if (std::all_of(step.communication.begin(), step.communication.end(), says)) return;
  std::unordered_map<std::uint64_t, std::int32_t> arrays;
  for (const ObjectLoad& object : step.objects) arrays.emplace(object.element, object.array);
  for (Communication& c : step.communication)
    for (ElementName* end : {&c.from, &c.to})
      if (const auto found = arrays.find(end->element); end->array == unsaid && found != arrays.end())
        end->array = found->second;
}

std::string file_of(const std::string& stem, int rank) { return stem + "." + std::to_string(rank) + ".json"; }
}  // namespace

bool read_lbaf(const std::string& stem, std::vector<LoadDatabase>* steps, Complaint* complaint) {
  std::map<std::uint32_t, LoadDatabase> phases;
  int ranks = 0;
  for (std::ifstream file; file.open(file_of(stem, ranks)), file; file = {}) {
    std::stringstream text;
    text << file.rdbuf();
    const std::string bytes = text.str();
    if (bytes.find_first_not_of(" \t\r\n") == std::string::npos || bytes[bytes.find_first_not_of(" \t\r\n")] != '{') {
      *complaint = {file_of(stem, ranks) + " is no JSON", "", "vt writes such files compressed by brotli",
                    "unpack them first: brotli -d"};
      return false;
    }
    try {
      read_rank(json::parse(bytes), ranks, phases);
    } catch (const std::exception& error) {
      *complaint = {file_of(stem, ranks) + " does not hold to vt's schema: " + error.what(), "", "", ""};
      return false;
    }
    ++ranks;
  }
  if (ranks == 0) {
    *complaint = {file_of(stem, 0) + " cannot be read", "", "",
                  "name what comes before .0.json, as LBAF's data_stem does"};
    return false;
  }
  for (auto& [id, step] : phases) {
    complete_names(step);
    step.step = id;
    step.pes.resize(static_cast<std::size_t>(ranks));
    steps->push_back(std::move(step));
  }
  return true;
}

namespace {
json entity_of(ElementName name, int home, bool migratable) {
  return {{"collection_id", name.array},
          {"home", home},
          {"id", name.element},
          {"migratable", migratable},
          {"type", "object"}};
}

// The phase of each rank.
std::vector<json> phase_of(const LoadDatabase& step, const Assignment& placed) {
  std::vector<json> ranks(step.pes.size(),
                          {{"id", step.step}, {"tasks", json::array()}, {"communications", json::array()}});
  for (std::size_t i = 0; i < step.objects.size(); ++i) {
    const ObjectLoad& o = step.objects[i];
    ranks[placed[i]]["tasks"].push_back({{"entity", entity_of({o.array, o.element}, o.pe, o.migratable)},
                                         {"node", placed[i]},
                                         {"resource", "cpu"},
                                         {"time", o.seconds},
                                         {"user_defined", {{"task_serialized_bytes", static_cast<double>(o.bytes)}}}});
  }
  const ObjectIndex index(step);
  for (const Communication& c : step.communication) {
    const std::uint32_t from = index.find(c.from), to = index.find(c.to);
    if (from == ObjectIndex::none || to == ObjectIndex::none) continue;
    const ObjectLoad &sender = step.objects[from], &receiver = step.objects[to];
    ranks[placed[from]]["communications"].push_back({{"type", "SendRecv"},
                                                     {"from", entity_of(c.from, sender.pe, sender.migratable)},
                                                     {"to", entity_of(c.to, receiver.pe, receiver.migratable)},
                                                     {"messages", c.messages},
                                                     {"bytes", static_cast<double>(c.bytes)}});
  }
  return ranks;
}
}  // namespace

bool write_lbaf(const std::string& stem, const std::vector<LoadDatabase>& steps, const std::vector<Assignment>& placed,
                Complaint* complaint) {
  std::vector<json> ranks;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::vector<json> phase = phase_of(steps[s], placed[s]);
    for (std::size_t rank = 0; rank < phase.size(); ++rank) {
      if (rank == ranks.size())
        ranks.push_back({{"metadata", {{"type", "LBDatafile"}, {"rank", rank}}}, {"phases", json::array()}});
      ranks[rank]["phases"].push_back(std::move(phase[rank]));
    }
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string name = file_of(stem, static_cast<int>(rank));
    std::ofstream file(name);
    file << ranks[rank].dump() << '\n';
    if (file.flush()) continue;
    *complaint = {name + " cannot be written", "", "", "name a folder that is there and can be written to"};
    return false;
  }
  return true;
}

}  // namespace periapt::lab
