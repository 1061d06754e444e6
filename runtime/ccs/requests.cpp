// What becomes of a request: PE 0 has the server and passes each to its PE, or to several, and joins the answers.
#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/secret.h"
#include "machine/bootstrap/resized_start.h"
#include "runtime/api/reduction_message.h"
#include "runtime/ccs/ccs_callback.h"
#include "runtime/ccs/part.h"
#include "runtime/ccs/server.h"
#include "runtime/face/kept_state.h"
#include "runtime/face/startup.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/pup/stl.h"
#include "runtime/registry/registry.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/arguments.h"
#include "runtime/scheduler/process.h"

int CMessage_CkCcsRequestMsg::__idx;

namespace periapt::ccs {
namespace {

constexpr std::uint64_t kLookNs = 1'000'000;

int entry_request, entry_answer;
bool wanted = false;    // ++server
bool is_known = false;  // clients know the port and the token, from an earlier start of this run
ServerConfig config;

struct Handler {
  CmiHandler converse = nullptr;
  CcsHandlerFn function = nullptr;
  void* user = nullptr;
};
// A request on its way to a PE; its handler's name and its bytes follow.
struct RequestHead {
  CcsDelayedReply reply;
  skt_ip_t address;
  std::uint32_t port;
  std::uint32_t name_bytes;
};
struct AnswerHead {
  CcsDelayedReply reply;
  std::uint32_t none;  // there is no answer: the client is left without
};

struct OfPe {
  std::map<std::string, Handler, std::less<>> handlers;
  const RequestHead* running = nullptr;  // the request whose handler runs here
  bool answered = false;                 // it, or its answer was taken along
};
PerPe<OfPe> of_pe;

// What a request to a PE takes beside its name and its bytes: a message in its allocator's block, and its answer.
constexpr std::size_t kBesideBytes = sizeof(Envelope) + sizeof(RequestHead) + sizeof(std::string) + 128;

// On PE 0.
struct Open {
  std::string handler;
  std::vector<std::string> answers;  // by part
  std::vector<bool> there;
  std::size_t missing = 0;
};
struct Front {
  std::unique_ptr<Server> server;  // from start() on
  std::map<std::uint64_t, Open> open;
  std::map<std::string, CcsMergeFn> merges;
  std::map<std::string, CkCallback> callbacks;
};
Front* front = nullptr;

OfPe& here(const char* function) {
  if (!of_pe.initialized())
    fatal(std::string(function) + "() is called before the runtime has begun", "", "",
          "call it on a PE, behind ConverseInit()");
  return of_pe.here();
}

template <class Head>
Message message_of(int entry, const Head& head, std::string_view name, std::string_view bytes) {
  Message message = runtime_message({bytes_of(head), name, bytes}, entry, 0);
  message->flags |= envelope_expedited;  // a program answers and calls CkExit()
  return message;
}

// ---- on PE 0

// A name that a client sent, for a terminal: it may have any bytes, and those from 0x80 on make control characters too.
std::string shown(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char byte) { return byte < ' ' || byte >= 0x7F; }, '?');
  return text;
}

void refuse(const ClientRequest& request, const std::string& why) {
  log::warn("++server: a request for " + shown(request.handler) + " " + why);
  front->server->refuse(request.id);
}

