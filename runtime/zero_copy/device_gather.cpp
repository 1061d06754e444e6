// Allgathers of memory of GPUs: contribute() of a CkDeviceBuffer with CkReduction::concat.
//
// The reduction brings the names of all parts to one PE, which asks the PE of each where it lies: the answer comes when
// its stream has got there. Then the callback is sent, and the call carries where the parts are (gathered.h). Each
// receiver fetches every part from where its member has it, straight to where it wants the whole, and begins with the
// part behind its own: so no GPU is read by all at once. When the last receiver has fetched all, the parts are given
// back to their members.
//
// The slices of a reduction go the same way, when they have been combined (device_reduce_scatter.cpp).
//
// A callback that brings no memory of GPUs, and one to elements that are not those that have contributed, of which
// nothing says how many there are, get the whole from the PE of the result, in memory of the host.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/fatal.h"
#include "runtime/api/device_marshal.h"
#include "runtime/api/invoke.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/device_sums.h"
#include "runtime/zero_copy/gathered.h"

namespace periapt::zero_copy {

// ---- fetching

struct Gathered::Fetch : Access {
  Gathered* of = nullptr;
};

Gathered::Gathered(std::vector<GatheredPart> parts) : parts_(std::move(parts)) {}
Gathered::Gathered(std::vector<DeviceContribution> sums) : sums_(std::move(sums)) {}
Gathered::~Gathered() = default;

namespace {

// So many of them, if they stand there.
template <class T>
std::optional<std::vector<T>> listed(const char* at, std::size_t size, std::uint64_t count) {
  if (count > size / sizeof(T)) return std::nullopt;
  std::vector<T> all(count);
  if (count != 0) std::memcpy(static_cast<void*>(all.data()), at, count * sizeof(T));
  return all;
}

}  // namespace

std::unique_ptr<Gathered> Gathered::read(const char* at, std::size_t size, std::uint64_t bytes) {
  GatheredHead head;
  if (size < sizeof head) return nullptr;
  std::memcpy(static_cast<void*>(&head), at, sizeof head);
  std::unique_ptr<Gathered> gathered;
  if (head.receivers != 0) {
    std::optional<std::vector<DeviceContribution>> sums =
        listed<DeviceContribution>(at + sizeof head, size - sizeof head, head.parts);
    const auto fits = [&](const DeviceContribution& sum) { return sum.bytes == bytes; };
    if (!sums || sums->empty() || !std::all_of(sums->begin(), sums->end(), fits)) return nullptr;
    gathered = std::make_unique<Gathered>(std::move(*sums));
    gathered->head = head;
    return gathered;
  }
  std::optional<std::vector<GatheredPart>> parts =
      listed<GatheredPart>(at + sizeof head, size - sizeof head, head.parts);
  if (!parts) return nullptr;
  std::uint64_t left = bytes;
  for (const GatheredPart& part : *parts) {
    if (part.buffer.cnt > left || part.description.length > sizeof part.description.bytes) return nullptr;
    left -= part.buffer.cnt;
  }
  if (left != 0) return nullptr;
  gathered = std::make_unique<Gathered>(std::move(*parts));
  gathered->head = head;
  return gathered;
}

namespace {

bool are_same(const CkArrayIndexBase& a, const CkArrayIndexBase& b) {
  return a.nInts == b.nInts && std::memcmp(a.index, b.index, a.nInts * sizeof(int)) == 0;
}

}  // namespace

bool Gathered::has(const CkArrayIndexBase& member) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const GatheredPart& part) { return are_same(part.member, member); });
}

namespace {

bool is_of(const Pe& pe, const CkNcpyBuffer& buffer) { return pe.process.process_of(buffer.pe) == pe.process.rank(); }

// Others have still to read it.
void demand_apart(const CkNcpyBuffer& part, std::span<const std::byte> whole, int entry) {
  const auto begin = reinterpret_cast<std::uintptr_t>(part.ptr), at = reinterpret_cast<std::uintptr_t>(whole.data());
  if (part.cnt == 0 || begin >= at + whole.size() || begin + part.cnt <= at) return;
  fatal("a post entry method puts the result of an allgather over a part that was contributed to it", name_of(entry),
        "others may not have read that part yet",
        "give it other memory; or contribute each part from where it belongs in the result, which is left as it is");
}

}  // namespace

