// What a machine waits for, in words: see machine.h.
#include <algorithm>

#include "runtime/objects/pe_objects.h"
#include "runtime/sdag/machine.h"

namespace periapt::sdag {

namespace {
// "first[3](int step)"
std::string words(Key key) {
  std::string text = entry_name(entry_of(key));
  if (is_any(key)) return text;
  const std::string number = std::to_string(reference_of(key));
  return text.insert(std::min(text.find('('), text.size()), std::string("[").append(number).append("]"));
}
}  // namespace

// "when a[3](int n), b() (hello.ci:12) of run(), b() has come". The whens of a case follow each other.
std::string Machine::describe(Frame& frame) {
  std::string text, come;
  std::uint32_t step = ~0u;
  for (std::uint32_t i = 0; i < frame.links_used_; ++i) {
    const Link& link = frame.links()[i];
    const char* place = frame.procedure_->steps[link.step].block.place;
    const bool last = i + 1 == frame.links_used_ || frame.links()[i + 1].step != link.step;
    text += link.step != step ? (text.empty() ? "when " : " or ") : ", ";
    text += words(link.key) + (last ? std::string(" (") + place + ")" : "");
    if (mailbox_.first(link.key)) come += (come.empty() ? ", of which " : ", ") + words(link.key);
    step = link.step;
  }
  return text + " in " + entry_name(frame.entry_) + (come.empty() ? "" : come + " has come");
}

// "Hello[3]", or "Main on PE 0".
std::string Machine::name(int entry) const {
  const std::string own = kind_.describe(*holder_);
  if (!own.empty()) return own;
  const Pe* pe = Pe::current();
  return chare_name_of_entry(entry) + (pe ? " on PE " + std::to_string(pe->index) : std::string());
}

std::string Machine::describe() {
  std::string text;
  for (Frame* frame = first_; frame; frame = frame->behind_)
    if (frame->links_used_ != 0) text += name(frame->entry_) + " waits: " + describe(*frame) + "\n";
  if (text.empty() || mailbox_.size() == 0) return text;
  constexpr int named_max = 3;
  int named = 0;
  std::string kept;
  mailbox_.for_each([&](const Held& held) {
    if (named++ < named_max) kept += (named > 1 ? ", " : "") + words(held.key);
  });
  return text + name(first_->entry_) + " keeps " + std::to_string(mailbox_.size()) +
         (mailbox_.size() == 1 ? " message" : " messages") + " that no when has taken: " + kept +
         (named > named_max ? ", ..." : "") + "\n";
}

}  // namespace periapt::sdag
