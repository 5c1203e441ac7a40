"""Matrix products by the kernels of rocBLAS, which Tensile writes and names.

A kernel's name says what it multiplies and how it splits the work (Tensile's wiki, "Kernel Parameters"): SB, DB,
HHS_BH, BBS_BH, I8II_BH what A, B, C and the sums are made of; GB after it, that matrices are given as arrays of
pointers, one for each of a batch; MT tile of a workgroup in M, N and the K of one turn; WG work-items of a tile in M
and N, and parts that K is split into within the workgroup; PK workgroups a compute unit, which take one tile after the
other; GSU parts of K among workgroups, which add their results by atomics to what a kernel of its own has prepared
before (beta C; GSUASB), or write them to a buffer, from which a kernel adds them up after them (GSUAMB); SU, SUS
how far apart in K neighbouring workgroups may begin; WGM rows of tiles
that neighbouring workgroups share. Arguments are those that Tensile's host code passes (ContractionSolution.cpp):
assembly kernels name theirs, HIP ones (ISA000) take the same, but for a few, in the order of `HIP_ARGUMENTS`.

Matrices are column-major: C [M, N] = alpha op(A) [M, K] op(B) [K, N] + beta C, of each of a batch.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpusim.base.errors import UserError
from isa.kernarg import Kernarg, Pointer, pack
from isa.launch import Launch

if TYPE_CHECKING:
    from isa.device_memory import DeviceMemory
    from isa.object.code_object import Kernel

BETA_WORK_ITEMS = 256  # of a workgroup, an element each
HIP_ARGUMENTS = (
    *"DCAB",
    *(f"Offset{matrix}" for matrix in "DCAB"),
    "alpha",
    "beta",
    *(f"stride{matrix}{axis}" for matrix in "DCAB" for axis in "01"),
    *(f"SizesFree{axis}" for axis in "012"),
    "SizesSum0",
    "OrigStaggerUIter",
    "NumWorkGroups0",
    "NumWorkGroups1",
)


class Precision(NamedTuple):
    """Element types of a product."""

    said: str
    """Name for messages."""
    element_bytes: int
    """Size of an element of A and B in bytes."""
    result_bytes: int
    """Size of an element of C in bytes."""
    scalar: type[np.generic]
    """Type of alpha and beta."""
    beta_kernel: str | None
    """Kernel that computes D = beta C before workgroups add their parts; None: they cannot."""
    sum_kernel: str | None
    """Kernel that computes D = alpha (sum of parts) + beta C of parts in a buffer; None: there is none."""


PRECISIONS = {
    "SB": Precision("FP32", 4, 4, np.float32, "Cijk_S", "Cijk_S_PostGSU"),
    "DB": Precision("FP64", 8, 8, np.float64, "Cijk_D", None),
    "HHS_BH": Precision("FP16 with sums in FP32", 2, 2, np.float32, None, "Cijk_H_PostGSU"),
    "BBS_BH": Precision("BF16 with sums in FP32", 2, 2, np.float32, None, "Cijk_B_PostGSU"),
    "I8II_BH": Precision("8-bit integers with sums in 32 bits", 1, 4, np.int32, None, None),
}
PART_BYTES = 4  # of an element of a part in a buffer (GSUAMB): parts are in FP32


class TensileError(UserError):
    """A kernel's name, or a problem, that this module does not know how to launch."""


@dataclass(frozen=True)
class TensileProblem:
    """C = alpha op(A) op(B) + beta C."""

    transposes: str
    """Transposition of A and B: 'N' or 'T' each."""
    m: int
    """Rows of C."""
    n: int
    """Columns of C."""
    k: int
    """Length of the sum."""
    alpha: float = 1.0
    """Factor of the product."""
    beta: float = 0.0
    """Factor of C."""
    batch: int = 1
    """Number of products in a call."""
    staggered: bool = False
    """Workgroups start at different positions along K, as far as the kernel's name allows."""
    compute_units: int = 64
    """Compute units of the GPU, which decide the number of workgroups of persistent kernels."""
    one_b: bool = False
    """All products of the batch share one B."""

    @property
    def lda(self) -> int:
        """Elements from one column of A as it is stored to the next."""
        return self.m if self.transposes[0] == "N" else self.k

    @property
    def strides(self) -> tuple[int, int, int]:
        """Elements from A, B and C of one product of the batch to those of the next."""
        return self.m * self.k, 0 if self.one_b else self.k * self.n, self.m * self.n

    @property
    def ldb(self) -> int:
        """Elements from one column of B as it is stored to the next."""
        return self.k if self.transposes[1] == "N" else self.n


