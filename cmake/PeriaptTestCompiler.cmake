# The compiler of most of tests/ and of bench/, where PERIAPT_TEST_CXX names a Clang: what is added with these variables is compiled and linked by it, at
# -O0, in two fifths of the time that GCC takes at -Og. What it is linked with stays GCC's: both keep to one ABI. (CMake has one compiler
# for a language; it takes it from these variables, as they are at the end of a folder's CMakeLists.txt.)
find_program(clang "${PERIAPT_TEST_CXX}" NO_CACHE REQUIRED)
execute_process(COMMAND "${clang}" --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
if(NOT version MATCHES "clang version ([0-9.]+)")
  message(FATAL_ERROR "PERIAPT_TEST_CXX is ${PERIAPT_TEST_CXX}, which is no Clang: name one, or nothing (-DPERIAPT_TEST_CXX=)")
endif()
set(CMAKE_CXX_COMPILER "${clang}")
set(CMAKE_CXX_COMPILER_ID Clang)
set(CMAKE_CXX_COMPILER_VERSION "${CMAKE_MATCH_1}")
set(CMAKE_CXX_COMPILER_FRONTEND_VARIANT GNU)
include(Compiler/Clang-CXX)
add_compile_options($<$<CONFIG:Release>:-O0>)
