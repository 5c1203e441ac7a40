"""Layers by the matrix products of vendors' libraries, which run on the simulated GPU as they are.

The library is called by a program of gpusim's (`gpusim/hip/programs/product.cpp`) whose launches are kept: which
kernels a library takes for a shape, with which arguments, is its own decision. They are simulated as any other
operator's.
"""

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from ctypes.util import find_library
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.core.gpu_spec import GpuSpec
from gpusim.host.command_processor import CopyCommand, HostCommand
from gpusim.running.operators import OperatorTask
from isa.launch import Launch
from workloads.data.operands import Operands
from workloads.data.patterns import sparsity_of, zero_lines_of
from workloads.operators.gemm import GemmBuffers, gemm_reference
from workloads.operators.operator import Work
from workloads.operators.verify import Expected
from workloads.shapes import GemmShape
from workloads.vendor.libraries import VendorProduct

if TYPE_CHECKING:
    from gpusim.hip.recording import Recording

ROOT_VARIABLE = "GPUSIM_VENDOR_ROOT"
INSTALLING = (
    "apt install {packages}, or python -m tests.vendor.packages FOLDER in gpusim's repository and"
    f" {ROOT_VARIABLE}=FOLDER"
)
_NO_LIBRARY = 4  # the program's exit code


@dataclass(frozen=True)
class LibraryProduct:
    """C = A·B as a library computes it (workloads.operators.operator.Operator)."""

    product: VendorProduct
    buffers: GemmBuffers
    recording: "Recording"

    @property
    def name(self) -> str:
        """The product's name in configurations."""
        return self.product.name

    @property
    def launches(self) -> "tuple[Launch, ...]":
        """The launches in the library's order."""
        return self.recording.launches

    @property
    def decisive(self) -> Collection[int]:
        """Numbers of the launches whose results decide the time of later ones: all those of a sparse product, as they
        convert B first.
        """
        return range(len(self.launches)) if self.product.sparse else ()

    @property
    def inputs(self) -> Mapping[str, np.ndarray]:
        """The operands A [K, M] and B [N, K], without padding."""
        shape = self.buffers.shape
        return {"A": self.buffers.a_stored[: shape.k, : shape.m], "B": self.buffers.b_stored[:, : shape.k]}

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """The result C [N, M], without padding."""
        shape, stored = self.buffers.shape, self.buffers.c_stored
        if self.product.transposes:
            return {"C": stored.reshape(-1)[: shape.m * shape.n].reshape(shape.m, shape.n).T}
        return {"C": stored[:, : shape.m]}

    @property
    def work(self) -> Work:
        """The work of the product's definition; a sparse product needs a multiply-accumulate per row of A for each
        non-zero of B.

        The only stored bytes are those of C: other buffers are an internal matter of the library.
        """
        m, n, k = self.buffers.shape.m, self.buffers.shape.n, self.buffers.shape.k
        needed = m * int(np.count_nonzero(self.inputs["B"])) if self.product.sparse else m * n * k
        return Work(m * n * k, needed, 4 * (m * k + k * n), 4 * m * n, 4 * m * n)

    def zero_fractions(self) -> tuple[float, float]:
        """Return the shares of zeros in the elements of B, and in its lines of 16 elements of a column."""
        held, k = self.buffers.b_stored, self.buffers.shape.k
        return sparsity_of(held, k), zero_lines_of(held, k)

    def expected(self, inputs: Mapping[str, np.ndarray]) -> Iterator[Expected]:
        """Yield A·B computed in FP64 as the expected result; libraries compute in FP32."""
        return gemm_reference(inputs["A"], inputs["B"], half_precision_b=False)


class LibraryTask(OperatorTask):
    """The launches, and what the host writes between them (gpusim.running.job.Task)."""

    def __init__(self, operator: LibraryProduct) -> None:
        zeros, zero_lines = operator.zero_fractions()
        super().__init__(operator, {"zero_fraction": zeros, "zero_line_fraction": zero_lines})
        self._recording = operator.recording

    @property
    def commands(self) -> Sequence[HostCommand]:
        self._recording.begin()
        launches = iter(super().commands)
        return [
            next(launches)
            if isinstance(step, Launch)
            else CopyCommand("written by the library's host code", len(step.content), step.again)
            for step in self._recording.steps
        ]


def is_there(product: VendorProduct) -> bool:
    """Tell whether the library's file is in one of the folders where programs find it."""
    from gpusim.hip.supervisor import FOLDERS

    named = os.environ.get(ROOT_VARIABLE)
    folders = [Path(named or "/") / folder for folder in FOLDERS]
    if not named:
        folders += map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    return any((folder / product.library).exists() for folder in folders) or (
        not named and find_library(product.library.removeprefix("lib").partition(".")[0]) == product.library
    )


def library_product(product: VendorProduct, shape: GemmShape, data: Operands, gpu: GpuSpec) -> LibraryProduct:
    """Record the product by a library of the user's, from the folder that GPUSIM_VENDOR_ROOT names or from the system.

    Raises UserError where the library is missing, and what `data` raises.
    """
    from gpusim.hip.built import libraries
    from gpusim.hip.recording import record
    from gpusim.hip.supervisor import Program

    a = np.zeros((shape.padded_k, shape.lda), np.float32)
    b = np.zeros((shape.n, shape.ldb), np.float32)
    data.fill(a, b, shape)
    named = os.environ.get(ROOT_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("a", "b")]
        a.tofile(files[0])
        b.tofile(files[1])
        sizes = (shape.m, shape.n, shape.k, shape.lda, shape.ldb, shape.ldc)
        words = [str(libraries() / "product"), product.call, *map(str, (*sizes, *files))]
        program = Program(words, Path(named) if named else None)
        recording = record(program, gpu, Reporter(quiet=False), execute=product.sparse)
    if recording.code_of_exit == _NO_LIBRARY:
        raise UserError(
            f"{product.name}: {product.library} is not there: {INSTALLING.format(packages=product.package)}"
        )
    if recording.code_of_exit or recording.memory is None:
        raise UserError(
            f"{product.name}: the program that calls {product.library} ended with code {recording.code_of_exit}"
        )
    if product.multiply_accumulate:
        from workloads.vendor.multiply_accumulate import with_multiply_accumulate

        recording.with_code(with_multiply_accumulate)
    held = [
        replace(allocation, size_bytes=4 * elements)  # without the rest of its page
        for allocation, elements in zip(recording.allocations, (a.size, b.size, shape.ldc * shape.n), strict=False)
    ]
    return LibraryProduct(product, GemmBuffers(shape, recording.memory, *held), recording)
