// Making and sending callbacks.
#include "runtime/api/callback.h"

#include "base/fatal.h"
#include "runtime/api/ck_future.h"
#include "runtime/collective/quiescence.h"
#include "runtime/face/entry_calls.h"
#include "runtime/face/qd.h"
#include "runtime/face/startup.h"
#include "runtime/face/user_driven.h"
#include "runtime/objects/futures.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"

using periapt::entry_info;
using periapt::Message;
using periapt::Pe;
using periapt::PeObjects;

namespace {
bool inlines(int ep, bool force) { return force || (entry_info(ep).flags & periapt::ep_inline); }
int entry_call_c_function;
int entry_call_c_function_far;
struct CCall {
  CkCallbackFn fn;
  void* param;
  void* message;
};
char anchor;  // moves with the program's code
}  // namespace

namespace periapt {
namespace {

// To another process the message goes itself, packed; what its envelope has no use for meanwhile says what is to be
// done.
void send_c_call_far(Pe& here, int pe, CkCallbackFn fn, void* param, void* payload) {
  Message message = payload ? given_away(payload) : Message::make(0);
  const auto parameter = reinterpret_cast<std::uintptr_t>(param);
  message->collection = static_cast<std::uint32_t>(parameter);
  message->extra = static_cast<std::uint32_t>(parameter >> 32);
  message->spare = payload ? 1 : 0;
  send_whole(here, pe, entry_call_c_function_far, reinterpret_cast<std::uintptr_t>(fn), std::move(message));
}

void call_c_function_far(Pe& pe, Delivery& call) {
  const auto fn = reinterpret_cast<CkCallbackFn>(static_cast<std::uintptr_t>(call.element));
  const auto parameter =
      static_cast<std::uintptr_t>(call.message->extra) << 32 | static_cast<std::uintptr_t>(call.collection);
  if (!call.message->spare) return fn(reinterpret_cast<void*>(parameter), nullptr);
  Message message = received_whole(call);
  message->spare = 0;
  message->extra = 0;  // which a [sync] entry would take for a future
  fn(reinterpret_cast<void*>(parameter), payload_of(message.release()));
}

// Arrays and groups: the object itself runs the entry now, as a callback that is sent inline asks for.
void run_on(const CkGroupID& collection, int ep, void* object, void* message, const ThreadOwner& owner) {
  PeObjects& objects = PeObjects::current();
  objects.run_now(ep, object_for_entry(objects.find_group(collection.idx)->type, ep, object), message, owner);
}

// To what runs an entry: a chare, members of a group, elements of an array.
void send_to_entry(const CkCallback& callback, void* message, int options) {
  const auto& d = callback.d;
  const int ep = callback.ep, pe = callback.pe;
  const unsigned how = send_flags(options);
  switch (callback.type) {
    case CkCallback::sendChare:
      return send_message(CProxy_Chare(d.chare.id), ep, how, message);
    case CkCallback::isendChare:
      return CkSendMsgInline(ep, message, &d.chare.id, options);
    case CkCallback::sendGroup:
      return send_message(CProxyElement_Group(d.group.id, pe), ep, how, message);
    case CkCallback::isendGroup: {
      void* object = pe == Pe::current()->index ? local_branch(d.group.id) : nullptr;
      if (!object) return send_message(CProxyElement_Group(d.group.id, pe), ep, how, message);
      return run_on(d.group.id, ep, object, message, {});
    }
    case CkCallback::isendNodeGroup:
    case CkCallback::sendNodeGroup:
      return send_message(CProxyElement_NodeGroup(d.group.id, pe), ep, how, message);
    case CkCallback::sendArray:
    case CkCallback::isendArray: {
      const CProxyElement_ArrayBase element(d.array.id, d.array.index.asChild());
      void* object = callback.type == CkCallback::isendArray ? local_object(element) : nullptr;
      if (!object) return send_message(element, ep, how, message);
      return run_on(d.array.id, ep, object, message, ThreadOwner::of(element.ckLocal()));
    }
    case CkCallback::bcastGroup:
      return send_message(CProxy_Group(d.group.id), ep, how, message);
    case CkCallback::bcastNodeGroup:
      return send_message(CProxy_NodeGroup(d.group.id), ep, how, message);
    case CkCallback::bcastArray:
      return send_message(CProxy_ArrayBase(d.array.id), ep, how, message);
    case CkCallback::bcastSection:
      return PeObjects::current().send_to_section(pe, d.section.id, ep, message);
    default:
      break;  // send() has seen to the others
  }
}

}  // namespace

void (*send_ccs_answer)(const CkCallback& callback, void* message) = [](const CkCallback&, void*) {
  fatal("a callback that answers a CCS request is sent", describe_running(*Pe::current()),
        "its main() does not hand the parts of the runtime to run_program()", "link with charmc");
};

void register_callback_entries() {
  entry_call_c_function = register_runtime_entry("callback: C function", [](Pe& pe, Delivery& call) {
    const CCall c = call.read<CCall>();
    c.fn(c.param, c.message);
  });
  entry_call_c_function_far = register_runtime_entry("callback: C function, from another process", call_c_function_far);
}
}  // namespace periapt

