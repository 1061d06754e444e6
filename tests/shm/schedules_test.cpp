// All schedules of the small protocols of machine/shm, step by step, on a model of the machine: every thread has a
// store buffer (x86: stores become visible later, in order), so a load may overtake an earlier store. The explorer runs
// every interleaving of steps and of stores becoming visible, and looks for a wrong value or for threads that wait for
// ever.
//
// Each protocol is also tried with the one thing taken out that makes it right; the explorer must then find the
// failure, which shows that it can.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int kCells = 16, kRegisters = 8, kThreads = 3, kBuffer = 4;

struct Thread {
  signed char pc = 0;
  signed char asleep = -1;  // on this cell
  std::array<signed char, kRegisters> registers{};
  std::array<std::pair<signed char, signed char>, kBuffer> stores{};
  signed char buffered = 0;
};

struct State {
  std::array<signed char, kCells> memory{};
  std::array<Thread, kThreads> threads{};
  bool wrong = false;

  int load(const Thread& thread, int cell) const {
    for (int i = thread.buffered; i-- > 0;) {
      if (thread.stores[static_cast<std::size_t>(i)].first == cell)
        return thread.stores[static_cast<std::size_t>(i)].second;
    }
    return memory[static_cast<std::size_t>(cell)];
  }
  void drain_one(Thread& thread) {
    memory[static_cast<std::size_t>(thread.stores[0].first)] = thread.stores[0].second;
    for (int i = 1; i < thread.buffered; ++i)
      thread.stores[static_cast<std::size_t>(i - 1)] = thread.stores[static_cast<std::size_t>(i)];
    thread.stores[static_cast<std::size_t>(--thread.buffered)] = {0, 0};
  }
  void drain(Thread& thread) {
    while (thread.buffered > 0) drain_one(thread);
  }
  std::string key() const {
    std::string text(memory.begin(), memory.end());
    for (const Thread& t : threads) {
      text += static_cast<char>(t.pc);
      text += static_cast<char>(t.asleep);
      text.append(t.registers.begin(), t.registers.end());
      text += static_cast<char>(t.buffered);
      for (auto [cell, value] : t.stores) (text += static_cast<char>(cell)) += static_cast<char>(value);
    }
    return text + (wrong ? '1' : '0');
  }
};

// One atomic step; returns false if it cannot be taken now. pc was advanced before and may be set (a jump).
using Step = std::function<bool(State&, Thread&)>;
using Program = std::vector<Step>;

Step store(int cell, int value) {
  return [=](State&, Thread& t) {
    if (t.buffered == kBuffer) return false;
    t.stores[static_cast<std::size_t>(t.buffered++)] = {static_cast<signed char>(cell),
                                                        static_cast<signed char>(value)};
    return true;
  };
}
Step load(int reg, int cell) {
  return [=](State& s, Thread& t) {
    t.registers[static_cast<std::size_t>(reg)] = static_cast<signed char>(s.load(t, cell));
    return true;
  };
}
Step exchange(int reg, int cell, int value) {  // a locked instruction drains the buffer
  return [=](State& s, Thread& t) {
    s.drain(t);
    t.registers[static_cast<std::size_t>(reg)] = s.memory[static_cast<std::size_t>(cell)];
    s.memory[static_cast<std::size_t>(cell)] = static_cast<signed char>(value);
    return true;
  };
}
Step jump_if(std::function<bool(const Thread&)> condition, int target) {
  return [=](State&, Thread& t) {
    if (condition(t)) t.pc = static_cast<signed char>(target);
    return true;
  };
}
Step jump_if_equals(int reg, int value, int target) {
  return jump_if([=](const Thread& t) { return t.registers[static_cast<std::size_t>(reg)] == value; }, target);
}
Step membarrier() {  // runs a full barrier on every thread
  return [](State& s, Thread&) {
    for (Thread& t : s.threads) s.drain(t);
    return true;
  };
}
Step nothing() {
  return [](State&, Thread&) { return true; };
}
// Sleeps if the cell holds `value`; the next step is taken when somebody wakes it.
Step futex_wait(int cell, int value) {
  return [=](State& s, Thread& t) {
    s.drain(t);
    if (s.memory[static_cast<std::size_t>(cell)] == value) t.asleep = static_cast<signed char>(cell);
    return true;
  };
}
Step futex_wake(int cell) {
  return [=](State& s, Thread& t) {
    s.drain(t);
    for (Thread& other : s.threads) {
      if (other.asleep == cell) other.asleep = -1;
    }
    return true;
  };
}
Step check(std::function<bool(const State&, const Thread&)> right) {
  return [=](State& s, Thread& t) {
    s.wrong = s.wrong || !right(s, t);
    return true;
  };
}

