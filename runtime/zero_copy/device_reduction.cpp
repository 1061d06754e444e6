// Reductions of memory of GPUs: contribute() of a CkDeviceBuffer.
//
// What an element contributes is a sum: bytes that are on its PE as soon as its stream has got there. The reduction
// (runtime/collective) carries the names of sums as it carries any data. Where it makes one contribution of several, a
// sum of theirs is begun, and its name goes on at once. The bytes follow: when all parts of a sum are there, they are
// combined in the order of their members, so that numbers which are rounded come out the same each time: by one kernel
// that reads the parts where they are, or where they were brought (machine/gpu/folds.h); by the host where no part lies
// on a GPU, or the GPU has no kernel for it. A sum has one reader, another sum or the callback of the reduction, and is
// gone when that has read it.
//
// A small sum is the host's: each contribution is brought there as soon as its stream has got there, and from then on
// its bytes go within messages. That is one copy from the GPU and one to it, where a kernel would be a third step.
//
// In a run of few PEs on one host sums that lie on GPUs are not combined on the way: the PE of the result has the names
// of all of them, and has large ones combined in slices, by all PEs at once (device_reduce_scatter.cpp).
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "machine/gpu/folds.h"
#include "machine/gpu/kind_cache.h"
#include "runtime/api/device_contribution.h"
#include "runtime/api/device_marshal.h"
#include "runtime/api/invoke.h"
#include "runtime/api/reduction_fields.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/device_parts.h"
#include "runtime/zero_copy/device_sums.h"
#include "runtime/zero_copy/packing.h"
#include "runtime/zero_copy/zero_copy_parts.h"

