# wopr_mhd: libmicrohttpd as a static library that reads its input through src/http/intake.c (src/http/DESIGN.md).
# Its two input functions get other names; nothing else of it changes.
pkg_check_modules(MHD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_get_variable(MHD_LIBDIR libmicrohttpd libdir)
find_library(MHD_STATIC NAMES libmicrohttpd.a HINTS ${MHD_LIBDIR})
if(NOT MHD_STATIC)
  message(FATAL_ERROR "libmicrohttpd.a is missing (Debian: libmicrohttpd-dev); the shared library alone will not do, see src/http/DESIGN.md")
endif()
execute_process(COMMAND ${CMAKE_NM} -u ${MHD_STATIC} OUTPUT_VARIABLE mhd_undefined ERROR_QUIET)
foreach(input recv gnutls_record_recv)
  if(NOT mhd_undefined MATCHES " U ${input}\n")
    message(FATAL_ERROR "${MHD_STATIC} does not call ${input}(): this build of libmicrohttpd cannot be served through src/http/intake.c")
  endif()
endforeach()
foreach(other recvfrom recvmsg __recv_chk readv)
  if(mhd_undefined MATCHES " U ${other}\n")
    message(FATAL_ERROR "${MHD_STATIC} reads with ${other}() too, which src/http/intake.c does not know")
  endif()
endforeach()
set(WOPR_MHD_ARCHIVE ${PROJECT_BINARY_DIR}/libwopr-mhd.a)
add_custom_command(OUTPUT ${WOPR_MHD_ARCHIVE}
  COMMAND ${CMAKE_OBJCOPY} --redefine-sym recv=wopr_intake_recv
          --redefine-sym gnutls_record_recv=wopr_intake_tls_recv ${MHD_STATIC} ${WOPR_MHD_ARCHIVE}
  DEPENDS ${MHD_STATIC} VERBATIM)
add_custom_target(wopr_mhd_archive DEPENDS ${WOPR_MHD_ARCHIVE})
add_library(wopr_mhd STATIC IMPORTED)
set_target_properties(wopr_mhd PROPERTIES IMPORTED_LOCATION ${WOPR_MHD_ARCHIVE}
  INTERFACE_INCLUDE_DIRECTORIES "${MHD_INCLUDE_DIRS}"
  INTERFACE_LINK_LIBRARIES libwopr) # each calls the other: the linker has to look at both twice
add_dependencies(wopr_mhd wopr_mhd_archive)
