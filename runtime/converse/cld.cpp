// Cld: messages that are sent with the function that says how they are queued.
#include "runtime/converse/cld.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "runtime/converse/async.h"
#include "runtime/converse/cld_tokens.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/message_priority.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
struct Said {
  CldPackFn pack = nullptr;
  int bytes = 0, strategy = CQS_QUEUEING_FIFO, priority_bits = 0;
  unsigned* priority = nullptr;
};
Said ask(void* message, int info) {
  Said said;
  void* const function = reinterpret_cast<void*>(CmiHandlerToFunction(info));
  reinterpret_cast<CldInfoFn>(function)(message, &said.pack, &said.bytes, &said.strategy, &said.priority_bits,
                                        &said.priority);
  return said;
}

// Packs it and gives it the handler that queues it; the answer is its length.
int make_ready(void*& message, int info, bool leaves_process, ConverseHandler handler = handler_seed) {
  Said said = ask(message, info);
  if (said.pack && leaves_process) {
    said.pack(&message);
    said = ask(message, info);
  }
  CldSwitchHandler(static_cast<char*>(message), handler);
  CmiSetInfo(message, info);
  return said.bytes;
}

void enqueue_here(void* message, int info) {
  const Said said = ask(message, info);
  CsdEnqueueGeneral(message, said.strategy, said.priority_bits, said.priority);
}

const char* strategy = "rand";
bool seeds_stay = false;
SeedKeeper* keeper_here() { return ConverseState::of(require_pe("CldEnqueue")).seed_keeper; }
int any_of(int count) { return static_cast<int>(static_cast<unsigned>(CrnRand()) % static_cast<unsigned>(count)); }
}  // namespace

void cld_strategy(const char* name, SeedsStay stay) {
  strategy = name;
  seeds_stay = stay == SeedsStay::yes;
}

namespace {
// As its sender gave it to Cld.
char* restored(Message message) {
  if (message.shared()) message = message.copy();
  message->flags = 0;
  message->hops = 0;
  char* const seed = reinterpret_cast<char*>(message.release());
  CldRestoreHandler(seed);
  return seed;
}
void keep(Pe& pe, void* message, int from) {
  Message seed = converse_take(message, ask(message, CmiGetInfo(message)).bytes);
  converse_count(pe, seed);
  ConverseState::of(pe).seed_keeper->keep(std::move(seed), from);
}

void seed_arrived(Pe&, Message message) {
  char* const seed = restored(std::move(message));
  enqueue_here(seed, CmiGetInfo(seed));
}

void seed_given_arrived(Pe& pe, Message message) {
  const int from = message->source;
  keep(pe, restored(std::move(message)), from);
}
const ConverseArrival seed_arrives(handler_seed, seed_arrived);
const ConverseArrival seed_given_arrives(handler_seed_given, seed_given_arrived);
}  // namespace

void cld_keeper(Pe& pe, SeedKeeper* keeper) { ConverseState::of(pe).seed_keeper = keeper; }
Message cld_place_of(const Message& seed) {
  void* const message = const_cast<Envelope*>(seed.envelope());
  const Said said = ask(message, CmiGetInfo(message));
  const bool urgent = said.priority_bits > 0 && said.strategy > CQS_QUEUEING_LIFO;
  if (!urgent && said.strategy != CQS_QUEUEING_LIFO) return {};
  Message place = Message::make(0, urgent ? static_cast<unsigned>(said.priority_bits) : 0);
  if (urgent)
    converse_set_priority(place.envelope(), said.strategy, said.priority);
  else
    place->queueing = Queueing::lifo;
  return place;
}
void cld_give(Pe& pe, int to, Message seed) {
  ++ConverseState::of(pe).counts.processed;  // here; it counts anew where it arrives
  void* message = seed.release();
  const int bytes = make_ready(message, CmiGetInfo(message), !pe.process.is_mine(to), handler_seed_given);
  converse_send(pe, to, converse_take(message, bytes));
}

}  // namespace periapt

using namespace periapt;