void Gathered::prepare(Pe& pe, ucx::Place to, std::uint64_t bytes) {
  if (head.receivers != 0) received_ = std::make_unique<ReceivedSum>(pe, sums_, head.receivers, to, bytes);
}

void Gathered::fetch(Pe& pe, ucx::Place to, std::uint64_t bytes, std::span<const std::byte> posted, int entry,
                     std::function<void()> fetched) {
  if (head.receivers != 0) {
    if (!received_) prepare(pe, to, bytes);
    return received_->finish(entry, std::move(fetched));
  }
  fetched_ = std::move(fetched);
  fetches_ = std::make_unique<Fetch[]>(parts_.size());
  std::vector<std::size_t> offsets(parts_.size());
  std::size_t before = 0, first = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    offsets[i] = before;
    before += parts_[i].buffer.cnt;
    if (parts_[i].buffer.pe == pe.index) first = i + 1;
  }
  const auto stays = [&](std::size_t i) {
    return is_of(pe, parts_[i].buffer) && parts_[i].buffer.ptr == to.at + offsets[i];
  };
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!stays(i) && is_of(pe, parts_[i].buffer)) demand_apart(parts_[i].buffer, posted, entry);
  left_ = 1;  // until all have begun
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const std::size_t i = (first + k) % parts_.size();
    GatheredPart& part = parts_[i];
    if (part.buffer.cnt == 0 || offsets[i] >= bytes || stays(i)) continue;
    Fetch& fetch = fetches_[i];
    fetch.of = this;
    fetch.remote = part.buffer;
    fetch.local = to.at + offsets[i];
    fetch.local_kind = to.kind;
    fetch.size = std::min<std::uint64_t>(part.buffer.cnt, bytes - offsets[i]);
    fetch.description = &part.description;
    fetch.entry = entry;
    fetch.user = head.slices != 0 ? "a reduction of device buffers" : "an allgather of device buffers";
    fetch.ended = [](Pe&, Access& access) { static_cast<Fetch&>(access).of->one_less(); };
    ++left_;
    begin(pe, fetch);
  }
  one_less();
}

void Gathered::one_less() {
  if (--left_ == 0) std::exchange(fetched_, nullptr)();
}

// ---- on the PE of the result

// An allgather whose result is on its way.
struct Gathering {
  Pe& pe;
  std::vector<DeviceContribution> names;  // in the order of the members; or of slices
  CkCallback to;
  int user_flag;
  std::shared_ptr<const CkReductionMsg> of;  // null: it goes straight to its receivers
  std::vector<GatheredPart> parts{};
  std::size_t left = 0;         // parts of which it is not known where they lie
  std::uint64_t receivers = 0;  // that have not fetched all; 0: the whole is made here
  std::uint64_t all_receivers = 0;
  ~Gathering() { std::erase(gatherings_of(pe), this); }
  bool of_slices() const { return !names.empty() && names[0].type != CkReduction::concat; }
  std::uint64_t bytes() const {
    std::uint64_t all = 0;
    for (const DeviceContribution& name : names) all += name.bytes;
    return all;
  }
};

std::string describe_gathers(Pe& pe) {
  std::string text;
  for (const Gathering* const one : gatherings_of(pe)) {
    const std::string what =
        (one->of_slices() ? "a reduction of device buffers, of " : "an allgather of device buffers, of ") +
        std::to_string(one->parts.size()) + (one->of_slices() ? " slices, waits " : " parts, waits ");
    if (one->left != 0)
      text += what + "for " + std::to_string(one->left) + " of them, which their streams have still to write\n";
    else if (one->receivers != 0)
      text += what + "for " + std::to_string(one->receivers) + " of " + std::to_string(one->all_receivers) +
              " receivers to fetch them; one that was destroyed meanwhile never does\n";
  }
  return text + describe_scatters(pe) + describe_shared(pe);
}

