#!/bin/sh
# Builds the objects of this folder. They were made by clang 15 and lld 15 (calls: lld 19).
set -e
cd "$(dirname "$0")"
for version in 4 5; do
    ${CLANG:-clang-15} -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -O1 -fno-ident \
        -cl-kernel-arg-info -gdwarf-$version -fdebug-compilation-dir=/build -c lines.cl -o lines.o
    ${LLD:-ld.lld-15} -shared lines.o -o lines_dwarf$version.hsaco
    ${CLANG:-clang-15} -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -O1 -fno-ident \
        -isystem library/lib/clang -gdwarf-$version -fdebug-compilation-dir=/build -c calls.cl -o lines.o
    ${LLD:-ld.lld-15} -shared lines.o -o calls_dwarf$version.hsaco
done
rm lines.o
