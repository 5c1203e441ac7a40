"""Executing a launch under watch: races, values never written, barriers that not all reach, misaligned accesses.

`state.py`: what is remembered beside registers and memory; `table.py`: what each instruction reads and writes;
`registers.py`, `accesses.py`: the compiled checks; `producer.py`: executes a wavefront instruction by instruction with
them; `findings.py`: what was found, as a user reads it; `updates.py`: whether lanes update one word; `checker.py`: ties
these to a functional context.

Why so: the checks have an executor of their own, so that other runs pay nothing for them. Findings of `isa.checking`
never change what a kernel computes.
"""
