// See reduction.h.
#include "runtime/chare/reduction.h"

#include "base/fatal.h"
#include "runtime/chare/array_manager.h"
#include "runtime/chare/node_groups.h"
#include "runtime/chare/reduction_message.h"
#include "runtime/scheduler/process.h"

// What reducers.h asks of the message class.
struct ReductionMessageFields {
  static CkReductionMsg* make(std::size_t bytes, CkReduction::reducerType type) {
    auto* m =
        static_cast<CkReductionMsg*>(CkAllocMsg(CMessage_CkReductionMsg::__idx, sizeof(CkReductionMsg) + bytes, 0));
    m->size_ = bytes;
    m->reducer_ = type;
    m->sources_ = 1;
    m->round_ = 0;
    m->user_flag_ = -1;
    m->reduced_ = 0;
    m->callback_ = CkCallback();
    return m;
  }
  static periapt::chare::Contribution contribution(CkReductionMsg* m) {
    return {m->getData(), m->size_, m->sources_, m->reduced_ != 0, m->user_flag_};
  }
  static void set(CkReductionMsg* m, CkReduction::reducerType type, const periapt::chare::Contribution& c) {
    m->reducer_ = type;
    m->sources_ = c.sources;
    m->reduced_ = c.reduced;
    m->user_flag_ = c.user_flag;
  }
  static void set_round(CkReductionMsg* m, int round) { m->round_ = round; }
};

int CMessage_CkReductionMsg::__idx;

CkReductionMsg* CkReductionMsg::buildNew(int size, const void* data, CkReduction::reducerType reducer,
                                         CkReductionMsg* reuse) {
  CkReductionMsg* m = reuse ? reuse : ReductionMessageFields::make(size, reducer);
  m->size_ = size;
  m->reducer_ = reducer;
  if (data && size && data != m->getData()) std::memmove(m->getData(), data, size);
  return m;
}
CkReductionMsg* CkReductionMsg::buildFromTuple(CkReduction::tupleElement* elements, int count) {
  CkReductionMsg* m = ReductionMessageFields::make(periapt::chare::tuple_bytes(elements, count), CkReduction::tuple);
  periapt::chare::write_tuple(elements, count, m->getData());
  return m;
}
void CkReductionMsg::toTuple(CkReduction::tupleElement** elements, int* count) const {
  periapt::chare::read_tuple(getData(), size_, elements, count);
}

