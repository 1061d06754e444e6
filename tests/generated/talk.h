// What generated programs share about bodies of entries (SDAG). A conversation is an event whose entry has a body: an
// object runs it, and others send what its whens wait for, in any order and perhaps before it begins. The same body is
// written a second time as a walk in plain C++, which says what has to be sent and which steps the body must take.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pup_stl.h"

inline unsigned mixed(unsigned a) {
  a = (a ^ 61u ^ (a >> 16)) * 9u;
  a = (a ^ (a >> 4)) * 0x27d4eb2du;
  return a ^ (a >> 15);
}

/// What a body does by chance: the same for the body and for its walk. place: a number of the statement and its round.
inline int pick(int event, int place, int who, int n) {
  return static_cast<int>(
      mixed(static_cast<unsigned>(event) * 8191u + static_cast<unsigned>(place) * 31u + static_cast<unsigned>(who)) %
      static_cast<unsigned>(n));
}

/// A statement of a conversation in one round of the loops around it: depth of calls, number of the statement, and the
/// round as up to three digits of two bits.
inline int placeOf(int depth, int tag, int path) { return (depth * 64 + tag) * 64 + path; }
/// The same, and of which event.
inline int whatOf(int event, int depth, int tag, int path) { return event * 16384 + placeOf(depth, tag, path); }

/// Something that a when waits for: an entry by its number in the type, and what it is told.
struct Food {
  int entry, what;
  int64_t number;  // of reference
};

/// What a walk visits.
struct Steps {
  std::vector<int> places;
  void step(int depth, int tag, int path) { places.push_back(placeOf(depth, tag, path)); }
  void food(int, int, int, int) {}
};
int64_t numberOf(int event, int depth, int tag, int path);
struct Foods {
  int event;
  std::vector<Food> all;
  void step(int, int, int) {}
  void food(int entry, int depth, int tag, int path) {
    all.push_back({entry, whatOf(event, depth, tag, path), numberOf(event, depth, tag, path)});
  }
};
/// Which conversation of its object an event is, from 0 on.
int conversationOf(int event);
/// Whether the object of a conversation moves.
bool mayMove(int event);
std::vector<int> stepsOf(int event, int who);
std::vector<Food> foodsOf(int event, int who);

/// One of several parts of what a conversation is sent, in some order. Entry -1: an order to move.
inline std::vector<Food> portionOf(int event, int who, int part, int parts, int orders) {
  std::vector<Food> out;
  for (const Food& f : foodsOf(event, who))
    if (pick(f.what, 1, 0, parts) == part) out.push_back(f);
  for (int i = 0; i < orders; ++i) out.push_back({-1, pick(event, part * 8 + i, who, 1000), 0});
  for (int i = static_cast<int>(out.size()) - 1; i > 0; --i)
    std::swap(out[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(pick(event, part + 77 * i, who, i + 1))]);
  return out;
}

inline void bad(int event, const std::string& what);

/// The conversations of an object that have not ended.
class Talks {
 public:
  void pup(PUP::er& p) { p | talks_, p | taken_, p | flowed_; }

  /// The variable of a loop.
  int& turn(int event, int depth, int tag, int path) { return talks_[event].turns[placeOf(depth, tag, path)]; }

  void step(int event, int depth, int tag, int path) { talks_[event].steps.push_back(placeOf(depth, tag, path)); }
  /// What a when waits for with a reference number has come: it must be this.
  void got(int event, int depth, int tag, int path, int what) {
    const int wanted = whatOf(event, depth, tag, path);
    if (what != wanted) bad(event, "a when takes " + words(what) + " and waits for " + words(wanted));
    step(event, depth, tag, path);
  }
  /// One without: any conversation's will do, but none comes twice.
  void any(int event, int depth, int tag, int path, int what) {
    if (!taken_.insert(what).second) bad(event, "a second time comes " + words(what));
    step(event, depth, tag, path);
  }
  /// One of the calls that the object has sent itself, of whatever conversation.
  void flowed(int event, int what, int at, bool ordered) {
    int& next = flowed_[what];
    if (ordered && at != next)
      bad(event,
          "call " + std::to_string(at) + " comes instead of call " + std::to_string(next) + " of " + words(what));
    ++next;
  }
  /// All statements with numbers first to last, in these rounds of the loops around them, are over.
  void past(int event, int who, int depth, int first, int last, int path, int levels) {
    auto count = [&](const std::vector<int>& steps) {
      const int digits = 63 & ~(63 >> (2 * levels));
      return std::count_if(steps.begin(), steps.end(), [&](int s) {
        return s / 4096 == depth && s / 64 % 64 >= first && s / 64 % 64 <= last && (s & digits) == (path & digits);
      });
    };
    const auto were = count(talks_[event].steps), shall = count(stepsOf(event, who));
    if (were != shall)
      bad(event, "of steps " + std::to_string(first) + " to " + std::to_string(last) + " of its body, " +
                     std::to_string(were) + " have been taken before the next statement instead of " +
                     std::to_string(shall));
  }
  /// The body ends.
  void end(int event, int who) {
    std::vector<int> steps = talks_[event].steps, wanted = stepsOf(event, who);
    std::sort(steps.begin(), steps.end());
    std::sort(wanted.begin(), wanted.end());
    if (steps != wanted)
      bad(event, "its body has taken " + std::to_string(steps.size()) + " steps, which are not the " +
                     std::to_string(wanted.size()) + " that it has");
    talks_.erase(event);
  }
  int open() const { return static_cast<int>(talks_.size()); }

  static std::string words(int what) {
    return "what is for statement " + std::to_string(what / 64 % 64) + ", round " + std::to_string(what % 64) +
           ", depth " + std::to_string(what / 4096 % 4) + " of event " + std::to_string(what / 16384);
  }

 private:
  struct Talk {
    std::map<int, int> turns;
    std::vector<int> steps;
    void pup(PUP::er& p) { p | turns, p | steps; }
  };
  std::map<int, Talk> talks_;  // by event
  std::set<int> taken_;        // of what has no reference number
  std::map<int, int> flowed_;  // calls of each stream that have come
};
