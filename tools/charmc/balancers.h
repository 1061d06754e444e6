// -balancer NAME: whether the program will find one of that name when it starts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace periapt::charmc {

/// Those of the runtime, by both of their names: Greedy and GreedyLB.
std::vector<std::string_view> balancerNames();

/// Whether the program has the balancer of `text`, "NAME" or "NAME:option=value", without a module of that name: it is
/// one of ours, a plug-in, which is opened at the start, or a class that one of `files` registers.
bool hasBalancer(const std::string& text, const std::vector<std::string>& files);

/// "did you mean GreedyLB?", or a list where no name is near.
std::string likeBalancer(const std::string& text);

/// The list that stands behind -balancer, where options have commas too: "GreedyLB,TreeLB:a=1,b=2" are two.
void appendBalancers(std::vector<std::string>& out, const std::vector<std::string>& pieces);

}  // namespace periapt::charmc