bool precedes(const DeviceContribution& a, const DeviceContribution& b) {
  const auto key = [](const DeviceContributor& by, int d) {
    const CkArrayIndex& index = by.index.asChild();
    const int dimensions = index.dimension != 0 ? index.dimension : index.nInts;
    return d < dimensions ? std::pair(1, index.coordinate(d)) : std::pair(0, 0);
  };
  if (a.by.collection != b.by.collection) return a.by.collection < b.by.collection;
  for (int d = 0; d < 6; ++d)
    if (const auto one = key(a.by, d), other = key(b.by, d); one != other) return one < other;
  return std::tuple(a.pe, a.sum) < std::tuple(b.pe, b.sum);
}

namespace {

int entry_part_wanted, entry_part_lent, entry_part_read, entry_section;

// Their order would be that of their arrival.
void demand_different(const std::vector<DeviceContribution>& sorted) {
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(), [](const DeviceContribution& a, const DeviceContribution& b) {
        return a.by.collection == b.by.collection && are_same(a.by.index, b.by.index);
      });
  if (twice == sorted.end()) return;
  fatal("an allgather of device buffers gets two parts of member " + twice->by.index.asChild().toString(), "",
        "a contribution to a section is that of the element whose entry runs, and it was made for another one",
        "call contribute() in an entry method of the member whose part it is");
}

// How many receivers fetch the parts; 0: that is not known.
std::uint64_t receivers_of(Pe& pe, const CkCallback& to, const std::vector<DeviceContribution>& names) {
  if (!brings_to_device(to)) return 0;
  if (to.type < CkCallback::bcastGroup) return 1;
  if (to.type == CkCallback::bcastGroup) return static_cast<std::uint64_t>(CmiNumPes());
  if (to.type == CkCallback::bcastNodeGroup) return static_cast<std::uint64_t>(CmiNumNodes());
  if (names[0].type != CkReduction::concat) return 0;  // of a sum it is not known which members are in it
  if (to.type == CkCallback::bcastSection) return pe.objects->members_of_section(to.d.section.id);
  const auto is_member = [&](const DeviceContribution& name) {
    return name.by.collection == to.d.array.id.idx && name.by.in_section == 0;
  };
  return std::all_of(names.begin(), names.end(), is_member) ? names.size() : 0;
}

struct PartWanted {
  std::uint64_t sum;
  Gathering* gathering;
  std::uint32_t number;
  std::int32_t asker;
};
struct PartLent {
  Gathering* gathering;
  std::uint64_t number;
  CkNcpyBuffer buffer;
  DeviceDescription description;
};
struct PartRead {
  std::uint64_t sum;
};

}  // namespace

// Once for all of them: give_back() ends it.
GatheredPart lend(Pe& pe, Sum& sum) {
  GatheredPart lent;
  lent.buffer = CkNcpyBuffer::to_send(sum.place.at, CkCallback(CkCallback::ignore), CK_BUFFER_UNREG, CK_BUFFER_NODEREG);
  lent.buffer.cnt = sum.name.bytes;
  if (sum.name.bytes != 0 && CmiNumNodes() > 1)
    lent.description = register_device(pe, lent.buffer);
  else if (sum.name.bytes != 0)
    NcpyAccess::key(lent.buffer) =
        register_or_end(sum.place.at, sum.name.bytes, machine::Audience::host, sum.place.kind);
  sum.lent = lent.buffer;
  return lent;
}

namespace {

// Calls lent(PartLent) when its bytes are there.
template <class Function>
void lend_when_ready(Pe& pe, const PartWanted& wanted, Function lent) {
  Sum& sum = find_sum(pe, wanted.sum);
  when_ready(sum, [&pe, &sum, wanted, lent] {
    const GatheredPart part = lend(pe, sum);
    lent(PartLent{wanted.gathering, wanted.number, part.buffer, part.description});
  });
}

void has_been_read(Pe& pe, std::uint64_t number) { drop(pe, find_sum(pe, number)); }

}  // namespace

