#include "machine/sim/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/nearest.h"

namespace periapt::sim {
namespace {

constexpr int kMostPes = 1 << 20;

Status refuse(const std::string& name, const std::string& text, const std::string& wanted) {
  return Status::failure("+sim " + name + "=" + text + ": " + wanted);
}

// A number that is all of the text, or all but its unit, which is left in `unit`.
bool read_number(const std::string& text, double* number, std::string* unit) {
  if (text.empty() || text[0] == '-') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  *unit = end;
  return error == std::errc() && std::isfinite(*number);
}

Status read_int(const std::string& name, const std::string& text, int least, int* value) {
  double number = 0;
  std::string unit;
  if (!read_number(text, &number, &unit) || !unit.empty() || number != std::floor(number) || number < least ||
      number > kMostPes)
    return refuse(name, text, "wants a whole number from " + std::to_string(least));
  *value = static_cast<int>(number);
  return {};
}

Status read_time(const std::string& name, const std::string& text, Time* value) {
  Result<Time> time = parse_time(name, text);
  if (!time) return time.status();
  *value = *time;
  return {};
}

// ps a byte.
Status read_byte_time(const std::string& name, const std::string& text, double* value) {
  double number = 0;
  std::string unit;
  if (!read_number(text, &number, &unit)) unit = "?";
  if (unit == "GB/s" && number > 0) return *value = 1000 / number, Status();
  if (unit == "ns" || unit.empty()) return *value = 1000 * number, Status();
  return refuse(name, text, "wants the time of a byte (0.08ns) or a bandwidth (12.5GB/s)");
}

Status read_probability(const std::string& name, const std::string& text, double* value) {
  double number = 0;
  std::string unit;
  if (!read_number(text, &number, &unit) || !unit.empty() || number > 0.9)
    return refuse(name, text, "wants a probability from 0 to 0.9");
  *value = number;
  return {};
}

Status read_flag(const std::string& name, const std::string& text, bool* value) {
  if (text != "0" && text != "1") return refuse(name, text, "wants 0 or 1");
  *value = text == "1";
  return {};
}

using Reader = std::function<Status(const std::string& name, const std::string& text, Options& options)>;

const std::map<std::string, Reader>& readers() {
#define READ(name, how, ...)                                                                            \
  {                                                                                                     \
    name, [](const std::string& n, const std::string& t, Options& o) { return how(n, t, __VA_ARGS__); } \
  }
  static const std::map<std::string, Reader> all = {
      READ("nodes", read_int, 1, &o.nodes),
      READ("ppn", read_int, 1, &o.ppn),
      READ("L", read_time, &o.costs.L),
      READ("o", read_time, &o.costs.o),
      READ("g", read_time, &o.costs.g),
      READ("hop", read_time, &o.costs.hop),
      READ("local", read_time, &o.costs.local),
      READ("G", read_byte_time, &o.costs.G),
      READ("link-G", read_byte_time, &o.costs.link_G),
      READ("delay", read_time, &o.faults.delay),
      READ("rto", read_time, &o.faults.rto),
      READ("loss", read_probability, &o.faults.loss),
      READ("dup", read_probability, &o.faults.duplicate),
      READ("reorder", read_probability, &o.faults.reorder),
      READ("no-resource", read_probability, &o.faults.no_resource),
      READ("raw", read_flag, &o.faults.raw),
      READ("quiet", read_flag, &o.quiet),
      {"topology",
       [](const std::string&, const std::string& t, Options& o) {
         o.topology = t;
         return Status();
       }},
      {"json",
       [](const std::string&, const std::string& t, Options& o) {
         o.json = t;
         return Status();
       }},
      {"seed",
       [](const std::string& n, const std::string& t, Options& o) {
         char* end = nullptr;
         o.faults.seed = std::strtoull(t.c_str(), &end, 10);
         return t.empty() || *end != 0 || t[0] == '-' ? refuse(n, t, "wants a whole number from 0") : Status();
       }},
      {"cost",
       [](const std::string& n, const std::string& t, Options& o) {
         o.fixed_cost = true;
         Status status = read_time(n, t, &o.cost);
         o.cost = std::max(o.cost, kNs);  // or time would stand still for a program that looks again and again
         return status;
       }},
      {"scale",
       [](const std::string& n, const std::string& t, Options& o) {
         std::string unit;
         if (!read_number(t, &o.scale, &unit) || !unit.empty() || o.scale <= 0)
           return refuse(n, t, "wants a positive number: 0.5 for processors of twice the speed of this one");
         return Status();
       }},
  };
#undef READ
  return all;
}

Status read_one(const std::string& part, Options& options, std::map<std::string, bool>& given) {
  const std::size_t equals = part.find('=');
  const std::string name = part.substr(0, equals);
  auto reader = readers().find(name);
  if (reader == readers().end()) {
    std::vector<std::string_view> known;
    for (const auto& [other, _] : readers()) known.push_back(other);
    return Status::failure("+sim has no option \"" + name + "\"; did you mean " + nearest(name, known) + "=?");
  }
  if (equals == std::string::npos) return Status::failure("+sim " + name + " wants a value: " + name + "=...");
  if (std::exchange(given[name], true)) return Status::failure("+sim " + name + "= is given twice");
  return reader->second(name, part.substr(equals + 1), options);
}

}  // namespace

Result<Time> parse_time(const std::string& name, const std::string& text) {
  static const std::map<std::string, double> ps = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6},
                                                   {"", 1e6}, {"ms", 1e9}, {"s", 1e12}};
  double number = 0;
  std::string unit;
  if (!read_number(text, &number, &unit)) unit = "?";
  auto found = ps.find(unit);
  if (found == ps.end() || number * found->second > 1e18)
    return refuse(name, text, "wants a time: 1.5us, 300ns, 2ms, 1s (us without a unit)");
  return static_cast<Time>(std::llround(number * found->second));
}

Result<Options> parse_options(const std::string& text) {
  Options options;
  std::map<std::string, bool> given;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    Status status = read_one(text.substr(at, comma - at), options, given);
    if (!status) return status;
    at = comma + 1;
  }
  auto topology = Topology::parse(options.topology, options.nodes);
  if (!topology) return Status::failure("+sim " + topology.message());
  if (options.nodes == 0) options.nodes = (*topology)->nodes();
  if (static_cast<std::int64_t>(options.nodes) * options.ppn > kMostPes)
    return Status::failure("+sim: " + std::to_string(options.nodes) + " nodes of " + std::to_string(options.ppn) +
                           " PEs are more than the million that there is room for");
  if (options.faults.rto == 0)
    options.faults.rto = 4 * (options.costs.L + 2 * options.costs.o) + 2 * options.faults.delay;
  return options;
}

std::string in_words(Time time) {
  static const struct {
    double ps;
    const char* unit;
  } units[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}};
  char text[48];
  for (const auto& unit : units) {
    if (static_cast<double>(time) < unit.ps && unit.ps > 1) continue;
    std::snprintf(text, sizeof text, "%.4g %s", static_cast<double>(time) / unit.ps, unit.unit);
    break;
  }
  return text;
}

}  // namespace periapt::sim
