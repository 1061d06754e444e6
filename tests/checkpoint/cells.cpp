// Cells of atoms in three dimensions, and a pair for every two cells, which makes their forces: each cell sends its
// atoms to the section of its pairs, and gets back what they contribute by cookies, which they keep over migrations,
// restarts and kill -9. cells FOLDER SIDE STEPS WAY STOP. WAY: 0, no checkpoint; 1, in the folder behind step STOP; 2,
// in memory every few steps, and a process is killed behind that of step STOP.
//
// When a checkpoint is made half of the cells have contributed to a reduction with a reducer of the program's; cells
// and pairs hang in whens; the file that the atoms were read from is open, and is read again behind it. What is printed
// last is the same whatever the PEs are, and however often the run has begun again.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "ckio.h"
#include "ckmulticast.h"
struct Plan {
  int side, steps, way, stop, every, move_every, balance_every, per_cell;
  char folder[300], in[300];
};
PUPbytes(Plan) struct Atom { int id, pos[3], vel[3]; };
PUPbytes(Atom)
#include "cells.decl.h"

    /*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Pair pairs;
/*readonly*/ CProxy_Census census;
/*readonly*/ Plan plan;

constexpr int P = 1000003, W = 1000, record = 32;
CkReduction::reducerType extremes_type;
CkReductionMsg* reduce_extremes(int n, CkReductionMsg** m) {
  std::map<int, int> all;  // of each coordinate's hundreds how many
  for (int i = 0; i < n; ++i) {
    const auto* d = static_cast<const int*>(m[i]->getData());
    for (int k = 0; k < m[i]->getSize() / 8; ++k) all[d[2 * k]] += d[2 * k + 1];
  }
  std::vector<int> out;
  for (auto& e : all) {
    out.push_back(e.first);
    out.push_back(e.second);
  }
  return CkReductionMsg::buildNew((int)out.size() * 4, out.data());
}
void register_extremes() { extremes_type = CkReduction::addReducer(reduce_extremes); }

class AtomsMsg : public CkMcastBaseMsg, public CMessage_AtomsMsg {
 public:
  int n, x, y, z;
  Atom* atoms;
};
class Main : public CBase_Main {
  Main_SDAG_CODE int step = 0, k = 0;
  CmiInt8 seen = 0;
  Ck::IO::Session reading;

