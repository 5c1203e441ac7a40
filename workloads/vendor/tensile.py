"""Matrix products by the assembly kernels of rocBLAS, which Tensile writes and names.

A kernel's name says how it splits the work (Tensile's wiki, "Kernel Parameters"): MT tile of a workgroup in M, N and
the K of one turn; WG work-items of a tile in M and N, and parts that K is split into within the workgroup; GSU parts of
K among workgroups, which add their results by atomics to what a kernel of its own has prepared before (beta C); WGM
rows of tiles that neighbouring workgroups share. Arguments are those that Tensile's host code passes
(ContractionSolution.cpp), with StaggerU off: the logic files of these kernels are older than it.

Matrices are column-major: C [M, N] = alpha op(A) [M, K] op(B) [K, N] + beta C.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.errors import UserError
from isa.kernarg import Kernarg, Pointer, pack
from isa.launch import Launch

if TYPE_CHECKING:
    from isa.device_memory import DeviceMemory
    from isa.object.code_object import Kernel

BETA_KERNEL = "Cijk_S"  # D = beta C, before workgroups add their parts
BETA_WORK_ITEMS = 256  # of a workgroup, an element each


class TensileError(UserError):
    """A kernel's name, or a problem, that this module does not know how to launch."""


@dataclass(frozen=True)
class SgemmProblem:
    """Sizes of C = alpha op(A) op(B) + beta C. transposes: of A and B, 'N' or 'T' each."""

    transposes: str
    m: int
    n: int
    k: int
    alpha: float = 1.0
    beta: float = 0.0

    @property
    def flop(self) -> int:
        """The number of multiplications and additions by definition."""
        return 2 * self.m * self.n * self.k

    @property
    def lda(self) -> int:
        """Elements from one column of A as it is stored to the next."""
        return self.m if self.transposes[0] == "N" else self.k

    @property
    def ldb(self) -> int:
        """Elements from one column of B as it is stored to the next."""
        return self.k if self.transposes[1] == "N" else self.n


_NAME = re.compile(
    r"Cijk_A(?P<a>ilk|lik)_B(?P<b>ljk|jlk)_SB_MT(?P<mt0>\d+)x(?P<mt1>\d+)x\d+_.*_GSU(?P<gsu>\d+)_"
    r".*_WG(?P<wg0>\d+)_(?P<wg1>\d+)_(?P<wg2>\d+)_WGM(?P<wgm>\d+)$"
)


