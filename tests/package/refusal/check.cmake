# cmake -DSOURCE_DIR=<clone> -DXSIMD_INCLUDE_DIR=<folder> -DPREFIX=<prefix> -DCXX=<old compiler> -DOUT=<folder> -P check.cmake
#
# A compiler that is too old is refused by the port, which configures the library, and by an installed copy.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${SOURCE_DIR}" "-DXSIMD_INCLUDE_DIR=${XSIMD_INCLUDE_DIR}"
                        "-DCXX=${CXX}" "-DOUT=${OUT}/port"
                        -P "${CMAKE_CURRENT_LIST_DIR}/../vcpkg/run_port.cmake"
                RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
if(status EQUAL 0 OR NOT printed MATCHES "tapeless: it is not tested with GNU[ \n]+11")
  message(FATAL_ERROR "the port ended with ${status}:\n${printed}")
endif()

file(REMOVE_RECURSE "${OUT}/consumer")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${OUT}/consumer"
                        "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${PREFIX}"
                COMMAND_ERROR_IS_FATAL ANY)
