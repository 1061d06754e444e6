// The load database: in bytes, joined, cleared.
#include "runtime/loadbalance/database.h"

#include <algorithm>
#include <iterator>

#include "runtime/pup/stl.h"

namespace periapt::loadbalance {

void PeLoad::pup(PUP::er& p) {
  p | wall;
  p | idle;
  p | background;
  p | speed;
  p | available;
  p | process;
  p | host;
  p | background_wall;
  p | background_gpu;
}
void ElementName::pup(PUP::er& p) {
  p | array;
  p | element;
}
void Communication::pup(PUP::er& p) {
  p | from;
  p | to;
  p | messages;
  p | bytes;
  p | to_pe;
  p | to_process;
}
void LoadDatabase::pup(PUP::er& p) {
  p | step;
  p(reinterpret_cast<char*>(&clock), sizeof clock);
  p | topology;
  p | pes;
  p | objects;
  p | positions;
  p | phases;
  p | communication;
  p | user_bytes;
  p | user_data;
}
void PhaseParts::join(double seconds, const PhaseParts& other, double more) {
  if (!(seconds + more > 0)) return;
  for (int k = 0; k < most; ++k)
    part[k] = static_cast<float>((seconds * part[k] + more * other.part[k]) / (seconds + more));
}
namespace {
// What objects say, of some of them or of none: that of `more` objects behind that of `objects`.
template <class T>
void append_said(std::vector<T>& said, std::size_t objects, const std::vector<T>& part, std::size_t more) {
  if (said.empty() && part.empty()) return;
  said.resize(objects);
  said.insert(said.end(), part.begin(), part.end());
  said.resize(objects + more);
}
// The same for objects that have more room.
std::vector<char> widened(const std::vector<char>& data, std::size_t objects, std::uint32_t from, std::uint32_t to) {
  std::vector<char> wide(objects * to);
  for (std::size_t i = 0; i < objects && from > 0; ++i) std::copy_n(&data[i * from], from, &wide[i * to]);
  return wide;
}
}  // namespace
void LoadDatabase::append(const LoadDatabase& part) {
  if (topology.empty()) topology = part.topology;
  if (clock == LoadClock::wall) clock = part.clock;
  // Each PE has registered its own user data; a PE that has registered less gave less.
  if (part.user_bytes > user_bytes) {
    user_data = widened(user_data, objects.size(), user_bytes, part.user_bytes);
    user_bytes = part.user_bytes;
  }
  const bool narrow = part.user_bytes < user_bytes;
  const std::vector<char> wide =
      narrow ? widened(part.user_data, part.objects.size(), part.user_bytes, user_bytes) : std::vector<char>();
  const std::vector<char>& added = narrow ? wide : part.user_data;
  user_data.insert(user_data.end(), added.begin(), added.end());
  append_said(positions, objects.size(), part.positions, part.objects.size());
  append_said(phases, objects.size(), part.phases, part.objects.size());
  pes.insert(pes.end(), part.pes.begin(), part.pes.end());
  objects.insert(objects.end(), part.objects.begin(), part.objects.end());
  communication.insert(communication.end(), part.communication.begin(), part.communication.end());
}

void LoadDatabase::clear() {
  clock = LoadClock::wall;
  topology.clear();
  pes.clear();
  objects.clear();
  positions.clear();
  phases.clear();
  communication.clear();
  user_bytes = 0;
  user_data.clear();
}

}  // namespace periapt::loadbalance
