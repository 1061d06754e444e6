// Uses what more.ci declares.
#include "charm++.h"
#include "pup_stl.h"

// thisIndex is one of these.
struct Tree {
  int node;
};
template <int n>
struct Grid {
  int at[n];
};
class CkArrayIndexTree : public CkArrayIndex {};
template <int n>
class CkArrayIndexGrid : public CkArrayIndex {};
namespace deep {
class Upper : public ArrayElementT<CkArrayIndex1D> {};
class CProxy_Upper : public CProxy_ArrayElement {
 public:
  using CProxy_ArrayElement::CProxy_ArrayElement;
};
class CProxyElement_Upper : public CProxyElement_ArrayElement {
 public:
  using CProxyElement_ArrayElement::CProxyElement_ArrayElement;
};
class CProxySection_Upper : public CProxySection_ArrayElement {
 public:
  using CProxySection_ArrayElement::CProxySection_ArrayElement;
};
class CkIndex_Upper : public CkIndex_ArrayElement {
 public:
  static int __idx;
};
}  // namespace deep

#include "more.decl.h"

class Plain : public CMessage_Plain {};
Plain* first;
// What a conditional field points to.
class Shadow : public CkConditional {
 public:
  void pup(PUP::er&) {}
};
class Choice : public CMessage_Choice {
 public:
  Shadow* shadow = nullptr;
  int* count;
};
struct Fixed : CMessage_Fixed {
  const int* values;
  const double* scales;
  char* const* names;
};
class One : public CMessage_One {
 public:
  char* text;
  int count;
};
template <class T>
class Box : public CMessage_Box<T> {
 public:
  T* content;
};
class Shape : public PUP::able {
 public:
  Shape() = default;
  explicit Shape(CkMigrateMessage*) {}
  PUPable_decl(Shape);
};
namespace deep {
class Round : public Shape {
 public:
  explicit Round(CkMigrateMessage*) {}
  PUPable_decl(Round);
};
}  // namespace deep

class Base : public CBase_Base {
 public:
  void inherited(int) {}
  void again(int) {}
};
class Left : public CBase_Left {
 public:
  void again(int) {}
};
class Right : public CBase_Right {
 public:
  void again(int) {}
};
class Both : public CBase_Both {
 public:
  void again(int) {}
};
class Root : public CBase_Root {
 public:
  void inherited() {}
};
class Leaf : public CBase_Leaf {
 public:
  void own() {}
};
class Map : public CBase_Map {};
namespace deep {
int depth;
class Hidden : public CMessage_Hidden {};
namespace deeper {
class Cell : public CBase_Cell {
 public:
  void take(Hidden* m) { delete m; }
};
}  // namespace deeper
class Well : public CBase_Well {
 public:
  Well(int) {}
  void draw() {}
};
}  // namespace deep
class Bottom : public CBase_Bottom {};
class Four : public CBase_Four {
 public:
  void poke(int) {}
};
class Six : public CBase_Six {
 public:
  void poke(int) {}
};
class Node : public CBase_Node {
 public:
  void poke(int) {}
};
class Templated : public CBase_Templated {};

template <class T, int n>
class Field : public CBase_Field<T, n> {
 public:
  Field(T) {}
  void take(Box<T>* m) { delete m; }
  void values(int, T*) {}
  void total(T) {}
};
template <class T>
class Shared : public CBase_Shared<T> {
 public:
  void set(const T&) {}
};

class Calls : public CBase_Calls {
 public:
  int answer(int) { return 42; }
  Plain* fetch(One* m) {
    delete m;
    return new Plain;
  }
  void wait() {}
  std::vector<int> many(Plain* m) {
    delete m;
    return {1};
  }
};
class Direct : public CBase_Direct {
 public:
  void quick(int, double*, std::vector<int>&) {}
  void quickMessage(Plain* m) { delete m; }
  std::vector<int>* here(const int*, std::string, double&) { return nullptr; }
  void made(int) {}
  void madeHome() {}
};
struct Waiting : CBase_Waiting {
  Waiting(int = 3, double = 0.5) {}
};
struct Waits : CBase_Waits {};
struct Alone : CBase_Alone {
  explicit Alone(int) {}
};
class Near : public CBase_Near {
 public:
  int count(char*) { return 0; }
  void quick(int) {}
};
class Lent : public CBase_Lent {
 public:
  void fetched(int, double*, std::string) {}
  void posted(int*& x, int& n, const std::vector<int>&, char* y, short*, CkNcpyBufferPost* post) {
    n = 0;
    x = nullptr;
    CkMatchBuffer(post, y ? 1 : 0, 3);
  }
  void posted(int*, int, const std::vector<int>&, char*, short*) {}
};
template <class T>
class Sharing : public CBase_Sharing<T> {
 public:
  void take(T*, int) {}
};

void use() {
  CProxy_Both both = CProxy_Both::ckNew();
  both.again(1);
  CProxy_Leaf leaf = CProxy_Leaf::ckNew(4);
  leaf.inherited();
  leaf[1].own();
  CProxy_Map::ckNew();
  deep::CProxy_Well well = deep::CProxy_Well::ckNew(1);
  well.draw();
  deep::deeper::CProxy_Cell cells = deep::deeper::CProxy_Cell::ckNew(2, 2);
  cells(0, 1).take(new deep::Hidden);
  CProxy_Four four = CProxy_Four::ckNew();
  four(1, 2, 3, 4).poke(1);
  CProxy_Node nodes = CProxy_Node::ckNew();
  nodes[CkArrayIndexTree()].insert();
  CProxy_Field<int, 3> field = CProxy_Field<int, 3>::ckNew(1, 10);
  field[0].take(new (3) Box<int>);
  CProxy_Shared<std::vector<double>> shared = CProxy_Shared<std::vector<double>>::ckNew();
  shared.set({1.0});
  CProxy_Calls calls = CProxy_Calls::ckNew();
  int n = calls.answer(3);
  delete calls.fetch(new (3) One);
  calls.wait();
  n += static_cast<int>(calls.many(new Plain).size());
  CProxy_Direct direct = CProxy_Direct::ckNew(3);
  std::vector<int> v;
  double x[2];
  direct[1].quick(2, x, v);
  double d = 0;
  delete direct[1].here(&n, "text", d);
  CProxy_Waiting waiting;  // of nothing
  waiting = CProxy_Waiting::ckNew();
  waiting = CProxy_Waiting(4);
  CProxy_Waits::ckNew();
  CProxy_Alone::ckNew();
  delete new (3, 2, 1) Fixed;
  CProxy_Near near = CProxy_Near::ckNew();
  n = near.count() + near[0].count(nullptr);
  near.quick();
  CProxy_Lent lent = CProxy_Lent::ckNew(2);
  short z[2] = {};
  lent[0].fetched(2, CkSendBuffer(x), "text");
  lent.fetched(2, CkSendBuffer(x, CkCallback()), "text");
  lent[1].posted(CkSendBuffer(&n), n, v, CkSendBuffer("text"), z);
  CProxy_Sharing<long> sharing = CProxy_Sharing<long>::ckNew();
  sharing[0].take(CkSendBuffer(x), 1);
}

#include "more.def.h"
