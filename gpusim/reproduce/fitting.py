"""Whether a layer's product fits the GPU's memory: its matrices at the publication's batch."""

from gpusim.config.figure import RunsFigure
from gpusim.config.reproduction import Reproduction
from gpusim.reproduce.points import points_of, shape_of
from workloads.shapes import GemmShape

_GIB = 1 << 30


def bytes_of(shape: GemmShape) -> int:
    """A, B and C as the kernels have them."""
    return 4 * (shape.padded_k * shape.lda + shape.n * shape.ldb + shape.n * shape.ldc)


def does_fit(reproduction: Reproduction, figure: RunsFigure, case: str, batch: int) -> str:
    """'yes', or 'no: 7.4 of 4.0 GiB at 64': at the batches of the publication that ours stands for."""
    largest = max(figure.source_batches or (batch,))
    only = figure.model_copy(update={"cases": {case: figure.cases[case]}, "batches": (batch,)})
    config = next(points_of(reproduction, only)).config()
    needed, there = bytes_of(shape_of(config, largest)), config.gpu.memory_mib << 20
    if needed <= there:
        return "yes"
    return f"no: {needed / _GIB:.1f} of {there / _GIB:.1f} GiB at {largest}"
