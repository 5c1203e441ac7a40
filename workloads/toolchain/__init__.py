"""Builds code objects from OpenCL C, HIP, assembly or LLVM IR, with a linker for machines without one.

`build` is what others call. `compilers` finds clang, lld and AMD's device library on this machine, and the flags of
each language; `link` links what llvmlite makes of LLVM IR where there is neither.

Why so: code objects are shipped beside their sources, so a user needs no compiler; what builds them is found on the
machine and not downloaded.
"""