void give_back(Pe& pe, const std::vector<DeviceContribution>& names) {
  for (const DeviceContribution& name : names) {
    if (name.pe == pe.index)
      has_been_read(pe, name.sum);
    else
      send_runtime(pe, name.pe, entry_part_read, 0, 0, PartRead{name.sum});
  }
}

namespace {

void give_back_parts(const Gathering& gathering) { give_back(gathering.pe, gathering.names); }

// A callback: a receiver has fetched all.
void on_fetched(void* gathering, void* message) {
  CkFreeMsg(message);
  auto* const ended = static_cast<Gathering*>(gathering);
  if (--ended->receivers != 0) return;
  give_back_parts(*ended);
  delete ended;
}

// The call with where the parts are, or which sums they are: `listed`.
void send_call(const CkCallback& to, int user_flag, int items, std::uint64_t bytes, const GatheredHead& head,
               std::string_view listed) {
  const CkDeviceBuffer no_buffer;
  const DeviceToSend<char> elements{no_buffer, bytes};
  DeviceSizer sizer(1);
  sizer(items);
  sizer(elements);
  void* const message = new_marshalled(sizer.tail() + sizeof head + listed.size(), nullptr);
  DeviceArray array;
  DeviceWriter writer(message, 1, sizer.tail(), Where::gathered, &array);
  writer(items);
  writer(elements);
  char* const behind = static_cast<char*>(message) + array.offset;
  std::memcpy(behind, static_cast<const void*>(&head), sizeof head);
  std::memcpy(behind + sizeof head, listed.data(), listed.size());
  if (user_flag != -1) CkSetRefNum(message, user_flag);
  not_inline(to).send(message);
}
template <class T>
std::string_view bytes_of_all(const std::vector<T>& all) {
  return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof all[0]};
}

void send_parts(Gathering* gathering) {
  const CkCallback& to = gathering->to;
  const std::uint64_t bytes = gathering->bytes();
  const bool of_slices = gathering->of_slices();
  const int items = of_slices ? items_for(to.ep, bytes) : items_for(to.ep, bytes, "the result of an allgather");
  if (!of_slices)
    for (const DeviceContribution& name : gathering->names)
      static_cast<void>(items_for(to.ep, name.bytes, "a part of an allgather"));
  GatheredHead head;
  head.whole = CkNcpyBuffer::to_send(nullptr, CkCallback(on_fetched, gathering), CK_BUFFER_UNREG, CK_BUFFER_NODEREG);
  head.parts = gathering->parts.size();
  head.members = to.type == CkCallback::bcastArray;
  head.slices = of_slices;
  send_call(to, gathering->user_flag, items, bytes, head, bytes_of_all(gathering->parts));
}

// The whole is made here, in memory of the host.
void make_whole(Gathering* gathering) {
  Pe& pe = gathering->pe;
  Sum& sum = make_sum(pe, gathering->names[0].type, gathering->bytes());
  sum.room = room_for(pe, sum, {});
  sum.place.at = sum.room.at;
  const auto gathered = std::make_shared<Gathered>(std::move(gathering->parts));
  gathered->head.slices = gathering->of_slices();
  gathered->fetch(pe, sum.place, sum.name.bytes, {}, -1, [gathering, gathered, &pe, &sum] {
    give_back_parts(*gathering);
    is_ready(sum);
    give_result(pe, sum, gathering->to, gathering->of);
    delete gathering;
  });
}

void one_less(Gathering* gathering) {
  if (--gathering->left != 0) return;
  if (gathering->receivers != 0) return send_parts(gathering);
  if (gathering->of) return make_whole(gathering);
  give_back_parts(*gathering);  // the section has no members
  delete gathering;
}

void lent(const PartLent& answer) {
  GatheredPart& part = answer.gathering->parts[answer.number];
  part.buffer = answer.buffer;
  part.description = answer.description;
  one_less(answer.gathering);
}

void is_under_way(Gathering* gathering) {
  gatherings_of(gathering->pe).push_back(gathering);
  gathering->receivers = gathering->all_receivers = receivers_of(gathering->pe, gathering->to, gathering->names);
}

