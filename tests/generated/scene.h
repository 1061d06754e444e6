// What every generated program includes: what messages carry, what an object keeps, and the ledger of what was run.
//
// A program is a tree of events, each with a number, caused by exactly one other (or by the mainchare's constructor).
// An entry method says saw(event), checks what it can see from where it is, and does what the plan lists for the event.
// At the end each PE hands its ledger to Main, which knows how often each event must have been run, and by which
// objects.
#pragma once
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "charm++.h"
#include "ckmulticast.h"
#include "talk.h"

inline double hostTime() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// An index of the program's own kind.
struct Key {
  int32_t a = 0;
  int16_t b = 0, c = 0;
  void pup(PUP::er& p) { p | a, p | b, p | c; }
};
struct CkArrayIndexKey : CkArrayIndex {
  CkArrayIndexKey(const Key& key) {
    nInts = 2;
    std::memcpy(data(), &key, sizeof key);
  }
};

struct Point {
  double x = 0;
  int32_t y = 0;
  void pup(PUP::er& p) { p | x, p | y; }
  bool operator==(const Point& o) const { return x == o.x && y == o.y; }
};

/// What a message carries besides its event's number: what was made on the way to it, and where an answer is waited
/// for.
struct Known {
  std::vector<std::pair<int, CkGroupID>> groups;
  std::vector<std::pair<int, CkChareID>> chares;
  std::vector<CkCallback> callbacks;
  std::vector<CkFuture> futures;
  void pup(PUP::er& p) { p | groups, p | chares, p | callbacks, p | futures; }
  void add(int number, CkGroupID id) { groups.emplace_back(number, id); }
  void add(int number, CkArrayID id) { groups.emplace_back(number, static_cast<CkGroupID>(id)); }
  void add(int number, CkChareID id) { chares.emplace_back(number, id); }
  CkGroupID group(int number) const {
    for (const auto& g : groups)
      if (g.first == number) return g.second;
    CkAbort("BAD message: it does not carry collection %d\n", number);
  }
  CkChareID chare(int number) const {
    for (const auto& c : chares)
      if (c.first == number) return c.second;
    CkAbort("BAD message: it does not carry chare %d\n", number);
  }
  Known answering(const CkCallback& callback) const {
    Known k = *this;
    k.callbacks.assign(1, callback);
    return k;
  }
  Known answering(CkFuture future) const {
    Known k = *this;
    k.futures.assign(1, future);
    return k;
  }
};

/// One run of an event: by which object (its place in its collection), and when.
struct Run {
  int32_t event = 0, who = 0;
  double time = 0;
};
PUPbytes(Run)

    constexpr int maxPes = 1024;
inline std::vector<Run> ledgers[maxPes];  // of the PEs of this process
inline std::vector<std::string> complaints[maxPes];
inline void saw(int event, int who) { ledgers[CkMyPe()].push_back({event, who, hostTime()}); }
inline void bad(int event, const std::string& what) {
  complaints[CkMyPe()].push_back("event " + std::to_string(event) + " on PE " + std::to_string(CkMyPe()) + ": " + what);
}

/// Arguments are functions of the event's number, so that their receiver can tell.
inline int lengthFor(int event) { return event % 7 == 0 ? 3000 + event : (event * 5) % 40; }
inline std::vector<int> vectorFor(int event) {
  std::vector<int> v(lengthFor(event));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = event * 31 + static_cast<int>(i);
  return v;
}
inline std::string textFor(int event) { return std::string(event % 50, static_cast<char>('a' + event % 26)); }
inline std::map<int, std::string> mapFor(int event) { return {{event, textFor(event)}, {event + 1, "x"}}; }
inline Point pointFor(int event) {
  Point p;
  p.x = event * 0.5, p.y = -event;
  return p;
}
inline std::vector<double> doublesFor(int event) {
  std::vector<double> v(lengthFor(event) / 2);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = event + 0.25 * static_cast<double>(i);
  return v;
}
inline void checkArgument(int event, const std::vector<int>& v) {
  if (v != vectorFor(event)) bad(event, "its vector is not what was sent");
}
inline void checkArgument(int event, const std::string& s) {
  if (s != textFor(event)) bad(event, "its string is not what was sent");
}
inline void checkArgument(int event, const std::map<int, std::string>& m) {
  if (m != mapFor(event)) bad(event, "its map is not what was sent");
}
inline void checkArgument(int event, const Point& p) {
  if (p.x != event * 0.5 || p.y != -event) bad(event, "its point is not what was sent");
}
inline void checkArgument(int event, double d) {
  if (d != event * 0.125) bad(event, "its double is not what was sent");
}
inline void checkArgument(int event, int n, const double* d) {
  const std::vector<double> v = doublesFor(event);
  if (static_cast<std::size_t>(n) != v.size() || !std::equal(v.begin(), v.end(), d))
    bad(event, "its array is not what was sent");
}
/// Arguments of templates.
template <class T>
T valueFor(int event);
template <>
inline int valueFor<int>(int event) {
  return event * 17 - 3;
}
template <>
inline double valueFor<double>(int event) {
  return event * 0.125;
}
template <>
inline std::string valueFor<std::string>(int event) {
  return textFor(event);
}
template <>
inline Point valueFor<Point>(int event) {
  return pointFor(event);
}
template <>
inline std::vector<int> valueFor<std::vector<int>>(int event) {
  return vectorFor(event);
}
inline void checkArgument(int event, int i) {
  if (i != valueFor<int>(event)) bad(event, "its int is not what was sent");
}

