// What a program adds to its trace (runtime/trace), and how it turns tracing on and off. In a run that records none the
// calls do nothing, and names are kept. Plain C, and C++17: reached from converse.h.
#pragma once

#ifdef __cplusplus
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

}  // namespace periapt

extern "C" {
#endif
// Names an event and answers its number: the one given, or a new one.
#ifdef __cplusplus
int traceRegisterUserEvent(const char* name, int event = -1);
#else
int traceRegisterUserEvent(const char* name, int event);
#endif
// Null when there is none.
const char* traceUserEventName(int event);
int traceRegisterUserStat(const char* name, int stat);

// Times are those of CmiWallTimer(), in seconds.
void traceUserEvent(int event);
void traceUserBracketEvent(int event, double begin, double end);
void traceUserBracketEventNestedID(int event, double begin, double end, int nested);
void traceBeginUserBracketEvent(int event);
void traceBeginUserBracketEventNestedID(int event, int nested);
void traceEndUserBracketEvent(int event);
void traceEndUserBracketEventNestedID(int event, int nested);
void traceUserSuppliedData(int value);
void traceUserSuppliedNote(const char* text);
void traceUserSuppliedBracketedNote(const char* text, int event, double begin, double end);
void traceMemoryUsage(void);
void updateStat(int stat, double value);
void updateStatPair(int stat, double value, double at);
void traceBegin(void);
void traceEnd(void);
void traceFlushLog(void);
void traceClearEps(void);  // what was summed up so far stays
int traceIsOn(void);
int traceAvailable(void);
// Marks of the oldest programs: events. Phases are not told apart.
void CkSummary_MarkEvent(int event);
void CkSummary_StartPhase(int phase);
// The end of the run does it.
void traceWriteSts(void);
void traceClose(void);
void traceBeginComm(void);
void traceEndComm(void);
void beginAppWork(void);
void endAppWork(void);
#ifdef __cplusplus
}
#endif
