#include "machine/sim/machine.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/fatal.h"

namespace periapt::sim {
namespace {

std::unique_ptr<Topology> topology_of(const Options& options) {
  auto topology = Topology::parse(options.topology, options.nodes);
  if (!topology) fatal(topology.message(), "+sim");
  return std::move(*topology);
}

// The least that two looks at the processor's time are apart.
std::uint64_t price_of_measuring() {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t before = clock::real_thread_cpu_ns();
    least = std::min(least, clock::real_thread_cpu_ns() - before);
  }
  return least;
}

}  // namespace

Machine::Machine(Options options)
    : options_(std::move(options)),
      model_(options_.costs, topology_of(options_)),
      pes_(static_cast<std::size_t>(options_.pes())),
      random_(options_.faults.seed) {
  if (!options_.fixed_cost) measuring_ns_ = price_of_measuring();
  for (PeState& pe : pes_) pe.last = &pe.first;  // they have moved
  for (int pe = 0; pe < pes(); ++pe) want_turn(pe, 0);
}
Machine::~Machine() = default;

std::string Machine::describe() const {
  auto count = [](int number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  return count(pes(), "PE") + " on " + count(options_.nodes, "simulated node") + ": " + model_.topology().describe();
}

// ---- events

void Machine::push(Time at, Kind kind, int pe, Message* message) {
  events_queue_.push_back({at, next_number_++, kind, pe, message});
  std::push_heap(events_queue_.begin(), events_queue_.end(), later);
}

// At `at`, if it has none before. The event of a turn that was to be later is passed over when it comes up.
void Machine::want_turn(int pe, Time at) {
  PeState& state = pes_[static_cast<std::size_t>(pe)];
  if (state.retired || state.turn_at <= at) return;
  state.turn_at = at;
  push(at, Kind::turn, pe, nullptr);
}

int Machine::next() {
  while (!events_queue_.empty()) {
    std::pop_heap(events_queue_.begin(), events_queue_.end(), later);
    const Event event = events_queue_.back();
    events_queue_.pop_back();
    ++events_;
    latest_ = std::max(latest_, event.at);
    switch (event.kind) {
      case Kind::depart:
        depart(event);
        break;
      case Kind::arrive:
        arrive(event);
        break;
      case Kind::turn:
        if (begin_turn(event)) return event.pe;
    }
  }
  return -1;
}

// Links are reserved now, not when it was sent: in the order in which the messages really come. Whatever happens to one
// of them, those of two nodes stay in order, as they do over every transport; so one that is lost holds up those behind
// it.
void Machine::depart(const Event& event) {
  Message& message = *event.message;
  const Faults& faults = options_.faults;
  const int from = node_of(message.from), to = node_of(message.to);
  Time arrival = model_.send(event.at, from, to, message.bytes);
  for (Time again = event.at; happens(faults.loss); ++sent_again_)
    arrival = model_.send(again += faults.rto, from, to, message.bytes);
  if (happens(faults.duplicate)) model_.send(event.at, from, to, message.bytes);  // takes the way, and is dropped there
  if (faults.delay != 0) arrival += random_() % (faults.delay + 1);
  if (happens(faults.reorder)) arrival += random_() % (4 * options_.costs.L + 1);
  if (faults.any()) {
    Time& latest = latest_between_[static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)];
    arrival = latest = std::max(arrival, latest);
  }
  message.chain.hops += static_cast<std::uint64_t>(model_.topology().hops(from, to));
  push(arrival, Kind::arrive, message.to, &message);
}

void Machine::arrive(const Event& event) {
  PeState& state = pes_[static_cast<std::size_t>(event.pe)];
  Message& message = *event.message;
  message.chain.network += event.at - message.sent;
  ++message.chain.messages;
  message.chain.bytes += message.bytes;
  if (state.waiting && state.first == nullptr && event.at >= state.clock) state.chain = message.chain;
  message.next = nullptr;
  *state.last = &message;
  state.last = &message.next;
  want_turn(event.pe, std::max(event.at, state.clock));
}

bool Machine::begin_turn(const Event& event) {
  PeState& state = pes_[static_cast<std::size_t>(event.pe)];
  if (state.retired || state.turn_at != event.at) return false;
  state.turn_at = kNever;
  state.clock = std::max(state.clock, event.at);
  state.waiting = false;
  running_ = event.pe;
  worked_ = false;
  account_ = Account::work;
  if (!options_.fixed_cost) measured_from_ = clock::real_thread_cpu_ns();
  return true;
}

