"""A shipped matrix multiplication with random operands, ready to run."""

from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.gpu_spec import GpuSpec
from isa.device_memory import DeviceMemory
from workloads.data.operands import SyntheticOperands
from workloads.data.patterns import ELEMENTS
from workloads.operators.gemm import GemmOperator, build_gemm
from workloads.shapes import GemmShape


def random_gemm(
    kernel: str,
    shape: tuple[int, int, int],
    gpu: GpuSpec,
    sparsity: float = 0.6,
    memory_bytes: int = 1 << 28,
    block: tuple[int, int] = ELEMENTS,
) -> GemmOperator:
    """The product of random operands, zeros in blocks of `block`, by `kernel`, in a device memory of its own."""
    memory = DeviceMemory(memory_bytes)
    operands = SyntheticOperands(sparsity, seed=1, block=block)
    return build_gemm(kernel, GemmShape(*shape), operands, memory, gpu_facts(gpu))
