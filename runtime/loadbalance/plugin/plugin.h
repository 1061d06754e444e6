// Balancers that are no part of the program: +balancer ./mine.so, +balancer mine.py. Each runs in a process of its own,
// which gets databases and answers with assignments over a socket. So one that crashes, hangs or answers nonsense costs
// a step; the next one finds a new process.
#pragma once
#include <stdexcept>
#include <string>

#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

// What went wrong with a plug-in, in words that go on from "nothing is moved, as".
struct PluginFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether that is the name of a file which holds a balancer, by its ending.
bool names_plugin(const std::string& name);
// Starts it once, to see that it can be. Null, and a complaint, when it cannot.
const StrategyInfo* add_plugin(const std::string& file, Complaint* complaint);

// The first word of a command line that makes a program the process of a plug-in: "+LBPluginHost FILE". (The process of
// a .so is the running program again, as that needs nothing else to be installed.)
constexpr const char* host_option = "+LBPluginHost";
// Answers on descriptor host_socket until it is closed. Does not return.
[[noreturn]] void run_plugin_host(const char* file);
constexpr int host_socket = 3;
// The program that is started for a .so; null: the one that runs. For tests, whose main() is not ours.
inline const char* host_program = nullptr;

}  // namespace periapt::loadbalance
