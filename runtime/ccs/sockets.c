// See sockets.h. C and C++, because programs of both include it. MSG_NOSIGNAL: that a peer is gone is an answer of the
// call, and no signal.
#include "runtime/ccs/sockets.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  periapt_skt_silence_ms = 600 * 1000,
  periapt_skt_joined_bytes = 16 * 1024,  // buffers that are less together travel as one
  periapt_skt_strict_seconds = 60        // a skt_connect() of so long has to succeed
};

skt_ip_t _skt_invalid_ip = {{0, 0, 0, 0}};

static int periapt_skt_end(SOCKET socket, int code, const char* message) {
  (void)socket;
  (void)code;
  fprintf(stderr, "%s\n", message);
  exit(1);
}
static skt_abortFn periapt_skt_abort = periapt_skt_end;
static skt_idleFn periapt_skt_idle = NULL;

skt_abortFn skt_set_abort(skt_abortFn function) {
  const skt_abortFn before = periapt_skt_abort;
  periapt_skt_abort = function;
  return before;
}
void skt_set_idle(skt_idleFn function) { periapt_skt_idle = function; }
void skt_init(void) {}
int periapt_skt_failed(SOCKET socket, int code, const char* message) { return periapt_skt_abort(socket, code, message); }

// Says what could not be done, and why as errno has it.
static int periapt_skt_fail(SOCKET socket, int code, const char* what) {
  char message[256];
  snprintf(message, sizeof message, "socket: %s: %s", what, strerror(errno));
  return periapt_skt_abort(socket, code, message);
}

// Whether what errno says may go well when it is tried again. Waits before that.
static int periapt_skt_again(void) {
  const int error = errno;
  if (error != EINTR && error != EAGAIN && error != ECONNREFUSED && error != ENOBUFS && error != ECONNRESET) return 0;
  if (periapt_skt_idle != NULL) {
    periapt_skt_idle();
  } else if (error != EINTR) {
    sleep(1);
  }
  return 1;
}

// ---- addresses

skt_ip_t skt_lookup_ip(const char* name) {
  skt_ip_t ip = {{0, 0, 0, 0}};
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (name == NULL || getaddrinfo(name, NULL, &hints, &found) != 0 || found == NULL) return ip;
  memcpy(ip.data, &((const struct sockaddr_in*)(const void*)found->ai_addr)->sin_addr, sizeof ip.data);
  freeaddrinfo(found);
  return ip;
}
skt_ip_t skt_my_ip(void) {
  char name[256] = "";
  skt_ip_t first = {{0, 0, 0, 0}}, named;
  int networks = 0;
  struct ifaddrs *all = NULL, *one;
  if (getifaddrs(&all) == 0) {
    for (one = all; one != NULL; one = one->ifa_next) {
      if (!(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK)) continue;
      if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET) continue;
      if (networks++ == 0)
        memcpy(first.data, &((const struct sockaddr_in*)(const void*)one->ifa_addr)->sin_addr, sizeof first.data);
    }
    freeifaddrs(all);
  }
  if (networks == 1 || gethostname(name, sizeof name - 1) != 0) return first;
  named = skt_lookup_ip(name);
  return named.data[0] == 127 ? first : named;
}
skt_ip_t skt_innode_my_ip(void) { return skt_my_ip(); }
skt_ip_t skt_innode_lookup_ip(const char* name) { return skt_lookup_ip(name); }
char* skt_print_ip(char* text, int length, skt_ip_t ip) {
  snprintf(text, (size_t)length, "%d.%d.%d.%d", ip.data[0], ip.data[1], ip.data[2], ip.data[3]);
  return text;
}
int skt_ip_match(skt_ip_t a, skt_ip_t b) { return memcmp(a.data, b.data, sizeof a.data) == 0; }
struct sockaddr_in skt_build_addr(skt_ip_t ip, int port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)port);
  memcpy(&address.sin_addr, ip.data, sizeof ip.data);
  return address;
}

// ---- sockets

