#!/bin/sh
# Builds the code objects of the corpus; needs clang-19 and lld-19.
cd "$(dirname "$0")" || exit 1
for source in *.cl; do
    clang-19 -g -fdebug-compilation-dir=. -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O2 -nogpulib \
        -cl-kernel-arg-info -Wno-uninitialized -Wno-sometimes-uninitialized "$source" -o "${source%.cl}.hsaco" || exit 1
done
