// See taskGraph.h.
#include "taskGraph.h"

CkArrayID taskGraphSolver::newTaskGraph() { return taskGraphInit(); }

void taskGraphSolver::startTask() {
  CProxy_taskGraphArray{set_}(index_).insert(needed_, this, CkCallback(CkCallback::ignore));
}

void taskGraphSolver::removeTask() { taskGraphDelete(set_, index_); }

CkArrayID taskGraphInit() { return CProxy_taskGraphArray::ckNew(); }

void taskGraphDelete(CkArrayID graph, CkArrayIndex index) { CProxy_taskGraphArray{graph}(index).deleteElement(); }

callbackMsg::callbackMsg(taskGraphSolver* task, CkArrayIndex index) : Index(index) {
  PUPable_marshall<taskGraphSolver> original(task);
  std::vector<char> bytes(PUP::size(original));
  PUP::toMemBuf(original, bytes.data(), bytes.size());
  PUP::fromMemBuf(Data, bytes.data(), bytes.size());
}

void* callbackMsg::pack(callbackMsg* message) {
  PUP::sizer sizer;
  message->pup(sizer);
  void* const bytes = CkAllocBuffer(message, static_cast<int>(sizer.size()));
  PUP::toMem packer(bytes);
  message->pup(packer);
  delete message;
  return bytes;
}

callbackMsg* callbackMsg::unpack(void* bytes) {
  void* const room = CkAllocBuffer(bytes, sizeof(callbackMsg));
  callbackMsg* const message = new (room) callbackMsg();
  PUP::fromMem unpacker(bytes);
  message->pup(unpacker);
  CkFreeMsg(bytes);
  return message;
}

taskGraphArray::taskGraphArray(CkVec<CkArrayIndex> needed, taskGraphSolver* task, CkCallback solved)
    : task_(task), needed_(static_cast<int>(needed.size())), callback_(solved) {
  if (task == nullptr) CkAbort("taskGraphAdd() without a task: its fourth argument is null");
  for (std::size_t i = 0; i < needed.size(); ++i) thisProxy(needed[i]).requestData(thisIndexMax);
  advance();
}

void taskGraphArray::advance() {
  if (static_cast<int>(data_.size()) < needed_) return;
  std::vector<taskGraphSolver*> data;
  for (const auto& one : data_) data.push_back(one.get());
  if (needed_ > 0)
    task_->solve(needed_, data.data());
  else
    task_->setup();
  solved_ = true;
  if (callback_.type != CkCallback::ignore) callback_.send(new callbackMsg(task_.get(), thisIndexMax));
  for (const CkArrayIndex& index : waiting_) thisProxy(index).depositData(task_.get());
  waiting_.clear();
}

void taskGraphArray::requestData(CkArrayIndex from) {
  if (solved_)
    thisProxy(from).depositData(task_.get());
  else
    waiting_.push_back(from);
}

void taskGraphArray::depositData(taskGraphSolver* data) {
  data_.emplace_back(data);
  advance();
}

void taskGraphArray::deleteElement() {
  if (waiting_.empty()) return;
  CkError("Warning: a task of a task graph is removed that has not been solved, and %d others wait for it\n",
          static_cast<int>(waiting_.size()));
}

void taskGraphArray::pup(PUP::er& p) {
  PUPable_marshall<taskGraphSolver> task(task_.get());
  p | task;
  int count = static_cast<int>(data_.size());
  p | count;
  if (p.isUnpacking()) {
    task_.reset(task);
    data_.resize(static_cast<std::size_t>(count));
  }
  for (auto& one : data_) {
    PUPable_marshall<taskGraphSolver> data(one.get());
    p | data;
    if (p.isUnpacking()) one.reset(data);
  }
  p | needed_;
  p | solved_;
  p | waiting_;
  p | callback_;
}

#include "taskGraph.def.h"