CkCallback::CkCallback(callbackType t) : type(t) {
  if (t == resumeThread) {
    pe = Pe::current()->index;
    d.future.id = PeObjects::current().futures->create();
  }
}
CkCallback::CkCallback(Ck1CallbackFn fn) : type(call1Fn) {
  d.c1fn.from_anchor = reinterpret_cast<std::intptr_t>(fn) - reinterpret_cast<std::intptr_t>(&anchor);
}
CkCallback::CkCallback(CkCallbackFn fn, void* param) : type(callCFn), pe(Pe::current()->index) {
  d.cfn.fn = fn;
  d.cfn.param = param;
}
CkCallback::CkCallback(int ep, const CkChareID& id, bool force)
    : type(inlines(ep, force) ? isendChare : sendChare), ep(ep) {
  d.chare.id = id;
}
CkCallback::CkCallback(int ep, const CProxy_NodeGroup& group) : type(bcastNodeGroup), ep(ep) {
  d.group.id = group.ckGetGroupID();
}
CkCallback::CkCallback(int ep, const CkGroupID& id, bool is_node_group)
    : type(is_node_group ? bcastNodeGroup : bcastGroup), ep(ep) {
  d.group.id = id;
}
CkCallback::CkCallback(int ep, int onPE, const CProxy_NodeGroup& group, bool force)
    : CkCallback(ep, onPE, group.ckGetGroupID(), force, true) {}
CkCallback::CkCallback(int ep, int onPE, const CkGroupID& id, bool force, bool is_node_group) : ep(ep), pe(onPE) {
  type = is_node_group ? (inlines(ep, force) ? isendNodeGroup : sendNodeGroup)
                       : (inlines(ep, force) ? isendGroup : sendGroup);
  d.group.id = id;
}
CkCallback::CkCallback(int ep, const CProxyElement_Group& group, bool force)
    : CkCallback(ep, group.ckGetGroupPe(), group.ckGetGroupID(), force) {}
CkCallback::CkCallback(int ep, const CProxyElement_NodeGroup& group, bool force)
    : CkCallback(ep, group.ckGetGroupPe(), group.ckGetGroupID(), force, true) {}
CkCallback::CkCallback(int ep, const CkArrayID& id) : type(bcastArray), ep(ep) { d.array.id = id; }
CkCallback::CkCallback(int ep, const CkArrayIndex& index, const CkArrayID& id, bool force)
    : type(inlines(ep, force) ? isendArray : sendArray), ep(ep) {
  d.array.id = id;
  d.array.index = index;
}
CkCallback::CkCallback(int ep, const CProxyElement_ArrayBase& element, bool force)
    : CkCallback(ep, element.ckGetIndex(), element.ckGetArrayID(), force) {}
CkCallback::CkCallback(int ep, const CProxySection_ArrayBase& section, bool) : type(bcastSection), ep(ep) {
  pe = Pe::current()->index;
  d.section.id = PeObjects::current().keep_section(section);
}
CkCallback::CkCallback(int ep, const CkSectionID& section) : type(bcastSection), ep(ep) {
  pe = Pe::current()->index;
  d.section.id = PeObjects::current().keep_section(CProxySection_ArrayBase(section));
}
CkCallback::CkCallback(Chare* object, int ep, bool force) : CkCallback(ep, object->ckGetChareID(), force) {}
CkCallback::CkCallback(Group* object, int ep, bool force)
    : CkCallback(ep, Pe::current()->index, object->ckGetGroupID(), force) {}
CkCallback::CkCallback(NodeGroup* object, int ep, bool force)
    : CkCallback(ep, Pe::current()->process.rank(), object->ckGetGroupID(), force, true) {}
