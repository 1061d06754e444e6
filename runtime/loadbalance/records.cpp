// See records.h.
#include "runtime/loadbalance/records.h"

#include <fstream>
#include <iostream>

namespace periapt::loadbalance {

bool read_records(const std::string& name, std::vector<LoadDatabase>* steps, Complaint* complaint) {
  std::ifstream file;
  if (name != "-") file.open(name);
  std::istream& in = name == "-" ? std::cin : file;
  if (!in) {
    *complaint = {name + " cannot be read", "", "",
                  "a program run with +LBRecord FILE, or with +LBDump STEP, writes such a file"};
    return false;
  }
  for (std::string line; std::getline(in, line);) {
    LoadDatabase database;
    std::string error;
    const bool whole = !in.eof();  // the last line ends as the others do, unless its writer was stopped
    if (!from_json(line, &database, &error)) {
      const std::string where = name + ":" + std::to_string(steps->size() + 1);
      if (!whole && line.substr(0, 1) == "{")
        *complaint = {where + " is cut short: " + error, "",
                      "the program that wrote it was ended, or the disk was full",
                      "leave the last line out: head -n " + std::to_string(steps->size()) + " " + name};
      else
        *complaint = {where + ": no load database: " + error, "", "",
                      "a program run with +LBRecord FILE writes one in each line"};
      return false;
    }
    steps->push_back(std::move(database));
  }
  return true;
}

}  // namespace periapt::loadbalance
