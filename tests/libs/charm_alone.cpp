// What programs have by charm++.h alone: CCS, CkMulticastMgr, and the C library's functions as <math.h> declares them.
#include "charm++.h"

static_assert(sizeof(abs(1.5)) == sizeof(double) && sizeof(sqrt(2.0f)) == sizeof(float),
              "not those for int and double");

void answer(CkCcsRequestMsg* request) {
  CcsDelayedReply reply = request->reply;
  CcsSendDelayedReply(reply, request->length, request->data);
  delete request;
}

CkGroupID multicasts(CkArrayID array) {
  CcsRegisterHandler("a name", CkCallback(CkCallback::ignore));
  CProxySection_ArrayElement section;
  CProxy_CkMulticastMgr manager = CProxy_CkMulticastMgr::ckNew();
  CkMulticastMgr* here = manager.ckLocalBranch();
  section.ckSectionDelegate(here);
  return manager;
}

int opened() { return open("a file", O_RDONLY | O_CLOEXEC); }
