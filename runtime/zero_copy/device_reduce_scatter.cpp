// Reductions of memory of GPUs that are combined in slices: a reduce-scatter of the sums of several PEs.
//
// The PE of the result has their names, in order, and tells each of their PEs: PE number i combines slice i of all of
// them. As soon as its own sum is there, a PE lends it to all others; when it knows where all of them are, one kernel
// reads its slice of each of them where it lies (device_reduction.cpp), or it is brought. So each GPU reads and writes
// its share alone, all links are in use both ways, and the result is rounded the same for all receivers. When the last
// slice is there, the sums have been read by all and are given back: a receiver may want the result where it has
// contributed from. Then the slices are gathered by the receivers (device_gather.cpp).
//
//   PE of the result                  PE i                                PE j
//   Order to each  ------------------>
//                                     SumLent to each other one  -------->
//                                     <--------  SumLent
//                                     slice i is combined
//                  <------- SliceReady
//   the sums are given back; the call goes to the receivers, which fetch the slices
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/device_sums.h"

namespace periapt::zero_copy {

// One on the PE of its result.
struct Scattering {
  std::vector<DeviceContribution> names;
  CkCallback to;
  std::shared_ptr<const CkReductionMsg> of;
  std::vector<DeviceContribution> slice_names{};
  std::vector<GatheredPart> slices{};
  std::size_t left = 0;  // slices
};

// What all PEs call a slice.
struct SliceName {
  Scattering* scattering;
  std::int32_t root;  // the PE of the result
  std::uint32_t number;
  auto operator<=>(const SliceName&) const = default;
};
// Where a sum lies of which slices are combined.
struct SumLent {
  SliceName slice;
  std::uint64_t number;  // of the sum
  CkNcpyBuffer buffer;
  DeviceDescription description;
};
// One that this PE combines, from when it first hears of it until all sums have been brought to it.
struct Slice {
  Sum* sum = nullptr;  // null: the order has not come yet
  std::size_t left = 0;
  std::vector<SumLent> early{};
};

struct Scatters {
  std::map<SliceName, Slice> slices;
  std::vector<Scattering*> scatterings;
};

namespace {

int entry_order, entry_lent, entry_ready;

struct Order {
  SliceName slice;
  std::uint64_t count;  // of names, which follow
};
struct SliceReady {
  SliceName slice;
  DeviceContribution name;
  CkNcpyBuffer buffer;
  DeviceDescription description;
};

Scatters& of_pe(Pe& pe) {
  if (!scatters_of(pe)) scatters_of(pe) = std::make_shared<Scatters>();
  return *scatters_of(pe);
}

void bring(Pe& pe, const SliceName& name, std::size_t number, const CkNcpyBuffer& buffer,
           const DeviceDescription& description) {
  Scatters& all = of_pe(pe);
  Slice& slice = all.slices.at(name);
  Sum& sum = *slice.sum;
  if (--slice.left == 0) all.slices.erase(name);
  bring_to_slice(pe, sum, number, buffer, description);
}

// ---- on the PE of the result

void ready(Pe& pe, const SliceReady& slice) {
  Scattering& scattering = *slice.slice.scattering;
  scattering.slice_names[slice.slice.number] = slice.name;
  scattering.slices[slice.slice.number] = {slice.buffer, slice.description};
  if (--scattering.left != 0) return;
  std::erase(of_pe(pe).scatterings, &scattering);
  const std::unique_ptr<Scattering> ended(&scattering);
  give_back(pe, ended->names);
  gather_slices(pe, std::move(ended->slice_names), std::move(ended->slices), ended->to, ended->of);
}

// ---- on the PEs of the sums

// Slices begin where a kernel reads as much at a time as it can.
std::uint64_t begin_of(std::uint64_t slice, std::uint64_t slices, std::uint64_t bytes) {
  constexpr std::uint64_t multiple = 16;
  return slice == slices ? bytes : bytes / multiple * slice / slices * multiple;
}

void order(Pe& pe, const SliceName& name, const std::vector<DeviceContribution>& names) {
  const std::uint64_t bytes = names[0].bytes, begin = begin_of(name.number, names.size(), bytes);
  Slice& slice = of_pe(pe).slices[name];
  Sum& sum = begin_slice(pe, names, begin, begin_of(name.number + 1, names.size(), bytes) - begin);
  slice.sum = &sum;
  slice.left = names.size();
  when_ready(sum, [&pe, &sum, name] {
    const GatheredPart part = lend(pe, sum);
    const SliceReady there{name, sum.name, part.buffer, part.description};
    if (name.root == pe.index)
      ready(pe, there);
    else
      send_to(pe, name.root, runtime_message({bytes_of(there)}, entry_ready, 0));
  });
  for (const SumLent& lent : std::exchange(slice.early, {}))
    bring(pe, name, lent.number, lent.buffer, lent.description);
  Sum& own = find_sum(pe, names[name.number].sum);
  when_ready(own, [&pe, &own, name, names] {
    const GatheredPart part = lend(pe, own);
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      if (i == name.number) continue;
      const SumLent lent{{name.scattering, name.root, i}, name.number, part.buffer, part.description};
      send_to(pe, names[i].pe, runtime_message({bytes_of(lent)}, entry_lent, 0));
    }
    bring(pe, name, name.number, part.buffer, part.description);
  });
}

void on_order(Pe& pe, Delivery& call) {
  const auto told = call.read<Order>();
  std::vector<DeviceContribution> names(told.count);
  std::memcpy(static_cast<void*>(names.data()), static_cast<const char*>(call.arguments) + sizeof told,
              names.size() * sizeof names[0]);
  order(pe, told.slice, names);
}
void on_lent(Pe& pe, Delivery& call) {
  const auto lent = call.read<SumLent>();
  Slice& slice = of_pe(pe).slices[lent.slice];
  if (slice.sum == nullptr) return slice.early.push_back(lent);
  bring(pe, lent.slice, lent.number, lent.buffer, lent.description);
}
void on_ready(Pe& pe, Delivery& call) { ready(pe, call.read<SliceReady>()); }

}  // namespace