namespace periapt {

namespace chare {
CkReductionMsg* new_reduction_message(std::size_t bytes, CkReduction::reducerType type) {
  return ReductionMessageFields::make(bytes, type);
}
void delete_reduction_message(CkReductionMsg* message) { CkFreeMsg(message); }
Contribution contribution_of(CkReductionMsg* message) { return ReductionMessageFields::contribution(message); }
void set_contribution(CkReductionMsg* message, CkReduction::reducerType type, const Contribution& contribution) {
  ReductionMessageFields::set(message, type, contribution);
}
}  // namespace chare

using chare::Contribution;

// --- Accumulator -----------------------------------------------------------------------------------------------------

Accumulator::~Accumulator() {
  for (CkReductionMsg* message : kept_) CkFreeMsg(message);
}

void* Accumulator::room(std::size_t bytes) {
  if (bytes <= sizeof small_) return small_;
  large_.resize((bytes + 7) / 8);
  return large_.data();
}

void Accumulator::add(ReducerType type, const Contribution& contribution, std::uint64_t random_bits) {
  if (contribution.sources == 0) return;
  type_ = any_ ? chare::agree(type_, type) : type;
  sources_ += contribution.sources;
  if (contribution.user_flag != -1) user_flag_ = contribution.user_flag;
  if (type != CkReduction::nop && !chare::folds_in_place(type, contribution)) {
    any_ = true;
    CkReductionMsg* message = ReductionMessageFields::make(contribution.size, type);
    std::memcpy(message->getData(), contribution.data, contribution.size);
    ReductionMessageFields::set(message, type, contribution);
    kept_.push_back(message);
    return;
  }
  if (!any_ || (size_ == 0 && contribution.size != 0)) {
    any_ = true;
    size_ = contribution.size;
    reduced_ = contribution.reduced;
    if (size_) std::memcpy(room(size_), contribution.data, size_);
    return;
  }
  if (contribution.size == 0 && type == CkReduction::nop) return;
  Contribution mine{room(size_), size_, 1, reduced_, user_flag_};
  if (chare::fold(type_, mine, contribution, random_bits) == chare::Fold::replace) {
    size_ = contribution.size;
    std::memcpy(room(size_), contribution.data, size_);
  }
  reduced_ = true;
}

Contribution Accumulator::result() {
  if (kept_.empty())
    return {size_ <= sizeof small_ ? small_ : static_cast<void*>(large_.data()), size_, sources_, reduced_, user_flag_};
  // Reducers that work on all contributions at once: what is here becomes one, and may be combined again above.
  CkReductionMsg* one = chare::combine_messages(type_, static_cast<int>(kept_.size()), kept_.data(), 0);
  kept_.assign(1, one);
  Contribution c = chare::contribution_of(one);
  c.sources = sources_;
  c.user_flag = user_flag_;
  return c;
}

CkReductionMsg* Accumulator::message() {
  Contribution c = result();
  CkReductionMsg* m = ReductionMessageFields::make(c.size, type_);
  if (c.size) std::memcpy(m->getData(), c.data, c.size);
  ReductionMessageFields::set(m, type_, c);
  return m;
}

// --- Reduction -------------------------------------------------------------------------------------------------------

namespace {
int entry_report, entry_start, entry_passive;
constexpr int branching = 4;
}  // namespace

struct Reduction::Header {
  enum Flag : std::uint8_t { late = 1, passive = 2, reduced = 4, has_callback = 8, of_processes = 16 };
  std::uint32_t round;
  std::uint32_t sources;
  std::int32_t population;
  std::int32_t adjust;
  std::int32_t user_flag;
  std::uint16_t type;
  std::uint8_t flags;
  std::uint8_t unused;
  std::uint64_t size;
};

void Reduction::register_entries() {
  entry_report = register_runtime_entry("reduction: partial result", on_report);
  entry_start = register_runtime_entry("reduction: round begins", on_start);
  entry_passive = register_runtime_entry("reduction: nobody here", on_passive);
}

Reduction::Reduction(PeObjects& objects, int collection, Tree tree, bool everywhere)
    : objects_(objects), pe_(objects.pe), collection_(collection), tree_(tree), everywhere_(everywhere) {
  const bool pes = tree == Tree::pes;
  const int size = pes ? pe_.process.pes() : pe_.process.count();
  const int me = pes ? pe_.index : pe_.process.rank();
  const auto pe_at = [&](int place) { return pes ? place : pe_.process.layout().processes[place].first_pe; };
  if (me > 0) parent_ = pe_at((me - 1) / branching);
  for (int child = branching * me + 1; child <= branching * (me + 1) && child < size; ++child)
    children_.push_back(pe_at(child));
  child_passive_.assign(children_.size(), !everywhere);
  said_passive_ = !everywhere;
}

std::uint32_t Reduction::born() {
  ++contributors_;
  ++round(base_).population;
  return base_;
}

void Reduction::arrived(std::uint32_t next) {
  ++contributors_;
  for (std::uint32_t n = base_; n < next; ++n) {
    ++round(n).given;
    begin(n);
  }
}

void Reduction::left(std::uint32_t next) {
  --contributors_;
  for (std::uint32_t n = base_; n < next; ++n) --round(n).given;
  say_passive();
  advance();
}

void Reduction::died(std::uint32_t next) {
  --contributors_;
  for (std::uint32_t n = base_; n < next; ++n) --round(n).given;
  // Rounds that this PE has reported still wait for it.
  for (std::uint32_t n = next; n < base_; ++n) {
    if (is_root()) {
      --round(n).adjust;
    } else {
      Round owed;
      owed.adjust = -1;
      send_report(n, owed, true);
    }
  }
  --round(std::max(base_, next)).population;
  say_passive();
  advance();
  if (is_root()) finish_rounds();
}

void Reduction::contribute(std::uint32_t number, ReducerType type, const Contribution& contribution,
                           const CkCallback* callback) {
  if (number < base_ && !is_root()) {
    Round alone;
    if (callback) alone.callback = *callback;
    alone.sum.add(type, contribution, ++pe_.random_state);
    return send_report(number, alone, true);
  }
  Round& r = round(number);
  if (callback && r.callback.isInvalid()) r.callback = *callback;
  if (!r.sum.count_only(type, contribution)) r.sum.add(type, contribution, pe_.random_state += 0x9E3779B97F4A7C15u);
  if (number < base_) return finish_rounds();
  ++r.given;
  if (!r.asked) begin(number);
  // Nothing moves before the last one of the oldest round.
  if (number == base_ && r.given == contributors_) advance();
}

void Reduction::unhold() {
  --held_;
  advance();
}

void Reduction::begin(std::uint32_t number) {
  Round& r = round(number);
  r.begun = true;
  if (r.asked) return;
  r.asked = true;
  for (std::size_t c = 0; c < children_.size(); ++c)
    if (child_passive_[c]) send_runtime(pe_, children_[c], entry_start, collection_, tree_of(), number);
}

// Whether somebody in this subtree has to be told of a round.
bool Reduction::passive_subtree() const {
  if (contributors_ == 0) return true;
  for (bool passive : child_passive_)
    if (passive) return true;
  return false;
}

void Reduction::say_passive() {
  if (said_passive_ || is_root() || !passive_subtree()) return;
  said_passive_ = true;
  send_runtime(pe_, parent_, entry_passive, collection_, tree_of(), pe_.index);
}

void Reduction::advance() {
  while (!rounds_.empty() && base_ < first_ + rounds_.size()) {
    Round& r = round(base_);
    if (held_ > 0 || !r.begun || r.given != contributors_ || r.reports != children_.size()) break;
    if (is_root()) {
      r.reported = true;
      ++base_;
    } else {
      const std::uint32_t number = base_++;
      Round done = std::move(rounds_.front());
      rounds_.pop_front();
      ++first_;
      send_report(number, done, false);
    }
  }
  if (is_root()) finish_rounds();
}

void Reduction::send_report(std::uint32_t number, Round& r, bool late) {
  Contribution sum = r.sum.result();
  Header header{};
  header.round = number;
  header.sources = sum.sources;
  header.population = r.population;
  header.adjust = r.adjust;
  header.user_flag = sum.user_flag;
  header.type = static_cast<std::uint16_t>(r.sum.type());
  header.size = sum.sources ? sum.size : 0;
  if (late) header.flags |= Header::late;
  if (sum.reduced) header.flags |= Header::reduced;
  if (!late) {
    said_passive_ = passive_subtree();
    if (said_passive_) header.flags |= Header::passive;
  }
  // A member of everybody's contributes at the root too and brings the callback there.
  if (!r.callback.isInvalid() && !everywhere_) header.flags |= Header::has_callback;

  const std::size_t callback_bytes = header.flags & Header::has_callback ? sizeof(CkCallback) : 0;
  const std::size_t bytes = sizeof header + callback_bytes + header.size;
  ++pe_.created;
  const auto write = [&](char* to) {
    std::memcpy(to, &header, sizeof header);
    if (callback_bytes) std::memcpy(to + sizeof header, &r.callback, callback_bytes);
    if (header.size) std::memcpy(to + sizeof header + callback_bytes, sum.data, header.size);
  };
  if (bytes <= inline_arguments_max) {
    alignas(16) char arguments[inline_arguments_max];
    write(arguments);
    pe_.send_call(parent_,
                  call_meta(static_cast<std::uint16_t>(entry_report), collection_, static_cast<unsigned>(bytes)),
                  child_key(), arguments);
    return;
  }
  Message message = Message::make(bytes);
  write(static_cast<char*>(message.payload()));
  message->target = Target::runtime;
  message->entry = static_cast<std::uint16_t>(entry_report);
  message->collection = static_cast<std::uint32_t>(collection_);
  message->element = child_key();
  pe_.send(parent_, std::move(message));
}

// Which reduction a message of the protocol is for; null when its array or group isn't here yet (the call waits then).
Reduction* Reduction::of(Pe& pe, Delivery& call) {
  const int collection = static_cast<int>(call.collection);
  if (tree_of_key(call.element) == Tree::processes) {
    if (node_groups().find(collection)) return &node_groups().reduction(collection);
  } else {
    GroupRecord& record = pe.objects->group(collection);
    if (record.array) return &record.array->reduction();
    if (record.reduction && record.object) return record.reduction.get();
  }
  pe.objects->group(collection).waiting.push_back(to_message(call));
  return nullptr;
}

void Reduction::on_report(Pe& pe, Delivery& call) {
  Reduction* reduction = of(pe, call);
  if (!reduction) return;
  pe.objects->count_processed();
  Header header;
  const char* at = static_cast<const char*>(call.arguments);
  std::memcpy(&header, at, sizeof header);
  at += sizeof header;
  CkCallback callback;
  if (header.flags & Header::has_callback) {
    std::memcpy(static_cast<void*>(&callback), at, sizeof callback);
    at += sizeof callback;
  }
  reduction->receive(header, callback, at, pe_of_key(call.element));
}

void Reduction::receive(const Header& header, const CkCallback& callback, const char* bytes, int from) {
  const bool late = header.flags & Header::late;
  const Contribution part{const_cast<char*>(bytes), header.size, header.sources, (header.flags & Header::reduced) != 0,
                          header.user_flag};
  const ReducerType type = static_cast<ReducerType>(header.type);
  if (late && header.round < base_ && !is_root()) {
    Round passing;
    passing.callback = callback;
    passing.adjust = header.adjust;
    passing.sum.add(type, part, ++pe_.random_state);
    return send_report(header.round, passing, true);
  }
  Round& r = round(header.round);
  if (!callback.isInvalid() && r.callback.isInvalid()) r.callback = callback;
  r.sum.add(type, part, pe_.random_state += 0x9E3779B97F4A7C15u);
  r.population += header.population;
  r.adjust += header.adjust;
  if (!late) {
    ++r.reports;
    for (std::size_t c = 0; c < children_.size(); ++c)
      if (children_[c] == from) child_passive_[c] = header.flags & Header::passive;
    if (!everywhere_) say_passive();
    begin(header.round);
    advance();
  }
  if (is_root()) finish_rounds();
}

void Reduction::on_start(Pe& pe, Delivery& call) {
  Reduction* reduction = of(pe, call);
  if (!reduction) return;
  const std::uint32_t number = call.read<std::uint32_t>();
  for (std::uint32_t n = reduction->base_; n <= number; ++n) reduction->begin(n);
  reduction->advance();
}

// A child's subtree has lost its last contributor somewhere: it hears of the rounds that have begun.
void Reduction::on_passive(Pe& pe, Delivery& call) {
  Reduction* reduction = of(pe, call);
  if (!reduction) return;
  const int child = call.read<int>();
  for (std::size_t c = 0; c < reduction->children_.size(); ++c)
    if (reduction->children_[c] == child) reduction->child_passive_[c] = true;
  reduction->say_passive();
  for (std::uint32_t n = reduction->first_; n < reduction->first_ + reduction->rounds_.size(); ++n)
    if (reduction->round(n).begun && n >= reduction->base_)
      send_runtime(pe, child, entry_start, reduction->collection_, reduction->tree_of(), n);
}

// Root: rounds whose contributions are all here are done, in their order.
void Reduction::finish_rounds() {
  while (!rounds_.empty() && rounds_.front().reported) {
    Round& r = rounds_.front();
    const std::int64_t expected = population_ + r.population + r.adjust;
    if (static_cast<std::int64_t>(r.sum.sources()) != expected) return;
    Round done = std::move(r);
    population_ += done.population;
    rounds_.pop_front();
    const std::uint32_t number = first_++;
    if (done.sum.sources() > 0) deliver(number, done);
  }
}

void Reduction::deliver(std::uint32_t number, Round& r) {
  const CkCallback& callback = r.callback.isInvalid() ? client_ : r.callback;
  if (callback.isInvalid())
    fatal("a reduction has finished and nobody wants its result",
          "reduction " + std::to_string(number) + " of " + collection_name(),
          "contribute() was called without a callback",
          "give contribute() a CkCallback, or set one with setReductionClient()");
  CkReductionMsg* message = r.sum.message();
  ReductionMessageFields::set_round(message, static_cast<int>(number));
  if (message->getUserFlag() != -1) CkSetRefNum(message, message->getUserFlag());
  callback.send(message);
}

std::string Reduction::collection_name() const {
  if (tree_ == Tree::processes) return "node group " + std::to_string(collection_);
  GroupRecord* record = objects_.find_group(collection_);
  return record && record->type >= 0 ? registry().chares[record->type].name : "group " + std::to_string(collection_);
}

bool Reduction::open() const {
  for (const Round& r : rounds_)
    if (r.begun) return true;
  return false;
}

std::string Reduction::describe() const {
  std::string text;
  for (std::uint32_t n = base_; n < first_ + rounds_.size(); ++n) {
    const Round& r = rounds_[n - first_];
    if (!r.begun) continue;
    text += "reduction " + std::to_string(n) + " of " + collection_name() + ": " + std::to_string(r.given) + " of " +
            std::to_string(contributors_) + " contributors on PE " + std::to_string(pe_.index) + " have contributed";
    if (r.reports < children_.size())
      text += ", " + std::to_string(children_.size() - r.reports) + " of " + std::to_string(children_.size()) +
              " PEs below it have not reported";
    if (held_) text += ", insertion of elements has not ended (doneInserting)";
    text += "\n";
  }
  return text;
}

}  // namespace periapt
