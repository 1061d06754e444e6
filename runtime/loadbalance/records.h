// What a program with +LBRecord or +LBDump writes: a load database in each line, compressed as gzip does where the name
// ends in .gz.
#pragma once
#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

// Behind what is there, or as the `first` one in place of it. What has kept it from being written; "": nothing.
std::string write_record(const std::string& name, const LoadDatabase& database, bool first);
// Compressed or not. "-": the standard input. False, with what is wrong and in which line.
bool read_records(const std::string& name, std::vector<LoadDatabase>* steps, Complaint* complaint);

}  // namespace periapt::loadbalance