// The PEs that a request is for; empty, and it is refused: it makes no sense.
std::vector<int> receivers(ClientRequest& request, int pes) {
  if (request.pe >= 0) {
    if (request.pe < pes) return {request.pe};
    refuse(request, "is for PE " + std::to_string(request.pe) + ", and there are PEs 0 to " + std::to_string(pes - 1));
    return {};
  }
  std::vector<int> all;
  if (request.pe == -1) {
    all.resize(static_cast<std::size_t>(pes));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::size_t count = static_cast<std::size_t>(-static_cast<std::int64_t>(request.pe));
  if (request.bytes.size() / 4 < count) {
    refuse(request, "is for " + std::to_string(count) + " PEs and does not name them");
    return {};
  }
  // A PE may be named again, and each time it gets the bytes: a long list would make more of some MiB than a host has.
  // What surrounds them counts too: a message, and the room for an answer.
  const std::size_t each = request.bytes.size() - 4 * count + request.handler.size() + kBesideBytes;
  if (count > static_cast<std::size_t>(pes) && count > Server::kRequestMost / each) {
    refuse(request, "names PEs " + std::to_string(count) + " times, and there are PEs 0 to " + std::to_string(pes - 1));
    return {};
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t pe;
    std::memcpy(&pe, request.bytes.data() + 4 * i, sizeof pe);
    pe = ntohl(pe);
    if (pe >= static_cast<std::uint32_t>(pes)) {
      refuse(request, "names PE " + std::to_string(pe) + ", and there are PEs 0 to " + std::to_string(pes - 1));
      return {};
    }
    all.push_back(static_cast<int>(pe));
  }
  request.bytes.erase(0, 4 * count);
  return all;
}

// The number of processes, and of the PEs of each.
std::string shape_of(const Process& process) {
  std::string bytes;
  const auto add = [&bytes](int number) {
    const std::uint32_t there = htonl(static_cast<std::uint32_t>(number));
    bytes.append(reinterpret_cast<const char*>(&there), sizeof there);
  };
  add(process.count());
  for (const bootstrap::Process& one : process.layout().processes) add(one.pes);
  return bytes;
}

void call_back(const CkCallback& callback, const ClientRequest& request, CcsDelayedReply reply) {
  const std::size_t data_at = offsetof(CkCcsRequestMsg, data);
  auto* message = static_cast<CkCcsRequestMsg*>(CkAllocMsg(
      CMessage_CkCcsRequestMsg::__idx, std::max(sizeof(CkCcsRequestMsg), data_at + request.bytes.size()), 0));
  message->reply = reply;
  message->length = static_cast<int>(request.bytes.size());
  std::memcpy(message->data, request.bytes.data(), request.bytes.size());
  callback.send(message);
}

void pass_on(Pe& pe, ClientRequest request) {
  if (request.handler == "ccs_getinfo") return front->server->answer(request.id, shape_of(pe.process));
  const auto callback = front->callbacks.find(request.handler);
  const std::vector<int> to =
      callback != front->callbacks.end() ? std::vector<int>{0} : receivers(request, pe.process.pes());
  if (to.empty()) return;
  Open& open = front->open[request.id];
  open.handler = request.handler;
  open.missing = to.size();
  open.answers.resize(to.size());
  open.there.resize(to.size());
  RequestHead head{
      {request.id, 0, 0}, {}, ntohs(request.client.sin_port), static_cast<std::uint32_t>(request.handler.size())};
  std::memcpy(head.address.data, &request.client.sin_addr, sizeof head.address.data);
  if (callback != front->callbacks.end()) return call_back(callback->second, request, head.reply);
  for (std::size_t part = 0; part < to.size(); ++part) {
    head.reply.part = static_cast<int>(part);
    pe.send(to[part], message_of(entry_request, head, request.handler, request.bytes));
  }
}

std::string join(const Open& open) {
  if (open.answers.size() == 1) return open.answers.front();
  const auto merge = front->merges.find(open.handler);
  std::vector<void*> remotes;
  for (const std::string& answer : open.answers) {
    if (answer.size() != open.answers.front().size() && merge != front->merges.end() &&
        merge->second != CcsMerge_concat)
      fatal("the answers to a request for " + open.handler + " are of different lengths, and can't be merged",
            "++server");
    if (&answer != &open.answers.front()) remotes.push_back(const_cast<char*>(answer.data()));
  }
  if (merge == front->merges.end() || merge->second == CcsMerge_concat) {
    std::string all;
    for (const std::string& answer : open.answers) all += answer;
    return all;
  }
  int size = static_cast<int>(open.answers.front().size());
  void* merged = merge->second(&size, const_cast<char*>(open.answers.front().data()), remotes.data(),
                               static_cast<int>(remotes.size()));
  std::string all(static_cast<const char*>(merged), static_cast<std::size_t>(size));
  std::free(merged);
  return all;
}

void take_answer(const AnswerHead& head, std::string_view bytes) {
  if (front == nullptr) return;  // it comes from a checkpoint of a run that had a server
  const auto open = front->open.find(head.reply.request);
  const auto part = static_cast<std::size_t>(head.reply.part);
  if (open == front->open.end() || part >= open->second.there.size() || open->second.there[part]) {
    log::warn("++server: a request is answered twice, or one of before the run went back to a checkpoint");
    return;
  }
  if (head.none != 0) {
    front->server->refuse(open->first);
    front->open.erase(open);
    return;
  }
  open->second.answers[part] = bytes;
  open->second.there[part] = true;
  if (--open->second.missing > 0) return;
  front->server->answer(open->first, join(open->second));
  front->open.erase(open);
}

void on_answer(Pe&, Delivery& call) {
  const auto head = call.read<AnswerHead>();
  take_answer(head, {static_cast<const char*>(call.arguments) + sizeof head, call.length - sizeof head});
}

void look(void* argument, double) {
  Pe& pe = *static_cast<Pe*>(argument);
  for (ClientRequest& request : front->server->look()) pass_on(pe, std::move(request));
  pe.conditions.call_after(look, &pe, kLookNs, clock::now_ns());
}

// ---- on the request's PE

void send_answer(CcsDelayedReply reply, bool none, int bytes, const void* answer) {
  Pe& pe = *Pe::current();
  if (reply.request == 0) return;
  const AnswerHead head{reply, none ? 1u : 0u};
  const std::string_view given(static_cast<const char*>(answer), static_cast<std::size_t>(bytes));
  // Where the server is, at once: a program on Converse alone may end behind it.
  if (pe.index == 0) return take_answer(head, given);
  pe.send(0, message_of(entry_answer, head, {}, given));
}

void on_request(Pe&, Delivery& call) {
  const auto head = call.read<RequestHead>();
  const char* name = static_cast<const char*>(call.arguments) + sizeof head;
  const char* bytes = name + head.name_bytes;
  const int length = static_cast<int>(call.length - sizeof head - head.name_bytes);
  OfPe& here = of_pe.here();
  const auto found = here.handlers.find(std::string_view(name, head.name_bytes));
  if (found == here.handlers.end()) {
    std::string known;
    for (const auto& [other, handler] : here.handlers) known += (known.empty() ? "" : ", ") + other;
    log::warn("++server: a request for " + shown({name, head.name_bytes}) +
              ", and no handler of that name is registered on PE " + std::to_string(Pe::current()->index) +
              "; there: " + (known.empty() ? "none" : known));
    return send_answer(head.reply, true, 0, nullptr);
  }
  here.running = &head;
  here.answered = false;
  const Handler handler = found->second;
  if (handler.function != nullptr) {
    handler.function(handler.user, length, bytes);
  } else {
    char* message = static_cast<char*>(CmiAlloc(CmiMsgHeaderSizeBytes + length));
    std::memcpy(message + CmiMsgHeaderSizeBytes, bytes, static_cast<std::size_t>(length));
    handler.converse(message);
  }
  if (!here.answered) send_answer(head.reply, false, 0, nullptr);
  here.running = nullptr;
}

CcsDelayedReply taken(const char* function) {
  OfPe& pe = here(function);
  if (pe.running == nullptr)
    fatal(std::string(function) + "() is called outside of the handler of a request", "", "",
          "call CcsDelayReply() in the handler and CcsSendDelayedReply() later");
  if (pe.answered) fatal(std::string(function) + "() is called for a request that is answered already", "");
  pe.answered = true;
  return pe.running->reply;
}

// ---- the part

void take_options(char** argv) {
  char* text = nullptr;
  wanted = CmiGetArgFlagDesc(argv, "++server", "answers requests that come over TCP (CCS)") != 0;
  int port = 0;
  const bool with_port = CmiGetArgIntDesc(argv, "++server-port", &port, "its port; 0: any") != 0;
  const bool with_address = CmiGetArgStringDesc(argv, "++server-address", &text, "where it listens; 127.0.0.1") != 0;
  const bool open = CmiGetArgFlagDesc(argv, "++server-open", "clients need no token") != 0;
  char* keys = nullptr;
  if (CmiGetArgString(argv, "++server-auth", &keys))
    fatal("++server-auth is not there", "command line", "", "++server alone: clients need its token");
  wanted = wanted || with_port || with_address || open;
  if (with_address) config.address = text;
  if (port < 0 || port > 65535)
    fatal("++server-port " + std::to_string(port) + " is no port", "command line", "",
          "0 to 65535; 0: any that is free");
  config.port = port;
  // Clients of a run that goes on with another number of PEs know its port and token.
  if (const auto* resized = bootstrap::ResizedStart::current(); resized != nullptr && resized->server_port != 0) {
    config.port = resized->server_port;
    config.token = resized->server_token;
    is_known = true;
  } else if (!open) {
    unsigned char bytes[Server::kTokenBytes / 2];
    fill_random(bytes, sizeof bytes);
    config.token = hexadecimal(bytes);
  }
}

void begin(Pe& pe) {
  of_pe.initialize();
  if (!wanted || pe.index != 0 || pe.process.layer().partition() != 0) return;
  if (pe.process.is_simulated()) fatal("++server and +sim exclude each other", "command line");
  front = new Front;
}

// Behind a restart, which says where the clients know the server to be.
bool start(Pe& pe) {
  if (front == nullptr || pe.index != 0) return false;
  auto server = Server::open(config);
  if (!server && is_known) {
    // Another program has taken the port meanwhile, which is no reason to end a run that could go on.
    log::warn(server.message() + ": clients have to look for another port");
    config.port = 0;
    is_known = false;
    server = Server::open(config);
  }
  if (!server) fatal(server.message(), "command line", "", "++server-port 0 takes any that is free");
  front->server = std::move(*server);
  if (!is_known) {
    CmiPrintf("ccs: Server IP = %s, Server port = %d $\n", config.address.c_str(), front->server->port());
    if (!config.token.empty()) CmiPrintf("ccs: token %s\n", config.token.c_str());
  }
  look(&pe, 0);
  return false;
}

// ---- over a restart

// The callbacks that a later run can call; and in memory, of a run that goes back to it, the port and the token.
struct Kept {
  int pes = 0;  // of the run
  ServerConfig contact;
  std::map<std::string, CkCallback> callbacks;
  void pup(PUP::er& p) {
    p | pes;
    p | contact.port;
    p | contact.token;
    p | callbacks;
  }
};

bool is_to_chare(const CkCallback& callback) {
  return callback.type == CkCallback::sendChare || callback.type == CkCallback::isendChare;
}
bool can_be_kept(const CkCallback& callback) {
  if (is_to_chare(callback)) {
    // Of chares on other PEs it is not known here whether they are in the checkpoint.
    const CkChareID& chare = callback.d.chare.id;
    const ChareRecord* const record = chare.onPE == 0 ? PeObjects::current().find_chare_record(chare.serial) : nullptr;
    return record != nullptr && record->base != nullptr && is_migratable(record->type);
  }
  return !callback.containsPointer() && callback.type != CkCallback::resumeThread &&
         callback.type != CkCallback::sendFuture && callback.type != CkCallback::replyCCS &&
         callback.type != CkCallback::bcastSection;
}
// The run before may have had more PEs and processes; and singleton chares are there again only on as many PEs.
bool is_there(const CkCallback& callback, int pes_before) {
  const Process& process = *Process::current();
  if (is_to_chare(callback))
    return pes_before == process.pes() || callback.d.chare.id.serial <= registry().mains.size();
  if (callback.type == CkCallback::sendGroup || callback.type == CkCallback::isendGroup)
    return callback.pe < process.pes();
  if (callback.type == CkCallback::sendNodeGroup || callback.type == CkCallback::isendNodeGroup)
    return callback.pe < process.count();
  return true;
}
std::string kept(bool in_memory) {
  if (front == nullptr) return "";
  Kept all;
  all.pes = Process::current()->pes();
  if (in_memory) {
    all.contact.port = front->server->port();
    all.contact.token = config.token;
  }
  for (const auto& [name, callback] : front->callbacks)
    if (can_be_kept(callback)) all.callbacks.emplace(name, callback);
  std::string bytes(PUP::size(all), '\0');
  PUP::toMemBuf(all, bytes.data(), bytes.size());
  return bytes;
}
void take_kept_back(const std::string& bytes) {
  if (front == nullptr || bytes.empty()) return;
  Kept all;
  PUP::fromMemBuf(all, bytes.data(), bytes.size());
  // Beside those that initprocs have registered before.
  for (const auto& [name, callback] : all.callbacks)
    if (is_there(callback, all.pes)) front->callbacks[name] = callback;
  if (all.contact.port == 0) return;
  config.port = all.contact.port;
  config.token = all.contact.token;
  is_known = true;
}

void end(Pe& pe) {
  if (front != nullptr && front->server != nullptr && pe.index == 0) front->server->finish();
}

static_assert(sizeof(CcsDelayedReply) <= sizeof(CkCallback().d.ccsReply), "a callback has room for one");

void answer_by_callback(const CkCallback& callback, void* message) {
  CcsDelayedReply reply;
  std::memcpy(&reply, &callback.d.ccsReply, sizeof reply);
  if (message == nullptr) return CcsSendDelayedReply(reply, 0, nullptr);
  const auto send = [&reply](auto* answer) { CcsSendDelayedReply(reply, answer->getLength(), answer->getData()); };
  const int type = envelope_of(message)->message_type;
  if (type == CMessage_CkDataMsg::__idx) {
    send(static_cast<CkDataMsg*>(message));
  } else if (type == CMessage_CkReductionMsg::__idx) {
    send(static_cast<CkReductionMsg*>(message));
  } else {
    fatal(std::string("a callback that answers a CCS request is sent a message of class ") + message_info(type).name,
          describe_running(*Pe::current()), "an answer is the bytes of a CkDataMsg, or of a reduction's result",
          "send it by the callback's send(length, bytes)");
  }
  CkFreeMsg(message);
}

void register_entries() {
  send_ccs_answer = answer_by_callback;
  keep_state({"ccs", kept, take_kept_back});
  CMessage_CkCcsRequestMsg::__idx = CkRegisterMsg("CkCcsRequestMsg", nullptr, nullptr, nullptr, 0);
  entry_request = register_runtime_entry("ccs: request", on_request, ep_expedited | ep_uncounted | ep_unordered);
  entry_answer = register_runtime_entry("ccs: answer", on_answer, ep_expedited | ep_uncounted | ep_unordered);
}

// ---- merging

template <class T, class Operation>
void* merge(int* size, const void* local, void** remotes, int count, Operation operation) {
  auto* all = static_cast<T*>(std::malloc(static_cast<std::size_t>(*size) + 1));
  std::memcpy(static_cast<void*>(all), local, static_cast<std::size_t>(*size));
  for (int r = 0; r < count; ++r)
    for (std::size_t i = 0; i < static_cast<std::size_t>(*size) / sizeof(T); ++i) {
      T one;
      std::memcpy(&one, static_cast<const char*>(remotes[r]) + i * sizeof(T), sizeof one);
      all[i] = static_cast<T>(operation(all[i], one));
    }
  return all;
}

}  // namespace

