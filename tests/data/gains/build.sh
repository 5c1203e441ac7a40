#!/bin/sh
# Builds the kernels of estimated and measured gains; needs clang-19 and lld-19.
cd "$(dirname "$0")" || exit 1
clang-19 -g -fdebug-compilation-dir=. -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O3 -nogpulib \
    -cl-kernel-arg-info gains.cl -o gains.hsaco
