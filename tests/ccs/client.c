// A client of requests.cpp in C: client HOST PORT TOKEN WHAT, where a TOKEN - is none. What goes wrong ends it with the
// number of the line. As C++ too.
#ifdef PERIAPT_CLIENT_WHOLE
#include "ccs-client.C"
#else
#include "ccs-client.h"
#endif
#include "expect.h"

static int broken_code = 0;
static int note_broken(SOCKET socket, int code, const char* message) {
  (void)socket;
  fprintf(stderr, "told: %s\n", message);
  broken_code = code;
  return -1;
}

static int answer_is(CcsServer* server, const char* wanted) {
  char answer[100] = "";
  return CcsRecvResponse(server, 99, answer, 60) == (int)strlen(wanted) && strcmp(answer, wanted) == 0;
}

static void ask_one_by_one(CcsServer* server) {
  int node, pe;
  char words[100];
  EXPECT(CcsNodeFirst(server, 0) == 0);
  for (node = 0; node + 1 < CcsNumNodes(server); ++node)
    EXPECT(CcsNodeFirst(server, node + 1) == CcsNodeFirst(server, node) + CcsNodeSize(server, node));
  EXPECT(CcsNodeFirst(server, node) + CcsNodeSize(server, node) == CcsNumPes(server));
  for (pe = 0; pe < CcsNumPes(server); ++pe) {
    EXPECT(CcsSendRequest(server, "echo", pe, 5, "this") == 0);
    snprintf(words, sizeof words, "PE %d has this", pe);
    EXPECT(answer_is(server, words));
  }
  printf("%d processes, %d PEs\n", CcsNumNodes(server), CcsNumPes(server));
}

static void ask_several(CcsServer* server) {
  const int pes = CcsNumPes(server);
  int numbers[2], sum = 0, pe, all[3], size;
  void* bytes;
  for (pe = 0; pe < pes; ++pe) sum += 10 + pe;
  EXPECT(CcsSendBroadcastRequest(server, "number", 0, NULL) == 0);
  EXPECT(CcsRecvResponse(server, (int)sizeof numbers, numbers, 60) == (int)sizeof numbers[0] && numbers[0] == sum);
  EXPECT(CcsSendRequest(server, "number", -1, 0, NULL) == 0);
  EXPECT(CcsRecvResponseMsg(server, &size, &bytes, 60) == (int)sizeof(int) && size == (int)sizeof(int));
  EXPECT(memcmp(bytes, &sum, sizeof sum) == 0);
  free(bytes);
  all[0] = pes - 1, all[1] = 0, all[2] = pes - 1;
  EXPECT(CcsSendMulticastRequest(server, "echo", 3, all, 2, "x") == 0);
  EXPECT(all[0] == pes - 1 && all[1] == 0);  // they are as they were
  EXPECT(CcsRecvResponseMsg(server, &size, &bytes, 60) == size && size == 10 * 3);
  EXPECT(memcmp((char*)bytes + 10, "PE 0 has x", 10) == 0);
  free(bytes);
  EXPECT(CcsSendMulticastRequest(server, "number", 1, all, 0, NULL) == 0);
  EXPECT(CcsRecvResponse(server, (int)sizeof numbers, numbers, 60) == (int)sizeof(int) && numbers[0] == 9 + pes);
}

static void ask_much(CcsServer* server) {
  const int bytes = 5000000;
  int i, size;
  void* answer;
  char* request = (char*)malloc((size_t)bytes);
  for (i = 0; i < bytes; ++i) request[i] = (char)(i * 7919 >> 3);
  EXPECT(CcsSendRequest(server, "reverse", CcsNumPes(server) - 1, bytes, request) == 0);
  EXPECT(CcsRecvResponseMsg(server, &size, &answer, 60) == bytes);
  for (i = 0; i < bytes; ++i) EXPECT(((char*)answer)[i] == request[bytes - 1 - i]);
  free(answer);
  free(request);
}

