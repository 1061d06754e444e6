# cmake -DOUT=balancer_names.cpp -DFOLDER=runtime/loadbalance -P: writes the names of all strategies down for charmc, as
# each has them in its own file. So a new one is still a file and a line of list.inc.
file(STRINGS "${FOLDER}/strategies/list.inc" lines REGEX "^STRATEGY\\([a-z_0-9]+\\)$")
set(names "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^STRATEGY\\((.*)\\)$" "\\1" strategy "${line}")
  file(READ "${FOLDER}/strategies/${strategy}.cpp" text)
  foreach(field IN ITEMS name classic)
    if(NOT text MATCHES "[.]${field} = \"([A-Za-z0-9]+)\"")
      message(FATAL_ERROR "strategies/${strategy}.cpp says no .${field} = \"...\", which charmc wants to know")
    endif()
    string(APPEND names "\"${CMAKE_MATCH_1}\", ")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "// Written by balancer_names.cmake.
#include \"tools/charmc/balancers.h\"
namespace periapt::charmc {
std::vector<std::string_view> balancerNames() { return {${names}}; }
}  // namespace periapt::charmc
" @ONLY)
