// The client of CCS (client.h; docs/ccs.md says what is on the wire). C and C++, because programs of both include it.
#include "runtime/ccs/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { periapt_ccs_seconds = 120, periapt_ccs_silence_ms = 600 * 1000, periapt_ccs_words = 512 };

// A mistake of the caller, or a server that is not there.
__attribute__((format(printf, 1, 2))) static int periapt_ccs_fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("CCS client: ", stderr);
  vfprintf(stderr, format, arguments);
  fputs("\n", stderr);
  va_end(arguments);
  return -1;
}

// A connection that has broken. `why` and `more` stand behind the server's address.
static int periapt_ccs_broken(CcsServer* server, int code, const char* why, const char* more) {
  char message[periapt_ccs_words + 80], address[16];
  const SOCKET socket = server->replyFd;
  snprintf(message, sizeof message, "CCS client: the server at %s:%u %s %s", skt_print_ip(address, 16, server->hostIP),
           server->hostPort, why, more);
  CcsNoResponse(server);
  return periapt_skt_failed(socket, code, message);
}

// ---- keys

static int periapt_ccs_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
int CCS_AUTH_makeSecretKey(const char* text, CcsSec_secretKey* key) {
  size_t digits = 0;
  memset(key->data, 0, sizeof key->data);
  for (; periapt_ccs_digit(text[digits]) >= 0; ++digits) {
    if (digits == 2 * sizeof key->data) return 0;
    key->data[digits / 2] |= (unsigned char)(periapt_ccs_digit(text[digits]) << (digits % 2 == 0 ? 4 : 0));
  }
  return digits > 0 && (text[digits] == 0 || text[digits] == ' ' || text[digits] == '\n');
}

// ---- sockets. They don't block: poll() waits.

static int periapt_ccs_ms(double seconds) {
  return seconds <= 0 ? 0 : seconds * 1000 >= INT_MAX ? INT_MAX : (int)(seconds * 1000) + 1;
}

// Whether the socket can be read or written within `ms`. What has failed or ended can.
static int periapt_ccs_ready(SOCKET socket, short what, int ms) {
  const double end = periapt_skt_now() + ms / 1000.0;
  struct pollfd one;
  one.fd = socket;
  one.events = what;
  for (;;) {
    const int count = poll(&one, 1, ms);
    if (count >= 0 || errno != EINTR) return count > 0;
    ms = periapt_ccs_ms(end - periapt_skt_now());
  }
}

