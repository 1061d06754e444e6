# What every folder of the tree uses: compile settings, and functions.
#
#   periapt_floor(NAME [OFF_PATH [RARE]] SOURCES a.cpp ... [ALONE b.cpp ...] [LINK lib ...])   an object library of one folder, part of libperiapt
#   periapt_join(TARGET [ALONE b.cpp ...])                 compiles the sources of a target together
#   periapt_headers(NAME LIBRARY|PROGRAM INCLUDES <a.h> ... [OPTIONS ...] [LINK lib ...])   headers, compiled once for all that include them
#   periapt_use_headers(TARGET NAME)                       ... and a target that does
#   periapt_library(NAME [EXCLUDE_FROM_ALL])               a static library of all floors so far
#   periapt_test(NAME SOURCES a.cpp ... [LINK lib ...] [LABELS unit ...] [ARGS ...] [IN PROGRAM])   a GoogleTest program, run by ctest

option(PERIAPT_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(PERIAPT_BUILD_PROGRAMS "Build examples/ and bench/" ${PROJECT_IS_TOP_LEVEL})
option(PERIAPT_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)
set(PERIAPT_SANITIZE "" CACHE STRING "Sanitizers to build everything with: address;undefined or thread")
set(PERIAPT_LEAVE_OUT "" CACHE STRING "A label: tests that have it are built only where they are named, as another build has them (./check)")
set(PERIAPT_TEST_CXX "" CACHE STRING "Clang, to compile most of tests/, and bench/, with at -O0 where everything else is compiled by GCC (./check); empty: as everything")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(join ON)
if(CMAKE_BUILD_TYPE STREQUAL Debug)
  set(join OFF)
endif()
option(PERIAPT_JOIN_SOURCES "Compile several sources of a folder at a time as one" ${join})
# What each of them makes of the same templates and inline functions again, unoptimized code has all of: the more are one, the less there
# is to do.
set(joined_at_once 8)
if(PERIAPT_SANITIZE)
  set(joined_at_once 24)
endif()

# ccache knows precompiled headers by their bytes, but keeps what was compiled with them only where it need not look for macros that
# they read, and for the time of day.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

# Folders that it compiles include PeriaptTestCompiler.
set(quick_compiler OFF)
if(PERIAPT_TEST_CXX AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT PERIAPT_SANITIZE)
  set(quick_compiler ON)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # Boost's own description of itself: CMake has none any more
endif()
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
# For -module PythonCCS. 3.10 brought all of the stable ABI that it uses; 3.14 takes stacks that it did not make for overflows.
find_package(Python3 3.10...<3.14 COMPONENTS Development.Embed)
set(PERIAPT_PYTHON_VERSION "")
if(Python3_Development.Embed_FOUND)
  set(PERIAPT_PYTHON_VERSION "${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}")
endif()

# Settings that every file of ours is compiled with, and that a program need not have.
add_library(periapt_settings INTERFACE)
target_compile_options(periapt_settings INTERFACE -Wall -Wextra -Wno-unused-parameter -fno-strict-aliasing)
# Generated code declares each class of a .ci file as a class, which may be a struct: that matters to Microsoft's ABI alone.
target_compile_options(periapt_settings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-mismatched-tags>)
# __FILE__ and __builtin_FILE() say base/log.cpp wherever the tree lies.
target_compile_options(periapt_settings INTERFACE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
target_include_directories(periapt_settings INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
# fmt is compiled into what uses it: distributions have no archive of it, which charmc -static would need.
target_link_libraries(periapt_settings INTERFACE Threads::Threads ${CMAKE_DL_LIBS} Boost::context fmt::fmt-header-only)
# hwloc's headers only: the library is loaded at run time when it is asked for (base/topology_hwloc.cpp), because
# linking it makes every start pay for loading it and what it drags in.
target_include_directories(periapt_settings INTERFACE ${HWLOC_INCLUDE_DIRS})
foreach(sanitizer IN LISTS PERIAPT_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
# Programs with sanitizers are a hundred megabytes each: lld links them in a third of the time. (Tests use it, too.)
find_program(PERIAPT_LLD ld.lld)
mark_as_advanced(PERIAPT_LLD)
if(PERIAPT_SANITIZE AND PERIAPT_LLD)
  add_link_options(-fuse-ld=lld)
endif()
# For programs that are taken to other machines. Not under sanitizers, whose shared library throws with the shared C++ library: with a second
# one in the program, exceptions were not caught.
set(PERIAPT_PORTABLE_OPTIONS "")
if(NOT PERIAPT_SANITIZE)
  set(PERIAPT_PORTABLE_OPTIONS -static-libstdc++ -static-libgcc)
endif()
# A null pointer that is used ends a run in any case; looking at each took up to a third of the time to compile.
if("undefined" IN_LIST PERIAPT_SANITIZE)
  add_compile_options(-fno-sanitize=null)
  # Clang also holds the type of a function against that of the pointer it is called by: a message's pack() is registered as one that
  # takes a void*, as in Charm++.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_compile_options(-fno-sanitize=function)
  endif()
endif()

if(PERIAPT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # what is covered is seen everywhere; tests/fuzz links the rest
endif()

set_property(GLOBAL PROPERTY PERIAPT_FLOORS "")

# Several sources of a target at a time are compiled as one, which takes a third of the time, but for debugging, where one source that
# has changed is compiled by itself. ALONE: sources that are never joined, because they give the same names to what is theirs. The
# property PERIAPT_BEGIN_FILES has the sources of the floors and tools that nothing of ours is compiled before.
function(periapt_join target)
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  if(PERIAPT_JOIN_SOURCES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${joined_at_once})
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  string(FIND "${CMAKE_CURRENT_SOURCE_DIR}/" "${PROJECT_SOURCE_DIR}/tests/" of_tests)
  if(of_tests EQUAL 0)
    return()  # GoogleTest is compiled before those
  endif()
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${ARG_ALONE})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(number 0)
  foreach(source IN LISTS sources)
    math(EXPR place "${number} % ${joined_at_once}")
    if(place EQUAL 0 OR NOT PERIAPT_JOIN_SOURCES)
      list(APPEND ARG_ALONE "${source}")
    endif()
    math(EXPR number "${number} + 1")
  endforeach()
  list(FILTER ARG_ALONE EXCLUDE REGEX "^/")  # one that is made when all is built can't be read yet
  list(TRANSFORM ARG_ALONE PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set_property(GLOBAL APPEND PROPERTY PERIAPT_BEGIN_FILES ${ARG_ALONE})
endfunction()

# NAME: headers that are compiled once, with the options of the folder that calls this, and stand before each source of the targets that
# use them, but for debugging; such as these sources include in any case (style.standard_headers sees to it). The compiler takes them
# only at the same level of optimization, and what it made for a PROGRAM for no LIBRARY.
function(periapt_headers name kind)
  cmake_parse_arguments(ARG "" "" "INCLUDES;OPTIONS;LINK" ${ARGN})
  if(NOT PERIAPT_JOIN_SOURCES)
    return()
  endif()
  set(source "${PROJECT_BINARY_DIR}/headers.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
  if(kind STREQUAL LIBRARY)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  else()
    add_executable(${name} EXCLUDE_FROM_ALL "${source}")
  endif()
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE periapt_settings ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_INCLUDES})
  # What lies there already, GCC's preprocessor takes for the header, so ccache would look at that in place of the headers and give back
  # what another change of them made. By the list of files that the compiler writes it looks at the headers.
  set(launcher ${CMAKE_CXX_COMPILER_LAUNCHER})
  if(launcher MATCHES "ccache$")
    list(PREPEND launcher "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
  endif()
endfunction()

function(periapt_use_headers target name)
  get_target_property(sources ${target} SOURCES)
  if(TARGET ${name} AND NOT "${sources}" MATCHES "\\.c(;|$)")
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

set(standard_headers <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <filesystem> <fstream> <functional> <map> <memory>
  <mutex> <optional> <random> <set> <span> <sstream> <string> <thread> <unordered_map> <vector> <fmt/format.h>)

# Where sanitizers are, of the message path alone is optimized what tests put most through: with the address sanitizer the rest takes a third
# of the time to compile at -O0. Off the path pointers are not looked at (alignment, type) each time they are used, either.
set(on_path_options "")
set(beside_path_options "")
set(off_path_options "")
set(rare_options $<$<CONFIG:Release>:-O1>)
set(optimized_under_sanitizers base host pup message scheduler)
if(NOT "thread" IN_LIST PERIAPT_SANITIZE)
  list(APPEND optimized_under_sanitizers verbs sim ucx_like)  # through which the tests of threads hardly go
endif()
if(PERIAPT_SANITIZE)
  set(on_path_options -O1)
  set(beside_path_options -O0)
  set(off_path_options -O0 $<$<IN_LIST:undefined,${PERIAPT_SANITIZE}>:-fno-sanitize=alignment,vptr>)
endif()
foreach(path IN ITEMS on_path beside_path off_path rare)
  periapt_headers(${path}_headers LIBRARY INCLUDES ${standard_headers} OPTIONS ${${path}_options})
endforeach()

# OFF_PATH: no message passes through it. RARE: nor is it run more than a few times: compiling it at -O3 takes twice as long as at -O1.
function(periapt_floor name)
  cmake_parse_arguments(ARG "OFF_PATH;RARE" "" "SOURCES;ALONE;LINK" ${ARGN})
  add_library(periapt_${name} OBJECT ${ARG_SOURCES} ${ARG_ALONE})
  periapt_join(periapt_${name} ALONE ${ARG_ALONE})
  set(path on_path)
  if(PERIAPT_SANITIZE AND ARG_OFF_PATH)
    set(path off_path)
  elseif(PERIAPT_SANITIZE AND NOT name IN_LIST optimized_under_sanitizers)
    set(path beside_path)
  elseif(ARG_RARE AND NOT PERIAPT_SANITIZE)
    set(path rare)
  endif()
  target_compile_options(periapt_${name} PRIVATE ${${path}_options})
  periapt_use_headers(periapt_${name} ${path}_headers)
  target_link_libraries(periapt_${name} PUBLIC periapt_settings ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY PERIAPT_FLOORS periapt_${name})
endfunction()

function(periapt_library name)
  get_property(floors GLOBAL PROPERTY PERIAPT_FLOORS)
  set(objects "")
  foreach(floor IN LISTS floors)
    list(APPEND objects $<TARGET_OBJECTS:${floor}>)
  endforeach()
  add_library(${name} STATIC ${ARGN} ${objects})
  target_link_libraries(${name} PUBLIC periapt_settings)
endfunction()

# THREADS: where threads meet in it, as a filter of GoogleTest; the thread sanitizer looks at those cases alone. IN: the program that it
# shares with other tests, whose sources are compiled together; ctest runs the cases of each by themselves. A sanitizer's program has
# the tests with the sanitizer's label alone, and that of a build that leaves a label out none with that.
function(periapt_test name)
  cmake_parse_arguments(ARG "" "THREADS;IN" "SOURCES;LINK;LABELS;ARGS;DEFINITIONS;DEPENDS;ENVIRONMENT" ${ARGN})
  find_package(GTest REQUIRED)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(asan_alone IN_LIST ARG_LABELS)
    foreach(source IN LISTS ARG_SOURCES)
      file(STRINGS "${source}" less REGEX "kAddressSanitizer|tests/host/amount\\.h|mallinfo")
      if(less)
        message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${source} does less under a sanitizer, so its test is labelled asan, not asan_alone")
      endif()
    endforeach()
  endif()
  set(program ${name})
  set(left_out "")
  if(PERIAPT_LEAVE_OUT IN_LIST ARG_LABELS)
    set(left_out EXCLUDE_FROM_ALL)
  endif()
  if(ARG_IN)
    if(left_out OR (PERIAPT_SANITIZE MATCHES thread AND NOT tsan IN_LIST ARG_LABELS)
       OR (PERIAPT_SANITIZE MATCHES address AND NOT "${ARG_LABELS}" MATCHES asan))
      return()
    endif()
    set(program ${ARG_IN})
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
    list(TRANSFORM ARG_SOURCES PREPEND "${folder}/" OUTPUT_VARIABLE sources)
    list(JOIN sources "," sources)
    list(PREPEND ARG_ARGS --of=${sources})
  endif()
  if(NOT TARGET ${program})
    add_executable(${program} ${left_out})
    target_link_libraries(${program} PRIVATE GTest::gmock GTest::gtest periapt_settings)
    set_property(TARGET ${program} PROPERTY PERIAPT_HEADERS ${PERIAPT_TEST_HEADERS})  # of the folder whose compiler it has
    if(ARG_IN)
      target_sources(${program} PRIVATE "${PROJECT_SOURCE_DIR}/tests/main.cpp")
      periapt_join(${program})
    else()
      target_link_libraries(${program} PRIVATE GTest::gtest_main)
    endif()
  endif()
  target_sources(${program} PRIVATE ${ARG_SOURCES})
  target_link_libraries(${program} PRIVATE ${ARG_LINK})
  target_compile_definitions(${program} PRIVATE ${ARG_DEFINITIONS})
  if(ARG_DEPENDS)
    add_dependencies(${program} ${ARG_DEPENDS})
  endif()
  get_property(headers TARGET ${program} PROPERTY PERIAPT_HEADERS)
  periapt_use_headers(${program} ${headers})
  add_test(NAME ${name} COMMAND ${program} ${ARG_ARGS})
  if(ARG_THREADS AND "thread" IN_LIST PERIAPT_SANITIZE)
    list(APPEND ARG_ENVIRONMENT "GTEST_FILTER=${ARG_THREADS}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77 ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
