// See quiescence.h.
#include "runtime/chare/quiescence.h"

#include "base/clock.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
int entry_request, entry_wave, entry_answer;
constexpr int branching = 4;
constexpr int eager_waves = 16;
constexpr std::uint64_t pause_ns = 200'000;
}  // namespace

void Quiescence::register_entries() {
  entry_request = register_runtime_entry("quiescence: request", on_request);
  entry_wave = register_runtime_entry("quiescence: wave", on_wave);
  entry_answer = register_runtime_entry("quiescence: answer", on_answer);
}

Quiescence::Quiescence(PeObjects& objects) : pe_(objects.pe) {
  const int me = pe_.index;
  if (me > 0) parent_ = (me - 1) / branching;
  for (int c = branching * me + 1; c <= branching * (me + 1) && c < pe_.process.pes(); ++c) children_.push_back(c);
}

void Quiescence::start(const CkCallback& callback) {
  // Not counted: whoever asks for quiescence does not disturb it.
  send_runtime(pe_, 0, entry_request, 0, 0, callback);
}

void Quiescence::on_request(Pe& pe, Delivery& call) {
  Quiescence& q = *pe.objects->quiescence;
  const CkCallback callback = call.read<CkCallback>();
  q.callbacks_.push_back(callback);
  q.have_last_ = false;
  if (!q.running_) {
    q.running_ = true;
    q.begin_wave();
  }
}

void Quiescence::begin_wave() {
  sums_ = {};
  answers_missing_ = children_.size() + 1;
  for (int child : children_) send_runtime(pe_, child, entry_wave, 0, 0, 0);
  answer();
}

void Quiescence::on_wave(Pe& pe, Delivery& call) {
  Quiescence& q = *pe.objects->quiescence;
  // element 1: our own reminder to answer when the queue is empty
  call.element == 1 ? q.answer() : q.begin_wave();
}

// A reminder to ourselves, behind everything that is queued: the least urgent message there is.
void Quiescence::answer_later() {
  Message reminder = Message::make(0, 32);
  reminder->queueing = Queueing::int_fifo;
  *priority_of(reminder.envelope()) = 0x7fffffff;
  reminder->target = Target::runtime;
  reminder->entry = static_cast<std::uint16_t>(entry_wave);
  reminder->element = 1;
  pe_.enqueue(std::move(reminder));
}

void Quiescence::answer() {
  if (pe_.has_work() || pe_.port.parked()) return answer_later();
  sums_.created += pe_.created;
  sums_.processed += pe_.processed;
  if (--answers_missing_ == 0) wave_done();
}

void Quiescence::on_answer(Pe& pe, Delivery& call) {
  Quiescence& q = *pe.objects->quiescence;
  const Sums sums = call.read<Sums>();
  q.sums_.created += sums.created;
  q.sums_.processed += sums.processed;
  if (--q.answers_missing_ == 0) q.wave_done();
}

void Quiescence::wave_done() {
  if (parent_ >= 0) return send_runtime(pe_, parent_, entry_answer, 0, 0, sums_);
  const bool quiet = have_last_ && sums_ == last_ && sums_.created == sums_.processed;
  last_ = sums_;
  have_last_ = true;
  if (!quiet) return next_wave();
  running_ = false;
  waves_ = 0;
  std::vector<CkCallback> callbacks = std::move(callbacks_);
  callbacks_.clear();
  for (const CkCallback& callback : callbacks) callback.send(new CkQdMsg);
  pe_.conditions.raise(scheduler::condition_quiescence);
}

// Soon, then with pauses: the program may be busy for long.
void Quiescence::next_wave() {
  if (++waves_ < eager_waves) return send_runtime(pe_, pe_.index, entry_wave, 0, 2, 0);
  pausing_ = true;
  const auto go_on = [](void* q, double) {
    static_cast<Quiescence*>(q)->pausing_ = false;
    static_cast<Quiescence*>(q)->begin_wave();
  };
  pe_.conditions.call_after(go_on, this, pause_ns, clock::now_ns());
}

}  // namespace periapt