 public:
  Main(CkArgMsg* m) {
    if (m->argc < 6) CkAbort("cells FOLDER SIDE STEPS WAY STOP");
    std::memset(&plan, 0, sizeof plan);
    plan.side = atoi(m->argv[2]);
    plan.steps = atoi(m->argv[3]);
    plan.way = atoi(m->argv[4]);
    plan.stop = atoi(m->argv[5]);
    plan.every = 4;
    plan.move_every = 2;
    plan.balance_every = 3;
    plan.per_cell = 12;
    snprintf(plan.folder, sizeof plan.folder, "%s", m->argv[1]);
    snprintf(plan.in, sizeof plan.in, "%s.in", m->argv[1]);
    delete m;
    mainProxy = thisProxy;
    std::ofstream out(plan.in);
    const int s = plan.side;
    for (int c = 0, id = 0; c < s * s * s; ++c)
      for (int k = 0; k < plan.per_cell; ++k, ++id) {
        const int x = c / (s * s), y = c / s % s, z = c % s;
        char t[64];
        snprintf(t, sizeof t, "%8d%8d%8d%7d\n", id, x * W + id * 37 % W, y * W + id * 71 % W, z * W + id * 113 % W);
        out << t;
      }
    out.close();
    census = CProxy_Census::ckNew();
    cells = CProxy_Cell::ckNew(s, s, s);
    pairs = CProxy_Pair::ckNew();
    thisProxy.live();
  }
  Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) {
    p | step;
    p | k;
    p | seen;
    p | reading;
  }
  void open_input() {
    Ck::IO::Options o;
    Ck::IO::open(plan.in, CkCallback(CkIndex_Main::opened(nullptr), thisProxy), o);
  }
  void begin_reading(Ck::IO::FileReadyMsg* m) {
    const size_t all = (size_t)plan.side * plan.side * plan.side * plan.per_cell * record;
    Ck::IO::startReadSession(m->file, all, 0, CkCallback(CkIndex_Main::ready(nullptr), thisProxy));
    delete m;
  }
  void begin(Ck::IO::SessionReadyMsg* m) {
    reading = m->session;
    delete m;
    cells.read(reading);
  }
  void take(CkReductionMsg* m) {
    const auto* d = static_cast<const int*>(m->getData());
    int n = 0;
    for (int k = 0; k < m->getSize() / 8; ++k) {
      seen = (seen * 31 + d[2 * k] * 7 + d[2 * k + 1]) % P;
      n += d[2 * k + 1];
    }
    if (n != plan.side * plan.side * plan.side * plan.per_cell) CkAbort("%d atoms", n);
    delete m;
  }
  void check_count(CmiInt8 n) {
    if (n != CkNumNodes()) CkAbort("%d nodes", (int)n);
  }
  void checkpoint() {
    CkCallback cb(CkIndex_Main::saved(), thisProxy);
    if (plan.way == 1 && step == plan.stop)
      CkStartCheckpoint(plan.folder, cb);
    else if (plan.way == 2)
      CkStartMemCheckpoint(cb);
    else
      cb.send();
  }
  void after_checkpoint() {
    CkPrintf("cells: step %d%s\n", step, _restarted ? " after a restart" : "");
    if (plan.way == 2 && step == plan.stop && !_restarted) pairs(0, 0, 0, 1, 1, 1).die();
  }
  void finish(CkReductionMsg* m) {
    int n;
    CkReduction::tupleElement* r;
    m->toTuple(&r, &n);
    CkPrintf("cells: the end %lld %lld %d %d\n", (long long)seen, (long long)(*(CmiInt8*)r[0].data % P),
             *(int*)r[1].data, *(int*)r[2].data);
    delete[] r;
    delete m;
    CkExit();
  }
};

class Cell : public CBase_Cell {
  Cell_SDAG_CODE int step = 0, n = 0;
  std::vector<Atom> atoms_;
  CProxySection_Pair mine;
  std::vector<char> text;
  bool started = false;
  int linear() const { return (thisIndex.x * plan.side + thisIndex.y) * plan.side + thisIndex.z; }

