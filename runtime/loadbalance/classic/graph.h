// Statistics as a list of PEs and a graph of objects, for balancers that prefer these. C++17: reached from ckgraph.h.
#pragma once
#include "runtime/loadbalance/classic/base_lb.h"

class ProcInfo {
 public:
  ProcInfo() = default;
  ProcInfo(int id, double overhead, double load, double speed, bool available)
      : id_(id), overhead_(overhead), load_(load), speed_(speed), available_(available) {}
  int getProcId() const { return id_; }
  void setProcId(int id) { id_ = id; }
  // Seconds: all, and of what cannot be moved.
  double getTotalLoad() const { return load_; }
  void setTotalLoad(double load) { load_ = load; }
  double getOverhead() const { return overhead_; }
  void setOverhead(double overhead) { overhead_ = overhead; }
  double getPeSpeed() const { return speed_; }
  void setPeSpeed(double speed) { speed_ = speed; }
  bool isAvailable() const { return available_; }

 private:
  int id_ = 0;
  double overhead_ = 0, load_ = 0, speed_ = 1;
  bool available_ = true;
};

class ProcArray {
 public:
  explicit ProcArray(BaseLB::LDStats* stats);
  double getAverageLoad() const { return average_; }
  void resetTotalLoad();
  std::vector<ProcInfo> procs;

 private:
  double average_ = 0;
};

class CkEdge {
 public:
  CkEdge(int neighbor, int messages, int bytes) : neighbor_(neighbor), messages_(messages), bytes_(bytes) {}
  int getNeighborId() const { return neighbor_; }
  int getNumMsgs() const { return messages_; }
  int getNumBytes() const { return bytes_; }
  void setNumBytes(int bytes) { bytes_ = bytes; }

 private:
  int neighbor_, messages_, bytes_;
};

// Multicasts are recorded as what they are made of, so these lists stay empty.
class McastSrc {
 public:
  McastSrc(int messages, int bytes) : messages_(messages), bytes_(bytes) {}
  int getNumMsgs() const { return messages_; }
  int getNumBytes() const { return bytes_; }
  std::vector<int> destList;

 private:
  int messages_, bytes_;
};
class McastDest {
 public:
  McastDest(int source, int offset, int messages, int bytes)
      : source_(source), offset_(offset), messages_(messages), bytes_(bytes) {}
  int getSrc() const { return source_; }
  int getOffset() const { return offset_; }
  int getNumMsgs() const { return messages_; }
  int getNumBytes() const { return bytes_; }

 private:
  int source_, offset_, messages_, bytes_;
};

class CkVertex {
 public:
  CkVertex() = default;
  CkVertex(int id, double load, bool migratable, int pe, int new_pe = -1, std::size_t bytes = 0)
      : id_(id), load_(load), migratable_(migratable), pe_(pe), new_pe_(new_pe), bytes_(bytes) {}
  int getVertexId() const { return id_; }
  double getVertexLoad() const { return load_; }
  double getCompLoad() const { return load_; }
  void setCompLoad(double load) { load_ = load; }
  int getCurrentPe() const { return pe_; }
  int getCurrPe() const { return pe_; }
  void setCurrPe(int pe) { pe_ = pe; }
  int getNewPe() const { return new_pe_; }
  void setNewPe(int pe) { new_pe_ = pe; }
  bool isMigratable() const { return migratable_; }
  std::size_t getPupSize() const { return bytes_; }
  std::vector<CkEdge> sendToList, recvFromList;
  std::vector<McastSrc> mcastToList;
  std::vector<McastDest> mcastFromList;

 private:
  int id_ = 0;
  double load_ = 0;
  bool migratable_ = true;
  int pe_ = 0, new_pe_ = -1;  // -1: as it is
  std::size_t bytes_ = 0;
};
typedef CkVertex Vertex;
typedef CkEdge Edge;

class ObjGraph {
 public:
  explicit ObjGraph(BaseLB::LDStats* stats);
  // Writes the new PEs of vertices into stats->to_proc.
  void convertDecisions(BaseLB::LDStats* stats);
  std::vector<CkVertex> vertices;
};
