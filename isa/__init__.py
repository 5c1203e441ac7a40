"""The instruction sets: what a kernel is, what its instructions compute, and what timing is given of them.

Here at the top lies what several packages share: `architecture` (lanes, codes of registers, MODE), `trace` (what
execution tells the timing model: read it first), `device_memory` and `region` (what kernels read and write), `grid`,
`kernarg` and `launch` (a kernel over a grid, with its arguments). A kernel's way, which is also the order to read in:

`isa.object` reads a code object → `isa.opcodes`, the tables of all instructions by architecture → `isa.encoding`
decodes and disassembles them → `isa.semantics` says what each computes, in the language of `isa.lanes`, which compiles
it → `isa.execution` runs a wavefront and writes its trace. Nothing here knows of time: that is `memory`'s and the
core's.

Why so: execution and timing meet at one function address. Storing the trace of a whole run was refused, since it is as
large as the run is long and cannot wait for what timing decides; so was executing inside the timing model, where a
timing error could make a result wrong (docs/decisions/0001).
"""