static SOCKET periapt_skt_new(int type, int code) {
  for (;;) {
    const SOCKET made = socket(AF_INET, type, 0);
    if (made >= 0) return made;
    if (!periapt_skt_again()) return periapt_skt_fail(INVALID_SOCKET, code, "there is none to be had");
  }
}

// What could not be done with a socket that is given up for it.
static int periapt_skt_give_up(SOCKET socket, int code, const char* what) {
  const int error = errno;
  close(socket);
  errno = error;
  return periapt_skt_fail(INVALID_SOCKET, code, what);
}

// The address that the kernel has given it. 0: done.
static int periapt_skt_name(SOCKET socket, unsigned int* port, skt_ip_t* ip) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  if (getsockname(socket, (struct sockaddr*)(void*)&address, &size) != 0) return -1;
  if (port != NULL) *port = ntohs(address.sin_port);
  if (ip != NULL) memcpy(ip->data, &address.sin_addr, sizeof ip->data);
  return 0;
}

static int periapt_skt_bind(SOCKET socket, const unsigned int* port, skt_ip_t ip) {
  const struct sockaddr_in address = skt_build_addr(ip, port == NULL ? 0 : (int)*port);
  return bind(socket, (const struct sockaddr*)(const void*)&address, sizeof address);
}

static int periapt_skt_size(SOCKET socket, int which, int bytes) {
  return setsockopt(socket, SOL_SOCKET, which, &bytes, sizeof bytes);
}

SOCKET skt_datagram(unsigned int* port, int bufsize) {
  const SOCKET made = periapt_skt_new(SOCK_DGRAM, periapt_skt_no_datagrams);
  if (made < 0) return made;
  if (periapt_skt_bind(made, port, _skt_invalid_ip) != 0)
    return periapt_skt_give_up(made, periapt_skt_datagrams_not_bound, "a port for datagrams can't be had");
  if (periapt_skt_name(made, port, NULL) != 0)
    return periapt_skt_give_up(made, periapt_skt_no_datagrams_name, "the port of a socket is not known");
  if (bufsize != 0 && periapt_skt_size(made, SO_RCVBUF, bufsize) != 0)
    return periapt_skt_give_up(made, periapt_skt_no_receive_buffer, "the buffer for receiving can't be set");
  if (bufsize != 0 && periapt_skt_size(made, SO_SNDBUF, bufsize) != 0)
    return periapt_skt_give_up(made, periapt_skt_no_send_buffer, "the buffer for sending can't be set");
  return made;
}

SOCKET skt_server(unsigned int* port) { return skt_server_ip(port, NULL); }
SOCKET skt_server_ip(unsigned int* port, skt_ip_t* ip) {
  const int yes = 1;
  const SOCKET made = periapt_skt_new(SOCK_STREAM, periapt_skt_no_server_socket);
  if (made < 0) return made;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (periapt_skt_bind(made, port, ip == NULL ? _skt_invalid_ip : *ip) != 0)
    return periapt_skt_give_up(made, periapt_skt_server_not_bound, "a server's port can't be had");
  if (listen(made, SOMAXCONN) != 0)
    return periapt_skt_give_up(made, periapt_skt_not_listening, "a server can't listen");
  if (periapt_skt_name(made, port, ip) != 0)
    return periapt_skt_give_up(made, periapt_skt_no_server_name, "the port of a server is not known");
  return made;
}

SOCKET skt_accept(SOCKET server, skt_ip_t* ip, unsigned int* port) {
  struct sockaddr_in address;
  for (;;) {
    socklen_t size = sizeof address;
    const SOCKET made = accept(server, (struct sockaddr*)(void*)&address, &size);
    if (made >= 0) {
      if (port != NULL) *port = ntohs(address.sin_port);
      if (ip != NULL) memcpy(ip->data, &address.sin_addr, sizeof ip->data);
      return made;
    }
    if (!periapt_skt_again()) return periapt_skt_fail(INVALID_SOCKET, periapt_skt_not_accepted, "nothing is accepted");
  }
}