extern "C" {

int CldRegisterInfoFn(CldInfoFn info) {
  return CmiRegisterHandler(reinterpret_cast<CmiHandler>(reinterpret_cast<void*>(info)));
}
int CldRegisterPackFn(CldPackFn pack) {
  return CmiRegisterHandler(reinterpret_cast<CmiHandler>(reinterpret_cast<void*>(pack)));
}

void CldEnqueue(int pe, void* message, int info) {
  if (pe == CLD_ANYWHERE && keeper_here()) {
    CmiSetInfo(message, info);
    Pe& here = *Pe::current();
    return keep(here, message, here.index);
  }
  if (pe == CLD_ANYWHERE) pe = seeds_stay ? CmiMyPe() : any_of(CmiNumPes());
  if (pe == CmiMyPe()) return enqueue_here(message, info);
  const bool one = pe != CLD_BROADCAST && pe != CLD_BROADCAST_ALL;
  if (one && (pe < 0 || pe >= CmiNumPes())) {
    fatal("a message for PE " + std::to_string(pe), "CldEnqueue", "the run has " + std::to_string(CmiNumPes()) + " PEs",
          "give a PE, CLD_ANYWHERE, CLD_BROADCAST or CLD_BROADCAST_ALL");
  }
  const int bytes = make_ready(message, info, !one || CmiNodeOf(pe) != CmiMyNode());
  if (pe == CLD_BROADCAST) return CmiSyncBroadcastAndFree(bytes, message);
  if (pe == CLD_BROADCAST_ALL) return CmiSyncBroadcastAllAndFree(bytes, message);
  CmiSyncSendAndFree(pe, bytes, message);
}
void CldEnqueueMulti(int count, const int* pes, void* message, int info) {
  const int bytes = make_ready(message, info, true);
  CmiSyncListSendAndFree(count, pes, bytes, message);
}
void CldEnqueueGroup(CmiGroup group, void* message, int info) {
  const int bytes = make_ready(message, info, true);
  CmiSyncMulticastAndFree(group, bytes, message);
}
void CldNodeEnqueue(int node, void* message, int info) {
  if (node == CLD_ANYWHERE && keeper_here()) return CldEnqueue(CLD_ANYWHERE, message, info);  // any PE of any node
  if (node == CLD_ANYWHERE) node = seeds_stay ? CmiMyNode() : any_of(CmiNumNodes());
  if (node == CmiMyNode()) return enqueue_here(message, info);
  const int bytes = make_ready(message, info, true);
  if (node == CLD_BROADCAST) return CmiSyncNodeBroadcastAndFree(bytes, message);
  if (node == CLD_BROADCAST_ALL) return CmiSyncNodeBroadcastAllAndFree(bytes, message);
  CmiSyncNodeSendAndFree(node, bytes, message);
}
void CldEnqueueWithinNode(void* message, int info) {
  const int bytes = make_ready(message, info, true);
  CmiWithinNodeBroadcast(bytes, message);
}

const char* CldGetStrategy() { return strategy; }
int CldLoad() {
  const ConverseState& state = ConverseState::of(require_pe("CldLoad"));
  return CsdLength() - state.seed_places_left + (state.seed_keeper ? state.seed_keeper->unqueued() : 0);
}
int CldEstimate() {
  int load = CldLoad();
  for (const CldEstimator estimator : ConverseState::of(require_pe("CldEstimate")).estimators) load += estimator();
  return load;
}
void CldRegisterEstimator(CldEstimator estimator) {
  ConverseState::of(require_pe("CldRegisterEstimator")).estimators.push_back(estimator);
}
void CldSwitchHandler(char* message, int handler) {
  CmiSetXHandler(message, CmiGetHandler(message));
  CmiSetHandler(message, handler);
}
void CldRestoreHandler(char* message) { CmiSetHandler(message, CmiGetXHandler(message)); }
}

// --- tokens ----------------------------------------------------------------------------------------------------------