 public:
  Cell() { usesAtSync = true; }
  Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | step;
    p | n;
    p | atoms_;
    p | mine;
    p | started;
  }
  void read(Ck::IO::Session s) {
    text.assign((size_t)plan.per_cell * record, 0);
    Ck::IO::read(s, text.size(), (size_t)linear() * text.size(), text.data(),
                 CkCallback(CkIndex_Cell::came(nullptr), thisProxy(thisIndex.x, thisIndex.y, thisIndex.z)));
  }
  void came(Ck::IO::ReadCompleteMsg* m) {
    delete m;
    for (int k = 0; k < plan.per_cell; ++k) {
      Atom a;
      std::string line(&text[(size_t)k * record], record - 1);
      if (sscanf(line.c_str(), "%8d%8d%8d%7d", &a.id, a.pos, a.pos + 1, a.pos + 2) != 4 ||
          a.id != linear() * plan.per_cell + k)
        CkAbort("atom %d of cell %d is read wrongly: %s", k, linear(), line.c_str());
      for (int i = 0; i < 3; ++i) a.vel[i] = (a.id + i) % 5 - 2;
      if (!started) atoms_.push_back(a);
    }
    // Half of the cells have contributed to the next reduction already.
    if (started) return mainProxy.one_read();
    started = true;
    contribute(CkCallback(CkReductionTarget(Main, all_read), mainProxy));
  }
  // The place of a cell.
  struct Place {
    int v[3];
    bool operator<(const Place& o) const { return std::lexicographical_compare(v, v + 3, o.v, o.v + 3); }
  };
  template <class F>
  void around(F f) const {
    const int s = plan.side;
    for (int dx = -1; dx <= 1; ++dx)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dz = -1; dz <= 1; ++dz)
          f(Place{{(thisIndex.x + dx + s) % s, (thisIndex.y + dy + s) % s, (thisIndex.z + dz + s) % s}});
  }
  Place me() const { return Place{{thisIndex.x, thisIndex.y, thisIndex.z}}; }
  void make_pairs() {
    around([&](Place o) {
      if (o < me()) return;
      pairs(thisIndex.x, thisIndex.y, thisIndex.z, o.v[0], o.v[1], o.v[2]).insert();
    });
    contribute(CkCallback(CkReductionTarget(Main, all_made), mainProxy));
  }
  void make_sections() {
    std::vector<CkArrayIndex6D> members;
    around([&](Place o) {
      Place a = me(), b = o;
      if (b < a) std::swap(a, b);
      members.push_back(CkArrayIndex6D(a.v[0], a.v[1], a.v[2], b.v[0], b.v[1], b.v[2]));
    });
    mine = CProxySection_Pair::ckNew(pairs, members.data(), (int)members.size());
    contribute(CkCallback(CkReductionTarget(Main, all_made), mainProxy));
  }
  void send_positions() {
    AtomsMsg* m = new ((int)atoms_.size()) AtomsMsg;
    m->n = (int)atoms_.size();
    m->x = thisIndex.x;
    m->y = thisIndex.y;
    m->z = thisIndex.z;
    for (int i = 0; i < m->n; ++i) m->atoms[i] = atoms_[i];
    CkSetRefNum(m, step);
    mine.atoms(m);
  }
  void take_forces(CkReductionMsg* m) {
    const auto* f = static_cast<const CmiInt8*>(m->getData());
    if (m->getSize() != (int)(atoms_.size() * 3 + 1) * 8)
      CkAbort("forces of %d bytes for %d atoms", m->getSize(), (int)atoms_.size());
    if (f[0] != 27) CkAbort("%d pairs have contributed", (int)f[0]);
    const int L = plan.side * W;
    for (size_t i = 0; i < atoms_.size(); ++i)
      for (int d = 0; d < 3; ++d) {
        int& v = atoms_[i].vel[d];
        v = std::max(-150, std::min(150, v + (int)(f[1 + 3 * i + d] % 101) - 50));
        atoms_[i].pos[d] = (atoms_[i].pos[d] + v + L) % L;
      }
    delete m;
  }
  void send_movers() {
    std::map<Place, std::vector<Atom>> to;
    around([&](Place o) { to[o]; });
    std::vector<Atom> stay;
    for (Atom& a : atoms_) {
      Place c{{a.pos[0] / W, a.pos[1] / W, a.pos[2] / W}};
      if (!to.count(c)) CkAbort("an atom is too fast");
      (c < me() || me() < c ? to[c] : stay).push_back(a);
    }
    atoms_.swap(stay);
    for (auto& t : to)
      if (t.first < me() || me() < t.first)
        cells(t.first.v[0], t.first.v[1], t.first.v[2]).movers(step, (int)t.second.size(), t.second.data());
  }
  void take_movers(int k, Atom* a) { atoms_.insert(atoms_.end(), a, a + k); }
  void sort_atoms() {
    std::sort(atoms_.begin(), atoms_.end(), [](const Atom& a, const Atom& b) { return a.id < b.id; });
  }
  void wait_for_balance() { AtSync(); }
  void ResumeFromSync() override { thisProxy(thisIndex.x, thisIndex.y, thisIndex.z).balanced(); }
  // Cells of even number before the checkpoint, others behind it.
  void tell_extremes(int is_late) {
    if (linear() % 2 != is_late) return;
    std::vector<int> d;
    for (Atom& a : atoms_) {
      d.push_back((a.pos[0] + 2 * a.pos[1] + 4 * a.pos[2]) / 100);
      d.push_back(1);
    }
    contribute((int)d.size() * 4, d.data(), extremes_type, CkCallback(CkIndex_Main::extremes(nullptr), mainProxy));
  }
  void report() {
    CmiInt8 h = 0;
    int count = (int)atoms_.size(), most = count;
    for (Atom& a : atoms_) h = (h + (CmiInt8)(a.id + 1) * (a.pos[0] * 3 + a.pos[1] * 5 + a.pos[2] * 7 + a.vel[0])) % P;
    CkReduction::tupleElement t[] = {CkReduction::tupleElement(sizeof h, &h, CkReduction::sum_long_long),
                                     CkReduction::tupleElement(sizeof count, &count, CkReduction::sum_int),
                                     CkReduction::tupleElement(sizeof most, &most, CkReduction::max_int)};
    CkReductionMsg* m = CkReductionMsg::buildFromTuple(t, 3);
    m->setCallback(CkCallback(CkIndex_Main::energies(nullptr), mainProxy));
    contribute(m);
  }
};