SOCKET skt_connect(skt_ip_t ip, int port, int timeout) {
  const struct sockaddr_in address = skt_build_addr(ip, port);
  const time_t begin = time(NULL);
  while (time(NULL) - begin < timeout) {
    int error;
    const SOCKET made = periapt_skt_new(SOCK_STREAM, periapt_skt_no_socket);
    if (made < 0) return made;
    if (connect(made, (const struct sockaddr*)(const void*)&address, sizeof address) == 0) return made;
    error = errno;
    close(made);
    errno = error;
    if (error != ETIMEDOUT && !periapt_skt_again())
      return periapt_skt_fail(INVALID_SOCKET, periapt_skt_no_connection, "there is no connection");
  }
  if (timeout != periapt_skt_strict_seconds) return INVALID_SOCKET;
  errno = ETIMEDOUT;
  return periapt_skt_fail(INVALID_SOCKET, periapt_skt_connecting_too_long, "there is no connection");
}

void skt_close(SOCKET socket) { close(socket); }

double periapt_skt_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Whether it is ready for `what` within `ms`. What has failed or ended is.
static int periapt_skt_wait(SOCKET socket, short what, int ms) {
  const double end = periapt_skt_now() + ms / 1000.0;
  struct pollfd one;
  one.fd = socket;
  one.events = what;
  for (;;) {
    const int count = poll(&one, 1, ms);
    double left;
    if (count > 0) return 1;
    if (count < 0 && !periapt_skt_again())
      return periapt_skt_fail(socket, periapt_skt_cannot_wait, "it can't be waited for");
    left = end - periapt_skt_now();
    if (left <= 0) return 0;
    ms = (int)(left * 1000) + 1;
  }
}
int skt_select1(SOCKET socket, int ms) { return periapt_skt_wait(socket, POLLIN, ms); }

