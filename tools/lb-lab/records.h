// What a program with +LBRecord has written: a load database in each line.
#pragma once
#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/loadbalance/database.h"

namespace periapt::lab {

// "-": the standard input. False, with what is wrong and in which line.
bool read_records(const std::string& name, std::vector<loadbalance::LoadDatabase>* steps, Complaint* complaint);

}  // namespace periapt::lab
