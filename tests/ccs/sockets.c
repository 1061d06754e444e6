// The helpers for sockets, without a program of ours and without a server of CCS: a process talks with its child. As C++
// too, and with Charm++'s sockRoutines.h and libccs-client.a. What goes wrong ends it with the number of the line.
#include "sockRoutines.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "expect.h"

static int failures = 0, failed_code = 0;
static SOCKET failed_socket = 0;
static int note_failure(SOCKET socket, int code, const char* message) {
  EXPECT(message[0] != 0);
  ++failures;
  failed_code = code;
  failed_socket = socket;
  return -7;
}
static int idle_calls = 0;
static void note_idle(void) {
  const struct timespec ms = {0, 1000000};
  ++idle_calls;
  nanosleep(&ms, NULL);
}

static void addresses(void) {
  char text[200];
  const skt_ip_t here = skt_lookup_ip("127.0.0.1");
  const struct sockaddr_in built = skt_build_addr(here, 4242);
  EXPECT(here.data[0] == 127 && here.data[3] == 1);
  EXPECT(skt_print_ip(text, sizeof text, here) == text && strcmp(text, "127.0.0.1") == 0);
  EXPECT(skt_ip_match(here, skt_innode_lookup_ip("127.0.0.1")) && !skt_ip_match(here, _skt_invalid_ip));
  EXPECT(skt_ip_match(skt_lookup_ip("no.such.host.invalid"), _skt_invalid_ip));
  EXPECT(skt_ip_match(skt_my_ip(), skt_innode_my_ip()));
  EXPECT(built.sin_family == AF_INET && ntohs(built.sin_port) == 4242 && memcmp(&built.sin_addr, here.data, 4) == 0);
#ifdef __cplusplus
  EXPECT(_skt_invalid_ip < here && !(here < _skt_invalid_ip));
#endif
}

static void numbers(void) {
  const ChMessageInt_t small = ChMessageInt_new(0x80000102u);
  const ChMessageLong_t large = ChMessageLong_new(0x8102030405060708ul);
  EXPECT(small.data[0] == 0x80 && small.data[3] == 2 && ChMessageInt(small) == 0x80000102u);
  EXPECT(large.data[0] == 0x81 && large.data[7] == 8 && ChMessageLong(large) == 0x8102030405060708ul);
  EXPECT(sizeof(ChMessageHeader) == 16 && sizeof(CcsMessageHeader) == 40);
}

enum { much = 3000000 };

// What the child does: sends back what it gets, of two kinds, and goes.
static void answer(unsigned int port) {
  ChMessage message;
  char* bytes = (char*)malloc(much);
  const void* parts[3];
  int counts[3];
  struct iovec vector[2];
  struct msghdr head;
  const SOCKET socket = skt_connect(skt_lookup_ip("127.0.0.1"), (int)port, 20);
  EXPECT(socket != INVALID_SOCKET && skt_tcp_no_nagle(socket) == 0);
  skt_setSockBuf(socket, 20000);
  EXPECT(ChMessage_recv(socket, &message) == 0 && strcmp(message.header.type, "greeting") == 0 && message.len == 5);
  EXPECT(memcmp(message.data, "hello", 5) == 0);
  EXPECT(ChMessage_send(socket, &message) == 0);
  ChMessage_free(&message);
  EXPECT(message.data == NULL);
  EXPECT(skt_recvN(socket, bytes, much) == 0);
  parts[0] = bytes, parts[1] = bytes + 10, parts[2] = bytes + 10;
  counts[0] = 10, counts[1] = 0, counts[2] = 90;
  EXPECT(skt_sendV(socket, 3, parts, counts) == 0);  // joined
  parts[0] = bytes + 100, parts[1] = bytes + 50000;
  counts[0] = 49900, counts[1] = 50000;
  EXPECT(skt_sendV(socket, 2, parts, counts) == 0);
  memset(&head, 0, sizeof head);
  vector[0].iov_base = bytes + 100000, vector[0].iov_len = 400000;
  vector[1].iov_base = bytes + 500000, vector[1].iov_len = much - 500000;
  head.msg_iov = vector;
  head.msg_iovlen = 2;
  EXPECT(skt_sendmsg(socket, &head, 2, much - 100000) == 0);
  EXPECT(skt_sendN(socket, "ab", 2) == 0);
  skt_close(socket);
  free(bytes);
}

