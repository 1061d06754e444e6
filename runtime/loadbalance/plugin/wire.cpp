// See wire.h.
#include "runtime/loadbalance/plugin/wire.h"

#include <cstring>

#include "runtime/loadbalance/partners.h"

namespace periapt::loadbalance {

namespace {
constexpr std::size_t alignment = 8;

class QuestionWriter {
 public:
  explicit QuestionWriter(std::vector<char>& bytes) : bytes_(bytes) {}
  void put(const void* data, std::size_t size) {
    const char* first = static_cast<const char*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  }
  void number(std::uint64_t value) { put(&value, sizeof value); }
  // get(i) of each of `count` things.
  template <class T, class Get>
  void each(std::size_t count, Get get) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(get(i));
    put(values.data(), count * sizeof(T));
  }

 private:
  std::vector<char>& bytes_;
};

class QuestionReader {
 public:
  explicit QuestionReader(const std::vector<char>& bytes) : at_(bytes.data()) {}
  std::uint64_t number() { return *take<std::uint64_t>(1); }
  template <class T>
  const T* take(std::size_t count) {
    const char* const here = at_;
    at_ += (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return reinterpret_cast<const T*>(here);
  }

 private:
  const char* at_;
};

struct Pair {
  std::uint32_t from, to;
  std::uint64_t messages, bytes;
};
std::vector<Pair> pairs_of(const LoadDatabase& database) {
  std::vector<Pair> pairs;
  const ObjectIndex index(database);
  for (const Communication& c : database.communication) {
    const std::uint32_t from = index.find(c.from), to = index.find(c.to);
    if (from != ObjectIndex::none && to != ObjectIndex::none) pairs.push_back({from, to, c.messages, c.bytes});
  }
  return pairs;
}
}  // namespace

std::vector<char> write_question(const LoadDatabase& database, bool messages) {
  const auto& pes = database.pes;
  const auto& objects = database.objects;
  const std::vector<Pair> pairs = messages ? pairs_of(database) : std::vector<Pair>();
  const bool positions = !database.positions.empty();
  std::vector<char> bytes;
  QuestionWriter out(bytes);
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{database.step}, std::uint64_t{pes.size()}, std::uint64_t{objects.size()},
        std::uint64_t{positions}, std::uint64_t{pairs.size()}})
    out.number(value);
  out.each<double>(pes.size(), [&](std::size_t i) { return pes[i].wall; });
  out.each<double>(pes.size(), [&](std::size_t i) { return pes[i].idle; });
  out.each<double>(pes.size(), [&](std::size_t i) { return pes[i].background; });
  out.each<double>(pes.size(), [&](std::size_t i) { return pes[i].speed; });
  out.each<double>(pes.size(), [&](std::size_t i) { return pes[i].background_gpu; });
  out.each<std::uint8_t>(pes.size(), [&](std::size_t i) { return pes[i].available; });
  out.each<double>(objects.size(), [&](std::size_t i) { return objects[i].seconds; });
  out.each<double>(objects.size(), [&](std::size_t i) { return objects[i].gpu; });
  out.each<std::int32_t>(objects.size(), [&](std::size_t i) { return objects[i].pe; });
  out.each<std::uint8_t>(objects.size(), [&](std::size_t i) { return objects[i].migratable; });
  out.each<std::int32_t>(objects.size(), [&](std::size_t i) { return objects[i].array; });
  out.each<std::uint64_t>(objects.size(), [&](std::size_t i) { return objects[i].element; });
  out.each<std::uint64_t>(objects.size(), [&](std::size_t i) { return objects[i].bytes; });
  static_assert(sizeof(Position) == 3 * sizeof(float));
  if (positions) out.put(database.positions.data(), database.positions.size() * sizeof(Position));
  out.each<std::uint32_t>(pairs.size(), [&](std::size_t i) { return pairs[i].from; });
  out.each<std::uint32_t>(pairs.size(), [&](std::size_t i) { return pairs[i].to; });
  out.each<std::uint64_t>(pairs.size(), [&](std::size_t i) { return pairs[i].messages; });
  out.each<std::uint64_t>(pairs.size(), [&](std::size_t i) { return pairs[i].bytes; });
  const std::uint64_t length = bytes.size() - sizeof length;
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

periapt_problem read_question(const std::vector<char>& question) {
  QuestionReader in(question);
  periapt_problem p{};
  p.step = in.number();
  p.pes = in.number();
  p.objects = in.number();
  const bool positions = in.number() != 0;
  p.pairs = in.number();
  p.pe_wall = in.take<double>(p.pes);
  p.pe_idle = in.take<double>(p.pes);
  p.pe_background = in.take<double>(p.pes);
  p.pe_speed = in.take<double>(p.pes);
  p.pe_gpu = in.take<double>(p.pes);
  p.pe_available = in.take<std::uint8_t>(p.pes);
  p.load = in.take<double>(p.objects);
  p.gpu = in.take<double>(p.objects);
  p.pe = in.take<std::int32_t>(p.objects);
  p.migratable = in.take<std::uint8_t>(p.objects);
  p.array = in.take<std::int32_t>(p.objects);
  p.element = in.take<std::uint64_t>(p.objects);
  p.bytes = in.take<std::uint64_t>(p.objects);
  if (positions) p.position = in.take<float>(3 * p.objects);
  p.pair_from = in.take<std::uint32_t>(p.pairs);
  p.pair_to = in.take<std::uint32_t>(p.pairs);
  p.pair_messages = in.take<std::uint64_t>(p.pairs);
  p.pair_bytes = in.take<std::uint64_t>(p.pairs);
  return p;
}

std::vector<char> write_answer(AnswerStatus status, std::uint32_t flags, const void* data, std::size_t bytes) {
  const AnswerHead head{sizeof(AnswerHead) - sizeof(std::uint64_t) + bytes, static_cast<std::uint32_t>(status), flags};
  std::vector<char> answer(sizeof head + bytes);
  std::memcpy(answer.data(), &head, sizeof head);
  if (bytes > 0) std::memcpy(answer.data() + sizeof head, data, bytes);
  return answer;
}

}  // namespace periapt::loadbalance