static void probe(CcsServer* server) {
  char answer[4];
  int i;
  EXPECT(CcsProbe(server) == 0);
  EXPECT(CcsSendRequest(server, "count", 0, 0, NULL) == 0);
  EXPECT(CcsProbeTimeout(server, 60000) == 1 && CcsProbe(server) == 1);
  EXPECT(CcsRecvResponse(server, (int)sizeof answer, answer, 0) == 1 && answer[0] == '0');
  for (i = 0; i < 300; ++i) {  // given up, each by the next
    EXPECT(CcsSendRequest(server, "echo", 0, 2, "x") == 0);
    if (i % 2 == 0) EXPECT(CcsNoResponse(server) == 0);
  }
  EXPECT(answer_is(server, "PE 0 has x"));
  EXPECT(CcsSendRequest(server, "silent", 0, 0, NULL) == 0 && answer_is(server, ""));
}

// Each with its sentence, and the connection goes on.
static void ask_wrongly(CcsServer* server) {
  int pes[2] = {0, 0};
  char small[4];
  CcsSec_secretKey key;
  pes[1] = CcsNumPes(server);
  EXPECT(CcsRecvResponse(server, 4, small, 60) == -1);
  EXPECT(CcsSendRequest(server, "echo", CcsNumPes(server), 0, NULL) == -1);
  EXPECT(CcsSendRequest(server, "echo", -2, 0, NULL) == -1);
  EXPECT(CcsSendMulticastRequest(server, "echo", 2, pes, 0, NULL) == -1);
  EXPECT(CcsSendMulticastRequest(server, "echo", 0, pes, 0, NULL) == -1);
  EXPECT(CcsSendRequest(server, "a name that is longer than 31 bytes", 0, 0, NULL) == -1);
  EXPECT(CcsSendRequest(server, "echo", 0, -1, NULL) == -1);
  EXPECT(CcsNodeSize(server, CcsNumNodes(server)) == -1 && CcsNodeFirst(server, -1) == -1);
  EXPECT(CcsSendRequest(server, "echo", 0, 2, "x") == 0);
  EXPECT(CcsRecvResponse(server, 4, small, 60) == -1);  // it is longer
  EXPECT(CCS_AUTH_makeSecretKey("", &key) == 0 && CCS_AUTH_makeSecretKey("token", &key) == 0);
  EXPECT(CCS_AUTH_makeSecretKey("0123456789abcdef0123456789abcdef0", &key) == 0);
  EXPECT(CCS_AUTH_makeSecretKey("1", &key) == 1 && key.data[0] == 0x10);

  skt_set_abort(note_broken);
  EXPECT(CcsSendRequest(server, "bananas", 0, 0, NULL) == 0);
  EXPECT(CcsRecvResponse(server, 4, small, 60) == -1 && broken_code == 93620);
  EXPECT(CcsSendRequest(server, "echo", 0, 2, "x") == 0 && answer_is(server, "PE 0 has x"));
}

int main(int argc, char** argv) {
  CcsServer server;
  CcsSec_secretKey key;
  char answer[3];
  const char* what = argc > 4 ? argv[4] : "";
  const int has_key = argc > 4 && strcmp(argv[3], "-") != 0;
  // Seconds to wait for the connection and for an answer: few only where nothing is to come.
  const int connecting = argc > 5 ? atoi(argv[5]) : 60, answering = argc > 6 ? atoi(argv[6]) : 60;
  if (argc < 5) return 2;
  EXPECT(!has_key || CCS_AUTH_makeSecretKey(argv[3], &key));
  if (CcsConnectWithTimeout(&server, argv[1], atoi(argv[2]), has_key ? &key : NULL, connecting) != 0) return 3;
  if (strcmp(what, "all") == 0) {
    ask_one_by_one(&server);
    ask_several(&server);
    ask_much(&server);
    probe(&server);
    ask_wrongly(&server);
  } else if (strcmp(what, "one") == 0) {
    EXPECT(CcsSendRequest(&server, "echo", 0, 2, "x") == 0);
    if (CcsRecvResponse(&server, 3, answer, answering) == -1) return 4;
  } else if (strcmp(what, "after") == 0) {  // what stands on stdin says when
    printf("connected\n");
    fflush(stdout);
    getchar();
    if (CcsSendRequestWithTimeout(&server, "echo", 0, 2, "x", 1) == -1) return 4;
  } else if (strcmp(what, "stop") == 0) {
    EXPECT(CcsSendRequest(&server, "stop", 0, 0, NULL) == 0);
    EXPECT(CcsRecvResponse(&server, 3, answer, 60) == 3 && memcmp(answer, "bye", 3) == 0);
  }
  CcsFinalize(&server);
  CcsFinalize(&server);
  printf("all as expected\n");
  return 0;
}
