# cmake -DARCHIVE=<file> -DSOURCE_DIR=<clone> -P archive.cmake: what a project that fetches the library needs
cmake_minimum_required(VERSION 3.25)
cmake_path(GET ARCHIVE PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")
execute_process(COMMAND "${CMAKE_COMMAND}" -E tar czf "${ARCHIVE}" CMakeLists.txt LICENSE .cmake include
                WORKING_DIRECTORY "${SOURCE_DIR}" COMMAND_ERROR_IS_FATAL ANY)
