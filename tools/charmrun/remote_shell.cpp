#include "tools/charmrun/remote_shell.h"

#include <sys/wait.h>

#include <cstdlib>

#include "base/joined.h"

namespace periapt::charmrun {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The last lines of what a shell said, indented.
std::string excerpt(const std::string& said) {
  std::string text = said.size() > 1500 ? said.substr(said.size() - 1500) : said, out;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(at, end - at);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) out += "\n      it said: " + line;
    at = end + 1;
  }
  return out;
}

struct Cause {
  const char* sign;
  const char* what;
  const char* remedy;
};
constexpr Cause kCauses[] = {
    {"Permission denied", "refused the login (no key that it accepts)",
     "set up a login without password: ssh-copy-id HOST"},
    {"Too many authentication failures", "refused the login (too many keys were offered)",
     "name the key in ~/.ssh/config: IdentityFile and IdentitiesOnly yes"},
    {"Host key verification failed", "is not known to ssh, or has changed its key",
     "log in once by hand and compare the key: ssh HOST"},
    {"Could not resolve hostname", "has no address: its name is not known here", "correct the name in the nodelist"},
    {"Name or service not known", "has no address: its name is not known here", "correct the name in the nodelist"},
    {"Connection refused", "answers, but has no ssh server",
     "start sshd there, or name another way with ++remote-shell"},
    {"Connection timed out", "cannot be reached: no answer",
     "see that it is up and that no firewall is between: ping HOST"},
    {"No route to host", "cannot be reached: there is no route to it, or it is down", "see that it is up: ping HOST"},
    {"Network is unreachable", "cannot be reached: there is no route to its network",
     "see the network's set-up: ip route get HOST"},
};

std::string with_host(std::string text, const std::string& host) {
  std::size_t at = text.find("HOST");
  if (at != std::string::npos) text.replace(at, 4, host);
  return text;
}

}  // namespace

std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words;
  bool open = false;
  char quote = 0;
  for (char c : command) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
      if (!open) words.emplace_back();
      open = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      open = false;
    } else {
      if (!open) words.emplace_back();
      open = true;
      words.back() += c;
    }
  }
  return words;
}

std::string default_shell(const std::string& option) {
  if (!option.empty()) return option;
  const char* named = std::getenv("CONV_RSH");
  return named && *named ? named : "ssh";
}

std::vector<std::string> shell_words(const Host& host, const std::string& shell, int timeout_seconds) {
  std::vector<std::string> words = split_command(host.shell.empty() ? shell : host.shell);
  if (words.empty()) words = {"ssh"};
  std::string base = words[0].substr(words[0].rfind('/') + 1);
  if (base == "ssh") {
    for (const char* word : {"-T", "-x", "-o", "BatchMode=yes", "-o"}) words.push_back(word);
    words.push_back("ConnectTimeout=" + std::to_string(timeout_seconds));
  }
  if (base == "srun") {  // a step beside others of the job, with all of the node's processors
    for (const char* word :
         {"--quiet", "--overlap", "--unbuffered", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mpi=none"})
      words.push_back(word);
    words.insert(words.end(), {"--nodelist=" + host.name, "sh", "-c"});
    return words;
  }
  if (!host.login.empty()) words.insert(words.end(), {"-l", host.login});
  words.push_back(host.name);
  return words;
}

std::string remote_text(const std::string& setup, const std::string& agent) {
  return (setup.empty() ? "" : setup + "; ") + "exec " + quoted(agent) + " ++agent";
}

std::string explain_shell(const std::string& host, const std::vector<std::string>& shell, int wait_status,
                          const std::string& said, const std::string& agent) {
  for (const Cause& cause : kCauses) {
    if (said.find(cause.sign) == std::string::npos) continue;
    return "host " + host + " " + cause.what + excerpt(said) + "\n      " + with_host(cause.remedy, host);
  }
  int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  if (code == 127 || code == 126) {
    return "host " + host + " has no program " + agent + " that it could run" + excerpt(said) +
           "\n      charmrun must be there under the same path (a shared file system; pathfix in the nodelist "
           "translates paths)";
  }
  return "host " + host + ": the remote shell left with status " + std::to_string(code) +
         " before charmrun's agent answered" + excerpt(said) + "\n      try it by hand: " + joined(shell) + " true";
}

}  // namespace periapt::charmrun