class Pair : public CBase_Pair {
  Pair_SDAG_CODE int step = 0;
  bool self;
  CkSectionInfo cookies[2];

 public:
  Pair() {
    usesAtSync = true;
    is_self();
  }
  Pair(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | step;
    p | self;
    p | cookies[0];
    p | cookies[1];
  }
  void is_self() {
    self = thisIndex.x1 == thisIndex.x2 && thisIndex.y1 == thisIndex.y2 && thisIndex.z1 == thisIndex.z2;
  }
  void force(const AtomsMsg* a, const AtomsMsg* b, std::vector<CmiInt8>& f) const {
    f.assign(a->n * 3 + 1, 0);
    f[0] = 1;
    for (int i = 0; i < a->n; ++i)
      for (int j = 0; j < b->n; ++j)
        for (int d = 0; d < 3; ++d) {
          const CmiInt8 r = a->atoms[i].pos[d] - b->atoms[j].pos[d];
          f[1 + 3 * i + d] += (r * r * 3 + b->atoms[j].id) % 1009;
        }
  }
  void give(AtomsMsg* m, std::vector<CmiInt8>& f, int which) {
    CkGetSectionInfo(cookies[which], m);
    CProxySection_Pair::contribute((int)f.size() * 8, f.data(), CkReduction::sum_long_long, cookies[which],
                                   CkCallback(CkIndex_Cell::forces(nullptr), cells(m->x, m->y, m->z)));
  }
  void one(AtomsMsg* a) {
    std::vector<CmiInt8> f;
    force(a, a, f);
    give(a, f, 0);
    delete a;
  }
  void two(AtomsMsg* a, AtomsMsg* b) {
    const bool in_order = a->x == thisIndex.x1 && a->y == thisIndex.y1 && a->z == thisIndex.z1;
    if (!in_order) std::swap(a, b);
    std::vector<CmiInt8> f, g;
    force(a, b, f);
    force(b, a, g);
    give(a, f, 0);
    give(b, g, 1);
    delete a;
    delete b;
  }
  void wait_for_balance() { AtSync(); }
  void ResumeFromSync() override { thisProxy[CkArrayIndex6D(thisIndex)].balanced(); }
  void die() { CkDieNow(); }
};

class Census : public CBase_Census {
  int counts = 0;

 public:
  Census() {}
  Census(CkMigrateMessage* m) : CBase_Census(m) {}
  void pup(PUP::er& p) override { p | counts; }
  void count(int step) {
    if (counts != step / plan.every) CkAbort("census %d in step %d", counts, step);
    ++counts;
    CmiInt8 one = 1;
    contribute(sizeof one, &one, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }
};
#include "cells.def.h"
