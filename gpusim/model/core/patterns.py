"""Access patterns: what each memory instruction of a launch touches, and how many lanes take part in vector arithmetic.

Counted by the core and the caches as instructions issue (`memory.cache.access`), and by execution (how many lanes).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gpusim.base.jit import Machine, address_of
from isa.encoding.disassembler import disassemble
from isa.execution.executor import FunctionalContext, program_of
from isa.object.code_object import Kernel
from isa.object.line_table import SourceLine
from isa.opcodes.opcode import LDS, SMEM, VALU, VMEM
from memory.cache.access import COLUMNS, ISSUED, STRIDE, WIDTH, count_access
from memory.timeline import count_finds

KINDS = {VALU: "vector_alu", VMEM: "vector_memory", LDS: "lds", SMEM: "scalar_memory"}
_LAST = {COLUMNS[STRIDE]}  # of these the last value counts, not the sum


@dataclass(frozen=True)
class Pattern:
    """Access pattern of a static instruction, or active lanes of adjacent vector instructions of a source line."""

    kernel: str
    """Name of the kernel."""
    address: int
    """Address of the instruction, as linked."""
    instruction: str
    """Disassembled instruction."""
    kind: str
    """Kind of access: one of KINDS."""
    counts: dict[str, int]
    """Non-zero counts by the names of `memory.cache.access.COLUMNS`; `lanes`: active lanes of all executions."""
    source: SourceLine | None = None
    """Source line of the instruction; None: the code object has no line table."""


class PatternCounts:
    """The tables into which a launch's patterns are counted."""

    def __init__(self, m: Machine, context: FunctionalContext, finds: bool) -> None:
        """Have the machine and the context count. finds: also where lines are found, which takes time."""
        self._context = context
        self.table = np.zeros((len(context.instructions), WIDTH), np.int64)
        """Counts of accesses, a row for each static instruction."""
        self._lanes = context.count_lanes()
        count_access(m, address_of(self.table))
        if finds:
            count_finds(m)

    def patterns(self) -> list[Pattern]:
        """Return the patterns of what was executed, in the order of the code."""
        executed = np.cumsum(self._lanes[:-1], axis=0)
        before = np.concatenate((np.zeros((1, 2), np.int64), np.cumsum(executed, axis=0)))
        groups, counted = _groups(self._context.launch.kernel), []
        bounds = np.array([(first, end) for first, end, _ in groups], np.int64).reshape(-1, 2)
        executed_of = (before[bounds[:, 1]] - before[bounds[:, 0]]).tolist()
        for (first, _, described), (times, lanes) in zip(groups, executed_of, strict=True):
            if described.kind == KINDS[VALU]:
                counts = {COLUMNS[ISSUED]: times, "lanes": lanes}
            else:
                row = self.table[first].tolist()
                counts = {name: n for name, n in zip(COLUMNS, row, strict=False) if n}
                counts |= {"lanes": lanes} if described.kind == KINDS[VMEM] else {}
            if counts.get(COLUMNS[ISSUED]):
                counted.append(replace(described, counts=counts))
        return counted


@lru_cache(maxsize=64)
def _groups(kernel: Kernel) -> list[tuple[int, int, Pattern]]:
    """Return first and end of what has a pattern: each memory instruction, and runs of vector instructions of one line.

    Without lines, a run of vector instructions ends where another instruction stands between them.
    """
    instructions = program_of(kernel).instructions
    groups: list[tuple[int, int, Pattern]] = []
    for k, instruction in enumerate(instructions):
        kind = KINDS.get(instruction.opcode.unit)
        if kind is None:
            continue
        source = kernel.source_line(instruction.address)
        if kind == KINDS[VALU] and groups:
            first, end, before = groups[-1]
            if end == k and before.kind == kind and before.source == source:
                groups[-1] = first, k + 1, before
                continue
        pattern = Pattern(kernel.name, instruction.address, disassemble(instruction), kind, {}, source)
        groups.append((k, k + 1, pattern))
    return groups


def merged(patterns: Sequence[Pattern]) -> list[Pattern]:
    """Sum up the counts of each instruction over launches."""
    by_instruction: dict[tuple[str, int, str], Pattern] = {}
    for pattern in patterns:
        key = (pattern.kernel, pattern.address, pattern.instruction)
        before = by_instruction.get(key)
        if before is not None:
            sums = {name: n + before.counts.get(name, 0) for name, n in pattern.counts.items() if name not in _LAST}
            pattern = replace(pattern, counts={**before.counts, **pattern.counts, **sums})
        by_instruction[key] = pattern
    return list(by_instruction.values())