void Machine::done(Time again_at) {
  measure();
  PeState& state = pes_[static_cast<std::size_t>(running_)];
  latest_ = std::max(latest_, state.clock);
  state.waiting = again_at > state.clock;
  if (again_at != kNever) want_turn(running_, std::max(again_at, state.clock));
  if (state.first != nullptr) want_turn(running_, state.clock);
  running_ = -1;
}

// ---- within a turn

void Machine::charge(Time time) {
  PeState& state = pes_[static_cast<std::size_t>(running_)];
  state.clock += time;
  state.chain.work += time;
  (account_ == Account::work ? state.usage.work : state.usage.balancing) += time;
}

void Machine::charge_overhead() {
  PeState& state = pes_[static_cast<std::size_t>(running_)];
  state.clock += options_.costs.o;
  state.chain.network += options_.costs.o;
  state.usage.overhead += options_.costs.o;
}

// Charges what has run since the latest look; what we do ourselves is left out by looking again at its end.
void Machine::measure() {
  if (options_.fixed_cost) return;
  const std::uint64_t now = clock::real_thread_cpu_ns();
  const std::uint64_t spent = now - measured_from_;
  measured_from_ = now;
  if (spent > measuring_ns_)
    charge(static_cast<Time>(static_cast<double>(spent - measuring_ns_) * options_.scale * 1e3));
}

Time Machine::now() {
  if (running_ < 0) return latest_;
  measure();
  return pes_[static_cast<std::size_t>(running_)].clock;
}

void Machine::begin_work(Account account) {
  measure();
  worked_ = true;
  account_ = account;
  if (options_.fixed_cost) charge(options_.cost);
}

Machine::Message* Machine::new_message() {
  if (free_messages_ == nullptr) return &all_messages_.emplace_back();
  return std::exchange(free_messages_, free_messages_->next);
}

void Machine::send(int to, std::uint64_t meta, void* block, std::uint64_t bytes) {
  measure();
  PeState& state = pes_[static_cast<std::size_t>(running_)];
  const bool far = node_of(running_) != node_of(to);
  if (far) charge_overhead();
  Message* message = new_message();
  message->from = running_;
  message->to = to;
  message->meta = meta;
  message->block = block;
  message->bytes = bytes;
  message->chain = state.chain;
  message->sent = state.clock;
  if (far) {
    push(state.clock, Kind::depart, 0, message);
  } else {
    ++local_.messages;
    local_.bytes += bytes;
    push(state.clock + options_.costs.local, Kind::arrive, to, message);
  }
  if (!options_.fixed_cost) measured_from_ = clock::real_thread_cpu_ns();
}

bool Machine::take(Arrival* arrival) {
  PeState& state = pes_[static_cast<std::size_t>(running_)];
  Message* message = state.first;
  if (message == nullptr) return false;
  measure();
  state.first = message->next;
  if (state.first == nullptr) state.last = &state.first;
  if (node_of(message->from) != node_of(message->to)) charge_overhead();
  *arrival = {message->meta, message->block};
  message->next = free_messages_;
  free_messages_ = message;
  return true;
}

