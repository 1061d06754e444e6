"""The C++ that every program has, and that names what its .ci declares: in front of its types, and behind them."""

PRELUDE = r"""
struct Mail : CMessage_Mail {
  int event = 0, length = 0, count = 0;
  char* bytes;
  int* numbers;
  Known open() {
    for (int i = 0; i < count; ++i)
      if (numbers[i] != event * 31 + i) {
        bad(event, "its message's array is not what was sent");
        break;
      }
    Known k;
    PUP::fromMem p(bytes);
    p | k;
    return k;
  }
};
struct Card : CMessage_Card {
  int event = 0;
};
struct Post : CkMcastBaseMsg, CMessage_Post {
  int event = 0;
  char* bytes;
  Known open() {
    Known k;
    PUP::fromMem p(bytes);
    p | k;
    return k;
  }
};
Post* post(int event, Known& k) {
  PUP::sizer size;
  size | k;
  Post* m = new (static_cast<int>(size.size())) Post;
  m->event = event;
  PUP::toMem p(m->bytes);
  p | k;
  return m;
}
struct Feed : CMessage_Feed {
  int what = 0, count = 0;
  int* numbers;
  void check() {
    for (int i = 0; i < count; ++i)
      if (numbers[i] != what * 3 + i) return bad(what / 16384, "the array of a message for a when is not what was sent");
  }
};
Feed* feed(const Food& f) {
  const int count = lengthFor(f.what % 997);
  Feed* m = new (count) Feed;
  m->what = f.what, m->count = count;
  for (int i = 0; i < count; ++i) m->numbers[i] = f.what * 3 + i;
  CkSetRefNum(m, static_cast<CMK_REFNUM_TYPE>(f.number));
  return m;
}
inline void fill(Mail* m, int event, Known& k, int length) {
  m->event = event, m->length = length, m->count = lengthFor(event);
  PUP::toMem p(m->bytes);
  p | k;
  for (int i = 0; i < m->count; ++i) m->numbers[i] = event * 31 + i;
}
Mail* mail(int event, Known& k) {
  PUP::sizer size;
  size | k;
  const int length = static_cast<int>(size.size());
  Mail* m = new (length, lengthFor(event)) Mail;
  fill(m, event, k, length);
  return m;
}
Mail* mail(int event, Known& k, int priority) {
  PUP::sizer size;
  size | k;
  const int length = static_cast<int>(size.size());
  Mail* m = new (length, lengthFor(event), 8 * sizeof(int)) Mail;
  fill(m, event, k, length);
  *static_cast<int*>(CkPriorityPtr(m)) = priority;
  CkSetQueueing(m, priority % 2 ? CK_QUEUEING_IFIFO : CK_QUEUEING_ILIFO);
  return m;
}
Card* card(int event) {
  Card* c = new Card;
  c->event = event;
  return c;
}
Card* card(int event, int priority) {
  Card* c = new (8 * sizeof(int)) Card;
  c->event = event;
  *static_cast<int*>(CkPriorityPtr(c)) = priority;
  CkSetQueueing(c, CK_QUEUEING_IFIFO);
  return c;
}
struct Judge : CBase_Judge {
  Judge() {}
  void report() {
    std::vector<Run> runs;
    std::vector<std::string> said;
    runs.swap(ledgers[CkMyPe()]), said.swap(complaints[CkMyPe()]);
    mainProxy.gather(CkMyPe(), runs, said);
  }
};
struct OwnMap : CBase_OwnMap {
  int factor;
  OwnMap(int f) : factor(f) {}
  int procNum(int, const CkArrayIndex& index) {
    unsigned sum = 0;
    for (int i = 0; i < index.nInts; ++i) sum = sum * 31u + static_cast<unsigned>(index.data()[i]);
    return static_cast<int>((sum * factor >> 1) % static_cast<unsigned>(CkNumPes()));
  }
};
#ifdef HAS_BUILT_IN_MAPS
using RoundRobin = CProxy_RRMap;
#else
struct RoundRobin {
  static CkGroupID ckNew() { return CProxy_OwnMap::ckNew(1); }
};
#endif
void landed(void* param, void* message) {
  const int event = static_cast<int>(reinterpret_cast<std::intptr_t>(param));
  if (static_cast<Mail*>(message)->event != event) bad(event, "the function gets another message");
  delete static_cast<Mail*>(message);
  saw(event, -1);
}
void landedReduction(void*, void* message) {
  CkReductionMsg* m = static_cast<CkReductionMsg*>(message);
  saw(checkResult(m->getSize() / static_cast<int>(sizeof(int)), static_cast<const int*>(m->getData())), -1);
  delete m;
}
CkReductionMsg* addUp(int n, CkReductionMsg** messages) {
  const int length = messages[0]->getSize() / static_cast<int>(sizeof(int));
  std::vector<int> v(length);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < length; ++j) v[j] += static_cast<int*>(messages[i]->getData())[j];
  return CkReductionMsg::buildNew(length * sizeof(int), v.data());
}
CkReduction::reducerType addedUp;
void registerReducer() { addedUp = CkReduction::addReducer(addUp); }
"""

