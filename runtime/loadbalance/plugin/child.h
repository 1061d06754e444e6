// A process that answers questions over a socket, with a limit to its patience.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace periapt::loadbalance {

struct Answer {
  std::uint32_t status = 0, flags = 0;
  std::vector<char> data;
  std::string text() const { return {data.begin(), data.end()}; }
};

// What goes wrong is thrown as PluginFailure: words that go on from the name of what runs. The process has ended then.
class Child {
 public:
  explicit Child(std::vector<std::string> command) : command_(std::move(command)) {}
  ~Child() { end(); }
  Child(const Child&) = delete;
  void operator=(const Child&) = delete;

  bool runs() const { return pid_ > 0; }
  void start();
  void send(const std::vector<char>& question, double limit_s);
  Answer receive(double limit_s);
  void end();

 private:
  // Waits until the socket can be written or read. Throws when it is too late.
  void wait(short events, double until_s, double limit_s);
  void read(void* to, std::size_t bytes, double until_s, double limit_s);
  [[noreturn]] void fail();  // it has gone

  std::vector<std::string> command_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace periapt::loadbalance
