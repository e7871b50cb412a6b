# Installation: the program, its manual, completion, unit, an example of its settings and its documents; for programs that embed a
# host the libraries, their header and a file of pkg-config.  The program itself needs none of the other files.  DESTDIR and --prefix
# are honoured when "cmake --install" runs, so what names the prefix is made then.
include(GNUInstallDirs)
set(WOPR_MAN ${PROJECT_BINARY_DIR}/man)
set(WOPR_UNIT_IDENTITY "DynamicUser=yes" CACHE STRING "lines of the unit that name its user")
add_custom_command(OUTPUT ${WOPR_MAN}/wopr.1
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tools/manual.py $<TARGET_FILE:wopr> ${PROJECT_SOURCE_DIR} ${WOPR_MAN}
  DEPENDS wopr ${PROJECT_SOURCE_DIR}/tools/manual.py ${PROJECT_SOURCE_DIR}/tools/settings.py ${PROJECT_SOURCE_DIR}/packaging/wopr.json
  VERBATIM)
add_custom_target(wopr_manual ALL DEPENDS ${WOPR_MAN}/wopr.1)

install(TARGETS wopr RUNTIME COMPONENT program)
install(TARGETS libwopr ARCHIVE COMPONENT development)
install(FILES ${WOPR_MHD_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/wopr DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(CODE "
  set(CMAKE_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
  set(CMAKE_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  set(PROJECT_VERSION ${PROJECT_VERSION})
  configure_file(${PROJECT_SOURCE_DIR}/packaging/wopr.pc.in ${PROJECT_BINARY_DIR}/wopr.pc @ONLY)
  file(INSTALL DESTINATION \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig TYPE FILE FILES ${PROJECT_BINARY_DIR}/wopr.pc)"
  COMPONENT development)

install(DIRECTORY ${WOPR_MAN}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program FILES_MATCHING PATTERN "*.1")
install(DIRECTORY ${WOPR_MAN}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT program FILES_MATCHING PATTERN "*.5")
set(WOPR_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "where zsh finds completions")
install(FILES packaging/completion/wopr.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME wopr
  COMPONENT program)
install(FILES packaging/completion/wopr.zsh DESTINATION ${WOPR_ZSH_DIR} RENAME _wopr COMPONENT program)
install(FILES packaging/completion/wopr.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
install(CODE "
  set(WOPR_UNIT_BINDIR \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
  set(WOPR_UNIT_IDENTITY \"${WOPR_UNIT_IDENTITY}\")
  configure_file(${PROJECT_SOURCE_DIR}/packaging/wopr.service.in ${PROJECT_BINARY_DIR}/wopr.service @ONLY)
  file(INSTALL DESTINATION \${CMAKE_INSTALL_PREFIX}/lib/systemd/system TYPE FILE FILES ${PROJECT_BINARY_DIR}/wopr.service)"
  COMPONENT program)

file(GLOB WOPR_PAGES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/*.yaml ${PROJECT_SOURCE_DIR}/docs/*.json)
install(FILES ${WOPR_PAGES} README.md LICENSE NOTICE packaging/wopr.json DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs/examples docs/dashboard DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
