"""Sparse regions: the matrices whose sparse loads the compaction engine serves."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LINE_ELEMENTS = 16  # FP32 elements of a sparse line, bundles of a compacted one
MAX_ROWS = 65536  # a bundle holds a 16-bit row index


class PackedMatrix(NamedTuple):
    """A sparse region as sparse loads see it."""

    image: np.ndarray
    """uint32: words of compacted lines at the offsets of the dense elements, flat."""
    lines: np.ndarray
    """int64 [columns]: compacted lines of each column, at least 1."""
    numbers: np.ndarray | None = None
    """uint32: number of the sparse line that a compacted line is, at the dense lines' offsets; None: it has none."""


@dataclass(frozen=True)
class SparseRegion:
    """A dense FP32 column-major matrix registered with the engine at launch (Dong 2020, section 6.4.1)."""

    address: int
    """Byte address of element (0, 0), a multiple of 64."""
    rows: int
    """Number of rows (K)."""
    columns: int
    """Number of columns (N)."""
    leading_dimension: int
    """Elements from one column to the next: a multiple of 16, at least K."""
    format: str = "ellpack_dib"
    """Name of what its compacted lines have (spartan.formats)."""
    list_address: int = 0
    """Byte address of the list of lines that go on, a bit each, for a format with a list; the columns' own."""

    def __post_init__(self) -> None:
        if self.address % 64:
            raise ValueError(f"sparse region at {self.address:#x}: address must be a multiple of 64")
        if not 1 <= self.rows <= MAX_ROWS:
            raise ValueError(f"sparse region of {self.rows} rows: allowed are 1 to {MAX_ROWS} (16-bit row index)")
        if self.leading_dimension < self.rows or self.leading_dimension % 16:
            raise ValueError(
                f"sparse region: leading dimension {self.leading_dimension} must be a multiple of 16 "
                f"and at least {self.rows}"
            )

    @property
    def line_count(self) -> int:
        """Sparse lines of a column."""
        return -(-self.rows // LINE_ELEMENTS)

    @property
    def column_bytes(self) -> int:
        """Bytes between the starts of two neighbouring columns."""
        return 4 * self.leading_dimension

    @property
    def end(self) -> int:
        """First byte address after the region."""
        return self.address + self.column_bytes * self.columns
