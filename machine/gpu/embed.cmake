# cmake -DOUT=file.cpp -DNAMES="a;b" -DFILES="path;path" -P embed.cmake: the bytes of files, and a zero behind them, as arrays. An
# empty path is an empty file.
set(text "// Written by machine/gpu/embed.cmake.\nnamespace periapt::gpu::embedded {\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  set(hex "")
  if(NOT file STREQUAL "none")
    file(READ "${file}" hex HEX)
  endif()
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND text "extern const unsigned char ${name}[] = {${bytes}0};\n"
    "extern const unsigned long ${name}_size = ${size};\n")
endforeach()
file(WRITE "${OUT}" "${text}}  // namespace periapt::gpu::embedded\n")
