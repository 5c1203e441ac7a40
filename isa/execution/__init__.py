"""Functional execution: a kernel becomes a program, wavefronts run it slice by slice and write their traces.

`executor` is what others call: a `FunctionalContext` is a launch made ready, a producer for timing; `emulator` runs one
without timing. In the order of reading:

- `program_table`, `codes`: what the interpreter needs of an instruction, and what the numbers in it mean; `program`
  with `vector_program`, `scalar_program`, `memory_program`, `constants`: how it is made, and what is refused;
- `state`: every other record, by name; `wave_state`, `launch_setup`: what a wavefront and a launch begin with;
- `interpreter`: the loop over instructions; `arithmetic`, `special_instructions`;
- `memory_access`, `flat_access`, `buffer_access`, `lds_access`, `scalar_access`: memory instructions; `data_movement`
  (lanes and atomics), `coalescing` (lines, bank cycles, the cache of access patterns);
- `faults`: what a kernel may not do; `inspect`: a wavefront's state as text.

`docs/explanation/execution.md` says what was decided where the manuals leave a choice.

Why so: the interpreter is one compiled loop over tables, which a kernel's program only fills: a new kernel compiles
nothing. A program is stored, since loading one takes milliseconds where making it takes a tenth of a second or more.
"""
