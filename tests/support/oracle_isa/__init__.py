"""A second statement of what GCN3's instructions do, which shares nothing with gpusim's own.

LLVM's disassembler decodes: an instruction is its text. What it does was written from the GCN3 ISA manual (chapters 4
to 10, 12), lane by lane on NumPy's numbers, and runs in plain Python: slow, simple, and without gpusim's decoder,
tables, loader, device memory or compiled code. What it does not know it refuses (`NotStatedError`): it never guesses.

- `text`: a code object as LLVM prints it: instructions, kernel descriptors, arguments
- `state`: registers of a wavefront; memory as the pieces that a launch was recorded with
- `operands`: an operand's text as a function that reads or writes it: modifiers, SDWA, DPP
- `vector`, `scalar`, `accesses`: what the instructions do, by mnemonic
- `numbers`: floats: fused products, denormals, division
- `launch`: a launch: initial registers, workgroups, barriers
"""