_NAME = re.compile(
    rf"Cijk_A(?P<a>ilk|lik)_B(?P<b>ljk|jlk)_(?P<types>{'|'.join(PRECISIONS)})(?P<pointers>_GB)?_"
    r"MT(?P<mt0>\d+)x(?P<mt1>\d+)x(?P<mtk>\d+)_.*_GSU(?P<gsu>\d+)_"
    r".*_WG(?P<wg0>\d+)_(?P<wg1>\d+)_(?P<wg2>\d+)_WGM(?P<wgm>\d+)$"
)
# a kernel that was written by hand, whose name does not say its work-items: four wavefronts
_CUSTOM = re.compile(
    r"(?P<kind>D)GEMM_\w+?_(?P<transposes>[NT]{2})_MT(?P<mt0>\d+)x(?P<mt1>\d+)x(?P<mtk>\d+)_.*_WGM(?P<wgm>\d+)$"
)
_CUSTOM_WORK_ITEMS = 256
_PERSISTENT = re.compile(r"_PK(\d+)_")
_STAGGER = re.compile(r"_SU(?P<steps>\d+)_(?:.*_)?SUS(?P<bytes>\d+)_")  # 0 where a name has none


def magic_division(divisor: int) -> tuple[int, int]:
    """Return the number and the shift by which Tensile's kernels divide n < 2**31: the upper half of n x number, n
    added to it where the shift has bit 31, is shifted right (Warren, Hacker's Delight, chapter 10)."""
    bits = divisor.bit_length() - 1
    if divisor == 1:
        return 0, 1 << 31
    if divisor == 1 << bits:
        return 1 << 31, bits - 1
    return (1 << (32 + bits)) // divisor + 1, bits


def takes_pointers(name: str) -> bool:
    """Tell whether a kernel of this name takes matrices by arrays of pointers, for general batches."""
    found = _NAME.match(name)
    return bool(found and found["pointers"])


def is_compiled(name: str) -> bool:
    """Tell whether a kernel of this name was written in HIP: its architecture is none (ISA000)."""
    return "_ISA000_" in name


def element_bytes_of(name: str) -> int:
    """Return the bytes of an element of the matrices that a kernel of this name multiplies; 4 where it does not say."""
    found = _NAME.match(name)
    if found:
        return PRECISIONS[found["types"]].element_bytes
    return PRECISIONS["DB"].element_bytes if _CUSTOM.match(name) else 4


