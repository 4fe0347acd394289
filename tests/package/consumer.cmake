# The program of a consumer; once more with threads where the library offers them
add_executable(consumer ../main.cpp)
target_link_libraries(consumer PRIVATE tapeless::tapeless)
if(TARGET tapeless::openmp)
  add_executable(consumer_openmp ../main.cpp)
  target_link_libraries(consumer_openmp PRIVATE tapeless::openmp)
endif()
