// See section_reduction.h.
#include "runtime/sections/section_reduction.h"

#include "base/fatal.h"
#include "runtime/api/reduction_fields.h"
#include "runtime/registry/runtime_message.h"

namespace periapt {

using chare::Contribution;

namespace {
int entry_report, entry_flush;
}  // namespace

struct SectionReduction::Header {
  enum Flag : std::uint8_t { extra = 1, reduced = 2, whole = 4 };
  std::uint32_t round;
  std::uint32_t members;
  std::uint32_t sources;
  std::int32_t user_flag;
  std::uint16_t type;
  std::uint8_t flags;
  std::uint8_t unused[5];
  std::uint64_t size;
};

// What begins the payload of a report that is a message, `whole`, in the place of the header that the message of the
// sum gets for the program. Shorter reports are a Header and the data.
struct SectionReduction::Report {
  Header header;
  CkCallback callback;  // invalid: none
};

SectionReduction::SectionReduction(Sender& sender, int root, std::uint32_t number)
    : sender_(sender), root_(root), number_(number) {}

void SectionReduction::register_entries(RuntimeFunction function) {
  static_assert(sizeof(Header) % 16 == 0 && sizeof(Report) <= Accumulator::data_at);
  entry_report = register_runtime_entry("section: partial result", function);
  entry_flush = register_runtime_entry("section: no longer waits for members", function);
}

bool SectionReduction::is_report(const Delivery& call) { return call.entry == entry_report; }

void SectionReduction::receive(Delivery& call) {
  if (is_report(call)) return on_report(call);
  if (section_version_of(call.element) != place_.version) return;  // the setup since then has done as much
  on_flush(call.read<std::uint32_t>());
}

void SectionReduction::set_place(Place place) {
  place_ = std::move(place);
  if (is_root()) {
    for (std::uint32_t n = first_; n < first_ + rounds_.size(); ++n)
      if (Round& r = round(n); r.members != 0) {
        r.done = false;
        r.given = 0;
        flush(n);
      }
    return;
  }
  for (std::uint32_t n = first_; n < first_ + rounds_.size(); ++n)
    if (Round& r = round(n); !r.done && r.sum.sources() > 0) send_sum(root_, n, r, true);
  rounds_.clear();
  first_ = place_.first_open;
}

// --- contributions ---------------------------------------------------------------------------------------------------

void SectionReduction::add_own(Round& r, std::uint32_t members, ReducerType type, const Contribution& contribution,
                               const CkCallback* callback) {
  r.members = members;
  if (callback && r.callback.isInvalid()) r.callback = *callback;
  if (!r.sum.count_only(type, contribution)) r.sum.add(type, contribution, sender_.next_random());
  ++r.given;
}

void SectionReduction::contribute(std::uint32_t number, std::uint32_t members, ReducerType type,
                                  const Contribution& contribution, const CkCallback* callback) {
  if (is_root()) {
    if (passed(number)) too_many(number, members);
    Round& r = round(number);
    add_own(r, members, type, contribution, callback);
    if (r.given > place_.expected && !r.done) flush(number);
    return finish_rounds();
  }
  if (place_.expected == 0 || is_done(number) || round(number).given == place_.expected) {
    Round alone;
    add_own(alone, members, type, contribution, callback);
    return send_sum(root_, number, alone, true);
  }
  add_own(round(number), members, type, contribution, callback);
  check(number);
}

// Below the root: whether all that the round waits for here has come.
void SectionReduction::check(std::uint32_t number) {
  Round& r = round(number);
  if (r.given < place_.expected || r.reports < place_.children.size()) return;
  send_sum(place_.parent, number, r, false);
  r.done = true;
  drop_done();
}

void SectionReduction::drop_done() {
  while (!rounds_.empty() && rounds_.front().done) {
    rounds_.pop_front();
    ++first_;
  }
}

// --- reports ---------------------------------------------------------------------------------------------------------

void SectionReduction::send_sum(int to, std::uint32_t number, Round& r, bool extra) {
  const Contribution sum = r.sum.result();
  Header header{};
  header.round = number;
  header.members = r.members;
  header.sources = sum.sources;
  header.user_flag = sum.user_flag;
  header.type = static_cast<std::uint16_t>(r.sum.type());
  header.size = sum.size;
  if (extra) header.flags |= Header::extra;
  if (sum.reduced) header.flags |= Header::reduced;
  const std::uint64_t key = section_key(number_, place_.version);
  if (r.callback.isInvalid() && sizeof header + header.size <= inline_arguments_max) {
    char arguments[inline_arguments_max];
    std::memcpy(arguments, &header, sizeof header);
    if (header.size) std::memcpy(arguments + sizeof header, sum.data, header.size);
    return sender_.send(to, entry_report, root_, key, arguments, sizeof header + header.size);
  }
  header.flags |= Header::whole;
  Message message = r.sum.message(sender_.me);
  const Report report{header, r.callback};
  std::memcpy(message.payload(), static_cast<const void*>(&report), sizeof report);
  sender_.send(to, runtime_message(std::move(message), entry_report, static_cast<std::uint32_t>(root_), key));
}

void SectionReduction::on_report(Delivery& call) {
  Report report{call.read<Header>(), CkCallback()};
  const Header& header = report.header;
  const bool whole = header.flags & Header::whole;
  if (whole) report = call.read<Report>();
  const bool extra = (header.flags & Header::extra) || section_version_of(call.element) != place_.version;
  if (is_root() && passed(header.round)) too_many(header.round, header.members);
  const bool passes = !is_root() && (extra || is_done(header.round));
  Round passing;
  Round& r = passes ? passing : round(header.round);
  const char* data = static_cast<const char*>(call.arguments) + (whole ? Accumulator::data_at : sizeof(Header));
  const Contribution part{const_cast<char*>(data), header.size, header.sources, (header.flags & Header::reduced) != 0,
                          header.user_flag};
  const ReducerType type = static_cast<ReducerType>(header.type);
  r.members = header.members;
  if (r.callback.isInvalid()) r.callback = report.callback;
  if (whole)
    r.sum.add(type, part, std::move(call.message), sender_.next_random());
  else if (!r.sum.count_only(type, part))
    r.sum.add(type, part, sender_.next_random());
  if (passes) return send_sum(root_, header.round, passing, true);
  if (is_root()) {
    if (extra && !r.done) flush(header.round);
    return finish_rounds();
  }
  ++r.reports;
  check(header.round);
}

// --- flushes ---------------------------------------------------------------------------------------------------------

// Root. Not needed for what is about to be complete.
void SectionReduction::flush(std::uint32_t number) {
  Round& r = round(number);
  if (r.sum.sources() >= r.members) return;
  r.done = true;
  for (int child : place_.children)
    sender_.send(child, entry_flush, root_, section_key(number_, place_.version), number);
}

void SectionReduction::on_flush(std::uint32_t number) {
  for (int child : place_.children)
    sender_.send(child, entry_flush, root_, section_key(number_, place_.version), number);
  if (is_done(number)) return;
  Round& r = round(number);
  if (r.sum.sources() > 0) send_sum(root_, number, r, true);
  r.done = true;
  drop_done();
}

// --- results ---------------------------------------------------------------------------------------------------------

void SectionReduction::finish_rounds() {
  while (!rounds_.empty()) {
    Round& r = rounds_.front();
    if (r.members == 0 || r.sum.sources() < r.members) return;
    if (r.sum.sources() > r.members) too_many(first_, r.members);
    Round complete = std::move(r);
    rounds_.pop_front();
    deliver(first_++, complete);
  }
}

void SectionReduction::deliver(std::uint32_t number, Round& r) {
  const CkCallback& callback = r.callback.isInvalid() ? client_ : r.callback;
  if (callback.isInvalid())
    fatal("a reduction has finished and nobody wants its result",
          "reduction " + std::to_string(number) + " of " + name(), "contribute() was called without a callback",
          "give contribute() a CkCallback, or set one with setReductionClient()");
  sender_.deliver(callback, r.sum.result_message(sender_.me, number));
}

void SectionReduction::too_many(std::uint32_t number, std::uint32_t members) const {
  fatal("a section's reduction gets more contributions than the section has members",
        "reduction " + std::to_string(number) + " of " + name() + ", which has " + std::to_string(members) +
            (members == 1 ? " member" : " members"),
        "a member contributed twice with the same count: its CkSectionInfo was made anew, or copied",
        "keep one CkSectionInfo a section in each member (and pup it), and pass that to CkGetSectionInfo() and "
        "contribute()");
}

std::string SectionReduction::name() const {
  return "section " + std::to_string(number_) + " of PE " + std::to_string(root_);
}

bool SectionReduction::open() const {
  for (const Round& r : rounds_)
    if (!r.done && r.sum.sources() > 0)
      return true;
    else if (is_root() && r.members != 0)
      return true;
  return false;
}

std::string SectionReduction::describe() const {
  std::string text;
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    const Round& r = rounds_[i];
    if (r.sum.sources() == 0 || (r.done && !is_root())) continue;
    text += "reduction " + std::to_string(first_ + i) + " of " + name() + ": PE " + std::to_string(sender_.me) +
            " has " + std::to_string(r.sum.sources()) + " of " + std::to_string(r.members) + " contributions\n";
  }
  return text;
}

}  // namespace periapt
