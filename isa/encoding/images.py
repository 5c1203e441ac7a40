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
    """Form of an image instruction: its kind and the parts of its address, as its name states."""

    kind: str
    """'load', 'store', 'atomic', 'sample', 'gather4', 'gather4h', 'get_resinfo' or 'get_lod'."""
    what: str = ""
    """Operation of an atomic; empty for others."""
    offsets: bool = False
    """Texel offsets precede the coordinates."""
    bias: bool = False
    """A level bias precedes the coordinates."""
    compares: bool = False
    """A reference value for comparison precedes the coordinates."""
    derivatives: bool = False
    """Derivatives precede the coordinates."""
    level: bool = False
    """A level, or its lower bound, follows the coordinates."""
    packed: bool = False
    """Texels are transferred without conversion."""

    @property
    def allows_d16(self) -> bool:
        """Whether the data can be halves: those of texels that are converted."""
        return self.kind in ("load", "store", "sample", "gather4", "gather4h") and not self.packed


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
    count = 4 if form.kind.startswith("gather4") else max(1, mask.bit_count())
    if fields["d16"] and architecture.packed_d16:
        count = (count + 1) // 2
    return count + fields.get("tfe", 0)
