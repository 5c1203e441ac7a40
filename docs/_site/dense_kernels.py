"""Dense matrix products by every kernel, and which one `kernels.dense: auto` takes: a table of docs/kernels.md."""

from itertools import product

from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_3
from gpusim.base.progress import Reporter
from gpusim.config.gpu import load_gpu
from gpusim.jobs.running.dense_choice import choose_dense, measure_cycles
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.operators.gemm_kernels import DENSE_KERNELS
from workloads.shapes import GemmShape

GPUS = ("mi6", "r9nano")
# M x N x K: from less than a tile to several rounds of workgroups; sums that are short, and long enough to be split
SHAPES = (
    *(GemmShape(*sizes) for sizes in product((16, 96, 512), (16, 200, 3025), (27, 363, 1152))),
    GemmShape(37, 200, 333),
    GemmShape(64, 3025, 576),
    GemmShape(384, 169, 2304),
    GemmShape(1000, 128, 4096),
    GemmShape(2048, 512, 512),
    GemmShape(512, 512, 4608),
)
WIDE = tuple(name for name in DENSE_KERNELS if name != "few_columns")  # which takes fewer columns than these have
HEAD = ("M × N × K", "GPU", *(f"`{name}`" for name in WIDE), "chosen", "by", "of the fastest's time")


def choices_table() -> str:
    """Cycles of every kernel, all simulated whole, and the choice."""
    return table(HEAD, [_row(shape, name, load_gpu(name)) for shape in SHAPES for name in GPUS])


def _row(shape: GemmShape, name: str, gpu: GpuSpec) -> list[str]:
    choice = choose_dense(shape, gpu, Reporter(quiet=True))
    cycles = {kernel: measure_cycles(kernel, shape, gpu) for kernel in WIDE}
    cells = [f"{shape.m} × {shape.n} × {shape.k}", name, *(COUNT(n) for n in cycles.values())]
    ratio = cycles[choice.kernel] / min(cycles.values())
    return [*cells, f"`{choice.kernel}`", "measurement" if choice.cycles else "estimate", FIXED_3(ratio)]
