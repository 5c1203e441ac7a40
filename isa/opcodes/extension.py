"""Extensions of the instruction set: what a generation adds, renumbers and takes away, each in a file of its own."""

from typing import NamedTuple

from isa.opcodes.formats import Format
from isa.opcodes.hazards import Hazard
from isa.opcodes.opcode import Opcode


class Extension(NamedTuple):
    """Changes to the instruction set; an architecture is the base table with some of these, in order."""

    name: str
    """Name."""
    rows: tuple[Opcode, ...] = ()
    """Added instructions, which replace those with the same numbers."""
    removed: tuple[tuple[str, int], ...] = ()
    """(encoding, number) of removed instructions."""
    formats: dict[str, Format] = {}  # noqa: RUF012
    """New or changed formats by encoding, including 'sdwa' and 'dpp'."""
    encodings: tuple[tuple[int, int, str], ...] = ()
    """(mask, bits, encoding) of first words whose encoding is new."""
    rates: dict[int, int] = {}  # noqa: RUF012
    """New VALU rate class for each changed class of the base."""
    hazards: tuple[Hazard, ...] = ()
    """Added hazards."""
    removed_hazards: tuple[str, ...] = ()
    """Names of the hazards that are gone."""
