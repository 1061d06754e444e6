#include "machine/bootstrap/process_mapping.h"

#include <cctype>

#include "machine/bootstrap/pmi_text.h"

namespace periapt::bootstrap {
namespace {

constexpr int kLargest = 1 << 24;  // of any number in it

struct Block {
  int first, nodes, each;
};

class MappingReader {
 public:
  explicit MappingReader(const std::string& text) : text_(text) {}

  bool accept(const char* token) {
    skip_space();
    std::size_t length = std::char_traits<char>::length(token);
    if (text_.compare(at_, length, token) != 0) return false;
    at_ += length;
    return true;
  }
  bool number(int& value) {
    skip_space();
    std::size_t begin = at_;
    value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) && value <= kLargest) {
      value = value * 10 + (text_[at_++] - '0');
    }
    return at_ > begin && value <= kLargest;
  }
  bool block(Block& block) {
    return accept("(") && number(block.first) && accept(",") && number(block.nodes) && accept(",") &&
           number(block.each) && accept(")");
  }
  bool done() {
    skip_space();
    return at_ == text_.size();
  }
  std::size_t at() const { return at_; }

 private:
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<int>> parse_process_mapping(const std::string& text, int size) {
  MappingReader reader(text);
  auto wrong = [&](const std::string& what) {
    return Status::failure("the launcher's process mapping " + shown(text) + " is not understood: " + what +
                           " at character " + std::to_string(reader.at()) +
                           "; the form is (vector,(first,nodes,each),...)");
  };
  if (!reader.accept("(") || !reader.accept("vector")) return wrong("expected \"(vector\"");
  std::vector<Block> blocks;
  long total = 0;
  while (reader.accept(",")) {
    Block block{};
    if (!reader.block(block)) return wrong("expected (first,nodes,each)");
    blocks.push_back(block);
    total += static_cast<long>(block.nodes) * block.each;
  }
  if (!reader.accept(")") || !reader.done()) return wrong("expected the end");
  if (total == 0) return wrong("it places no process");
  std::vector<int> node_of;
  node_of.reserve(static_cast<std::size_t>(size));
  while (static_cast<int>(node_of.size()) < size) {
    for (const Block& block : blocks) {
      if (block.each == 0) continue;
      for (int node = 0; node < block.nodes; ++node) {
        for (int i = 0; i < block.each; ++i) {
          if (static_cast<int>(node_of.size()) == size) return node_of;
          node_of.push_back(block.first + node);
        }
      }
    }
  }
  return node_of;
}

}  // namespace periapt::bootstrap
