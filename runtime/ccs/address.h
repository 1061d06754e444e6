// An address of IPv4, as servers and clients of CCS name it, and the integers of their wire. Plain C.
#pragma once

typedef struct {
  unsigned char data[4];  // in the order of the network
} skt_ip_t;

/// An integer of 32 bits on the wire: the highest byte first.
typedef struct {
  unsigned char data[4];
} ChMessageInt_t;
