# shellcheck shell=bash
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
# Where the libraries of CUDA are: of a toolkit, then of Python's packages. Sourced by build and run.
#   LD_LIBRARY_PATH   their folders
#   flags             -I and -L for nvcc, where cuDNN has a folder of its own
#   includes          -isystem for g++

command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
nvcc=$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")
cuda=$(dirname "$(dirname "$nvcc")")
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
# shellcheck disable=SC2034 # of who sources this
flags=() includes=() folders=()
for folder in "$cuda/lib64" "$site"/nvidia/*/lib /usr/local/nvidia/lib64; do
  [ -d "$folder" ] || continue
  folders+=("$folder")
  export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  if [ -f "$folder/../include/cudnn.h" ]; then flags+=("-I$folder/../include" "-L$folder"); fi
  if [ -d "$folder/../include" ]; then includes+=(-isystem "$folder/../include"); fi
done

# library NAME SONAME...: the file to link
library() {
  local name=$1 folder number
  shift
  for folder in "${folders[@]}"; do
    for number in "" "$@"; do
      if [ -f "$folder/lib$name.so${number:+.$number}" ]; then
        echo "$folder/lib$name.so${number:+.$number}"
        return
      fi
    done
  done
  echo "no library $name" >&2
  return 1
}

# All that the programs are made of, as one number
version_of_sources() {
  find include tests/laws tests/reference tests/support bench/workloads bench/workloads.def bench/gpu examples \
    \( -name '*.hpp' -o -name '*.cpp' -o -name '*.def' -o -name build \) -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum | cut -c1-16
}