CkCallback::CkCallback(ArrayElement* object, int ep, bool force)
    : CkCallback(ep, object->ckGetArrayIndex(), object->ckGetArrayID(), force) {}
CkCallback::CkCallback(CkFuture future) : type(sendFuture), pe(future.pe) { d.future.id = future.id; }

bool CkCallback::containsPointer() const { return type == callCFn || type == call1Fn; }

bool CkCallback::operator==(const CkCallback& o) const {
  return type == o.type && has_refnum == o.has_refnum && refnum == o.refnum && ep == o.ep && pe == o.pe &&
         std::memcmp(&d, &o.d, sizeof d) == 0;
}

const char* CkCallback::typeName(callbackType type) {
  static const char* const names[] = {"invalid",        "ignore",     "ckExit",         "resumeThread",  "callCFn",
                                      "call1Fn",        "sendChare",  "sendGroup",      "sendNodeGroup", "sendArray",
                                      "isendChare",     "isendGroup", "isendNodeGroup", "isendArray",    "bcastGroup",
                                      "bcastNodeGroup", "bcastArray", "bcastSection",   "replyCCS",      "sendFuture"};
  return type <= sendFuture ? names[type] : "unknown";
}

void CkCallback::transformBcastToLocalElem(int to) {
  if (type == bcastGroup) {
    type = sendGroup;
    pe = to == -1 ? Pe::current()->index : to;
  } else if (type == bcastNodeGroup) {
    type = sendNodeGroup;
    pe = to == -1 ? Pe::current()->process.rank() : to;
  } else {
    periapt::fatal(std::string("transformBcastToLocalElem() of a callback of type ") + typeName(type),
                   describe_running(*Pe::current()), "only broadcasts to groups can become local");
  }
}

void CkCallback::send(int length, const void* data) const { send(CkDataMsg::buildNew(length, data)); }

void CkCallback::send(void* message, int options) const {
  Pe& here = *Pe::current();
  using namespace periapt;
  if (message && has_refnum) {
    message = payload_of(given_away(message).release());  // the number is none of another holder's
    CkSetRefNum(message, refnum);
  }
  switch (type) {
    case invalid:
      fatal("a callback is sent that was never set", describe_running(here), "",
            "construct it with a target, or check isInvalid()");
    case ignore:
      return CkFreeMsg(message);
    case ckExit:
      CkFreeMsg(message);
      return UserDriven::is_on() ? UserDriven::request_stop() : request_exit(0);
    case resumeThread:
    case sendFuture:
      return Futures::send(here, CkFuture{d.future.id, pe}, message);
    case call1Fn:
      return reinterpret_cast<Ck1CallbackFn>(d.c1fn.from_anchor + reinterpret_cast<std::intptr_t>(&anchor))(message);
    case callCFn: {
      if (pe == here.index) return d.cfn.fn(d.cfn.param, message);
      if (!here.process.is_mine(pe)) return send_c_call_far(here, pe, d.cfn.fn, d.cfn.param, message);
      return send_runtime(here, pe, entry_call_c_function, 0, 0, CCall{d.cfn.fn, d.cfn.param, message});
    }
    case replyCCS:
      return send_ccs_answer(*this, message);
    default:
      break;
  }
  // An entry gets an empty message where there is none; entries of other types must match what the sender built.
  if (!message) {
    message = CkAllocSysMsg();
    if (has_refnum) CkSetRefNum(message, refnum);
  }
  send_to_entry(*this, message, options);
}

void* CkCallback::thread_delay() const {
  if (type != resumeThread)
    periapt::fatal(std::string("thread_delay() of a callback of type ") + typeName(type),
                   describe_running(*Pe::current()), "only a resumeThread callback can be waited for");
  return PeObjects::current().futures->take(d.future.id);
}

// --- quiescence ------------------------------------------------------------------------------------------------------

void CkStartQD(const CkCallback& callback) { PeObjects::current().quiescence->start(callback); }
void CkStartQD(int ep, const CkChareID* chare) { CkStartQD(CkCallback(ep, *chare)); }
void CkWaitQD() {
  CkCallback done(CkCallback::resumeThread);
  CkStartQD(done);
  CkFreeMsg(done.thread_delay());
}
void QdCreate(int n) { Pe::current()->created += static_cast<std::uint64_t>(n); }
void QdProcess(int n) { Pe::current()->processed += static_cast<std::uint64_t>(n); }
