"""Instructions of GPUs later than gfx906: known by name, so that a message says which GPU has them.

later.txt has them by encoding and number, where gfx906 has no instruction; LLVM's disassembler wrote it
(`python -m tests.support.later_instructions`). What a later GPU has under a number of gfx906's is not in it, nor what
RDNA has in most encodings, as its first word is another instruction of gfx906.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from isa.opcodes.architecture import ARCHITECTURES

LATER_FILE = Path(__file__).with_name("later.txt")
LAST = ARCHITECTURES["gfx906"]  # of the line before CDNA and RDNA

# GPUs in the order in which they came, each line of them for itself; a name for each instruction set of theirs
CDNA = {"gfx908": "CDNA", "gfx90a": "CDNA 2", "gfx942": "CDNA 3"}
RDNA = {"gfx1010": "RDNA", "gfx1030": "RDNA 2", "gfx1100": "RDNA 3"}


class FreeEncoding(NamedTuple):
    """First words that are no instruction of any GPU simulated: word & mask == bits; the opcode's lowest bit, width."""

    name: str
    """Name of the encoding."""
    mask: int
    """Bits that decide."""
    bits: int
    """Values of these bits."""
    low: int
    """Lowest bit of the opcode."""
    width: int
    """Bits of the opcode."""

    def number(self, word: int) -> int:
        """Return the opcode's number."""
        return word >> self.low & (1 << self.width) - 1


FREE_ENCODINGS = (
    FreeEncoding("vop3p10", 0xFF800000, 0xCC000000, 16, 7),
    FreeEncoding("smem10", 0xFC000000, 0xF4000000, 18, 8),
    FreeEncoding("vopd", 0xFC000000, 0xC8000000, 22, 4),  # two operations in one; the number of the first
)


@cache
def _rows() -> dict[tuple[str, int], tuple[str, tuple[str, ...]]]:
    rows: dict[tuple[str, int], tuple[str, tuple[str, ...]]] = {}
    encoding, gpus = "", tuple[str, ...]()
    for line in LATER_FILE.read_text("utf-8").splitlines():
        if line[0] != " ":
            encoding, _, names = line.partition(": ")
            gpus = tuple(names.split())
            continue
        for item in line.rstrip(",").split(","):
            number, mnemonic = item.split()
            rows[encoding, int(number, 16)] = (mnemonic, gpus)
    return rows


def later_instruction(word: int) -> tuple[str, tuple[str, ...]] | None:
    """Return mnemonic and GPUs, the first one first, of a first word that gfx906 does not know, or None."""
    encoding = LAST.encoding_of(word)
    if encoding is not None:
        _, low, width = LAST.formats[encoding].fields[0]
        return _rows().get((encoding, word >> low & (1 << width) - 1))
    free = next((one for one in FREE_ENCODINGS if word & one.mask == one.bits), None)
    return _rows().get((free.name, free.number(word))) if free else None


def describe_support(mnemonic: str, gpus: tuple[str, ...], architecture: str) -> str:
    """Say which GPUs have an instruction: 'NAME: gfx908 (CDNA) and later; ...'.

    Args:
        mnemonic: the instruction.
        gpus: those that have it, in the order in which they came, at least one.
        architecture: a GPU that lacks it.

    Returns:
        The text.
    """
    simulated = {name: one.generation for name, one in ARCHITECTURES.items() if name not in CDNA}
    order = next(list(family) for family in (simulated, CDNA, RDNA) if gpus[0] in family)
    names = simulated | CDNA | RDNA
    whole = len(gpus) > 1 or gpus[0] == order[-1]
    if whole and set(order[order.index(gpus[0]) :]) <= set(gpus):
        where = f"{gpus[0]} ({names[gpus[0]]}) and later"
    else:
        *others, last = (f"{gpu} ({names[gpu]})" for gpu in gpus)
        where = f"{', '.join(others)} and {last}" if others else last
    return f"{mnemonic}: {where}; this GPU is {architecture}"
