"""Matrix products: D = A B + C, whose elements lie in the registers of all lanes (AMD CDNA ISA manuals, chapter 8).

A product of M x K and K x N matrices is made of one or several independent blocks. Lane i + M (block + blocks g) holds
A[i][k] of a block, g = k / (elements of a lane), one element after another in its registers; likewise B[k][j] with j
and N. Sums in FP32 and integers: four rows of a block follow one another in registers, the next four lie in the next
lanes; sums in FP64: each of four rows lies in lanes of its own. AMD's matrix instruction calculator has the same.

No manual says how sums are made (assumed): each product is added with one rounding, k ascending, to nearest even.
Denormals are kept on MI100; on MI200 products of FP16 and BF16 read them as zero and return zero for them (MIOpen's
documentation, "MI200 MFMA behavior specifics"); MI300 keeps them. EXEC does not matter.

A product with a sparse A (SMFMAC) has two of every four columns of A: a third source says which of the four, by two
bits for each of a lane's elements. D is added to. FP8 and BF8 are MI300's: biases of 8 and 16, one zero, one NaN, no
infinity.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isa.architecture import LANES
from isa.lanes.table import FLUSH_NEAREST, KEEP_DENORMALS, Signature

_NAME = re.compile(
    r"v_(mfma|smfmac)_[fi]\d+_(\d+)x(\d+)x(\d+)_?(bf16|bf8|fp8|[fi]\d+)(?:_(bf8|fp8))?(?:_1k)?(\.flush)?"
)
ELEMENT_BITS = {"f16": 16, "bf16": 16, "i8": 8, "f32": 32, "f64": 64, "fp8": 8, "bf8": 8}
FP8_FORMATS = {"fp8": (3, 8), "bf8": (2, 16)}  # bits of the mantissa, bias
SPARSE_GROUP = 4  # columns of a sparse A, two of which are there
_SUM_ROWS = 4  # rows of a block in consecutive registers, or lanes
WHOLE_ROW = 4  # narrower products have lanes of several rows in a register


@dataclass(frozen=True)
class MatrixProduct:
    """A product of small matrices: sizes, types, and where each element lies."""

    name: str
    """Operation: the mnemonic, with '.flush' where denormals of FP16 and BF16 are flushed."""
    m: int
    """Rows of A and D."""
    n: int
    """Columns of B and D."""
    k: int
    """Columns of A, rows of B."""
    kind: str
    """Type of the elements of A: 'f32', 'f16', 'bf16', 'i8', 'f64', 'fp8', 'bf8'."""
    kind_b: str
    """Type of the elements of B."""
    elements: int
    """Elements of B, and of A unless it is sparse, in a lane."""
    flushes: bool
    """Denormals of A, B, C and D become zero."""
    sparse: bool = False
    """A has half of its columns; a third source says which, and C is D."""

    @property
    def stored(self) -> int:
        """Elements of A in a lane."""
        return self.elements // 2 if self.sparse else self.elements

    def kind_of(self, matrix: str) -> str:
        """Return the type of the elements of A or B, by 'a' or 'b'."""
        return self.kind if matrix == "a" else self.kind_b

    @property
    def blocks(self) -> int:
        """Independent products that an instruction makes side by side."""
        return LANES * self.elements // (self.m * self.k)

    @property
    def results(self) -> int:
        """Elements of D in a lane."""
        return self.m * self.n * self.blocks // LANES

    @property
    def sum_kind(self) -> str:
        """Type of the elements of C and D."""
        return {"f64": "f64", "i8": "i32"}.get(self.kind, "f32")

    @property
    def host_mode(self) -> str:
        """What the host's floating-point state must be (`isa.lanes.table`)."""
        return FLUSH_NEAREST if self.flushes else KEEP_DENORMALS

    guarded = True
    mode_with_destination = False

    @cached_property
    def signature(self) -> Signature:
        """Sources and destination, in registers."""
        left, right = (max(1, n * ELEMENT_BITS[self.kind] // 32) for n in (self.stored, self.elements))
        sums = f"u32x{self.results * (2 if self.sum_kind == 'f64' else 1)}"
        return Signature((f"u32x{left}", f"u32x{right}", "u32" if self.sparse else sums), (sums,))

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and block of each element of D: int64 [results, lanes] each."""
        register, lane = np.mgrid[: self.results, :LANES]
        column = lane % self.n
        above = lane // self.n  # which of the lanes that have this column
        if self.sum_kind == "f64":
            block = above % self.blocks
            return register * _SUM_ROWS + above // self.blocks, column, block
        if self.n == WHOLE_ROW:
            return register, column, above
        of_block = self.m * self.n // LANES
        block, register = register // of_block, register % of_block
        row = register // _SUM_ROWS * (_SUM_ROWS * LANES // self.n) + _SUM_ROWS * above + register % _SUM_ROWS
        return row, column, block

    def sources(self, k: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the element of a lane that holds column `k` of A and row `k` of B, and the lanes that hold them.

        Of a sparse A, `k` counts the columns that are there, and which row of B it is is a lane's to say. The lanes are
        int64 [results, lanes], for each element of D: of A, of B.
        """
        row, column, block = self.places
        behind, element = divmod(k, self.stored)
        group = block + self.blocks * behind
        return element, row + self.m * group, column + self.n * group


def matrix_product(name: str) -> MatrixProduct:
    """Return the product that an operation computes; ValueError for another operation."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is no matrix product")
    m, n, k = (int(part) for part in match.groups()[1:4])
    kind, sparse = match[5], match[1] == "smfmac"
    least = 32 // ELEMENT_BITS[kind] if ELEMENT_BITS[kind] < 32 else 1
    elements = 4 if (kind == "f16" and not sparse) or "_1k" in name else max(least, m * k // LANES)
    return MatrixProduct(
        name=name,
        m=m,
        n=n,
        k=k,
        kind=kind,
        kind_b=match[6] or kind,
        elements=elements,
        flushes=bool(match[7]),
        sparse=sparse,
    )
