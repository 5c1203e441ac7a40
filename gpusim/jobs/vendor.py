"""Layers by the matrix products of vendors' libraries, which run on the simulated GPU as they are.

What the library launches is kept (`gpusim/jobs/networks/library.py`) and simulated as any other operator's.
"""

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpusim.jobs.host.command_processor import CopyCommand, HostCommand
from gpusim.jobs.networks.library import recorded
from gpusim.jobs.running.operators import OperatorTask
from gpusim.model.core.gpu_spec import GpuSpec
from isa.launch import Launch
from workloads.data.operands import Operands
from workloads.data.patterns import sparsity_of, zero_lines_of
from workloads.operators.gemm import GemmBuffers, gemm_reference
from workloads.operators.operator import OperatorCost
from workloads.operators.verify import ReferencePart
from workloads.shapes import GemmShape
from workloads.vendor.libraries import VendorProduct

if TYPE_CHECKING:
    from gpusim.jobs.hip.recording import ProgramRecording


@dataclass(frozen=True)
class LibraryProduct:
    """C = A·B as a library computes it (workloads.operators.operator.Operator)."""

    product: VendorProduct
    """The library's product."""
    buffers: GemmBuffers
    """Operands in device memory."""
    recording: "ProgramRecording"
    """The library's launches."""

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
    def work(self) -> OperatorCost:
        """The work of the product's definition; a sparse product needs a multiply-accumulate per row of A for each
        non-zero of B.

        The only stored bytes are those of C: other buffers are an internal matter of the library.
        """
        m, n, k = self.buffers.shape.m, self.buffers.shape.n, self.buffers.shape.k
        needed = m * int(np.count_nonzero(self.inputs["B"])) if self.product.sparse else m * n * k
        return OperatorCost(m * n * k, needed, 4 * (m * k + k * n), 4 * m * n, 4 * m * n)

    def zero_fractions(self) -> tuple[float, float]:
        """Return the shares of zeros in the elements of B, and in its lines of 16 elements of a column."""
        held, k = self.buffers.b_stored, self.buffers.shape.k
        return sparsity_of(held, k), zero_lines_of(held, k)

    def expected(self, inputs: Mapping[str, np.ndarray]) -> Iterator[ReferencePart]:
        """Yield A·B computed in FP64 as the expected result; libraries compute in FP32."""
        return gemm_reference(inputs["A"], inputs["B"], half_precision_b=False)


class LibraryTask(OperatorTask):
    """The launches, and what the host writes between them (gpusim.jobs.running.job.Task)."""

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


def library_product(product: VendorProduct, shape: GemmShape, data: Operands, gpu: GpuSpec) -> LibraryProduct:
    """Record the product by a library of the user's, from the folder that GPUSIM_VENDOR_ROOT names or from the system.

    Raises UserError where the library is missing, and what `data` raises.
    """
    a = np.zeros((shape.padded_k, shape.lda), np.float32)
    b = np.zeros((shape.n, shape.ldb), np.float32)
    data.fill(a, b, shape)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("a", "b")]
        a.tofile(files[0])
        b.tofile(files[1])
        sizes = (shape.m, shape.n, shape.k, shape.lda, shape.ldb, shape.ldc)
        recording = recorded(product, (*sizes, *files), gpu)
    assert recording.memory is not None
    held = [
        replace(allocation, size_bytes=4 * elements)  # without the rest of its page
        for allocation, elements in zip(recording.allocations, (a.size, b.size, shape.ldc * shape.n), strict=False)
    ]
    return LibraryProduct(product, GemmBuffers(shape, recording.memory, *held), recording)