Part part() {
  Part part{"ccs"};
  part.register_entries = register_entries;
  part.take_options = take_options;
  part.begin = begin;
  part.start = start;
  part.end = end;
  return part;
}

Contact contact() { return front != nullptr ? Contact{front->server->port(), config.token} : Contact{}; }

}  // namespace periapt::ccs

using namespace periapt::ccs;

CkCallback::CkCallback(const CcsDelayedReply& reply) : type(replyCCS) {
  std::memcpy(&d.ccsReply, &reply, sizeof reply);
}

void CcsRegisterHandler(const char* name, const CkCallback& callback) {
  if (front != nullptr && periapt::Pe::current()->index == 0) front->callbacks[name] = callback;
}

extern "C" {
void CcsRegisterHandler(const char* name, CmiHandler handler) {
  here("CcsRegisterHandler").handlers[name] = {handler, nullptr, nullptr};
}
void CcsRegisterHandlerFn(const char* name, CcsHandlerFn handler, void* user) {
  here("CcsRegisterHandlerFn").handlers[name] = {nullptr, handler, user};
}
void CcsSetMergeFn(const char* name, CcsMergeFn merge) {
  if (front != nullptr && periapt::Pe::current()->index == 0) front->merges[name] = merge;
}
int CcsEnabled() { return wanted ? 1 : 0; }
int CcsIsRemoteRequest() {
  const OfPe& pe = here("CcsIsRemoteRequest");
  return pe.running != nullptr && !pe.answered ? 1 : 0;
}
void CcsCallerId(skt_ip_t* address, unsigned int* port) {
  const RequestHead* running = here("CcsCallerId").running;
  if (running == nullptr) periapt::fatal("CcsCallerId() is called outside of the handler of a request", "");
  *address = running->address;
  *port = running->port;
}
void CcsSendReply(int bytes, const void* answer) { send_answer(taken("CcsSendReply"), false, bytes, answer); }
void CcsSendReplyNoError(int bytes, const void* answer) {
  if (CcsIsRemoteRequest()) CcsSendReply(bytes, answer);
}
void CcsNoReply() { send_answer(taken("CcsNoReply"), true, 0, nullptr); }
CcsDelayedReply CcsDelayReply() { return taken("CcsDelayReply"); }
void CcsSendDelayedReply(CcsDelayedReply reply, int bytes, const void* answer) {
  send_answer(reply, false, bytes, answer);
}
void CcsNoDelayedReply(CcsDelayedReply reply) { send_answer(reply, true, 0, nullptr); }

#define PERIAPT_CCS_MERGE(name, type, expression)                                               \
  void* CcsMerge_##name(int* size, void* local, void** remotes, int count) {                    \
    return merge<type>(size, local, remotes, count, [](type a, type b) { return expression; }); \
  }