struct Findings {
  std::size_t states = 0;
  bool wrong = false;  // a check failed
  bool stuck = false;  // threads waited for ever
  bool at_end_wrong = false;
};

Findings explore(const std::vector<Program>& programs, const std::function<bool(const State&)>& at_end) {
  Findings findings;
  std::set<std::string> seen;
  std::vector<State> open{State{}};
  while (!open.empty()) {
    State state = open.back();
    open.pop_back();
    if (!seen.insert(state.key()).second) continue;
    ++findings.states;
    if (state.wrong) {
      findings.wrong = true;
      continue;
    }
    bool moved = false, finished = true;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (state.threads[i].buffered > 0) {
        State next = state;
        next.drain_one(next.threads[i]);
        open.push_back(next);
        moved = true;
      }
      if (state.threads[i].pc == static_cast<int>(programs[i].size())) continue;
      finished = false;
      if (state.threads[i].asleep >= 0) continue;
      State next = state;
      Thread& thread = next.threads[i];
      const Step& step = programs[i][static_cast<std::size_t>(thread.pc++)];
      if (!step(next, thread)) continue;
      open.push_back(next);
      moved = true;
    }
    if (finished && !moved && !at_end(state)) findings.at_end_wrong = true;
    if (!finished && !moved) findings.stuck = true;
  }
  return findings;
}

bool always(const State&) { return true; }

// ---- a sender that publishes and a receiver that goes to sleep (Port::put_word, Port::sleep)

std::vector<Program> sleep_protocol(bool with_membarrier) {
  enum { kSlot, kSleeping };
  Program sender = {
      store(kSlot, 1),            // 0: publish
      load(0, kSleeping),         // 1: one plain load
      jump_if_equals(0, 0, 6),    // 2
      exchange(0, kSleeping, 0),  // 3: end_sleep
      jump_if_equals(0, 0, 6),    // 4
      futex_wake(kSleeping),      // 5
  };
  Program receiver = {
      store(kSleeping, 1),                         // 0: announce
      with_membarrier ? membarrier() : nothing(),  // 1
      load(0, kSlot),                              // 2: the last look
      jump_if_equals(0, 1, 7),                     // 3
      futex_wait(kSleeping, 1),                    // 4
      load(0, kSlot),                              // 5
      jump_if_equals(0, 0, 0),                     // 6: woken for nothing: again
      store(kSleeping, 0),                         // 7
  };
  return {sender, receiver};
}

TEST(Schedules, ASleepingReceiverIsAlwaysWoken) {
  Findings found = explore(sleep_protocol(true), always);
  EXPECT_FALSE(found.stuck);
  EXPECT_GT(found.states, 30u);
}

TEST(Schedules, WithoutTheMembarrierAWakeUpIsLost) { EXPECT_TRUE(explore(sleep_protocol(false), always).stuck); }

// Two senders and one receiver that sleeps until it has both: each wakes only what it has seen asleep.
std::vector<Program> two_senders() {
  enum { kSlotA, kSlotB, kSleeping };
  auto sender = [](int slot) {
    return Program{store(slot, 1),          load(0, kSleeping),   jump_if_equals(0, 0, 6), exchange(0, kSleeping, 0),
                   jump_if_equals(0, 0, 6), futex_wake(kSleeping)};
  };
  Program receiver = {
      store(kSleeping, 1),
      membarrier(),
      load(0, kSlotA),
      load(1, kSlotB),
      jump_if([](const Thread& t) { return t.registers[0] == 1 && t.registers[1] == 1; }, 8),
      // Something new since the last time: no sleep.
      jump_if([](const Thread& t) { return t.registers[0] + t.registers[1] != t.registers[2]; }, 7),
      futex_wait(kSleeping, 1),
      [](State&, Thread& t) {
        t.registers[2] = static_cast<signed char>(t.registers[0] + t.registers[1]);
        t.pc = 0;
        return true;
      },
  };
  return {sender(kSlotA), sender(kSlotB), receiver};
}

