#!/bin/sh
# Builds the code objects of the corpus, NAME.hsaco for gfx803, NAME.GPU.hsaco for others; needs clang-19 and lld-19.
cd "$(dirname "$0")" || exit 1
for gpu in gfx803 gfx906; do
    for source in *.cl; do
        object="${source%.cl}.$gpu.hsaco"
        [ $gpu = gfx803 ] && object="${source%.cl}.hsaco"
        clang-19 -g -fdebug-compilation-dir=. -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=$gpu -O2 -nogpulib \
            -cl-kernel-arg-info -Wno-uninitialized -Wno-sometimes-uninitialized "$source" -o "$object" || exit 1
    done
done