#define PERIAPT_CCS_MERGES(name, expression)         \
  PERIAPT_CCS_MERGE(name##_int, int, expression)     \
  PERIAPT_CCS_MERGE(name##_float, float, expression) \
  PERIAPT_CCS_MERGE(name##_double, double, expression)
PERIAPT_CCS_MERGE(logical_and, int, a&& b)
PERIAPT_CCS_MERGE(logical_or, int, a || b)
PERIAPT_CCS_MERGE(bitvec_and, int, a& b)
PERIAPT_CCS_MERGE(bitvec_or, int, a | b)
PERIAPT_CCS_MERGES(sum, a + b)
PERIAPT_CCS_MERGES(product, a* b)
PERIAPT_CCS_MERGES(max, a > b ? a : b)
PERIAPT_CCS_MERGES(min, a < b ? a : b)
// (Answers that are only put behind each other are joined without it: theirs may be of different lengths.)
void* CcsMerge_concat(int* size, void* local, void** remotes, int count) {
  const auto bytes = static_cast<std::size_t>(*size);
  auto* all = static_cast<char*>(std::malloc(bytes * static_cast<std::size_t>(count + 1) + 1));
  std::memcpy(all, local, bytes);
  for (int r = 0; r < count; ++r) std::memcpy(all + bytes * static_cast<std::size_t>(r + 1), remotes[r], bytes);
  *size *= count + 1;
  return all;
}
}