namespace periapt {
struct SeedToken {
  char* seed;        // null: it was taken back
  Envelope* queued;  // what stands for it in the queue
  std::list<SeedToken*>::iterator place;
};

namespace {
std::list<SeedToken*>& tokens() { return ConverseState::of(require_pe("a token of Cld")).seed_tokens; }
scheduler::PriorityKey key_of(const SeedToken& token) {
  return token.queued->priority_bits == 0 ? scheduler::PriorityKey::none() : scheduler::key_of(token.queued);
}

SeedToken* put(char* seed) {
  Pe& pe = require_pe("CldPutToken");
  const Said said = ask(seed, CmiGetInfo(seed));
  const bool urgent = said.priority_bits > 0 && said.strategy > CQS_QUEUEING_LIFO;
  auto* token = new SeedToken{seed, nullptr, {}};
  Message message =
      converse_system_message(handler_seed_token, sizeof token, urgent ? static_cast<unsigned>(said.priority_bits) : 0);
  std::memcpy(message.payload(), &token, sizeof token);
  if (urgent)
    converse_set_priority(message.envelope(), said.strategy, said.priority);
  else
    message->queueing = said.strategy == CQS_QUEUEING_LIFO ? Queueing::lifo : Queueing::fifo;
  token->queued = message.envelope();
  converse_enqueue(pe, std::move(message));
  return token;
}

// How many were sent.
int send_taken(int pe, int count, bool immediate) {
  int sent = 0;
  for (char* seed = nullptr; sent < count; ++sent) {
    CldGetToken(&seed);
    if (seed == nullptr) break;
    const int info = CmiGetInfo(seed);
    void* message = seed;
    Said said = ask(message, info);
    if (said.pack && CmiNodeOf(pe) != CmiMyNode()) {
      said.pack(&message);
      said = ask(message, info);
      CmiSetInfo(message, info);
    }
    CldSwitchHandler(static_cast<char*>(message), CpvAccess(CldBalanceHandlerIndex));
    if (immediate) CmiBecomeImmediate(message);
    CmiSyncSendAndFree(pe, said.bytes, message);
  }
  return sent;
}

void check_rank(const char* function, int rank) {
  if (rank != CmiMyRank())
    fatal(std::string(function) + "() of the PE with the rank " + std::to_string(rank) + " on the one with the rank " +
              std::to_string(CmiMyRank()),
          function, "a PE's tokens are its own, and have no lock", "send that PE a message that asks for them");
}

void seed_token_arrived(Pe& pe, Message message) {
  SeedToken* token;
  std::memcpy(&token, message.payload(), sizeof token);
  ConverseState& state = ConverseState::of(pe);
  char* const seed = token->seed;
  if (seed == nullptr)
    --state.seed_places_left;
  else
    state.seed_tokens.erase(token->place);
  delete token;
  if (seed != nullptr) converse_run(pe, Message(reinterpret_cast<Envelope*>(seed)));
}
const ConverseArrival seed_token_arrives(handler_seed_token, seed_token_arrived);
}  // namespace
}  // namespace periapt

CpvDeclare(int, CldHandlerIndex);
CpvDeclare(int, CldBalanceHandlerIndex);
CpvDeclare(int, CldRelocatedMessages);
CpvDeclare(int, CldLoadBalanceMessages);
CpvDeclare(int, CldMessageChunks);

extern "C" {
void CldPutToken(char* seed) {
  SeedToken* const token = put(seed);
  token->place = tokens().insert(tokens().end(), token);
}
void CldPutTokenPrio(char* seed) {
  SeedToken* const token = put(seed);
  const auto later = std::find_if(tokens().begin(), tokens().end(),
                                  [&](const SeedToken* other) { return !(key_of(*other) < key_of(*token)); });
  token->place = tokens().insert(later, token);
}
void CldGetToken(char** seed) {
  ConverseState& state = ConverseState::of(require_pe("CldGetToken"));
  *seed = nullptr;
  if (state.seed_tokens.empty()) return;
  std::swap(*seed, state.seed_tokens.front()->seed);
  state.seed_tokens.pop_front();
  ++state.seed_places_left;
}
int CldCountTokens() { return static_cast<int>(tokens().size()); }
void CldMultipleSend(int pe, int count, int rank, int immediate) {
  check_rank("CldMultipleSend", rank);
  const int sent = send_taken(pe, count, immediate != 0);
  if (sent == 0) return;
  if (CpvInitialized(CldRelocatedMessages)) CpvAccess(CldRelocatedMessages) += sent;
  if (CpvInitialized(CldMessageChunks)) ++CpvAccess(CldMessageChunks);
}
void CldSimpleMultipleSend(int pe, int count, int rank) {
  check_rank("CldSimpleMultipleSend", rank);
  send_taken(pe, count, false);
}
void CldModuleGeneralInit(char**) {}
}
