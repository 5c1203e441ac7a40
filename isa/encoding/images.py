"""Registers of image instructions: what their names, masks and bits say of data and address.

An address lies in vector registers one after another: offsets of texels, a bias, a value to compare with, derivatives,
coordinates, a level or its lower bound (GCN3 ISA manual, section 8.2.4). How many coordinates there are is the
resource's to say, and known when the instruction runs.
"""

from functools import cache
from typing import NamedTuple

from isa.opcodes import Architecture
from isa.opcodes.opcode import Opcode

MOST_COORDINATES = 3


class ImageForm(NamedTuple):
    """What an image instruction does: its kind and the parts of its address that its name lists.

    kind: 'load', 'store', 'atomic', 'sample', 'gather4', 'get_resinfo', 'get_lod'; what: the rest of an atomic's name;
    derivatives: whether they come with the coordinates; level: whether a level, or its lower bound, follows these.
    """

    kind: str
    what: str = ""
    offsets: bool = False
    bias: bool = False
    compares: bool = False
    derivatives: bool = False
    level: bool = False
    packed: bool = False

    @property
    def allows_d16(self) -> bool:
        """Whether the data can be halves: those of texels that are converted."""
        return self.kind in ("load", "store", "sample", "gather4") and not self.packed


@cache
def image_form(opcode: Opcode) -> ImageForm:
    """Read an image instruction's name."""
    words = opcode.mnemonic.split("_")[1:]
    if words[0] == "get":
        return ImageForm(f"get_{words[1]}")
    if words[0] == "atomic":
        return ImageForm("atomic", words[1])
    marks = set(words[1:])
    return ImageForm(
        words[0],
        offsets="o" in marks,
        bias="b" in marks,
        compares="c" in marks,
        derivatives=bool(marks & {"d", "cd"}),
        level=bool(marks & {"l", "cl", "mip"}),
        packed="pck" in marks,
    )


def image_address_dwords(opcode: Opcode, fields: dict[str, int]) -> tuple[int, int]:
    """Return the fewest and the most vector registers that an image instruction's address can have."""
    form, layers = image_form(opcode), fields["da"]
    if form.kind == "get_resinfo":
        return 1, 1
    before = form.offsets + form.bias + form.compares
    least = before + (2 if form.derivatives else 0) + 1 + layers + form.level
    most = before + (2 * MOST_COORDINATES if form.derivatives else 0) + MOST_COORDINATES + form.level
    return least, max(least, most)


def image_data_dwords(opcode: Opcode, fields: dict[str, int], architecture: Architecture) -> int:
    """Return the registers that an image instruction's data take, by its dmask, TFE and D16 bits."""
    form, mask = image_form(opcode), fields["dmask"]
    if form.kind == "atomic":
        if form.what == "cmpswap":
            return 4 if mask == 0xF else 2
        return 2 if mask == 3 else 1
    count = 4 if form.kind == "gather4" else max(1, mask.bit_count())
    if fields["d16"] and architecture.packed_d16:
        count = (count + 1) // 2
    return count + fields["tfe"]
