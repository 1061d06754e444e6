// What a program that is no Periapt program asks one that runs with ++server (docs/ccs.md). Plain C.
//
// Programs include ccs-client.h and link libccs-client.a, or include ccs-client.C whole. A CcsServer has one request at
// a time: the next one gives up the answer to the one before. Each request is a connection of its own.
//
// Functions answer -1 when something went wrong, and say what on stderr; that no answer came within the time is said by
// -1 alone. A connection that breaks goes to the function of skt_set_abort() instead, as in Charm++: without one the
// program ends with status 1; with one, what it returns is what the call returns, and it should be -1.
//
// A key is the token that the server prints, 32 hexadecimal digits. Without a key a client sends the token that the
// environment variable PERIAPT_CCS_TOKEN has, or none, which a server lets in with ++server-open. The signed requests
// of Charm++'s ++server-auth are not there.
#pragma once

#define CMK_NOT_USE_CONVERSE 1
#include "runtime/ccs/sockets.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  unsigned char data[16];
} CcsSec_secretKey;

typedef struct CcsServer {
  skt_ip_t hostIP;
  unsigned int hostPort;
  int isAuth;            // there is a token
  CcsSec_secretKey key;  // the token

  int numNodes;
  int numPes;
  int* numProcs;  // PEs of each process

  SOCKET replyFd;                // where the answer to the last request comes; INVALID_SOCKET: none is expected
  char handler[CCS_HANDLERLEN];  // of that request
} CcsServer;

/// The key that `text` is, in hexadecimal; less than 32 digits are filled up with zeros. 0: it is none.
int CCS_AUTH_makeSecretKey(const char* text, CcsSec_secretKey* key);

/// Asks the server for its processes and PEs. `timeout` is in seconds, 120 without one; until then a connection that is
/// refused is tried again each second: the program may not have begun yet. CcsFinalize() ends it.
int CcsConnect(CcsServer* server, const char* host, int port, const CcsSec_secretKey* key);
int CcsConnectWithTimeout(CcsServer* server, const char* host, int port, const CcsSec_secretKey* key, int timeout);
int CcsConnectIp(CcsServer* server, skt_ip_t ip, int port, const CcsSec_secretKey* key);
int CcsConnectIpWithTimeout(CcsServer* server, skt_ip_t ip, int port, const CcsSec_secretKey* key, int timeout);
void CcsFinalize(CcsServer* server);

int CcsNumNodes(CcsServer* server);
int CcsNumPes(CcsServer* server);
int CcsNodeFirst(CcsServer* server, int node);  // the first PE of a process
int CcsNodeSize(CcsServer* server, int node);   // the number of its PEs

/// The handler of PE `pe` gets `size` bytes; -1: those of all PEs, as by a broadcast.
int CcsSendRequest(CcsServer* server, const char* handler, int pe, int size, const void* bytes);
int CcsSendRequestWithTimeout(CcsServer* server, const char* handler, int pe, int size, const void* bytes, int timeout);
int CcsSendBroadcastRequest(CcsServer* server, const char* handler, int size, const void* bytes);
int CcsSendBroadcastRequestWithTimeout(CcsServer* server, const char* handler, int size, const void* bytes,
                                       int timeout);
int CcsSendMulticastRequest(CcsServer* server, const char* handler, int npes, int* pes, int size, const void* bytes);
int CcsSendMulticastRequestWithTimeout(CcsServer* server, const char* handler, int npes, int* pes, int size,
                                       const void* bytes, int timeout);

/// The answer's length; its bytes are in `buffer`. -1 and no word: none has come within `timeout` seconds, and it may
/// be asked for again.
int CcsRecvResponse(CcsServer* server, int most, void* buffer, int timeout);
/// The same, in memory of malloc().
int CcsRecvResponseMsg(CcsServer* server, int* size, void** bytes, int timeout);
/// No answer is wanted.
int CcsNoResponse(CcsServer* server);
/// 1: an answer, or the end of the connection, is there; 0: not (within `ms` milliseconds).
int CcsProbe(CcsServer* server);
int CcsProbeTimeout(CcsServer* server, int ms);

#ifdef __cplusplus
}
#endif
