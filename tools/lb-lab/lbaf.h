// The files of vt and of its LB analysis framework (github.com/DARMA-tasking/LB-analysis-framework): one file of JSON
// for each rank, STEM.0.json, STEM.1.json ..., each with the tasks and the communications of all phases.
#pragma once
#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/loadbalance/partners.h"

namespace periapt::lab {

// A step for each phase. False, with what is wrong and where.
bool read_lbaf(const std::string& stem, std::vector<loadbalance::LoadDatabase>* steps, Complaint* complaint);
// Objects are written where `placed` has them.
bool write_lbaf(const std::string& stem, const std::vector<loadbalance::LoadDatabase>& steps,
                const std::vector<loadbalance::Assignment>& placed, Complaint* complaint);

}  // namespace periapt::lab
