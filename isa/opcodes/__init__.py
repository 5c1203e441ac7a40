"""The instruction sets: every instruction, one row each, in text tables, and what later generations change.

`architecture` has the GPUs whose instructions are known; each is the rows of `base`, which are those of gfx803, with
some extensions (`extension`), a file each. `later` knows by name what none of them executes. `table` says how rows are
written, `formats` where the fields of an encoding lie.

Why so: decoder, disassembler, interpreter and coverage page read the same rows. A generation is not a table of its own,
since it keeps most instructions of gfx803, and a copy would have to be mended twice.
"""

from isa.opcodes.architecture import ARCHITECTURES, GFX803, Architecture

__all__ = ["ARCHITECTURES", "GFX803", "Architecture"]
