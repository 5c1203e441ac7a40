"""Code objects: ELF files of AMDGPU machine code, read into kernels (LLVM AMDGPU guide).

`code_object` is what others call: `load_code_object` gives `Kernel`s. Below it, in the order of reading: `bundle` (a
GPU's code objects in a bundle or a fat binary), `elf_image` (what of an ELF file is loaded, relocated) with `targets`
(which GPU it is for), `kernel_descriptor` (what a kernel asks the hardware to set up), `kernel_metadata` (its arguments
and limits), `line_table` (which source line each instruction is of), `names` (C++ names, and what a short form of one
means).

Why so: the parts of ELF that a launch needs are read here, since a code object starts sooner without pyelftools, which
is imported for line tables and for programs and libraries alone.
"""
