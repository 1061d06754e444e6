// The fields of a CkReductionMsg, for the runtime: programs see only what its own functions show.
#pragma once
#include "runtime/api/reducers.h"
#include "runtime/api/reduction_message.h"
#include "runtime/message/message.h"

struct ReductionMessageFields {
  static CkReductionMsg* make(std::size_t bytes, CkReduction::reducerType type);
  // Makes `message`, whose payload is room for a CkReductionMsg and the data behind it, one that PE `source` has made.
  static void address(periapt::Message& message, int source, CkReduction::reducerType type,
                      const periapt::chare::Contribution& c);
  static void begin(CkReductionMsg* m, std::size_t bytes, CkReduction::reducerType type) {
    m->size_ = bytes;
    m->reducer_ = type;
    m->sources_ = 1;
    m->round_ = 0;
    m->user_flag_ = -1;
    m->reduced_ = 0;
    m->callback_ = CkCallback();
  }
  static periapt::chare::Contribution contribution(CkReductionMsg* m) {
    return {m->getData(), m->size_, m->sources_, m->reduced_ != 0, m->user_flag_};
  }
  static void set(CkReductionMsg* m, CkReduction::reducerType type, const periapt::chare::Contribution& c) {
    m->reducer_ = type;
    m->sources_ = c.sources;
    m->reduced_ = c.reduced;
    m->user_flag_ = c.user_flag;
  }
  static void set_round(CkReductionMsg* m, int round) { m->round_ = round; }
};
