#include "runtime/trace/event.h"

#include <fmt/format.h>

#include <iterator>

namespace periapt::trace {

void append_line(std::string& text, const Event& event, int pe) {
  const auto out = [&text] { return std::back_inserter(text); };
  const int kind = static_cast<int>(event.kind);
  switch (event.kind) {
    case Kind::creation:
      fmt::format_to(out(), "{} {} {} {} {} {} {} 0\n", kind, event.message, event.entry, event.time, event.number, pe,
                     event.bytes);
      return;
    case Kind::begin_processing: {
      // When it was received is not known: as much as to say, when it began.
      fmt::format_to(out(), "{} {} {} {} {} {} {} {}", kind, event.message, event.entry, event.time, event.number, pe,
                     event.bytes, event.time);
      constexpr int fields_without_index = 4;
      const int fields = event.dimensions == 0 ? fields_without_index : event.dimensions;
      for (int d = 0; d < fields; ++d) fmt::format_to(out(), " {}", event.index[d]);
      text += " 0\n";
      return;
    }
    case Kind::end_processing:
      fmt::format_to(out(), "{} {} {} {} {} {} {} 0\n", kind, event.message, event.entry, event.time, event.number, pe,
                     event.bytes);
      return;
    case Kind::begin_computation:
    case Kind::end_computation:
    case Kind::begin_trace:
    case Kind::end_trace:
      fmt::format_to(out(), "{} {}\n", kind, event.time);
      return;
    case Kind::begin_idle:
    case Kind::end_idle:
      fmt::format_to(out(), "{} {} {}\n", kind, event.time, pe);
      return;
    case Kind::user_event:
      fmt::format_to(out(), "{} {} {} {} {}\n", kind, event.user, event.time, event.number, pe);
      return;
    case Kind::begin_user_bracket:
    case Kind::end_user_bracket:
    case Kind::user_bracket:
      fmt::format_to(out(), "{} {} {} {} {} {}\n", kind, event.user, event.time, event.number, pe, event.nested);
      return;
    case Kind::user_data:
      fmt::format_to(out(), "{} {} {}\n", kind, event.user, event.time);
      return;
    case Kind::memory_usage:
      fmt::format_to(out(), "{} {} {}\n", kind, event.bytes, event.time);
      return;
    case Kind::user_stat:
      fmt::format_to(out(), "{} {} {:.15g} {:.15g} {} {}\n", kind, event.time, event.at, event.value, pe, event.user);
      return;
  }
}

}  // namespace periapt::trace
