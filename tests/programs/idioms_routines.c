/* A part of the program in C, with the calls of charm.h that C has. */
#include <charm.h>
#include <queueing.h>

struct note {
  char head[CmiMsgHeaderSizeBytes];
  int value;
};
static int heard = 0;
static void hear(void* message) {
  heard = ((struct note*)message)->value;
  CmiFree(message);
}

/* Sends a Converse message to this PE and runs it; the answer is what it brought, and the number of this PE. */
int idioms_in_c(void) {
  int handler = CmiRegisterHandler(hear);
  struct note* message = (struct note*)CmiAlloc(sizeof(struct note));
  Queue queue = CqsCreate();
  void** all = NULL;
  CkAssert(CkMyPe() >= 0 && CkMyPe() < CkNumPes());
  message->value = 41;
  CmiSetHandler(message, handler);
  CkEnforceMsg(CmiGetHandler(message) == handler, "handler %d", handler);
  CqsEnqueueFifo(queue, message);
  CqsEnumerateQueue(queue, &all);
  if (all[0] != message) CkAbort("a queue of one item holds another");
  free(all);
  CqsDelete(queue);
  CmiHandleMessage(message);
  if (CkGetArgc() < 1 || CkGetArgv()[0] == NULL || CkWallTimer() < 0) CkExit(3);
  return heard + CkMyPe();
}