void reduce_scatter(Pe& pe, const std::vector<DeviceContribution>& names, const CkCallback& to,
                    const std::shared_ptr<const CkReductionMsg>& of) {
  auto* const scattering = new Scattering{names, to, of};
  scattering->slice_names.resize(names.size());
  scattering->slices.resize(names.size());
  scattering->left = names.size();
  of_pe(pe).scatterings.push_back(scattering);
  const std::string_view listed(reinterpret_cast<const char*>(names.data()), names.size() * sizeof names[0]);
  // Those of other PEs first, which have a way to go.
  for (std::uint32_t i = 0; i < names.size(); ++i)
    if (names[i].pe != pe.index) {
      const Order told{{scattering, pe.index, i}, names.size()};
      send_to(pe, names[i].pe, runtime_message({bytes_of(told), listed}, entry_order, 0));
    }
  for (std::uint32_t i = 0; i < names.size(); ++i)
    if (names[i].pe == pe.index) order(pe, {scattering, pe.index, i}, names);
}

std::string describe_scatters(Pe& pe) {
  std::string text;
  if (!scatters_of(pe)) return text;
  for (const Scattering* const one : scatters_of(pe)->scatterings)
    text += "a reduction of device buffers, of " + std::to_string(one->names[0].bytes) + " bytes, waits for " +
            std::to_string(one->left) + " of " + std::to_string(one->names.size()) +
            " PEs to combine their slices of it, which begins when the streams of all contributions have got there\n";
  return text;
}

void register_reduce_scatters() {
  entry_order = register_runtime_entry("reduction of device buffers: combine a slice", on_order);
  entry_lent = register_runtime_entry("reduction of device buffers: a sum is there", on_lent);
  entry_ready = register_runtime_entry("reduction of device buffers: a slice is there", on_ready);
}

}  // namespace periapt::zero_copy
