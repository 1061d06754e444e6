// Uses what kinds.ci declares: every form of creation, call and index.
#include "kinds.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ double weight[SIZE];
/*readonly*/ int grid[2][SIZE];
/*readonly*/ std::vector<int> table;
/*readonly*/ Settings* settings;

class Plain : public CMessage_Plain {
 public:
  int k;
};
class Var : public CMessage_Var {
 public:
  int* index;
  double* value;
};

void setUp() {}
void everyPe() {}

class Main : public CBase_Main {
  Main_SDAG_CODE public : Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    mainProxy.done();
    CProxy_Worker one = CProxy_Worker::ckNew(1, {1.0, 2.0});
    CProxy_Worker::ckNew(new Plain, 3);
    CProxy_Worker other(2, std::vector<double>{});
    CkChareID id;
    CProxy_Worker::ckNew(2, {}, &id, 0);
    one.work(1, 2, true);
    one.soon(new (2, 3) Var);
    int sizes[] = {4, 5};
    one.soon(new (sizes, 8 * sizeof(int)) Var);
    other.soon(new (1, 2, 8 * sizeof(int), GroupDepNum()) Var);

    CProxy_Line line = CProxy_Line::ckNew(10);
    line = CProxy_Line::ckNew(7, 10);
    line = CProxy_Line::ckNew(7, CkArrayOptions(10));
    line = CProxy_Line::ckNew();
    CProxy_Line::ckNew(7, 10, CkCallback());
    CProxy_Line::ckNew(CkArrayOptions(3), CkCallback());
    const CkEntryOptions options;
    const double x[3] = {};
    line.lengthBefore(3, x);
    line[4].lengthBefore(3, x, &options);
    line(4).insert(5, 1);
    line[5].insert();
    line[0].overloaded(1.5);
    line[0].look(new (1, 1, 32) Var);
    if (Line* here = line[0].ckLocal()) (void)here;
    CProxySection_Line section = CProxySection_Line::ckNew(line.ckGetArrayID(), 0, 8, 2);
    section.overloaded();
    section[1].overloaded(2);

    CProxy_Plane plane = CProxy_Plane::ckNew(new (32) Plain, 3, 4);
    CProxy_Plane::ckNew(new Plain, CkArrayOptions(2, 2), CkCallback());
    plane(1, 2).poke(3);
    plane[CkArrayIndex2D(1, 2)].insert(new Plain, 1);
    CProxySection_Plane::ckNew(plane.ckGetArrayID(), 0, 3, 1, 0, 3, 1);
    CProxy_Space space = CProxy_Space::ckNew(0.5, 2, 2, 2);
    space(0, 1, 1).poke(1, 'c', 2);

    CProxy_G g = CProxy_G::ckNew(4);
    CProxy_G made(5);
    g.poke(1);
    g[2].poke(1);
    const int pes[] = {0, 1};
    g.poke(1, 2, pes);
    g.poke(CkIndex_Main::idx_done(&Main::done));
    if (g.ckLocalBranch() != nullptr) made.poke(CkIndex_G::poke(0));
    CProxy_Moving::ckNew();
    CProxy_NG ng = CProxy_NG::ckNew();
    ng[0].alone(1);
    ng.now(2);

    int indices[] = {CkIndex_Main::done(),
                     CkIndex_Main::redn_wrapper_sum(nullptr),
                     CkIndex_Main::redn_wrapper_raw(nullptr),
                     CkIndex_Main::raw(nullptr),
                     CkIndex_Line::lengthBefore(0, nullptr),
                     CkIndex_Line::ckNew(3),
                     CkIndex_Line::idx_overloaded_void(),
                     CkIndex_Line::idx_look_Var(),
                     CkIndex_Line::idx_noNames_marshall5()};
    (void)indices;
  }
  void done() {}
  void sum(double) {}
  void sums(int, double*) {}
  void sumsTurned(const double*, int) {}
  void raw(CkReductionMsg*) {}
  void pair(const std::pair<int, double>&, std::vector<int>) {}
  static void inMain() {}
};

class Worker : public CBase_Worker {
 public:
  Worker(int, const std::vector<double>&) {}
  Worker(Plain* m) { delete m; }
  void work(unsigned long long, std::size_t, bool) {}
  void soon(Var* m) { delete m; }
};

class Line : public CBase_Line {
 public:
  Line() {}
  Line(int) {}
  Line(CkMigrateMessage*) {}
  void lengthBefore(int, const double*) { thisProxy[1].overloaded(); }
  void lengthAfter(Particle*, int) {}
  void noNames(int, const Particle&) {}
  void writable(std::vector<int>& v, Particle, CProxy_Worker, const CkCallback&) { v.push_back(1); }
  // The four ways in which a `T&` of the .ci may be taken.
  void movable(std::vector<int>&, std::vector<int>&&, const std::vector<int>&, int) {}
  void overloaded(int) {}
  void overloaded(double) {}
  void overloaded() {}
  void go() {}
  void look(Var*) {}
  void both(Plain* m) { delete m; }
};

class Plane : public CBase_Plane {
 public:
  Plane(Plain* m) { delete m; }
  Plane(CkMigrateMessage*) {}
  void poke(int) {}
};

class Space : public CBase_Space {
 public:
  Space(double) {}
  Space(CkMigrateMessage*) {}
  void poke(short, unsigned char, long double) {}
};

class G : public CBase_G {
 public:
  G(int) {}
  void poke(int) {}
};

class Moving : public CBase_Moving {
 public:
  Moving() {}
  Moving(CkMigrateMessage* m) : CBase_Moving(m) {}
  void poke(std::string) {}
};

class NG : public CBase_NG {
 public:
  NG() {}
  void alone(int) {}
  void now(int) {}
};

#include "kinds.def.h"
