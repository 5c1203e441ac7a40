"""Encoded instructions: from bytes to decoded instructions, and from those to text and to rules about registers.

`decoder` makes an `Instruction` (`instruction`) of words, by the tables of `isa.opcodes`; `validity` says which words
are none. `control_flow` finds all instructions of a kernel, with `jumps` for those that jump through a register.
`disassembler` writes an instruction as LLVM does, with `operand_text` and `special_text`. `operands` and `registers`
say what an instruction names, reads and writes; on them stand `hazards` (wait states that software must keep) and
`static_counts`.

Why so: reading code executes nothing, so that hazards, register masks and disassembly need neither a launch nor the
compiler. An instruction that the architecture lacks is an error that names the GPUs that have it.
"""