TEST(Schedules, TwoSendersWakeOneReceiver) { EXPECT_FALSE(explore(two_senders(), always).stuck); }

// ---- the ring: a sender of four messages through two slots (Port::put_word, Port::deliver, Port::report)

std::vector<Program> ring_protocol(bool heed_consumed, bool word_last) {
  enum { kWord0, kWord1, kBody0, kBody1, kConsumed };
  constexpr int kMessages = 4;
  Program sender, receiver;
  for (int n = 0; n < kMessages; ++n) {
    int slot = n % 2, lap = n / 2 + 1;
    int again = static_cast<int>(sender.size());
    if (heed_consumed) {
      sender.push_back(load(0, kConsumed));
      sender.push_back(jump_if([n](const Thread& t) { return n - t.registers[0] >= 2; }, again));
    }
    if (word_last) {
      sender.push_back(store(kBody0 + slot, 10 + n));
      sender.push_back(store(kWord0 + slot, lap));
    } else {
      sender.push_back(store(kWord0 + slot, lap));
      sender.push_back(store(kBody0 + slot, 10 + n));
    }
    again = static_cast<int>(receiver.size());
    receiver.push_back(load(0, kWord0 + slot));
    receiver.push_back(jump_if([lap](const Thread& t) { return t.registers[0] != lap; }, again));
    receiver.push_back(load(1, kBody0 + slot));
    receiver.push_back(check([n](const State&, const Thread& t) { return t.registers[1] == 10 + n; }));
    receiver.push_back(store(kConsumed, n + 1));
  }
  return {sender, receiver};
}

TEST(Schedules, TheRingDeliversEachBodyWhole) {
  Findings found = explore(ring_protocol(true, true), always);
  EXPECT_FALSE(found.wrong);
  EXPECT_GT(found.states, 100u);
}
TEST(Schedules, ASenderThatDoesNotHeedConsumptionOverwrites) {
  Findings found = explore(ring_protocol(false, true), always);
  EXPECT_TRUE(found.wrong);
}
TEST(Schedules, AWordBeforeItsBodyDeliversTheWrongOne) {
  EXPECT_TRUE(explore(ring_protocol(true, false), always).wrong);
}

// ---- half cells: a reader behind the first half of a line finds its second half, or the next line instead
// ---- (ChannelReader::peek, goes_on)

std::vector<Program> half_cells(bool second_half_is_used, bool looks_again) {
  enum { kSecond, kNext };
  Program writer;
  if (second_half_is_used) writer.push_back(store(kSecond, 1));
  writer.push_back(store(kNext, 1));
  Program reader = {
      load(0, kSecond),                            // 0
      jump_if_equals(0, 1, 7),                     // 1: taken
      load(1, kNext),                              // 2
      jump_if_equals(1, 0, 0),                     // 3: nothing is there
      looks_again ? load(0, kSecond) : nothing(),  // 4
      jump_if_equals(0, 1, 7),                     // 5: it came just before
      check([second_half_is_used](const State&, const Thread&) { return !second_half_is_used; }),  // 6: left out
      nothing(),                                                                                   // 7
  };
  return {writer, reader};
}

TEST(Schedules, AHalfCellIsNotLeftOutForTheLineBehindIt) {
  for (bool used : {false, true}) {
    Findings found = explore(half_cells(used, true), always);
    EXPECT_FALSE(found.wrong);
    EXPECT_FALSE(found.stuck);
    EXPECT_GT(found.states, 10u);
  }
}
TEST(Schedules, AReaderThatDoesNotLookAgainLeavesItOut) { EXPECT_TRUE(explore(half_cells(true, false), always).wrong); }

