"""B in compressed sparse columns (CSC), as kernels make it for a product: what ELLPACK-DIB is compared with.

Dong 2020, section 6.1.2, converts with clSPARSE's kernels, which add up flags over all K x N elements. Here counts of
columns are added up, so that B is read twice and nothing of its size is written but the non-zeros: as good as the
format allows.
"""

from dataclasses import dataclass
from typing import Any

from isa.device_memory import Allocation, DeviceMemory
from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.launching import launch
from workloads.shapes import GemmShape

COLUMNS = 4  # of a workgroup that counts or fills: one a wavefront


@dataclass(frozen=True)
class CscMatrix:
    """Values float32 and row indices uint32 [non-zeros], counts uint32 [N], first element of columns uint32 [N + 1]."""

    shape: GemmShape
    """Shape of the product."""
    values: Allocation
    """Values [non-zeros], float32."""
    rows: Allocation
    """Row indices [non-zeros], uint32."""
    counts: Allocation
    """Non-zeros of each column [N], uint32."""
    first: Allocation
    """First element of each column [N], uint32."""

    @classmethod
    def allocate(cls, shape: GemmShape, memory: DeviceMemory) -> "CscMatrix":
        """Allocate zeroed arrays for a matrix without zeros; raise DeviceMemoryError where they do not fit."""
        elements = 4 * shape.k * shape.n
        return cls(
            shape,
            memory.allocate(elements, "CSC values of B"),
            memory.allocate(elements, "CSC rows of B"),
            memory.allocate(4 * shape.n, "non-zeros a column"),
            memory.allocate(4 * (shape.n + 1), "CSC columns of B"),
        )

    def conversion(self, b_matrix: Pointer, memory: DeviceMemory) -> tuple[Launch, ...]:
        """Return the launches that count, add up and fill."""
        shape, columns = self.shape, (-(-self.shape.n // COLUMNS),)
        size = {"n": shape.n, "k": shape.k, "ldb": shape.ldb}
        counts, first = Pointer(self.counts.address), Pointer(self.first.address)
        held = {"values": Pointer(self.values.address), "rows": Pointer(self.rows.address)}
        return (
            launch("csc", "csc_count", memory, columns, {"b_matrix": b_matrix, "counts": counts, **size}),
            launch("csc", "csc_scan", memory, (1,), {"counts": counts, "first": first, "n": shape.n}),
            launch("csc", "csc_fill", memory, columns, {"b_matrix": b_matrix, "first": first, **held, **size}),
        )

    def operands(self) -> dict[str, Any]:
        """Return the arguments that the product takes in place of B."""
        held = {"values": self.values, "rows": self.rows, "first": self.first}
        return {name: Pointer(allocation.address) for name, allocation in held.items()}
