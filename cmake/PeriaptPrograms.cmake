# Building programs with chares, inside this tree and, after find_package(Periapt), outside of it.
#
#   periapt_add_ci(TARGET a.ci ...)
#       Translates .ci files; TARGET's sources may then include the modules' .decl.h and .def.h.
#   periapt_add_executable(NAME sources ... [CI a.ci ...] [MODULES M ...] [TRACES T ...])
#       A program: its sources, its .ci files, and modules to link and register, as with charmc -module. Of each trace module
#       T a source or library has _createTraceT(), as with charmc -tracemode. A module M is a
#       target moduleM of this project or a file libmoduleM.a; what is part of Periapt (balancers, CkMulticast) is not named.
#
# charmc is called as: charmc -I... -D... -MD -MF depfile -MT target file.ci, and writes into the folder it is called in.
# A .ci file is read when CMake configures, only to learn the names of its modules (they name the files that charmc writes),
# and CMake configures again when it changes.
include_guard(GLOBAL)

if(NOT PERIAPT_CHARMC)  # inside the tree: the one being built
  set(PERIAPT_CHARMC "$<TARGET_FILE:charmc>")
  set(PERIAPT_CHARMC_TARGET charmc)
endif()

# The modules that a .ci file defines. Comments are taken out first; "extern module" is not a definition.
function(periapt_ci_modules file result)
  file(READ "${file}" text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX REPLACE "extern[ \t\r\n]+module[ \t\r\n]+[A-Za-z_0-9]+" "" text "${text}")
  string(REGEX MATCHALL "(^|[ \t\r\n;}])(main)?module[ \t\r\n]+[A-Za-z_][A-Za-z_0-9]*" found "${text}")
  set(modules "")
  foreach(definition IN LISTS found)
    string(REGEX REPLACE ".*[ \t\r\n]" "" module "${definition}")
    list(APPEND modules "${module}")
  endforeach()
  if(NOT modules)
    message(FATAL_ERROR "${file} defines no module: a .ci file holds 'module NAME { ... }' or 'mainmodule NAME { ... }'")
  endif()
  set(${result} "${modules}" PARENT_SCOPE)
endfunction()

function(periapt_add_ci target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "periapt_add_ci(${target} ...): there is no target of that name; write it after add_executable")
  endif()
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}.ci")
  file(MAKE_DIRECTORY "${out}")
  set(includes "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>>")
  set(defines "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>>")
  set(made "")
  foreach(ci IN LISTS ARGN)
    get_filename_component(ci "${ci}" ABSOLUTE)
    get_filename_component(name "${ci}" NAME)
    periapt_ci_modules("${ci}" modules)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ci}")
    set(files "")
    foreach(module IN LISTS modules)
      list(APPEND files "${out}/${module}.decl.h" "${out}/${module}.def.h")
    endforeach()
    list(GET files 0 first)
    add_custom_command(
      OUTPUT ${files}
      COMMAND "${PERIAPT_CHARMC}" "-I$<JOIN:${includes},;-I>" "$<$<BOOL:${defines}>:-D$<JOIN:${defines},;-D>>"
              -MD -MF "${out}/${name}.d" -MT "${first}" "${ci}"
      DEPENDS "${ci}" ${PERIAPT_CHARMC_TARGET}
      DEPFILE "${out}/${name}.d"
      WORKING_DIRECTORY "${out}"
      COMMENT "Translating ${name}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND made ${files})
  endforeach()
  target_sources(${target} PRIVATE ${made})
  target_include_directories(${target} PRIVATE "${out}")
endfunction()

# The file that says which modules a program is linked with; the runtime calls it at start. charmc writes the same.
function(periapt_module_init target modules)
  set(text "// Written by CMake for ${target}: which modules the program is linked with.\n")
  foreach(module IN LISTS modules)
    string(APPEND text "void _register${module}(void);\n")
  endforeach()
  string(APPEND text "void _registerExternalModules(char**) {\n")
  foreach(module IN LISTS modules)
    string(APPEND text "  _register${module}();\n")
  endforeach()
  string(APPEND text "}\n")
  foreach(trace IN LISTS ARGN)
    string(APPEND text "void _createTrace${trace}(char** argv);\n")
  endforeach()
  if(ARGN)
    string(APPEND text "void _createTraces(char** argv) {\n")
    foreach(trace IN LISTS ARGN)
      string(APPEND text "  _createTrace${trace}(argv);\n")
    endforeach()
    string(APPEND text "}\n")
  endif()
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${target}.ci/moduleinit.cpp" CONTENT "${text}" @ONLY)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.ci/moduleinit.cpp")
  target_sources(${target} PRIVATE "${source}")
  set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # it includes nothing
endfunction()

function(periapt_add_executable name)
  cmake_parse_arguments(ARG "" "" "CI;MODULES;TRACES" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  foreach(module IN LISTS ARG_MODULES)
    if(TARGET module${module})
      target_link_libraries(${name} PRIVATE module${module})
    else()
      find_library(PERIAPT_MODULE_${module} NAMES libmodule${module}.a)
      if(NOT PERIAPT_MODULE_${module})
        message(FATAL_ERROR "periapt_add_executable(${name} ... MODULES ${module}): there is no target module${module} and "
          "no libmodule${module}.a. What is part of Periapt, such as its balancers, need not be named")
      endif()
      target_link_libraries(${name} PRIVATE "${PERIAPT_MODULE_${module}}")
      string(REGEX REPLACE "[.]a$" ".dep" needed "${PERIAPT_MODULE_${module}}")
      if(EXISTS "${needed}")  # libraries of the system, as charmc links them
        file(STRINGS "${needed}" needed)
        separate_arguments(needed)
        list(FILTER needed INCLUDE REGEX "^(/|-l)")
        target_link_libraries(${name} PRIVATE ${needed})
      endif()
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE Periapt::charm)
  periapt_module_init(${name} "${ARG_MODULES}" ${ARG_TRACES})
  if(PERIAPT_PROGRAM_HEADERS)  # inside the tree: charm++.h, compiled once for all programs of a folder
    periapt_use_headers(${name} ${PERIAPT_PROGRAM_HEADERS})
  endif()
  if(ARG_CI)
    periapt_add_ci(${name} ${ARG_CI})
  endif()
endfunction()
