"""Matrix units on the timeline: which product each of them executes, and for how long."""

from collections.abc import Sequence

from gpusim.model.core.cu import state as cu
from gpusim.model.core.cu.code_table import PASS_CYCLES
from gpusim.results.timeline.requests import RANK
from gpusim.results.timeline.trace_file import TraceFile
from isa.encoding.instruction import Instruction


class MatrixUnitTracks:
    """A track for each SIMD's matrix unit that is used: a slice from a product's issue until the unit is free."""

    def __init__(self, out: TraceFile, cus: Sequence[int], instructions: Sequence[Instruction], limit: int) -> None:
        """Find the matrix products of a kernel.

        Args:
            out: The trace.
            cus: Track of each CU.
            instructions: The kernel's instructions, by static index.
            limit: Cycle after which nothing is drawn.
        """
        self._out, self._cus, self._limit = out, cus, limit
        self._cycles = {
            pc: PASS_CYCLES * one.opcode.passes for pc, one in enumerate(instructions) if "matrix" in one.opcode.flags
        }
        self._tracks: dict[int, int] = {}

    def issued(self, cycle: int, wave: int, pc: int, name: str, at: dict[str, str]) -> None:
        """Draw what an instruction keeps its SIMD's matrix unit busy with; nothing of one that is no matrix product.

        Args:
            cycle: Cycle of its issue.
            wave: Wavefront slot.
            pc: Static index of the instruction.
            name: Its mnemonic.
            at: Notes on where it stands.
        """
        cycles = self._cycles.get(pc, 0)
        if not cycles or cycle >= self._limit:
            return
        slot = wave & (cu.SLOTS - 1)
        simd = slot >> cu.SIMD_BITS
        unit = wave >> cu.SIMD_BITS
        if unit not in self._tracks:
            parent = self._cus[wave >> cu.CU_BITS]
            self._tracks[unit] = self._out.track(f"SIMD {simd} matrix unit", parent, RANK + 1 + simd)
        notes: dict[str, int | str] = {**at, "slot": slot & ((1 << cu.SIMD_BITS) - 1)}
        self._out.slice(self._tracks[unit], cycle, min(cycle + cycles, self._limit), name, "matrix product", notes)
