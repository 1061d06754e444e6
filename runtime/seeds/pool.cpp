// See pool.h.
#include "runtime/seeds/pool.h"

#include <cstring>
#include <utility>

#include "runtime/scheduler/process.h"
#include "runtime/seeds/policies.h"

namespace periapt::seeds {

namespace {
int entry_makes_chare, entry_seed, entry_token, entry_urgent_token, entry_word;

// In `collection`, where a creation message has nothing else to say. Of a seed on its way it is the PE that gave it.
enum : std::uint32_t { never_moved = 0, moved = 1 };

bool is_of_converse(const Message& seed) { return seed->target == Target::converse; }

bool is_plain(const Message& seed) {
  return seed->priority_bits == 0 && seed->queueing != Queueing::lifo &&
         (seed->flags & (envelope_expedited | envelope_immediate)) == 0;
}

// What stands for it in the queue; null: it has none of its own.
Message token_of(const Message& seed) {
  if (is_of_converse(seed)) return cld_place_of(seed);
  if (is_plain(seed)) return {};
  Message token = Message::make(0, seed->priority_bits);
  if (seed->priority_bits)
    std::memcpy(priority_of(token.envelope()), priority_of(seed.envelope()),
                sizeof(std::uint32_t) * priority_words(seed->priority_bits));
  token->queueing = seed->queueing;
  token->flags = static_cast<std::uint8_t>(seed->flags & (envelope_expedited | envelope_immediate));
  return token;
}

// What will be delivered here after all does not count a second time.
void uncount(Pe& pe, const Message& seed) { pe.processed += (seed->flags & envelope_counted) != 0; }

// The message's class packs it where it leaves the process. (What has the target `runtime` has no class.)
void pack_seed_for(const Pe& pe, int to, Message& seed) {
  const Target target = std::exchange(seed->target, Target::none);
  pack_for(pe, to, seed);
  seed->target = target;
}
}  // namespace

void Pool::register_entries(int makes_chare) {
  entry_makes_chare = makes_chare;
  entry_seed = register_runtime_entry("seed", [](Pe& pe, Delivery& call) {
    Message seed = std::move(call.message);
    Pool& pool = *pe.objects->seeds;
    pool.policy_->came(static_cast<int>(seed->collection));
    seed->entry = static_cast<std::uint16_t>(entry_makes_chare);
    seed->collection = moved;
    pool.put(std::move(seed));
  });
  entry_token = register_runtime_entry(
      "the next seed", [](Pe& pe, Delivery&) { pe.objects->seeds->run_next(); }, ep_uncounted);
  entry_urgent_token = register_runtime_entry(
      "a seed with a priority", [](Pe& pe, Delivery& call) { pe.objects->seeds->run_urgent(call.element); },
      ep_uncounted);
  entry_word = register_runtime_entry(
      "where seeds wait", [](Pe& pe, Delivery& call) { pe.objects->seeds->policy_->heard(call.read<Word>()); },
      ep_expedited | ep_uncounted | ep_balancing);
}

bool Pool::has_moved(const Envelope& seed) { return seed.collection == moved; }

Pool::Pool(Pe& pe, Make make) : pe(pe), policy_(make(*this)) {
  cld_keeper(pe, this);
  pe.look_often();
  pe.conditions.call_always(
      scheduler::condition_begin_idle, [](void* self) { static_cast<Pool*>(self)->policy_->idle(); }, this);
}

void Pool::put(Message seed) {
  if (!is_of_converse(seed)) pe.count(seed);
  if (Message token = token_of(seed)) {
    pe.send(pe.index, runtime_message(std::move(token), entry_urgent_token, 0, ++last_number_));
    urgent_.emplace(last_number_, std::move(seed));
  } else {
    plain_.push_back(std::move(seed));
    queue_token();
  }
  policy_->changed();
}
void Pool::keep(Message seed, int from) {
  if (from != pe.index) policy_->came(from);
  put(std::move(seed));
}
int Pool::unqueued() const { return static_cast<int>(plain_.size()) - token_queued_; }

void Pool::queue_token() {
  if (std::exchange(token_queued_, true)) return;
  send_runtime(pe, pe.index, entry_token, 0, 0, 0);
}

void Pool::run_next() {
  token_queued_ = false;
  if (plain_.empty()) return;  // all were given away
  Message seed = std::move(plain_.front());
  plain_.pop_front();
  if (!plain_.empty()) queue_token();
  run(std::move(seed));
}
void Pool::run_urgent(std::uint64_t number) {
  if (auto found = urgent_.extract(number)) run(std::move(found.mapped()));
}
void Pool::run(Message seed) {
  policy_->changed();
  Work work;
  work.meta = message_meta;
  work.element = reinterpret_cast<std::uint64_t>(seed.release());
  Pe::dispatch(pe, work);
}

Message Pool::take_oldest() {
  Message seed;
  if (!plain_.empty()) {
    seed = std::move(plain_.front());
    plain_.pop_front();
  } else if (!urgent_.empty()) {
    seed = std::move(urgent_.extract(urgent_.begin()).mapped());
  }
  return seed;
}

void Pool::give(int to, std::size_t count) {
  while (count-- > 0) {
    Message seed = take_oldest();
    if (!seed) return;
    if (is_of_converse(seed)) {
      cld_give(pe, to, std::move(seed));
      continue;
    }
    uncount(pe, seed);
    pack_seed_for(pe, to, seed);
    seed->entry = static_cast<std::uint16_t>(entry_seed);
    seed->collection = static_cast<std::uint32_t>(pe.index);  // on the way
    pe.send(to, std::move(seed));
  }
}

void Pool::tell(int to, Word word, Hurry hurry) {
  word.from = pe.index;
  Message message = runtime_message({bytes_of(word)}, entry_word, 0);
  if (hurry == Hurry::at_once) message->flags |= envelope_expedited;
  pe.send(to, std::move(message));
}

int Pool::other_by_chance() {
  const int other = by_chance(pe, pe.process.pes() - 1);
  return other + (other >= pe.index);
}

}  // namespace periapt::seeds