// ---- a sender that sleeps on a full ring (Port::sleep, Port::report): the same bargain, the other way round

std::vector<Program> full_ring(bool with_membarrier) {
  enum { kConsumed, kSenderWaits, kSleeping };
  Program sender = {
      store(kSenderWaits, 1), store(kSleeping, 1),     with_membarrier ? membarrier() : nothing(),
      load(0, kConsumed),     jump_if_equals(0, 1, 8), futex_wait(kSleeping, 1),
      load(0, kConsumed),     jump_if_equals(0, 0, 0),
  };
  Program receiver = {
      store(kConsumed, 1), load(0, kSenderWaits),   jump_if_equals(0, 0, 8),   store(kSenderWaits, 0),
      load(0, kSleeping),  jump_if_equals(0, 0, 8), exchange(0, kSleeping, 0), futex_wake(kSleeping),
  };
  return {sender, receiver};
}

TEST(Schedules, ASenderThatWaitsForRoomIsAlwaysWoken) { EXPECT_FALSE(explore(full_ring(true), always).stuck); }
TEST(Schedules, WithoutTheMembarrierItWaitsForEver) { EXPECT_TRUE(explore(full_ring(false), always).stuck); }

// ---- the return stack: two PEs push a batch each, the owner takes twice (Heap::flush, Heap::take_all)

std::vector<Program> return_stack(bool with_cas) {
  enum { kTop, kLinkOf1, kLinkOf2, kBodyOf1, kBodyOf2 };
  auto pusher = [with_cas](int node) {
    Program program = {
        store(kBodyOf1 + node - 1, 40 + node),
        load(0, kTop),
        [node](State&, Thread& t) {  // link_of(carrier) = top
          if (t.buffered == kBuffer) return false;
          t.stores[static_cast<std::size_t>(t.buffered++)] = {static_cast<signed char>(kLinkOf1 + node - 1),
                                                              t.registers[0]};
          return true;
        },
    };
    if (with_cas) {
      program.push_back([node](State& s, Thread& t) {
        s.drain(t);
        if (s.memory[kTop] == t.registers[0]) {
          s.memory[kTop] = static_cast<signed char>(node);
        } else {
          t.pc = 1;
        }
        return true;
      });
    } else {
      program.push_back(store(kTop, node));
    }
    return program;
  };
  // Registers 1 and 2 count how often each node came; the bodies are looked at when they come.
  Program owner;
  for (int take = 0; take < 2; ++take) {
    owner.push_back(exchange(0, kTop, 0));
    int again = static_cast<int>(owner.size());
    owner.push_back([again](State& s, Thread& t) {
      int node = t.registers[0];
      if (node == 0) return true;
      ++t.registers[static_cast<std::size_t>(node)];
      if (t.registers[static_cast<std::size_t>(node)] > 1 || s.load(t, kBodyOf1 + node - 1) != 40 + node) {
        s.wrong = true;
        return true;
      }
      t.registers[0] = static_cast<signed char>(s.load(t, kLinkOf1 + node - 1));
      t.pc = static_cast<signed char>(again);
      return true;
    });
  }
  return {pusher(1), pusher(2), owner};
}

// Every batch was either taken once or is still on the stack once.
bool each_once(const State& state) {
  std::array<int, 3> times{};
  for (int node = state.memory[0], steps = 0; node != 0 && steps < 4;
       node = state.memory[static_cast<std::size_t>(node)], ++steps) {
    ++times[static_cast<std::size_t>(node)];
  }
  return times[1] + state.threads[2].registers[1] == 1 && times[2] + state.threads[2].registers[2] == 1;
}

TEST(Schedules, TheReturnStackLosesAndDoublesNothing) {
  Findings found = explore(return_stack(true), each_once);
  EXPECT_FALSE(found.wrong);
  EXPECT_FALSE(found.at_end_wrong);
  EXPECT_GT(found.states, 100u);
}
TEST(Schedules, APlainStoreInsteadOfTheCasLosesABatch) {
  Findings found = explore(return_stack(false), each_once);
  EXPECT_TRUE(found.wrong || found.at_end_wrong);
}

}  // namespace
