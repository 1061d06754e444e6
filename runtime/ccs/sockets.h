// Charm++'s helpers for sockets (sockRoutines.h), for programs and for clients of CCS. Plain C, IPv4.
//
// Ports are in the order of the host, addresses in that of the network. What fails goes to the function of
// skt_set_abort(), with Charm++'s number of the failure; the default one writes the sentence to stderr and ends the
// program with status 1. What such a function returns is what the call returns. An interrupted call, and one that may
// go well a little later, is made again, after the function of skt_set_idle() or, without one, a second.
#pragma once

// As with Charm++, programs have what belongs to sockets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/ccs/address.h"

#ifndef SOCKET
#define SOCKET int
#define INVALID_SOCKET (-1)
#define SOCKET_ERROR (-1)
#endif
#define CCS_HANDLERLEN 32  // bytes of a handler's name on the wire, with the zero behind it
#define CH_TYPELEN 12      // bytes of a message's type, filled up with zeros

#ifdef __cplusplus
extern "C" {
#endif

/// Nothing to do: a peer that is gone is no signal here.
void skt_init(void);

typedef void (*skt_idleFn)(void);
typedef int (*skt_abortFn)(SOCKET socket, int code, const char* message);
void skt_set_idle(skt_idleFn function);
/// The function before is returned.
skt_abortFn skt_set_abort(skt_abortFn function);

// ---- addresses

extern skt_ip_t _skt_invalid_ip;  // 0.0.0.0
/// The address of this host's only network, or else of its name; 0.0.0.0: there is none but the loopback's.
skt_ip_t skt_my_ip(void);
/// 0.0.0.0: there is no host of that name.
skt_ip_t skt_lookup_ip(const char* name);
skt_ip_t skt_innode_my_ip(void);                          // the same as skt_my_ip
skt_ip_t skt_innode_lookup_ip(const char* name);          // the same as skt_lookup_ip
char* skt_print_ip(char* text, int length, skt_ip_t ip);  // `length`: 16 at least
int skt_ip_match(skt_ip_t a, skt_ip_t b);
struct sockaddr_in skt_build_addr(skt_ip_t ip, int port);

// ---- sockets. `port`: in, 0 or NULL for any; out, which one it is.

/// UDP; `bufsize`: what the kernel keeps for each direction, 0: as usual.
SOCKET skt_datagram(unsigned int* port, int bufsize);
SOCKET skt_server(unsigned int* port);
SOCKET skt_server_ip(unsigned int* port, skt_ip_t* ip);
/// `ip`, `port`: of the caller; each may be NULL.
SOCKET skt_accept(SOCKET server, skt_ip_t* ip, unsigned int* port);
/// INVALID_SOCKET: there was no connection within `timeout` seconds; with 60 that is a failure.
SOCKET skt_connect(skt_ip_t ip, int port, int timeout);
void skt_close(SOCKET socket);
/// 1: it can be read, accepts, or has ended; 0: not within `ms` milliseconds.
int skt_select1(SOCKET socket, int ms);
void skt_setSockBuf(SOCKET socket, int bufsize);
int skt_tcp_no_nagle(SOCKET socket);

/// All bytes; 0: done. Ten minutes of silence are a failure of skt_recvN().
int skt_sendN(SOCKET socket, const void* bytes, int count);
int skt_recvN(SOCKET socket, void* bytes, int count);
int skt_sendV(SOCKET socket, int buffers, const void** bytes, int* counts);
/// `buffers` of `message` with `count` bytes together. Its vector is changed.
int skt_sendmsg(SOCKET socket, struct msghdr* message, int buffers, int count);

// ---- messages of a type and any bytes, and their numbers

ChMessageInt_t ChMessageInt_new(unsigned int number);
unsigned int ChMessageInt(ChMessageInt_t number);

typedef struct {
  unsigned char data[8];  // the highest byte first
} ChMessageLong_t;
ChMessageLong_t ChMessageLong_new(unsigned long number);
unsigned long ChMessageLong(ChMessageLong_t number);

typedef struct ChMessageHeader {
  ChMessageInt_t len;  // of what follows the header
  char type[CH_TYPELEN];
} ChMessageHeader;

typedef struct ChMessage {
  ChMessageHeader header;
  int len;
  char* data;  // of malloc()
} ChMessage;

/// 0, or -1 where the bytes did not come. ChMessage_free() afterwards.
int ChMessage_recv(SOCKET socket, ChMessage* message);
int ChMessageHeader_recv(SOCKET socket, ChMessage* message);
int ChMessageData_recv(SOCKET socket, ChMessage* message);
void ChMessage_free(ChMessage* message);
void ChMessageHeader_new(const char* type, int len, ChMessageHeader* header);
/// With room for `len` bytes of data.
void ChMessage_new(const char* type, int len, ChMessage* message);
/// The message remains the caller's.
int ChMessage_send(SOCKET socket, const ChMessage* message);

/// What begins a request on the wire of CCS.
typedef struct {
  ChMessageInt_t len;  // of what follows
  ChMessageInt_t pe;
  char handler[CCS_HANDLERLEN];
} CcsMessageHeader;

// ---- the runtime's own, for these helpers and for client.c

/// Charm++'s numbers of what a function of skt_set_abort() gets.
enum {
  periapt_skt_cannot_wait = 93200,
  periapt_skt_no_server_socket = 93483,
  periapt_skt_server_not_bound = 93484,
  periapt_skt_not_listening = 93485,
  periapt_skt_no_server_name = 93486,
  periapt_skt_no_datagrams = 93490,
  periapt_skt_datagrams_not_bound = 93491,
  periapt_skt_no_datagrams_name = 93492,
  periapt_skt_no_receive_buffer = 93495,
  periapt_skt_no_send_buffer = 93496,
  periapt_skt_no_socket = 93512,
  periapt_skt_no_connection = 93515,
  periapt_skt_connecting_too_long = 93517,
  periapt_skt_not_accepted = 93523,
  periapt_skt_silent = 93610,
  periapt_skt_closed = 93620,
  periapt_skt_not_received = 93650,  // here the socket's number is added
  periapt_skt_not_sent = 93700       // here too
};
/// Gives a failure to that function.
int periapt_skt_failed(SOCKET socket, int code, const char* message);
/// Seconds of a clock that nothing sets.
double periapt_skt_now(void);

#ifdef __cplusplus
}
static inline bool operator<(const skt_ip_t& a, const skt_ip_t& b) { return memcmp(a.data, b.data, sizeof a.data) < 0; }
#endif