// 0: replyFd is connected. Otherwise why not, as errno says it.
static int periapt_ccs_try(CcsServer* server, double end) {
  const int yes = 1;
  int error = 0;
  socklen_t size = sizeof error;
  const struct sockaddr_in address = skt_build_addr(server->hostIP, (int)server->hostPort);
  fcntl(server->replyFd, F_SETFL, O_NONBLOCK);
  fcntl(server->replyFd, F_SETFD, FD_CLOEXEC);
  setsockopt(server->replyFd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(server->replyFd, (const struct sockaddr*)(const void*)&address, sizeof address) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!periapt_ccs_ready(server->replyFd, POLLOUT, periapt_ccs_ms(end - periapt_skt_now()))) return ETIMEDOUT;
  getsockopt(server->replyFd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

static int periapt_ccs_connect(CcsServer* server, int timeout) {
  const double end = periapt_skt_now() + timeout;
  char address[16];
  for (;;) {
    int error;
    server->replyFd = socket(AF_INET, SOCK_STREAM, 0);
    if (server->replyFd < 0)
      return periapt_ccs_broken(server, periapt_skt_no_socket, "is not asked: there is no socket:", strerror(errno));
    error = periapt_ccs_try(server, end);
    if (error == 0) return 0;
    if (error != ECONNREFUSED && error != ETIMEDOUT && error != ECONNRESET && error != EAGAIN)
      return periapt_ccs_broken(server, periapt_skt_no_connection, "can't be reached:", strerror(error));
    CcsNoResponse(server);
    if (periapt_skt_now() + 1 >= end)
      return periapt_ccs_fail("no server has answered at %s:%u within %d s: %s; a program that runs with ++server prints its "
                              "address and port",
                              skt_print_ip(address, sizeof address, server->hostIP), server->hostPort, timeout,
                              strerror(error));
    sleep(1);
  }
}

// `flags`: MSG_MORE where more of the request follows, which then may travel with it.
static int periapt_ccs_send(CcsServer* server, const void* bytes, size_t count, int flags) {
  const char* from = (const char*)bytes;
  while (count > 0) {
    const ssize_t sent = send(server->replyFd, from, count, MSG_NOSIGNAL | flags);
    if (sent >= 0) {
      from += sent;
      count -= (size_t)sent;
    } else if (errno == EAGAIN) {
      if (!periapt_ccs_ready(server->replyFd, POLLOUT, periapt_ccs_silence_ms))
        return periapt_ccs_broken(server, periapt_skt_silent, "takes none of a request", server->handler);
    } else if (errno != EINTR) {
      return periapt_ccs_broken(server, periapt_skt_not_sent, "has closed the connection in the middle of a request:",
                                strerror(errno));
    }
  }
  return 0;
}

static int periapt_ccs_receive(CcsServer* server, void* bytes, size_t count, int is_begun) {
  char* to = (char*)bytes;
  while (count > 0) {
    const ssize_t got = recv(server->replyFd, to, count, 0);
    if (got > 0) {
      to += got;
      count -= (size_t)got;
      is_begun = 1;
    } else if (got < 0 && errno == EAGAIN) {
      if (!periapt_ccs_ready(server->replyFd, POLLIN, periapt_ccs_silence_ms))
        return periapt_ccs_broken(server, periapt_skt_silent, "sends no more of its answer to", server->handler);
    } else if (is_begun) {
      return periapt_ccs_broken(server, periapt_skt_closed, "has closed the connection in the middle of its answer to",
                                server->handler);
    } else if (got == 0 || errno == ECONNRESET) {
      char what[periapt_ccs_words];
      snprintf(what, sizeof what, "it has ended, or refused the request, and its output says why%s",
               server->isAuth ? "" : " (a server that prints a token wants it: as the key, or in PERIAPT_CCS_TOKEN)");
      return periapt_ccs_broken(server, periapt_skt_closed, "has closed the connection without an answer:", what);
    } else if (errno != EINTR) {
      return periapt_ccs_broken(server, periapt_skt_not_received, "is lost:", strerror(errno));
    }
  }
  return 0;
}

// ---- requests

static int periapt_ccs_send_head(CcsServer* server, int pe, int size, int flags) {
  char head[4 + 32 + 8 + CCS_HANDLERLEN];
  char* to = head;
  ChMessageInt_t number;
  if (server->isAuth) {
    size_t i;
    memcpy(to, "TOKN", 4);
    to += 4;
    for (i = 0; i < sizeof server->key.data; ++i, to += 2) {
      to[0] = "0123456789abcdef"[server->key.data[i] >> 4];
      to[1] = "0123456789abcdef"[server->key.data[i] & 15];
    }
  }
  number = ChMessageInt_new((unsigned int)size);
  memcpy(to, number.data, 4);
  number = ChMessageInt_new((unsigned int)pe);
  memcpy(to + 4, number.data, 4);
  memcpy(to + 8, server->handler, CCS_HANDLERLEN);
  return periapt_ccs_send(server, head, (size_t)(to - head) + 8 + CCS_HANDLERLEN, flags);
}

// `pe`: 0 or more; -1: all; -n: the n of `pes`, whose numbers are the first bytes of the request.
static int periapt_ccs_request(CcsServer* server, const char* handler, int pe, const int* pes, int size,
                               const void* bytes, int timeout) {
  const int listed = pe < -1 ? -pe : 0;
  int i;
  if (strlen(handler) == 0 || strlen(handler) >= CCS_HANDLERLEN)
    return periapt_ccs_fail("a request for \"%s\": a handler's name has 1 to %d characters", handler,
                            CCS_HANDLERLEN - 1);
  if (size < 0 || size > INT_MAX - 4 * listed)
    return periapt_ccs_fail("a request for %s with %d bytes: too many, or less than none", handler, size);
  CcsNoResponse(server);
  memset(server->handler, 0, sizeof server->handler);
  memcpy(server->handler, handler, strlen(handler));
  if (periapt_ccs_connect(server, timeout) != 0) return -1;
  if (periapt_ccs_send_head(server, pe, size + 4 * listed, listed > 0 || size > 0 ? MSG_MORE : 0) != 0) return -1;
  for (i = 0; i < listed; ++i) {
    const ChMessageInt_t number = ChMessageInt_new((unsigned int)pes[i]);
    if (periapt_ccs_send(server, number.data, 4, i + 1 < listed || size > 0 ? MSG_MORE : 0) != 0) return -1;
  }
  return size > 0 && periapt_ccs_send(server, bytes, (size_t)size, 0) != 0 ? -1 : 0;
}

static int periapt_ccs_is_pe(CcsServer* server, const char* handler, int pe) {
  if (pe >= 0 && pe < server->numPes) return 1;
  periapt_ccs_fail("a request for %s on PE %d: there are PEs 0 to %d", handler, pe, server->numPes - 1);
  return 0;
}

int CcsSendRequestWithTimeout(CcsServer* server, const char* handler, int pe, int size, const void* bytes,
                              int timeout) {
  if (pe != -1 && !periapt_ccs_is_pe(server, handler, pe)) return -1;
  return periapt_ccs_request(server, handler, pe, NULL, size, bytes, timeout);
}
int CcsSendRequest(CcsServer* server, const char* handler, int pe, int size, const void* bytes) {
  return CcsSendRequestWithTimeout(server, handler, pe, size, bytes, periapt_ccs_seconds);
}
int CcsSendBroadcastRequestWithTimeout(CcsServer* server, const char* handler, int size, const void* bytes,
                                       int timeout) {
  return CcsSendRequestWithTimeout(server, handler, -1, size, bytes, timeout);
}
int CcsSendBroadcastRequest(CcsServer* server, const char* handler, int size, const void* bytes) {
  return CcsSendRequest(server, handler, -1, size, bytes);
}
int CcsSendMulticastRequestWithTimeout(CcsServer* server, const char* handler, int npes, int* pes, int size,
                                       const void* bytes, int timeout) {
  int i;
  if (npes < 1) return periapt_ccs_fail("a request for %s to several PEs names none", handler);
  for (i = 0; i < npes; ++i)
    if (!periapt_ccs_is_pe(server, handler, pes[i])) return -1;
  return periapt_ccs_request(server, handler, npes == 1 ? pes[0] : -npes, pes, size, bytes, timeout);
}
int CcsSendMulticastRequest(CcsServer* server, const char* handler, int npes, int* pes, int size, const void* bytes) {
  return CcsSendMulticastRequestWithTimeout(server, handler, npes, pes, size, bytes, periapt_ccs_seconds);
}

// ---- answers

int CcsProbeTimeout(CcsServer* server, int ms) {
  return server->replyFd != INVALID_SOCKET && periapt_ccs_ready(server->replyFd, POLLIN, ms);
}
int CcsProbe(CcsServer* server) { return CcsProbeTimeout(server, 0); }
int CcsNoResponse(CcsServer* server) {
  if (server->replyFd != INVALID_SOCKET) close(server->replyFd);
  server->replyFd = INVALID_SOCKET;
  return 0;
}

// The answer's length, once it is there; -1: it is not.
static int periapt_ccs_length(CcsServer* server, int timeout) {
  ChMessageInt_t length;
  if (server->replyFd == INVALID_SOCKET) return periapt_ccs_fail("an answer is waited for, and nothing has been asked");
  if (!CcsProbeTimeout(server, periapt_ccs_ms(timeout))) return -1;
  if (periapt_ccs_receive(server, length.data, sizeof length.data, 0) != 0) return -1;
  if (ChMessageInt(length) <= INT_MAX) return (int)ChMessageInt(length);
  CcsNoResponse(server);
  return periapt_ccs_fail("the answer to %s says that it has %u bytes, more than an int can say", server->handler,
                          ChMessageInt(length));
}

int CcsRecvResponse(CcsServer* server, int most, void* buffer, int timeout) {
  const int length = periapt_ccs_length(server, timeout);
  if (length < 0) return -1;
  if (length > most) {
    CcsNoResponse(server);
    return periapt_ccs_fail("the answer to %s has %d bytes, more than the %d that there is room for", server->handler,
                            length, most);
  }
  if (periapt_ccs_receive(server, buffer, (size_t)length, 1) != 0) return -1;
  CcsNoResponse(server);
  return length;
}

int CcsRecvResponseMsg(CcsServer* server, int* size, void** bytes, int timeout) {
  const int length = periapt_ccs_length(server, timeout);
  if (length < 0) return -1;
  *bytes = malloc((size_t)length + 1);
  if (*bytes == NULL) {
    CcsNoResponse(server);
    return periapt_ccs_fail("there is no memory for the %d bytes of the answer to %s", length, server->handler);
  }
  if (periapt_ccs_receive(server, *bytes, (size_t)length, 1) != 0) {
    free(*bytes);
    *bytes = NULL;
    return -1;
  }
  *size = length;
  CcsNoResponse(server);
  return length;
}

// ---- the server

// The number of processes, and of the PEs of each.
static int periapt_ccs_take_shape(CcsServer* server, const unsigned char* bytes, int length) {
  const int numbers = length / 4;
  long long pes = 0;
  int i;
  ChMessageInt_t number;
  if (length >= 4) memcpy(number.data, bytes, 4);
  if (length < 8 || length % 4 != 0 || ChMessageInt(number) != (unsigned int)numbers - 1) return 0;
  server->numProcs = (int*)malloc((size_t)(numbers - 1) * sizeof(int));
  if (server->numProcs == NULL) return 0;
  for (i = 0; i < numbers - 1; ++i) {
    memcpy(number.data, bytes + 4 * (i + 1), 4);
    server->numProcs[i] = (int)ChMessageInt(number);
    if (server->numProcs[i] < 1) return 0;
    pes += server->numProcs[i];
  }
  server->numNodes = numbers - 1;
  server->numPes = (int)pes;
  return pes <= INT_MAX;
}

static int periapt_ccs_take_key(CcsServer* server, const CcsSec_secretKey* key) {
  const char* token = getenv("PERIAPT_CCS_TOKEN");
  server->isAuth = 1;
  if (key != NULL) {
    server->key = *key;
  } else if (token == NULL || *token == 0) {
    server->isAuth = 0;
  } else if (!CCS_AUTH_makeSecretKey(token, &server->key)) {
    return periapt_ccs_fail("PERIAPT_CCS_TOKEN is %s, and no token: the 32 hexadecimal digits that the server prints",
                            token);
  }
  return 0;
}

int CcsConnectIpWithTimeout(CcsServer* server, skt_ip_t ip, int port, const CcsSec_secretKey* key, int timeout) {
  int length, is_known;
  void* bytes;
  char address[16];
  memset(server, 0, sizeof *server);
  server->replyFd = INVALID_SOCKET;
  server->hostIP = ip;
  server->hostPort = (unsigned int)port;
  if (port < 1 || port > 65535) return periapt_ccs_fail("port %d of the server is none: 1 to 65535", port);
  if (periapt_ccs_take_key(server, key) != 0) return -1;
  if (periapt_ccs_request(server, "ccs_getinfo", 0, NULL, 0, NULL, timeout) != 0) return -1;
  if (!CcsProbeTimeout(server, periapt_ccs_ms(timeout))) {
    CcsNoResponse(server);
    return periapt_ccs_fail("what listens at %s:%d has not answered within %d s: is it a server of CCS?",
                            skt_print_ip(address, sizeof address, ip), port, timeout);
  }
  if (CcsRecvResponseMsg(server, &length, &bytes, timeout) < 0) return -1;
  is_known = periapt_ccs_take_shape(server, (const unsigned char*)bytes, length);
  free(bytes);
  if (is_known) return 0;
  CcsFinalize(server);
  return periapt_ccs_fail("what listens at %s:%d does not answer as a server of CCS does",
                          skt_print_ip(address, sizeof address, ip), port);
}
int CcsConnectWithTimeout(CcsServer* server, const char* host, int port, const CcsSec_secretKey* key, int timeout) {
  const skt_ip_t none = {{0, 0, 0, 0}};
  const skt_ip_t ip = skt_lookup_ip(host);
  if (!skt_ip_match(ip, none)) return CcsConnectIpWithTimeout(server, ip, port, key, timeout);
  memset(server, 0, sizeof *server);
  server->replyFd = INVALID_SOCKET;
  return periapt_ccs_fail("there is no host with the name or IPv4 address %s", host == NULL ? "NULL" : host);
}
int CcsConnect(CcsServer* server, const char* host, int port, const CcsSec_secretKey* key) {
  return CcsConnectWithTimeout(server, host, port, key, periapt_ccs_seconds);
}
int CcsConnectIp(CcsServer* server, skt_ip_t ip, int port, const CcsSec_secretKey* key) {
  return CcsConnectIpWithTimeout(server, ip, port, key, periapt_ccs_seconds);
}
void CcsFinalize(CcsServer* server) {
  CcsNoResponse(server);
  free(server->numProcs);
  server->numProcs = NULL;
  server->numNodes = server->numPes = 0;
}

int CcsNumNodes(CcsServer* server) { return server->numNodes; }
int CcsNumPes(CcsServer* server) { return server->numPes; }
int CcsNodeSize(CcsServer* server, int node) {
  if (node >= 0 && node < server->numNodes) return server->numProcs[node];
  return periapt_ccs_fail("there is no process %d: the server has %d", node, server->numNodes);
}
int CcsNodeFirst(CcsServer* server, int node) {
  int first = 0, i;
  if (CcsNodeSize(server, node) < 0) return -1;
  for (i = 0; i < node; ++i) first += server->numProcs[i];
  return first;
}