static void talk(void) {
  unsigned int port = 0, peer = 0;
  skt_ip_t ip = {{0, 0, 0, 0}};
  ChMessage message;
  ChMessageHeader header;
  int i, status;
  pid_t child;
  char* bytes = (char*)malloc(much);
  char* back = (char*)malloc(much);
  SOCKET socket;
  const SOCKET server = skt_server(&port);
  EXPECT(server >= 0 && port > 0 && skt_select1(server, 0) == 0);
  child = fork();
  if (child == 0) {
    answer(port);
    exit(0);
  }
  EXPECT(skt_select1(server, 20000) == 1);
  socket = skt_accept(server, &ip, &peer);
  EXPECT(socket >= 0 && ip.data[0] == 127 && peer > 0 && peer != port);
  ChMessage_new("greeting", 5, &message);
  memcpy(message.data, "hello", 5);
  EXPECT(ChMessage_send(socket, &message) == 0);
  ChMessage_free(&message);
  EXPECT(ChMessageHeader_recv(socket, &message) == 0 && message.len == 5 && message.data == NULL);
  EXPECT(ChMessageData_recv(socket, &message) == 0 && memcmp(message.data, "hello", 5) == 0);
  ChMessage_free(&message);
  ChMessageHeader_new(NULL, 3, &header);
  EXPECT(strcmp(header.type, "default") == 0 && ChMessageInt(header.len) == 3);
  for (i = 0; i < much; ++i) bytes[i] = (char)((unsigned)i * 7919u >> 3);
  EXPECT(skt_sendN(socket, bytes, much) == 0);
  EXPECT(skt_recvN(socket, back, much) == 0 && memcmp(bytes, back, much) == 0);

  EXPECT(skt_recvN(socket, back, 3) == -7 && failures == 1 && failed_code == 93620 && failed_socket == socket);
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  skt_sendN(socket, "x", 1);                       // answered by a reset
  EXPECT(skt_select1(socket, 20000) == 1);
  for (i = 0; i < 20 && failures == 1; ++i) skt_sendN(socket, "x", 1);  // and no signal
  EXPECT(failures == 2 && failed_code == 93700 + socket);
  skt_close(socket);
  skt_close(server);
  free(bytes);
  free(back);
}

static void ports(void) {
  unsigned int port = 0, same, refused;
  skt_ip_t here = skt_lookup_ip("127.0.0.1"), bound;
  SOCKET server, datagrams = skt_datagram(&port, 30000);
  int before;
  EXPECT(datagrams >= 0);
  skt_close(datagrams);
  port = 0;
  bound = here;
  server = skt_server_ip(&port, &bound);
  EXPECT(server >= 0 && port > 0 && skt_ip_match(bound, here));
  same = port;
  before = failures;
  EXPECT(skt_server_ip(&same, &bound) == -7 && failures == before + 1 && failed_code == 93484);
  refused = port;
  skt_close(server);
  idle_calls = 0;
  skt_set_idle(note_idle);
  EXPECT(skt_connect(here, (int)refused, 1) == INVALID_SOCKET && failures == before + 1);
  EXPECT(idle_calls > 0);
  skt_set_idle(NULL);
}

// Without a function of skt_set_abort() a failure ends the program, with status 1.
static void without_a_function(void) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    skt_recvN(12345, &status, 1);
    exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void) {
  skt_abortFn first;
  skt_init();
  without_a_function();
  first = skt_set_abort(note_failure);
  addresses();
  numbers();
  talk();
  ports();
  EXPECT(skt_set_abort(first) == note_failure);
  printf("all as expected\n");
  return 0;
}