CLOSING = r"""
void Main::quiet() {
  quietAt = hostTime();
  settled();
}
// What other quiescences bring takes its time after the first.
void Main::settled() {
  if (++settles % 3) CkStartQD(CkCallback(CkIndex_Main::settled(), thisProxy));
  else judge.report();
}
void Main::gather(int, std::vector<Run> runs, std::vector<std::string> s) {
  all.insert(all.end(), runs.begin(), runs.end());
  said.insert(said.end(), s.begin(), s.end());
  if (++reports < CkNumPes()) return;
  reports = 0;
  judgeAll();
}
void Main::judgeAll() {
  std::map<int, std::vector<int>> places;
  std::map<int, double> last;
  for (const Run& r : all) {
    places[r.event].push_back(r.who);
    last[r.event] = std::max(last[r.event], r.time);
  }
  std::vector<std::string> wrong;
  bool missing = false;
  for (const Expected& x : expectations()) {
    std::vector<int>& p = places[x.event];
    const std::string name = "event " + std::to_string(x.event) + " (" + x.name + ") ";
    if (static_cast<int>(p.size()) != x.times) {
      wrong.push_back(name + "was run " + std::to_string(p.size()) + " times instead of " + std::to_string(x.times));
      missing = missing || static_cast<int>(p.size()) < x.times;
    }
    std::sort(p.begin(), p.end());
    for (int i = 0; i < static_cast<int>(p.size()); ++i)
      if (x.each > 0 ? p[i] != i / std::max(1, x.times / x.each) : x.place >= 0 && p[i] != x.place) {
        wrong.push_back(name + "was run by " + std::to_string(p[i]) + ", not by those it is for, once each");
        break;
      }
    if (x.primary && last[x.event] > quietAt)
      wrong.push_back(name + "was run " + std::to_string((last[x.event] - quietAt) * 1e6) + " us after quiescence was told");
    places.erase(x.event);
  }
  for (const auto& p : places) wrong.push_back("event " + std::to_string(p.first) + " is none of this plan");
  if (missing && settles < 9) {  // late, or lost?
    settled();
    return;
  }
  for (const std::string& s : said) CkPrintf("BAD %s\n", s.c_str());
  for (const std::string& s : wrong) CkPrintf("BAD %s\n", s.c_str());
  if (!said.empty() || !wrong.empty()) return CkExit(1);
  CkPrintf("OK %d (%d runs of events, %d PEs, %d processes)\n", plan, static_cast<int>(all.size()), CkNumPes(), CkNumNodes());
  if (exitsByCallback()) CkCallback(CkCallback::ckExit).send();
  else CkExit();
}
"""