@dataclass(frozen=True)
class TensileKernel:
    """Parameters in a kernel's name."""

    name: str
    """Name."""
    precision: Precision
    """Element types."""
    transposes: str
    """Transposition of A and B: 'N' or 'T' each."""
    tile: tuple[int, int]
    """Rows and columns of C that a workgroup computes."""
    turn: int
    """Length along K of one turn."""
    work_items: int
    """Work-items of a workgroup."""
    split_k: int
    """Number of parts of the sum over k."""
    gathers_parts: bool
    """Workgroups write their parts to a buffer, and a kernel after them adds these up (GSUAMB)."""
    group_columns: int
    """Tile rows that neighbouring workgroups share (WGM)."""
    pointers: bool = False
    """Arrays of pointers give the matrices."""
    stagger: tuple[int, int] = (0, 0)
    """Largest number of steps between the starts of workgroups, and the bytes of a step."""
    persistent: int = 0
    """Workgroups of a compute unit that take successive tiles; 0: one workgroup for each tile."""

    @classmethod
    def named(cls, name: str) -> "TensileKernel":
        """Read a name; raise TensileError for one that is not a product's, or of a kind that is not launched here."""
        match = _NAME.match(name)
        if not match and (custom := _CUSTOM.match(name)):
            stagger = _STAGGER.search(name)
            return cls(
                name=name,
                precision=PRECISIONS[f"{custom['kind']}B"],
                transposes=custom["transposes"],
                tile=(int(custom["mt0"]), int(custom["mt1"])),
                turn=int(custom["mtk"]),
                work_items=_CUSTOM_WORK_ITEMS,
                split_k=1,
                gathers_parts=False,
                group_columns=int(custom["wgm"]),
                stagger=(int(stagger["steps"]), int(stagger["bytes"])) if stagger else (0, 0),
            )
        if not match:
            types = ", ".join(f"{key} ({precision.said})" for key, precision in PRECISIONS.items())
            raise TensileError(
                f"kernel '{name}': not the name of a Tensile GEMM (Cijk_A…_B…_TYPES_MT…x…x…_…_GSU…_…_WG…_…_…_WGM…), "
                f"TYPES one of {types}"
            )
        part = {key: int(value) for key, value in match.groupdict().items() if value and value.isdigit()}
        precision, pointers = PRECISIONS[match["types"]], bool(match["pointers"])
        gathers = "_GSUAMB_" in name and part["gsu"] > 1
        more = precision.sum_kernel if gathers else precision.beta_kernel
        if part["gsu"] > 1 and (pointers or more is None):
            raise TensileError(
                f"kernel '{name}': K is split among workgroups, of a batch of pointers (GB) or of {precision.said}: "
                "launched are GSUASB of FP32 and FP64 and GSUAMB of FP32, FP16 and BF16"
            )
        stagger, persistent = _STAGGER.search(name), _PERSISTENT.search(name)
        return cls(
            name=name,
            precision=precision,
            transposes=("N" if match["a"] == "ilk" else "T") + ("N" if match["b"] == "ljk" else "T"),
            tile=(part["mt0"], part["mt1"]),
            turn=part["mtk"],
            work_items=part["wg0"] * part["wg1"] * part["wg2"],
            split_k=part["gsu"],
            gathers_parts=gathers,
            group_columns=part["wgm"],
            pointers=pointers,
            stagger=(int(stagger["steps"]), int(stagger["bytes"])) if stagger else (0, 0),
            persistent=int(persistent[1]) if persistent else 0,
        )

    @property
    def element_bytes(self) -> int:
        """Bytes of an element of A and B."""
        return self.precision.element_bytes

    def workgroups(self, problem: TensileProblem) -> tuple[int, int, int]:
        """Return the numbers of workgroups, which are those of tiles of C, in M, N and the batch."""
        return -(-problem.m // self.tile[0]), -(-problem.n // self.tile[1]), problem.batch

    def overlaps(self, problem: TensileProblem) -> bool:
        """Tell whether tiles reach beyond the matrices."""
        return bool(problem.m % self.tile[0] or problem.n % self.tile[1] or problem.k % self.turn)

    def stagger_mask(self, problem: TensileProblem) -> int:
        """Return what Tensile's host passes as OrigStaggerUIter: steps to begin apart - 1, a power of two - 1, fewer
        where K has too few turns (ContractionSolution::staggerUIter)."""
        steps, step_bytes = self.stagger
        if not problem.staggered or not steps:
            return 0
        turns = problem.k // self.turn // self.split_k
        step_turns = 1 << max(0, math.ceil(math.log2(step_bytes / (self.turn * self.element_bytes))))
        while steps > 1 and turns < steps * step_turns:
            steps //= 2
        return steps - 1

    def launches(
        self, problem: TensileProblem, kernels: "Mapping[str, Kernel]", memory: "DeviceMemory"
    ) -> tuple[Launch, ...]:
        """Allocate matrices of zeros and return the launches in order; raise TensileError or DeviceMemoryError."""
        return TensileGemm.allocate(problem, self, kernels, memory).launches


@dataclass(frozen=True)
class TensileGemm:
    """A problem with operands in device memory, ready to be launched.

    The result D uses the memory of C.
    """

    problem: TensileProblem
    """Problem."""
    kernel: TensileKernel
    """Kernel."""
    kernels: "Mapping[str, Kernel]"
    """Kernels of rocBLAS's code objects by name."""
    memory: "DeviceMemory"
    """Device memory."""
    a: int
    """Device address of A, or of an array of pointers where the kernel takes those."""
    b: int
    """Device address of B, likewise."""
    c: int
    """Device address of C, likewise."""
    parts: int = 0
    """Device address of the parts of sums, where the kernel writes those to a buffer."""

    @classmethod
    def allocate(
        cls, problem: TensileProblem, kernel: TensileKernel, kernels: "Mapping[str, Kernel]", memory: "DeviceMemory"
    ) -> "TensileGemm":
        """Allocate matrices of zeros for a problem; raise TensileError or DeviceMemoryError."""
        if kernel.transposes != problem.transposes:
            raise TensileError(f"kernel '{kernel.name}': multiplies {kernel.transposes}, not {problem.transposes}")
        if kernel.pointers and problem.one_b:
            raise TensileError(f"kernel '{kernel.name}': takes a pointer to each B; it is launched with a B for each A")
        sizes = {"A": problem.m * problem.k, "B": problem.k * problem.n, "C": problem.m * problem.n}
        addresses = []
        for (name, size), stride in zip(sizes.items(), problem.strides, strict=True):
            matrix = (kernel.precision.result_bytes if name == "C" else kernel.element_bytes) * size
            # tiles that reach beyond a matrix of pointers read on, as each buffer ends a batch behind its matrix's
            # beginning: the last one's needs memory there
            reads_on = kernel.pointers and name != "C" and kernel.overlaps(problem)
            count = 2 * problem.batch if reads_on else problem.batch
            address = memory.allocate((count if stride else 1) * matrix, name).address
            if kernel.pointers:
                each = address + matrix * np.arange(problem.batch, dtype=np.uint64)
                address = memory.upload(each, f"pointers to {name}", writable=False).address
            addresses.append(address)
        a, b, c = addresses
        parts = 0
        if kernel.gathers_parts:
            size = PART_BYTES * kernel.split_k * problem.batch * sizes["C"]
            parts = memory.allocate(size, "parts of sums").address
        return cls(problem=problem, kernel=kernel, kernels=kernels, memory=memory, a=a, b=b, c=c, parts=parts)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches in order; where K is split among workgroups, beta C is first, or the sum of parts last."""
        multiply = self._multiply()
        if self.kernel.gathers_parts:
            return multiply, self._sum()
        return (self._beta(), multiply) if self.kernel.split_k > 1 else (multiply,)

    def _function(self, name: str) -> "Kernel":
        if name not in self.kernels:
            raise TensileError(f"kernel '{name}' is in none of the code objects given")
        return self.kernels[name]

    def _beta(self) -> Launch:
        p, name = self.problem, self.kernel.precision.beta_kernel
        assert name is not None  # TensileKernel.named refuses a split K without it
        function, total = self._function(name), p.m * p.n
        strides = [p.m, total, p.m, total]  # D's and C's
        beta = self.kernel.precision.scalar(p.beta)
        values = [Pointer(self.c), Pointer(self.c), 0, 0, *strides, p.m, p.n, p.batch, beta]
        return self._launch(function, pack(function, values), (total * p.batch, 1, 1), BETA_WORK_ITEMS)

    def _sum(self) -> Launch:
        p, name = self.problem, self.kernel.precision.sum_kernel
        assert name is not None  # as above
        function, total = self._function(name), p.m * p.n
        scalar = self.kernel.precision.scalar
        strides = [p.m, total] * 3  # D's, the buffer's and C's
        pointers = [Pointer(self.c), Pointer(self.parts), Pointer(self.c), 0, 0]
        scalars = [scalar(p.alpha), scalar(p.beta)]
        values = [*pointers, *scalars, *strides, p.m, p.n, p.batch, self.kernel.split_k]
        return self._launch(function, pack(function, values), (total * p.batch, 1, 1), BETA_WORK_ITEMS)

    def _multiply(self) -> Launch:
        p, kernel, function = self.problem, self.kernel, self._function(self.kernel.name)
        tiles, scalar = kernel.workgroups(p), kernel.precision.scalar
        resident = min(kernel.persistent * p.compute_units, tiles[0] * tiles[1] * kernel.split_k)
        magic, shift = magic_division(tiles[0])
        rest = tiles[1] % kernel.group_columns or kernel.group_columns
        buffers = 1 if p.one_b else p.batch
        c = Pointer(self.parts or self.c)
        known: dict[str, Any] = {
            # where buffers end: behind one product of a strided batch, as rocBLAS 5.5.1 passes it
            **dict(sizeC=p.m * p.n * p.batch, sizeA=p.m * p.k * buffers, sizeB=p.k * p.n * buffers),
            **dict(D=c, C=c, A=Pointer(self.a), B=Pointer(self.b)),
            **dict(
                alpha=scalar(1.0 if kernel.gathers_parts else p.alpha),
                beta=scalar(1.0 if kernel.split_k > 1 else p.beta),
            ),
            **dict(strideD0=p.m, strideC0=p.m, strideA0=p.lda, strideB0=p.ldb),
            **dict(strideD1=p.strides[2], strideC1=p.strides[2], strideA1=p.strides[0], strideB1=p.strides[1]),
            **dict(SizesFree0=p.m, SizesFree1=p.n, SizesFree2=p.batch, SizesSum0=p.k),
            **dict(NumWorkGroups0=tiles[0], NumWorkGroups1=tiles[1], NumFullBlocks=tiles[1] // kernel.group_columns),
            **dict(WgmRemainder1=rest, MagicNumberWgmRemainder1=(1 << 31) // rest + 1),
            **dict(OrigStaggerUIter=kernel.stagger_mask(p), GridNumWorkGroups0=resident),
            **dict(MagicNumberProblemNumGroupTiles0=magic, MagicShiftProblemNumGroupTiles0=shift),
            # matrices from their first element
            **dict.fromkeys(("OffsetD", "OffsetC", "OffsetA", "OffsetB", "padding"), 0),
        }
        named = any(argument.name for argument in function.arguments)
        values = (
            {argument.name: known[argument.name] for argument in function.arguments if argument.name in known}
            if named
            else [known[name] for name in HIP_ARGUMENTS]
        )
        groups = (resident, 1) if kernel.persistent else (tiles[0], tiles[1] * kernel.split_k)
        total = (groups[0] * kernel.work_items, groups[1], tiles[2])
        return self._launch(function, pack(function, values), total, kernel.work_items)

    def _launch(self, function: "Kernel", packed: Kernarg, total: tuple[int, int, int], local: int) -> Launch:
        size = (-(-total[0] // local) * local, *total[1:])
        return Launch(function, self.memory, packed.block, size, (local, 1, 1), packed.dynamic_lds_bytes)
