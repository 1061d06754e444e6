// What a program with +LBRecord or +LBDump has written: a load database in each line.
#pragma once
#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

// "-": the standard input. False, with what is wrong and in which line.
bool read_records(const std::string& name, std::vector<LoadDatabase>* steps, Complaint* complaint);

}  // namespace periapt::loadbalance
