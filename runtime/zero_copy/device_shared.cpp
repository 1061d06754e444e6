// Reductions of memory of GPUs that the receivers combine themselves: an allreduce in one step.
//
// The PE of the result has the names of all sums, and sends the call at once, with these. Each receiver has its post
// entry method say where the result is to go, and meanwhile asks the PEs of the sums for them. Small ones come within
// the answers, and are combined by the host; larger ones are read where they lie by a kernel of the receiver's GPU,
// which writes the result to where it is to go. All combine in the same order, so all have the same to the last bit.
//
//   PE of the result                  PE i                                   PE j
//   the call to all  ---------------->                         ------------>
//                                     ShareWanted  -------------------------->
//                                     <---------------------- There: the bytes, or where they lie
//                                     combines, and runs the entry
//                                     SharedRead  --------------------------->  the sum may go
//
// A receiver may want the result where it has contributed from, while others still read: so what lies where the program
// has it is set aside before it is shared. That costs a copy within a GPU, where slices (device_reduce_scatter.cpp)
// cost a second step between all GPUs; in exchange each receiver reads all of all sums. What is larger, and of more
// PEs, is combined in slices.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "runtime/converse/cmi.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/device_parts.h"
#include "runtime/zero_copy/device_sums.h"

namespace periapt::zero_copy {

namespace {

int entry_share, entry_shared_read;

// More would ask one PE for it than a broadcast takes time.
constexpr std::uint64_t most_receivers = 16;

// Up to so many bytes are combined by the receivers, of that many sums or for that many receivers, whichever are more.
// Each receiver reads all sums, and each sum is read by all receivers, where in slices it is two shares of that, after
// twice as many steps: what the table says is where both take as long. Tests and measurements set it by hand.
std::uint64_t most_bytes(std::uint64_t many) {
  static const char* const variable = "PERIAPT_GPU_SLICES_ABOVE";
  static const char* const given = std::getenv(variable);
  if (given != nullptr) {
    char* end = nullptr;
    const std::uint64_t bytes = std::strtoull(given, &end, 10);
    if (end == given || *end != '\0') fatal(std::string(variable) + " is no number of bytes: " + given);
    return bytes;
  }
  if (many <= 2) return 8 << 20;
  if (many <= 4) return 4 << 20;
  return many <= 8 ? 1 << 20 : 256 << 10;
}

}  // namespace

std::uint64_t combining_receivers(const std::vector<DeviceContribution>& names, const CkCallback& callback) {
  std::uint64_t receivers = 0;
  if (names.size() < 2 || !brings_to_device(callback)) return 0;
  if (callback.type == CkCallback::bcastGroup) receivers = static_cast<std::uint64_t>(CmiNumPes());
  if (callback.type == CkCallback::bcastNodeGroup) receivers = static_cast<std::uint64_t>(CmiNumNodes());
  if (receivers > most_receivers) return 0;
  const auto lies_on_gpu = [](const DeviceContribution& name) { return name.on_gpu != 0; };
  const bool are_near = names[0].bytes <= most_bytes(std::max<std::uint64_t>(names.size(), receivers)) &&
                        std::all_of(names.begin(), names.end(), lies_on_gpu);
  return is_small(names[0]) || are_near ? receivers : 0;
}

// ---- on the PE of a sum

namespace {

// Where it is set aside: on its GPU.
gpu::Room room_aside(Pe& pe, const Sum& sum) {
  gpu::Room like;
  if (sum.place.kind == ucx::MemoryKind::host) return like;
  if (const std::optional<gpu::OnGpu> where = gpu_of(pe, sum.place.at)) {
    like.where = *where;
    like.kind = gpu::MemoryType::device;
  }
  return like;
}

void begin_aside(Pe& pe, Sum& sum) {
  const bool on_gpu = sum.room.kind == gpu::MemoryType::device;
  sum.aside.sum = &sum;
  sum.aside.to = {sum.room.at, on_gpu ? kind_of(pe, sum.room.at, sum.name.bytes) : ucx::MemoryKind::host};
  sum.aside.done = [](machine::Transfer& transfer, const Status& status) {
    auto& aside = static_cast<Sum::Aside&>(transfer);
    Sum& sum = *aside.sum;
    Pe::current()->end_pending();
    if (!status) failed(sum, status);
    sum.stream = DeviceStream().native();
    sum.place = aside.to;
    if (wants_to_know(sum.cb)) not_inline(std::exchange(sum.cb, CkCallback(CkCallback::ignore))).send();
    is_ready(sum);
  };
}

// Elements of an array may be many on a PE, and members of a section are not those that the result goes to.
bool is_of_group(Pe& pe, const Sum& sum) {
  if (sum.name.by.in_section != 0) return false;
  const GroupRecord* const record = pe.objects->find_group(sum.name.by.collection);
  return record == nullptr || record->array == nullptr;
}

}  // namespace

bool set_aside_early(Pe& pe, Sum& sum) {
  // Each holds memory until all have contributed, for which some may wait for messages that need memory too.
  constexpr unsigned most_out = 2;
  EarlyAsides& early = early_asides(pe);
  if (sum.name.on_gpu == 0 || early.out == most_out || !is_of_group(pe, sum)) return false;
  const auto expected = early.bytes.find(sum.name.by.collection);
  if (expected == early.bytes.end() || expected->second != sum.name.bytes) return false;
  const gpu::Room like = room_aside(pe, sum);
  Result<gpu::Room> room = take_room(pe, like.where, like.kind, sum.name.bytes);
  if (!room) return false;
  sum.room = *room;
  sum.is_early = true;
  ++early.out;
  begin_aside(pe, sum);
  pe.begin_pending();
  pe.copy_when_reached(sum.stream, sum.aside.to, sum.place, sum.name.bytes, sum.aside);
  return true;
}

void dropped_early(Pe& pe, const Sum& sum) {
  EarlyAsides& early = early_asides(pe);
  --early.out;
  if (!sum.is_shared) early.bytes.erase(sum.name.by.collection);
}

void share(Pe& pe, Sum& sum, std::uint64_t receivers) {
  if (std::exchange(sum.is_shared, true)) return;
  sum.readers = sum.receivers = receivers;
  when_ready(sum, [&pe, &sum] {
    if (sum.room.at != nullptr || sum.name.bytes == 0) return;  // it is not the program's
    if (sum.name.on_gpu != 0 && is_of_group(pe, sum)) early_asides(pe).bytes[sum.name.by.collection] = sum.name.bytes;
    sum.ready = false;
    sum.room = room_for(pe, sum, room_aside(pe, sum));
    begin_aside(pe, sum);
    copy(pe, sum.aside.to, sum.place, sum.name, sum.aside);
  });
}

namespace {

struct ShareWanted {
  std::uint64_t sum;
  Part* part;
  std::int64_t asker;
  std::uint64_t receivers;
};
struct SharedRead {
  std::uint64_t sum;
};

void on_share(Pe& pe, Delivery& call) {
  const auto wanted = call.read<ShareWanted>();
  Sum& sum = find_sum(pe, wanted.sum);
  share(pe, sum, wanted.receivers);
  when_ready(sum, [&pe, &sum, wanted] {
    const int asker = static_cast<int>(wanted.asker);
    if (is_small(sum.name)) {
      send_bytes(pe, asker, wanted.part, sum);
      return drop(pe, sum);
    }
    if (!sum.lent_part) sum.lent_part = std::make_unique<GatheredPart>(lend(pe, sum));
    send_lent(pe, asker, wanted.part, sum.lent_part->buffer, sum.lent_part->description);
  });
}
void on_shared_read(Pe& pe, Delivery& call) { drop(pe, find_sum(pe, call.read<SharedRead>().sum)); }

}  // namespace

void has_read(Pe& pe, const DeviceContribution& name) {
  send_runtime(pe, name.pe, entry_shared_read, 0, 0, SharedRead{name.sum});
}

// ---- on the PE of a receiver

// Of items of the reduction, as of those that the entry has, it is a whole number.
ReceivedSum::ReceivedSum(Pe& pe, const std::vector<DeviceContribution>& names, std::uint64_t receivers, ucx::Place to,
                         std::uint64_t bytes)
    : pe_(pe), to_(to), bytes_(bytes), all_(received_sums(pe)) {
  all_->push_back(this);
  const std::uint64_t item = bytes_of_item(names[0].type);
  sums_ = names.size();
  sum_ = &make_sum_of(pe, names, 0, (bytes + item - 1) / item * item);
  in_place_ = sum_->name.bytes == bytes && bytes != 0 && !is_small(names[0]) && take_place(pe, *sum_, to);
  if (!in_place_) choose_place(pe, *sum_);
  ++sum_->left;  // itself, until all have begun, and where it is combined in place until finish()
  for (const auto& part : sum_->parts) {
    Part* const one = part.get();
    one->is_shared = true;
    if (one->here) {
      share(pe, *one->here, receivers);
      when_ready(*one->here, [&pe, one] { bring(pe, *one); });
    } else {
      send_runtime(pe, one->name.pe, entry_share, 0, 0, ShareWanted{one->name.sum, one, pe.index, receivers});
    }
  }
  if (!in_place_) brought(pe, *sum_);
}

ReceivedSum::~ReceivedSum() { std::erase(*all_, this); }

std::string ReceivedSum::describe() const {
  const std::size_t missing = sum_->left - (in_place_ && !received_ ? 1 : 0);
  return "a reduction of device buffers, of " + std::to_string(bytes_) + " bytes, waits on PE " +
         std::to_string(pe_.index) + ", which combines it itself, for " +
         (missing != 0 ? std::to_string(missing) + " of " + std::to_string(sums_) +
                             " sums, of which a stream may not have got there"
          : !received_ ? std::string("the stream that its receiver has given")
                       : std::string("its GPU")) +
         "\n";
}

void ReceivedSum::finish(int entry, std::function<void()> received) {
  entry_ = entry;
  received_ = std::move(received);
  if (in_place_) brought(pe_, *sum_);
  when_ready(*sum_, [this] { deliver(); });
}

void ReceivedSum::deliver() {
  if (in_place_ || bytes_ == 0) return end();
  copy_.sum = this;
  copy_.done = [](machine::Transfer& transfer, const Status& status) {
    ReceivedSum& self = *static_cast<Copy&>(transfer).sum;
    self.pe_.end_pending();
    if (!status) device_failed(name_of(self.entry_), status);
    self.end();
  };
  DeviceContribution wanted = sum_->name;
  wanted.bytes = bytes_;
  copy(pe_, to_, sum_->place, wanted, copy_);
}

void ReceivedSum::end() {
  std::erase(*all_, this);
  drop(pe_, *sum_);
  std::exchange(received_, nullptr)();
}

std::string describe_shared(Pe& pe) {
  std::string text;
  for (const ReceivedSum* const one : *received_sums(pe)) text += one->describe();
  for_each_sum(pe, [&](const Sum& sum) {
    if (!sum.is_shared) return;
    text += "a sum of a reduction of device buffers, of " + std::to_string(sum.name.bytes) + " bytes on PE " +
            std::to_string(pe.index) + ", waits for " +
            (sum.ready ? std::to_string(sum.readers) + " of " + std::to_string(sum.receivers) + " receivers to read it"
                       : std::string("its stream")) +
            "\n";
  });
  return text;
}

void register_shared_sums() {
  entry_share = register_runtime_entry("reduction of device buffers: a receiver wants a sum", on_share);
  entry_shared_read = register_runtime_entry("reduction of device buffers: a receiver has read a sum", on_shared_read);
}

}  // namespace periapt::zero_copy
