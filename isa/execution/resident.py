"""Where resident wavefronts stand: which instruction comes next, its source line, and what they wait for."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusim.base.formats import COUNT
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.object.code_object import Kernel
from isa.object.line_table import SourceLine

AT_BARRIER = "waiting at the barrier for the others of its workgroup"
AT_GRID_BARRIER = "waiting at the grid's barrier for other workgroups"
LISTED_GROUPS = 8  # what a person reads first; the rest is summed up


@dataclass(frozen=True)
class WavefrontGroup:
    """Wavefronts at the same instruction in the same state."""

    count: int
    """Number of wavefronts."""
    address: int
    """Address of the instruction, as linked."""
    instruction: str
    """Disassembled instruction."""
    state: str
    """Reason for waiting, or that they do not wait."""
    source: SourceLine | None = None
    """Source line of the instruction; None: the code object has no line table."""

    def __str__(self) -> str:
        """Write the group as '412 wavefronts at 0x40 s_waitcnt vmcnt(0) [vadd.cl:12]: waiting for vector memory'."""
        return (
            f"{_wavefronts(self.count)} at {self.address:#x} {self.instruction}{format_source(self.source)}:"
            f" {self.state}"
        )


def format_source(source: SourceLine | None) -> str:
    """Write a source line as ' [vadd.cl:12]', or '' where none is known."""
    return "" if source is None else f" [{source}]"


def grouped(
    kernel: Kernel, instructions: Sequence[Instruction], standing: Iterable[tuple[int, str]]
) -> list[WavefrontGroup]:
    """Group wavefronts by instruction and state.

    Args:
        kernel: the kernel.
        instructions: its instructions.
        standing: of each wavefront the index of its next instruction, and its state.

    Returns:
        Groups, the largest first.
    """
    groups = []
    for (index, state), count in Counter(standing).items():
        instruction = instructions[index]
        source = kernel.source_line(instruction.address)
        groups.append(WavefrontGroup(count, instruction.address, disassemble(instruction), state, source))
    return sorted(groups, key=lambda g: (-g.count, g.address, g.state))


def group_lines(groups: Sequence[WavefrontGroup]) -> list[str]:
    """Write a line for each of the largest groups, and one for all others."""
    lines = [str(group) for group in groups[:LISTED_GROUPS]]
    others = groups[LISTED_GROUPS:]
    if others:
        places = len({group.address for group in others})
        lines.append(f"{_wavefronts(sum(g.count for g in others))} more at {places} instruction{'s' * (places > 1)}")
    return lines


def note_resident(error: BaseException, groups: Sequence[WavefrontGroup]) -> None:
    """Add to an error where the wavefronts stand; Python prints it below a traceback.

    Args:
        error: the error.
        groups: groups of wavefronts.
    """
    if groups:
        error.add_note("\n".join(["where the wavefronts stand:", *(f"  {line}" for line in group_lines(groups))]))


def _wavefronts(count: int) -> str:
    return f"{COUNT(count)} wavefront{'s' * (count != 1)}"