bool Machine::happens(double probability) {
  return probability > 0 && static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

// ---- the end

void Machine::note_end() {
  if (end_time_ != 0) return;
  end_time_ = now();
  if (running_ >= 0) critical_ = pes_[static_cast<std::size_t>(running_)].chain;
}

namespace {

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

struct Spread {
  double least = 1e300, sum = 0, most = 0;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
};

template <class... Args>
std::string text(const char* format, Args... args) {
  char line[512];
  std::snprintf(line, sizeof line, format, args...);
  return line;
}

}  // namespace

std::string Machine::summary() const {
  const double time = static_cast<double>(std::max<Time>(end_time_, 1));
  Usage sum;
  Spread busy;
  for (const PeState& pe : pes_) {
    sum.work += pe.usage.work;
    sum.balancing += pe.usage.balancing;
    sum.overhead += pe.usage.overhead;
    busy.add(percent(static_cast<double>(pe.usage.busy()), time));
  }
  const double all = time * pes();
  const double work = percent(static_cast<double>(sum.work), all);
  const double balancing = percent(static_cast<double>(sum.balancing), all);
  const double overhead = percent(static_cast<double>(sum.overhead), all);
  std::string out =
      text("simulated: %d PEs on %d nodes, %s; L %s, o %s, hop %s, %.3g GB/s; ", pes(), options_.nodes,
           model_.topology().describe().c_str(), in_words(options_.costs.L).c_str(), in_words(options_.costs.o).c_str(),
           in_words(options_.costs.hop).c_str(), 1000 / options_.costs.G);
  out += options_.fixed_cost ? "each piece of work takes " + in_words(options_.cost)
                             : text("measured time x %.3g", options_.scale);
  out += text("; seed %llu\n", static_cast<unsigned long long>(options_.faults.seed));
  out += "  predicted time     " + in_words(end_time_) + "\n";
  out += text("  where it went      computation %.1f %%, messages %.1f %%, load balancing %.1f %%, idle %.1f %%\n",
              work, overhead, balancing, std::max(0.0, 100 - work - overhead - balancing));
  out += text("  PEs busy           least %.1f %%, average %.1f %%, most %.1f %%\n", busy.least, busy.sum / pes(),
              busy.most);
  out += text("  critical path      computation %s, network %s, %llu messages, %llu bytes, %llu hops\n",
              in_words(critical_.work).c_str(), in_words(critical_.network).c_str(),
              static_cast<unsigned long long>(critical_.messages), static_cast<unsigned long long>(critical_.bytes),
              static_cast<unsigned long long>(critical_.hops));
  out += text("  within nodes       %llu messages, %llu bytes\n", static_cast<unsigned long long>(local_.messages),
              static_cast<unsigned long long>(local_.bytes));
  for (std::size_t hops = 0; hops < model_.by_hops().size(); ++hops) {
    const Model::Traffic& traffic = model_.by_hops()[hops];
    if (traffic.messages == 0) continue;
    out += text("  over %2zu hops       %llu messages, %llu bytes\n", hops,
                static_cast<unsigned long long>(traffic.messages), static_cast<unsigned long long>(traffic.bytes));
  }
  std::string name;
  if (const LinkUse* most = model_.busiest(&name))
    out += text("  busiest link       %s: %.1f %% of the time, %llu messages, %llu bytes\n", name.c_str(),
                percent(static_cast<double>(most->busy), time), static_cast<unsigned long long>(most->messages),
                static_cast<unsigned long long>(most->bytes));
  out += "  waited for links   " + in_words(model_.waited()) + ", all messages together\n";
  if (sent_again_ != 0)
    out += text("  sent again         %llu messages that were lost\n", static_cast<unsigned long long>(sent_again_));
  return out;
}

std::string Machine::json() const {
  auto number = [](auto value) { return std::to_string(static_cast<unsigned long long>(value)); };
  auto us = [](Time time) { return text("%.6f", static_cast<double>(time) * 1e-6); };
  std::string out =
      "{\n  \"pes\": " + number(pes()) + ", \"nodes\": " + number(options_.nodes) + ", \"topology\": \"" +
      options_.topology + "\", \"seed\": " + number(options_.faults.seed) + ",\n  \"predicted_us\": " + us(end_time_) +
      ",\n  \"critical_path\": {\"work_us\": " + us(critical_.work) + ", \"network_us\": " + us(critical_.network) +
      ", \"messages\": " + number(critical_.messages) + ", \"bytes\": " + number(critical_.bytes) +
      ", \"hops\": " + number(critical_.hops) + "},\n  \"within_nodes\": {\"messages\": " + number(local_.messages) +
      ", \"bytes\": " + number(local_.bytes) + "},\n  \"by_hops\": [";
  for (std::size_t hops = 0; hops < model_.by_hops().size(); ++hops)
    out += std::string(hops == 0 ? "" : ", ") + "{\"messages\": " + number(model_.by_hops()[hops].messages) +
           ", \"bytes\": " + number(model_.by_hops()[hops].bytes) + "}";
  std::string name;
  out += "],\n";
  if (const LinkUse* most = model_.busiest(&name))
    out += "  \"busiest_link\": {\"name\": \"" + name + "\", \"busy_us\": " + us(most->busy) +
           ", \"messages\": " + number(most->messages) + ", \"bytes\": " + number(most->bytes) + "},\n";
  out += "  \"waited_us\": " + us(model_.waited()) + ", \"sent_again\": " + number(sent_again_) + ",\n  \"pe\": [";
  for (std::size_t pe = 0; pe < pes_.size(); ++pe)
    out += std::string(pe == 0 ? "\n    " : ",\n    ") + "{\"work_us\": " + us(pes_[pe].usage.work) +
           ", \"balancing_us\": " + us(pes_[pe].usage.balancing) + ", \"messages_us\": " + us(pes_[pe].usage.overhead) +
           "}";
  return out + "\n  ]\n}\n";
}

}  // namespace periapt::sim
