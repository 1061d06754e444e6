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

/* Routines that Fortran calls as idioms_put(at, value) and idioms_twice(value), by their addresses. */
CMI_EXPORT void idioms_put(int* at, int value) { *at = value; }
CMI_EXPORT int idioms_twice(int value) { return 2 * value; }
FORTRAN_AS_C(IDIOMS_PUT, idioms_put, idioms_put, (int* at, const int* value), (at, *value))
FORTRAN_AS_C_RETURN(int, IDIOMS_TWICE, idioms_twice, idioms_twice, (const int* value), (*value))

static CMI_NOOPTIMIZE int checked(int put, int twice) {
  if (put == 20 && twice == 40) return CK_ALIGN(twice, 16);
  CkAbort("routines for Fortran give %d and %d in place of 20 and 40", put, twice);
  CMI_NORETURN_FUNCTION_END
}

/* Sends a Converse message to this PE and runs it; the answer is what it brought, and the number of this PE. */
int idioms_in_c(void) {
  int handler = CmiRegisterHandler(hear);
  struct note* message = (struct note*)CmiAlloc(sizeof(struct note));
  Queue queue = CqsCreate();
  void** all = NULL;
  const int given = 20;
  int put = 0;
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
  idioms_put_(&put, &given);
  if (checked(put, idioms_twice_(&given)) != 48) CkExit(4);
  if (CkGetArgc() < 1 || CkGetArgv()[0] == NULL || CkWallTimer() < 0) CkExit(3);
  return heard + CkMyPe();
}