/// The same of what whens wait for.
inline bool isSent(int of, const std::vector<int>& v) { return v == vectorFor(of); }
inline bool isSent(int of, const std::string& s) { return s == textFor(of); }
inline bool isSent(int of, int n, const double* d) {
  const std::vector<double> v = doublesFor(of);
  return static_cast<std::size_t>(n) == v.size() && std::equal(v.begin(), v.end(), d);
}
template <class... T>
void checkFed(int event, int what, const T&... arguments) {
  if (!isSent(what % 997, arguments...)) bad(event, Talks::words(what) + " is not what was sent");
}

/// What an object of any kind keeps: it travels with an element.
struct Self {
  int instance = -1, who = -1;
  int round = 0;    // contributions that it has made
  int got = 0;      // messages of its life, where they are counted
  int waiting = 0;  // threads of it; it stays where it is as long as there are any
  std::vector<int> seen;
  std::vector<char> body;
  Talks talks;
  std::map<int, CkSectionInfo> cookies;  // of the musters that it is in
  std::map<int, int> answered;           // how often it has contributed there
  void pup(PUP::er& p) {
    p | instance, p | who, p | round, p | got, p | waiting, p | seen, p | body, p | talks, p | cookies, p | answered;
    if (p.isUnpacking()) checkBody(-1);
  }
  void begin(int collection, int place) {
    instance = collection, who = place;
    body.assign((collection * 7919 + place * 104729) % 2000, static_cast<char>(collection + place));
  }
  void checkBody(int event) const {
    for (char c : body)
      if (c != static_cast<char>(instance + who)) return bad(event, "what the object keeps is damaged");
  }
  void note(int event) { seen.push_back(event); }
  void after(int earlier, int event) const {
    if (std::find(seen.begin(), seen.end(), earlier) == seen.end())
      bad(event, "place " + std::to_string(who) + " of collection " + std::to_string(instance) +
                     " gets this broadcast before event " + std::to_string(earlier) + ", which was sent before it");
  }
};

/// An entry is left, by whatever way.
struct Leaving {
  std::atomic<int>& inside;
  ~Leaving() { --inside; }
};

inline void need(const void* branch, int event, const char* name) {
  if (!branch) bad(event, std::string(name) + " has no branch here");
}
inline void with(const void* partner, int event, const char* name) {
  if (!partner) bad(event, std::string(name) + ", to which it is bound, is not here");
}

/// Contributions: the first number of each names the event that the result is. The element of place 0 alone says it
/// where numbers are added up. n: how many contribute.
enum Way { sum, most, least, product, both, either };
inline int expectedOf(Way way, int event, int n) {
  const int64_t all = static_cast<int64_t>(n) * (n + 1) / 2;
  switch (way) {
    case sum:
      return static_cast<int>(all * (event % 13 + 1));
    case most:
      return n - 1 + event;
    case least:
      return -(n - 1) - event;
    case product:
      return n % 2 ? -1 : 1;
    case both:
      return event | 1 << 20;
    case either:
      return n < 20 ? (1 << n) - 1 : (1 << 20) - 1;
  }
  return 0;
}
inline std::vector<int> contribution(Way way, int event, int place) {
  switch (way) {
    case sum:
      return {place == 0 ? event : 0, (place + 1) * (event % 13 + 1), 1};
    case most:
      return {event, place + event, 1};
    case least:
      return {event, -place - event, 1};
    case product:
      return {place == 0 ? event : 1, -1, 1};
    case both:
      return {event, event | 1 << 20, 1};
    case either:
      return {event, 1 << std::min(place, 19), 1};
  }
  return {};
}
template <class T>
std::vector<T> contributionOf(Way way, int event, int place) {
  const std::vector<int> v = contribution(way, event, place);
  return std::vector<T>(v.begin(), v.end());
}

