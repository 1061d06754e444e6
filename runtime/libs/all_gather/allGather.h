// All-gather (-module allGather): each PE gives a piece of equal size, and each PE gets all of them. C++17: programs
// include it.
//
//   CProxy_AllGather gather = CProxy_AllGather::ckNew(bytes_of_a_piece, ALL_GATHER_RING, 0);
//   gather.ckLocalBranch()->init(result, piece, index, done);   // on each PE
//
// `result` has room for as many pieces as there are PEs; the one with `index` comes to lie at index * bytes. Both
// blocks are the caller's, and stay until `done` is sent, on each PE when its own result is whole, with an
// allGatherMsg. Then the PE may begin the next one, while others are still in this one.
//
// The ways, for n PEs: a ring takes n - 1 steps of one piece; doubling (HYPERCUBE) about log2(n) steps, each of twice
// as many pieces as the one before, for any n (J. Bruck et al., "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", 1997); FLOODING sends each piece to every PE at once. `seed` has no use here.
#pragma once
#include <vector>

#include "allGather.decl.h"

class allGatherMsg : public CMessage_allGatherMsg {};

enum allGatherType { ALL_GATHER_RING, ALL_GATHER_HYPERCUBE, ALL_GATHER_FLOODING };

class AllGather : public CBase_AllGather {
 public:
  AllGather(int bytes, int way, int seed);
  explicit AllGather(CkMigrateMessage*) {}
  // Between gathers: the blocks of one that runs are addresses.
  void pup(PUP::er& p) {
    p | bytes_;
    p | way_;
    p | gather_;
  }

  void init(void* result, void* piece, int index, CkCallback done);
  void take(int gather, int step, int count, int* indices, int bytes, char* pieces);

 private:
  struct Pieces {
    int gather, step;
    std::vector<int> indices;
    std::vector<char> bytes;
  };
  void place(int count, const int* indices, const char* pieces);
  void send(int to, int step, int count);
  void send_doubled();
  void advance();

  int bytes_ = 0, way_ = ALL_GATHER_RING;
  int gather_ = 0;  // the number of the one that runs here, or of the last
  int step_ = 0;    // of doubling
  bool runs_ = false;
  char* result_ = nullptr;
  CkCallback done_;
  std::vector<int> have_;      // whose pieces lie in the result, in the order in which they came
  std::vector<Pieces> early_;  // of the next gather, or of a later step of doubling
};