@dataclass(frozen=True)
class TensileKernel:
    """The work split that a kernel's name describes. tile: rows and columns of C of a workgroup."""

    name: str
    transposes: str
    tile: tuple[int, int]
    work_items: int
    split_k: int
    group_columns: int

    @classmethod
    def named(cls, name: str) -> "TensileKernel":
        """Read a name; raise TensileError for one that is not a single-precision product's."""
        found = _NAME.match(name)
        if not found:
            raise TensileError(
                f"kernel '{name}': not the name of a Tensile SGEMM (Cijk_A…_B…_SB_MT…x…x…_…_GSU…_…_WG…_…_…_WGM…)"
            )
        part = {key: int(value) for key, value in found.groupdict().items() if value.isdigit()}
        return cls(
            name,
            ("N" if found["a"] == "ilk" else "T") + ("N" if found["b"] == "ljk" else "T"),
            (part["mt0"], part["mt1"]),
            part["wg0"] * part["wg1"] * part["wg2"],
            part["gsu"],
            part["wgm"],
        )

    def workgroups(self, problem: SgemmProblem) -> tuple[int, int]:
        """Return the numbers of workgroups, which are those of tiles of C, in M and N."""
        return -(-problem.m // self.tile[0]), -(-problem.n // self.tile[1])

    def launches(
        self, problem: SgemmProblem, kernels: "Mapping[str, Kernel]", memory: "DeviceMemory"
    ) -> tuple[Launch, ...]:
        """Allocate matrices of zeros and return the launches in order; raise TensileError or DeviceMemoryError."""
        return TensileGemm.allocate(problem, self, kernels, memory).launches


@dataclass(frozen=True)
class TensileGemm:
    """A problem whose operands lie in device memory, ready to be launched.

    a, b, c: device addresses; kernels: by name, of rocBLAS's code objects. D, the result, takes C's place.
    """

    problem: SgemmProblem
    kernel: TensileKernel
    kernels: "Mapping[str, Kernel]"
    memory: "DeviceMemory"
    a: int
    b: int
    c: int

    @classmethod
    def allocate(
        cls, problem: SgemmProblem, kernel: TensileKernel, kernels: "Mapping[str, Kernel]", memory: "DeviceMemory"
    ) -> "TensileGemm":
        """Allocate matrices of zeros for a problem; raise TensileError or DeviceMemoryError."""
        if kernel.transposes != problem.transposes:
            raise TensileError(f"kernel '{kernel.name}': multiplies {kernel.transposes}, not {problem.transposes}")
        sizes = {"A": problem.m * problem.k, "B": problem.k * problem.n, "C": problem.m * problem.n}
        addresses = [memory.allocate(4 * size, name).address for name, size in sizes.items()]
        return cls(problem, kernel, kernels, memory, *addresses)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches in order; where K is split among workgroups, that of beta C comes first."""
        multiply = self._multiply()
        return (self._beta(), multiply) if self.kernel.split_k > 1 else (multiply,)

    def _function(self, name: str) -> "Kernel":
        if name not in self.kernels:
            raise TensileError(f"kernel '{name}' is in none of the code objects given")
        return self.kernels[name]

    def _beta(self) -> Launch:
        p, function = self.problem, self._function(BETA_KERNEL)
        total = p.m * p.n
        strides = [p.m, total, p.m, total]  # D's and C's
        values = [Pointer(self.c), Pointer(self.c), 0, 0, *strides, p.m, p.n, 1, np.float32(p.beta)]
        return self._launch(function, pack(function, values), (total, 1), BETA_WORK_ITEMS)

    def _multiply(self) -> Launch:
        p, kernel, function = self.problem, self.kernel, self._function(self.kernel.name)
        tiles = kernel.workgroups(p)
        rest = tiles[1] % kernel.group_columns or kernel.group_columns
        c = Pointer(self.c)
        known: dict[str, Any] = {
            **dict(sizeC=p.m * p.n, sizeA=p.m * p.k, sizeB=p.k * p.n),
            **dict(D=c, C=c, A=Pointer(self.a), B=Pointer(self.b)),
            **dict(alpha=np.float32(p.alpha), beta=np.float32(1.0 if kernel.split_k > 1 else p.beta)),
            **dict(strideD0=p.m, strideC0=p.m, strideA0=p.lda, strideB0=p.ldb),
            **dict(strideD1=p.m * p.n, strideC1=p.m * p.n, strideA1=p.m * p.k, strideB1=p.k * p.n),
            **dict(SizesFree0=p.m, SizesFree1=p.n, SizesFree2=1, SizesSum0=p.k),
            **dict(NumWorkGroups0=tiles[0], NumWorkGroups1=tiles[1], NumFullBlocks=tiles[1] // kernel.group_columns),
            **dict(WgmRemainder1=rest, MagicNumberWgmRemainder1=(1 << 31) // rest + 1),
            # one matrix, from its first element, all workgroups beginning at K = 0
            **dict.fromkeys(("OffsetD", "OffsetC", "OffsetA", "OffsetB", "OrigStaggerUIter", "padding"), 0),
        }
        values = {argument.name: known[argument.name] for argument in function.arguments if argument.name in known}
        total = (tiles[0] * kernel.work_items, tiles[1] * kernel.split_k)
        return self._launch(function, pack(function, values), total, kernel.work_items)

    def _launch(self, function: "Kernel", packed: Kernarg, total: tuple[int, int], local: int) -> Launch:
        size = (-(-total[0] // local) * local, total[1], 1)
        return Launch(function, self.memory, packed.block, size, (local, 1, 1), packed.dynamic_lds_bytes)
