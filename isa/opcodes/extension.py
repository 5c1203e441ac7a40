"""Extensions of the instruction set: what a generation adds, renumbers and takes away, each in a file of its own."""

from typing import NamedTuple

from isa.opcodes.formats import Format
from isa.opcodes.hazards import Hazard
from isa.opcodes.opcode import Opcode


class Extension(NamedTuple):
    """Changes to the instruction set; an architecture is the base rows with some of these, in order.

    rows: instructions that are added, in place of those that have their numbers; removed: (encoding, number) of those
    that are gone; formats: of encodings that are new or that have other fields, 'sdwa' and 'dpp' too; encodings: (mask,
    bits, encoding) of first words whose encoding the base does not know; rates: VALU rate classes by the base's;
    hazards: that are added.
    """

    name: str
    rows: tuple[Opcode, ...] = ()
    removed: tuple[tuple[str, int], ...] = ()
    formats: dict[str, Format] = {}  # noqa: RUF012
    encodings: tuple[tuple[int, int, str], ...] = ()
    rates: dict[int, int] = {}  # noqa: RUF012
    hazards: tuple[Hazard, ...] = ()
