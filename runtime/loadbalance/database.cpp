// The load database in bytes and in JSON.
#include "runtime/loadbalance/database.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/pup/stl.h"

namespace periapt::loadbalance {

void PeLoad::pup(PUP::er& p) {
  p | wall;
  p | idle;
  p | background;
  p | speed;
  p | available;
}
void ObjectLoad::pup(PUP::er& p) {
  p | array;
  p | element;
  p | pe;
  p | seconds;
  p | bytes;
  p | migratable;
}
void LoadDatabase::pup(PUP::er& p) {
  p | step;
  p | pes;
  p | objects;
}

using nlohmann::json;

std::string to_json(const LoadDatabase& database) {
  json pes = json::array(), objects = json::array();
  for (const PeLoad& pe : database.pes)
    pes.push_back({{"wall_s", pe.wall},
                   {"idle_s", pe.idle},
                   {"background_s", pe.background},
                   {"speed", pe.speed},
                   {"available", pe.available}});
  for (const ObjectLoad& o : database.objects)
    objects.push_back({{"array", o.array},
                       {"element", o.element},
                       {"pe", o.pe},
                       {"load_s", o.seconds},
                       {"bytes", o.bytes},
                       {"migratable", o.migratable}});
  return json{{"version", 1}, {"step", database.step}, {"pes", pes}, {"objects", objects}}.dump();
}

bool from_json(const std::string& text, LoadDatabase* database, std::string* error) {
  auto amount = [](const json& value) {
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < 0) throw std::runtime_error("a time or speed is negative or not finite");
    return number;
  };
  try {
    const json all = json::parse(text);
    if (all.at("version") != 1) throw std::runtime_error("its version is not 1");
    LoadDatabase read;
    read.step = all.at("step").get<std::uint32_t>();
    for (const json& pe : all.at("pes")) {
      read.pes.push_back({amount(pe.at("wall_s")), amount(pe.at("idle_s")), amount(pe.at("background_s")),
                          amount(pe.at("speed")), pe.at("available").get<bool>()});
      if (read.pes.back().speed == 0) throw std::runtime_error("a PE has speed 0: say \"available\": false instead");
    }
    for (const json& o : all.at("objects")) {
      read.objects.push_back({o.at("array").get<std::int32_t>(), o.at("element").get<std::uint64_t>(),
                              o.at("pe").get<std::int32_t>(), amount(o.at("load_s")),
                              o.at("bytes").get<std::uint64_t>(), o.at("migratable").get<bool>()});
      const int pe = read.objects.back().pe;
      if (pe < 0 || static_cast<std::size_t>(pe) >= read.pes.size())
        throw std::runtime_error("an object is on PE " + std::to_string(pe) + ", which is not in \"pes\"");
    }
    *database = std::move(read);
    return true;
  } catch (const std::exception& e) {
    *error = e.what();
    return false;
  }
}

}  // namespace periapt::loadbalance
