// PMI_process_mapping: how PMI launchers say which process is on which node, "(vector,(0,4,2))". A block (first, nodes,
// each) puts `each` consecutive ranks on every one of `nodes` nodes beginning with node `first`; the list of blocks is
// gone through again until every rank has a node.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::bootstrap {

/// The node of each of `size` ranks.
Result<std::vector<int>> parse_process_mapping(const std::string& text, int size);

}  // namespace periapt::bootstrap