namespace periapt::zero_copy {

namespace {

using Type = CkReduction::reducerType;

Type reducer_of_names;
int entry_wanted, entry_there;

// ---- the reducers that there are for such memory

constexpr int types_of_numbers = CkReduction::sum_double - CkReduction::sum_char + 1;
static_assert(CkReduction::product_char == CkReduction::sum_double + 1 &&
              CkReduction::max_char == CkReduction::product_double + 1 &&
              CkReduction::min_char == CkReduction::max_double + 1 && types_of_numbers == 12);

bool is_arithmetic(Type type) { return type >= CkReduction::sum_char && type <= CkReduction::min_double; }

gpu::FoldOperation operation_of(Type type) {
  return static_cast<gpu::FoldOperation>((type - CkReduction::sum_char) / types_of_numbers);
}
gpu::FoldItem item_of(Type type) {
  using gpu::FoldItem;
  constexpr FoldItem of_char = std::is_signed_v<char> ? FoldItem::int8 : FoldItem::uint8;
  constexpr FoldItem items[] = {of_char,          FoldItem::int16,  FoldItem::int32,   FoldItem::int64,
                                FoldItem::int64,  FoldItem::uint8,  FoldItem::uint16,  FoldItem::uint32,
                                FoldItem::uint64, FoldItem::uint64, FoldItem::float32, FoldItem::float64};
  constexpr int of_unsigned = 5;  // behind the signed one of that size
  const int number = (type - CkReduction::sum_char) % types_of_numbers;
  const bool wraps = operation_of(type) <= gpu::FoldOperation::product;
  return items[wraps && number < of_unsigned ? number + of_unsigned : number];
}

}  // namespace

std::size_t bytes_of_item(Type type) {
  constexpr std::size_t bytes[] = {1, 2, 4, sizeof(long), 8, 1, 2, 4, sizeof(long), 8, 4, 8};
  return bytes[(type - CkReduction::sum_char) % types_of_numbers];
}

namespace {

std::string in_words(const DeviceContribution& name) {
  return "a reduction of device buffers of " + std::to_string(name.bytes) + " bytes with " +
         chare::reducer_name(name.type);
}
// Up to so many bytes a sum is the host's. On two H200 allreduces of 4 KB took 31 us by the host and 37 in slices, of
// 32 KB 50 and 38 (docs/gpu.md).
constexpr std::uint64_t small_max = 4096;

}  // namespace

bool is_small(const DeviceContribution& name) { return name.type != CkReduction::concat && name.bytes <= small_max; }

namespace {

// By PE, and there in the order of the members; all have to be as long.
void in_order(std::vector<DeviceContribution>& names) {
  std::sort(names.begin(), names.end(), [](const DeviceContribution& a, const DeviceContribution& b) {
    return a.pe != b.pe ? a.pe < b.pe : precedes(a, b);
  });
  for (const DeviceContribution& name : names)
    if (name.bytes != names[0].bytes)
      fatal("a reduction of device buffers gets " + std::to_string(names[0].bytes) + " bytes from one element and " +
                std::to_string(name.bytes) + " from another",
            in_words(name), "", "All elements must contribute as many bytes");
}

[[noreturn]] void failed(const DeviceContribution& name, const Status& status) {
  fatal("memory that was contributed to a reduction could not be read, or combined: " + status.message(),
        in_words(name), "it was freed, or is not as long as contribute() says; or its GPU is lost, or full",
        "keep the memory until the callback of its CkDeviceBuffer comes" +
            std::string(name.type == CkReduction::concat ? "" : ", or the reduction's result") +
            "; periapt-doctor lists what of this machine's GPUs is in use");
}

}  // namespace

// ---- sums

// Those of a PE.
struct DeviceSums {
  std::map<gpu::Driver*, gpu::KindCache> kinds;
  std::unordered_map<std::uint64_t, std::unique_ptr<Sum>> all;
  // A run that goes on from a checkpoint does not give a number again that is in there.
  std::uint64_t next = clock::now_ns();
  std::map<std::pair<gpu::Driver*, int>, std::unique_ptr<gpu::Folder>> folders;  // null: the GPU has no kernel
  std::vector<Gathering*> gatherings;
  std::shared_ptr<Scatters> scatters;
  const std::shared_ptr<std::vector<ReceivedSum*>> received = std::make_shared<std::vector<ReceivedSum*>>();
  EarlyAsides early_asides;
};

namespace {

DeviceSums& sums_of(Pe& pe) {
  if (!pe.objects->device_sums) pe.objects->device_sums = std::make_shared<DeviceSums>();
  return *pe.objects->device_sums;
}

}  // namespace

std::vector<Gathering*>& gatherings_of(Pe& pe) { return sums_of(pe).gatherings; }
std::shared_ptr<Scatters>& scatters_of(Pe& pe) { return sums_of(pe).scatters; }

const std::shared_ptr<std::vector<ReceivedSum*>>& received_sums(Pe& pe) { return sums_of(pe).received; }

void for_each_sum(Pe& pe, const std::function<void(const Sum&)>& visit) {
  for (const auto& [number, sum] : sums_of(pe).all) visit(*sum);
}

EarlyAsides& early_asides(Pe& pe) { return sums_of(pe).early_asides; }

Sum& make_sum(Pe& pe, Type type, std::uint64_t bytes) {
  DeviceSums& sums = sums_of(pe);
  auto made = std::make_unique<Sum>();
  made->name.sum = sums.next++;
  made->name.bytes = bytes;
  made->name.type = type;
  made->name.pe = pe.index;
  Sum& sum = *made;
  sums.all[sum.name.sum] = std::move(made);
  return sum;
}

Sum& find_sum(Pe& pe, std::uint64_t number) {
  DeviceSums& sums = sums_of(pe);
  const auto found = sums.all.find(number);
  if (found == sums.all.end())
    fatal("memory of a GPU that was contributed to a reduction is not there any more", "",
          "the run goes on from a checkpoint that was taken while the reduction was under way",
          "take checkpoints when no reduction of device buffers has begun");
  return *found->second;
}

void when_ready(Sum& sum, std::function<void()> reader) {
  if (sum.ready) return reader();
  sum.waiting_readers.push_back(std::move(reader));
}
// The first of them may have it set aside for the others; the last may end it.
void is_ready(Sum& sum) {
  sum.ready = true;
  std::vector<std::function<void()>> readers = std::exchange(sum.waiting_readers, {});
  for (std::size_t i = 0; i < readers.size(); ++i) {
    readers[i]();
    if (i + 1 == readers.size() || sum.ready) continue;
    sum.waiting_readers.insert(sum.waiting_readers.begin(),
                               std::move_iterator(readers.begin() + static_cast<std::ptrdiff_t>(i) + 1),
                               std::move_iterator(readers.end()));
    return;
  }
}

void drop(Pe& pe, Sum& sum) {
  if (--sum.readers != 0) return;
  if (sum.is_early) dropped_early(pe, sum);
  if (sum.lent.pe >= 0) sum.lent.deregisterMem();
  if (wants_to_know(sum.cb)) not_inline(sum.cb).send();
  give_room(pe, sum.room);
  sums_of(pe).all.erase(sum.name.sum);
}
namespace {

// A callback: it has been read.
void on_read(void* sum, void* message) {
  CkFreeMsg(message);
  drop(*Pe::current(), *static_cast<Sum*>(sum));
}

}  // namespace

// A slice fails as the sum that it is of.
void failed(const Sum& sum, const Status& status) { failed(sum.parts.empty() ? sum.name : sum.parts[0]->name, status); }

gpu::Room room_for(Pe& pe, const Sum& sum, const gpu::Room& like) {
  Result<gpu::Room> room = take_room(pe, like.where, like.kind, sum.name.bytes);
  if (!room) failed(sum, room.status());
  return *room;
}

namespace {

gpu::Folder* folder_of(DeviceSums& sums, gpu::OnGpu where) {
  const auto [at, is_new] = sums.folders.try_emplace({where.driver, where.gpu});
  if (!is_new) return at->second.get();
  Result<std::unique_ptr<gpu::Folder>> made = gpu::Folder::make(*where.driver, where.gpu);
  if (made) at->second = std::move(*made);
  return at->second.get();
}

}  // namespace

std::optional<gpu::OnGpu> gpu_of(Pe& pe, const void* memory) {
  DeviceSums& sums = sums_of(pe);
  for (gpu::Driver* const driver : gpu::drivers()) {
    if (driver == nullptr) continue;
    const Result<gpu::Memory> found = sums.kinds.try_emplace(driver, *driver).first->second.look(memory);
    if (found && found->gpu >= 0) return gpu::OnGpu{driver, found->gpu};
  }
  return std::nullopt;
}

// On the GPU of a part that is here, or on the one that this thread has chosen if some are on others: there what is
// combined is nearest. A PE that has neither combines in the host's memory: it would open a GPU that is not its own.
void choose_place(Pe& pe, Sum& sum) {
  std::optional<gpu::OnGpu> where;
  for (const auto& part : sum.parts)
    if (part->here && part->name.on_gpu && !where)
      where =
          part->here->room.kind == gpu::MemoryType::device ? part->here->room.where : gpu_of(pe, part->here->place.at);
  const auto is_on_gpu = [](const auto& part) { return part->name.on_gpu != 0; };
  if (!where && std::any_of(sum.parts.begin(), sum.parts.end(), is_on_gpu)) where = gpu::chosen_gpu_of_thread();
  if (where) sum.folder = folder_of(sums_of(pe), *where);
  gpu::Room room;
  if (where) room.where = *where;
  room.kind = sum.folder ? gpu::MemoryType::device : where ? gpu::MemoryType::pinned : gpu::MemoryType::host;
  sum.room = room_for(pe, sum, room);
  sum.place.at = sum.room.at;
  sum.place.kind = sum.folder ? kind_of(pe, sum.room.at, sum.name.bytes) : ucx::MemoryKind::host;
  if (sum.folder) sum.stream = sum.folder->stream();
  sum.name.on_gpu = sum.folder != nullptr;
}

bool take_place(Pe& pe, Sum& sum, ucx::Place wanted) {
  if (wanted.kind == ucx::MemoryKind::host) return false;
  const std::optional<gpu::OnGpu> where = gpu_of(pe, wanted.at);
  gpu::Folder* const folder = where ? folder_of(sums_of(pe), *where) : nullptr;
  if (folder == nullptr || !folder->reads(wanted.at, sum.name.bytes, bytes_of_item(sum.name.type))) return false;
  sum.folder = folder;
  sum.stream = folder->stream();
  sum.place = wanted;
  sum.room.where = *where;  // for its parts
  sum.room.kind = gpu::MemoryType::device;
  sum.name.on_gpu = 1;
  return true;
}

// ---- bringing the parts together

void copy(Pe& pe, ucx::Place to, ucx::Place from, const DeviceContribution& name, machine::Transfer& transfer) {
  if (to.kind != ucx::MemoryKind::host || from.kind != ucx::MemoryKind::host) {
    pe.begin_pending();
    return pe.copy(to, from, name.bytes, transfer);
  }
  if (name.bytes) std::memcpy(to.at, from.at, name.bytes);
  pe.begin_pending();
  transfer.done(transfer, Status());
}

namespace {

void combined(Pe& pe, Sum& sum) {
  for (const auto& part : sum.parts) {
    give_room(pe, part->room);
    if (part->is_shared && !part->here && !part->is_read) has_read(pe, part->name);
    if (part->is_lent) continue;
    if (part->here) drop(pe, *part->here);
    if (part->remote.pe >= 0) release(pe, part->remote);
  }
  sum.parts.clear();
  is_ready(sum);
}

bool has_first_in_place(const Sum& sum) { return sum.parts[0]->local == sum.place.at; }

void combine_by_host(const Sum& sum) {
  const std::uint64_t bytes = sum.name.bytes;
  if (bytes && !has_first_in_place(sum)) std::memcpy(sum.place.at, sum.parts[0]->local, bytes);
  chare::Contribution all{sum.place.at, bytes, 1, true, -1};
  for (std::size_t i = 1; i < sum.parts.size(); ++i)
    static_cast<void>(chare::fold(sum.name.type, all, {sum.parts[i]->local, bytes, 1, true, -1}, 0));
}

// By one kernel for as many parts as it takes, and further ones for the rest.
void combine_by_kernel(Sum& sum) {
  gpu::FoldOrders orders{};
  orders.into = reinterpret_cast<gpu::Word>(sum.place.at);
  orders.count = sum.name.bytes / bytes_of_item(sum.name.type);
  orders.operation = operation_of(sum.name.type);
  orders.item = item_of(sum.name.type);
  for (const auto& part : sum.parts) {
    orders.from[orders.sources++] = reinterpret_cast<gpu::Word>(part->local);
    if (orders.sources != gpu::FoldOrders::kMostSources && part != sum.parts.back()) continue;
    if (const Status begun = sum.folder->begin(orders); !begun) failed(sum, begun);
    orders.from[0] = orders.into;
    orders.sources = 1;
  }
}

}  // namespace

void brought(Pe& pe, Sum& sum) {
  if (--sum.left != 0) return;
  if (sum.name.bytes == 0 || (sum.parts.size() == 1 && has_first_in_place(sum))) return combined(pe, sum);
  if (!sum.folder) {
    combine_by_host(sum);
    return combined(pe, sum);
  }
  combine_by_kernel(sum);
  sum.waiting.done = [](machine::Transfer& waiting, const Status& status) {
    Sum& sum = *static_cast<Sum::Waiting&>(waiting).sum;
    Pe& pe = *Pe::current();
    pe.end_pending();
    if (!status) failed(sum, status);
    combined(pe, sum);
  };
  pe.begin_pending();
  when_reached(pe, sum.stream, sum.place, sum.waiting);
}

namespace {

// Where the part can be read without being brought; nullptr: it cannot.
std::byte* readable(Pe& pe, Part& part) {
  const Sum& sum = *part.into;
  std::byte* there = part.here ? part.here->place.at : static_cast<std::byte*>(part.remote.ptr);
  if (there != nullptr) there += part.offset;
  const bool is_near = part.here || pe.process.process_of(part.remote.pe) == pe.process.rank();
  if (!sum.folder)
    return is_near && (part.here ? part.here->place.kind : kind_of(pe, there, part.size)) == ucx::MemoryKind::host
               ? there
               : nullptr;
  if (!is_near) {
    const auto described = std::as_bytes(std::span(part.others.bytes)).first(part.others.length);
    Result<ucx::Mapping> mapped = pe.process.layer().one_sided().map(
        pe.index, described, reinterpret_cast<std::uintptr_t>(there), part.size, sum.place);
    if (!mapped) {
      part.others.length = 0;  // to fetch it does not try it again
      return nullptr;
    }
    part.mapping = std::move(mapped->at);
    there = part.mapping.get();
  }
  if (sum.folder->reads(there, part.size, bytes_of_item(sum.name.type), part.mapping != nullptr)) return there;
  part.mapping = nullptr;
  return nullptr;
}

}  // namespace

// The first one comes to where the sum is to be, which is combined when all have come, if that is memory of ours.
void choose_place(Pe& pe, Part& part) {
  const Sum& sum = *part.into;
  const bool is_first = &part == sum.parts[0].get() && sum.room.at != nullptr;
  if (!is_first) part.room = room_for(pe, sum, sum.room);
  part.local = is_first ? sum.place.at : part.room.at;
  part.local_kind = sum.place.kind;
}

void bring(Pe& pe, Part& part) {
  Sum& sum = *part.into;
  if (sum.name.bytes == 0) return brought(pe, sum);
  part.size = sum.name.bytes;
  part.offset = sum.offset;
  part.local = readable(pe, part);
  if (part.local != nullptr) return brought(pe, sum);
  choose_place(pe, part);
  if (!part.here) {
    part.ended = [](Pe& pe, Access& access) {
      auto& part = static_cast<Part&>(access);
      if (!part.is_lent) release(pe, std::exchange(part.remote, {}));
      brought(pe, *part.into);
    };
    return static_cast<void>(begin(pe, part));
  }
  part.step.part = &part;
  part.step.done = [](machine::Transfer& step, const Status& status) {
    Part& part = *static_cast<Part::Step&>(step).part;
    Pe& pe = *Pe::current();
    pe.end_pending();
    if (!status) failed(part.name, status);
    brought(pe, *part.into);
  };
  copy(pe, {static_cast<std::byte*>(part.local), part.local_kind},
       {part.here->place.at + part.offset, part.here->place.kind}, sum.name, part.step);
}

Sum& make_sum_of(Pe& pe, const std::vector<DeviceContribution>& names, std::uint64_t offset, std::uint64_t bytes) {
  Sum& sum = make_sum(pe, names[0].type, bytes);
  sum.offset = offset;
  sum.waiting.sum = &sum;
  for (const DeviceContribution& name : names) {
    auto part = std::make_unique<Part>();
    part->into = &sum;
    part->name = name;
    part->description = &part->others;
    part->user = "a reduction of device buffers";
    if (name.pe == pe.index) part->here = &find_sum(pe, name.sum);
    sum.parts.push_back(std::move(part));
  }
  sum.left = sum.parts.size();
  return sum;
}

namespace {

struct Wanted {
  std::uint64_t sum;
  Part* part;
  int asker;
};
// Begins a sum of these: of one, to bring it here.
Sum& begin_sum(Pe& pe, std::vector<DeviceContribution> names) {
  in_order(names);
  Sum& sum = make_sum_of(pe, names, 0, names[0].bytes);
  choose_place(pe, sum);
  ++sum.left;  // itself, until all have begun
  for (std::size_t i = 0; i < names.size(); ++i) {
    Part* const one = sum.parts[i].get();
    if (one->here)
      when_ready(*one->here, [&pe, one] { bring(pe, *one); });
    else
      send_runtime(pe, one->name.pe, entry_wanted, 0, 0, Wanted{one->name.sum, one, pe.index});
  }
  brought(pe, sum);
  return sum;
}

void on_wanted(Pe& pe, Delivery& call) {
  const auto wanted = call.read<Wanted>();
  Sum& sum = find_sum(pe, wanted.sum);
  when_ready(sum, [&pe, &sum, wanted] {
    if (is_small(sum.name) && sum.place.kind == ucx::MemoryKind::host) {
      send_bytes(pe, wanted.asker, wanted.part, sum);
      return drop(pe, sum);
    }
    CkNcpyBuffer buffer =
        CkNcpyBuffer::to_send(sum.place.at, CkCallback(on_read, &sum), CK_BUFFER_UNREG, CK_BUFFER_DEREG);
    buffer.cnt = sum.name.bytes;
    DeviceDescription description;
    if (pe.process.layer().route(wanted.asker) != machine::Route::self_process)
      description = register_device(pe, buffer);
    send_lent(pe, wanted.asker, wanted.part, buffer, description);
  });
}
void on_there(Pe& pe, Delivery& call) {
  const auto there = call.read<There>();
  Part& part = *there.part;
  if (there.brings) {
    part.is_read = true;
    const std::uint64_t bytes = part.into->name.bytes;
    if (bytes != 0) {
      choose_place(pe, part);
      std::memcpy(part.local, static_cast<const char*>(call.arguments) + sizeof there, bytes);
    }
    return brought(pe, *part.into);
  }
  part.remote = there.source.buffer;
  part.others = there.source.description;
  bring(pe, part);
}

// A small contribution, when its stream has got there: the program has its memory back then.
void bring_to_host(Pe& pe, Sum& sum) {
  sum.room = room_for(pe, sum, {});
  sum.waiting.done = [](machine::Transfer& waiting, const Status& status) {
    Sum& sum = *static_cast<Sum::Waiting&>(waiting).sum;
    Pe::current()->end_pending();
    if (!status) failed(sum, status);
    sum.stream = DeviceStream().native();
    sum.place = {sum.room.at, ucx::MemoryKind::host};
    if (wants_to_know(sum.cb)) not_inline(std::exchange(sum.cb, CkCallback(CkCallback::ignore))).send();
    is_ready(sum);
  };
  pe.copy_when_reached(sum.stream, {sum.room.at, ucx::MemoryKind::host}, sum.place, sum.name.bytes, sum.waiting);
}

std::vector<DeviceContribution> names_in(const CkReductionMsg& message) {
  std::vector<DeviceContribution> names(static_cast<std::size_t>(message.getSize()) / sizeof(DeviceContribution));
  std::memcpy(static_cast<void*>(names.data()), message.getData(), names.size() * sizeof names[0]);
  return names;
}

// In a run of few PEs on one host sums of other PEs are not combined on the way: the PE of the result may have that
// done in slices. Large ones in memory of the host cannot be, and PE 0 alone would combine all of them.
bool goes_on_uncombined(const Pe& pe, const DeviceContribution& name) {
  constexpr int most_pes = 16;
  const bootstrap::HostLayout& layout = pe.process.layout();
  return name.pe != pe.index && layout.host_count() == 1 && layout.pes <= most_pes &&
         (name.on_gpu != 0 || is_small(name));
}

// A reducer: its messages hold names, of sums or all of an allgather.
CkReductionMsg* combine_names(int count, CkReductionMsg** messages) {
  Pe& pe = *Pe::current();
  std::vector<DeviceContribution> names, to_combine;
  CkReduction::reducerType type = CkReduction::invalid;
  for (int i = 0; i < count; ++i)
    for (const DeviceContribution& name : names_in(*messages[i])) {
      type = names.empty() && to_combine.empty() ? name.type : chare::agree(type, name.type);
      (name.type == CkReduction::concat || goes_on_uncombined(pe, name) ? names : to_combine).push_back(name);
    }
  if (to_combine.size() > 1) to_combine = {begin_sum(pe, to_combine).name};
  names.insert(names.end(), to_combine.begin(), to_combine.end());
  return CkReductionMsg::buildNew(static_cast<int>(names.size() * sizeof names[0]), names.data(), reducer_of_names);
}

}  // namespace

void send_bytes(Pe& pe, int asker, Part* part, const Sum& sum) {
  const There there{part, 1, {}};
  const std::string_view bytes(reinterpret_cast<const char*>(sum.place.at), sum.name.bytes);
  send_to(pe, asker, runtime_message({bytes_of(there), bytes}, entry_there, 0));
}
void send_lent(Pe& pe, int asker, Part* part, const CkNcpyBuffer& buffer, const DeviceDescription& description) {
  There there{part, 0, {}};
  there.source.buffer = buffer;
  there.source.description = description;
  send_to(pe, asker, runtime_message({bytes_of(there)}, entry_there, 0));
}

Sum& begin_slice(Pe& pe, const std::vector<DeviceContribution>& names, std::uint64_t offset, std::uint64_t bytes) {
  Sum& slice = make_sum_of(pe, names, offset, bytes);
  choose_place(pe, slice);
  for (const auto& part : slice.parts) part->is_lent = true;
  return slice;
}
void bring_to_slice(Pe& pe, Sum& slice, std::size_t number, const CkNcpyBuffer& lent,
                    const DeviceDescription& described) {
  Part& part = *slice.parts[number];
  part.remote = lent;
  part.others = described;
  bring(pe, part);
}

// ---- the result

bool brings_to_device(const CkCallback& callback) {
  return callback.type >= CkCallback::sendChare && callback.type <= CkCallback::bcastSection &&
         entry_info(callback.ep).flags & ep_nocopydevice;
}
namespace {

// How many receivers fetch the result from where it is; 0: it goes along in the message, as it is small, or nothing
// says how many.
int readers_of(const CkCallback& callback, const Sum& sum) {
  if (is_small(sum.name)) return 0;
  if (callback.type < CkCallback::bcastGroup) return 1;
  if (!sum.name.on_gpu || callback.type > CkCallback::bcastNodeGroup) return 0;
  return callback.type == CkCallback::bcastGroup ? CmiNumPes() : CmiNumNodes();
}

}  // namespace

// Their type may be made of several numbers, or be none that there is a reducer of.
int items_for(int ep, std::uint64_t bytes, const std::string& of) {
  if (!(entry_info(ep).flags & ep_reductiontarget))
    fatal("the result of a reduction of device buffers is for an entry that is no reduction target", name_of(ep),
          "an entry gets it as the one array that it has, and its length",
          "declare it: entry [reductiontarget] void result(int n, nocopydevice double x[n])");
  const std::uint64_t item = item_bytes_of(ep), items = bytes / item;
  const std::string result = of + " of device buffers, " + std::to_string(bytes) + " bytes, ";
  if (bytes % item != 0)
    fatal(result + "is no whole number of items of its entry's array, of " + std::to_string(item) + " bytes",
          name_of(ep), "", "contribute items of the type that the entry's array has");
  if (items > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    fatal(result + "has more items than an int counts", name_of(ep), "", "contribute it in several reductions");
  return static_cast<int>(items);
}

namespace {

void call_with(Sum& sum, const CkCallback& to, int user_flag) {
  const int items = items_for(to.ep, sum.name.bytes);
  const CkDeviceBuffer buffer(sum.place.at, CkCallback(on_read, &sum),
                              DeviceStream(static_cast<CUstream_st*>(sum.stream)));
  const DeviceToSend<char> elements{buffer, sum.name.bytes};
  const int readers = readers_of(to, sum);
  const Where where = readers != 0 ? Where::at_sender : Where::in_message;
  sum.readers = static_cast<std::uint64_t>(std::max(readers, 1));
  DeviceSizer sizer(1);
  sizer(items);
  sizer(elements);
  void* const message = new_marshalled(sizer.size(where, sizeof(DeviceSource)), nullptr);
  DeviceArray array;
  DeviceWriter writer(message, 1, sizer.tail(), where, &array);
  writer(items);
  writer(elements);
  if (user_flag != -1) CkSetRefNum(message, user_flag);
  send_when_reached(message, &array, 1, where, -1, [to, message] { to.send(message); });
}

// For all others it is a message, in the memory of the host.
void send_message_with(Pe& pe, Sum& sum, const CkCallback& to, const CkReductionMsg& of) {
  struct Result : machine::Transfer {
    Sum* sum;
    CkCallback to;
    CkReductionMsg* message;
  };
  auto* const result = new Result;
  result->sum = &sum;
  result->to = to;
  result->message = ReductionMessageFields::make(sum.name.bytes, sum.name.type);
  ReductionMessageFields::set(result->message, sum.name.type,
                              {nullptr, 0, static_cast<std::uint32_t>(of.getGcount()), true, of.getUserFlag()});
  ReductionMessageFields::set_round(result->message, of.getRedNo());
  if (of.getUserFlag() != -1) CkSetRefNum(result->message, of.getUserFlag());
  result->done = [](machine::Transfer& transfer, const Status& status) {
    const std::unique_ptr<Result> result(static_cast<Result*>(&transfer));
    if (!status) failed(*result->sum, status);
    Pe& pe = *Pe::current();
    result->to.send(result->message);
    pe.end_pending();
    drop(pe, *result->sum);
  };
  copy(pe, {static_cast<std::byte*>(result->message->getData())}, sum.place, sum.name, *result);
}

}  // namespace

void give_result(Pe& pe, Sum& sum, const CkCallback& to, const std::shared_ptr<const CkReductionMsg>& of) {
  if (brings_to_device(to))
    call_with(sum, not_inline(to), of->getUserFlag());
  else
    send_message_with(pe, sum, to, *of);
}

namespace {

// The sum that the result is read from, of one. A sole contribution is read where the program has it by one receiver
// alone: of several the first may have got it to there, and write to it, before the last has read it.
Sum& sum_to_read(Pe& pe, const DeviceContribution& name, const CkCallback& callback) {
  if (name.pe != pe.index) return begin_sum(pe, {name});
  Sum& sum = find_sum(pe, name.sum);
  const bool is_programs = sum.room.at == nullptr;
  return is_programs && brings_to_device(callback) && readers_of(callback, sum) > 1 ? begin_sum(pe, {name}) : sum;
}

// Not those that some PE has in memory of the host; nor so many that the slices were nothing but beginnings.
bool are_combined_in_slices(const std::vector<DeviceContribution>& names) {
  constexpr std::size_t most_slices = 64;
  return names.size() > 1 && names.size() <= most_slices && !is_small(names[0]) &&
         std::all_of(names.begin(), names.end(), [](const DeviceContribution& name) { return name.on_gpu != 0; });
}

bool take_result(const CkCallback& callback, void* payload) {
  const auto* const message = static_cast<const CkReductionMsg*>(payload);
  if (envelope_of(payload)->message_type != CMessage_CkReductionMsg::__idx ||
      message->getReducer() != reducer_of_names) {
    if (brings_to_device(callback))
      fatal("the result of a reduction of memory of the host is for an entry with a nocopydevice array",
            name_of(callback.ep), "",
            "contribute a CkDeviceBuffer, which may be of the host's memory too; or let the entry take double x[n]");
    return false;
  }
  Pe& pe = *Pe::current();
  std::vector<DeviceContribution> names = names_in(*message);
  const std::shared_ptr<const CkReductionMsg> of(message, [payload](auto*) { CkFreeMsg(payload); });
  if (names[0].type == CkReduction::concat) {
    gather(pe, std::move(names), callback, of);
    return true;
  }
  if (names.size() > 1) in_order(names);
  if (const std::uint64_t receivers = combining_receivers(names, callback); receivers != 0) {
    if (names.size() > most_small_sums && is_small(names[0])) names = {begin_sum(pe, names).name};
    send_sums(names, callback, receivers, of);
    return true;
  }
  if (are_combined_in_slices(names)) {
    reduce_scatter(pe, names, callback, of);
    return true;
  }
  Sum& sum = names.size() > 1 ? begin_sum(pe, names) : sum_to_read(pe, names[0], callback);
  when_ready(sum, [&pe, &sum, of, callback] { give_result(pe, sum, callback, of); });
  return true;
}

}  // namespace

void register_device_reductions() {
  PeObjects::take_device_result = take_result;
  reducer_of_names = CkReduction::addReducer(combine_names, false, "a reducer of device buffers");
  entry_wanted = register_runtime_entry("reduction of device buffers: bytes are wanted", on_wanted);
  entry_there = register_runtime_entry("reduction of device buffers: bytes are there", on_there);
  register_device_gathers();
  register_reduce_scatters();
  register_shared_sums();
}

}  // namespace periapt::zero_copy

namespace periapt {

CkReduction::reducerType DeviceContribution::reducer() { return zero_copy::reducer_of_names; }

DeviceContributor DeviceContributor::running() {
  const Pe& pe = *Pe::current();
  DeviceContributor by{{}, 0, 1};
  if (pe.running == nullptr) return by;
  const Delivery& call = *pe.running;
  if (call.target == Target::group) by = {CkArrayIndex(pe.index), static_cast<std::int32_t>(call.collection), 1};
  if (const ArrayElement* const element = ThreadOwner{call.owner}.element())
    by = {element->ckGetArrayIndex(), element->ckGetArrayID().index(), 1};
  return by;
}

DeviceContribution::DeviceContribution(std::size_t size, const CkDeviceBuffer& buffer, CkReduction::reducerType with,
                                       const DeviceContributor& contributor)
    : by(contributor) {
  using namespace zero_copy;
  Pe& here = *Pe::current();
  const auto refuse = [&](const std::string& what, const std::string& why, const std::string& what_next) {
    fatal("contribute() of a CkDeviceBuffer with " + std::string(chare::reducer_name(with)) + what,
          describe_running(here), why, what_next);
  };
  const bool gathers = with == CkReduction::concat;
  if (!is_arithmetic(with) && !gathers)
    refuse("", "memory of GPUs is combined by the sums, products, maxima and minima of numbers, and by concat alone",
           "use one of CkReduction::sum_, product_, max_ and min_, or concat for an allgather; or copy it to the host "
           "and contribute that");
  if (gathers && by.index.nInts == 0)
    refuse(" to a section", "the member whose part it is cannot be told from what runs",
           "call it in an entry method of the member");
  if (!gathers && size % bytes_of_item(with) != 0)
    refuse(": " + std::to_string(size) + " bytes are not a whole number of items of " +
               std::to_string(bytes_of_item(with)) + " bytes",
           "", "Give it bytes, not items: n * sizeof(x[0])");
  if (!buffer.layout.is_contiguous())
    refuse(" with a layout", "contributions lie in one piece",
           "pack them by a kernel of the program's, or send them by an entry with a nocopydevice array");
  Sum& sum = make_sum(here, with, size);
  sum.place.at = static_cast<std::byte*>(const_cast<void*>(buffer.ptr));
  sum.place.kind = kind_of(here, buffer.ptr, size);
  sum.name.on_gpu = sum.place.kind != ucx::MemoryKind::host && !is_small(sum.name);
  sum.name.by = by;
  sum.cb = buffer.cb;
  sum.stream = buffer.cuda_stream.native();
  sum.waiting.sum = &sum;
  sum.waiting.done = [](machine::Transfer& waiting, const Status& status) {
    Sum& sum = *static_cast<Sum::Waiting&>(waiting).sum;
    Pe& pe = *Pe::current();
    pe.end_pending();
    if (!status) failed(sum, status);
    sum.stream = DeviceStream().native();  // what the program gives its stream from here on is not waited for
    is_ready(sum);
  };
  if (!gathers && set_aside_early(here, sum)) {
    *this = sum.name;
    return;
  }
  here.begin_pending();
  if (is_small(sum.name) && sum.name.bytes != 0 && sum.place.kind != ucx::MemoryKind::host) {
    bring_to_host(here, sum);
    *this = sum.name;
    return;
  }
  *this = sum.name;
  when_reached(here, sum.stream, sum.place, sum.waiting);
}

}  // namespace periapt
