"""What dense GEMM kernels may take for a shape, before any of them is simulated.

An estimate is a range. Its lower end is the time for which the fullest SIMD multiplies, at the best rate that the
kernel was seen to reach; its upper end, of large products, that by which `sgemm` splits its sums, with a margin.
"""

from dataclasses import dataclass
from math import ceil, inf

from workloads.operators.gemm_kernels import DENSE_KERNELS, GEMM_KERNELS, GemmKernel
from workloads.operators.operator import GpuFacts
from workloads.operators.tiles import SIMDS, estimated_cycles, split_product
from workloads.operators.tiling import WAVEFRONT
from workloads.shapes import GemmShape

SIMD_LANES = 16  # multiply-accumulates of a SIMD in a cycle
ESTIMATED = "sgemm"  # the kernel that estimates its own time
# Its estimate holds for products that are large both ways; below so many cycles measuring costs less than an error.
WIDE, LONG_CYCLES = 256, 500_000
ESTIMATE_ERROR = 1.1  # simulated cycles / estimated ones of such products: at most 1.06 in those looked at


@dataclass(frozen=True)
class KernelEstimate:
    """A range of cycles that a kernel takes for a shape; `most` is infinite where it is unknown."""

    kernel: str
    """Name of the kernel."""
    least: float
    """Lower end in cycles."""
    most: float = inf
    """Upper end in cycles; infinite: unknown."""


def estimates(shape: GemmShape, gpu: GpuFacts) -> list[KernelEstimate]:
    """Estimate every dense kernel that can compute the shape on the GPU, the one with the smallest lower end first.

    Args:
        shape: Shape of the product.
        gpu: The GPU.
    """
    rows = []
    for row in (GEMM_KERNELS[name] for name in DENSE_KERNELS):
        try:
            least = _multiplying(row, shape, gpu) / row.rate
        except ValueError:  # its tiles do not fit the GPU
            continue
        rows.append(KernelEstimate(row.name, least, _most(shape, gpu) if row.name == ESTIMATED else inf))
    return sorted(rows, key=lambda one: one.least)


def _multiplying(row: GemmKernel, shape: GemmShape, gpu: GpuFacts) -> float:
    """Return the cycles for which the fullest SIMD multiplies."""
    split = row.splitting.split(shape, gpu, None)
    x, y, z = split.workgroups(shape)
    wavefronts = split.local_size[0] * split.local_size[1] // WAVEFRONT
    held = ceil(ceil(x * y * z / gpu.compute_units) * wavefronts / SIMDS)
    depth: int = min(shape.k, split.arguments.get("split_depth", shape.k))
    return held * split.rows * split.columns * depth / wavefronts / SIMD_LANES


def _most(shape: GemmShape, gpu: GpuFacts) -> float:
    cycles = estimated_cycles(shape.m, shape.n, split_product(shape.m, shape.n, shape.k), gpu)
    return ESTIMATE_ERROR * cycles if min(shape.m, shape.n) >= WIDE and cycles >= LONG_CYCLES else inf
