# Libraries of chares, which programs link with -module.
#
#   periapt_module(NAME CI a.ci SOURCES a.cpp ... HEADERS a.h ... [MODULES M ...] [LIBRARIES file ...] [FOLDER f])
#
# makes lib/libmoduleNAME.a, puts the headers, NAME.decl.h and NAME.def.h into include/, of the build tree and of what is installed,
# and a target moduleNAME that periapt_add_executable(... MODULES NAME) takes. MODULES: others that this one needs;
# LIBRARIES: what its programs are linked with besides. FOLDER: of include/, where the headers are put instead.
include_guard(GLOBAL)

# charm++.h, compiled once for all of them.
periapt_headers(module_headers LIBRARY INCLUDES <charm++.h> LINK periapt)

function(periapt_module name)
  cmake_parse_arguments(ARG "" "CI;FOLDER" "SOURCES;HEADERS;MODULES;LIBRARIES" ${ARGN})
  set(target module${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  list(TRANSFORM ARG_MODULES PREPEND module OUTPUT_VARIABLE needed)
  target_link_libraries(${target} PUBLIC Periapt::charm ${needed} ${ARG_LIBRARIES})
  target_include_directories(${target} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
  periapt_add_ci(${target} ${ARG_CI})
  target_include_directories(${target} PUBLIC "${CMAKE_CURRENT_BINARY_DIR}/${target}.ci")
  periapt_use_headers(${target} module_headers)

  set_property(GLOBAL APPEND PROPERTY PERIAPT_MODULES ${target})

  set(include "${PROJECT_BINARY_DIR}/include")
  file(MAKE_DIRECTORY "${include}/${ARG_FOLDER}")
  foreach(header IN LISTS ARG_HEADERS)
    get_filename_component(file "${header}" NAME)
    get_filename_component(whole "${header}" ABSOLUTE)
    set_property(GLOBAL APPEND PROPERTY PERIAPT_MODULE_HEADERS "${whole}")
    file(CREATE_LINK "${whole}" "${include}/${ARG_FOLDER}/${file}" SYMBOLIC)
    install(FILES "${header}" DESTINATION "include/${ARG_FOLDER}")
  endforeach()
  foreach(generated IN ITEMS decl def)  # what has templates includes its own NAME.def.h
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}.ci/${name}.${generated}.h")
    file(CREATE_LINK "${file}" "${include}/${name}.${generated}.h" SYMBOLIC)
    # Where the .ci lay is of no use to those that get what is installed.
    install(CODE "
      file(READ \"${file}\" text)
      string(REPLACE \"${CMAKE_CURRENT_SOURCE_DIR}/\" \"\" text \"\${text}\")
      file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/include/${name}.${generated}.h\" \"\${text}\")")
  endforeach()
  install(TARGETS ${target} ARCHIVE DESTINATION lib)
  set(flags "")
  foreach(module IN LISTS ARG_MODULES)
    string(APPEND flags "-module ${module} ")
  endforeach()
  foreach(library IN LISTS ARG_LIBRARIES)
    string(APPEND flags "${library} ")
  endforeach()
  if(flags)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/lib/libmodule${name}.dep" CONTENT "${flags}\n" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/lib/libmodule${name}.dep" DESTINATION lib)
  endif()
endfunction()
