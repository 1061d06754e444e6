// What message classes with pack() and unpack() of their own need before their bytes travel.
#pragma once
#include "runtime/message/message.h"
#include "runtime/scheduler/pe.h"

namespace periapt {

// Whether copies of the message may be made with memcpy and used as they are: its class packs nothing, or no entry
// changes what is shared, as its function doesn't keep it.
bool shareable(const Message& message);
// The same of copies that stay in this process.
bool shareable_in_process(const Message& message);

// Message classes with a pack() of their own are packed on the way to another process, all classes on the way to
// another host.
void pack(Message& message);
Message packed_for_other_host(Message message);
void unpack(Message& message);

// Sends to `to`, packing messages that need it when they leave the process.
void send_to(Pe& pe, int to, Message&& message);

}  // namespace periapt
