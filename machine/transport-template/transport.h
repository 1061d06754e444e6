// The smallest complete transport: copy this folder when you have a network of your own (docs/transports.md walks
// through it). It moves packets over Unix sockets between processes of one host, and passes the whole conformance
// suite.
//
// It stands for networks that give you three things: packets of a bounded size that arrive in order, a way to write a
// packet's bytes to an address over there, and nothing that tells you when they are there. Completion is a marker:
//
//   put    data packet(s), then a marker; the peer answers each marker, and order says that the data came before it
//   get    a request; the peer puts the bytes here and a marker answer behind them
//   flush  a marker with nothing before it
//
// wire.h is what travels. transport.cpp is the rest: what you would replace are the lines that open, send and receive
// on a socket; tables of operations, translation of keys and addresses, order, loss and back-pressure stay as they are.
#pragma once

#include "machine/ucx-like/transport.h"

namespace periapt::transport_template {

extern const ucx::TransportFactory factory;

}  // namespace periapt::transport_template
