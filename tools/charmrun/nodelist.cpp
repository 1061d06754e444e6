#include "tools/charmrun/nodelist.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string_view>

#include "base/file_text.h"
#include "base/joined.h"

namespace periapt::charmrun {
namespace {

constexpr int kMostCpus = 1 << 20;

using Words = std::vector<std::string>;

// Words may be quoted; a quote that is not closed is a failure.
Result<Words> words_of(const std::string& line) {
  Words words;
  for (std::size_t at = 0; at < line.size();) {
    if (std::isspace(static_cast<unsigned char>(line[at]))) {
      ++at;
      continue;
    }
    std::string word;
    while (at < line.size() && !std::isspace(static_cast<unsigned char>(line[at]))) {
      char quote = line[at];
      if (quote != '"' && quote != '\'') {
        word += line[at++];
        continue;
      }
      std::size_t end = line.find(quote, at + 1);
      if (end == std::string::npos) return Status::failure(std::string("the quote ") + quote + " is not closed");
      word += line.substr(at + 1, end - at - 1);
      at = end + 1;
    }
    words.push_back(word);
  }
  return words;
}

std::string_view bare(std::string_view word) {
  while (!word.empty() && word[0] == '+') word.remove_prefix(1);
  return word;
}

constexpr std::string_view kAccepted[] = {"speed", "nice", "passwd", "debugger", "xterm"};  // without effect

bool is_qualifier(std::string_view name) {
  for (std::string_view known : {"cpus", "shell", "login", "setup", "pathfix", "ext"}) {
    if (name == known) return true;
  }
  return std::find(std::begin(kAccepted), std::end(kAccepted), name) != std::end(kAccepted);
}

// Takes the qualifiers that begin at words[at] into `host`.
Status take_qualifiers(const Words& words, std::size_t at, Host& host) {
  while (at < words.size()) {
    std::string name(bare(words[at]));
    if (!is_qualifier(name)) {
      return Status::failure("\"" + words[at] +
                             "\" is not known; qualifiers are cpus, shell, login, setup, pathfix, ext, speed");
    }
    std::size_t wanted = name == "pathfix" && at + 1 < words.size() && words[at + 1] != "*" ? 2 : 1;
    if (at + wanted >= words.size()) return Status::failure("\"" + words[at] + "\" wants a value behind it");
    std::string value = words[at + 1];
    bool back = value == "*";
    if (name == "setup") {  // the rest of the line
      host.setup = back ? "" : joined(std::span(words).subspan(at + 1));
      return {};
    }
    if (name == "cpus") {
      char* end = nullptr;
      long cpus = back ? 1 : std::strtol(value.c_str(), &end, 10);
      if (!back && (*end != '\0' || cpus < 1 || cpus > kMostCpus)) {
        return Status::failure("\"cpus " + value + "\": a number greater than 0 belongs there");
      }
      host.cpus = static_cast<int>(cpus);
    } else if (name == "shell") {
      host.shell = back ? "" : value;
    } else if (name == "login") {
      host.login = back ? "" : value;
    } else if (name == "ext") {
      host.ext = back ? "" : value;
    } else if (name == "pathfix" && back) {
      host.pathfixes.clear();
    } else if (name == "pathfix") {
      host.pathfixes.push_back({value, words[at + 2]});
    }
    at += 1 + wanted;
  }
  return {};
}

class NodelistReader {
 public:
  NodelistReader(const std::string& group, const std::string& source) : wanted_(group), source_(source) {}

  Status line(int number, const std::string& text) {
    number_ = number;
    Result<Words> words = words_of(text);
    if (!words) return wrong(words.message());
    if (words->empty() || (*words)[0][0] == '#') return {};
    std::string command(bare((*words)[0]));
    if (command == "group") return group(*words);
    if (command == "host") return host(*words);
    if (!is_qualifier(command)) {
      return wrong("\"" + (*words)[0] +
                   "\" is not known; a line begins with host, group or a qualifier (cpus, shell, login, "
                   "setup, pathfix, ext, speed)");
    }
    if (in_no_group_) {
      Status taken = take_qualifiers(*words, 0, of_file_);
      if (!taken) return wrong(taken.message());
    }
    Status taken = take_qualifiers(*words, 0, of_group_);
    return taken ? taken : wrong(taken.message());
  }

