#!/bin/sh
# Builds the code objects of the test kernels; needs clang-19 and lld-19.
cd "$(dirname "$0")" || exit 1
for source in *.cl; do
    case $source in device_library.cl | images.cl | prints.cl) continue ;; # gpusim kernels build, with rocm-device-libs
        matrix_product.cl) continue ;; # the same, with --gpu mi100 and --gpu mi210
    esac
    name=${source%.cl}
    case $name in
        opencl_*) more="-cl-kernel-arg-info -include ../../../gpusim/opencl/library.h" ;;
        *) more= ;;
    esac
    # shellcheck disable=SC2086
    clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -nogpulib -O3 $more -c "$source" -o "$name.o" \
        || exit 1
    ld.lld-19 -shared "$name.o" -o "$name.hsaco" || exit 1
    rm "$name.o"
done
for source in *.s; do
    name=${source%.s}
    clang-19 -target amdgcn-amd-amdhsa -mcpu=gfx803 -c "$source" -o "$name.o" || exit 1
    ld.lld-19 -shared "$name.o" -o "$name.hsaco" || exit 1
    rm "$name.o"
done
