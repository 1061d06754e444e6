// The search for quiescence: PE 0 asks all PEs for their counts, each of which waits until it is idle; the sums come up
// the tree. Two rounds with the same sums, in which as much was handled as was sent, and there is quiescence (F.
// Mattern, "Algorithms for distributed termination detection", Distributed Computing 2, 1987). The search's own
// messages don't count.
#include "runtime/converse/conv_qd.h"

#include <cstring>

#include "runtime/converse/converse_state.h"

namespace periapt {

// What this PE knows of the round under way; `before` on PE 0 alone.
struct QuiescenceSearch {
  bool asked = false, idle = false;
  int answers = 0;
  ConverseCounts sums;
  bool searching = false, again = false;  // on PE 0
  ConverseCounts before{-1, -1};
};

namespace {
enum class QdWord : std::uint32_t { start, count, sums, quiet };

QuiescenceSearch& search_of(Pe& pe) {
  auto& search = ConverseState::of(pe).quiescence;
  if (!search) search = std::make_shared<QuiescenceSearch>();
  return *search;
}

Message say(QdWord word, const ConverseCounts& counts = {}) {
  Message message = converse_system_message(handler_quiescence, sizeof counts);
  message->extra = static_cast<std::uint32_t>(word);
  std::memcpy(message.payload(), &counts, sizeof counts);
  return message;
}
void tell_all(Pe& pe, QdWord word) {
  const Message message = say(word);
  if (CmiNumPes() > 1) pe.broadcast(message);
  pe.send(pe.index, message.share());
}

void end_round(Pe& pe, QuiescenceSearch& search) {
  const ConverseCounts sums = search.sums;
  if (pe.index != 0) return pe.send(CmiSpanTreeParent(pe.index), say(QdWord::sums, sums));
  const ConverseCounts before = std::exchange(search.before, sums);
  const bool still =
      sums.created == sums.processed && sums.created == before.created && sums.processed == before.processed;
  tell_all(pe, still ? QdWord::quiet : QdWord::count);
}

void look_at(Pe& pe) {
  QuiescenceSearch& search = search_of(pe);
  if (!search.asked || !search.idle || search.answers < CmiNumSpanTreeChildren(pe.index)) return;
  const ConverseCounts& mine = ConverseState::of(pe).counts;
  search.sums.created += mine.created;
  search.sums.processed += mine.processed;
  search.asked = search.idle = false;
  search.answers = 0;
  end_round(pe, search);
  search.sums = {};
}

void on_idle(void*) {
  Pe& pe = *Pe::current();
  search_of(pe).idle = true;
  look_at(pe);
}

void quiescence_arrived(Pe& pe, Message message) {
  QuiescenceSearch& search = search_of(pe);
  ConverseCounts counts;
  std::memcpy(&counts, message.payload(), sizeof counts);
  switch (static_cast<QdWord>(message->extra)) {
    case QdWord::start:
      if (search.searching) {
        search.again = true;
        return;
      }
      search.searching = true;
      search.before = {-1, -1};
      return tell_all(pe, QdWord::count);
    case QdWord::count:
      search.asked = true;
      pe.conditions.call_once(scheduler::condition_still_idle, on_idle, nullptr);
      return;
    case QdWord::sums:
      ++search.answers;
      search.sums.created += counts.created;
      search.sums.processed += counts.processed;
      return look_at(pe);
    case QdWord::quiet:
      if (pe.index == 0) {
        search.searching = false;
        if (std::exchange(search.again, false)) pe.send(0, say(QdWord::start));
      }
      return pe.conditions.raise(scheduler::condition_quiescence);
  }
}
const ConverseArrival quiescence_arrives(handler_quiescence, quiescence_arrived);
}  // namespace

}  // namespace periapt

using namespace periapt;

namespace {
ConverseCounts& counts_of(CQdState state) { return *reinterpret_cast<ConverseCounts*>(state); }
}  // namespace

extern "C" {

void CmiStartQD(CQdCondFn fn, void* argument) {
  CQdRegisterCallback(fn, argument);
  require_pe("CmiStartQD").send(0, say(QdWord::start));
}
void CQdRegisterCallback(CQdCondFn fn, void* argument) { CcdCallOnCondition(CcdQUIESCENCE, fn, argument); }
CQdState periapt_qd_state() {
  return reinterpret_cast<CQdState>(&ConverseState::of(require_pe("CpvAccess(cQdState)")).counts);
}
void CQdCreate(CQdState state, CmiInt8 count) { counts_of(state).created += count; }
void CQdProcess(CQdState state, CmiInt8 count) { counts_of(state).processed += count; }
CmiInt8 CQdGetCreated(CQdState state) { return counts_of(state).created; }
CmiInt8 CQdGetProcessed(CQdState state) { return counts_of(state).processed; }
void CQdInit() {}
void CQdCpvInit() {}
}
