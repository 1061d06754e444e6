# The shape of an installed Periapt, which is also the shape of a build tree, so that charmc finds its things in both:
#
#   bin/        charmc, charmxi, charmrun, testrun, periapt-doctor, periapt-checkpoint, periapt-fuzz, periapt-liveviz, lb-lab     where Charm++ users' Makefiles look for them
#   include/    charm++.h, pup.h ...  conv-mach-opt.mak, .sh, conv-config.sh    what a program includes and a Makefile asks
#   include/periapt/<floor>/...                                       what those headers include ("runtime/api/x.h")
#   include/base, machine, runtime     links to these: a compiler that charmc does not call (nvcc) is told of include/ alone
#   lib/        libperiapt.a  libccs-client.a  libnccl-net-periapt.so  cmake/Periapt/  pkgconfig/periapt.pc
#   tmp/        conv-config.sh, for programs that reach into a Charm++ build tree
#
# Everything in it is found relative to the file that names it: the prefix can be moved (tests/install does).
include(CMakePackageConfigHelpers)

set(periapt_templates "${CMAKE_CURRENT_LIST_DIR}/templates")
set(periapt_layout "${PROJECT_BINARY_DIR}")
# Folders whose headers are reachable from include/. lang/ is not: the translator is part of charmc.
set(periapt_header_floors base machine runtime)

# Values for the templates.
string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" PERIAPT_COMPILER_NAME)
string(REPLACE "gnu" "gcc" PERIAPT_COMPILER_NAME "${PERIAPT_COMPILER_NAME}")
set(PERIAPT_NEEDED_FLAGS "")  # of programs: tools/charmc/compile_step.cpp says why
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(PERIAPT_NEEDED_FLAGS "-fno-lifetime-dse ")
endif()

# The build tree: links to the headers where they are, and the same generated files.
function(periapt_build_tree_layout)
  file(MAKE_DIRECTORY "${periapt_layout}/bin" "${periapt_layout}/lib" "${periapt_layout}/tmp")
  file(REMOVE_RECURSE "${periapt_layout}/include")
  file(MAKE_DIRECTORY "${periapt_layout}/include/periapt")
  file(GLOB faces CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*")
  foreach(face IN LISTS faces)
    get_filename_component(name "${face}" NAME)
    file(CREATE_LINK "${face}" "${periapt_layout}/include/${name}" SYMBOLIC)
  endforeach()
  foreach(floor IN LISTS periapt_header_floors)
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${floor}" "${periapt_layout}/include/periapt/${floor}" SYMBOLIC)
    file(CREATE_LINK "periapt/${floor}" "${periapt_layout}/include/${floor}" SYMBOLIC)
  endforeach()
  foreach(file IN ITEMS conv-mach-opt.mak conv-mach-opt.sh conv-config.sh)
    configure_file("${periapt_templates}/${file}.in" "${periapt_layout}/include/${file}" @ONLY)
  endforeach()
  configure_file("${periapt_templates}/conv-config.sh.in" "${periapt_layout}/tmp/conv-config.sh" @ONLY)
  file(CREATE_LINK charmc "${periapt_layout}/bin/charmxi" SYMBOLIC)
  configure_file("${periapt_templates}/tmp-README" "${periapt_layout}/tmp/README" COPYONLY)
endfunction()

function(periapt_install_rules)
  # charmc looks in bin/../lib and Makefiles in lib/, so a lib64 or lib/<triplet> of the system's taste is not followed.
  set(config_dir "lib/cmake/Periapt")
  install(TARGETS periapt ARCHIVE DESTINATION lib)
  install(TARGETS periapt_nccl_net LIBRARY DESTINATION lib)
  foreach(tool IN ITEMS charmc charmrun testrun periapt-doctor periapt-checkpoint periapt-fuzz periapt-liveviz lb-lab)
    if(TARGET ${tool})
      install(TARGETS ${tool} RUNTIME DESTINATION bin)
    elseif(EXISTS "${PROJECT_SOURCE_DIR}/tools/${tool}")
      install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/${tool}" DESTINATION bin)
      file(CREATE_LINK "${PROJECT_SOURCE_DIR}/tools/${tool}" "${periapt_layout}/bin/${tool}" SYMBOLIC)
    endif()
  endforeach()
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/include")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION include)
  endif()
  foreach(floor IN LISTS periapt_header_floors)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${floor}" DESTINATION include/periapt FILES_MATCHING PATTERN "*.h"
            PATTERN "client.c" PATTERN "sockets.c")  # of runtime/ccs, which include/ccs-client.C includes
    install(FILES "${periapt_layout}/include/${floor}" DESTINATION include)
  endforeach()
  foreach(file IN ITEMS conv-mach-opt.mak conv-mach-opt.sh conv-config.sh)
    install(FILES "${periapt_layout}/include/${file}" DESTINATION include)
  endforeach()
  install(FILES "${periapt_layout}/include/conv-config.sh" DESTINATION tmp)
  install(FILES "${periapt_layout}/bin/charmxi" DESTINATION bin)  # a link to the charmc beside it
  install(FILES "${periapt_templates}/tmp-README" DESTINATION tmp RENAME README)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION share/licenses/periapt)

  configure_package_config_file("${periapt_templates}/PeriaptConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/generated/PeriaptConfig.cmake" INSTALL_DESTINATION "${config_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/PeriaptConfigVersion.cmake"
    COMPATIBILITY SameMajorVersion)
  configure_file("${periapt_templates}/periapt.pc.in" "${PROJECT_BINARY_DIR}/generated/periapt.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/generated/PeriaptConfig.cmake"
                "${PROJECT_BINARY_DIR}/generated/PeriaptConfigVersion.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/PeriaptPrograms.cmake" DESTINATION "${config_dir}")
  install(FILES "${PROJECT_BINARY_DIR}/generated/periapt.pc" DESTINATION lib/pkgconfig)
endfunction()

periapt_build_tree_layout()
periapt_install_rules()