void begin_gather(Gathering* gathering) {
  Pe& pe = gathering->pe;
  std::sort(gathering->names.begin(), gathering->names.end(), precedes);
  demand_different(gathering->names);
  is_under_way(gathering);
  gathering->parts.resize(gathering->names.size());
  gathering->left = gathering->names.size() + 1;  // itself, until all have been asked
  for (std::uint32_t i = 0; i < gathering->names.size(); ++i) {
    const DeviceContribution& name = gathering->names[i];
    gathering->parts[i].member = name.by.index;
    const PartWanted wanted{name.sum, gathering, i, pe.index};
    if (name.pe == pe.index)
      lend_when_ready(pe, wanted, lent);
    else
      send_runtime(pe, name.pe, entry_part_wanted, 0, 0, wanted);
  }
  one_less(gathering);
}

// ---- messages

// A section's callback knows its members on the PE that has made it.
struct ForSection {
  CkCallback to;
  std::int64_t user_flag;
};

void on_part_wanted(Pe& pe, Delivery& call) {
  const auto wanted = call.read<PartWanted>();
  lend_when_ready(pe, wanted, [&pe, asker = wanted.asker](const PartLent& answer) {
    send_to(pe, asker, runtime_message({bytes_of(answer)}, entry_part_lent, 0));
  });
}
void on_part_lent(Pe&, Delivery& call) { lent(call.read<PartLent>()); }
void on_part_read(Pe& pe, Delivery& call) { has_been_read(pe, call.read<PartRead>().sum); }
void on_section(Pe& pe, Delivery& call) {
  const auto asked = call.read<ForSection>();
  std::vector<DeviceContribution> names((call.length - sizeof asked) / sizeof(DeviceContribution));
  std::memcpy(static_cast<void*>(names.data()), static_cast<const char*>(call.arguments) + sizeof asked,
              names.size() * sizeof names[0]);
  begin_gather(new Gathering{pe, std::move(names), asked.to, static_cast<int>(asked.user_flag), nullptr});
}

}  // namespace

void gather(Pe& pe, std::vector<DeviceContribution> parts, const CkCallback& to,
            const std::shared_ptr<const CkReductionMsg>& of) {
  const int user_flag = of->getUserFlag();
  if (to.type != CkCallback::bcastSection || to.pe == pe.index || !brings_to_device(to))
    return begin_gather(new Gathering{pe, std::move(parts), to, user_flag, of});
  const ForSection asked{to, user_flag};
  const std::string_view names{reinterpret_cast<const char*>(parts.data()), parts.size() * sizeof parts[0]};
  send_to(pe, to.pe, runtime_message({bytes_of(asked), names}, entry_section, 0));
}

void send_sums(const std::vector<DeviceContribution>& names, const CkCallback& to, std::uint64_t receivers,
               const std::shared_ptr<const CkReductionMsg>& of) {
  GatheredHead head;
  head.whole = CkNcpyBuffer::to_send(nullptr, CkCallback(CkCallback::ignore), CK_BUFFER_UNREG, CK_BUFFER_NODEREG);
  head.parts = names.size();
  head.slices = 1;
  head.receivers = receivers;
  const std::uint64_t bytes = names[0].bytes;
  send_call(to, of->getUserFlag(), items_for(to.ep, bytes), bytes, head, bytes_of_all(names));
}

void gather_slices(Pe& pe, std::vector<DeviceContribution> names, std::vector<GatheredPart> slices,
                   const CkCallback& to, const std::shared_ptr<const CkReductionMsg>& of) {
  auto* const gathering = new Gathering{pe, std::move(names), to, of->getUserFlag(), of, std::move(slices)};
  is_under_way(gathering);
  gathering->left = 1;
  one_less(gathering);
}

void register_device_gathers() {
  entry_part_wanted = register_runtime_entry("allgather of device buffers: a part is wanted", on_part_wanted);
  entry_part_lent = register_runtime_entry("allgather of device buffers: a part is there", on_part_lent);
  entry_part_read = register_runtime_entry("allgather of device buffers: all have read a part", on_part_read);
  entry_section = register_runtime_entry("allgather of device buffers: for a section", on_section);
}

}  // namespace periapt::zero_copy
