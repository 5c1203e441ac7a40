"""A product by `sgemm_column_lanes`, this project's own kernel with the tile, the workgroup and the order of stores of
one that was measured but cannot be shipped."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isa.kernarg import Pointer, pack
from isa.launch import Launch
from workloads.vendor.tensile import TensileError, TensileProblem

if TYPE_CHECKING:
    from isa.device_memory import DeviceMemory
    from isa.object.code_object import Kernel

NAME = "sgemm_column_lanes"
TILE = 128  # rows and columns of a workgroup's tile of C
LANES = 16  # work-items along each
DEPTH = 16  # K is a multiple


@dataclass(frozen=True)
class ColumnLanesKernel:
    """The kernel as a measured table names it, with what the kernels of rocBLAS say in their names."""

    name: str = NAME
    """Name of the kernel."""
    transposes: str = "NN"
    """Transposes of A and B, such as 'TN'."""
    tile: tuple[int, int] = (TILE, TILE)
    """Rows and columns of a tile."""
    split_k: int = 1
    """Parts of the sum."""
    element_bytes: int = 4
    """Bytes of an element."""

    def workgroups(self, problem: TensileProblem) -> tuple[int, int, int]:
        """Return the numbers of workgroups, which are those of tiles of C, in M, N and the batch."""
        return -(-problem.m // TILE), -(-problem.n // TILE), problem.batch

    def launches(
        self, problem: TensileProblem, kernels: "Mapping[str, Kernel]", memory: "DeviceMemory"
    ) -> tuple[Launch, ...]:
        """Allocate matrices of zeros and return the launch; raise TensileError for a product that it does not do."""
        asked = (problem.transposes, problem.alpha, problem.beta, problem.batch)
        if asked != ("NN", 1.0, 0.0, 1) or problem.k % DEPTH:
            raise TensileError(
                f"kernel '{NAME}': one C = A B with K a multiple of {DEPTH}, neither transposed, is all it does"
            )
        m, n, k = problem.m, problem.n, problem.k
        a, b, c = (Pointer(memory.allocate(4 * size, "matrix").address) for size in (m * k, k * n, m * n))
        packed = pack(kernels[NAME], [a, b, c, m, n, k])
        rows, columns, _ = self.workgroups(problem)
        return (Launch(kernels[NAME], memory, packed.block, (LANES * columns, LANES * rows, 1), (LANES, LANES, 1)),)