void skt_setSockBuf(SOCKET socket, int bufsize) {
  if (periapt_skt_size(socket, SO_SNDBUF, bufsize) != 0 || periapt_skt_size(socket, SO_RCVBUF, bufsize) != 0)
    periapt_skt_fail(socket, periapt_skt_no_send_buffer, "its buffers can't be set");
}
int skt_tcp_no_nagle(SOCKET socket) {
  const int yes = 1;
  return setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int skt_recvN(SOCKET socket, void* bytes, int count) {
  char* to = (char*)bytes;
  while (count > 0) {
    ssize_t got;
    if (!periapt_skt_wait(socket, POLLIN, periapt_skt_silence_ms))
      return periapt_skt_abort(socket, periapt_skt_silent, "socket: nothing has come for ten minutes");
    got = recv(socket, to, (size_t)count, 0);
    if (got == 0)
      return periapt_skt_abort(socket, periapt_skt_closed, "socket: its peer has closed it before all had come");
    if (got > 0) {
      to += got;
      count -= (int)got;
    } else if (!periapt_skt_again()) {
      return periapt_skt_fail(socket, periapt_skt_not_received + socket, "it can't receive");
    }
  }
  return 0;
}

int skt_sendN(SOCKET socket, const void* bytes, int count) {
  const char* from = (const char*)bytes;
  while (count > 0) {
    const ssize_t sent = send(socket, from, (size_t)count, MSG_NOSIGNAL);
    if (sent >= 0) {
      from += sent;
      count -= (int)sent;
    } else if (errno == EAGAIN) {  // it does not block, and has no room
      periapt_skt_wait(socket, POLLOUT, periapt_skt_silence_ms);
    } else if (errno == ECONNRESET || !periapt_skt_again()) {
      return periapt_skt_fail(socket, periapt_skt_not_sent + socket, "it can't send");
    }
  }
  return 0;
}

int skt_sendV(SOCKET socket, int buffers, const void** bytes, int* counts) {
  char joined[periapt_skt_joined_bytes];
  size_t all = 0;
  int i;
  for (i = 0; i < buffers; ++i) all += (size_t)counts[i];
  if (all > sizeof joined) {
    for (i = 0; i < buffers; ++i) {
      const int failed = skt_sendN(socket, bytes[i], counts[i]);
      if (failed != 0) return failed;
    }
    return 0;
  }
  all = 0;
  for (i = 0; i < buffers; ++i) {
    if (counts[i] > 0) memcpy(joined + all, bytes[i], (size_t)counts[i]);
    all += (size_t)counts[i];
  }
  return skt_sendN(socket, joined, (int)all);
}

int skt_sendmsg(SOCKET socket, struct msghdr* message, int buffers, int count) {
  while (count > 0) {
    ssize_t sent = sendmsg(socket, message, MSG_NOSIGNAL);
    int i;
    if (sent < 0) {
      if (errno == EAGAIN ? periapt_skt_wait(socket, POLLOUT, periapt_skt_silence_ms) : errno == EINTR) continue;
      return periapt_skt_fail(socket, periapt_skt_not_sent + socket, "it can't send");
    }
    count -= (int)sent;
    for (i = 0; i < buffers; ++i) {
      struct iovec* part = &message->msg_iov[i];
      const size_t gone = (size_t)sent < part->iov_len ? (size_t)sent : part->iov_len;
      part->iov_base = (char*)part->iov_base + gone;
      part->iov_len -= gone;
      sent -= (ssize_t)gone;
    }
  }
  return 0;
}

// ---- messages

static void periapt_skt_put(unsigned char* bytes, int count, unsigned long number) {
  for (; count > 0; number >>= 8) bytes[--count] = (unsigned char)number;
}
static unsigned long periapt_skt_take(const unsigned char* bytes, int count) {
  unsigned long number = 0;
  int i;
  for (i = 0; i < count; ++i) number = number << 8 | bytes[i];
  return number;
}
ChMessageInt_t ChMessageInt_new(unsigned int number) {
  ChMessageInt_t bytes;
  periapt_skt_put(bytes.data, sizeof bytes.data, number);
  return bytes;
}
unsigned int ChMessageInt(ChMessageInt_t number) {
  return (unsigned int)periapt_skt_take(number.data, sizeof number.data);
}
ChMessageLong_t ChMessageLong_new(unsigned long number) {
  ChMessageLong_t bytes;
  periapt_skt_put(bytes.data, sizeof bytes.data, number);
  return bytes;
}
unsigned long ChMessageLong(ChMessageLong_t number) { return periapt_skt_take(number.data, sizeof number.data); }

void ChMessageHeader_new(const char* type, int len, ChMessageHeader* header) {
  if (type == NULL) type = "default";
  header->len = ChMessageInt_new((unsigned int)len);
  memset(header->type, 0, sizeof header->type);
  memcpy(header->type, type, strnlen(type, sizeof header->type));
}
void ChMessage_new(const char* type, int len, ChMessage* message) {
  ChMessageHeader_new(type, len, &message->header);
  message->len = len;
  message->data = (char*)malloc(len > 0 ? (size_t)len : 1);
}
int ChMessageHeader_recv(SOCKET socket, ChMessage* message) {
  message->data = NULL;
  message->len = 0;
  if (skt_recvN(socket, &message->header, (int)sizeof message->header) != 0) return -1;
  message->len = (int)ChMessageInt(message->header.len);
  return 0;
}
int ChMessageData_recv(SOCKET socket, ChMessage* message) {
  message->data = message->len < 0 ? NULL : (char*)malloc(message->len > 0 ? (size_t)message->len : 1);
  if (message->data == NULL)
    return periapt_skt_abort(socket, periapt_skt_not_received + socket,
                             "socket: a message says that it has more bytes than there is room for");
  return skt_recvN(socket, message->data, message->len) == 0 ? 0 : -1;
}
int ChMessage_recv(SOCKET socket, ChMessage* message) {
  return ChMessageHeader_recv(socket, message) == 0 ? ChMessageData_recv(socket, message) : -1;
}
void ChMessage_free(ChMessage* message) {
  free(message->data);
  memset(&message->header, 0, sizeof message->header);
  message->data = NULL;
  message->len = 0;
}
int ChMessage_send(SOCKET socket, const ChMessage* message) {
  const void* bytes[2];
  int counts[2];
  bytes[0] = &message->header;
  bytes[1] = message->data;
  counts[0] = (int)sizeof message->header;
  counts[1] = message->len;
  return skt_sendV(socket, 2, bytes, counts);
}
