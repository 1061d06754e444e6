// The smallest complete transport: copy this folder when you have a network of your own (docs/transports.md walks
// through it). It moves packets over Unix sockets between processes of one host, and passes the whole conformance
// suite. It stands for networks that carry packets of a bounded size in order; put, get and flush are packets that the
// peer answers, in order.
//
// wire.h is what travels. transport.cpp is the rest: what you would replace are the lines that open, send and receive
// on a socket. Operations under way, order, loss and back-pressure stay as they are; links, memory keys and call-backs
// that wait for progress() are in machine/ucx-like/transport_base.h.
#pragma once

#include "machine/ucx-like/transport.h"

namespace periapt::transport_template {

extern const ucx::TransportFactory factory;

}  // namespace periapt::transport_template
