#include "machine/ucx-like/operation.h"

#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

RequestState& Operation::make_state() {
  state_ = worker.states_.take();
  return *state_;
}

bool Request::cancel() { return static_cast<Operation*>(this)->take_back(); }

void Operation::drop() {
  dropped = true;
  if (told) worker.recycle(*this);
}

void Releaser::operator()(Request* request) const { static_cast<Operation*>(request)->drop(); }

bool Operation::take_back() {
  if (has_ended_) return false;
  if (doing == Doing::receive && posted) {
    posted = false;
    received_ = {};
    worker.matching.posted.remove(this, mask);
  } else if (doing == Doing::receive || !Hook<InQueue>::linked() || !endpoint->withdraw(*this)) {
    return false;
  }
  worker.end_later(*this, Outcome::cancelled);
  return true;
}

void Operation::completed(Completion& self, Outcome outcome) {
  auto& operation = static_cast<Operation&>(self);
  --operation.outstanding;
  operation.worker.part_completed(operation, outcome);
}

}  // namespace periapt::ucx