  Result<std::vector<Host>> hosts() {
    if (!hosts_.empty()) return std::move(hosts_);
    std::string groups;
    for (const auto& [name, count] : groups_) groups += (groups.empty() ? "" : ", ") + name;
    return Status::failure(source_ + ": there is no host in group " + wanted_ +
                           (groups.empty() ? "" : " (groups with hosts: " + groups + "; ++nodegroup chooses one)"));
  }

 private:
  Status wrong(const std::string& what) const {
    return Status::failure(source_ + ", line " + std::to_string(number_) + ": " + what);
  }
  Status group(const Words& words) {
    if (words.size() < 2) return wrong("\"group\" wants a name behind it");
    in_no_group_ = false;
    group_ = words[1];
    of_group_ = of_file_;
    Status taken = take_qualifiers(words, 2, of_group_);
    return taken ? taken : wrong(taken.message());
  }
  Status host(const Words& words) {
    if (words.size() < 2) return wrong("\"host\" wants a name behind it");
    Host host = of_group_;
    host.name = words[1];
    bool plain = !host.name.empty() && host.name[0] != '-';
    for (char c : host.name)
      plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-_.:%[]", c));
    if (!plain) return wrong("\"" + host.name + "\" is no name of a host");
    Status taken = take_qualifiers(words, 2, host);
    if (!taken) return wrong(taken.message());
    ++groups_[group_];
    if (group_ != wanted_) return {};
    auto [first, is_new] = line_of_.try_emplace(host.name, number_);
    if (!is_new) {
      return wrong(
          "host " + host.name + " is listed already, in line " + std::to_string(first->second) +
          ". List a host once; \"cpus N\" behind it gives it N times the share of the others, and ++processPerHost N "
          "puts N processes on each");
    }
    hosts_.push_back(std::move(host));
    return {};
  }

  std::string wanted_, source_, group_ = "main";
  int number_ = 0;
  bool in_no_group_ = true;
  Host of_file_, of_group_;
  std::vector<Host> hosts_;
  std::map<std::string, int> line_of_, groups_;
};

std::string default_file() {
  if (const char* named = std::getenv("NODELIST")) return named;
  if (std::ifstream("nodelist")) return "nodelist";
  const char* home = std::getenv("HOME");
  return home ? std::string(home) + "/.nodelist" : "";
}

}  // namespace

Result<std::vector<Host>> parse_nodelist(const std::string& text, const std::string& group, const std::string& source) {
  NodelistReader reader(group, source);
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    Status read = reader.line(++number, line);
    if (!read) return read;
  }
  return reader.hosts();
}

Result<std::vector<Host>> read_nodelist(const std::string& file, const std::string& group) {
  std::string path = file.empty() ? default_file() : file;
  constexpr std::size_t kMost = std::size_t{64} << 20;
  Result<std::string> text = read_file(path, kMost);
  if (!text) {
    return Status::failure("cannot read the nodelist " + path + ": " + text.message() +
                           "\n      it holds a line \"host NAME\" for each host");
  }
  return parse_nodelist(*text, group, path);
}

std::vector<int> share_processes(const std::vector<Host>& hosts, int processes) {
  long cpus = 0, before = 0;
  for (const Host& host : hosts) cpus += host.cpus;
  std::vector<int> counts;
  for (const Host& host : hosts) {
    // Borders at whole processes, so that the counts add up.
    long from = (before * processes + cpus - 1) / cpus;
    before += host.cpus;
    long to = (before * processes + cpus - 1) / cpus;
    counts.push_back(static_cast<int>(to - from));
  }
  return counts;
}

}  // namespace periapt::charmrun
