// See reduction.h.
#include "runtime/collective/reduction.h"

#include <algorithm>

#include "base/fatal.h"
#include "runtime/api/reduction_fields.h"
#include "runtime/registry/runtime_message.h"

namespace periapt {

using chare::Contribution;

namespace {
int entry_report, entry_start, entry_passive;
}  // namespace

struct Reduction::Header {
  enum Flag : std::uint8_t { late = 1, passive = 2, reduced = 4, whole = 8 };
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

// What begins the payload of a report that is a message, `whole`: in the place of the header that the message of the
// sum gets for the program. Shorter reports are a Header and the data.
struct Reduction::Report {
  Header header;
  CkCallback callback;  // invalid: none
};

void Reduction::register_entries(RuntimeFunction function) {
  static_assert(sizeof(Report) <= Accumulator::data_at);
  entry_report = register_runtime_entry("reduction: partial result", function);
  entry_start = register_runtime_entry("reduction: round begins", function, ep_uncounted);
  entry_passive = register_runtime_entry("reduction: nobody here", function, ep_uncounted);
}

Reduction::Reduction(Sender& sender, int collection, Tree tree, TreePlace place, bool everywhere)
    : sender_(sender),
      collection_(collection),
      tree_(tree),
      everywhere_(everywhere),
      parent_(place.parent),
      children_(std::move(place.children)),
      child_passive_(children_.size(), !everywhere),
      said_passive_(!everywhere) {}

Reduction::Round& Reduction::later_round(std::uint32_t number) {
  while (number >= first_ + rounds_.size()) rounds_.emplace_back();
  return rounds_[number - first_];
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
    alone.sum.add(type, contribution, sender_.next_random());
    return send_report(number, alone, true);
  }
  Round& r = round(number);
  if (callback && r.callback.isInvalid()) r.callback = *callback;
  if (!r.sum.count_only(type, contribution)) r.sum.add(type, contribution, sender_.next_random());
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

void Reduction::OpenRound::pup(PUP::er& p) {
  p | number;
  p | sources;
  p | population;
  p | adjust;
  p | user_flag;
  p | type;
  p | reduced;
  p | callback;
  p | data;
}
void Reduction::State::pup(PUP::er& p) {
  p | first;
  p | population;
  p | client;
  p | rounds;
}

Reduction::State Reduction::state() {
  State state{first_, population_, client_, {}};
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    Round& r = rounds_[i];
    const Contribution sum = r.sum.result();
    OpenRound open{static_cast<std::uint32_t>(first_ + i),
                   sum.sources,
                   r.population,
                   r.adjust,
                   sum.user_flag,
                   r.sum.type(),
                   sum.reduced,
                   r.callback,
                   {}};
    const char* data = static_cast<const char*>(sum.data);
    if (sum.sources > 0) open.data.assign(data, data + sum.size);
    state.rounds.push_back(std::move(open));
  }
  return state;
}

void Reduction::resume(const State& state) {
  base_ = first_ = state.first;
  client_ = state.client;
  if (!is_root()) return;
  population_ = state.population;
  for (const OpenRound& open : state.rounds) {
    Round& r = round(open.number);
    r.population += open.population;
    r.adjust += open.adjust;
    if (r.callback.isInvalid()) r.callback = open.callback;
    if (open.sources == 0) continue;
    r.sum.add(open.type,
              {const_cast<char*>(open.data.data()), open.data.size(), open.sources, open.reduced, open.user_flag},
              sender_.next_random());
    begin(open.number);
  }
}

void Reduction::resume_with_member(const State& state, std::uint32_t contributions, bool counted) {
  hold();
  resume(state);
  counted ? arrived(contributions) : static_cast<void>(born());
  unhold();
}

void Reduction::begin(std::uint32_t number) {
  Round& r = round(number);
  r.begun = true;
  if (r.asked) return;
  r.asked = true;
  for (std::size_t c = 0; c < children_.size(); ++c)
    if (child_passive_[c]) sender_.send(children_[c], entry_start, collection_, tree_of(), number);
}

// Whether a PE of this subtree has to be told of a round.
bool Reduction::passive_subtree() const {
  if (contributors_ == 0) return true;
  for (bool passive : child_passive_)
    if (passive) return true;
  return false;
}

void Reduction::say_passive() {
  if (said_passive_ || is_root() || !passive_subtree()) return;
  said_passive_ = true;
  sender_.send(parent_, entry_passive, collection_, tree_of(), sender_.me);
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
  const Contribution sum = r.sum.result();
  Header header{};
  header.round = number;
  header.sources = sum.sources;
  header.population = r.population;
  header.adjust = r.adjust;
  header.user_flag = sum.user_flag;
  header.type = static_cast<std::uint16_t>(r.sum.type());
  header.size = sum.size;
  if (late) header.flags |= Header::late;
  if (sum.reduced) header.flags |= Header::reduced;
  if (!late) {
    said_passive_ = passive_subtree();
    if (said_passive_) header.flags |= Header::passive;
  }
  // A member that all PEs have contributes at the root too and brings the callback there.
  const bool has_callback = !r.callback.isInvalid() && !everywhere_;
  if (!has_callback && sizeof header + header.size <= inline_arguments_max) {
    char arguments[inline_arguments_max];
    std::memcpy(arguments, &header, sizeof header);
    if (header.size) std::memcpy(arguments + sizeof header, sum.data, header.size);
    return sender_.send(parent_, entry_report, collection_, child_key(), arguments, sizeof header + header.size);
  }
  header.flags |= Header::whole;
  Message message = r.sum.message(sender_.me);
  const Report report{header, has_callback ? r.callback : CkCallback()};
  std::memcpy(message.payload(), static_cast<const void*>(&report), sizeof report);
  sender_.send(parent_,
               runtime_message(std::move(message), entry_report, static_cast<std::uint32_t>(collection_), child_key()));
}

void Reduction::receive(Delivery& call) {
  if (call.entry == entry_report) return on_report(call);
  if (call.entry == entry_start) return on_start(call.read<std::uint32_t>());
  on_passive(call.read<int>());
}

void Reduction::on_report(Delivery& call) {
  Report report{call.read<Header>(), CkCallback()};
  const Header& header = report.header;
  const bool whole = header.flags & Header::whole;
  if (whole) report = call.read<Report>();
  const char* data = static_cast<const char*>(call.arguments) + (whole ? Accumulator::data_at : sizeof(Header));
  const Contribution part{const_cast<char*>(data), header.size, header.sources, (header.flags & Header::reduced) != 0,
                          header.user_flag};
  const auto add_to = [&](Round& r) {
    const ReducerType type = static_cast<ReducerType>(header.type);
    if (!report.callback.isInvalid() && r.callback.isInvalid()) r.callback = report.callback;
    r.adjust += header.adjust;
    if (whole)
      r.sum.add(type, part, std::move(call.message), sender_.next_random());
    else if (!r.sum.count_only(type, part))
      r.sum.add(type, part, sender_.next_random());
  };
  const bool late = header.flags & Header::late;
  if (late && header.round < base_ && !is_root()) {
    Round passing;
    add_to(passing);
    return send_report(header.round, passing, true);
  }
  Round& r = round(header.round);
  add_to(r);
  r.population += header.population;
  if (!late) count_report(r, header.round, pe_of_key(call.element), header.flags & Header::passive);
  if (is_root()) finish_rounds();
}

// The first report of a child.
void Reduction::count_report(Round& r, std::uint32_t number, int child, bool passive) {
  ++r.reports;
  for (std::size_t c = 0; c < children_.size(); ++c)
    if (children_[c] == child) child_passive_[c] = passive;
  if (!everywhere_) say_passive();
  begin(number);
  advance();
}

void Reduction::on_start(std::uint32_t number) {
  for (std::uint32_t n = base_; n <= number; ++n) begin(n);
  advance();
}

// A child's subtree has lost its last contributor somewhere: it hears of the rounds that have begun.
void Reduction::on_passive(int child) {
  for (std::size_t c = 0; c < children_.size(); ++c)
    if (children_[c] == child) child_passive_[c] = true;
  say_passive();
  for (std::uint32_t n = first_; n < first_ + rounds_.size(); ++n)
    if (round(n).begun && n >= base_) sender_.send(child, entry_start, collection_, tree_of(), n);
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
  sender_.deliver(callback, r.sum.result_message(sender_.me, number));
}

std::string Reduction::collection_name() const {
  return tree_ == Tree::processes ? "node group " + std::to_string(collection_) : sender_.name_of(collection_);
}

bool Reduction::open() const {
  for (const Round& r : rounds_)
    if (r.begun) return true;
  return false;
}

std::string Reduction::describe() const {
  std::string text;
  std::int64_t expected = population_;
  for (std::uint32_t n = first_; n < first_ + rounds_.size(); ++n) {
    const Round& r = rounds_[n - first_];
    expected += r.population;
    if (!r.begun) continue;
    text += "reduction " + std::to_string(n) + " of " + collection_name() + ": ";
    if (r.reported) {
      text += "all PEs have reported, and " + std::to_string(r.sum.sources()) + " of " +
              std::to_string(expected + r.adjust) + " contributors have contributed\n";
      continue;
    }
    text += std::to_string(r.given) + " of " + std::to_string(contributors_) + " contributors on PE " +
            std::to_string(sender_.me) + " have contributed";
    if (r.reports < children_.size())
      text += ", " + std::to_string(children_.size() - r.reports) + " of " + std::to_string(children_.size()) +
              " PEs below it have not reported";
    if (held_) text += ", insertion of elements has not ended (doneInserting)";
    text += "\n";
  }
  return text;
}

}  // namespace periapt
