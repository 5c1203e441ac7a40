"""Builds code objects from OpenCL C, assembly or LLVM IR, with a linker for machines without one."""
