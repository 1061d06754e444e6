// The load database in JSON.
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "machine/sim/topology.h"
#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

using nlohmann::json;

std::string to_json(const LoadDatabase& database) {
  json pes = json::array(), objects = json::array(), communication = json::array();
  for (const PeLoad& pe : database.pes) {
    pes.push_back({{"wall_s", pe.wall},
                   {"idle_s", pe.idle},
                   {"background_s", pe.background},
                   {"speed", pe.speed},
                   {"available", pe.available}});
    if (pe.process != 0) pes.back()["process"] = pe.process;
    if (pe.host != 0) pes.back()["host"] = pe.host;
    if (database.clock != LoadClock::wall) pes.back()["background_wall_s"] = pe.background_wall;
    if (pe.background_gpu > 0) pes.back()["background_gpu_s"] = pe.background_gpu;
  }
  for (std::size_t i = 0; i < database.objects.size(); ++i) {
    const ObjectLoad& o = database.objects[i];
    objects.push_back({{"array", o.array},
                       {"element", o.element},
                       {"pe", o.pe},
                       {"load_s", o.seconds},
                       {"bytes", o.bytes},
                       {"migratable", o.migratable}});
    if (database.clock != LoadClock::wall) objects.back()["wall_s"] = o.wall;
    if (o.gpu > 0) objects.back()["gpu_s"] = o.gpu;
    if (!database.phases.empty())
      objects.back()["phases"] =
          std::vector<float>(std::begin(database.phases[i].part), std::end(database.phases[i].part));
    if (i >= database.positions.size() || !database.positions[i].given()) continue;
    const Position& at = database.positions[i];
    objects.back()["position"] = {at.x, at.y, at.z};
  }
  for (const Communication& c : database.communication)
    communication.push_back({{"from", {c.from.array, c.from.element}},
                             {"to", {c.to.array, c.to.element}},
                             {"messages", c.messages},
                             {"bytes", c.bytes}});
  for (std::size_t i = 0; i < communication.size(); ++i)
    if (const Communication& c = database.communication[i]; c.to_pe >= 0)
      communication[i][c.to_process ? "to_process_of" : "to_pe"] = c.to_pe;
  json all{
      {"version", 1}, {"step", database.step}, {"pes", pes}, {"objects", objects}, {"communication", communication}};
  if (database.clock == LoadClock::processor) all["processor_time"] = true;
  if (database.clock == LoadClock::gpu) all["gpu_time"] = true;
  if (!database.topology.empty()) all["topology"] = database.topology;
  return all.dump();
}

namespace {
double amount(const json& value) {
  const double number = value.get<double>();
  // Within these bounds the sums of any strategy are numbers.
  if (!(number >= 0 && number <= 1e12)) throw std::runtime_error("a time or speed is negative, or more than 1e12");
  return number;
}

void read_head(const json& all, LoadDatabase& read) {
  const json& version = all.at("version");
  if (version.is_number_integer() && version > 1)
    throw std::runtime_error("its version is " + version.dump() +
                             ", and this program reads versions up to 1: take the lb-lab of the Periapt that wrote it");
  if (version != 1) throw std::runtime_error("its version is not 1");
  read.step = all.at("step").get<std::uint32_t>();
  read.topology = all.value("topology", "");
  if (all.value("processor_time", false)) read.clock = LoadClock::processor;
  if (all.value("gpu_time", false)) read.clock = LoadClock::gpu;
  if (!read.topology.empty())
    if (const auto network = sim::Topology::parse(read.topology, 0); !network)
      throw std::runtime_error("its topology makes no sense: " + network.message());
}

void read_pe(const json& pe, LoadDatabase& read) {
  read.pes.push_back({amount(pe.at("wall_s")), amount(pe.at("idle_s")), amount(pe.at("background_s")),
                      amount(pe.at("speed")), pe.at("available").get<bool>()});
  read.pes.back().process = pe.value("process", 0);
  read.pes.back().host = pe.value("host", 0);
  if (read.clock != LoadClock::wall) read.pes.back().background_wall = amount(pe.at("background_wall_s"));
  if (pe.contains("background_gpu_s")) read.pes.back().background_gpu = amount(pe.at("background_gpu_s"));
  if (read.pes.back().host < 0) throw std::runtime_error("a host has a number below 0");
  if (read.pes.back().speed < 1e-12) throw std::runtime_error("a PE has no speed: say \"available\": false instead");
}

void read_object(const json& o, LoadDatabase& read) {
  read.objects.push_back({o.at("array").get<std::int32_t>(), o.at("element").get<std::uint64_t>(),
                          o.at("pe").get<std::int32_t>(), amount(o.at("load_s")), o.at("bytes").get<std::uint64_t>(),
                          o.at("migratable").get<bool>()});
  if (read.clock != LoadClock::wall) read.objects.back().wall = amount(o.at("wall_s"));
  if (o.contains("gpu_s")) read.objects.back().gpu = amount(o.at("gpu_s"));
  const int pe = read.objects.back().pe;
  if (pe < 0 || static_cast<std::size_t>(pe) >= read.pes.size())
    throw std::runtime_error("an object is on PE " + std::to_string(pe) + ", which is not in \"pes\"");
  if (o.contains("phases")) {
    read.phases.resize(read.objects.size());
    const json& parts = o.at("phases");
    if (!parts.is_array() || parts.size() != PhaseParts::most)
      throw std::runtime_error("the phases of an object are no list of " + std::to_string(PhaseParts::most) + " parts");
    for (int k = 0; k < PhaseParts::most; ++k)
      read.phases.back().part[k] = static_cast<float>(amount(parts.at(static_cast<std::size_t>(k))));
  }
  if (!o.contains("position")) return;
  const json& at = o.at("position");
  read.positions.resize(read.objects.size());
  read.positions.back() = {at.at(0).get<float>(), at.at(1).get<float>(), at.at(2).get<float>()};
}

ElementName read_name(const json& value) { return {value.at(0).get<std::int32_t>(), value.at(1).get<std::uint64_t>()}; }

void read_communication(const json& c, LoadDatabase& read) {
  read.communication.push_back({read_name(c.at("from")), read_name(c.at("to")), c.at("messages").get<std::uint64_t>(),
                                c.at("bytes").get<std::uint64_t>()});
  for (const char* field : {"to_pe", "to_process_of"}) {
    if (!c.contains(field)) continue;
    Communication& last = read.communication.back();
    last.to_pe = c.at(field).get<std::int32_t>();
    last.to_process = field == std::string("to_process_of");
    if (!read.is_to_member(last))
      throw std::runtime_error("a message is for PE " + std::to_string(last.to_pe) + ", which is not in \"pes\"");
  }
}
}  // namespace

bool from_json(const std::string& text, LoadDatabase* database, std::string* error) {
  try {
    const json all = json::parse(text);
    LoadDatabase read;
    read_head(all, read);
    for (const json& pe : all.at("pes")) read_pe(pe, read);
    for (const json& object : all.at("objects")) read_object(object, read);
    if (!read.positions.empty()) read.positions.resize(read.objects.size());
    if (!read.phases.empty()) read.phases.resize(read.objects.size());
    for (const json& c : all.at("communication")) read_communication(c, read);
    *database = std::move(read);
    return true;
  } catch (const std::exception& e) {
    *error = e.what();
    return false;
  }
}

}  // namespace periapt::loadbalance
