// treelb.json: which strategies TreeLB runs on which level, and how often. The keys are those of Charm++.
//
//   {"tree": "PE_Process_Root",
//    "root": {"step_freq": 3, "strategies": ["GreedyRefine"]},
//    "process": {"strategies": ["Greedy", "Refine"], "Greedy": {...}}}
//
// At each step one level decides: the highest one whose step_freq divides the number of the step (from 1 on). A level
// decides for each of its parts alone: a process, a group of processes, or all PEs (root).
#pragma once
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

// A strategy that does what the text of such a file says. Empty, and a complaint, when it says what cannot be.
// `file`: its name, for the complaint.
// A level takes its strategies in turn from step `since` on.
std::optional<StrategyInfo> read_tree(const std::string& text, const std::string& file, Complaint* complaint,
                                      std::uint32_t since = 1);
// +TreeLBFile, or treelb.json in the current folder where there is one: makes of it the strategy called TreeLB.
void take_tree_file(const char* file);

}  // namespace periapt::loadbalance
