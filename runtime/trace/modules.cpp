// See modules.h.
#include "runtime/trace/modules.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/converse/cmi.h"
#include "runtime/objects/all_serial_blocks.h"
#include "runtime/registry/c_calls.h"
#include "runtime/registry/packing.h"
#include "runtime/registry/registry.h"
#include "runtime/scheduler/process.h"
#include "runtime/trace/options.h"

CkpvDeclare(TraceArray*, _traces);
CkpvDeclare(int, traceOnPe);
// What charmc's link step writes.
void _createTraces(char** argv) __attribute__((weak));
int _threadMsg, _threadChare, _threadEP, _packMsg, _packChare, _packEP, _unpackMsg, _unpackChare, _unpackEP, _sdagMsg,
    _sdagChare, _sdagEP;

namespace periapt::trace {
namespace {
CpvStaticDeclare(Modules*, modules);
CpvStaticDeclare(std::vector<char*>, arguments);
std::vector<std::string> words;  // modules may keep what they find among them

// The entries that stand for blocks of bodies. Constant when the first PE runs.
std::unordered_map<const SerialBlock*, int> blocks;

int register_block(const std::string& name, int chare) {
  static std::deque<std::string> names;
  return CkRegisterEp(
      names.emplace_back(name).c_str(), [](Delivery&, void*) {}, 0, chare, 0);
}

// As of a message that has none, or will be written later.
Envelope envelope_for(std::uint16_t entry, std::uint64_t bytes, int pe) {
  Envelope envelope{};
  envelope.entry = entry;
  envelope.size = bytes;
  envelope.source = pe;
  return envelope;
}
::envelope* shown(Envelope* of) { return reinterpret_cast<::envelope*>(of); }
}  // namespace

bool prepare_modules() {
  if (_createTraces == nullptr || !options().modules) return false;
  _sdagChare = CkRegisterChare("SDAG", 0, TypeChare);
  _sdagEP = register_block("SDAG_RTS", _sdagChare);
  if (AllSerialBlocks::for_each)
    AllSerialBlocks::for_each([](const SerialBlock& block, int entry) {
      const int chare = registry().entries[static_cast<std::size_t>(entry)].chare;
      const std::string label = block.label;
      const std::string name = label.empty() ? "serial (" + std::string(block.place) + ")" : label;
      blocks[&block] = register_block(registry().chares[static_cast<std::size_t>(chare)].name + ("_" + name), chare);
    });
  PackingTold::observer = [](bool packs, bool begins) {
    Modules* const modules = modules_here();
    if (modules == nullptr || !modules->is_on()) return;
    if (begins) return modules->all().each([packs](Trace& t) { packs ? t.beginPack() : t.beginUnpack(); });
    modules->all().each_backwards([packs](Trace& t) { packs ? t.endPack() : t.endUnpack(); });
  };
  return true;
}

void keep_arguments(char** argv) {
  words.clear();
  for (; *argv; ++argv) words.emplace_back(*argv);
}

Modules* modules_here() { return Pe::current() != nullptr && CpvInitialized(modules) ? CpvAccess(modules) : nullptr; }

void make_modules(Pe& pe) {
  if (_createTraces == nullptr || !options().modules) return;
  CkpvInitialize(TraceArray*, _traces);
  CkpvInitialize(int, traceOnPe);
  CpvInitialize(Modules*, modules);
  CpvInitialize(std::vector<char*>, arguments);
  CkpvAccess(_traces) = new TraceArray;
  CkpvAccess(traceOnPe) = options().wants(pe.index);
  std::vector<char*>& list = CpvAccess(arguments);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  // What PE 0 takes is gone from what the mainchare is given.
  _createTraces(pe.index == 0 ? CkGetArgv() : list.data());
  TraceArray& all = *CkpvAccess(_traces);
  if (all.length() == 0) return;
  all.setTraceOnPE(CkpvAccess(traceOnPe));
  CpvAccess(modules) = new Modules(pe, all);
}

Modules::Modules(Pe& pe, TraceArray& all) : pe_(pe), all_(all), frames_(pe, *this) {
  pe.conditions.call_always(
      scheduler::condition_begin_idle,
      [](void* of) {
        auto* const self = static_cast<Modules*>(of);
        if (!self->on_ || self->idle_) return;
        self->idle_ = true;
        self->all_.each([now = CmiWallTimer()](Trace& t) { t.beginIdle(now); });
      },
      this);
  pe.conditions.call_always(
      scheduler::condition_begin_busy,
      [](void* of) {
        auto* const self = static_cast<Modules*>(of);
        if (!self->idle_) return;
        self->idle_ = false;
        self->all_.each([now = CmiWallTimer()](Trace& t) { t.endIdle(now); });
      },
      this);
  if (!options().off) turn(true);
  all_.each([](Trace& t) { t.beginComputation(); });
}

void Modules::turn(bool on) {
  if (on == on_) return;
  on_ = on;
  if (on) {
    all_.each([](Trace& t) { t.traceBegin(); });
    return pe_.subscribe(this, created | begin_execute | end_execute);
  }
  pe_.unsubscribe(this);
  frames_.clear();
  idle_ = false;
  all_.each([](Trace& t) { t.traceEnd(); });
}

void Modules::end() {
  if (on_) pe_.unsubscribe(this);
  on_ = idle_ = false;
  frames_.clear();
  all_.each([](Trace& t) { t.traceClose(); });
  all_.clearTrace();
}

void Modules::on_created(Pe&, const Created& created) {
  if (!is_traced(created.entry)) return;
  Envelope envelope = envelope_for(created.entry, created.bytes, pe_.index);
  const int number = created.receivers(pe_);
  all_.each([&](Trace& t) { t.creation(shown(&envelope), created.entry, number); });
  all_.each([&](Trace& t) { t.creationDone(number); });
}

void Modules::on_begin(Pe&, const Delivery& call) {
  const Called called{call.entry, is_traced(call.entry), static_cast<int>(call.length), call.object};
  push(called);
  if (!called.traced) return;
  Envelope made = envelope_for(call.entry, call.length, pe_.index);
  Envelope* envelope = &made;
  if (call.message && envelope_of(call.arguments)->entry == call.entry) envelope = envelope_of(call.arguments);
  all_.each([&](Trace& t) { t.beginExecute(shown(envelope), call.object); });
}

void Modules::direct(const Delivery& call, bool begins) {
  if (!on_) return;
  if (!begins) return on_end(pe_, call);
  on_created(pe_, {pe_.index, call.entry, 0});
  const Called called{call.entry, is_traced(call.entry), 0, call.object};
  push(called);
  if (called.traced) go_on(called);
}

void Modules::push(const Called& called) {
  calling_ = true;
  frames_.push(called);
  calling_ = false;
}

void Modules::go_on(const Called& called) {
  all_.each([&](Trace& t) { t.beginExecute(0, 0, called.entry, pe_.index, called.bytes, nullptr, called.object); });
}

void Modules::on_end(Pe&, const Delivery&) {
  const bool traced = !frames_.empty() && frames_.innermost().traced && !frames_.innermost().in_body;
  calling_ = true;
  const bool ended = frames_.pop();
  calling_ = false;
  if (ended && traced) all_.each_backwards([](Trace& t) { t.endExecute(); });
}

void Modules::serial(const SerialBlock& block, bool begins) {
  if (!on_) return;
  if (!begins) return all_.each_backwards([](Trace& t) { t.endExecute(); });
  Called* const called = frames_.empty() ? nullptr : &frames_.innermost();
  if (called && called->traced && !std::exchange(called->in_body, true))
    all_.each_backwards([](Trace& t) { t.endExecute(); });
  const auto entry = blocks.find(&block);
  const int number = entry == blocks.end() ? _sdagEP : entry->second;
  void* const object = called ? called->object : nullptr;
  all_.each([&](Trace& t) { t.beginExecute(-1, -1, number, pe_.index, 0, nullptr, object); });
}

// A thread that stops takes its frames with it, and brings them back: one piece of its entry, as Charm++ tells it.
void Modules::before_change() {
  frames_before_ = frames_.size();
  if (!calling_ && !frames_.empty()) stopping_ = frames_.innermost().traced;
}
void Modules::after_change() {
  if (calling_ || !on_) return;
  if (frames_.size() < frames_before_ && stopping_) all_.each_backwards([](Trace& t) { t.endExecute(); });
  if (frames_.size() > frames_before_ && frames_.innermost().traced) go_on(frames_.innermost());
}

}  // namespace periapt::trace