/// Where in a list a place stands; -1: it is not in it.
inline int rankIn(const std::vector<int>& places, int place) {
  const auto found = std::find(places.begin(), places.end(), place);
  return found == places.end() ? -1 : static_cast<int>(found - places.begin());
}

/// How many contribute to the event that a reduction's result is, and how; -1: the event is no such result.
int contributorsOf(int event);
Way wayOf(int event);

template <class T>
int checkResult(int n, const T* v) {
  const int event = n >= 3 ? static_cast<int>(v[0]) : -1;
  const int contributors = contributorsOf(event);
  if (contributors < 0) {
    std::string text = "BAD reduction: its result names no event (";
    for (int i = 0; i < std::min(n, 4); ++i) text += (i ? ", " : "") + std::to_string(static_cast<double>(v[i]));
    CkAbort("%s; %d numbers)\n", text.c_str(), n);
  }
  const Way way = wayOf(event);
  const int second = expectedOf(way, event, contributors);
  if (n != 3 || static_cast<int>(v[1]) != second || static_cast<int>(v[2]) != (way == sum ? contributors : 1))
    bad(event, "reduction over " + std::to_string(contributors) + " gives " +
                   std::to_string(static_cast<double>(v[1])) + " and " + std::to_string(static_cast<double>(v[2])) +
                   " instead of " + std::to_string(second));
  return event;
}
inline int checkSet(CkReductionMsg* m) {
  CkReduction::setElement* first = static_cast<CkReduction::setElement*>(m->getData());
  std::vector<int> places;
  int event = -1;
  for (CkReduction::setElement* e = first; e != nullptr; e = e->next()) {
    int v[2];
    std::memcpy(v, e->data, sizeof v);
    event = v[0], places.push_back(v[1]);
  }
  const int contributors = contributorsOf(event);
  if (contributors < 0) CkAbort("BAD reduction: a set of %d names no event\n", static_cast<int>(places.size()));
  std::sort(places.begin(), places.end());
  for (int i = 0; i < contributors; ++i)
    if (static_cast<int>(places.size()) != contributors || places[i] != i) {
      bad(event, "a set of " + std::to_string(places.size()) + " instead of " + std::to_string(contributors));
      break;
    }
  return event;
}
inline int checkConcat(CkReductionMsg* m) {
  const int n = m->getSize() / static_cast<int>(sizeof(int));
  std::vector<int> v(n);
  std::memcpy(v.data(), m->getData(), v.size() * sizeof(int));
  const int event = n > 0 ? *std::max_element(v.begin(), v.end()) : -1;
  const int contributors = contributorsOf(event);
  if (contributors < 0) CkAbort("BAD reduction: a row of %d numbers names no event\n", n);
  if (n != contributors) bad(event, "a row of " + std::to_string(n) + " instead of " + std::to_string(contributors));
  return event;
}
inline int checkTuple(CkReductionMsg* m) {
  CkReduction::tupleElement* parts = nullptr;
  int n = 0;
  m->toTuple(&parts, &n);
  int event = -1, count = -1;
  double value = 0;
  if (n == 3) {
    std::memcpy(&event, parts[0].data, sizeof event);
    std::memcpy(&count, parts[1].data, sizeof count);
    std::memcpy(&value, parts[2].data, sizeof value);
  }
  delete[] parts;
  const int contributors = contributorsOf(event);
  if (contributors < 0) CkAbort("BAD reduction: a tuple of %d (%d, %d) names no event\n", n, event, count);
  if (count != contributors || value != 0.5)
    bad(event, "a tuple over " + std::to_string(count) + " instead of " + std::to_string(contributors));
  return event;
}

/// How often an event must be run: times in all; each: by each place 0 to each - 1 of a collection equally often (0: by
/// place, or where that is negative by any).
struct Expected {
  int event, times, each, place;
  bool primary;  // it follows from no quiescence, so it is over before the first one is told
  const char* name;
};
