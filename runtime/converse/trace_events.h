// What a program adds to its trace (runtime/trace), and how it turns tracing on and off. In a run that records none the
// calls do nothing, and names are kept. C++17: reached from charm++.h.
#pragma once

namespace periapt {

// Records what the PE that calls adds. Times are those of CmiWallTimer(), in seconds.
class TraceCalls {
 public:
  virtual void event(int event) = 0;
  virtual void bracket(int event, double begin, double end, int nested) = 0;
  virtual void begin_bracket(int event, int nested) = 0;
  virtual void end_bracket(int event, int nested) = 0;
  virtual void data(int value) = 0;
  virtual void note(const char* text) = 0;
  virtual void bracketed_note(const char* text, int event, double begin, double end) = 0;
  virtual void memory() = 0;
  // A value that the program counts itself; `at` in a unit of its own, where it gives one.
  virtual void statistic(int number, double value, double at) = 0;
  virtual void turn(bool on) = 0;
  virtual bool is_on() = 0;
  virtual void flush() = 0;

  // Of the process: set before the first PE runs. Null: nothing is recorded.
  static inline TraceCalls* recorder = nullptr;

 protected:
  ~TraceCalls() = default;
};

namespace trace_calls {
template <class... Parameters, class... Arguments>
void record(void (TraceCalls::*what)(Parameters...), Arguments... arguments) {
  if (TraceCalls::recorder) (TraceCalls::recorder->*what)(arguments...);
}
}  // namespace trace_calls

}  // namespace periapt

extern "C" {
// Names an event and answers its number: the one given, or a new one.
int traceRegisterUserEvent(const char* name, int event = -1);
// Null when there is none.
const char* traceUserEventName(int event);
int traceRegisterUserStat(const char* name, int stat);
}

inline void traceUserEvent(int event) { periapt::trace_calls::record(&periapt::TraceCalls::event, event); }
inline void traceUserBracketEventNestedID(int event, double begin, double end, int nested) {
  periapt::trace_calls::record(&periapt::TraceCalls::bracket, event, begin, end, nested);
}
inline void traceUserBracketEvent(int event, double begin, double end) {
  traceUserBracketEventNestedID(event, begin, end, 0);
}
inline void traceBeginUserBracketEventNestedID(int event, int nested) {
  periapt::trace_calls::record(&periapt::TraceCalls::begin_bracket, event, nested);
}
inline void traceBeginUserBracketEvent(int event) { traceBeginUserBracketEventNestedID(event, 0); }
inline void traceEndUserBracketEventNestedID(int event, int nested) {
  periapt::trace_calls::record(&periapt::TraceCalls::end_bracket, event, nested);
}
inline void traceEndUserBracketEvent(int event) { traceEndUserBracketEventNestedID(event, 0); }
inline void traceUserSuppliedData(int value) { periapt::trace_calls::record(&periapt::TraceCalls::data, value); }
inline void traceUserSuppliedNote(const char* text) { periapt::trace_calls::record(&periapt::TraceCalls::note, text); }
inline void traceUserSuppliedBracketedNote(const char* text, int event, double begin, double end) {
  periapt::trace_calls::record(&periapt::TraceCalls::bracketed_note, text, event, begin, end);
}
inline void traceMemoryUsage() { periapt::trace_calls::record(&periapt::TraceCalls::memory); }
inline void updateStatPair(int stat, double value, double at) {
  periapt::trace_calls::record(&periapt::TraceCalls::statistic, stat, value, at);
}
inline void updateStat(int stat, double value) { updateStatPair(stat, value, -1); }
inline void traceBegin() { periapt::trace_calls::record(&periapt::TraceCalls::turn, true); }
inline void traceEnd() { periapt::trace_calls::record(&periapt::TraceCalls::turn, false); }
inline void traceFlushLog() { periapt::trace_calls::record(&periapt::TraceCalls::flush); }
inline void traceClearEps() {}  // what was summed up so far stays
inline int traceIsOn() { return periapt::TraceCalls::recorder && periapt::TraceCalls::recorder->is_on(); }
inline int traceAvailable() { return periapt::TraceCalls::recorder != nullptr; }
// Marks of the oldest programs: events. Phases are not told apart.
inline void CkSummary_MarkEvent(int event) { traceUserEvent(event); }
inline void CkSummary_StartPhase(int) {}
// The end of the run does it.
inline void traceWriteSts() {}
inline void traceClose() {}
inline void traceBeginComm() {}
inline void traceEndComm() {}
inline void beginAppWork() {}
inline void endAppWork() {}
