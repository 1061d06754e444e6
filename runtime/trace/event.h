// An event of a trace, and the line that Projections reads of it. Times are microseconds from the begin of the run. The
// kinds and the fields behind each are those of Charm++ 8's logs (VERSION 11.0).
#pragma once

#include <cstdint>
#include <string>

namespace periapt::trace {

enum class Kind : std::uint8_t {
  creation = 1,
  begin_processing = 2,
  end_processing = 3,
  begin_computation = 6,
  end_computation = 7,
  begin_trace = 11,
  end_trace = 12,
  user_event = 13,
  begin_idle = 14,
  end_idle = 15,
  user_data = 26,
  memory_usage = 27,
  user_stat = 32,
  begin_user_bracket = 98,
  end_user_bracket = 99,
  user_bracket = 100,  // its begin; and once more, its end
};

struct Event {
  static constexpr int index_max = 6;

  Kind kind = Kind::begin_idle;
  std::uint8_t message = 0;     // processing, creation: which kind of receiver (receiver_kind())
  std::uint8_t dimensions = 0;  // of the element's index; 0: no element
  std::uint16_t entry = 0;
  std::int32_t number = 0;   // of the event on its PE: a begin and its end have the same
  std::int32_t user = 0;     // number of the user's event or stat, or the user's data
  std::int32_t nested = 0;   // of a user's bracket
  std::uint64_t time = 0;    // us
  std::uint64_t bytes = 0;   // of arguments; of memory
  double value = 0, at = 0;  // of a user's stat
  std::int32_t index[index_max] = {};
};

// One line, its end included. `pe`: of the log.
void append_line(std::string& text, const Event& event, int pe);

}  // namespace periapt::trace
